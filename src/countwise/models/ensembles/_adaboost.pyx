# One round of boosting in one pass: the last rule's misses gain weight, and every row's new weight
# goes to the cells it falls in. The interpreter lock is released.
"""Compiled kernels: reweigh rows by the last rule and tally the new weights."""

from libc.stdint cimport int32_t, uint32_t

from countwise.counts.engines._kernels cimport BLOCK, Axes, address


def reweigh(Axes asked, Axes target, const int32_t[::1] said, double hit, double miss,
            Py_ssize_t start, Py_ssize_t stop, double[::1] weight):
    """Multiply the weight of each row by `hit` or `miss`, as the rule says its class or not."""
    cdef Py_ssize_t begin = start, rows, i
    cdef uint32_t[BLOCK] code
    cdef uint32_t[BLOCK] label
    with nogil:
        while begin < stop:
            rows = min(<Py_ssize_t>BLOCK, stop - begin)
            address(asked, begin, rows, code)
            address(target, begin, rows, label)
            for i in range(rows):
                weight[begin + i] *= hit if <uint32_t>said[code[i]] == label[i] else miss
            begin += rows


def reweigh_and_tally(Axes asked, Axes target, object said, double hit, double miss,
                      Py_ssize_t start, Py_ssize_t stop, double[::1] weight, list axes,
                      list tables):
    """Reweigh a piece of the rows, block by block, and add each block to all tables."""
    cdef Py_ssize_t begin = start, rows, i, g, groups = len(axes)
    cdef uint32_t[BLOCK] cell
    cdef double[::1] table
    cdef Axes own
    while begin < stop:
        rows = min(<Py_ssize_t>BLOCK, stop - begin)
        if said is not None:
            reweigh(asked, target, said, hit, miss, begin, begin + rows, weight)
        for g in range(groups):
            own, table = axes[g], tables[g]
            with nogil:
                address(own, begin, rows, cell)
                for i in range(rows):
                    table[cell[i]] += weight[begin + i]
        begin += rows
