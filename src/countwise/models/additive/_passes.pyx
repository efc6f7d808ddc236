# A pass over rows adds up table entries, and counts the residuals into the same cells: this is the
# gradient. All work on rows releases the interpreter lock. Sums are formed over fixed ranges of rows
# and merged in their order, so results do not depend on the number of threads.
"""Compiled passes of additive models: scores, loss with gradient, minimization, pair screening."""

from libc.math cimport exp, fabs, log, log1p, sqrt
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from countwise.models.additive._sums cimport add_scaled, dot

cdef extern from "_scores.h" nogil:
    enum:
        BLOCK
    void gather_scores(const double* tables, const uint32_t* cell, Py_ssize_t number,
                       double* scores, Py_ssize_t rows, int K)
    void scatter_residuals(double* tables, const uint32_t* cell, Py_ssize_t number,
                           const double* residuals, Py_ssize_t rows, int K)
    void add_product(const double* matrix, Py_ssize_t down, Py_ssize_t across, const double* part,
                     double* out, Py_ssize_t lines, Py_ssize_t number, int K)


cdef class Layout:
    """Where the codes of a row lead: a table for each column, then one for each pair of groups."""

    cdef readonly Py_ssize_t columns, pairs, cells
    cdef const int64_t[::1] offset
    cdef const uint16_t[::1] groups
    cdef const int64_t[::1] group_start
    cdef const int32_t[:, ::1] pair

    def __init__(self, offset, groups, group_start, pair, cells):
        self.offset, self.groups, self.group_start, self.pair = offset, groups, group_start, pair
        self.cells = cells
        self.pairs = pair.shape[0]
        self.columns = offset.shape[0] - self.pairs

    cdef void find_cells(self, const uint16_t[:, ::1] codes, Py_ssize_t start, Py_ssize_t rows,
                         uint32_t* cell, uint16_t* group) noexcept nogil:
        """Write the cell of each table for a block of rows, table by table."""
        cdef Py_ssize_t j, p, i, a, b
        cdef const uint16_t* code
        cdef const uint16_t* table
        cdef uint32_t base, stride
        cdef uint32_t* out
        cdef uint16_t* one
        cdef uint16_t* two
        for j in range(self.columns):
            code = &codes[j, start]
            base = <uint32_t>self.offset[j]
            out = cell + j * BLOCK
            for i in range(rows):
                out[i] = base + code[i]
            if self.pairs:
                table = &self.groups[self.group_start[j]]
                one = group + j * BLOCK
                for i in range(rows):
                    one[i] = table[code[i]]
        for p in range(self.pairs):
            a, b = self.pair[p, 0], self.pair[p, 1]
            stride = <uint32_t>self.pair[p, 2]
            base = <uint32_t>self.offset[self.columns + p]
            one = group + a * BLOCK
            two = group + b * BLOCK
            out = cell + (self.columns + p) * BLOCK
            for i in range(rows):
                out[i] = base + one[i] * stride + two[i]


