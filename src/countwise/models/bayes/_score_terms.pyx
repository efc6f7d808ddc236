# Compiled scoring of one block of rows: look up, add, compare. The interpreter lock is released.
"""Compiled kernels: add log likelihoods to the scores of rows, and find the best class."""

from libc.math cimport INFINITY, exp, log, sqrt
from libc.stdint cimport int64_t, uint8_t, uint32_t

from countwise.counts.engines._kernels cimport BLOCK, Axes, address

import numpy as np


def add_tables(Axes axes, Py_ssize_t start, Py_ssize_t stop, const double[:, ::1] table,
               double[:, ::1] scores):
    """Add to each row's scores the table line of the cell it falls in."""
    cdef Py_ssize_t begin = start, rows, i, k, classes = table.shape[1], row = 0
    cdef uint32_t[BLOCK] cell
    cdef const double* line
    cdef double* out
    with nogil:
        while begin < stop:
            rows = min(<Py_ssize_t>BLOCK, stop - begin)
            address(axes, begin, rows, cell)
            if classes == 2:
                for i in range(rows):
                    line = &table[cell[i], 0]
                    out = &scores[row + i, 0]
                    out[0] += line[0]
                    out[1] += line[1]
            else:
                for i in range(rows):
                    line = &table[cell[i], 0]
                    out = &scores[row + i, 0]
                    for k in range(classes):
                        out[k] += line[k]
            begin += rows
            row += rows


cdef double log_sum(const double* part, Py_ssize_t classes) noexcept nogil:
    cdef double top = -INFINITY, total = 0.0
    cdef Py_ssize_t k
    for k in range(classes):
        if part[k] > top:
            top = part[k]
    if top == -INFINITY:
        return 0.0
    for k in range(classes):
        total += exp(part[k] - top)
    return top + log(total)


def add_gaussians(const double[::1] values, Py_ssize_t start, Py_ssize_t stop,
                  const double[::1] mean, const double[::1] precision, const double[::1] constant,
                  const double[::1] missing, bint normalise, double lowest, double[:, ::1] scores):
    """Add the log density of each class, ``constant - precision (x - mean)^2``, to the scores."""
    cdef Py_ssize_t i, k, classes = mean.shape[0]
    cdef double x, d, total
    cdef double[:, ::1] part = np.empty((1, classes))
    with nogil:
        for i in range(stop - start):
            x = values[start + i]
            if x != x:
                for k in range(classes):
                    scores[i, k] += missing[k]
                continue
            for k in range(classes):
                d = x - mean[k]
                d = constant[k] - precision[k] * d * d
                part[0, k] = d if d > lowest else lowest
            total = log_sum(&part[0, 0], classes) if normalise else 0.0
            for k in range(classes):
                scores[i, k] += part[0, k] - total


def add_kernels(const double[::1] values, Py_ssize_t start, Py_ssize_t stop, list densities,
                const double[::1] constant, const double[::1] missing, bint normalise,
                double lowest, double[:, ::1] scores):
    """Add the log of a piecewise polynomial density of each class to the scores.

    Each density is (points, weights, bandwidth, boxes, coefficients): sorted support points, the
    sorted left ends of boxes one bandwidth wide, and the polynomial of the density in each box. A
    value outside every box is far from all points: its log density is the sum over them.
    """
    cdef Py_ssize_t i, k, j, low, high, middle, classes = len(densities), degree
    cdef double x, t, p, top, part
    cdef const double[::1] points, weights, boxes
    cdef const double[:, ::1] polynomial
    cdef double bandwidth, inverse, scale
    cdef Py_ssize_t rows = stop - start
    buffer = np.empty((rows, classes))
    cdef double[:, ::1] out = buffer
    for k in range(classes):
        points, weights, bandwidth, boxes, polynomial = densities[k]
        degree = polynomial.shape[1]
        inverse = 1.0 / bandwidth
        scale = -log(bandwidth * sqrt(2 * 3.141592653589793238))
        with nogil:
            for i in range(rows):
                x = values[start + i]
                if x != x:
                    out[i, k] = 0.0
                    continue
                low, high = 0, boxes.shape[0]
                while low < high:
                    middle = (low + high) >> 1
                    if boxes[middle] <= x:
                        low = middle + 1
                    else:
                        high = middle
                low -= 1
                p = 0.0
                if low >= 0:
                    t = 2.0 * (x - boxes[low]) * inverse - 1.0
                    if t <= 1.0:
                        for j in range(degree):
                            p = p * t + polynomial[low, j]
                if p > 0:
                    out[i, k] = log(p) + scale
                else:
                    top = -INFINITY
                    for j in range(points.shape[0]):
                        t = (x - points[j]) * inverse
                        t = log(weights[j]) - 0.5 * t * t
                        if t > top:
                            top = t
                    p = 0.0
                    if top > lowest:
                        for j in range(points.shape[0]):
                            t = (x - points[j]) * inverse
                            p += exp(log(weights[j]) - 0.5 * t * t - top)
                        out[i, k] = top + log(p) + scale
                    else:
                        out[i, k] = lowest
                out[i, k] += constant[k]
    with nogil:
        for i in range(rows):
            if values[start + i] != values[start + i]:
                for k in range(classes):
                    scores[i, k] += missing[k]
                continue
            part = log_sum(&out[i, 0], classes) if normalise else 0.0
            for k in range(classes):
                scores[i, k] += (out[i, k] if out[i, k] > lowest else lowest) - part


def add_up(const double[:, ::1] scores, const uint8_t[::1] allowed, double[:, ::1] top,
           double[:, ::1] total):
    """Add e to the power of the scores of allowed rows to ``total * exp(top)``, without overflow."""
    cdef Py_ssize_t i, k, classes = scores.shape[1]
    cdef double score
    with nogil:
        for i in range(scores.shape[0]):
            if not allowed[i]:
                continue
            for k in range(classes):
                score = scores[i, k]
                if score <= top[i, k]:
                    total[i, k] += exp(score - top[i, k])
                else:
                    total[i, k] = total[i, k] * exp(top[i, k] - score) + 1.0
                    top[i, k] = score


def best_class(const double[:, ::1] scores, Py_ssize_t rows, int64_t[::1] best, double[::1] top):
    """Write the position of the first largest score of each row, and the score."""
    cdef Py_ssize_t i, k, classes = scores.shape[1], at
    with nogil:
        for i in range(rows):
            at = 0
            for k in range(1, classes):
                if scores[i, k] > scores[i, at]:
                    at = k
            best[i] = at
            top[i] = scores[i, at]
