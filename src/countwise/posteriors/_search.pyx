"""Exact neighbour search over tiles of rows: single precision sieves, double precision decides.

Every function here runs without the interpreter lock on one block of queries. A row enters a list
of neighbours by its distance in double precision alone; of equally far rows the one with the
smaller number comes first, whatever the number of threads.
"""

from libc.math cimport INFINITY, fabs, pow, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

import numpy as np

cdef extern from "_lanes.h" nogil:
    enum:
        LANES
        MAXIMUM
    ctypedef struct Space:
        int axes
        int power
        double p
        int ignore
        double total
        const signed char *kind
        const float *far
        const float *mass
        const double *stretch
        const double *exact_far
        const double *exact_mass
        const double *const *table
        const float *const *narrow
        const int *width
    double exact_pair(const Space *, const double *const *, const float *, int64_t,
                      const double *const *, const int32_t *, int64_t)
    int tile_sums(const Space *, const float *, const float *, const int32_t *, float, float *)
    double raised(double, int, double)

#: Tiles that are compared with a whole block of queries before the next ones are fetched.
cdef int64_t TOGETHER = 32


cdef class Kernel:
    """The axes of a space and the rows kept in it, as the kernels read them."""

    cdef Space space
    cdef object kept          # arrays whose memory the pointers below borrow
    cdef const double **columns
    cdef const double **tables
    cdef const float **narrow
    cdef const float *tiles
    cdef readonly int64_t rows
    cdef readonly double unit, slack

    def __cinit__(self):
        self.columns = NULL
        self.tables = NULL
        self.narrow = NULL

    def __init__(self, int power, double p, bint ignore, double total, const signed char[::1] kind,
                 const float[::1] far, const float[::1] mass, const double[::1] stretch,
                 const double[::1] exact_far, const double[::1] exact_mass, const int[::1] width,
                 list columns, list tables, list narrow, const float[:, :, ::1] tiles, int64_t rows, double unit, double slack):
        cdef int axes = kind.shape[0], axis
        cdef const double[::1] column
        cdef const double[:, ::1] table
        cdef const float[:, ::1] own
        if tiles.shape[1] != axes or tiles.shape[2] != LANES or tiles.shape[0] * LANES < rows:
            raise ValueError("tiles must hold every row in blocks of 64, axis by axis")
        if not (len(columns) == len(tables) == len(narrow) == axes == width.shape[0]):
            raise ValueError("there must be one column and one table an axis")
        self.kept = (kind, far, mass, stretch, exact_far, exact_mass, width, columns, tables,
                     narrow, tiles)
        self.columns = <const double **> malloc(max(axes, 1) * sizeof(void *))
        self.tables = <const double **> malloc(max(axes, 1) * sizeof(void *))
        self.narrow = <const float **> malloc(max(axes, 1) * sizeof(void *))
        if self.columns == NULL or self.tables == NULL or self.narrow == NULL:
            raise MemoryError()
        for axis in range(axes):
            self.columns[axis] = NULL
            self.tables[axis] = NULL
            self.narrow[axis] = NULL
            if columns[axis] is not None:
                column = columns[axis]
                if column.shape[0] != rows:
                    raise ValueError("columns must hold one number a row")
                self.columns[axis] = &column[0] if rows else NULL
            if tables[axis] is not None:
                table = tables[axis]
                own = narrow[axis]
                if table.shape[0] != width[axis] or table.shape[1] != width[axis]:
                    raise ValueError("tables must be as wide as their codes")
                self.tables[axis] = &table[0, 0]
                self.narrow[axis] = &own[0, 0]
        self.space.axes = axes
        self.space.power = power
        self.space.p = p
        self.space.ignore = ignore
        self.space.total = total
        self.space.kind = &kind[0]
        self.space.far = &far[0]
        self.space.mass = &mass[0]
        self.space.stretch = &stretch[0]
        self.space.exact_far = &exact_far[0]
        self.space.exact_mass = &exact_mass[0]
        self.space.table = <const double *const *> self.tables
        self.space.narrow = <const float *const *> self.narrow
        self.space.width = &width[0]
        self.tiles = &tiles[0, 0, 0] if tiles.shape[0] else NULL
        self.rows = rows
        self.unit = unit
        self.slack = slack

    def __dealloc__(self):
        free(self.columns)
        free(self.tables)
        free(self.narrow)

    cdef float limit(self, double worst, double error) noexcept nogil:
        """The largest single figure a pair may have whose double one is at most `worst`."""
        cdef double norm, bound
        if worst == INFINITY:
            return INFINITY
        if self.space.power == 2:
            norm = sqrt(worst)
        elif self.space.power == 1 or self.space.power == MAXIMUM:
            norm = worst
        else:
            norm = pow(worst, 1.0 / self.space.p)
        norm = (norm / self.unit + error) * (1.0 + self.slack)
        bound = raised(norm, self.space.power, self.space.p) * (1.0 + self.slack) + 1e-38
        return <float> bound if bound < 3e38 else INFINITY

    def nearest(self, Asked asked, int64_t[:, ::1] who, double[:, ::1] far,
                const int64_t[::1] skip):
        """Fill in the nearest rows of each query, nearest first, and their distances to the p.

        `skip` is a row that may not be found, or -1: the query itself where it is among the rows.
        """
        cdef int64_t queries = asked.queries, k = who.shape[1], query
        if who.shape[0] != queries or far.shape[0] != queries or far.shape[1] != k:
            raise ValueError("there must be one line a query")
        if skip.shape[0] != queries:
            raise ValueError("there must be one row to skip a query")
        if k < 1 or k > self.rows:
            raise ValueError("there must be as many rows as neighbours")
        with nogil:
            for query in range(queries):
                _empty(&who[query, 0], &far[query, 0], k)
            self._nearest(asked, &who[0, 0], &far[0, 0], k, &skip[0])
            for query in range(queries):
                _in_order(&who[query, 0], &far[query, 0], k)

    cdef void _nearest(self, Asked asked, int64_t *who, double *far, int64_t k,
                       const int64_t *skip) noexcept nogil:
        cdef int64_t tiles = (self.rows + LANES - 1) // LANES, block, tile, query, row, base
        cdef int64_t queries = asked.queries, size = <int64_t> self.space.axes * LANES, stop
        cdef float sums[LANES]
        cdef float bound
        cdef double found
        cdef int lane, most
        block = 0
        while block < tiles:
            stop = min(block + TOGETHER, tiles)
            for query in range(queries):
                bound = INFINITY
                if not asked.plain[query]:
                    bound = self.limit(far[query * k], asked.error[query])
                for tile in range(block, stop):
                    base = tile * LANES
                    most = <int> min(<int64_t> LANES, self.rows - base)
                    if not asked.plain[query]:
                        if not tile_sums(&self.space, self.tiles + tile * size,
                                         asked.narrow + query * self.space.axes,
                                         asked.codes + query * self.space.axes, bound, sums):
                            continue
                    for lane in range(most):
                        if not asked.plain[query] and not sums[lane] <= bound:
                            continue
                        row = base + lane
                        if row == skip[query]:
                            continue
                        found = exact_pair(&self.space, self.columns, self.tiles, row,
                                           asked.columns, asked.codes, query)
                        # Rows come in order, so an equally far one comes too late.
                        if found < far[query * k] or who[query * k] < 0:
                            _replace(who + query * k, far + query * k, k, row, found)
                            if not asked.plain[query]:
                                bound = self.limit(far[query * k], asked.error[query])
            block = stop

    def tally(self, Asked asked, const double[::1] low, const double[::1] high,
              const int64_t[::1] label, const double[::1] weight, const int64_t[::1] skip,
              double[:, ::1] sums):
        """Add up the weight of each label among the rows whose distance lies within two bounds."""
        cdef int64_t tiles = (self.rows + LANES - 1) // LANES, tile, query, base, row
        cdef int64_t size = <int64_t> self.space.axes * LANES
        cdef float own[LANES]
        cdef float bound
        cdef double found
        cdef int lane, most
        if low.shape[0] != asked.queries or high.shape[0] != asked.queries:
            raise ValueError("there must be two bounds a query")
        if label.shape[0] != self.rows or weight.shape[0] != self.rows:
            raise ValueError("there must be one label and one weight a row")
        if sums.shape[0] != asked.queries or skip.shape[0] != asked.queries:
            raise ValueError("there must be one line a query")
        with nogil:
            for query in range(asked.queries):
                bound = INFINITY
                if not asked.plain[query]:
                    bound = self.limit(high[query], asked.error[query])
                for tile in range(tiles):
                    base = tile * LANES
                    most = <int> min(<int64_t> LANES, self.rows - base)
                    if not asked.plain[query]:
                        if not tile_sums(&self.space, self.tiles + tile * size,
                                         asked.narrow + query * self.space.axes,
                                         asked.codes + query * self.space.axes, bound, own):
                            continue
                    for lane in range(most):
                        if not asked.plain[query] and not own[lane] <= bound:
                            continue
                        row = base + lane
                        if row == skip[query]:
                            continue
                        found = exact_pair(&self.space, self.columns, self.tiles, row,
                                           asked.columns, asked.codes, query)
                        if low[query] <= found <= high[query]:
                            sums[query, label[row]] += weight[row]

    cdef void compare(self, Asked asked, int64_t query, const float *members, const int64_t *who,
                      int64_t start, int64_t stop, const int64_t *label, double same,
                      double *near, int64_t *nearest, unsigned char *pure) noexcept nogil:
        """Compare a query, itself a kept row, with members from start to stop.

        What is kept of a query: how far its nearest member is, which it is (of equally far ones
        one of another class), and whether all nearest members are of its class.
        """
        cdef int64_t size = <int64_t> self.space.axes * LANES, tile, base, place
        cdef float sums[LANES]
        cdef float bound = INFINITY
        cdef double found, known = INFINITY
        cdef bint plain = asked.plain[query], other
        cdef int lane, first, last
        tile = start // LANES
        while tile * LANES < stop:
            base = tile * LANES
            first = <int> max(<int64_t> 0, start - base)
            last = <int> min(<int64_t> LANES, stop - base)
            if not plain:
                if near[query] != known:
                    known = near[query]
                    bound = self.limit(known * (1.0 + same), asked.error[query])
                if not tile_sums(&self.space, members + tile * size,
                                 asked.narrow + query * self.space.axes,
                                 asked.codes + query * self.space.axes, bound, sums):
                    tile += 1
                    continue
            for lane in range(first, last):
                if not plain and not sums[lane] <= bound:
                    continue
                place = who[base + lane]
                found = exact_pair(&self.space, self.columns, self.tiles, place,
                                   asked.columns, asked.codes, query)
                other = label[place] != label[query]
                if nearest[query] < 0 or found < near[query] * (1.0 - same):
                    near[query] = found
                    nearest[query] = place
                    pure[query] = not other
                elif found <= near[query] * (1.0 + same) and other and pure[query]:
                    nearest[query] = place
                    pure[query] = 0
            tile += 1

    cdef void copied(self, float *members, int64_t place, int64_t row) noexcept nogil:
        """Copy a kept row into the tiles of members."""
        cdef int64_t size = <int64_t> self.space.axes * LANES
        cdef float *into = members + (place // LANES) * size + place % LANES
        cdef const float *source = self.tiles + (row // LANES) * size + row % LANES
        cdef int axis
        for axis in range(self.space.axes):
            into[axis * LANES] = source[axis * LANES]

    def condense(self, Asked asked, const int64_t[::1] order, const int64_t[::1] label,
                 double same):
        """Hart's rule: add each row that the members so far get wrong, until a pass adds none.

        Returns the members in the order they were added, how many passes were made, and how many
        members equal one of another class.
        """
        cdef int64_t rows = self.rows, count = 0, room = LANES, row, place, before
        cdef int64_t size = <int64_t> self.space.axes * LANES, passes = 0, conflicts = 0
        cdef float *members
        cdef float *more
        cdef int64_t[::1] who = np.zeros(rows, dtype=np.int64)
        cdef int64_t[::1] seen = np.zeros(rows, dtype=np.int64)
        cdef int64_t[::1] nearest = np.full(rows, -1, dtype=np.int64)
        cdef double[::1] near = np.full(rows, np.inf)
        cdef unsigned char[::1] pure = np.zeros(rows, dtype=np.uint8)
        cdef unsigned char[::1] inside = np.zeros(rows, dtype=np.uint8)
        if asked.queries != rows or order.shape[0] != rows or label.shape[0] != rows:
            raise ValueError("there must be one query, one place and one label a row")
        members = <float *> calloc(size, sizeof(float))
        if members == NULL:
            raise MemoryError()
        try:
            with nogil:
                while True:
                    passes += 1
                    before = count
                    for place in range(rows):
                        row = order[place]
                        if inside[row]:
                            continue
                        self.compare(asked, row, members, &who[0], seen[row], count, &label[0],
                                     same, &near[0], &nearest[0], &pure[0])
                        seen[row] = count
                        if pure[row]:
                            continue
                        if near[row] == 0.0:
                            conflicts += 1
                        if count == room:
                            more = <float *> realloc(members, 2 * room // LANES * size
                                                     * sizeof(float))
                            if more == NULL:
                                with gil:
                                    raise MemoryError()
                            members = more
                            memset(members + room // LANES * size, 0,
                                   room // LANES * size * sizeof(float))
                            room *= 2
                        self.copied(members, count, row)
                        who[count] = row
                        inside[row] = 1
                        count += 1
                    if count == before:
                        break
        finally:
            free(members)
        return np.asarray(who)[:count].copy(), int(passes), int(conflicts)

    def approach(self, Asked asked, const int64_t[::1] who, const int64_t[::1] label, double same,
                 double[::1] near, int64_t[::1] nearest, unsigned char[::1] pure,
                 int64_t start, int64_t stop):
        """Tell the rows from start to stop of new members: a step of the fast condensed rule."""
        cdef int64_t size = <int64_t> self.space.axes * LANES, place, row, count = who.shape[0]
        cdef float *members
        if asked.queries != self.rows or near.shape[0] != self.rows:
            raise ValueError("there must be one query a row")
        if nearest.shape[0] != self.rows or pure.shape[0] != self.rows:
            raise ValueError("there must be one figure a row")
        if label.shape[0] != self.rows or not 0 <= start <= stop <= self.rows:
            raise ValueError("there must be one label a row")
        for place in range(count):
            if not 0 <= who[place] < self.rows:
                raise ValueError("members must be kept rows")
        members = <float *> calloc(max((count + LANES - 1) // LANES, 1) * size, sizeof(float))
        if members == NULL:
            raise MemoryError()
        with nogil:
            for place in range(count):
                self.copied(members, place, who[place])
            for row in range(start, stop):
                self.compare(asked, row, members, &who[0], 0, count, &label[0], same, &near[0],
                             &nearest[0], &pure[0])
            free(members)

    def pairs(self, Asked asked, const int64_t[:, ::1] who, double[:, ::1] far):
        """Fill in the distances (to the p) of given rows to each query."""
        cdef int64_t query, place
        if who.shape[0] != asked.queries or far.shape[0] != asked.queries:
            raise ValueError("there must be one line a query")
        if far.shape[1] != who.shape[1]:
            raise ValueError("there must be one distance a row")
        with nogil:
            for query in range(who.shape[0]):
                for place in range(who.shape[1]):
                    if 0 <= who[query, place] < self.rows:
                        far[query, place] = exact_pair(
                            &self.space, self.columns, self.tiles, who[query, place],
                            asked.columns, asked.codes, query)


cdef class Asked:
    """A block of queries: their numbers in double and single precision, their codes."""

    cdef object kept
    cdef const double **columns
    cdef const float *narrow
    cdef const int32_t *codes
    cdef const double *error
    cdef const unsigned char *plain
    cdef readonly int64_t queries

    def __cinit__(self):
        self.columns = NULL

    def __init__(self, list columns, const float[:, ::1] narrow, const int32_t[:, ::1] codes,
                 const double[::1] error, const unsigned char[::1] plain):
        cdef int axes = narrow.shape[1], axis
        cdef const double[::1] column
        self.queries = narrow.shape[0]
        if codes.shape[0] != self.queries or codes.shape[1] != axes or len(columns) != axes:
            raise ValueError("queries must have one figure an axis")
        if error.shape[0] != self.queries or plain.shape[0] != self.queries or self.queries < 1:
            raise ValueError("there must be one bound a query")
        self.kept = (columns, narrow, codes, error, plain)
        self.columns = <const double **> malloc(max(axes, 1) * sizeof(void *))
        if self.columns == NULL:
            raise MemoryError()
        for axis in range(axes):
            self.columns[axis] = NULL
            if columns[axis] is not None:
                column = columns[axis]
                if column.shape[0] != self.queries:
                    raise ValueError("columns must hold one number a query")
                self.columns[axis] = &column[0]
        self.narrow = &narrow[0, 0]
        self.codes = &codes[0, 0]
        self.error = &error[0]
        self.plain = &plain[0]

    def __dealloc__(self):
        free(self.columns)


cdef void _empty(int64_t *who, double *far, int64_t k) noexcept nogil:
    cdef int64_t place
    for place in range(k):
        who[place] = -1
        far[place] = INFINITY


cdef inline bint _after(double one, int64_t a, double two, int64_t b) noexcept nogil:
    """Whether neighbour a comes after b; empty places (-1) come last of all."""
    if (a < 0) != (b < 0):
        return a < 0
    return one > two or (one == two and a > b)


cdef void _replace(int64_t *who, double *far, int64_t k, int64_t row, double found) noexcept nogil:
    """Put a row in the place of the farthest: the root of a heap, the farthest on top."""
    cdef int64_t at = 0, child
    while True:
        child = 2 * at + 1
        if child >= k:
            break
        if child + 1 < k and _after(far[child + 1], who[child + 1], far[child], who[child]):
            child += 1
        if not _after(far[child], who[child], found, row):
            break
        who[at] = who[child]
        far[at] = far[child]
        at = child
    who[at] = row
    far[at] = found


cdef void _in_order(int64_t *who, double *far, int64_t k) noexcept nogil:
    """Turn the heap into a list, the nearest first."""
    cdef int64_t size = k, row
    cdef double found
    while size > 1:
        size -= 1
        row = who[size]
        found = far[size]
        who[size] = who[0]
        far[size] = far[0]
        _replace(who, far, size, row, found)