cdef double pass_rows(Layout layout, const uint16_t[:, ::1] codes, const int32_t[::1] y,
                      const double[::1] weight, Py_ssize_t start, Py_ssize_t stop, int K,
                      const double* tables, const double* bias, double* gradient,
                      double* bias_gradient, double loss, double* scores) noexcept nogil:
    """Add the loss of rows from `start` to `stop` and its gradient, or write the scores."""
    cdef Py_ssize_t T = layout.columns + layout.pairs
    cdef Py_ssize_t begin, rows, i, t, k
    cdef uint32_t* cell = <uint32_t*>malloc((T + 1) * BLOCK * sizeof(uint32_t))
    cdef uint16_t* group = <uint16_t*>malloc((layout.columns + 1) * BLOCK * sizeof(uint16_t))
    cdef double* s = <double*>malloc(BLOCK * K * sizeof(double))
    cdef uint32_t* at
    cdef double w, top, total
    cdef double* line
    begin = start
    while begin < stop:
        rows = min(<Py_ssize_t>BLOCK, stop - begin)
        layout.find_cells(codes, begin, rows, cell, group)
        for i in range(rows):
            for k in range(K):
                s[i * K + k] = bias[k]
        if K > 1:
            gather_scores(tables, cell, T, s, rows, K)
        else:
            for t in range(T):
                at = cell + t * BLOCK
                for i in range(rows):
                    s[i] += tables[at[i]]
        if scores != NULL:
            memcpy(scores + (begin - start) * K, s, rows * K * sizeof(double))
            begin += rows
            continue
        for i in range(rows):
            w = weight[begin + i]
            line = s + i * K
            if K == 1:
                top = line[0]
                total = exp(-fabs(top))
                loss += w * (log1p(total) + max(top, 0.0) - (top if y[begin + i] else 0.0))
                line[0] = w * ((1.0 if top > 0 else total) / (1.0 + total)
                               - (1.0 if y[begin + i] else 0.0))
                bias_gradient[0] += line[0]
                continue
            top = line[0]
            for k in range(1, K):
                top = max(top, line[k])
            total = 0.0
            loss -= w * (line[y[begin + i]] - top)
            for k in range(K):
                line[k] = exp(line[k] - top)
                total += line[k]
            loss += w * log(total)
            total = w / total
            for k in range(K):
                line[k] *= total
            line[y[begin + i]] -= w
            for k in range(K):
                bias_gradient[k] += line[k]
        if K > 1:
            scatter_residuals(gradient, cell, T, s, rows, K)
        else:
            for t in range(T):
                at = cell + t * BLOCK
                for i in range(rows):
                    gradient[at[i]] += s[i]
        begin += rows
    free(cell)
    free(group)
    free(s)
    return loss


def add_up(Layout layout, const uint16_t[:, ::1] codes, Py_ssize_t start, Py_ssize_t stop,
           const double[:, ::1] tables, const double[::1] bias, double[:, ::1] scores):
    """Write the scores of rows from `start` to `stop`: bias plus an entry of every table."""
    if stop <= start:
        return
    cdef const double* table = &tables[0, 0] if tables.shape[0] else NULL
    cdef int K = bias.shape[0]
    with nogil:
        pass_rows(layout, codes, None, None, start, stop, K, table, &bias[0], NULL, NULL, 0.0,
                  &scores[0, 0])


def count_cells(Layout layout, const uint16_t[:, ::1] codes, const double[::1] weight,
                Py_ssize_t start, Py_ssize_t stop, double[::1] counts):
    """Add the weight of rows from `start` to `stop` to the cell they have in each table."""
    cdef Py_ssize_t T = layout.columns + layout.pairs
    cdef Py_ssize_t begin = start, rows, i, t
    cdef uint32_t* cell
    cdef uint16_t* group
    with nogil:
        cell = <uint32_t*>malloc((T + 1) * BLOCK * sizeof(uint32_t))
        group = <uint16_t*>malloc((layout.columns + 1) * BLOCK * sizeof(uint16_t))
        while begin < stop:
            rows = min(<Py_ssize_t>BLOCK, stop - begin)
            layout.find_cells(codes, begin, rows, cell, group)
            for t in range(T):
                for i in range(rows):
                    counts[cell[t * BLOCK + i]] += weight[begin + i]
            begin += rows
        free(cell)
        free(group)


