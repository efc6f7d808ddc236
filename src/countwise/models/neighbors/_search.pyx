"""Exact neighbor search over tiles of rows: first in single, then in double precision.

Every function here runs without the interpreter lock on one block of queries. A row enters a list
of neighbors by its distance in double precision alone; of equally far rows the one with the
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
    const int64_t *label      # of every stored row
    const double *weight
    double *sums
    int64_t width


cdef struct Fellows:
    float *tiles              # the members, as the stored rows are
    int64_t *who              # which rows they are, in the order of joining
    int64_t count
    double same               # distances that differ by less, relatively, are equal
    const int64_t *label      # of every stored row, as all that follows
    int64_t *seen             # how many members a row has met
    double *near
    int64_t *nearest
    unsigned char *pure


#: What is done with the rows that a bound does not rule out.
cdef enum:
    LIST                      # keep the nearest
    TALLY                     # add up what lies within bounds
    MEET                      # compare a row with members


cdef struct Errand:
    int kind
    const float *tiles
    int64_t rows              # how many rows the tiles hold
    int64_t *who              # lists of neighbors: heaps, the farthest on top
    double *far
    int64_t k
    const int64_t *skip       # a row that may not be found, or -1
    const Tally *tally
    const Fellows *fellows


cdef class Kernel:
    """The axes of a space and the rows stored in it, as the kernels read them."""

    cdef Space space
    cdef object kept          # arrays whose memory the pointers below borrow
    cdef const double **columns
    cdef const double **tables
    cdef const float **narrow
    cdef const float *tiles
    cdef readonly int64_t rows
    cdef readonly double unit, slack
    cdef bint whole           # no stored row misses a cell
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
        """Return the largest single-precision sum of a pair whose exact one is at most `worst`."""
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
        """Return the limit of one query: its own space may be narrower than that of the tiles."""
        return self.limit(worst * asked.loose[query], asked.error[query])

    cdef Space of(self, Asked asked, int64_t query) noexcept nogil:
        """Return the space of one query: the shared one, or its own."""
        cdef Space own = self.space
        cdef int64_t at = query * self.space.axes
        if asked.stretch != NULL:
            own.stretch = asked.stretch + at
            own.exact_far = asked.far + at
            own.exact_mass = asked.mass + at
            own.grow = asked.grow + at
            own.total = asked.total[query]
        return own

    def nearest(self, Asked asked, int64_t[:, ::1] who, double[:, ::1] far,
                const int64_t[::1] skip):
        """Fill in the nearest rows of each query, nearest first, and their distances to the p.

        `skip` is a row that may not be found, or -1: the query itself where it is among the rows.
        """
        cdef int64_t queries = asked.queries, k = who.shape[1], query
        cdef Errand errand
        if who.shape[0] != queries or far.shape[0] != queries or far.shape[1] != k:
            raise ValueError("there must be one line a query")
        if skip.shape[0] != queries:
            raise ValueError("there must be one row to skip a query")
        if k < 1 or k > self.rows:
            raise ValueError("there must be as many rows as neighbors")
        errand = Errand(LIST, self.tiles, self.rows, &who[0, 0], &far[0, 0], k, &skip[0], NULL,
                        NULL)
        with nogil:
            for query in range(queries):
                _empty(&who[query, 0], &far[query, 0], k)
        self.sweep(asked, &errand, np.arange(queries))
        with nogil:
            for query in range(queries):
                _in_order(&who[query, 0], &far[query, 0], k)

    cdef sweep(self, Asked asked, const Errand *errand, const int64_t[::1] queries):
        """Compare queries with the rows of an errand, four together where that is possible."""
        cdef int64_t tiles = (errand.rows + LANES - 1) // LANES, block = tiles, stop, at
        cdef int64_t count = queries.shape[0], grouped = 0, alone = count
        cdef int64_t[::1] many
        cdef Packed *group
        if not count:
            return
        many = np.empty(count, dtype=np.int64)
        group = <Packed *> malloc(max(self.space.axes, 1) * sizeof(Packed))
        if group == NULL:
            raise MemoryError()
        with nogil:
            for at in range(count):
                block = min(block, _first(errand, queries[at]))
                if self.grouped(asked, queries[at]):
                    many[grouped] = queries[at]
                    grouped += 1
                else:
                    alone -= 1
                    many[alone] = queries[at]
            # A few tiles at a time, so that they stay in the cache for all queries.
            while block < tiles:
                stop = min(block + TOGETHER, tiles)
                at = 0
                while at < grouped:
                    self.compare_four(asked, errand, group, &many[at],
                                      <int> min(<int64_t> 4, grouped - at), block, stop)
                    at += 4
                for at in range(alone, count):
                    self.compare(asked, errand, many[at], block, stop)
                block = stop
            free(group)

    cdef bint grouped(self, Asked asked, int64_t query) noexcept nogil:
        """Return whether a query can be compared together with others."""
        cdef int axis
        if not self.several or asked.plain[query]:
            return False
        if not self.space.ignore:
            return True
        # Complete rows: nothing is ignored, unless the query misses a cell.
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

    cdef float bound(self, Asked asked, const Errand *errand, int64_t query) noexcept nogil:
        """Return the largest single-precision sum of a row that matters to an errand."""
        if asked.plain[query]:
            return INFINITY
        if errand.kind == LIST:
            return self.reach(asked, query, errand.far[query * errand.k])
        if errand.kind == TALLY:
            return self.reach(asked, query, errand.tally.high[query])
        return self.reach(asked, query, errand.fellows.near[query] * (1.0 + errand.fellows.same))

    cdef void compare_four(self, Asked asked, const Errand *errand, Packed *group,
                           const int64_t *many, int there, int64_t block,
                           int64_t stop) noexcept nogil:
        """Compare up to four queries with some tiles."""
        cdef float sums[4][64]
        cdef float bound[4]
        cdef int64_t size = <int64_t> self.space.axes * LANES, tile, query, first = stop
        cdef int place, within
        for place in range(4):
            query = many[min(place, there - 1)]
            first = min(first, _first(errand, query))
            self.pack(asked, group, place, query)
            # A place that is not taken is never within its bound.
            bound[place] = self.bound(asked, errand, query) if place < there else -1
        for tile in range(max(block, first), stop):
            within = several_sums(&self.space, errand.tiles + tile * size, group, bound, sums)
            for place in range(there):
                if within >> place & 1:
                    self.look(asked, errand, many[place], tile, sums[place], &bound[place])

    cdef void compare(self, Asked asked, const Errand *errand, int64_t query, int64_t block,
                      int64_t stop) noexcept nogil:
        """Compare one query with some tiles."""
        cdef int64_t size = <int64_t> self.space.axes * LANES, tile
        cdef float sums[64]
        cdef float bound = self.bound(asked, errand, query)
        cdef int lane
        if asked.plain[query]:
            for lane in range(64):
                sums[lane] = 0
        for tile in range(max(block, _first(errand, query)), stop):
            if asked.plain[query] or tile_sums(
                    &self.space, errand.tiles + tile * size,
                    asked.narrow + query * self.space.axes,
                    asked.codes + query * self.space.axes, bound, sums):
                self.look(asked, errand, query, tile, sums, &bound)

    cdef void look(self, Asked asked, const Errand *errand, int64_t query, int64_t tile,
                   const float *sums, float *bound) noexcept nogil:
        """Look in double precision at the rows of a tile that the bound does not rule out."""
        cdef Space own = self.of(asked, query)
        cdef int64_t base = tile * LANES, row
        cdef int most = <int> min(<int64_t> LANES, errand.rows - base), lane, first = 0
        cdef double found
        if errand.kind == MEET:
            first = <int> max(<int64_t> 0, errand.fellows.seen[query] - base)
        for lane in range(first, most):
            if not sums[lane] <= bound[0]:
                continue
            row = base + lane
            if errand.kind == MEET:
                row = errand.fellows.who[row]
            elif row == errand.skip[query]:
                continue
            found = exact_pair(&own, self.columns, self.tiles, row, asked.columns, asked.codes,
                               query)
            if errand.kind == TALLY:
                _add_up(errand.tally, query, row, found)
            elif _listed(errand, query, row, found) if errand.kind == LIST else _met(
                    errand.fellows, query, row, found):
                bound[0] = self.bound(asked, errand, query)

    def tally(self, Asked asked, const double[::1] low, const double[::1] high,
              const int64_t[::1] label, const double[::1] weight, const int64_t[::1] skip,
              double[:, ::1] sums):
        """Add up the weight of each label among the rows whose distance lies within two bounds."""
        cdef int64_t row
        cdef bint sound = True
        cdef Tally wanted
        cdef Errand errand
        if low.shape[0] != asked.queries or high.shape[0] != asked.queries:
            raise ValueError("there must be two bounds a query")
        if label.shape[0] != self.rows or weight.shape[0] != self.rows or self.rows < 1:
            raise ValueError("there must be one label and one weight a row")
        if sums.shape[0] != asked.queries or skip.shape[0] != asked.queries:
            raise ValueError("there must be one line a query")
        with nogil:
            for row in range(self.rows):
                sound = sound and 0 <= label[row] < sums.shape[1]
        if not sound:
            raise ValueError("there must be a sum for each label")
        wanted = Tally(&low[0], &high[0], &label[0], &weight[0], &sums[0, 0], sums.shape[1])
        errand = Errand(TALLY, self.tiles, self.rows, NULL, NULL, 0, &skip[0], &wanted, NULL)
        self.sweep(asked, &errand, np.arange(asked.queries))

    def approach(self, Asked asked, Members members, const int64_t[::1] rows):
        """Compare some rows, each once, with the members that they have not met yet."""
        cdef int64_t place
        cdef Fellows fellows = members.fellows
        cdef Errand errand = Errand(MEET, fellows.tiles, fellows.count, NULL, NULL, 0, NULL, NULL,
                                    &fellows)
        members.checked(self, asked)
        for place in range(rows.shape[0]):
            if not 0 <= rows[place] < self.rows:
                raise ValueError("only stored rows meet members")
        self.sweep(asked, &errand, rows)
        for place in range(rows.shape[0]):
            fellows.seen[rows[place]] = fellows.count

    def settle(self, Asked asked, Members members, const int64_t[::1] rows):
        """Hart's rule: take in each of the rows that the members so far get wrong, in turn."""
        cdef int64_t place, row, conflicts = 0
        cdef Fellows *fellows = &members.fellows
        cdef Errand errand
        members.checked(self, asked)
        for place in range(rows.shape[0]):
            if not 0 <= rows[place] < self.rows:
                raise ValueError("only stored rows meet members")
        members.reserve(rows.shape[0])
        with nogil:
            for place in range(rows.shape[0]):
                row = rows[place]
                errand = Errand(MEET, fellows.tiles, fellows.count, NULL, NULL, 0, NULL, NULL,
                                fellows)
                self.compare(asked, &errand, row, 0, (fellows.count + LANES - 1) // LANES)
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
                raise ValueError("members must be stored rows")
        members.reserve(rows.shape[0])
        for place in range(rows.shape[0]):
            self.join(&members.fellows, rows[place])

    cdef void join(self, Fellows *fellows, int64_t row) noexcept nogil:
        """Copy a stored row into the tiles of members."""
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
    """A growing choice among stored rows, and the nearest chosen one of every stored row.

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
        """Return the members after the first `known`, in the order in which they joined."""
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
    is loosened.
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
    cdef readonly int64_t queries

    def __cinit__(self):
        self.columns = NULL
        self.stretch = self.far = self.mass = self.grow = NULL
        self.total = self.loose = NULL

    def __init__(self, list columns, const float[:, ::1] narrow, const int32_t[:, ::1] codes,
                 const double[::1] error, const unsigned char[::1] plain,
                 const double[::1] loose, tuple figures=None):
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
        self.kept = (columns, narrow, codes, error, plain, loose, figures)
        if figures is not None:
            if any(own.shape != (self.queries, axes) for own in figures[:4]):
                raise ValueError("queries must have one figure an axis")
            stretch, far, mass, grow, line = figures
            if line.shape[0] != self.queries:
                raise ValueError("there must be one total a query")
            self.stretch, self.far, self.mass = &stretch[0, 0], &far[0, 0], &mass[0, 0]
            self.grow, self.total = &grow[0, 0], &line[0]
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


cdef inline int64_t _first(const Errand *errand, int64_t query) noexcept nogil:
    """Return the first tile that a query has not met."""
    return errand.fellows.seen[query] // LANES if errand.kind == MEET else 0


cdef inline bint _listed(const Errand *errand, int64_t query, int64_t row,
                         double found) noexcept nogil:
    """Put a row on the list of a query, if it is near enough."""
    cdef int64_t *who = errand.who + query * errand.k
    cdef double *far = errand.far + query * errand.k
    # Rows come in order, so an equally far one comes too late.
    if not found < far[0] and who[0] >= 0:
        return False
    _replace(who, far, errand.k, row, found)
    return True


cdef inline void _add_up(const Tally *wanted, int64_t query, int64_t row,
                         double found) noexcept nogil:
    if wanted.low[query] <= found <= wanted.high[query]:
        wanted.sums[query * wanted.width + wanted.label[row]] += wanted.weight[row]


cdef inline bint _met(const Fellows *fellows, int64_t query, int64_t row,
                      double found) noexcept nogil:
    """Compare a query, itself a stored row, with a member; return whether it is the nearest so far.

    What is kept of a query: how far its nearest member is, which it is (of equally far ones one
    of another class), and whether all nearest members are of its class.
    """
    cdef bint other = fellows.label[row] != fellows.label[query]
    cdef double near = fellows.near[query]
    if fellows.nearest[query] < 0 or found < near * (1.0 - fellows.same):
        fellows.near[query] = found
        fellows.nearest[query] = row
        fellows.pure[query] = not other
        return True
    if other and fellows.pure[query] and found <= near * (1.0 + fellows.same):
        fellows.nearest[query] = row
        fellows.pure[query] = 0
    return False


cdef void _empty(int64_t *who, double *far, int64_t k) noexcept nogil:
    cdef int64_t place
    for place in range(k):
        who[place] = -1
        far[place] = INFINITY


cdef inline bint _after(double one, int64_t a, double two, int64_t b) noexcept nogil:
    """Return whether neighbor a comes after b; empty places (-1) come last of all."""
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
