# Compiled search for informative cuts; cells come first, so that a cell's classes lie together.
"""Compiled kernels: MDL cuts of a column, what to do where there are none, and leaving rows out."""

from libc.math cimport INFINITY, fabs, log, log2
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

import numpy as np

cdef enum:
    KNOWN = 16384  # x log2 x of whole numbers below is looked up; the formula gives the same
    TRIES = 3  # numbers of intervals of equal frequency that are tried where MDL finds no cut

cdef double[KNOWN] TABLE
cdef int[TRIES] BINS = [3, 5, 10]
cdef Py_ssize_t at
TABLE[0] = 0.0
for at in range(1, KNOWN):
    TABLE[at] = at * log2(<double>at)


cdef inline double xlogx(double x) noexcept nogil:
    cdef Py_ssize_t whole
    if x < KNOWN:
        if x <= 0.0:
            return 0.0
        whole = <Py_ssize_t>x
        if <double>whole == x:
            return TABLE[whole]
    return x * log2(x)


cdef double total_of(const double* weights, Py_ssize_t classes) noexcept nogil:
    cdef double total = 0.0
    cdef Py_ssize_t k
    for k in range(classes):
        total += weights[k]
    return total


cdef double bits_of(const double* weights, Py_ssize_t classes, double total) noexcept nogil:
    """Return the entropy of some rows times their number."""
    cdef double rest = 0.0
    cdef Py_ssize_t k
    for k in range(classes):
        rest += xlogx(weights[k])
    return xlogx(total) - rest


cdef Py_ssize_t kinds_of(const double* weights, Py_ssize_t classes) noexcept nogil:
    cdef Py_ssize_t k, kinds = 0
    for k in range(classes):
        kinds += weights[k] != 0.0
    return kinds


cdef Py_ssize_t one_class(const double* weights, Py_ssize_t classes) noexcept nogil:
    """Return the only class of a cell, or -1."""
    cdef Py_ssize_t k, found = -1
    for k in range(classes):
        if weights[k] != 0.0:
            if found >= 0:
                return -1
            found = k
    return found


cdef void sum_cells(const double* cells, Py_ssize_t classes, Py_ssize_t start, Py_ssize_t stop,
                    double* out) noexcept nogil:
    cdef Py_ssize_t i, k
    memset(out, 0, classes * sizeof(double))
    for i in range(start, stop):
        for k in range(classes):
            out[k] += cells[i * classes + k]


cdef Py_ssize_t best_split(const double* cells, Py_ssize_t classes, Py_ssize_t start,
                           Py_ssize_t stop, const Py_ssize_t* pure, double* work) noexcept nogil:
    """Find the cell after which a cut leaves the fewest bits; `work` gets whole, left and right.

    `pure` has the only class of each cell, or -1. Between two cells of one and the same class the best cut never lies (Fayyad & Irani 1992).
    """
    cdef double* whole = work
    cdef double* left = work + classes
    cdef double* right = work + 2 * classes
    cdef double total, n = 0.0, bits, least = INFINITY
    cdef Py_ssize_t i, k, place = start
    sum_cells(cells, classes, start, stop, whole)
    total = total_of(whole, classes)
    memset(left, 0, classes * sizeof(double))
    for i in range(start, stop - 1):
        for k in range(classes):
            left[k] += cells[i * classes + k]
            n += cells[i * classes + k]
        if pure[i] >= 0 and pure[i] == pure[i + 1]:
            continue
        for k in range(classes):
            right[k] = whole[k] - left[k]
        bits = bits_of(left, classes, n) + bits_of(right, classes, total - n)
        if bits < least:
            least, place = bits, i
    return place


cdef bint worth_it(const double* cells, Py_ssize_t classes, Py_ssize_t start, Py_ssize_t stop,
                   Py_ssize_t place, double* work) noexcept nogil:
    """Return whether the gain exceeds the price of describing the cut (Fayyad & Irani 1993)."""
    cdef double* whole = work
    cdef double* left = work + classes
    cdef double* right = work + 2 * classes
    cdef double n, size, one, two, before, price
    cdef Py_ssize_t k, kinds, k1, k2
    sum_cells(cells, classes, start, place + 1, left)
    for k in range(classes):
        right[k] = whole[k] - left[k]
    size, n = total_of(whole, classes), total_of(left, classes)
    before = bits_of(whole, classes, size)
    one, two = bits_of(left, classes, n), bits_of(right, classes, size - n)
    kinds, k1, k2 = kinds_of(whole, classes), kinds_of(left, classes), kinds_of(right, classes)
    price = log2(size - 1.0) + log2(3.0 ** kinds - 2.0)
    price -= kinds * before / size - k1 * one / n - k2 * two / (size - n)
    return before - one - two > price


