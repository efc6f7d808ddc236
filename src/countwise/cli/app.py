"""The command ``countwise``: its commands, imported only when they are called."""

from __future__ import annotations

import atexit
import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import click

from countwise import __version__
from countwise.cli.errors import ReaderLeftError, RefusedError, StoppedError, describe, guarded
from countwise.cli.quick_start import start_quickly
from countwise.errors import CountwiseError, did_you_mean

#: Every command and what it does, so that ``--help`` imports none of them.
COMMANDS = {
    "inspect": "Describe a file: column kinds, levels, missing values, identifiers, class balance.",
    "compare": "Rank models by cross-validation, with confidence intervals and a verdict.",
    "curve": "Show how models improve with more training rows.",
    "neighbors": "Score nearest neighbors for every number k and exponent p; draw a map.",
    "fit": "Train a model on a file and save it.",
    "count": "Count the rows of files of any size and save the counts.",
    "merge": "Add up saved counts and learn a model from them.",
    "predict": "Classify the rows of a file of any size with a saved model.",
    "explain": "Explain the predictions of a saved model row by row.",
    "show": "Print a saved model: its tree, tables, graph, coefficients, parameters.",
    "draw": "Draw a saved model, a learning curve, an ROC curve or a map of neighbors.",
    "bayes-error": "Estimate the least error that any model can reach on a file.",
    "ensemble-error": "Compute the error of a majority vote of independent models.",
    "reproduce": "Reproduce the figures of five papers, with a verdict on each.",
    "samples": "List the available data sets.",
    "models": "List the available models.",
    "version": "Show the version and environment.",
}
#: The commands that share a file.
_FILES = {
    "samples": "lists",
    "models": "lists",
    "version": "lists",
    "count": "scans",
    "merge": "scans",
    "bayes-error": "error_bounds",
    "ensemble-error": "error_bounds",
}

_EXAMPLES = (
    "countwise compare sample:votes",
    "countwise fit train.csv --target class -o model.cw",
    "countwise predict model.cw new.csv -o answers.csv",
)

#: Where a context keeps the words of its command.
_WORDS = "countwise.words"


class Command(click.Command):
    """A command that ends its help with examples and words errors in terms of its options."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.examples = tuple(examples)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
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
            args = [_without_password(word) for word in args]
            context = super().make_context(info_name, list(args), parent, **extra)
            context.meta[_WORDS] = (info_name or "", *args)
            return context
        except click.UsageError as error:
            if error.ctx is None:
                error.ctx = click.Context(self, parent=parent, info_name=info_name)
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error names the options that this command has."""
        try:
            return super().invoke(ctx)
        except CountwiseError as error:
            raise RefusedError(describe(error, ctx)) from error


def command_line() -> str:
    """Return the command that runs, as typed in a shell, without the password of an address."""
    return shlex.join(["countwise", *click.get_current_context().meta[_WORDS]])


def _without_password(word: str) -> str:
    """Move the password of an address to the environment, so that nothing can show it."""
    if not word.startswith(("postgresql://", "postgres://")):
        return word
    from countwise.tables.sources.postgres import hide_password

    shown, secrets = hide_password(word)
    if "sslpassword" in word:
        raise click.UsageError("the password of a key belongs in a service file, not in an address")
    if secrets:
        os.environ["PGPASSWORD"] = secrets[-1]
    return shown


def _write_examples(formatter: click.HelpFormatter, lines: Sequence[str]) -> None:
    with formatter.section("Examples"):
        for line in lines:
            formatter.write(f"{'':{formatter.current_indent}}{line}\n")


class App(click.Group):
    """A group that imports a command when it is called, and never shows a traceback."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        _write_examples(formatter, _EXAMPLES)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which they are used."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's file."""
        if cmd_name not in COMMANDS:
            return None
        file, name = _FILES.get(cmd_name, cmd_name), "command"
        if cmd_name in _FILES:
            name = cmd_name.replace("-", "_")
        command: click.Command = getattr(import_module(f"countwise.cli.{file}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or suggest the nearest name."""
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
        """Run the command; Click would handle a closed pipe and Ctrl-C in another way."""
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
        """Run a command and exit with its code."""
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
    """Compare, train and apply interpretable models that classify tabular data.

    FILE is a CSV, TSV, Excel, OpenDocument, Parquet, JSON or ARFF file, plain, gzipped or zipped,
    - for standard input, or a bundled data set (sample:NAME). COMMAND --help shows the options
    of a command.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main() -> None:
    """Run ``countwise`` from a shell."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal may lack a character
    start_quickly()  # only a process of its own may change what is imported
    try:
        app.main()
    finally:
        # A closed pipe must not make the interpreter complain while it shuts down.
        if getattr(sys.stdout, "closed", False) is False:
            try:
                sys.stdout.flush()
            except OSError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run() -> None:
    """Run ``countwise`` from a shell, and end the process without tearing down the interpreter."""
    code: Any = 0
    try:
        main()
    except SystemExit as leave:
        code = leave.code
    # A thread of Arrow that lets go of a Python object while the interpreter is torn down aborts
    # the process after all its work is done (apache/arrow#34314).
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))