cdef class Basis:
    """Tables as products: left matrix × parameters × right matrix; a size alone is an identity.

    A line of `shapes` holds: cells on the left, parameters on the left, where the left matrix
    begins (-1: identity), the same three on the right, the first parameter, the first cell.
    """

    cdef readonly Py_ssize_t parameters, cells
    cdef const int64_t[:, ::1] shapes
    cdef const double[::1] matrices
    cdef Py_ssize_t widest

    def __init__(self, shapes, matrices, parameters, cells):
        self.shapes, self.matrices = shapes, matrices
        self.parameters, self.cells = parameters, cells
        self.widest = max([int(line[0] * line[4]) for line in shapes], default=0)

    cdef void expand(self, const double* u, double* tables, int K) noexcept nogil:
        """Write the tables of some parameters."""
        cdef Py_ssize_t t, g, r, k, ga, ra, la, gb, rb, lb, wide
        cdef double* held = <double*>malloc((self.widest + 1) * K * sizeof(double))
        cdef const double* part
        cdef const double* matrix
        cdef double* middle
        cdef double* out
        cdef double factor
        memset(tables, 0, self.cells * K * sizeof(double))
        for t in range(self.shapes.shape[0]):
            ga, ra, la = self.shapes[t, 0], self.shapes[t, 1], self.shapes[t, 2]
            gb, rb, lb = self.shapes[t, 3], self.shapes[t, 4], self.shapes[t, 5]
            part = u + self.shapes[t, 6] * K
            out = tables + self.shapes[t, 7] * K
            wide = rb * K
            middle = out if lb < 0 and gb == rb else held
            if la < 0:
                memcpy(middle, part, ra * wide * sizeof(double))
                memset(middle + ra * wide, 0, (ga - ra) * wide * sizeof(double))
            else:
                matrix = &self.matrices[la]
                memset(middle, 0, ga * wide * sizeof(double))
                for g in range(ga):
                    for r in range(ra):
                        factor = matrix[g * ra + r]
                        for k in range(wide):
                            middle[g * wide + k] += factor * part[r * wide + k]
            if middle == out:
                continue
            for g in range(ga):
                if lb < 0:
                    memcpy(out + g * gb * K, held + g * wide, wide * sizeof(double))
                    continue
                add_product(&self.matrices[lb], rb, 1, held + g * wide, out + g * gb * K, gb, rb,
                            K)
        free(held)

    cdef void collect(self, const double* tables, double* u, int K) noexcept nogil:
        """Write the gradient of the parameters from that of the tables."""
        cdef Py_ssize_t t, g, r, k, ga, ra, la, gb, rb, lb, wide
        cdef double* held = <double*>malloc((self.widest + 1) * K * sizeof(double))
        cdef const double* part
        cdef const double* matrix
        cdef const double* middle
        cdef double* out
        cdef double factor
        for t in range(self.shapes.shape[0]):
            ga, ra, la = self.shapes[t, 0], self.shapes[t, 1], self.shapes[t, 2]
            gb, rb, lb = self.shapes[t, 3], self.shapes[t, 4], self.shapes[t, 5]
            out = u + self.shapes[t, 6] * K
            part = tables + self.shapes[t, 7] * K
            wide = rb * K
            middle = part if lb < 0 and gb == rb else held
            if middle == held:
                memset(held, 0, ga * wide * sizeof(double))
                for g in range(ga):
                    if lb < 0:
                        memcpy(held + g * wide, part + g * gb * K, wide * sizeof(double))
                        continue
                    add_product(&self.matrices[lb], 1, rb, part + g * gb * K, held + g * wide, rb,
                                gb, K)
            if la < 0:
                memcpy(out, middle, ra * wide * sizeof(double))
                continue
            matrix = &self.matrices[la]
            memset(out, 0, ra * wide * sizeof(double))
            for g in range(ga):
                for r in range(ra):
                    factor = matrix[g * ra + r]
                    for k in range(wide):
                        out[r * wide + k] += factor * middle[g * wide + k]
        free(held)

    def tables_of(self, const double[:, ::1] u):
        """Return the tables of some parameters, cells × scores."""
        cdef int K = u.shape[1]
        found = np.zeros((self.cells, K))
        cdef double[:, ::1] tables = found
        if self.parameters and self.cells:
            self.expand(&u[0, 0], &tables[0, 0], K)
        return found


