# In the dual form a row has one coefficient for each score, however many tables there are. The
# kernel of two rows is the sum of the products of their parameters' factors, over penalties.
"""Compiled search for the coefficients of rows: L-BFGS that starts from Newton's matrix."""

from libc.math cimport exp, log, log1p, sqrt
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from countwise.models.additive._sums cimport add_scaled, dot

cdef enum:
    MEMORY = 12
    REFRESH = 60

# Rows that are certain keep this curvature, for steps of a sound length.
cdef double LEAST = 0.01


cdef double take_residuals(const double* f, const int32_t[::1] y, const double[::1] weight, int K,
                           Py_ssize_t n, double* residual, double* curvature) noexcept nogil:
    """Write weight × (probability - class) and roots of the curvature; return the loss."""
    cdef Py_ssize_t i
    cdef int k
    cdef double loss = 0.0, top, total, p, w, spread
    for i in range(n):
        w = weight[i]
        if K == 1:
            top = f[i] if y[i] == 0 else -f[i]
            loss += w * (top + log1p(exp(-top)) if top > 0 else log1p(exp(top)))
            p = 1.0 / (1.0 + exp(-f[i]))
            residual[i] = w * (p - (y[i] == 1))
            spread = p * (1 - p)
        else:
            top = f[i]
            for k in range(1, K):
                top = max(top, f[k * n + i])
            total = 0.0
            for k in range(K):
                residual[k * n + i] = exp(f[k * n + i] - top)
                total += residual[k * n + i]
            loss += w * (log(total) + top - f[y[i] * n + i])
            spread = 0.0
            for k in range(K):
                p = residual[k * n + i] / total
                residual[k * n + i] = w * (p - (y[i] == k))
                spread += 0.5 * p * (1 - p)
        curvature[i] = sqrt(w * max(spread, LEAST))
    return loss


cdef bint factorize(const double[:, ::1] gram, const double* root, double* low,
                    Py_ssize_t n) noexcept nogil:
    """Write the Cholesky factor of 1 + root × gram × root, row by row."""
    cdef Py_ssize_t i, j
    cdef double left
    for i in range(n):
        for j in range(i):
            left = root[i] * gram[i, j] * root[j] - dot(low + i * n, low + j * n, j)
            low[i * n + j] = left * low[j * n + j]
        left = 1.0 + root[i] * gram[i, i] * root[i] - dot(low + i * n, low + i * n, i)
        if not left > 0:
            return False
        # The diagonal holds the reciprocal: divisions are slow.
        low[i * n + i] = 1.0 / sqrt(left)
    return True


cdef void divide(const double* low, const double* root, double* x, Py_ssize_t n) noexcept nogil:
    """Replace x by (1 + curvature × gram)⁻¹ x."""
    cdef Py_ssize_t i
    for i in range(n):
        x[i] = (x[i] / root[i] - dot(low + i * n, x, i)) * low[i * n + i]
    for i in range(n - 1, -1, -1):
        x[i] *= low[i * n + i]
        add_scaled(x, low + i * n, -x[i], i)
    for i in range(n):
        x[i] *= root[i]


