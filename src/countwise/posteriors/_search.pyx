"""Exact neighbour search over tiles of rows: single precision sieves, double precision decides.

Every function here runs without the interpreter lock on one block of queries. A row enters a list
of neighbours by its distance in double precision alone; of equally far rows the one with the
smaller number comes first, whatever the number of threads.
"""

from libc.math cimport INFINITY, fabs, pow, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc, realloc
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
        const double *grow
        const double *bend
        double more
    double exact_pair(const Space *, const double *const *, const float *, int64_t,
                      const double *const *, const int32_t *, int64_t)
    int tile_sums(const Space *, const float *, const float *, const int32_t *, float, float *)
    int SEVERAL
    ctypedef struct Packed:
        pass
    int several_sums(const Space *, const float *, const Packed *, const float *, float (*)[64])
    int together(const Space *, int)
    void packed(const Space *, Packed *, int, const float *, const int32_t *)
    double raised(double, int, double)

#: Tiles that are compared with a whole block of queries before the next ones are fetched.
cdef int64_t TOGETHER = 32


cdef struct Tally:
    const double *low
    const double *high
    const int64_t *label      # of every kept row
    const double *weight
    const int64_t *skip
    double *sums
    int64_t width


cdef struct Fellows:
    float *tiles              # the members, as the kept rows are
    int64_t *who              # which rows they are, in the order they came
    int64_t count
    double same               # distances that differ by less, relatively, are equal
    const int64_t *label      # of every kept row, as all that follows
    int64_t *seen             # how many members a row has met
    double *near
    int64_t *nearest
    unsigned char *pure


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
    cdef bint whole           # no kept row misses a cell
    cdef bint several         # queries are compared four at a time

    def __cinit__(self):
        self.columns = NULL
        self.tables = NULL
        self.narrow = NULL

    def __init__(self, int power, double p, bint ignore, double total, const signed char[::1] kind,
                 const float[::1] far, const float[::1] mass, const double[::1] stretch,
                 const double[::1] exact_far, const double[::1] exact_mass, const int[::1] width,
                 list columns, list tables, list narrow, const float[:, :, ::1] tiles, int64_t rows,
                 double unit, double slack, bint whole):
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
                if table.shape[1] != width[axis] or own.shape[1] != width[axis]:
                    raise ValueError("tables must be as wide as their codes")
                if table.shape[0] < 1 or own.shape[0] != table.shape[0]:
                    raise ValueError("tables must have a line")
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
        self.space.grow = NULL
        self.space.bend = NULL
        self.space.more = 0.0
        self.tiles = &tiles[0, 0, 0] if tiles.shape[0] else NULL
        self.rows = rows
        self.unit = unit
        self.slack = slack
        self.whole = whole
        self.several = together(&self.space, whole)

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

    cdef float reach(self, Asked asked, int64_t query, double worst) noexcept nogil:
        """The limit of one query: its own space may be narrower than the one the tiles are in."""
        return self.limit(worst * asked.loose[query], asked.error[query])

    cdef Space of(self, Asked asked, int64_t query) noexcept nogil:
        """The space of one query: the shared one, or with figures of its own."""
        cdef Space own = self.space
        cdef int64_t at = query * self.space.axes
        if asked.stretch != NULL:
            own.stretch = asked.stretch + at
            own.exact_far = asked.far + at
            own.exact_mass = asked.mass + at
            own.grow = asked.grow + at
            own.total = asked.total[query]
        if asked.bend != NULL:
            own.bend = asked.bend + at
            own.more = asked.more[query]
        return own

    def nearest(self, Asked asked, int64_t[:, ::1] who, double[:, ::1] far,
                const int64_t[::1] skip):
        """Fill in the nearest rows of each query, nearest first, and their distances to the p.

        `skip` is a row that may not be found, or -1: the query itself where it is among the rows.
        """
        cdef int64_t queries = asked.queries, k = who.shape[1], query
        cdef int64_t[::1] many = np.empty(queries, dtype=np.int64)
        cdef Packed *group
        if who.shape[0] != queries or far.shape[0] != queries or far.shape[1] != k:
            raise ValueError("there must be one line a query")
        if skip.shape[0] != queries:
            raise ValueError("there must be one row to skip a query")
        if k < 1 or k > self.rows:
            raise ValueError("there must be as many rows as neighbours")
        group = <Packed *> malloc(max(self.space.axes, 1) * sizeof(Packed))
        if group == NULL:
            raise MemoryError()
        with nogil:
            for query in range(queries):
                _empty(&who[query, 0], &far[query, 0], k)
            self._nearest(asked, &who[0, 0], &far[0, 0], k, &skip[0], group, &many[0])
            free(group)
            for query in range(queries):
                _in_order(&who[query, 0], &far[query, 0], k)

    cdef bint grouped(self, Asked asked, int64_t query) noexcept nogil:
        """Whether a query can be compared together with others."""
        cdef int axis
        if not self.several or asked.plain[query]:
            return False
        if not self.space.ignore:
            return True
        # Rows without gaps: what is left out is nothing, unless the query misses a cell.
        for axis in range(self.space.axes):
            if self.missed(asked, query, axis):
                return False
        return True

    cdef bint missed(self, Asked asked, int64_t query, int axis) noexcept nogil:
        cdef float own = asked.narrow[query * self.space.axes + axis]
        if self.columns[axis] != NULL:
            return own != own
        return asked.codes[query * self.space.axes + axis] == self.space.width[axis] - 2

    cdef void pack(self, Asked asked, Packed *group, int place, int64_t query) noexcept nogil:
        packed(&self.space, group, place, asked.narrow + query * self.space.axes,
               asked.codes + query * self.space.axes)

    cdef void _nearest(self, Asked asked, int64_t *who, double *far, int64_t k,
                       const int64_t *skip, Packed *group, int64_t *many) noexcept nogil:
        cdef int64_t tiles = (self.rows + LANES - 1) // LANES, block = 0, stop, query, at
        cdef int64_t queries = asked.queries, grouped = 0
        for query in range(queries):
            if self.grouped(asked, query):
                many[grouped] = query
                grouped += 1
        while block < tiles:
            stop = min(block + TOGETHER, tiles)
            at = 0
            while at < grouped:
                self._four(asked, who, far, k, skip, group, many + at,
                           <int> min(<int64_t> 4, grouped - at), block, stop)
                at += 4
            if grouped < queries:
                for query in range(queries):
                    if not self.grouped(asked, query):
                        self._one(asked, who, far, k, skip, query, block, stop)
            block = stop

    cdef void _four(self, Asked asked, int64_t *who, double *far, int64_t k, const int64_t *skip,
                    Packed *group, const int64_t *many, int there, int64_t block,
                    int64_t stop) noexcept nogil:
        """Compare up to four queries with some tiles."""
        cdef float sums[4][64]
        cdef float bound[4]
        cdef int64_t size = <int64_t> self.space.axes * LANES, tile, query
        cdef int place, within
        for place in range(4):
            query = many[min(place, there - 1)]
            self.pack(asked, group, place, query)
            # A place that is not taken is never within its bound.
            bound[place] = -1
            if place < there:
                bound[place] = self.reach(asked, query, far[query * k])
        for tile in range(block, stop):
            within = several_sums(&self.space, self.tiles + tile * size, group, bound, sums)
            for place in range(there):
                if within >> place & 1:
                    self.look(asked, who, far, k, skip, many[place], tile, sums[place],
                              &bound[place])

    cdef void _one(self, Asked asked, int64_t *who, double *far, int64_t k, const int64_t *skip,
                   int64_t query, int64_t block, int64_t stop) noexcept nogil:
        """Compare one query with some tiles."""
        cdef int64_t size = <int64_t> self.space.axes * LANES, tile
        cdef float sums[64]
        cdef float bound = INFINITY
        cdef int lane
        if asked.plain[query]:
            for lane in range(64):
                sums[lane] = 0
        else:
            bound = self.reach(asked, query, far[query * k])
        for tile in range(block, stop):
            if asked.plain[query] or tile_sums(
                    &self.space, self.tiles + tile * size, asked.narrow + query * self.space.axes,
                    asked.codes + query * self.space.axes, bound, sums):
                self.look(asked, who, far, k, skip, query, tile, sums, &bound)

    cdef void look(self, Asked asked, int64_t *who, double *far, int64_t k, const int64_t *skip,
                   int64_t query, int64_t tile, const float *sums, float *bound) noexcept nogil:
        """Look in double precision at the rows of a tile that the bound does not rule out."""
        cdef Space own = self.of(asked, query)
        cdef int64_t base = tile * LANES, row
        cdef int most = <int> min(<int64_t> LANES, self.rows - base), lane
        cdef double found
        for lane in range(most):
            if not sums[lane] <= bound[0]:
                continue
            row = base + lane
            if row == skip[query]:
                continue
            found = exact_pair(&own, self.columns, self.tiles, row, asked.columns, asked.codes,
                               query)
            # Rows come in order, so an equally far one comes too late.
            if found < far[query * k] or who[query * k] < 0:
                _replace(who + query * k, far + query * k, k, row, found)
                if not asked.plain[query]:
                    bound[0] = self.reach(asked, query, far[query * k])

    def tally(self, Asked asked, const double[::1] low, const double[::1] high,
              const int64_t[::1] label, const double[::1] weight, const int64_t[::1] skip,
              double[:, ::1] sums):
        """Add up the weight of each label among the rows whose distance lies within two bounds."""
        cdef int64_t query, row, grouped = 0, at = 0
        cdef int64_t[::1] many = np.empty(asked.queries, dtype=np.int64)
        cdef Tally wanted
        cdef Packed *group
        if low.shape[0] != asked.queries or high.shape[0] != asked.queries:
            raise ValueError("there must be two bounds a query")
        if label.shape[0] != self.rows or weight.shape[0] != self.rows or self.rows < 1:
            raise ValueError("there must be one label and one weight a row")
        if sums.shape[0] != asked.queries or skip.shape[0] != asked.queries:
            raise ValueError("there must be one line a query")
        for row in range(self.rows):
            if not 0 <= label[row] < sums.shape[1]:
                raise ValueError("there must be a sum for each label")
        group = <Packed *> malloc(max(self.space.axes, 1) * sizeof(Packed))
        if group == NULL:
            raise MemoryError()
        wanted = Tally(&low[0], &high[0], &label[0], &weight[0], &skip[0], &sums[0, 0],
                       sums.shape[1])
        with nogil:
            for query in range(asked.queries):
                if self.grouped(asked, query):
                    many[grouped] = query
                    grouped += 1
                else:
                    self.tally_one(asked, &wanted, query)
            while at < grouped:
                self.tally_four(asked, &wanted, group, &many[at],
                                <int> min(<int64_t> 4, grouped - at))
                at += 4
            free(group)

    cdef void tally_one(self, Asked asked, const Tally *wanted, int64_t query) noexcept nogil:
        cdef int64_t tile, size = <int64_t> self.space.axes * LANES
        cdef float sums[64]
        cdef float bound = INFINITY
        cdef int lane
        if asked.plain[query]:
            for lane in range(64):
                sums[lane] = 0
        else:
            bound = self.reach(asked, query, wanted.high[query])
        for tile in range((self.rows + LANES - 1) // LANES):
            if asked.plain[query] or tile_sums(
                    &self.space, self.tiles + tile * size, asked.narrow + query * self.space.axes,
                    asked.codes + query * self.space.axes, bound, sums):
                self.add_up(asked, wanted, query, tile, sums, bound)

    cdef void tally_four(self, Asked asked, const Tally *wanted, Packed *group,
                         const int64_t *many, int there) noexcept nogil:
        cdef float sums[4][64]
        cdef float bound[4]
        cdef int64_t size = <int64_t> self.space.axes * LANES, tile, query
        cdef int place, within
        for place in range(4):
            query = many[min(place, there - 1)]
            self.pack(asked, group, place, query)
            bound[place] = -1
            if place < there:
                bound[place] = self.reach(asked, query, wanted.high[query])
        for tile in range((self.rows + LANES - 1) // LANES):
            within = several_sums(&self.space, self.tiles + tile * size, group, bound, sums)
            for place in range(there):
                if within >> place & 1:
                    self.add_up(asked, wanted, many[place], tile, sums[place], bound[place])

    cdef void add_up(self, Asked asked, const Tally *wanted, int64_t query, int64_t tile,
                     const float *sums, float bound) noexcept nogil:
        """Add up the rows of a tile whose distance in double precision lies within the bounds."""
        cdef Space own = self.of(asked, query)
        cdef int64_t base = tile * LANES, row
        cdef int most = <int> min(<int64_t> LANES, self.rows - base), lane
        cdef double found
        for lane in range(most):
            row = base + lane
            if not sums[lane] <= bound or row == wanted.skip[query]:
                continue
            found = exact_pair(&own, self.columns, self.tiles, row, asked.columns, asked.codes,
                               query)
            if wanted.low[query] <= found <= wanted.high[query]:
                wanted.sums[query * wanted.width + wanted.label[row]] += wanted.weight[row]

    cdef void meet(self, Asked asked, const Fellows *fellows, int64_t query, int64_t tile,
                   int64_t start, int64_t stop, const float *sums, float *bound) noexcept nogil:
        """Compare a query, itself a kept row, with the members of a tile from start to stop.

        What is kept of a query: how far its nearest member is, which it is (of equally far ones
        one of another class), and whether all nearest members are of its class.
        """
        cdef int64_t base = tile * LANES, place
        cdef int first = <int> max(<int64_t> 0, start - base), lane
        cdef int last = <int> min(<int64_t> LANES, stop - base)
        cdef double found, near = fellows.near[query]
        cdef bint other
        for lane in range(first, last):
            if not sums[lane] <= bound[0]:
                continue
            place = fellows.who[base + lane]
            found = exact_pair(&self.space, self.columns, self.tiles, place, asked.columns,
                               asked.codes, query)
            other = fellows.label[place] != fellows.label[query]
            if fellows.nearest[query] < 0 or found < near * (1.0 - fellows.same):
                near = fellows.near[query] = found
                fellows.nearest[query] = place
                fellows.pure[query] = not other
                if not asked.plain[query]:
                    bound[0] = self.limit(found * (1.0 + fellows.same), asked.error[query])
            elif other and fellows.pure[query] and found <= near * (1.0 + fellows.same):
                fellows.nearest[query] = place
                fellows.pure[query] = 0

    cdef void meet_one(self, Asked asked, const Fellows *fellows, int64_t query, int64_t start,
                       int64_t stop) noexcept nogil:
        """Compare one query with members from start to stop."""
        cdef int64_t size = <int64_t> self.space.axes * LANES, tile = start // LANES
        cdef float sums[64]
        cdef float bound = INFINITY
        cdef int lane
        if asked.plain[query]:
            for lane in range(64):
                sums[lane] = 0
        else:
            bound = self.limit(fellows.near[query] * (1.0 + fellows.same), asked.error[query])
        while tile * LANES < stop:
            if asked.plain[query] or tile_sums(
                    &self.space, fellows.tiles + tile * size,
                    asked.narrow + query * self.space.axes,
                    asked.codes + query * self.space.axes, bound, sums):
                self.meet(asked, fellows, query, tile, start, stop, sums, &bound)
            tile += 1

    cdef void meet_four(self, Asked asked, const Fellows *fellows, const int64_t *many, int there,
                        const int64_t *starts, int64_t stop, Packed *group) noexcept nogil:
        """Compare up to four queries with members, each from its own start."""
        cdef float sums[4][64]
        cdef float bound[4]
        cdef int64_t size = <int64_t> self.space.axes * LANES, tile, query, start = stop
        cdef int place, within
        for place in range(4):
            query = many[min(place, there - 1)]
            start = min(start, starts[query])
            self.pack(asked, group, place, query)
            bound[place] = -1
            if place < there:
                bound[place] = self.limit(fellows.near[query] * (1.0 + fellows.same),
                                          asked.error[query])
        tile = start // LANES
        while tile * LANES < stop:
            within = several_sums(&self.space, fellows.tiles + tile * size, group, bound, sums)
            for place in range(there):
                if within >> place & 1:
                    self.meet(asked, fellows, many[place], tile, starts[many[place]], stop,
                              sums[place], &bound[place])
            tile += 1

    def approach(self, Asked asked, Members members, const int64_t[::1] rows):
        """Tell some rows, each once, of the members that they have not met yet."""
        cdef int64_t count = rows.shape[0], place, query, grouped = 0
        cdef int64_t[::1] many = np.empty(count, dtype=np.int64)
        cdef Fellows fellows = members.fellows
        cdef Packed *group
        members.checked(self, asked)
        for place in range(count):
            if not 0 <= rows[place] < self.rows:
                raise ValueError("only kept rows meet members")
        group = <Packed *> malloc(max(self.space.axes, 1) * sizeof(Packed))
        if group == NULL:
            raise MemoryError()
        with nogil:
            for place in range(count):
                query = rows[place]
                if self.grouped(asked, query):
                    many[grouped] = query
                    grouped += 1
                else:
                    self.meet_one(asked, &fellows, query, fellows.seen[query], fellows.count)
            place = 0
            while place < grouped:
                self.meet_four(asked, &fellows, &many[place],
                               <int> min(<int64_t> 4, grouped - place), fellows.seen,
                               fellows.count, group)
                place += 4
            for place in range(count):
                fellows.seen[rows[place]] = fellows.count
            free(group)

    def settle(self, Asked asked, Members members, const int64_t[::1] rows):
        """Hart's rule: take in each of the rows that the members so far get wrong, in turn."""
        cdef int64_t place, row, conflicts = 0
        cdef Fellows *fellows = &members.fellows
        members.checked(self, asked)
        for place in range(rows.shape[0]):
            if not 0 <= rows[place] < self.rows:
                raise ValueError("only kept rows meet members")
        members.reserve(rows.shape[0])
        with nogil:
            for place in range(rows.shape[0]):
                row = rows[place]
                self.meet_one(asked, fellows, row, fellows.seen[row], fellows.count)
                fellows.seen[row] = fellows.count
                if fellows.pure[row]:
                    continue
                if fellows.near[row] == 0.0:
                    conflicts += 1
                self.join(fellows, row)
        return int(conflicts)

    def welcome(self, Members members, const int64_t[::1] rows):
        """Take in rows as members."""
        cdef int64_t place
        for place in range(rows.shape[0]):
            if not 0 <= rows[place] < self.rows:
                raise ValueError("members must be kept rows")
        members.reserve(rows.shape[0])
        for place in range(rows.shape[0]):
            self.join(&members.fellows, rows[place])

    cdef void join(self, Fellows *fellows, int64_t row) noexcept nogil:
        """Copy a kept row into the tiles of members."""
        cdef int64_t size = <int64_t> self.space.axes * LANES, place = fellows.count
        cdef float *into = fellows.tiles + (place // LANES) * size + place % LANES
        cdef const float *source = self.tiles + (row // LANES) * size + row % LANES
        cdef int axis
        for axis in range(self.space.axes):
            into[axis * LANES] = source[axis * LANES]
        fellows.who[place] = row
        fellows.count += 1

    def pairs(self, Asked asked, const int64_t[:, ::1] who, double[:, ::1] far):
        """Fill in the distances (to the p) of given rows to each query."""
        cdef int64_t query, place
        cdef Space own
        if who.shape[0] != asked.queries or far.shape[0] != asked.queries:
            raise ValueError("there must be one line a query")
        if far.shape[1] != who.shape[1]:
            raise ValueError("there must be one distance a row")
        with nogil:
            for query in range(who.shape[0]):
                own = self.of(asked, query)
                for place in range(who.shape[1]):
                    if 0 <= who[query, place] < self.rows:
                        far[query, place] = exact_pair(
                            &own, self.columns, self.tiles, who[query, place],
                            asked.columns, asked.codes, query)


cdef class Members:
    """A growing choice among kept rows, and what every kept row knows of it.

    Of each row: how far its nearest member is, which it is, and whether all its nearest members
    are of its class.
    """

    cdef Fellows fellows
    cdef object kept
    cdef int64_t room
    cdef int axes
    cdef int64_t rows
    cdef readonly object near, nearest, pure

    def __cinit__(self):
        self.fellows.tiles = NULL
        self.fellows.who = NULL

    def __init__(self, Kernel kernel, const int64_t[::1] label, double same):
        cdef int64_t[::1] seen = np.zeros(kernel.rows, dtype=np.int64)
        cdef int64_t[::1] nearest
        cdef double[::1] near
        cdef unsigned char[::1] pure
        if label.shape[0] != kernel.rows or kernel.rows < 1:
            raise ValueError("there must be one label a row")
        self.near = np.full(kernel.rows, np.inf)
        self.nearest = np.full(kernel.rows, -1, dtype=np.int64)
        self.pure = np.zeros(kernel.rows, dtype=np.uint8)
        near, nearest, pure = self.near, self.nearest, self.pure
        self.kept = (label, seen)
        self.axes, self.rows = kernel.space.axes, kernel.rows
        self.room = 0
        self.fellows.count = 0
        self.fellows.same = same
        self.fellows.label = &label[0]
        self.fellows.seen = &seen[0]
        self.fellows.near = &near[0]
        self.fellows.nearest = &nearest[0]
        self.fellows.pure = &pure[0]

    def __dealloc__(self):
        free(self.fellows.tiles)
        free(self.fellows.who)

    def __len__(self):
        return self.fellows.count

    def since(self, int64_t known):
        """Which rows became members after the first so many, in the order they came."""
        cdef int64_t place
        if not 0 <= known <= self.fellows.count:
            raise ValueError("there are not so many members")
        rows = np.empty(self.fellows.count - known, dtype=np.int64)
        cdef int64_t[::1] into = rows
        for place in range(known, self.fellows.count):
            into[place - known] = self.fellows.who[place]
        return rows

    cdef checked(self, Kernel kernel, Asked asked):
        if asked.queries != self.rows or kernel.rows != self.rows:
            raise ValueError("there must be one query a row")
        if kernel.space.axes != self.axes:
            raise ValueError("members must be rows of the same space")

    cdef reserve(self, int64_t more):
        """Make room for so many more members."""
        cdef int64_t size = <int64_t> self.axes * LANES, room = max(self.room, <int64_t> LANES)
        cdef float *tiles
        cdef int64_t *who
        while room < self.fellows.count + more:
            room *= 2
        if room == self.room:
            return
        tiles = <float *> realloc(self.fellows.tiles, room // LANES * size * sizeof(float))
        if tiles == NULL:
            raise MemoryError()
        self.fellows.tiles = tiles
        memset(tiles + self.room // LANES * size, 0,
               (room - self.room) // LANES * size * sizeof(float))
        who = <int64_t *> realloc(self.fellows.who, room * sizeof(int64_t))
        if who == NULL:
            raise MemoryError()
        self.fellows.who = who
        self.room = room


cdef class Asked:
    """A block of queries: their numbers in double and single precision, their codes.

    `figures`, where given, are what the space of each query has of its own: stretch, far, mass and
    growth of the tables (queries × axes), the total mass, and by how much the limit of the sieve
    is loosened; `bent` is the direction and the factor by which whitened gaps count more.
    """

    cdef object kept
    cdef const double **columns
    cdef const float *narrow
    cdef const int32_t *codes
    cdef const double *error
    cdef const unsigned char *plain
    cdef const double *loose
    cdef const double *stretch
    cdef const double *far
    cdef const double *mass
    cdef const double *grow
    cdef const double *total
    cdef const double *bend
    cdef const double *more
    cdef readonly int64_t queries

    def __cinit__(self):
        self.columns = NULL
        self.stretch = self.far = self.mass = self.grow = NULL
        self.total = self.loose = self.bend = self.more = NULL

    def __init__(self, list columns, const float[:, ::1] narrow, const int32_t[:, ::1] codes,
                 const double[::1] error, const unsigned char[::1] plain,
                 const double[::1] loose, tuple figures=None, tuple bent=None):
        cdef int axes = narrow.shape[1], axis
        cdef const double[::1] column, line
        cdef const double[:, ::1] stretch, far, mass, grow
        self.queries = narrow.shape[0]
        if codes.shape[0] != self.queries or codes.shape[1] != axes or len(columns) != axes:
            raise ValueError("queries must have one figure an axis")
        if error.shape[0] != self.queries or plain.shape[0] != self.queries or self.queries < 1:
            raise ValueError("there must be one bound a query")
        if loose.shape[0] != self.queries:
            raise ValueError("there must be one bound a query")
        self.kept = (columns, narrow, codes, error, plain, loose, figures, bent)
        if figures is not None:
            if any(own.shape != (self.queries, axes) for own in figures[:4]):
                raise ValueError("queries must have one figure an axis")
            stretch, far, mass, grow, line = figures
            if line.shape[0] != self.queries:
                raise ValueError("there must be one total a query")
            self.stretch, self.far, self.mass = &stretch[0, 0], &far[0, 0], &mass[0, 0]
            self.grow, self.total = &grow[0, 0], &line[0]
        if bent is not None:
            stretch, line = bent
            if stretch.shape[0] != self.queries or stretch.shape[1] != axes:
                raise ValueError("queries must have one figure an axis")
            if line.shape[0] != self.queries:
                raise ValueError("there must be one factor a query")
            self.bend, self.more = &stretch[0, 0], &line[0]
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
        self.loose = &loose[0]

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
