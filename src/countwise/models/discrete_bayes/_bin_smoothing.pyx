# Compiled search for the nearest cells of a grid until they hold enough rows. The interpreter lock
# is released.
"""Compiled kernels: sum the counts of the nearest cells, ring by ring, until they are enough."""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc

#: Distances that differ by less are one: cells at equal distance are taken together.
cdef double TIE = 1e-12


cdef struct Node:
    double distance
    double volume
    int64_t address
    int32_t last


cdef inline bint before(const Node* nodes, int32_t one, int32_t two) noexcept nogil:
    return nodes[one].distance < nodes[two].distance


cdef void push(int32_t* heap, Py_ssize_t size, int32_t node, const Node* nodes) noexcept nogil:
    cdef Py_ssize_t at = size, above
    while at > 0:
        above = (at - 1) >> 1
        if not before(nodes, node, heap[above]):
            break
        heap[at] = heap[above]
        at = above
    heap[at] = node


cdef int32_t pop(int32_t* heap, Py_ssize_t size, const Node* nodes) noexcept nogil:
    """Take the nearest node off a heap of `size` nodes; one fewer is left."""
    cdef int32_t top = heap[0], moving = heap[size - 1]
    cdef Py_ssize_t at = 0, below, left = size - 1
    while True:
        below = 2 * at + 1
        if below >= left:
            break
        if below + 1 < left and before(nodes, heap[below + 1], heap[below]):
            below += 1
        if not before(nodes, heap[below], moving):
            break
        heap[at] = heap[below]
        at = below
    if left > 0:
        heap[at] = moving
    return top


def nearest_cells(const int32_t[:, ::1] levels, const int64_t[::1] strides,
                  const int32_t[::1] sizes, const int64_t[::1] begins,
                  const int32_t[::1] orders, const double[::1] distances,
                  const int64_t[::1] places, const double[::1] volumes,
                  const double[:, ::1] counts, int which, double enough, Py_ssize_t most,
                  double[:, ::1] sums, double[::1] reached):
    """Sum cells around each asked one, nearest first, until they count `enough`.

    Axis a of size s has, from ``begins[a]`` on, s + 1 lines of s entries (the last line is for a
    level that may be any): its levels by distance in `orders`, and their squared distances. Cells
    at one distance are taken together. `which` is the class that is counted, -1 for all of them;
    `reached` becomes the volume of the cells taken. Not more than `most` cells are looked at.
    """
    cdef Py_ssize_t q, a, k, number = levels.shape[0], axes = levels.shape[1]
    cdef Py_ssize_t classes = counts.shape[1], used, waiting, looked, child
    cdef double got, ring, volume
    cdef Py_ssize_t limit = most * (axes + 1) + 2
    cdef Node* nodes = <Node*>malloc(limit * sizeof(Node))
    cdef int32_t* heap = <int32_t*>malloc(limit * sizeof(int32_t))
    cdef int32_t* ranks = <int32_t*>malloc(limit * axes * sizeof(int32_t) + 1)
    cdef int32_t top, level, size
    cdef int64_t line
    if nodes == NULL or heap == NULL or ranks == NULL:
        free(nodes)
        free(heap)
        free(ranks)
        raise MemoryError
    with nogil:
        for q in range(number):
            nodes[0].distance = 0.0
            nodes[0].volume = 1.0
            nodes[0].address = 0
            nodes[0].last = 0
            for a in range(axes):
                size = sizes[a]
                line = begins[a] + <int64_t>(size if levels[q, a] < 0 else levels[q, a]) * size
                ranks[a] = 0
                level = orders[line]
                nodes[0].distance += distances[line]
                nodes[0].address += strides[a] * level
                nodes[0].volume *= volumes[places[a] + level]
            used = 1
            waiting = 1
            heap[0] = 0
            looked = 0
            got = 0.0
            ring = -1.0
            volume = 0.0
            while waiting > 0 and looked < most:
                top = pop(heap, waiting, nodes)
                waiting -= 1
                if got >= enough and nodes[top].distance > ring + TIE:
                    break
                ring = nodes[top].distance
                looked += 1
                volume += nodes[top].volume
                for k in range(classes):
                    sums[q, k] += counts[nodes[top].address, k]
                    if which < 0 or which == k:
                        got += counts[nodes[top].address, k]
                # Each cell is reached along one path only: axes are advanced in their order.
                for a in range(nodes[top].last, axes):
                    size = sizes[a]
                    k = ranks[top * axes + a]
                    if k + 1 >= size:
                        continue
                    line = begins[a] + <int64_t>(size if levels[q, a] < 0 else levels[q, a]) * size
                    child = used
                    used += 1
                    nodes[child] = nodes[top]
                    nodes[child].last = <int32_t>a
                    nodes[child].distance += distances[line + k + 1] - distances[line + k]
                    nodes[child].address += strides[a] * (orders[line + k + 1] - orders[line + k])
                    nodes[child].volume = (nodes[top].volume
                                           / volumes[places[a] + orders[line + k]]
                                           * volumes[places[a] + orders[line + k + 1]])
                    for k in range(axes):
                        ranks[child * axes + k] = ranks[top * axes + k]
                    ranks[child * axes + a] += 1
                    push(heap, waiting, <int32_t>child, nodes)
                    waiting += 1
            reached[q] = volume
    free(nodes)
    free(heap)
    free(ranks)


def nearest_listed(const int32_t[:, ::1] levels, const int32_t[:, ::1] known,
                   const double[:, ::1] counts, const int32_t[::1] widths,
                   const int64_t[::1] places, const double[::1] centers, double enough,
                   double[::1] room, double[:, ::1] sums):
    """Sum listed cells around each asked one, nearest first, until they count `enough`.

    Levels of a numeric axis are as far apart as their `centers` (NaN: as far as can be, 1), all
    others 0 or 1; a level below zero may be any. Cells at one distance are taken together.
    """
    cdef Py_ssize_t q, i, a, k, number = levels.shape[0], axes = levels.shape[1]
    cdef Py_ssize_t cells = known.shape[0], classes = counts.shape[1]
    cdef double far, step, got, ring, following
    cdef int32_t mine, other
    with nogil:
        for q in range(number):
            following = INFINITY
            for i in range(cells):
                far = 0.0
                for a in range(axes):
                    mine = levels[q, a]
                    other = known[i, a]
                    if mine == other or mine < 0:
                        continue
                    step = 1.0
                    if mine < widths[a] and other < widths[a]:
                        step = fabs(centers[places[a] + mine] - centers[places[a] + other])
                        if step != step:
                            step = 1.0
                    far += step * step
                room[i] = far
                if far < following:
                    following = far
            got = 0.0
            while got < enough and following < INFINITY:
                ring = following + TIE
                following = INFINITY
                for i in range(cells):
                    if room[i] <= ring:
                        for k in range(classes):
                            sums[q, k] += counts[i, k]
                            got += counts[i, k]
                        room[i] = INFINITY
                    elif room[i] < following:
                        following = room[i]
