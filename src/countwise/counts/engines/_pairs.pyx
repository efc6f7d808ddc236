# Compiled work on tables of two columns by class. Every loop releases the interpreter lock.
"""Compiled kernels: count every two columns by class, and measure what they share."""

from libc.math cimport log2
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memset

import numpy as np

ctypedef fused code_t:
    uint8_t
    uint16_t
    uint32_t

cdef enum:
    BLOCK = 2048
    # Four lanes of a table of this size still lie in the nearest cache.
    LANE_CELLS = 2048


cdef void tally(const code_t* left, const code_t* right, const uint32_t* target,
                const double* weight, Py_ssize_t rows, uint32_t wide, uint32_t deep,
                Py_ssize_t cells, bint lanes, uint32_t* count, double* table) noexcept nogil:
    """Add to the table of one pair; `count` has room for the cells, four times with lanes."""
    cdef Py_ssize_t begin = 0, number, i
    cdef uint32_t[BLOCK] cell
    # Of a table with more cells than rows most stay as they are.
    cdef bint few = cells > rows
    if weight == NULL and not few:
        for i in range(4 * cells if lanes else cells):
            count[i] = 0
    while begin < rows:
        number = min(<Py_ssize_t>BLOCK, rows - begin)
        for i in range(number):
            cell[i] = (target[begin + i] * wide + left[begin + i]) * deep + right[begin + i]
        if weight != NULL:
            for i in range(number):
                table[cell[i]] += weight[begin + i]
        elif few:
            for i in range(number):
                table[cell[i]] += 1.0
        elif lanes:
            i = 0
            # Equal neighbors would wait for each other's store.
            while i + 4 <= number:
                count[cell[i]] += 1
                count[cells + cell[i + 1]] += 1
                count[2 * cells + cell[i + 2]] += 1
                count[3 * cells + cell[i + 3]] += 1
                i += 4
            while i < number:
                count[cell[i]] += 1
                i += 1
        else:
            for i in range(number):
                count[cell[i]] += 1
        begin += number
    if weight == NULL and not few:
        for i in range(cells):
            table[i] += count[i]
            if lanes:
                table[i] += <double>count[cells + i] + count[2 * cells + i] + count[3 * cells + i]


cdef double shared_bits(const double* table, Py_ssize_t classes, Py_ssize_t ones, Py_ssize_t others,
                        Py_ssize_t by_class, Py_ssize_t by_one, Py_ssize_t by_other,
                        double* a, double* b) noexcept nogil:
    """Return the bits that two attributes tell of each other, given the class.

    The strides are in doubles; `a` and `b` have room for the levels of each attribute.
    """
    cdef Py_ssize_t k, x, y
    cdef double bits = 0.0, total = 0.0, cell, joint, apart, c
    cdef const double* line
    for k in range(classes):
        c = 0.0
        for y in range(others):
            b[y] = 0.0
        for x in range(ones):
            a[x] = 0.0
            line = table + k * by_class + x * by_one
            for y in range(others):
                a[x] += line[y * by_other]
                b[y] += line[y * by_other]
            c += a[x]
        total += c
        for x in range(ones):
            line = table + k * by_class + x * by_one
            if a[x] <= 0:
                continue
            for y in range(others):
                cell = line[y * by_other]
                joint, apart = cell * c, a[x] * b[y]
                # Products of weights that are next to nothing are zero, and say nothing.
                if joint > 0 and apart > 0:
                    bits += cell * log2(joint / apart)
    return max(bits / total, 0.0) if total > 0 else 0.0


def count_pairs(const code_t[:, ::1] codes, const uint32_t[::1] target, weight,
                const uint32_t[::1] width, Py_ssize_t slots, const int64_t[:, ::1] pairs,
                const int64_t[::1] offset, double[::1] out):
    """Add to the table of each pair of columns in `out`, from its offset on."""
    cdef Py_ssize_t p, rows = codes.shape[1], cells, i, j
    cdef const double[::1] given
    cdef const double* amount = NULL
    cdef bint lanes
    if weight is not None:
        given = weight
        amount = &given[0]
    cdef Py_ssize_t most = max(4 * LANE_CELLS, largest(width, slots, pairs))
    cdef uint32_t[::1] count = np.empty(most, dtype=np.uint32)
    with nogil:
        for p in range(pairs.shape[0]):
            i, j = pairs[p, 0], pairs[p, 1]
            cells = slots * <Py_ssize_t>width[i] * <Py_ssize_t>width[j]
            lanes = cells <= LANE_CELLS and 8 * cells < rows
            tally(&codes[i, 0], &codes[j, 0], &target[0], amount, rows, width[i], width[j], cells,
                  lanes, &count[0], &out[offset[p]])


def measure_pairs(const code_t[:, ::1] codes, const uint32_t[::1] target, weight,
                  const uint32_t[::1] width, Py_ssize_t slots, const int64_t[:, ::1] pairs,
                  double[::1] bits):
    """Write what each pair of columns shares; each table is counted, measured and dropped.

    The last slot of the classes and of each column, for what is missing, is not measured.
    """
    cdef Py_ssize_t p, rows = codes.shape[1], cells, i, j
    cdef const double[::1] given
    cdef const double* amount = NULL
    cdef bint lanes
    if weight is not None:
        given = weight
        amount = &given[0]
    cdef Py_ssize_t most = max(4 * LANE_CELLS, largest(width, slots, pairs))
    cdef uint32_t[::1] count = np.empty(most, dtype=np.uint32)
    cdef double[::1] table = np.empty(most)
    cdef double[:, ::1] room = np.empty((2, 1 + np.max(width, initial=0)))
    with nogil:
        for p in range(pairs.shape[0]):
            i, j = pairs[p, 0], pairs[p, 1]
            cells = slots * <Py_ssize_t>width[i] * <Py_ssize_t>width[j]
            lanes = cells <= LANE_CELLS and 8 * cells < rows
            memset(&table[0], 0, cells * sizeof(double))
            tally(&codes[i, 0], &codes[j, 0], &target[0], amount, rows, width[i], width[j], cells,
                  lanes, &count[0], &table[0])
            bits[p] = shared_bits(&table[0], slots - 1, width[i] - 1, width[j] - 1,
                                  <Py_ssize_t>width[i] * width[j], width[j], 1,
                                  &room[0, 0], &room[1, 0])


cdef Py_ssize_t largest(const uint32_t[::1] width, Py_ssize_t slots, const int64_t[:, ::1] pairs):
    """Return the number of cells of the largest table."""
    cdef Py_ssize_t p, most = 1
    for p in range(pairs.shape[0]):
        most = max(most, slots * <Py_ssize_t>width[pairs[p, 0]] * <Py_ssize_t>width[pairs[p, 1]])
    return most


def measure_tables(list tables, double[::1] bits):
    """Write what the two attributes of each table share: classes × one × other, in any layout."""
    cdef Py_ssize_t p, levels = 1
    cdef const double[:, :, :] table
    for given in tables:
        levels = max(levels, max(given.shape))
    cdef double[:, ::1] room = np.empty((2, levels))
    for p in range(len(tables)):
        table = tables[p]
        if table.shape[0] == 0 or table.shape[1] == 0 or table.shape[2] == 0:
            bits[p] = 0.0
            continue
        with nogil:
            bits[p] = shared_bits(&table[0, 0, 0], table.shape[0], table.shape[1], table.shape[2],
                                  table.strides[0] // sizeof(double),
                                  table.strides[1] // sizeof(double),
                                  table.strides[2] // sizeof(double), &room[0, 0], &room[1, 0])