cdef Py_ssize_t cut_by_mdl(const double* cells, Py_ssize_t count, Py_ssize_t classes,
                           const Py_ssize_t* pure, double* work, Py_ssize_t* waiting,
                           Py_ssize_t* found) noexcept nogil:
    """Write after which cells to cut, unsorted; return how many there are."""
    cdef Py_ssize_t depth = 1, start, stop, place, cuts = 0
    waiting[0], waiting[1] = 0, count
    while depth:
        depth -= 1
        start, stop = waiting[2 * depth], waiting[2 * depth + 1]
        if stop - start < 2:
            continue
        place = best_split(cells, classes, start, stop, pure, work)
        if total_of(work, classes) <= 1.0:
            continue
        if worth_it(cells, classes, start, stop, place, work):
            found[cuts] = place
            cuts += 1
            waiting[2 * depth], waiting[2 * depth + 1] = start, place + 1
            waiting[2 * depth + 2], waiting[2 * depth + 3] = place + 1, stop
            depth += 2
    return cuts


cdef Py_ssize_t cut_by_frequency(const double* cells, Py_ssize_t count, Py_ssize_t classes,
                                 int bins, Py_ssize_t* found) noexcept nogil:
    """Write after which cells to cut, so that about equal weight lies between cuts."""
    cdef double total = 0.0, low = 0.0, high = 0.0, target
    cdef Py_ssize_t i = 0, j, cuts = 0, place
    for j in range(count * classes):
        total += cells[j]
    high = total_of(cells, classes)
    for j in range(1, bins):
        target = total * j / bins
        while high < target and i < count - 1:
            i += 1
            low = high
            high = low + total_of(cells + i * classes, classes)
        place = i
        if i > 0 and (fabs(low - target) < fabs(high - target) or i == count - 1):
            place = i - 1
        if place < count - 1 and (cuts == 0 or place > found[cuts - 1]):
            found[cuts] = place
            cuts += 1
    return cuts


cdef double loss_without(const double* cells, Py_ssize_t count, Py_ssize_t classes,
                         const Py_ssize_t* cuts, Py_ssize_t number, double* work) noexcept nogil:
    """Return the log loss of naive Bayes with these intervals alone, each row scored without it.

    P(c | interval) is in proportion to n(c) (n(c, interval) + 1) / (n(c) + number of intervals).
    """
    cdef double* whole = work
    cdef double* inside = work + classes
    cdef double loss = 0.0, less, sum_, mine, weight, n, m
    cdef Py_ssize_t part, k, c, start = 0, stop
    sum_cells(cells, classes, 0, count, whole)
    for part in range(number + 1):
        stop = cuts[part] + 1 if part < number else count
        sum_cells(cells, classes, start, stop, inside)
        for c in range(classes):
            weight = inside[c]
            if weight <= 0.0 or whole[c] <= 1.0:
                continue
            less = 1.0 if weight > 1.0 else weight
            sum_, mine = 0.0, 0.0
            for k in range(classes):
                n, m = whole[k], inside[k]
                if k == c:
                    n, m = n - less, m - less
                n = n * (m + 1.0) / (n + number + 1.0)
                sum_ += n
                if k == c:
                    mine = n
            loss -= weight * log(mine / sum_)
        start = stop
    return loss


cdef Py_ssize_t fall_back(const double* cells, Py_ssize_t count, Py_ssize_t classes,
                          double margin, const Py_ssize_t* pure, double* work,
                          Py_ssize_t* tried, Py_ssize_t* found) noexcept nogil:
    """Write the best single cut or those of equal frequency, if rows left out are better told.

    The loss must fall by more than `margin`; a cut placed by the classes pays for its place, too.
    """
    cdef double loss, least
    cdef double most = loss_without(cells, count, classes, tried, 0, work)
    cdef Py_ssize_t way, number, cuts = 0
    least = most - margin
    for way in range(TRIES + 1):
        if way == 0:
            tried[0] = best_split(cells, classes, 0, count, pure, work)
            number = 1
        else:
            number = cut_by_frequency(cells, count, classes, BINS[way - 1], tried)
        loss = loss_without(cells, count, classes, tried, number, work)
        if way == 0:
            loss += 0.5 * log(<double>count)
        if loss < least:
            least, cuts = loss, number
            memcpy(found, tried, number * sizeof(Py_ssize_t))
    return cuts


