"""The command ``countwise``: its commands, imported only when they are called."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from countwise import __version__
from countwise.cli.errors import ReaderLeftError, StoppedError, guarded
from countwise.errors import CountwiseError, did_you_mean

#: Every command and what it is for, so that ``--help`` needs none of them.
COMMANDS = {
    "inspect": "Say what a file holds: kinds, levels, gaps, identifiers, class balance.",
    "compare": "Rank models on rows they have not seen, with intervals and a verdict.",
    "curve": "Show how the models improve with more rows.",
    "neighbors": "Measure nearest neighbours at every k and p, with a map.",
    "fit": "Train a model on a file and save it.",
    "predict": "Classify the rows of a file, of any size, with a saved model.",
    "explain": "Say why a saved model answers as it does, row by row.",
    "reproduce": "Re-make the figures of five papers, with a verdict on each.",
    "samples": "List the data sets that can be had by name.",
    "models": "List the models that can be named.",
    "version": "Say which countwise this is.",
}

_EXAMPLES = (
    "countwise compare sample:votes",
    "countwise fit train.csv --target class -o model.cw",
    "countwise predict model.cw new.csv -o answers.csv",
)


class Command(click.Command):
    """A command that ends its help with examples."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.examples = tuple(examples)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples as they are typed."""
        _write_examples(formatter, self.examples)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Parse the arguments; a usage error knows its command even where Click does not say."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as why:
            if why.ctx is None:
                why.ctx = click.Context(self, parent=parent, info_name=info_name)
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error knows which options there are to mend it by."""
        try:
            return super().invoke(ctx)
        except CountwiseError as why:
            why.options = frozenset(word for own in self.params for word in own.opts)
            raise


def _write_examples(formatter: click.HelpFormatter, lines: Sequence[str]) -> None:
    with formatter.section("Examples"):
        for line in lines:
            formatter.write(f"{'':{formatter.current_indent}}{line}\n")


class App(click.Group):
    """A group that imports a command when it is asked for, and never shows a traceback."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples as they are typed."""
        _write_examples(formatter, _EXAMPLES)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order of a day's work."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's file."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"countwise.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or suggest the one that was meant."""
        name = args[0] if args else ""
        if name and name not in COMMANDS and not name.startswith("-"):
            raise click.UsageError(
                f"there is no command {name!r}.{did_you_mean(name, COMMANDS)} "
                f"The commands are {', '.join(COMMANDS)}.",
                ctx,
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; Click would answer a lost reader and Ctrl-C in its own way."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise ReaderLeftError from None
        except KeyboardInterrupt:
            raise StoppedError from None

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command and leave with its exit code."""
        with guarded():
            result = super().main(args, "countwise", complete_var, standalone_mode=False, **extra)
            code = result if isinstance(result, int) else 0
        sys.exit(code)


@click.group(
    cls=App,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "--version", message="countwise %(version)s")
@click.pass_context
def app(context: click.Context) -> None:
    """Classify tables by counting: readable models, honest comparisons, decisions in money.

    FILE is a CSV, TSV, Parquet, JSON or ARFF file, plain or gzipped, or sample:NAME.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main() -> None:
    """Run ``countwise`` from a shell."""
    from countwise.cli.output import settle_streams

    settle_streams()
    try:
        app.main()
    finally:
        # A reader that went away must not make the interpreter complain while it shuts down.
        if getattr(sys.stdout, "closed", False) is False:
            try:
                sys.stdout.flush()
            except OSError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
