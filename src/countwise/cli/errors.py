"""Any error as one line on stderr and an exit code: 2 bad input, 1 our fault, 130 interrupted."""

from __future__ import annotations

import ast
import errno
import os
import re
import shlex
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import click

from countwise.errors import CountwiseError, Spelling, did_you_mean

UNEXPECTED, BAD_INPUT, INTERRUPTED = 1, 2, 130

#: Options that are called otherwise than the parameter they set.
_OPTIONS = {
    "random_state": "seed",
    "n_jobs": "jobs",
    "groups": "group",
    "what": "attribute",
}
#: Values of parameters that have a flag of their own.
_FLAGS = {
    ("header", "False"): "no_header",
    ("identifiers", "'keep'"): "keep_identifiers",
    ("fold_case", "True"): "fold_case",
    ("strict", "True"): "strict",
    ("folds", "'leave-one-out'"): "leave_one_out",
}
#: How Click says that a value is refused.
_REFUSED = re.compile(r"(.+?) is not (?:a valid .+|in the range .+|one of .+|'.+)", re.DOTALL)
#: Parameters of models that ``fit`` sets by an option; the others are set by ``--param``.
_SHARED = ("nominal", "gain", "random_state")


class RefusedError(Exception):
    """Bad input, in the words of the command that met it."""


class ReaderLeftError(Exception):
    """The reader of the output has closed it, as ``| head`` does."""


class StoppedError(Exception):
    """Ctrl-C was pressed."""


@contextmanager
def guarded() -> Iterator[None]:
    """Run a command so that whatever happens ends in an exit code, never in a traceback."""
    with _terminable(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a user should know is printed once, at the end
        try:
            yield
            sys.stdout.flush()
        except click.exceptions.Exit as leave:
            sys.exit(leave.exit_code)
        except (KeyboardInterrupt, click.Abort, StoppedError):
            _stop("stopped before it was done.", INTERRUPTED)
        except (BrokenPipeError, ReaderLeftError):
            _reader_left()
        except SystemExit as leave:
            if isinstance(leave.__context__, BrokenPipeError):  # Rich leaves so
                _reader_left()
            raise
        except click.ClickException as error:
            _stop(_usage(error), BAD_INPUT)
        except RefusedError as error:
            _stop(str(error), BAD_INPUT)
        except OSError as error:
            _system(error)
        except MemoryError:
            _stop("there is not enough memory for this. Use fewer rows or columns.", UNEXPECTED)
        except Exception as error:
            what = f"{type(error).__name__}: {error}".rstrip(":. ")
            _stop(
                f"something went wrong inside countwise ({what}). Please report it, with the "
                "command and what COUNTWISE_DEBUG=1 prints.",
                UNEXPECTED,
            )


def describe(error: CountwiseError, context: click.Context) -> str:
    """Return the message of an error; it begins with a name only if that is a command or model."""
    from countwise.models.registry import COMMANDS, ENTRIES

    is_command = error.who == context.info_name
    is_model = not is_command and (error.who in ENTRIES or error.who in COMMANDS)
    text = error.text(spelling(context, is_model))
    if is_model or is_command:
        return text
    return text.removeprefix(f"{error.who}: ")


def spelling(context: click.Context | None, is_model: bool = False) -> Spelling:
    """Return the function that spells parameters of a command, or of a model, as options."""
    params = () if context is None else context.command.params
    options = {param.name: param for param in params if isinstance(param, click.Option)}

    def spell(name: str, value: str) -> str | None:
        if is_model and name not in _SHARED:
            return f"--param {name}={value}" if "pairs" in options else None
        flag = _FLAGS.get((name, value))
        option = options.get(flag or _OPTIONS.get(name, name))
        if option is None:
            return None
        word = max(option.opts, key=len)
        return word if option.is_flag or not value else f"{word} {_argument(value)}"

    return spell


def _argument(code: str) -> str:
    """Return a Python value as it is typed in a shell."""
    try:
        value = ast.literal_eval(code)
    except (SyntaxError, ValueError):
        return code
    many = isinstance(value, list | tuple)
    return shlex.quote(",".join(map(str, value)) if many else str(value))


def _usage(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "countwise"
    command = path.removeprefix("countwise").strip()
    who = f"{command}: " if command else ""
    message = error.format_message()
    if isinstance(error, click.NoSuchOption):
        if error.possibilities:
            near = f" Did you mean {error.possibilities[0]!r}?"
        else:
            params = [] if context is None else context.command.get_params(context)
            near = did_you_mean(error.option_name, [word for one in params for word in one.opts])
        message = f"there is no option {error.option_name!r}.{near}"
    message = " ".join(message.split())
    extra = re.fullmatch(r"Got unexpected extra arguments? \((.+)\)", message)
    if extra is not None and os.path.exists(extra[1].split(" ")[0]):
        message = f"one file is needed; got {extra[1]}, too. Put a pattern in quotes."
    message = _rule(error) or message[:1].lower() + message[1:]
    end = "" if message.endswith(("?", ".")) else "."
    return f"{who}{message}{end} See {path} --help."


def _rule(error: click.ClickException) -> str:
    """Return what an option or argument must be and what it got; nothing if that is not known."""
    param = error.param if isinstance(error, click.BadParameter) else None
    found = _REFUSED.fullmatch(error.format_message() if param is None else error.message)
    if param is None or found is None:
        return ""
    kind, value = param.type, found[1]
    if isinstance(kind, click.Choice):
        rule = "one of " + ", ".join(map(repr, kind.choices))
        hint = did_you_mean(ast.literal_eval(value), kind.choices)
    elif isinstance(kind, click.types.IntParamType | click.types.FloatParamType):
        rule = "a whole number" if isinstance(kind, click.types.IntParamType) else "a number"
        rule, hint = rule + _bounds(kind), ""
    else:
        return ""
    name = (
        max(param.opts, key=len) if isinstance(param, click.Option) else param.human_readable_name
    )
    return f"{name} must be {rule}; got {value}.{hint}"


def _bounds(kind: Any) -> str:
    low, high = getattr(kind, "min", None), getattr(kind, "max", None)
    words = []
    if low is not None:
        words.append(f"{'above' if getattr(kind, 'min_open', False) else 'of at least'} {low}")
    if high is not None:
        words.append(f"{'below' if getattr(kind, 'max_open', False) else 'at most'} {high}")
    return f" {' and '.join(words)}" if words else ""


def _system(error: OSError) -> None:
    if error.filename is not None:
        name = repr(str(error.filename))
    elif sys.platform == "win32" and error.errno in (errno.EPIPE, errno.EINVAL):
        _reader_left()
    else:
        name = "the output"
    text = f"{name} cannot be read or written ({error.strerror or error})."
    _stop(f"{text} Check the path and the space left.", BAD_INPUT)


def _stop(line: str, code: int) -> NoReturn:
    if os.environ.get("COUNTWISE_DEBUG", "") not in ("", "0"):
        traceback.print_exc()
    with suppress(OSError, ValueError):
        print(f"countwise: {' '.join(line.split())}", file=sys.stderr, flush=True)  # noqa: T201
    sys.exit(code)


def _reader_left() -> NoReturn:
    """Exit quietly when the reader of the output (``| head``) has closed it."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)


@contextmanager
def _terminable() -> Iterator[None]:
    """Unwind at SIGTERM as at Ctrl-C, so that no temporary file stays behind."""

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
