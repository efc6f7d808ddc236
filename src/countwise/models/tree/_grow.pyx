# Compiled growth of a tree on coded columns without gaps. The interpreter lock is released.
"""Compiled kernel: a tree of multiway splits, level by level, on one copy of the codes."""

from libc.math cimport INFINITY, log2
from libc.stdint cimport int16_t, int32_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

import numpy as np

cdef enum:
    # Up to this count x log x is looked up: a table that stays in a near cache.
    LOOKED_UP = 16384
    FIRST_ROOM = 1024


cdef struct Open:
    # A node that may be split: its number and where its rows lie.
    int32_t node
    uint32_t start
    uint32_t stop


cdef struct Growth:
    # Each row lies as one record: its codes, then its class.
    uint8_t* data
    Py_ssize_t columns, record, classes
    uint32_t* first        # where the cells of a column begin in a table
    uint32_t cells
    const int32_t* width
    double* known
    # The tree, as far as it has grown.
    int16_t* feature
    int32_t* counts
    int32_t* child
    Py_ssize_t nodes, node_room, slots, slot_room
    # The open nodes, those of the next level behind those of this one, with the columns used.
    Open* open
    uint64_t* used
    Py_ssize_t words, opened, open_room
    uint32_t* table
    int32_t* active
    double* gain
    # Limits.
    double least, min_leaf, min_gain, tie
    bint any_gain
    Py_ssize_t max_depth


cdef inline double bits(const Growth* own, uint32_t count) noexcept nogil:
    if count < LOOKED_UP:
        return own.known[count]
    return <double>count * log2(<double>count)


cdef bint room_for(Growth* own, Py_ssize_t more) noexcept nogil:
    """Make room for so many more nodes, slots and open nodes."""
    cdef Py_ssize_t room
    cdef void* made
    if own.nodes + more > own.node_room:
        room = own.node_room + own.node_room // 2 + more
        made = realloc(own.feature, room * sizeof(int16_t))
        if made == NULL:
            return False
        own.feature = <int16_t*>made
        made = realloc(own.counts, room * own.classes * sizeof(int32_t))
        if made == NULL:
            return False
        own.counts = <int32_t*>made
        own.node_room = room
    if own.slots + more > own.slot_room:
        room = own.slot_room + own.slot_room // 2 + more
        made = realloc(own.child, room * sizeof(int32_t))
        if made == NULL:
            return False
        own.child = <int32_t*>made
        own.slot_room = room
    if own.opened + more > own.open_room:
        room = own.open_room + own.open_room // 2 + more
        made = realloc(own.open, room * sizeof(Open))
        if made == NULL:
            return False
        own.open = <Open*>made
        made = realloc(own.used, room * own.words * sizeof(uint64_t))
        if made == NULL:
            return False
        own.used = <uint64_t*>made
        own.open_room = room
    return True


cdef bint goes_on(const Growth* own, const int32_t* counts, Py_ssize_t depth) noexcept nogil:
    """Whether a node may be split: of several classes, not too deep, not too light."""
    cdef Py_ssize_t k, some = 0
    cdef double total = 0.0
    if own.max_depth >= 0 and depth >= own.max_depth:
        return False
    for k in range(own.classes):
        some += counts[k] > 0
        total += counts[k]
    return some > 1 and total >= 2 * own.min_leaf


cdef void tally(Growth* own, Open at, Py_ssize_t active) noexcept nogil:
    """Count the rows of a node by column, value and class, for the columns that are active."""
    cdef Py_ssize_t i, j, column
    cdef uint32_t classes = <uint32_t>own.classes, cell
    cdef const uint8_t* row
    cdef uint32_t* table = own.table
    for j in range(active):
        column = own.active[j]
        memset(table + own.first[column], 0, own.width[column] * classes * sizeof(uint32_t))
    for i in range(at.start, at.stop):
        row = own.data + i * own.record
        cell = row[own.columns]
        for j in range(active):
            column = own.active[j]
            table[own.first[column] + row[column] * classes + cell] += 1


cdef double gain_of(const Growth* own, Py_ssize_t column, double spread) noexcept nogil:
    """Weight times information gain; the order of adding up is that of `splits`."""
    cdef const uint32_t* cell = own.table + own.first[column]
    cdef Py_ssize_t value, k, heavy = 0
    cdef uint32_t size
    cdef double within = 0.0, parts
    for value in range(own.width[column]):
        size = cell[0]
        for k in range(1, own.classes):
            size += cell[k]
        if size:
            parts = bits(own, cell[0])
            for k in range(1, own.classes):
                parts += bits(own, cell[k])
            within += bits(own, size) - parts
            heavy += size >= own.least
        cell += own.classes
    return spread - within if heavy >= 2 else -INFINITY


