# Compiled growth and reading of trees on binned columns. The interpreter lock is released.
"""Compiled kernels: grow a tree of a forest level by level, sum its votes, trace its paths."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

import numpy as np

cdef enum:
    # Codes a column may have; the last one is missing.
    CODES = 256
    MISSING = 255
    WORDS = 4
    MASK = 32
    FIRST_ROOM = 256
    # What a fork is: with missing on the left, split, by a mask.
    MISSING_LEFT = 1
    IS_SPLIT = 2
    BY_MASK = 4
    # Rows that walk side by side: none waits for the memory of another.
    LANES = 8


cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    static int countwise_lowest_bit(unsigned long long word) {
        unsigned long place; _BitScanForward64(&place, word); return (int)place;
    }
    #else
    static inline int countwise_lowest_bit(unsigned long long word) {
        return __builtin_ctzll(word);
    }
    #endif
    """
    int lowest_bit "countwise_lowest_bit"(uint64_t word) noexcept nogil


cdef struct Item:
    # A row that was drawn, how often, and its class.
    uint32_t row
    uint32_t times
    uint32_t label


cdef struct Split:
    # The best split so far. Of a nominal column `mask` holds the codes that go left.
    double score
    int32_t column
    int32_t cut
    bint missing_left
    uint8_t mask[MASK]


ctypedef const uint8_t* Codes


cdef struct Fork:
    # A node as rows walk through it. A leaf leads to itself.
    int32_t column
    int32_t cut
    int32_t left
    int32_t flags


cdef struct Node:
    int32_t feature
    int32_t cut
    int32_t left
    uint8_t missing_left
    double gain
    # Only while it grows: where its rows lie, and how deep it is.
    uint32_t start
    uint32_t stop
    int32_t depth


cdef struct Growth:
    const uint8_t* codes
    Py_ssize_t columns, classes
    const uint8_t* nominal
    Item* items
    Item* spare
    Node* nodes
    double* counts
    Py_ssize_t number, room
    uint8_t* masks
    Py_ssize_t masked, mask_room
    # Tables of the columns that are looked at together: code × class, and which codes occur.
    double* table
    uint64_t* occurs
    int32_t* order
    double* left
    double* right
    double* key
    int32_t* codes_there
    double min_leaf
    Py_ssize_t max_features, max_depth
    uint64_t state


