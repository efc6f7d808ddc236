# Compiled leave-one-out: shares from tables that every row is taken out of as it is asked about.
"""Compiled kernel: multiply the shares of rows, each without itself. The lock is released."""

import numpy as np


# Below this nothing was counted or imagined: a quotient by less may be no number.
cdef double LEAST = 1e-300


cdef inline double left(double figure, double weight) noexcept nogil:
    # What rounding leaves of fractional weights is nothing.
    cdef double less = figure - weight
    return less if less > 1e-12 * figure else 0.0


cdef void sort_cells(const double[:, :, :] cells, const Py_ssize_t[::1] slots, double whole,
                     double even, bint as_class, double* counts, double* totals,
                     double* inverse) noexcept nogil:
    """Write counts by parents, child and class, their totals, and by what they are multiplied."""
    cdef Py_ssize_t k, x, p, classes = slots.shape[0], levels = cells.shape[1]
    cdef Py_ssize_t parents = cells.shape[2]
    cdef double count
    for p in range(parents * classes):
        totals[p] = 0.0
    for k in range(classes):
        for x in range(levels):
            for p in range(parents):
                count = 0.0 if as_class and p == parents - 1 else cells[slots[k], x, p]
                counts[(p * levels + x) * classes + k] = count
                totals[p * classes + k] += count
    for p in range(parents):
        for k in range(classes):
            if totals[p * classes + k] + whole > LEAST:
                inverse[p * classes + k] = 1.0 / (totals[p * classes + k] + whole)
                continue
            inverse[p * classes + k] = 1.0
            for x in range(levels):
                counts[(p * levels + x) * classes + k] = even


def multiply_shares(list tables, list parents, const Py_ssize_t[::1] slots,
                    const Py_ssize_t[::1] child, const double[:, :, :] imagined, double whole,
                    double even, bint as_class, const Py_ssize_t[::1] truth,
                    const double[::1] weight, double[:, :, ::1] product):
    """Multiply the product of each family by the shares of one child: families × rows × classes.

    A share is ``(count + imagined) / (total + whole)``, `even` where nothing was counted or
    imagined; the row's own weight is taken out of both in its own class. `tables` are classes ×
    child × parents, of which the `slots` are asked for; the last parent stands for none known, and
    with `as_class` its share is the imagined one alone. A child beyond the table says nothing, and
    neither does one that no class was seen with.
    """
    cdef Py_ssize_t family, r, k, x, p, t, classes = slots.shape[0], levels, wide
    # A child without levels has totals, too.
    cdef Py_ssize_t most = max([max(1, table.shape[1]) * table.shape[2] for table in tables])
    cdef double own, total
    cdef bint seen
    cdef const double[:, :, :] cells
    cdef const Py_ssize_t[::1] codes
    cdef double[:, ::1] scratch = np.empty((3, most * classes))
    cdef double* counts = &scratch[0, 0]
    cdef double* totals = &scratch[1, 0]
    cdef double* inverse = &scratch[2, 0]
    cdef const double* line
    cdef const double* by
    cdef const double* extra
    cdef double* out
    for family in range(len(tables)):
        cells, codes = tables[family], parents[family]
        levels, wide = cells.shape[1], cells.shape[2]
        with nogil:
            sort_cells(cells, slots, whole, even, as_class, counts, totals, inverse)
            for r in range(child.shape[0]):
                x, t = child[r], truth[r]
                if x >= levels:
                    continue
                p = codes[r] if wide > 1 else 0
                line, by = counts + (p * levels + x) * classes, inverse + p * classes
                extra, out = &imagined[family, r, 0], &product[family, r, 0]
                if as_class and p == wide - 1:
                    own = extra[t] * by[t]
                else:
                    total = left(totals[p * classes + t], weight[r]) + whole
                    own = (left(line[t], weight[r]) + extra[t]) / total if total > 0 else even
                if own <= 0:
                    seen = False
                    for k in range(classes):
                        seen |= k != t and line[k] + extra[k] > 0
                    if not seen:
                        continue
                own *= out[t]
                for k in range(classes):
                    out[k] *= (line[k] + extra[k]) * by[k]
                out[t] = own