cdef Py_ssize_t chosen(Growth* own, Open at, const uint64_t* used) noexcept nogil:
    """Return the first column with the largest gain, or -1."""
    cdef Py_ssize_t column, j, k, active = 0
    cdef const int32_t* counts = own.counts + at.node * own.classes
    cdef double total = <double>(at.stop - at.start), spread, parts, top = -INFINITY
    for column in range(own.columns):
        if not (used[column >> 6] >> (column & 63)) & 1:
            own.active[active] = <int32_t>column
            active += 1
    if not active:
        return -1
    tally(own, at, active)
    parts = bits(own, <uint32_t>counts[0])
    for k in range(1, own.classes):
        parts += bits(own, <uint32_t>counts[k])
    spread = bits(own, at.stop - at.start) - parts
    for j in range(active):
        own.gain[j] = gain_of(own, own.active[j], spread) / total
        if own.gain[j] > top:
            top = own.gain[j]
    if top == -INFINITY:
        return -1
    for j in range(active):
        if own.gain[j] >= top - own.tie:
            if own.any_gain or own.gain[j] > own.min_gain + own.tie:
                return own.active[j]
            return -1
    return -1


cdef void swapped(uint8_t* one, uint8_t* two, Py_ssize_t size) noexcept nogil:
    cdef uint64_t mine, yours
    cdef uint8_t kept
    while size >= 8:
        memcpy(&mine, one, 8)
        memcpy(&yours, two, 8)
        memcpy(one, &yours, 8)
        memcpy(two, &mine, 8)
        one += 8
        two += 8
        size -= 8
    while size:
        kept = one[0]
        one[0] = two[0]
        two[0] = kept
        one += 1
        two += 1
        size -= 1


cdef void parted(Growth* own, uint32_t start, Py_ssize_t column, uint32_t* begin,
                 const uint32_t* end) noexcept nogil:
    """Bring the rows of a node in the order of a column, in place; their order is of no account."""
    cdef Py_ssize_t value, goal
    cdef uint8_t* row
    for value in range(own.width[column]):
        while begin[value] < end[value]:
            row = own.data + begin[value] * own.record
            goal = row[column]
            if goal != value:
                swapped(row, own.data + begin[goal] * own.record, own.record)
            begin[goal] += 1


cdef bint split(Growth* own, Py_ssize_t place, Py_ssize_t column, Py_ssize_t depth,
                uint32_t* begin, uint32_t* end) noexcept nogil:
    """Add the children of an open node, and open those that go on."""
    cdef Open at = own.open[place], new
    cdef Py_ssize_t value, k, word
    cdef uint32_t size, running = at.start
    cdef const uint32_t* cell = own.table + own.first[column]
    cdef bint some = False
    if not room_for(own, own.width[column]):
        return False
    own.feature[at.node] = <int16_t>column
    for value in range(own.width[column]):
        size = 0
        for k in range(own.classes):
            size += cell[k]
        begin[value], end[value] = running, running + size
        own.child[own.slots] = -1
        if size:
            own.child[own.slots] = <int32_t>own.nodes
            own.feature[own.nodes] = -1
            for k in range(own.classes):
                own.counts[own.nodes * own.classes + k] = <int32_t>cell[k]
            if goes_on(own, own.counts + own.nodes * own.classes, depth):
                some = True
                new.node, new.start, new.stop = <int32_t>own.nodes, running, running + size
                own.open[own.opened] = new
                for word in range(own.words):
                    own.used[own.opened * own.words + word] = own.used[place * own.words + word]
                own.used[own.opened * own.words + (column >> 6)] |= <uint64_t>1 << (column & 63)
                own.opened += 1
            own.nodes += 1
        own.slots += 1
        running += size
        cell += own.classes
    if some:
        parted(own, at.start, column, begin, end)
    return True


cdef bint grown(Growth* own, uint32_t* begin, uint32_t* end) noexcept nogil:
    """Split open nodes, level by level, until none is left."""
    cdef Py_ssize_t place, column, last, depth = 0
    while own.opened:
        last = own.opened
        depth += 1
        for place in range(last):
            column = chosen(own, own.open[place], own.used + place * own.words)
            if column >= 0 and not split(own, place, column, depth, begin, end):
                return False
        # What this level opened moves to the front.
        own.opened -= last
        for place in range(own.opened):
            own.open[place] = own.open[last + place]
        for place in range(own.opened * own.words):
            own.used[place] = own.used[last * own.words + place]
    return True


