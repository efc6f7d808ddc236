# Compiled folds over one block of rows. Every function releases the interpreter lock; none allocates
# more than its fixed buffers. `reference.py` says in NumPy what the counting ones must return.
"""Compiled kernels: tally codes, gather moments, fill fine grids."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np


ctypedef fused Code:
    uint8_t
    uint16_t
    uint32_t


cdef class Axes:
    """Coded columns of any width, each with its stride in a joint table."""

    def __cinit__(self, list codes, strides):
        cdef int i
        cdef const uint8_t[::1] c8
        cdef const uint16_t[::1] c16
        cdef const uint32_t[::1] c32
        self.number = len(codes)
        self.keep = codes
        self.axis = <Axis*>PyMem_Malloc(max(1, self.number) * sizeof(Axis))
        if self.axis == NULL:
            raise MemoryError
        for i in range(self.number):
            column = codes[i]
            self.axis[i].size = column.dtype.itemsize
            self.axis[i].stride = strides[i]
            self.axis[i].data = NULL
            if len(column) == 0:
                continue
            if column.dtype == np.uint8:
                c8 = column
                self.axis[i].data = <const void*>&c8[0]
            elif column.dtype == np.uint16:
                c16 = column
                self.axis[i].data = <const void*>&c16[0]
            else:
                c32 = column
                self.axis[i].data = <const void*>&c32[0]

    def __dealloc__(self):
        PyMem_Free(self.axis)


cdef void address(Axes axes, Py_ssize_t start, Py_ssize_t rows, uint32_t* cell) noexcept nogil:
    """Write the joint-table address of each row of a block."""
    cdef int a
    cdef Py_ssize_t i
    cdef uint32_t stride
    cdef const uint8_t* c8
    cdef const uint16_t* c16
    cdef const uint32_t* c32
    memset(cell, 0, rows * sizeof(uint32_t))
    for a in range(axes.number):
        stride = axes.axis[a].stride
        if axes.axis[a].size == 1:
            c8 = <const uint8_t*>axes.axis[a].data + start
            for i in range(rows):
                cell[i] += c8[i] * stride
        elif axes.axis[a].size == 2:
            c16 = <const uint16_t*>axes.axis[a].data + start
            for i in range(rows):
                cell[i] += c16[i] * stride
        else:
            c32 = <const uint32_t*>axes.axis[a].data + start
            for i in range(rows):
                cell[i] += c32[i] * stride


cdef bint address_short(Axes axes, Py_ssize_t start, Py_ssize_t rows, uint16_t* cell) noexcept nogil:
    """As `address`, twice as fast, for byte codes and tables of up to 65 536 cells."""
    cdef int a
    cdef Py_ssize_t i
    cdef uint16_t stride
    cdef const uint8_t* c8
    for a in range(axes.number):
        if axes.axis[a].size != 1:
            return False
    memset(cell, 0, rows * sizeof(uint16_t))
    for a in range(axes.number):
        stride = <uint16_t>axes.axis[a].stride
        c8 = <const uint8_t*>axes.axis[a].data + start
        for i in range(rows):
            cell[i] += <uint16_t>(c8[i] * stride)
    return True


def tally(Axes axes, Py_ssize_t start, Py_ssize_t stop, double[::1] table):
    """Add one to the cell of every row from `start` to `stop`."""
    cdef Py_ssize_t cells = table.shape[0]
    cdef Py_ssize_t begin, rows, i
    cdef uint32_t[BLOCK] wide
    cdef uint16_t[BLOCK] narrow
    cdef bint small = cells <= 65536
    cdef bint lanes = cells <= 16384
    if cells > 2 * (stop - start) and not lanes:
        # A scratch table would cost more than the rows.
        with nogil:
            begin = start
            while begin < stop:
                rows = min(<Py_ssize_t>BLOCK, stop - begin)
                address(axes, begin, rows, wide)
                for i in range(rows):
                    table[wide[i]] += 1.0
                begin += rows
        return
    scratch = np.zeros(4 * cells if lanes else cells, dtype=np.uint32)
    cdef uint32_t[::1] count = scratch
    with nogil:
        begin = start
        while begin < stop:
            rows = min(<Py_ssize_t>BLOCK, stop - begin)
            if small and address_short(axes, begin, rows, narrow):
                i = 0
                if lanes:
                    # Four lanes: equal neighbours would wait for each other's store.
                    while i + 4 <= rows:
                        count[narrow[i]] += 1
                        count[cells + narrow[i + 1]] += 1
                        count[2 * cells + narrow[i + 2]] += 1
                        count[3 * cells + narrow[i + 3]] += 1
                        i += 4
                while i < rows:
                    count[narrow[i]] += 1
                    i += 1
            else:
                address(axes, begin, rows, wide)
                for i in range(rows):
                    count[wide[i]] += 1
            begin += rows
        for i in range(cells):
            table[i] += count[i]
            if lanes:
                table[i] += <double>count[cells + i] + count[2 * cells + i] + count[3 * cells + i]


def cut(const double[::1] values, const double[::1] points, Code[::1] codes):
    """Write the number of points below each value; one more than there are intervals if missing."""
    cdef Py_ssize_t i, place, left, half, number = points.shape[0]
    cdef double x
    with nogil:
        for i in range(values.shape[0]):
            x = values[i]
            if x != x:
                codes[i] = <Code>(number + 1)
                continue
            place, left = 0, number
            # Without branches that depend on the value, which no processor could foresee.
            while left > 1:
                half = left >> 1
                place += half * (points[place + half - 1] < x)
                left -= half
            codes[i] = <Code>(place + (number > 0 and points[place] < x))


def tally_weighted(Axes axes, const double[::1] weight, Py_ssize_t start, Py_ssize_t stop,
                   double[::1] table):
    """Add the weight of every row from `start` to `stop` to its cell."""
    cdef Py_ssize_t begin = start, rows, i
    cdef uint32_t[BLOCK] cell
    with nogil:
        while begin < stop:
            rows = min(<Py_ssize_t>BLOCK, stop - begin)
            address(axes, begin, rows, cell)
            for i in range(rows):
                table[cell[i]] += weight[begin + i]
            begin += rows


cdef void merge_moments(double* weight, double* mean, double* square,
                        double n, double m, double s) noexcept nogil:
    cdef double total, delta
    if n == 0:
        return
    total = weight[0] + n
    delta = m - mean[0]
    mean[0] += delta * (n / total)
    square[0] += s + delta * delta * (weight[0] * n / total)
    weight[0] = total


def moments(const double[::1] values, Axes target, object weights, Py_ssize_t start, Py_ssize_t stop,
            double[::1] weight, double[::1] mean, double[::1] square, double[::1] missing):
    """Fold weight, mean and squared deviation of each class, block by block (Chan et al. 1983).

    Codes beyond the last class are rows without one.
    """
    cdef Py_ssize_t begin = start, rows, i, k, classes = weight.shape[0]
    cdef uint32_t[BLOCK] label
    cdef double x, d, w = 1.0
    cdef bint weighted = weights is not None
    cdef const double[::1] given
    if weighted:
        given = weights
    scratch = np.zeros((4, classes))
    cdef double[:, ::1] s = scratch
    cdef bint[::1] begun = np.zeros(classes, dtype=np.int32)
    with nogil:
        while begin < stop:
            rows = min(<Py_ssize_t>BLOCK, stop - begin)
            address(target, begin, rows, label)
            for k in range(classes):
                s[0, k] = s[1, k] = s[2, k] = 0.0
                s[3, k] = mean[k]
                begun[k] = weight[k] > 0
            for i in range(rows):
                x = values[begin + i]
                k = min(<Py_ssize_t>label[i], classes - 1)
                if weighted:
                    w = given[begin + i]
                if w == 0:
                    continue
                if x != x:
                    missing[k] += w
                    continue
                if not begun[k]:
                    s[3, k] = x
                    begun[k] = True
                d = x - s[3, k]
                s[0, k] += w
                s[1, k] += w * d
                s[2, k] += w * d * d
            for k in range(classes):
                if s[0, k] > 0:
                    d = s[1, k] / s[0, k]
                    merge_moments(&weight[k], &mean[k], &square[k], s[0, k], s[3, k] + d,
                                  max(0.0, s[2, k] - d * s[1, k]))
            begin += rows


cdef inline int64_t ordered(double x) noexcept nogil:
    """Map a double to an integer that sorts as the double does; -0.0 is 0.0."""
    cdef int64_t bits
    x = x + 0.0
    memcpy(&bits, &x, 8)
    return bits if bits >= 0 else bits ^ <int64_t>0x7FFFFFFFFFFFFFFF


cdef inline uint64_t scatter(int64_t key, int bits) noexcept nogil:
    """Return a place among 2^bits; the high bits of the product depend on all bits of the key."""
    return <uint64_t>key * <uint64_t>0x9E3779B97F4A7C15 >> (64 - bits)


cdef inline int bit_length(uint64_t word) noexcept nogil:
    """Return the bits of a word up to the highest one that is set, by the exponent of a double."""
    cdef double rounded = <double>(word & ~(word >> 1))  # not up to the next power of two
    cdef uint64_t bits
    memcpy(&bits, &rounded, 8)
    return <int>(bits >> 52) - 1022 if word else 0


cdef struct Cell:
    int64_t key
    int64_t place  # -1 where nothing is


cdef int coarsest(const double[::1] values, Py_ssize_t most) noexcept nogil:
    """Return the least shift at which sorted values fall into at most so many cells."""
    cdef Py_ssize_t i, cells = 1
    cdef Py_ssize_t[65] apart
    cdef int shift = 64
    memset(apart, 0, sizeof(apart))
    for i in range(1, values.shape[0]):
        apart[bit_length(<uint64_t>(ordered(values[i]) ^ ordered(values[i - 1])))] += 1
    while shift > 0 and cells + apart[shift] <= most:
        cells += apart[shift]
        shift -= 1
    return shift


def fine_grid(const double[::1] values, Axes target, object weights, Py_ssize_t start,
              Py_ssize_t stop, Py_ssize_t classes, Py_ssize_t most, int shift):
    """Count values per class on the finest dyadic grid of at most `most` occupied cells.

    Returns shift, keys (sorted), counts (classes, keys) and the missing weight of each class.
    """
    cdef int bits = 1
    while (<Py_ssize_t>1 << bits) < 4 * most:
        bits += 1
    cdef Py_ssize_t slots = <Py_ssize_t>1 << bits
    cdef uint64_t mask = slots - 1
    cdef Cell[::1] table_array = np.empty(slots, dtype=[("key", np.int64), ("place", np.int64)])
    keys_array = np.empty(most + 1, dtype=np.int64)
    cdef int64_t[::1] keys_of = keys_array
    counts_array = np.zeros((most + 1, classes))
    cdef double[:, ::1] counts_of = counts_array
    # Plain pointers, which need not be looked up again after each store.
    cdef Cell* table = &table_array[0]
    cdef int64_t* keys = &keys_of[0]
    cdef double* counts = &counts_of[0, 0]
    cdef const double* value
    missing_array = np.zeros(classes)
    cdef double[::1] missing = missing_array
    cdef uint32_t[BLOCK] label
    cdef Py_ssize_t begin = start, rows, i, k, used = 0, j, old
    cdef uint64_t slot
    cdef int64_t key
    cdef double x, w = 1.0
    cdef bint weighted = weights is not None
    cdef const double[::1] given
    if weighted:
        given = weights
    # The first rows tell how coarse the grid is at least, so that it need not be halved so often.
    first = np.asarray(values[start:min(stop, start + 2 * most)])
    if weighted:
        first = first[np.asarray(given[start:start + len(first)]) != 0]
    first = first[~np.isnan(first)]
    shift = max(shift, coarsest(np.sort(first), most))
    with nogil:
        for j in range(slots):
            table[j].place = -1
        while begin < stop:
            rows = min(<Py_ssize_t>BLOCK, stop - begin)
            address(target, begin, rows, label)
            value = &values[begin]
            for i in range(rows):
                x = value[i]
                k = min(<Py_ssize_t>label[i], classes - 1)
                if weighted:
                    w = given[begin + i]
                    if w == 0:
                        continue
                if x != x:
                    missing[k] += w
                    continue
                key = ordered(x) >> shift
                slot = scatter(key, bits)
                while table[slot].place >= 0 and table[slot].key != key:
                    slot = (slot + 1) & mask
                if table[slot].place >= 0:
                    counts[table[slot].place * classes + k] += w
                    continue
                table[slot].place = used
                table[slot].key = keys[used] = key
                counts[used * classes + k] = w
                used += 1
                while used > most:
                    # One cell too many: halve the resolution and put every cell in its new place.
                    shift += 1
                    old = used
                    used = 0
                    for j in range(slots):
                        table[j].place = -1
                    for j in range(old):
                        key = keys[j] >> 1
                        slot = scatter(key, bits)
                        while table[slot].place >= 0 and table[slot].key != key:
                            slot = (slot + 1) & mask
                        if table[slot].place < 0:
                            table[slot].place = used
                            table[slot].key = keys[used] = key
                            if used != j:
                                for k in range(classes):
                                    counts[used * classes + k] = counts[j * classes + k]
                                    counts[j * classes + k] = 0.0
                            used += 1
                        else:
                            for k in range(classes):
                                counts[table[slot].place * classes + k] += counts[j * classes + k]
                                counts[j * classes + k] = 0.0
            begin += rows
    order = np.argsort(keys_array[:used])
    return shift, keys_array[:used][order], np.ascontiguousarray(counts_array[:used][order].T), \
        missing_array
