"""Any error as one line on stderr and an exit code: 2 bad input, 1 our fault, 130 interrupted."""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import click

from countwise.errors import CountwiseError, did_you_mean

UNEXPECTED, BAD_INPUT, INTERRUPTED = 1, 2, 130

#: The library speaks of Python arguments; here they are options.
_WORDS = (
    (re.compile(r"\bPass header=False\b"), "Pass --no-header"),
    (re.compile(r"\b(?:nominal|numeric|drop)=\[?'([^']+)'\]?"), r"--\g<0>"),
    (re.compile(r"--(nominal|numeric|drop)=\[?'([^']+)'\]?"), r"--\1 '\2'"),
    (re.compile(r"\bread\(\.\.\., target='column'\)"), "--target"),
    (re.compile(r"\btarget='column'"), "--target"),
    (re.compile(r"\bleave_one_out=True\b"), "--leave-one-out"),
    (re.compile(r"\bfolds='leave-one-out'"), "--leave-one-out"),
    (re.compile(r"^neighbor_grid: "), "neighbors: "),
    (re.compile(r"\bwhen_missing='(\w+)'"), r"--when-missing \1"),
    (re.compile(r"(?<![\w-])(target|drop|missing|separator|nominal|numeric|schema)="), r"--\1"),
    (re.compile(r"(?<![\w-])(holdout|repeats|folds)="), r"--\1"),
    (re.compile(r"\bn_jobs\b"), "--jobs"),
    (re.compile(r"\btable\.schema\.write\(path\)"), "countwise inspect --write-schema"),
    (re.compile(r"^(?:Table|read|evaluate|learning_curve|load|save|describe|peek): "), ""),
    (re.compile(r"^(target|nominal|numeric|drop|missing|separator)(?= names| must)"), r"--\1"),
)
#: Cures that take an option which only commands that read columns anew have.
_FIXED = (
    (re.compile(r", declare the column nominal, or leave it out with --drop"), ", or mend it"),
    (re.compile(r"\bDrop it with --drop, or turn it"), "Turn it"),
    (re.compile(r", or (?:drop the column|leave it out) with --drop"), ""),
    (re.compile(r"Check --target, --drop and the notes"), "Check the notes"),
)


class ReaderLeftError(Exception):
    """Whoever read our output went away, as ``| head`` does."""


class StoppedError(Exception):
    """Ctrl-C was pressed."""


@contextmanager
def guarded() -> Iterator[None]:
    """Run a command so that whatever happens ends in an exit code, never in a traceback."""
    with _terminable(), warnings.catch_warnings():
        _quieted()
        try:
            yield
            _flush()
        except click.exceptions.Exit as leave:
            sys.exit(leave.exit_code)
        except (KeyboardInterrupt, click.Abort, StoppedError):
            _stop("stopped before it was done.", INTERRUPTED)
        except (BrokenPipeError, ReaderLeftError):
            _reader_left()
        except click.ClickException as why:
            _stop(_usage(why), BAD_INPUT)
        except CountwiseError as why:
            _stop(worded(str(why), why.options), BAD_INPUT)
        except OSError as why:
            _system(why)
        except MemoryError:
            _stop("there is not enough memory for this. Use fewer rows or columns.", UNEXPECTED)
        except Exception as why:
            what = f"{type(why).__name__}: {why}".rstrip(":. ")
            _stop(
                f"something went wrong inside countwise ({what}). Please report it, with the "
                "command and what COUNTWISE_DEBUG=1 prints.",
                UNEXPECTED,
            )


def worded(message: str, options: frozenset[str] | None = None) -> str:
    """Put a message of the library in the words of the command line, on one line.

    A command that goes by a saved schema has no options to read columns otherwise; with its
    `options` no others are named.
    """
    for pattern, words in _WORDS:
        message = pattern.sub(words, message)
    if options is not None and "--drop" not in options:
        for pattern, words in _FIXED:
            message = pattern.sub(words, message)
    return " ".join(message.split())


def _usage(why: click.ClickException) -> str:
    context = getattr(why, "ctx", None)
    path = context.command_path if context is not None else "countwise"
    command = path.removeprefix("countwise").strip()
    who = f"{command}: " if command else ""
    message = why.format_message()
    if isinstance(why, click.NoSuchOption):
        known = why.possibilities or ()
        near = f" Did you mean {known[0]!r}?" if known else _near_option(why, context)
        message = f"there is no option {why.option_name!r}.{near}"
    message = " ".join(message.split())
    message = message[:1].lower() + message[1:]
    end = "" if message.endswith(("?", ".")) else "."
    return f"{who}{message}{end} See {path} --help."


def _near_option(why: click.NoSuchOption, context: click.Context | None) -> str:
    if context is None:
        return ""
    options = [word for own in context.command.get_params(context) for word in own.opts]
    return did_you_mean(why.option_name, options)


def _system(why: OSError) -> None:
    if (
        why.errno in (errno.EPIPE, errno.EINVAL)
        and why.filename is None
        and sys.platform == "win32"
    ):
        _reader_left()
    name = f"{str(why.filename)!r}" if why.filename is not None else "the output"
    reason = why.strerror or str(why)
    _stop(
        f"{name} cannot be read or written ({reason}). Check the path and the space left.",
        BAD_INPUT,
    )


def _stop(line: str, code: int) -> NoReturn:
    if os.environ.get("COUNTWISE_DEBUG", "") not in ("", "0"):
        traceback.print_exc()
    with suppress(OSError, ValueError):
        print(f"countwise: {' '.join(line.split())}", file=sys.stderr, flush=True)  # noqa: T201
    sys.exit(code)


def _flush() -> None:
    sys.stdout.flush()


def _reader_left() -> NoReturn:
    """Leave quietly: whoever read our output (``| head``) had enough."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)


def _quieted() -> None:
    """Keep warnings off the screen: what a user should know is said once, at the end."""
    warnings.simplefilter("ignore")


@contextmanager
def _terminable() -> Iterator[None]:
    """Let a polite kill unwind as Ctrl-C does, so that no draft of a file stays behind."""

    def unwind(number: int, frame: Any) -> NoReturn:
        raise SystemExit(128 + number)

    try:
        before = signal.signal(signal.SIGTERM, unwind)
    except ValueError:  # not on the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