cdef void laid_out(Growth* own, const uint8_t** codes, Py_ssize_t rows) noexcept nogil:
    """Copy columns to records, some rows at a time."""
    cdef Py_ssize_t start, stop, i, column
    cdef uint8_t* goal
    cdef const uint8_t* source
    for start in range(0, rows, 512):
        stop = min(start + 512, rows)
        for column in range(own.record):
            source = codes[column]
            goal = own.data + start * own.record + column
            for i in range(start, stop):
                goal[0] = source[i]
                goal += own.record


cdef object taken(void* source, Py_ssize_t size, kind):
    """Copy what grew to an array."""
    cdef uint8_t[::1] goal = np.empty(size, dtype=np.uint8)
    if size:
        memcpy(&goal[0], source, size)
    return goal.base.view(kind)


def grow(list codes, const uint8_t[::1] target, const int32_t[::1] width, Py_ssize_t classes,
         double least, double min_leaf, object min_gain, object max_depth, double tie):
    """Grow a tree and return feature, child and counts, node by node and level by level.

    `codes` are bytes below `width`, column by column; every row counts once.
    """
    cdef Growth own
    cdef Py_ssize_t rows = target.shape[0], column, k, i
    cdef const uint8_t[::1] view
    cdef const uint8_t** source
    cdef uint32_t* borders
    cdef bint done = False
    cdef double[::1] known = _bits(min(rows, LOOKED_UP))
    memset(&own, 0, sizeof(Growth))
    own.columns, own.record, own.classes = len(codes), len(codes) + 1, classes
    own.words, own.known = (own.columns + 63) // 64, &known[0]
    own.least, own.min_leaf, own.tie = least, min_leaf, tie
    own.any_gain, own.min_gain = min_gain is None, 0.0 if min_gain is None else min_gain
    own.max_depth = -1 if max_depth is None else max_depth
    own.width = &width[0]
    source = <const uint8_t**>calloc(own.record, sizeof(void*))
    borders = <uint32_t*>calloc(512, sizeof(uint32_t))
    own.first = <uint32_t*>calloc(own.columns, sizeof(uint32_t))
    own.active = <int32_t*>calloc(own.columns, sizeof(int32_t))
    own.gain = <double*>calloc(own.columns, sizeof(double))
    own.data = <uint8_t*>malloc(rows * own.record)
    try:
        for column in range(own.columns):
            view = codes[column]
            source[column] = &view[0]
            own.first[column] = own.cells
            own.cells += width[column] * <uint32_t>classes
        source[own.columns] = &target[0]
        own.table = <uint32_t*>calloc(max(own.cells, 1), sizeof(uint32_t))
        if (borders == NULL or own.data == NULL or own.table == NULL or own.gain == NULL
                or own.active == NULL or not room_for(&own, FIRST_ROOM)):
            raise MemoryError
        with nogil:
            laid_out(&own, source, rows)
            for k in range(classes):
                own.counts[k] = 0
            for i in range(rows):
                own.counts[target[i]] += 1
            own.nodes, own.feature[0] = 1, -1
            if goes_on(&own, own.counts, 0):
                own.opened = 1
                own.open[0].node, own.open[0].start, own.open[0].stop = 0, 0, <uint32_t>rows
                memset(own.used, 0, own.words * sizeof(uint64_t))
            done = grown(&own, borders, borders + 256)
        if not done:
            raise MemoryError
        free(own.data)
        own.data = NULL
        feature = taken(own.feature, own.nodes * sizeof(int16_t), np.int16)
        child = taken(own.child, own.slots * sizeof(int32_t), np.int32)
        counts = taken(own.counts, own.nodes * classes * sizeof(int32_t), np.int32)
        return feature, child, counts.reshape(-1, classes)
    finally:
        free(source)
        free(borders)
        free(own.first)
        free(own.active)
        free(own.gain)
        free(own.data)
        free(own.table)
        free(own.feature)
        free(own.child)
        free(own.counts)
        free(own.open)
        free(own.used)


def _bits(Py_ssize_t most):
    x = np.arange(most + 1, dtype=np.float64)
    return x * np.log2(np.maximum(x, 1.0))