cdef class Workspace:
    """Memory for the search in one column."""

    cdef double* figures
    cdef Py_ssize_t* places
    cdef Py_ssize_t* found
    cdef Py_ssize_t* waiting
    cdef Py_ssize_t* pure
    cdef double* cells

    def __cinit__(self, Py_ssize_t count, Py_ssize_t classes):
        self.figures = <double*>malloc(3 * classes * sizeof(double))
        self.places = <Py_ssize_t*>malloc((count + 16) * sizeof(Py_ssize_t))
        self.found = <Py_ssize_t*>malloc((count + 16) * sizeof(Py_ssize_t))
        self.waiting = <Py_ssize_t*>malloc((2 * count + 16) * sizeof(Py_ssize_t))
        self.pure = <Py_ssize_t*>malloc((count + 1) * sizeof(Py_ssize_t))
        self.cells = <double*>malloc((count * classes + 1) * sizeof(double))
        if not (self.figures and self.places and self.found and self.waiting):
            raise MemoryError
        if not (self.pure and self.cells):
            raise MemoryError

    def __dealloc__(self):
        free(self.figures)
        free(self.places)
        free(self.found)
        free(self.waiting)
        free(self.pure)
        free(self.cells)

    cdef Py_ssize_t cut(self, const double* cells, Py_ssize_t count, Py_ssize_t classes,
                        double margin) noexcept nogil:
        cdef Py_ssize_t cuts, i
        if count < 2:
            return 0
        for i in range(count):
            self.pure[i] = one_class(cells + i * classes, classes)
        cuts = cut_by_mdl(cells, count, classes, self.pure, self.figures, self.waiting, self.found)
        if cuts == 0 and margin < INFINITY:
            cuts = fall_back(cells, count, classes, margin, self.pure, self.figures, self.places,
                             self.found)
        return cuts


def find_cuts(const double[:, ::1] cells, double margin):
    """Return after which cells (cells × classes) to cut, in order; no fall-back if margin is inf."""
    cdef Py_ssize_t count = cells.shape[0], classes = cells.shape[1], cuts, i
    if count < 2 or classes == 0:
        return []
    cdef Workspace space = Workspace(count, classes)
    with nogil:
        cuts = space.cut(&cells[0, 0], count, classes, margin)
    return sorted([space.found[i] for i in range(cuts)])


def find_intervals_without(const double[:, ::1] cells, const double[::1] points, bint exact,
                           const Py_ssize_t[::1] cell, const Py_ssize_t[::1] label,
                           const double[::1] weight, double margin):
    """Return the interval of each cell by the cuts found without one row there, and their number.

    A row is a cell, a class and a weight. Intervals are given as first cell and the one behind
    the last; `points` are the values of the cells.
    """
    cdef Py_ssize_t count = cells.shape[0], classes = cells.shape[1], rows = cell.shape[0]
    cdef Py_ssize_t row, here, size, cuts, i, place, beside, low, high
    cdef double less, whole, middle
    first, behind = np.empty(rows, np.intp), np.empty(rows, np.intp)
    number = np.empty(rows, np.intp)
    cdef Py_ssize_t[::1] lows = first, highs = behind, numbers = number
    cdef bint gone
    cdef Workspace space = Workspace(count, classes)
    if rows == 0:
        return first, behind, number
    with nogil:
        for row in range(rows):
            here = cell[row]
            memcpy(space.cells, &cells[0, 0], count * classes * sizeof(double))
            whole = cells[here, label[row]]
            less = whole - weight[row]
            space.cells[here * classes + label[row]] = less if less > 1e-12 * whole else 0.0
            gone = total_of(space.cells + here * classes, classes) <= 0.0
            size = count
            if gone:
                size = count - 1
                memcpy(space.cells + here * classes, &cells[0, 0] + (here + 1) * classes,
                       (size - here) * classes * sizeof(double))
            cuts = space.cut(space.cells, size, classes, margin)
            low, high = 0, count
            for i in range(cuts):
                place = space.found[i]
                if gone and place == here - 1:
                    # The cut lies beside the value that left: on which side is it?
                    middle = points[here - 1] + (points[here + 1] / 2 - points[here - 1] / 2)
                    if exact and points[here] <= middle:
                        high = min(high, here + 1)
                    else:
                        low = max(low, here)
                    continue
                if gone and place >= here:
                    place += 1
                # Two numbers may be so near that their middle is the larger one.
                beside = place + 2 if gone and place + 1 == here else place + 1
                middle = points[place] + (points[beside] / 2 - points[place] / 2)
                if exact and middle >= points[beside]:
                    place = beside
                if place < here:
                    low = max(low, place + 1)
                else:
                    high = min(high, place + 1)
            lows[row], highs[row], numbers[row] = low, high, cuts + 1
    return first, behind, number
