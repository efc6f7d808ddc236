"""Write a file whole or not at all: an interruption leaves either the old or the new file."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

from countwise.errors import ParameterError, StoreError, shown


@contextmanager
def atomic_write(path: str | os.PathLike[str], who: str = "save") -> Iterator[Path]:
    """Give a temporary file to write to; it takes the place of `path` when the block ends well.

    The temporary file lies in the same directory and has the same suffix. When the block ends it
    is flushed to the disk and renamed over `path`, which no reader and no crash can see half done.
    When the block raises, the temporary file is removed and `path` is as it was. A link is
    followed, and the permissions of a file that is replaced are kept.
    """
    target, mode = _target(path, who)
    drafts: list[Path] = []
    try:
        temporary = _fresh(target, path, who, drafts)
        yield temporary
        try:
            _settle(temporary, target, mode)
        except OSError as why:
            raise _unwritable(who, path, why) from None
    except BaseException as why:
        for draft in drafts:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
        if isinstance(why, OSError) and _is_full(why):
            raise _unwritable(who, path, why) from None
        raise


def _target(path: str | os.PathLike[str], who: str) -> tuple[Path, int | None]:
    """Follow links; return the real place and the permissions of the file."""
    try:
        target = Path(os.path.realpath(path))
        status = target.stat()
    except FileNotFoundError:
        return target, None
    except (OSError, ValueError, TypeError) as why:
        raise _unwritable(who, path, why) from None
    if stat.S_ISREG(status.st_mode):
        return target, stat.S_IMODE(status.st_mode)
    what = "a directory" if stat.S_ISDIR(status.st_mode) else "a device or a pipe"
    raise StoreError(f"{who}: {shown(path)} must be a file; it is {what}.")


def _fresh(target: Path, path: str | os.PathLike[str], who: str, drafts: list[Path]) -> Path:
    """Create an empty file beside the target, with the permissions new files get here.

    It is in `drafts` before it is on the disk, so that no signal comes between the two.
    """
    while True:
        name = f".{target.stem[:32]}.{secrets.token_hex(6)}.tmp{target.suffix[:16]}"
        temporary = target.with_name(name)
        drafts.append(temporary)
        try:
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        except FileExistsError:
            drafts.remove(temporary)  # somebody else's
            continue
        except FileNotFoundError:
            raise StoreError(
                f"{who}: {shown(path)} cannot be written: there is no directory "
                f"{shown(target.parent)}.",
                hint="Create it first.",
            ) from None
        except (OSError, ValueError) as why:
            raise _unwritable(who, path, why) from None
        return temporary


def _settle(temporary: Path, target: Path, mode: int | None) -> None:
    """Bring the file to the disk, then its name."""
    if mode is not None:
        temporary.chmod(mode | stat.S_IWUSR)
    file = os.open(temporary, os.O_RDWR)
    try:
        os.fsync(file)
    finally:
        os.close(file)
    if mode is not None:
        temporary.chmod(mode)
    os.replace(temporary, target)
    # The new name is on the disk only when the directory is; some systems cannot do that.
    with contextlib.suppress(OSError):
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _is_full(why: OSError) -> bool:
    """Return whether a write failed for want of space, or of a sound disk."""
    # Arrow gives the number in its text alone.
    printed = re.search(r"\[errno (\d+)\]", str(why))
    number = int(printed[1]) if why.errno is None and printed else why.errno
    return number in (errno.ENOSPC, errno.EFBIG, errno.EIO, getattr(errno, "EDQUOT", None))


def remove_drafts(path: str | os.PathLike[str]) -> None:
    """Remove what a process that was killed while it wrote this file has left beside it."""
    target = Path(os.path.realpath(path))
    pattern = f".{target.stem[:32]}.*.tmp{target.suffix[:16]}"
    names = [name for name in os.listdir(target.parent) if fnmatchcase(name, pattern)]
    for name in names:
        with contextlib.suppress(OSError):
            target.with_name(name).unlink()


def _unwritable(who: str, path: object, why: Exception) -> StoreError:
    reason = (why.strerror if isinstance(why, OSError) else None) or str(why)
    return StoreError(
        f"{who}: {shown(path)} cannot be written ({reason}).",
        hint="Check the path, its permissions and the space left.",
    )


def check_writable(
    path: str | None, option: str, extensions: Sequence[str] = (), *sources: str
) -> None:
    """Refuse a path that cannot be written, or is what is read, before any work is done."""
    if path is None:
        return
    if any(_same_file(path, source) for source in sources):
        raise ParameterError(
            f"{option} must be another file than the one that is read; both are {path!r}."
        )
    if extensions and os.path.splitext(path)[1].lower() not in extensions:
        raise ParameterError(
            f"{option} must name a {_either(extensions)} file; got {path!r}.",
            hint="Change the extension.",
        )
    folder = os.path.dirname(os.path.realpath(path)) or "."
    if os.path.isdir(path):
        raise StoreError(f"{option}: {path!r} must be a file; it is a directory.")
    if not os.path.isdir(folder):
        raise StoreError(
            f"{option}: {path!r} cannot be written: there is no directory "
            f"{os.path.dirname(path)!r}.",
            hint="Create it first.",
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise StoreError(
            f"{option}: {path!r} cannot be written: its directory is read-only.",
            hint="Name another directory.",
        )


def _same_file(one: str, other: str) -> bool:
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)


def _either(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