cdef void multiply(const double[:, ::1] gram, const double* a, double* f, int K,
                   Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef int k
    for i in range(n):
        for k in range(K):
            f[k * n + i] = dot(&gram[i, 0], a + k * n, n)


def solve(const double[:, ::1] gram, const int32_t[::1] y, const double[::1] weight,
          const double[:, ::1] start, double loss_limit, double slope_limit, int max_steps):
    """Return coefficients a that minimize the loss of scores gram × a, plus ½ a × gram × a.

    Lines of `start` are scores, columns rows. The search ends when a step lowers the sum by no
    more than `loss_limit`, or when the gradient is at most `slope_limit` × that of empty tables.
    """
    cdef Py_ssize_t n = start.shape[1]
    cdef int K = start.shape[0], held = 0, newest = 0, steps = 0, since = 0, m, at
    cdef Py_ssize_t size = K * n
    found = np.array(start)
    if not size:
        return found, 0
    cdef double[:, ::1] out = found
    cdef double* a = &out[0, 0]
    cdef double* room = <double*>malloc((9 * size + 3 * MEMORY * size) * sizeof(double))
    cdef double* low = <double*>malloc(n * n * sizeof(double))
    if room == NULL or low == NULL:
        free(room)
        free(low)
        raise MemoryError
    cdef double* f = room
    cdef double* g = f + size
    cdef double* da = g + size
    cdef double* df = da + size
    cdef double* trial_a = df + size
    cdef double* trial_f = trial_a + size
    cdef double* trial_g = trial_f + size
    cdef double* root = trial_g + size
    cdef double* unused = root + size
    cdef double* memory_a = unused + size
    cdef double* memory_f = memory_a + MEMORY * size
    cdef double* memory_g = memory_f + MEMORY * size
    cdef double[MEMORY] rho
    cdef double[MEMORY] alpha
    cdef double value, tried, slope, length, factor, empty, fall
    cdef bint fresh = True
    cdef Py_ssize_t i
    with nogil:
        memset(trial_f, 0, size * sizeof(double))
        take_residuals(trial_f, y, weight, K, n, trial_g, root)
        empty = sqrt(dot(trial_g, trial_g, size))
        multiply(gram, a, f, K, n)
        value = take_residuals(f, y, weight, K, n, g, root) + 0.5 * dot(a, f, size)
        add_scaled(g, a, 1.0, size)
        while steps < max_steps and sqrt(dot(g, g, size)) > slope_limit * empty:
            if fresh or since >= REFRESH:
                take_residuals(f, y, weight, K, n, trial_g, root)
                if not factorize(gram, root, low, n):
                    break
                held, newest, since, fresh = 0, 0, 0, False
            memcpy(da, g, size * sizeof(double))
            for m in range(held):
                at = (newest - 1 - m + MEMORY) % MEMORY
                alpha[at] = rho[at] * dot(memory_f + at * size, da, size)
                add_scaled(da, memory_g + at * size, -alpha[at], size)
            for m in range(K):
                divide(low, root, da + m * n, n)
            multiply(gram, da, df, K, n)
            for m in range(held - 1, -1, -1):
                at = (newest - 1 - m + MEMORY) % MEMORY
                factor = alpha[at] - rho[at] * dot(memory_g + at * size, df, size)
                add_scaled(da, memory_a + at * size, factor, size)
                add_scaled(df, memory_f + at * size, factor, size)
            slope = -dot(g, df, size)
            if not slope < 0:
                if held == 0:
                    break
                fresh = True
                continue
            length = 1.0
            while True:
                for i in range(size):
                    trial_a[i] = a[i] - length * da[i]
                    trial_f[i] = f[i] - length * df[i]
                tried = take_residuals(trial_f, y, weight, K, n, trial_g, unused)
                tried += 0.5 * dot(trial_a, trial_f, size)
                if tried <= value + 1e-4 * length * slope + 1e-14 * value or length < 1e-9:
                    break
                length *= min(max(-slope * length / (2 * (tried - value - slope * length)), 0.1), 0.5)
            if length < 1e-9:
                break
            add_scaled(trial_g, trial_a, 1.0, size)
            at = newest
            for i in range(size):
                memory_a[at * size + i] = trial_a[i] - a[i]
                memory_f[at * size + i] = trial_f[i] - f[i]
                memory_g[at * size + i] = trial_g[i] - g[i]
            factor = dot(memory_f + at * size, memory_g + at * size, size)
            if factor > 1e-300:
                rho[at] = 1.0 / factor
                newest = (at + 1) % MEMORY
                held = min(held + 1, <int>MEMORY)
            memcpy(a, trial_a, size * sizeof(double))
            memcpy(f, trial_f, size * sizeof(double))
            memcpy(g, trial_g, size * sizeof(double))
            fall = value - tried
            value = tried
            steps += 1
            since += 1
            if fall <= loss_limit:
                break
    free(room)
    free(low)
    return found, steps
