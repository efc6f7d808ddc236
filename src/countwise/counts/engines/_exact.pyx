# A double is a whole number m of 53 bits times a power of two, so sums of doubles of one exponent are
# sums of whole numbers, and no bit is lost. The sums of m and of m squared are kept by class and
# exponent in 128 bits, and put together in the end. The interpreter lock is released.
"""Compiled kernel: exact sums of the numbers of a column and of their squares, by class."""

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from countwise.counts.engines._kernels cimport BLOCK, Axes, address

import numpy as np

cdef extern from *:
    """
    #if defined(_MSC_VER) && !defined(__clang__)
    #include <intrin.h>
    static __inline int64_t cw_times(int64_t a, int64_t b, uint64_t *low) {
        int64_t high;
        *low = (uint64_t)_mul128(a, b, &high);
        return high;
    }
    #else
    static inline int64_t cw_times(int64_t a, int64_t b, uint64_t *low) {
        __int128 product = (__int128)a * b;
        *low = (uint64_t)product;
        return (int64_t)(product >> 64);
    }
    #endif

    /* A sum of 128 bits. */
    typedef struct { uint64_t low; int64_t high; } cw_sum;
    /* Sums of m and of m*m; of rows with weights, m*m = high*2^54 + middle*2^28 + square. */
    typedef struct { cw_sum plain, square, middle, high; } cw_cell;

    static void cw_add(cw_sum *sum, int64_t a, int64_t b) {
        uint64_t low;
        int64_t high = cw_times(a, b, &low);
        sum->low += low;
        sum->high += high + (sum->low < low);
    }

    static void cw_take(cw_cell *cell, int64_t m) {
        uint64_t low = (uint64_t)m;
        cell->plain.low += low;
        cell->plain.high += (m >> 63) + (cell->plain.low < low);
        cw_add(&cell->square, m, m);
    }

    static void cw_take_weighted(cw_cell *cell, int64_t m, int64_t weight) {
        int64_t top = m >> 27, rest = m & ((1 << 27) - 1);
        cw_add(&cell->plain, m, weight);
        cw_add(&cell->square, rest * rest, weight);
        cw_add(&cell->middle, top * rest, weight);
        cw_add(&cell->high, top * top, weight);
    }

    /* Add a sum, moved to the left by some bits, to limbs of 32 bits that are carried later. */
    static void cw_put(int64_t *limbs, const cw_sum *sum, int64_t bits) {
        int64_t part[4];
        part[0] = (int64_t)(sum->low & 0xFFFFFFFFu);
        part[1] = (int64_t)(sum->low >> 32);
        part[2] = (int64_t)((uint64_t)sum->high & 0xFFFFFFFFu);
        part[3] = sum->high >> 32;
        limbs += bits >> 5;
        for (int i = 0; i < 4; i++) {
            int64_t moved = part[i] * ((int64_t)1 << (bits & 31));
            limbs[i] += moved & 0xFFFFFFFF;
            limbs[i + 1] += moved >> 32;
        }
    }
    """
    ctypedef struct cw_sum:
        uint64_t low
        int64_t high
    ctypedef struct cw_cell:
        cw_sum plain
        cw_sum square
        cw_sum middle
        cw_sum high
    void cw_take(cw_cell* cell, int64_t m) noexcept nogil
    void cw_take_weighted(cw_cell* cell, int64_t m, int64_t weight) noexcept nogil
    void cw_put(int64_t* limbs, const cw_sum* sum, int64_t bits) noexcept nogil

cdef enum:
    EXPONENTS = 2048
    # The value of a double is m times 2 to the power of (its exponent field - BIAS).
    BIAS = 1075
    # Room above the highest bit of m (53) or m squared (106): 2^74 rows, and a sign.
    ROOM = 76

#: Rows that one call may take: 2^20 squares of 106 bits fit into 127 bits.
MOST_ROWS = 1 << 20


