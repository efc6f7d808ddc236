"""What is wrong with a file, in one sentence, whatever went wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from countwise.errors import CountwiseError, StoreError, shown

#: What to do about a file that is not what it was when it was written.
AGAIN = "Fetch the file again, or save the model again."


class UnsoundError(Exception):
    """What a file does instead of what it must; `refusals` makes the sentence of it."""

    def __init__(self, what: str, cure: str = AGAIN) -> None:
        super().__init__(f"{what}. {cure}")
        self.what = what


@contextmanager
def refusals(who: str, path: object) -> Iterator[None]:
    """Turn whatever goes wrong inside into a `StoreError` of one sentence and a cure."""
    try:
        yield
    except (StoreError, MemoryError):
        raise
    except UnsoundError as why:
        raise StoreError(f"{who}: {shown(path)} {why}") from None
    except OSError as why:
        reason = why.strerror or str(why)
        raise StoreError(
            f"{who}: {shown(path)} cannot be read ({reason}). Check the path and its permissions."
        ) from why
    except CountwiseError as why:
        raise StoreError(f"{who}: {shown(path)} does not hold a usable model ({why})") from why
    except Exception as why:
        # A file may be wrong in ways nobody thought of; its reader still learns that in one
        # sentence, and the cause stays attached for whoever mends the reader.
        raise StoreError(
            f"{who}: {shown(path)} holds what cannot be rebuilt ({type(why).__name__}: "
            f"{str(why)[:200]}). {AGAIN}"
        ) from why
