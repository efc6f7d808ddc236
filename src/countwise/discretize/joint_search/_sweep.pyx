# Compiled kernels of the quantizer: exact gain at every position of a boundary in one walk over
# sorted rows, and cells of rows counted in place. The interpreter lock is released.
"""Compiled kernels: sweep a boundary through sorted rows; find and count the cells of rows."""

from libc.math cimport fabs, log2
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memset

import numpy as np

ctypedef fused real:
    float
    double

#: What a cell is worth: by the gain of its best decision, by squared shares, by information.
cdef enum:
    GAIN = 0
    SQUARES = 1
    INFORMATION = 2

#: Less weight than this is what rounding leaves of an emptied cell.
cdef double NOTHING = 1e-9


cdef struct Worth:
    Py_ssize_t classes
    Py_ssize_t choices
    int kind
    int fallback
    double tie
    const double* train
    const double* check


cdef inline void value_of(double* cell, const Worth* worth) noexcept nogil:
    """Write what a cell is worth behind its counts: [train K][check K] -> value, check value."""
    cdef Py_ssize_t classes = worth.classes, choices = worth.choices, j, k, best = 0
    cdef double total = 0.0, top, own, both, n
    cdef const double* e = worth.train
    cdef double* out = cell + 2 * classes
    if worth.kind == GAIN:
        if classes == 2 and choices == 2:
            total = cell[0] + cell[1]
            top = cell[0] * e[0] + cell[1] * e[2]
            own = cell[0] * e[1] + cell[1] * e[3]
            if own > top + worth.tie:
                top = own
                best = 1
            if total < NOTHING:
                best = worth.fallback
                top = 0.0
            e = worth.check
            out[0] = top
            out[1] = cell[2] * e[best] + cell[3] * e[2 + best]
            return
        for j in range(classes):
            total += cell[j]
        top = 0.0
        best = worth.fallback
        if total >= NOTHING:
            for k in range(choices):
                own = 0.0
                for j in range(classes):
                    own += cell[j] * e[j * choices + k]
                if k == 0 or own > top + worth.tie:
                    top = own
                    best = k
        own = 0.0
        e = worth.check
        for j in range(classes):
            own += cell[classes + j] * e[j * choices + best]
        out[0] = top
        out[1] = own
        return
    both = 0.0
    for j in range(classes):
        n = cell[j] + cell[classes + j]
        total += n
        if worth.kind == SQUARES:
            both += n * (n - 1.0)
        elif n > NOTHING:
            both += n * log2(n)
    if total < NOTHING:
        out[0] = 0.0
    elif worth.kind == INFORMATION:
        out[0] = both - total * log2(total)
    elif total >= 2.0:
        # Unbiased for total * (sum of squared shares): a split that tells nothing earns nothing.
        out[0] = both / (total - 1.0)
    else:
        # One row has nothing to be compared with: it is worth what a row is worth on average.
        out[0] = total * e[0]
    out[1] = 0.0


def sweep(const int32_t[::1] context, const uint16_t[::1] label, const double[::1] weight,
          const uint8_t[::1] ends, Py_ssize_t start, Py_ssize_t stop, const double[:, ::1] train,
          const double[:, ::1] check, int fallback, int kind, double lean, double slack,
          double[:, ::1] room):
    """Walk a boundary through rows start..stop of a sorted column; tell the best place.

    `label` is 2 * class + (1 for a row of the checking part), `ends` marks the rows after which a
    cut is possible, `room` is a line of zeros a context and comes back so. The score of a place is
    value + lean * (checking value). Returns the value and checking value of the uncut slab, the
    best score with its two values, and the first and last row after which it is earned (the first
    run of equal values, up to `slack`); -1 where no cut is possible.
    """
    cdef Py_ssize_t i, size = 2 * (2 * train.shape[0] + 2) + 1, classes = train.shape[0]
    cdef Py_ssize_t first = -1, last = -1, half = 2 * train.shape[0] + 2
    cdef double whole = 0.0, whole_check = 0.0, now, now_check, w = 1.0, score
    cdef double best = 0.0, best_value = 0.0, best_check = 0.0
    cdef bint weighted = weight.shape[0] > 0, running = False
    cdef double* cell
    cdef double* left
    cdef double* right
    cdef Py_ssize_t slot
    cdef Worth worth
    worth.classes = classes
    worth.choices = train.shape[1]
    worth.kind = kind
    worth.fallback = fallback
    worth.tie = 0.0
    for i in range(train.shape[0] * train.shape[1]):
        # Decisions that pay the same but for rounding: the first is taken.
        worth.tie = max(worth.tie, NOTHING * fabs((&train[0, 0])[i]))
    worth.train = &train[0, 0]
    worth.check = &check[0, 0]
    with nogil:
        for i in range(start, stop):
            right = &room[context[i], half]
            if weighted:
                w = weight[i]
            right[(label[i] & 1) * classes + (label[i] >> 1)] += w
        for i in range(start, stop):
            cell = &room[context[i], 0]
            if cell[size - 1] == 0.0:
                cell[size - 1] = 1.0
                value_of(cell + half, &worth)
                value_of(cell, &worth)
                whole += cell[2 * classes] + cell[half + 2 * classes]
                whole_check += cell[2 * classes + 1] + cell[half + 2 * classes + 1]
        now = whole
        now_check = whole_check
        for i in range(start, stop - 1):
            left = &room[context[i], 0]
            right = left + half
            if weighted:
                w = weight[i]
            slot = (label[i] & 1) * classes + (label[i] >> 1)
            left[slot] += w
            right[slot] -= w
            now -= left[2 * classes] + right[2 * classes]
            now_check -= left[2 * classes + 1] + right[2 * classes + 1]
            value_of(left, &worth)
            value_of(right, &worth)
            now += left[2 * classes] + right[2 * classes]
            now_check += left[2 * classes + 1] + right[2 * classes + 1]
            if ends[i]:
                score = now + lean * now_check
                if first < 0 or score > best + slack:
                    best = score
                    best_value = now
                    best_check = now_check
                    first = i
                    last = i
                    running = True
                elif (running and fabs(now - best_value) <= slack
                      and fabs(now_check - best_check) <= slack):
                    last = i
                else:
                    running = False
        for i in range(start, stop):
            memset(&room[context[i], 0], 0, size * sizeof(double))
    return whole, whole_check, best, best_value, best_check, first, last


