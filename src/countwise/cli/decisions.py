"""The gain matrix a command decides by: a CSV file, or the one a sample brings along."""

from __future__ import annotations

from typing import TYPE_CHECKING

from countwise.errors import GainError

if TYPE_CHECKING:
    from countwise.decisions.gain import GainMatrix


def gain_of(given: str | None, source: str) -> GainMatrix | None:
    """Read the matrix of ``--gain``; ``sample`` takes the one of ``sample:name``."""
    if given is None:
        return None
    from countwise.decisions.gain import GainMatrix

    if given != "sample":
        return GainMatrix.read(given)
    if not source.startswith("sample:"):
        raise GainError(
            f"--gain sample takes the matrix of a sample, but {source!r} is a file. Name the CSV "
            "file of the gains."
        )
    from countwise.tables import samples

    sample = samples.find(source.removeprefix("sample:"))
    if sample.gain is None:
        having = [own.name for own in samples.all_samples() if own.gain is not None]
        raise GainError(
            f"--gain sample needs a sample with a gain matrix, but {sample.name!r} has none. Those "
            f"with one: {', '.join(having)}."
        )
    labels, rows = sample.gain["labels"], sample.gain["values"]
    return GainMatrix.of(
        {true: dict(zip(labels, row, strict=True)) for true, row in zip(labels, rows, strict=True)}
    )