cdef inline uint64_t drawn(Growth* growth) noexcept nogil:
    """Return the next random number (splitmix64)."""
    cdef uint64_t mixed
    growth.state += <uint64_t>0x9E3779B97F4A7C15
    mixed = growth.state
    mixed = (mixed ^ (mixed >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    mixed = (mixed ^ (mixed >> 27)) * <uint64_t>0x94D049BB133111EB
    return mixed ^ (mixed >> 31)


cdef bint room_for_two(Growth* growth) noexcept nogil:
    """Make room for two more nodes and one more mask."""
    cdef Py_ssize_t room
    cdef void* place
    if growth.number + 2 > growth.room:
        room = 2 * growth.room + FIRST_ROOM
        place = realloc(growth.nodes, room * sizeof(Node))
        if place == NULL:
            return False
        growth.nodes = <Node*>place
        place = realloc(growth.counts, room * growth.classes * sizeof(double))
        if place == NULL:
            return False
        growth.counts = <double*>place
        growth.room = room
    if growth.masked + 1 > growth.mask_room:
        room = 2 * growth.mask_room + FIRST_ROOM
        place = realloc(growth.masks, room * MASK)
        if place == NULL:
            return False
        growth.masks = <uint8_t*>place
        growth.mask_room = room
    return True


cdef bint is_pure(const double* counts, Py_ssize_t classes) noexcept nogil:
    cdef Py_ssize_t k, some = 0
    for k in range(classes):
        some += counts[k] > 0
    return some < 2


cdef void add_node(Growth* growth, uint32_t start, uint32_t stop, int32_t depth) noexcept nogil:
    cdef Node* node = growth.nodes + growth.number
    cdef double* counts = growth.counts + growth.number * growth.classes
    cdef uint32_t i
    node.feature, node.cut, node.left, node.missing_left, node.gain = -1, 0, -1, 0, 0.0
    node.start, node.stop, node.depth = start, stop, depth
    memset(counts, 0, growth.classes * sizeof(double))
    for i in range(start, stop):
        counts[growth.items[i].label] += growth.items[i].times
    growth.number += 1


cdef void tally(Growth* growth, Node* node, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    """Count the rows of a node by code and class, for the columns first … last of the order."""
    cdef uint32_t i
    cdef Py_ssize_t j, classes = growth.classes
    cdef const uint8_t* row
    cdef uint8_t code
    cdef Item item
    for i in range(node.start, node.stop):
        item = growth.items[i]
        row = growth.codes + item.row * growth.columns
        for j in range(first, last):
            code = row[growth.order[j]]
            growth.table[((j - first) * CODES + code) * classes + item.label] += item.times
            growth.occurs[(j - first) * WORDS + (code >> 6)] |= <uint64_t>1 << (code & 63)


cdef Py_ssize_t list_codes(const uint64_t* occurs, int32_t* codes) noexcept nogil:
    """Write the codes that occur in order; return how many there are."""
    cdef Py_ssize_t word, number = 0
    cdef uint64_t rest
    for word in range(WORDS):
        rest = occurs[word]
        while rest:
            codes[number] = <int32_t>(64 * word + lowest_bit(rest))
            number += 1
            rest &= rest - 1
    return number


cdef double begin_left(Growth* growth, const double* total, const double* at_once) noexcept nogil:
    """Put some counts (or none) on the left side and all others on the right."""
    cdef Py_ssize_t k
    cdef double weight = 0.0
    for k in range(growth.classes):
        growth.left[k] = 0.0 if at_once == NULL else at_once[k]
        growth.right[k] = total[k] - growth.left[k]
        weight += growth.left[k]
    return weight


cdef Py_ssize_t best_prefix(Growth* growth, const double* table, const int32_t* codes,
                            Py_ssize_t number, double weight_left, double weight,
                            double* score) noexcept nogil:
    """Move codes to the left one by one; return after how many the sides are purest, or 0.

    The score is Σ n² / N of both sides, which the Gini impurity wants as large as can be.
    """
    cdef Py_ssize_t i, k, best = 0
    cdef double square_left = 0.0, square_right = 0.0, found
    cdef const double* cell
    for k in range(growth.classes):
        square_left += growth.left[k] * growth.left[k]
        square_right += growth.right[k] * growth.right[k]
    for i in range(number):
        cell = table + codes[i] * growth.classes
        for k in range(growth.classes):
            if cell[k] != 0:
                square_left += cell[k] * (2 * growth.left[k] + cell[k])
                square_right += cell[k] * (cell[k] - 2 * growth.right[k])
                growth.left[k] += cell[k]
                growth.right[k] -= cell[k]
                weight_left += cell[k]
        if weight_left < growth.min_leaf:
            continue
        if weight - weight_left < growth.min_leaf or weight - weight_left <= 0:
            break
        found = square_left / weight_left + square_right / (weight - weight_left)
        if found > score[0]:
            score[0], best = found, i + 1
    return best


cdef inline int32_t threshold(const int32_t* codes, Py_ssize_t after,
                              Py_ssize_t known) noexcept nogil:
    """Return the middle of two codes that occur; all numbers go left if only missing is right."""
    if after < known:
        return (codes[after - 1] + codes[after] - 1) // 2
    return MISSING - 1


cdef void try_numeric(Growth* growth, const double* table, int32_t* codes, Py_ssize_t number,
                      const double* total, double weight, int32_t column,
                      Split* best) noexcept nogil:
    """Try all thresholds, with missing values on the right and on the left."""
    cdef const double* missing = NULL
    cdef Py_ssize_t known = number, after
    cdef double begun
    if codes[number - 1] == MISSING:
        known -= 1
        missing = table + MISSING * growth.classes
    begun = begin_left(growth, total, NULL)
    after = best_prefix(growth, table, codes, known, begun, weight, &best.score)
    if after:
        best.column, best.missing_left = column, False
        best.cut = threshold(codes, after, known)
    if missing == NULL or known == 0:
        return
    begun = begin_left(growth, total, missing)
    after = best_prefix(growth, table, codes, known, begun, weight, &best.score)
    if after:
        best.column, best.missing_left = column, True
        best.cut = threshold(codes, after, known)


cdef void try_nominal(Growth* growth, const double* table, int32_t* codes, Py_ssize_t number,
                      const double* total, double weight, int32_t column,
                      Split* best) noexcept nogil:
    """Order the levels by their share of a class, and try all beginnings of this order.

    Of two classes no subset is better than the best of these (Breiman and others 1984); of more, a
    class is drawn. Missing is a level.
    """
    cdef Py_ssize_t i, j, k, after
    cdef Py_ssize_t present = 0, chosen = 0
    cdef double size, begun, score = best.score
    cdef const double* cell
    cdef int32_t code
    cdef double share
    for k in range(growth.classes):
        present += total[k] > 0
    if present > 2:
        chosen = <Py_ssize_t>(drawn(growth) % <uint64_t>present)
    for k in range(growth.classes):
        if total[k] > 0:
            if chosen == 0:
                chosen = k
                break
            chosen -= 1
    for i in range(number):
        code = codes[i]
        cell = table + code * growth.classes
        size = 0.0
        for k in range(growth.classes):
            size += cell[k]
        share = cell[chosen] / size
        j = i
        while j > 0 and growth.key[j - 1] > share:
            growth.key[j], codes[j] = growth.key[j - 1], codes[j - 1]
            j -= 1
        growth.key[j], codes[j] = share, code
    begun = begin_left(growth, total, NULL)
    after = best_prefix(growth, table, codes, number, begun, weight, &score)
    if not after:
        return
    best.score, best.column, best.cut, best.missing_left = score, column, -1, False
    begun = 0.0
    for i in range(after):
        cell = table + codes[i] * growth.classes
        for k in range(growth.classes):
            begun += cell[k]
    # Levels that no row of the node has go where most rows go.
    memset(best.mask, 0xFF if 2 * begun >= weight else 0, MASK)
    for i in range(number):
        code = codes[i]
        if i < after:
            best.mask[code >> 3] |= <uint8_t>(1 << (code & 7))
        else:
            best.mask[code >> 3] &= <uint8_t>(~(1 << (code & 7)) & 0xFF)


cdef void try_columns(Growth* growth, Node* node, const double* total, double weight,
                      Py_ssize_t first, Py_ssize_t last, Split* best) noexcept nogil:
    """Try the columns first … last of the order, and leave their tables empty."""
    cdef Py_ssize_t j, i, number
    cdef double* table
    cdef int32_t column
    tally(growth, node, first, last)
    for j in range(last - first):
        table = growth.table + j * CODES * growth.classes
        column = growth.order[first + j]
        number = list_codes(growth.occurs + j * WORDS, growth.codes_there)
        if number > 1 and growth.nominal[column]:
            try_nominal(growth, table, growth.codes_there, number, total, weight, column, best)
        elif number > 1:
            try_numeric(growth, table, growth.codes_there, number, total, weight, column, best)
        for i in range(number):
            memset(table + growth.codes_there[i] * growth.classes, 0,
                   growth.classes * sizeof(double))
        memset(growth.occurs + j * WORDS, 0, WORDS * sizeof(uint64_t))


cdef void find_split(Growth* growth, Node* node, const double* total, Split* best) noexcept nogil:
    """Find the best split on some columns drawn at random; on more of them if these have none."""
    cdef Py_ssize_t done = 0, goal, j, swap, k
    cdef int32_t kept
    cdef double weight = 0.0
    for k in range(growth.classes):
        weight += total[k]
    best.score, best.column = -INFINITY, -1
    goal = min(growth.max_features, growth.columns)
    while done < growth.columns and best.column < 0:
        for j in range(done, goal):
            swap = j + <Py_ssize_t>(drawn(growth) % <uint64_t>(growth.columns - j))
            kept = growth.order[j]
            growth.order[j], growth.order[swap] = growth.order[swap], kept
        try_columns(growth, node, total, weight, done, goal, best)
        done, goal = goal, goal + 1


cdef inline bint goes_left(uint8_t code, int32_t cut, bint missing_left,
                           const uint8_t* mask) noexcept nogil:
    if mask != NULL:
        return (mask[code >> 3] >> (code & 7)) & 1
    return missing_left if code == MISSING else code <= cut


cdef bint split_node(Growth* growth, Py_ssize_t place, Split* best) noexcept nogil:
    """Send the rows of a node to two children, without changing their order."""
    cdef Node node
    cdef Item item
    cdef uint32_t i, middle, later = 0
    cdef const uint8_t* mask = NULL
    cdef double weight_left = 0.0, weight_right = 0.0, square = 0.0, weight
    cdef const double* total
    cdef Py_ssize_t k
    if not room_for_two(growth):
        return False
    node = growth.nodes[place]
    if growth.nominal[best.column]:
        memcpy(growth.masks + growth.masked * MASK, best.mask, MASK)
        mask = growth.masks + growth.masked * MASK
        best.cut = <int32_t>growth.masked
        growth.masked += 1
    middle = node.start
    for i in range(node.start, node.stop):
        item = growth.items[i]
        if goes_left(growth.codes[item.row * growth.columns + best.column], best.cut,
                     best.missing_left, mask):
            growth.items[middle] = item
            weight_left += item.times
            middle += 1
        else:
            growth.spare[later] = item
            weight_right += item.times
            later += 1
    memcpy(growth.items + middle, growth.spare, later * sizeof(Item))
    total = growth.counts + place * growth.classes
    for k in range(growth.classes):
        square += total[k] * total[k]
    weight = weight_left + weight_right
    growth.nodes[place].feature = best.column
    growth.nodes[place].cut = best.cut
    growth.nodes[place].left = <int32_t>growth.number
    growth.nodes[place].gain = max(best.score - square / weight, 0.0)
    growth.nodes[place].missing_left = best.missing_left
    add_node(growth, node.start, middle, node.depth + 1)
    add_node(growth, middle, node.stop, node.depth + 1)
    return True


cdef void send_missing_on(Growth* growth, Node* node, Split* best) noexcept nogil:
    """Where no row of a node lacks the number, one that does goes where most rows go."""
    cdef uint32_t i
    cdef uint8_t code
    cdef double balance = 0.0
    if growth.nominal[best.column]:
        return
    for i in range(node.start, node.stop):
        code = growth.codes[growth.items[i].row * growth.columns + best.column]
        if code == MISSING:
            return
        balance += growth.items[i].times if code <= best.cut else -<double>growth.items[i].times
    best.missing_left = balance >= 0


cdef bint grown(Growth* growth, uint32_t size) noexcept nogil:
    """Split nodes level by level until none is left that can be split."""
    cdef Py_ssize_t place = 0, k
    cdef Node* node
    cdef double weight
    cdef Split best
    cdef const double* total
    if not room_for_two(growth):
        return False
    add_node(growth, 0, size, 0)
    while place < growth.number:
        node = growth.nodes + place
        total = growth.counts + place * growth.classes
        weight = 0.0
        for k in range(growth.classes):
            weight += total[k]
        if (not is_pure(total, growth.classes) and weight >= 2 * growth.min_leaf
                and (growth.max_depth < 0 or node.depth < growth.max_depth)):
            find_split(growth, node, total, &best)
            if best.column >= 0:
                send_missing_on(growth, node, &best)
                if not split_node(growth, place, &best):
                    return False
        place += 1
    return True


def grow(const uint8_t[:, ::1] codes, const uint32_t[::1] target, const uint32_t[::1] times,
         const uint8_t[::1] nominal, Py_ssize_t classes, Py_ssize_t max_features, double min_leaf,
         Py_ssize_t max_depth, uint64_t seed):
    """Grow a tree on rows taken so many times each.

    Return feature, cut, left child, whether missing goes left, gain, counts and masks, by node.
    """
    cdef Growth growth
    cdef Py_ssize_t rows = codes.shape[0], columns = codes.shape[1], i
    cdef Py_ssize_t together = max(min(max_features, columns), 1)
    cdef uint32_t size = 0
    cdef bint done = False
    memset(&growth, 0, sizeof(Growth))
    growth.columns, growth.classes = columns, classes
    growth.min_leaf, growth.max_features, growth.max_depth = min_leaf, together, max_depth
    growth.state = seed
    if columns:
        growth.codes, growth.nominal = &codes[0, 0], &nominal[0]
    for i in range(rows):
        size += times[i] > 0
    growth.items = <Item*>malloc(max(size, 1) * sizeof(Item))
    growth.spare = <Item*>malloc(max(size, 1) * sizeof(Item))
    growth.table = <double*>calloc(together * CODES * classes, sizeof(double))
    growth.occurs = <uint64_t*>calloc(together * WORDS, sizeof(uint64_t))
    growth.order = <int32_t*>malloc(max(columns, 1) * sizeof(int32_t))
    growth.left = <double*>malloc(2 * classes * sizeof(double))
    growth.key = <double*>malloc(CODES * sizeof(double))
    growth.codes_there = <int32_t*>malloc(CODES * sizeof(int32_t))
    try:
        if (growth.items == NULL or growth.spare == NULL or growth.table == NULL
                or growth.occurs == NULL or growth.order == NULL or growth.left == NULL
                or growth.key == NULL or growth.codes_there == NULL):
            raise MemoryError
        growth.right = growth.left + classes
        with nogil:
            for i in range(columns):
                growth.order[i] = <int32_t>i
            size = 0
            for i in range(rows):
                if times[i]:
                    growth.items[size].row = <uint32_t>i
                    growth.items[size].times = times[i]
                    growth.items[size].label = target[i]
                    size += 1
            done = grown(&growth, size)
        if not done:
            raise MemoryError
        return _arrays(&growth)
    finally:
        free(growth.items)
        free(growth.spare)
        free(growth.table)
        free(growth.occurs)
        free(growth.order)
        free(growth.left)
        free(growth.key)
        free(growth.codes_there)
        free(growth.nodes)
        free(growth.counts)
        free(growth.masks)


cdef object _arrays(Growth* growth):
    cdef Py_ssize_t number = growth.number, i
    cdef int32_t[::1] feature = np.empty(number, np.int32)
    cdef int32_t[::1] cut = np.empty(number, np.int32)
    cdef int32_t[::1] left = np.empty(number, np.int32)
    cdef uint8_t[::1] missing_left = np.empty(number, np.uint8)
    cdef double[::1] gain = np.empty(number)
    cdef double[:, ::1] counts = np.empty((number, growth.classes))
    cdef uint8_t[:, ::1] masks = np.empty((growth.masked, MASK), np.uint8)
    for i in range(number):
        feature[i], cut[i] = growth.nodes[i].feature, growth.nodes[i].cut
        left[i], gain[i] = growth.nodes[i].left, growth.nodes[i].gain
        missing_left[i] = growth.nodes[i].missing_left
    memcpy(&counts[0, 0], growth.counts, number * growth.classes * sizeof(double))
    if growth.masked:
        memcpy(&masks[0, 0], growth.masks, growth.masked * MASK)
    return (feature.base, cut.base, left.base, missing_left.base, gain.base, counts.base,
            masks.base)


cdef class Walk:
    """The trees of a forest, ready to be walked through; nodes are numbered through all trees."""

    cdef const int64_t[::1] start
    cdef Fork[::1] forks
    cdef const uint8_t[:, ::1] masks
    cdef const double[:, ::1] shares

    def __init__(self, const int64_t[::1] start, const int32_t[::1] feature,
                 const int32_t[::1] cut, const int32_t[::1] left, const uint8_t[::1] missing_left,
                 const uint8_t[:, ::1] masks, const uint8_t[::1] nominal,
                 const double[:, ::1] shares):
        cdef Py_ssize_t tree, node
        cdef Fork* fork
        self.start, self.masks, self.shares = start, masks, shares
        self.forks = np.empty(len(feature), "i4, i4, i4, i4")
        for tree in range(start.shape[0] - 1):
            for node in range(start[tree], start[tree + 1]):
                fork = &self.forks[node]
                if feature[node] < 0:
                    fork.column, fork.cut, fork.flags = 0, 0, 0
                    fork.left = node - start[tree]
                    continue
                fork.column, fork.cut, fork.left = feature[node], cut[node], left[node]
                fork.flags = IS_SPLIT
                if nominal[feature[node]]:
                    fork.flags |= BY_MASK
                elif missing_left[node]:
                    # Counted one up, the code of a missing value is 0, below all cuts.
                    fork.flags |= MISSING_LEFT
                    fork.cut += 1

    cdef inline int32_t step(self, const Fork* fork, const uint8_t* row) noexcept nogil:
        """Return the child that a row goes to, counted from the root; no branch is to be guessed."""
        cdef uint8_t code = row[fork.column]
        cdef int32_t right
        if fork.flags & BY_MASK:
            right = not (self.masks[fork.cut, code >> 3] >> (code & 7)) & 1
        else:
            right = <uint8_t>(code + (fork.flags & MISSING_LEFT)) > fork.cut
        return fork.left + (right & (fork.flags >> 1))

    def add_votes(self, const uint8_t[:, ::1] codes, Py_ssize_t first, Py_ssize_t last,
                  double[:, ::1] votes):
        """Add the class shares of the leaf that each row reaches in the trees first … last."""
        cdef Py_ssize_t tree, i, k, lane, rows = codes.shape[0], classes = votes.shape[1]
        cdef Codes[LANES] row
        cdef int32_t[LANES] node
        cdef int32_t child, moved
        cdef const Fork* forks
        cdef const double* share
        with nogil:
            for tree in range(first, last):
                forks = &self.forks[self.start[tree]]
                i = 0
                while i < rows:
                    moved = codes.shape[1] > 0
                    for lane in range(LANES):
                        node[lane] = 0
                        if moved:
                            # Where fewer rows are left, the last one walks several times.
                            row[lane] = &codes[min(i + lane, rows - 1), 0]
                    while moved:
                        moved = 0
                        for lane in range(LANES):
                            child = self.step(&forks[node[lane]], row[lane])
                            moved |= child ^ node[lane]
                            node[lane] = child
                    for lane in range(min(<Py_ssize_t>LANES, rows - i)):
                        share = &self.shares[self.start[tree] + node[lane], 0]
                        for k in range(classes):
                            votes[i + lane, k] += share[k]
                    i += LANES

    def find_leaves(self, const uint8_t[:, ::1] codes, const int64_t[::1] rows, Py_ssize_t tree,
                    int64_t[::1] leaves):
        """Write the leaf that each of these rows reaches in a tree."""
        cdef Py_ssize_t i
        cdef int32_t node
        cdef const Fork* forks = &self.forks[self.start[tree]]
        with nogil:
            for i in range(rows.shape[0]):
                node = 0
                while forks[node].flags:
                    node = self.step(&forks[node], &codes[rows[i], 0])
                leaves[i] = self.start[tree] + node

    def add_changes(self, const uint8_t[:, ::1] codes, double[:, :, ::1] changes):
        """Add how each step of a path changes the class shares to the column that it asks for."""
        cdef Py_ssize_t tree, i, k, rows = codes.shape[0], classes = changes.shape[2]
        cdef int64_t start
        cdef int32_t node, child, column
        with nogil:
            for tree in range(self.start.shape[0] - 1):
                start = self.start[tree]
                for i in range(rows):
                    node = 0
                    while self.forks[start + node].flags:
                        column = self.forks[start + node].column
                        child = self.step(&self.forks[start + node], &codes[i, 0])
                        for k in range(classes):
                            changes[i, column, k] += (self.shares[start + child, k]
                                                      - self.shares[start + node, k])
                        node = child


def shrink(const int64_t[::1] start, const int32_t[::1] left, const double[:, ::1] counts,
           double smoothing, double[:, ::1] shares):
    """Write the class shares of each node, drawn toward those of its parent.

    A node of weight N counts as N rows of its own and `smoothing` rows of its parent. To the root
    at most half a row is added, of which all classes have the same part.
    """
    cdef Py_ssize_t tree, node, k, side, child, classes = counts.shape[1]
    cdef double weight, uniform = min(smoothing, 0.5)
    with nogil:
        for tree in range(start.shape[0] - 1):
            weight = 0.0
            node = start[tree]
            for k in range(classes):
                weight += counts[node, k]
            for k in range(classes):
                shares[node, k] = (counts[node, k] + uniform / classes) / (weight + uniform)
            for node in range(start[tree], start[tree + 1]):
                if left[node] < 0:
                    continue
                for side in range(2):
                    child = start[tree] + left[node] + side
                    weight = 0.0
                    for k in range(classes):
                        weight += counts[child, k]
                    for k in range(classes):
                        shares[child, k] = ((counts[child, k] + smoothing * shares[node, k])
                                            / (weight + smoothing))


def add_shares(const int64_t[::1] rows, const int64_t[::1] leaves, const double[:, ::1] shares,
               double[:, ::1] votes):
    """Add the class shares of leaves to the votes of the rows that reach them."""
    cdef Py_ssize_t i, k
    with nogil:
        for i in range(rows.shape[0]):
            for k in range(shares.shape[1]):
                votes[rows[i], k] += shares[leaves[i], k]