cdef inline Py_ssize_t level_of(double x, const double* edges, Py_ssize_t number) noexcept nogil:
    """How many edges lie below x; an edge belongs to the level on its left."""
    cdef Py_ssize_t low = 0, high = number, middle
    if number <= 16:
        for middle in range(number):
            low += edges[middle] < x
        return low
    while low < high:
        middle = (low + high) >> 1
        if edges[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


def add_levels(const real[:] column, const double[::1] edges, int64_t stride, int64_t blank,
               int64_t[::1] address):
    """Add stride * level to the address of each row; a missing number is on level `blank`."""
    cdef Py_ssize_t i, rows = column.shape[0], number = edges.shape[0]
    cdef const double* first = &edges[0] if number else NULL
    cdef double x
    with nogil:
        for i in range(rows):
            x = column[i]
            address[i] += stride * (blank if x != x else <int64_t>level_of(x, first, number))


def add_banded(const real[:] column, const double[::1] edges, const double[::1] bands,
               int64_t stride, int64_t blank, int64_t[::1] address, uint8_t[::1] near):
    """Add levels as `add_levels` does, and mark the rows inside of the band of an edge.

    `bands` holds the lower and the upper end of the band around each edge, one after the other.
    """
    cdef Py_ssize_t i, rows = column.shape[0], number = edges.shape[0], place
    cdef const double* first = &bands[0] if number else NULL
    cdef double x
    with nogil:
        for i in range(rows):
            x = column[i]
            if x != x:
                address[i] += stride * blank
                continue
            place = level_of(x, first, 2 * number)
            if place & 1:
                near[i] = 1
                place = (place >> 1) + (edges[place >> 1] < x)
            else:
                place >>= 1
            address[i] += stride * place


def count_cells(const int64_t[::1] address, const uint16_t[::1] label, const double[::1] weight,
                const uint8_t[::1] skip, double[:, ::1] table):
    """Add rows to the table cells × slots: slot is the label; rows to skip are left out."""
    cdef Py_ssize_t i, rows = address.shape[0]
    cdef bint weighted = weight.shape[0] > 0, some = skip.shape[0] > 0
    with nogil:
        for i in range(rows):
            if some and skip[i]:
                continue
            table[address[i], label[i]] += weight[i] if weighted else 1.0


def column_range(const real[:] column):
    """Return the least and the largest number of a column, and how many are missing."""
    cdef Py_ssize_t i, rows = column.shape[0], gaps = 0
    cdef double low = 1.0, high = 0.0, x
    cdef bint some = False
    with nogil:
        for i in range(rows):
            x = column[i]
            if x != x:
                gaps += 1
            elif not some:
                some = True
                low = x
                high = x
            elif x < low:
                low = x
            elif x > high:
                high = x
    if not some:
        return float("inf"), float("-inf"), gaps
    return low, high, gaps


def count_widths(const real[:] column, const double[::1] weight, double low, double scale,
                 double[::1] counts):
    """Add rows to intervals of equal width, floor((x - low) * scale), the last one closed."""
    cdef Py_ssize_t i, rows = column.shape[0], number = counts.shape[0], place
    cdef bint weighted = weight.shape[0] > 0
    cdef double x
    with nogil:
        for i in range(rows):
            x = column[i]
            if x != x:
                continue
            place = <Py_ssize_t>((x - low) * scale)
            if place < 0:
                place = 0
            elif place >= number:
                place = number - 1
            counts[place] += weight[i] if weighted else 1.0