cdef class Solver:
    """Minimize loss + ½ Σ penalty · parameter²: L-BFGS in scaled parameters, some kept from below 0.

    The rows are not held here: each step adds the loss and gradient of all rows by `add_rows`, in
    numbered slots, and calls `step`.

    Where several parameters do the same for all rows, only the penalty tells them apart, and a
    search along the gradient takes very many steps. A range of parameters that is `centered` adds
    up, with a cell of it for every row, to what the bias does; and what all scores share says
    nothing. At the least point the sums of both, times the penalties, are 0. So the search starts
    there and stays there; all scores of a parameter must have one scale.
    """

    cdef readonly Layout layout
    cdef readonly Basis basis
    cdef readonly int scores, slots
    cdef readonly Py_ssize_t size
    cdef readonly int steps
    cdef readonly double value, first_slope, slope, slope_limit
    cdef const double[::1] scale, penalty
    cdef const unsigned char[::1] bounded
    cdef const int64_t[:, ::1] centered
    cdef double[::1] x, g, trial, trial_g, direction, plain, tables, rho, alpha
    cdef double[:, ::1] parts, moved, turned
    cdef int memory, held, newest, state
    cdef bint any_bounded
    cdef double length, loss_limit
    cdef int max_steps

    def __init__(self, Layout layout, Basis basis, int scores, int slots, scale, penalty, bounded,
                 start, double loss_limit, double slope_limit, int max_steps, int memory=10,
                 centered=None):
        # x = parameters / scale; the first ones are the biases.
        self.layout, self.basis, self.scores, self.slots = layout, basis, scores, slots
        self.size = (basis.parameters + 1) * scores
        self.scale, self.penalty, self.bounded = scale, penalty, bounded
        self.loss_limit, self.slope_limit, self.max_steps = loss_limit, slope_limit, max_steps
        self.x = np.asarray(start) / np.asarray(scale)
        self.trial = np.array(self.x)
        self.g, self.trial_g = np.zeros(self.size), np.zeros(self.size)
        self.direction, self.plain = np.zeros(self.size), np.zeros(self.size)
        self.tables = np.zeros(max(layout.cells * scores, 1))
        # A slot holds the gradient of the tables, that of the biases, and the loss.
        self.parts = np.zeros((slots, layout.cells * scores + scores + 1))
        self.memory, self.rho, self.alpha = memory, np.zeros(memory), np.zeros(memory)
        self.moved, self.turned = np.zeros((memory, self.size)), np.zeros((memory, self.size))
        self.held = self.newest = self.state = self.steps = 0
        self.centered = centered
        self.any_bounded = bool(np.any(bounded))
        self.prepare()

    cdef void prepare(self) noexcept nogil:
        """Make the tables of the point to try, and clear the slots."""
        cdef Py_ssize_t i
        for i in range(self.size):
            self.plain[i] = self.trial[i] * self.scale[i]
        self.basis.expand(&self.plain[0] + self.scores, &self.tables[0], self.scores)

    cdef void add(self, double* part, const uint16_t[:, ::1] codes, const int32_t[::1] y,
                  const double[::1] weight, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
        cdef Py_ssize_t cells = self.layout.cells * self.scores
        part[cells + self.scores] = pass_rows(
            self.layout, codes, y, weight, start, stop, self.scores, &self.tables[0],
            &self.plain[0], part, part + cells, part[cells + self.scores], NULL)

    def add_rows(self, int slot, const uint16_t[:, ::1] codes, const int32_t[::1] y,
                 const double[::1] weight, Py_ssize_t start, Py_ssize_t stop):
        """Add the loss and the gradient of these rows to a slot."""
        with nogil:
            self.add(&self.parts[slot, 0], codes, y, weight, start, stop)

    def sum_rows(self, const uint16_t[:, ::1] codes, const int32_t[::1] y,
                 const double[::1] weight):
        """Return the gradient and the loss of these rows; sums of them go to `put_sums`."""
        found = np.zeros(self.parts.shape[1])
        cdef double[::1] part = found
        with nogil:
            self.add(&part[0], codes, y, weight, 0, y.shape[0])
        return found

    def put_sums(self, const double[::1] sums):
        """Put the gradient and the loss of all rows into the first slot."""
        self.parts[0, :] = sums

    cdef bint advance(self) noexcept nogil:
        """Take in all slots; return whether there is another point to try."""
        cdef Py_ssize_t i, j, cells = self.layout.cells * self.scores
        cdef int slot, K = self.scores
        cdef double value, slope = 0.0, penalty
        for slot in range(1, self.slots):
            for i in range(cells + K + 1):
                self.parts[0, i] += self.parts[slot, i]
        value = self.parts[0, cells + K]
        memcpy(&self.trial_g[0], &self.parts[0, 0] + cells, K * sizeof(double))
        self.basis.collect(&self.parts[0, 0], &self.trial_g[0] + K, K)
        i = K
        for j in range(self.penalty.shape[0]):
            for slot in range(K):
                penalty = self.penalty[j] * self.plain[i]
                value += 0.5 * penalty * self.plain[i]
                self.trial_g[i] += penalty
                i += 1
        for i in range(self.size):
            self.trial_g[i] *= self.scale[i]
        if self.centered is not None:
            self.center()
        memset(&self.parts[0, 0], 0,
               self.slots * (cells + K + 1) * sizeof(double))
        self.steps += 1
        if self.state == 0:
            self.state = 1
            self.value = value
            memcpy(&self.g[0], &self.trial_g[0], self.size * sizeof(double))
            self.first_slope = self.slope = self.free_slope()
        else:
            for i in range(self.size):
                slope += self.g[i] * (self.trial[i] - self.x[i])
            if not value <= self.value + 1e-4 * slope + 1e-14 * fabs(self.value):
                # Where the parabola through both values and the slope has its least point.
                if value == value and value < 1e300:
                    self.length *= min(max(-slope / (2 * (value - self.value - slope)), 0.1), 0.5)
                else:
                    self.length *= 0.1
                if self.length < 1e-9:
                    return False
                self.place_trial()
                return True
            self.remember()
            slope = self.value - value
            self.value = value
            self.slope = self.free_slope()
            if slope <= self.loss_limit:
                return False
        if self.slope <= self.slope_limit or self.steps >= self.max_steps:
            return False
        self.turn()
        self.place_trial()
        return True

    cdef void center(self) noexcept nogil:
        """Take out of the gradient what leads away from sums of 0."""
        cdef Py_ssize_t j, i, k, at, K = self.scores
        cdef double* g = &self.trial_g[0]
        cdef double top, bottom, w
        for j in range(self.centered.shape[0]):
            for k in range(K):
                top = bottom = 0.0
                for i in range(self.centered[j, 0], self.centered[j, 1]):
                    at = (i + 1) * K + k
                    w = self.penalty[i] * self.scale[at]
                    top += w * g[at]
                    bottom += w * w
                for i in range(self.centered[j, 0], self.centered[j, 1]):
                    at = (i + 1) * K + k
                    g[at] -= self.penalty[i] * self.scale[at] * top / bottom
        if K == 1:
            return
        for i in range(self.size // K):
            top = 0.0
            for k in range(K):
                top += g[i * K + k]
            for k in range(K):
                g[i * K + k] -= top / K

    cdef bint is_stuck(self, Py_ssize_t i) noexcept nogil:
        return self.bounded[i] and self.x[i] <= 0 and self.g[i] > 0

    cdef void descend(self) noexcept nogil:
        """Set the direction downhill, without what is stuck."""
        cdef Py_ssize_t i
        for i in range(self.size):
            self.direction[i] = -self.g[i]
        self.hold_back()

    cdef void hold_back(self) noexcept nogil:
        """Leave out of the direction what is stuck."""
        cdef Py_ssize_t i
        if self.any_bounded:
            for i in range(self.size):
                if self.is_stuck(i):
                    self.direction[i] = 0.0

    cdef double free_slope(self) noexcept nogil:
        """Return the length of the gradient without what presses against a bound."""
        cdef double total = dot(&self.g[0], &self.g[0], self.size)
        cdef Py_ssize_t i
        if self.any_bounded:
            total = 0.0
            for i in range(self.size):
                if not self.is_stuck(i):
                    total += self.g[i] * self.g[i]
        return sqrt(total)

    cdef void remember(self) noexcept nogil:
        """Go to the point that was tried, and keep the way there."""
        cdef Py_ssize_t i
        cdef int at = self.newest
        cdef double* moved = &self.moved[at, 0]
        cdef double* turned = &self.turned[at, 0]
        cdef double both
        for i in range(self.size):
            moved[i] = self.trial[i] - self.x[i]
            turned[i] = self.trial_g[i] - self.g[i]
            self.x[i] = self.trial[i]
            self.g[i] = self.trial_g[i]
        both = dot(moved, turned, self.size)
        if both > 1e-300:
            self.rho[at] = 1.0 / both
            self.newest = (at + 1) % self.memory
            self.held = min(self.held + 1, self.memory)

    cdef void turn(self) noexcept nogil:
        """Set the direction: the two loops of L-BFGS over the parameters that are free to move."""
        cdef double* d = &self.direction[0]
        cdef Py_ssize_t i
        cdef int n, at
        cdef double factor
        self.descend()
        for n in range(self.held):
            at = (self.newest - 1 - n + self.memory) % self.memory
            self.alpha[at] = self.rho[at] * dot(&self.moved[at, 0], d, self.size)
            add_scaled(d, &self.turned[at, 0], -self.alpha[at], self.size)
        if self.held:
            at = (self.newest - 1 + self.memory) % self.memory
            factor = 1.0 / (self.rho[at] * dot(&self.turned[at, 0], &self.turned[at, 0], self.size))
            for i in range(self.size):
                d[i] *= factor
        for n in range(self.held - 1, -1, -1):
            at = (self.newest - 1 - n + self.memory) % self.memory
            factor = self.alpha[at] - self.rho[at] * dot(&self.turned[at, 0], d, self.size)
            add_scaled(d, &self.moved[at, 0], factor, self.size)
        self.hold_back()
        if dot(d, &self.g[0], self.size) >= 0:
            self.held = 0
            self.descend()
        self.length = 1.0

    cdef void place_trial(self) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.size):
            self.trial[i] = self.x[i] + self.length * self.direction[i]
            if self.any_bounded and self.bounded[i] and self.trial[i] < 0:
                self.trial[i] = 0.0
        self.prepare()

    def step(self):
        """Take in what was added to the slots; return whether there is another point to try."""
        cdef bint going
        with nogil:
            going = self.advance()
        return going

    def solve(self, const uint16_t[:, ::1] codes, const int32_t[::1] y, const double[::1] weight,
              const int64_t[:, ::1] ranges):
        """Search to the end over rows in memory, in one thread."""
        cdef int slot
        with nogil:
            while True:
                for slot in range(self.slots):
                    self.add(&self.parts[slot, 0], codes, y, weight, ranges[slot, 0],
                             ranges[slot, 1])
                if not self.advance():
                    break

    def gradient(self):
        """Return the gradient of the parameters at the best point so far."""
        return np.asarray(self.g) / np.asarray(self.scale)

    def solution(self):
        """Return the biases and the parameters of the best point, one line each."""
        found = np.asarray(self.x) * np.asarray(self.scale)
        return found.reshape(-1, self.scores)


def screen(const uint16_t[:, ::1] groups, const int64_t[::1] widths, const int32_t[::1] parts,
           int n_parts, const double[:, ::1] residual, const double[:, ::1] curvature,
           const int64_t[:, ::1] candidates, double ridge, double[:, ::1] gains):
    """Write what a table of each candidate promises: Σ G² / (H + ridge) above that by chance.

    G sums the residuals of a cell and H their curvature. A candidate is a pair of grouped columns,
    or one column and -1. Line k of a candidate's gains leaves out the rows of part k; the last
    one takes all rows.
    """
    cdef Py_ssize_t q, i, k, c, a, b, cells, rows = parts.shape[0]
    cdef int part, K = residual.shape[1]
    cdef Py_ssize_t most = int(np.max(np.asarray(widths), initial=1)) ** 2 * K
    cdef double* held = <double*>malloc((n_parts + 1) * 2 * most * sizeof(double))
    cdef double* at
    cdef double g, h, left_g, left_h, gain
    with nogil:
        for q in range(candidates.shape[0]):
            a, b = candidates[q, 0], candidates[q, 1]
            cells = widths[a] * (widths[b] if b >= 0 else 1)
            memset(held, 0, (n_parts + 1) * 2 * cells * K * sizeof(double))
            for i in range(rows):
                c = groups[a, i]
                if b >= 0:
                    c = c * widths[b] + groups[b, i]
                at = held + (parts[i] * cells + c) * 2 * K
                for k in range(K):
                    at[2 * k] += residual[i, k]
                    at[2 * k + 1] += curvature[i, k]
            for part in range(n_parts + 1):
                gains[q, part] = 0.0
            for c in range(cells * K):
                g = h = 0.0
                for part in range(n_parts + 1):
                    g += held[(part * cells * K + c) * 2]
                    h += held[(part * cells * K + c) * 2 + 1]
                for part in range(n_parts + 1):
                    left_g, left_h = g, h
                    if part < n_parts:
                        left_g -= held[(part * cells * K + c) * 2]
                        left_h -= held[(part * cells * K + c) * 2 + 1]
                    gain = (left_g * left_g - left_h) / (left_h + ridge)
                    gains[q, part] += gain
    free(held)
