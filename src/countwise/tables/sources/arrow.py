"""Arrow data sets and readers of record batches as sources of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from countwise.errors import TableError
from countwise.tables.read_options import ReadOptions
from countwise.tables.sources.row_source import ArrowSource, Piece, RowSource, slice_batch


def open_source(given: Any, options: ReadOptions) -> tuple[RowSource, ReadOptions] | None:
    """Return the source of a data set or a reader; None for anything else."""
    import pyarrow as pa

    if isinstance(given, pa.RecordBatchReader):
        return ReaderSource(given), options
    if type(given).__module__.startswith("pyarrow") and hasattr(given, "get_fragments"):
        return DatasetSource(given), options
    return None


class DatasetSource(ArrowSource):
    """A pyarrow data set; a piece is a fragment, or a row group of a Parquet file."""

    def __init__(self, dataset: Any) -> None:
        self.dataset, self.schema = dataset, dataset.schema
        self._fragments = list(dataset.get_fragments())
        self.what = f"a pyarrow data set of {len(self._fragments)} fragments"
        self.size = dataset.count_rows()

    def pieces(self) -> Iterator[Piece]:
        """Yield fragments, those of Parquet files by row group."""
        for number, fragment in enumerate(self._fragments):
            path = getattr(fragment, "path", None)
            key = f"fragment {number}" if path is None else str(path)
            stamp = _stamp(fragment, path)
            split = getattr(fragment, "split_by_row_group", None)
            first = 0
            for part in [fragment] if split is None else split():
                rows = part.count_rows()
                if rows:
                    name = key if first == 0 else f"{key} from row {first + 1}"
                    yield Piece(name, key, first, (*stamp, rows), rows, part)
                first += rows

    def batches(self, piece: Piece, names: Sequence[str], rows: int) -> Iterator[Any]:
        """Yield the batches of a fragment, with the keys of its partition as columns."""
        import pyarrow as pa
        import pyarrow.dataset as ds

        fragment = piece.place
        keys = ds.get_partition_keys(fragment.partition_expression)
        physical = [name for name in names if name not in keys]
        scanner = fragment.scanner(
            schema=self.schema, columns=physical, batch_size=rows, batch_readahead=2
        )
        for batch in scanner.to_batches():
            if not len(batch):
                continue
            columns = {name: batch.column(name) for name in physical}
            for name in names:
                if name in keys:
                    kind = self.schema.field(name).type
                    columns[name] = pa.repeat(pa.scalar(keys[name]).cast(kind), len(batch))
            yield pa.RecordBatch.from_pydict({name: columns[name] for name in names})


def _stamp(fragment: Any, path: str | None) -> tuple[int, ...]:
    if path is None:
        return ()
    info = fragment.filesystem.get_file_info(path)
    return (int(info.size or 0), int(info.mtime_ns or 0))


class ReaderSource(ArrowSource):
    """A reader of record batches, which can be read once; what the head took is kept for that."""

    once = True
    what = "a RecordBatchReader"

    def __init__(self, reader: Any) -> None:
        self._reader, self.schema = reader, reader.schema
        self._held: list[Any] = []
        self._is_spent = False

    def head(self, options: Any, rows: int) -> Any:
        """Return the first rows, which the scan will read again from memory."""
        if not self._held:
            held = 0
            while held <= rows:
                try:
                    batch = self._reader.read_next_batch()
                except StopIteration:
                    break
                self._held.append(batch)
                held += len(batch)
        self._in_head = True
        try:
            return super().head(options, rows)
        finally:
            self._in_head = False

    _in_head = False

    def pieces(self) -> Iterator[Piece]:
        """Yield all rows as one piece."""
        yield Piece(self.what, "reader")

    def batches(self, piece: Piece, names: Sequence[str], rows: int) -> Iterator[Any]:
        """Yield the batches that the head took, then those that are left."""
        if self._is_spent:
            raise TableError(
                "scan: a RecordBatchReader can be read once, and this needs a second scan.",
                hint="Scan a pyarrow data set or the files themselves",
            )
        self._is_spent = not self._in_head
        held = list(self._held)
        if self._is_spent:
            self._held.clear()
        for batch in held:
            yield from slice_batch(batch.select(list(names)), rows)
        if not self._in_head:
            for batch in self._reader:
                yield from slice_batch(batch.select(list(names)), rows)