def exact_sums(const double[::1] values, Axes target, object weights, Py_ssize_t start,
               Py_ssize_t stop, double[::1] weight, double[::1] missing):
    """Add up one block of a column by class: sums of numbers and of squares, to the last bit.

    Whole weights only. Codes beyond the last class are rows without one. Adds to `weight` and
    `missing`; returns `low` and words of 32 bits in two's complement, lowest first: the sum of
    class k is ``words[0, k]`` times 2^low, the sum of squares ``words[1, k]`` times 2^(2 low).
    """
    cdef Py_ssize_t slots = weight.shape[0], begin = start, rows, i, k
    cdef uint32_t[BLOCK] label
    cdef int exponent, least = EXPONENTS, most = 0
    cdef int64_t m, w = 1, low
    cdef uint64_t pattern
    cdef double x
    cdef bint weighted = weights is not None
    cdef const double[::1] given
    cdef cw_cell* cells
    if weighted:
        given = weights
    if stop - start > MOST_ROWS or missing.shape[0] != slots:
        raise ValueError("there must be at most 2^20 rows, and a missing weight for each class")
    cells = <cw_cell*>PyMem_RawCalloc(slots * EXPONENTS, sizeof(cw_cell))
    if cells == NULL:
        raise MemoryError
    try:
        with nogil:
            while begin < stop:
                rows = min(<Py_ssize_t>BLOCK, stop - begin)
                address(target, begin, rows, label)
                for i in range(rows):
                    k = min(<Py_ssize_t>label[i], slots - 1)
                    x = values[begin + i]
                    if weighted:
                        w = <int64_t>given[begin + i]
                        if w == 0:
                            continue
                    memcpy(&pattern, &x, 8)
                    exponent = (pattern >> 52) & 2047
                    if exponent == 2047:
                        missing[k] += w
                        continue
                    m = pattern & <uint64_t>0xFFFFFFFFFFFFF
                    if exponent == 0:
                        exponent = 1
                    else:
                        m |= <int64_t>1 << 52
                    if pattern >> 63:
                        m = -m
                    weight[k] += w
                    least, most = min(least, exponent), max(most, exponent)
                    if weighted:
                        cw_take_weighted(&cells[k * EXPONENTS + exponent], m, w)
                    else:
                        cw_take(&cells[k * EXPONENTS + exponent], m)
                begin += rows
        if most == 0:
            return 0, np.zeros((2, slots, 1), dtype=np.uint32)
        # Rounded down to a whole number of words.
        low = ((least - BIAS) >> 5) << 5
        words = (2 * (most - BIAS - low) + 106 + ROOM) // 32 + 4
        limbs_array = np.zeros((2, slots, words), dtype=np.int64)
        put_together(cells, least, most, low, limbs_array)
        return low, limbs_array.astype(np.uint32)
    finally:
        PyMem_RawFree(cells)


cdef void put_together(cw_cell* cells, int least, int most, int64_t low, int64_t[:, :, ::1] limbs):
    """Add the sums of all exponents into limbs, and carry."""
    cdef Py_ssize_t k, i
    cdef int exponent, which
    cdef int64_t bits, carry, limb
    cdef cw_cell* cell
    with nogil:
        for k in range(limbs.shape[1]):
            for exponent in range(least, most + 1):
                cell = &cells[k * EXPONENTS + exponent]
                bits = exponent - BIAS - low
                cw_put(&limbs[0, k, 0], &cell.plain, bits)
                cw_put(&limbs[1, k, 0], &cell.square, 2 * bits)
                cw_put(&limbs[1, k, 0], &cell.middle, 2 * bits + 28)
                cw_put(&limbs[1, k, 0], &cell.high, 2 * bits + 54)
            for which in range(2):
                carry = 0
                for i in range(limbs.shape[2]):
                    limb = limbs[which, k, i] + carry
                    carry = limb >> 32
                    limbs[which, k, i] = limb & <int64_t>0xFFFFFFFF
