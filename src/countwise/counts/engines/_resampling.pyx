# Compiled folds of resampled rows: the rows are read once for a block of members, each of which has
# drawn its own rows. What a member draws depends on the seed, the member and the block of slots
# alone, so that threads, and how often it is asked, change nothing.
"""Compiled kernels: draw rows for a block of members, and tally them for all members at once."""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from countwise.counts.engines._kernels cimport BLOCK, Axes, address

import numpy as np

cdef extern from *:
    """
    #define CW_LANES 64
    static void cw_add_lanes(uint16_t *__restrict sum, const uint16_t *__restrict more) {
        for (int m = 0; m < CW_LANES; m++) sum[m] = (uint16_t)(sum[m] + more[m]);
    }
    static void cw_spill(uint32_t *__restrict table, uint16_t *__restrict sum, int64_t size) {
        for (int64_t i = 0; i < size; i++) table[i] += sum[i];
    }
    static void cw_add_moments(double *__restrict n, double *__restrict s, double *__restrict q,
                               const uint16_t *__restrict times, double d) {
        double dd = d * d;
        for (int m = 0; m < CW_LANES; m++) {
            double w = (double)times[m];
            n[m] += w;
            s[m] += w * d;
            q[m] += w * dd;
        }
    }
    """
    enum: CW_LANES
    void cw_add_lanes(uint16_t* sum, const uint16_t* more) noexcept nogil
    void cw_spill(uint32_t* table, uint16_t* sum, int64_t size) noexcept nogil
    void cw_add_moments(double* n, double* s, double* q, const uint16_t* times,
                        double d) noexcept nogil

#: Members a pass serves, and slots (rows, repeated by their weight) a member draws from together.
LANES = 64
SLOTS = 1024

cdef enum:
    SLOT_BITS = 10
    SLOT_BLOCK = 1024


cdef inline uint64_t mixed(uint64_t z) noexcept nogil:
    """Scatter the bits of a counter (the finaliser of SplitMix64, Steele et al. 2014)."""
    z = (z ^ (z >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t>0x94D049BB133111EB
    return z ^ (z >> 31)


cdef inline uint64_t stream(uint64_t seed, uint64_t member, uint64_t block) noexcept nogil:
    """Where the numbers of a member in a block begin."""
    return mixed(mixed(seed + member * <uint64_t>0x9E3779B97F4A7C15) + block)


cdef void draw(uint64_t state, Py_ssize_t slots, Py_ssize_t times, bint replace,
               const uint16_t* row_of, uint16_t* drawn, Py_ssize_t lane) noexcept nogil:
    """Draw slots of a block and count them for the rows they belong to, in one lane."""
    cdef uint64_t golden = <uint64_t>0x9E3779B97F4A7C15, word
    cdef Py_ssize_t i = 0, at, left = times
    cdef int j
    if not replace:
        for at in range(slots):
            state += golden
            word = mixed(state) >> 32
            if <Py_ssize_t>((word * <uint64_t>(slots - at)) >> 32) < left:
                drawn[row_of[at] * CW_LANES + lane] += 1
                left -= 1
        return
    if slots == SLOT_BLOCK:
        while i + 6 <= times:
            state += golden
            word = mixed(state)
            for j in range(6):
                drawn[row_of[word & (SLOT_BLOCK - 1)] * CW_LANES + lane] += 1
                word >>= SLOT_BITS
            i += 6
    while i < times:
        state += golden
        word = mixed(state) >> 32
        drawn[row_of[(word * <uint64_t>slots) >> 32] * CW_LANES + lane] += 1
        i += 1


cdef Py_ssize_t places(const int64_t[::1] edge, Py_ssize_t first, int64_t start, int64_t stop,
                       uint16_t* row_of) noexcept nogil:
    """Write which row, counted from `first`, each slot belongs to; return how many rows there are.

    Row r has the slots from ``edge[r]`` up to ``edge[r + 1]``.
    """
    cdef Py_ssize_t row = first
    cdef int64_t slot
    for slot in range(start, stop):
        while edge[row + 1] <= slot:
            row += 1
        row_of[slot - start] = <uint16_t>(row - first)
    return row - first + 1


cdef Py_ssize_t row_at(const int64_t[::1] edge, int64_t slot) noexcept nogil:
    """The row that a slot belongs to."""
    cdef Py_ssize_t low = 0, high = edge.shape[0] - 1, middle
    while low < high:
        middle = (low + high) >> 1
        if edge[middle + 1] <= slot:
            low = middle + 1
        else:
            high = middle
    return low


cdef Py_ssize_t draw_block(object edges, Py_ssize_t block, int64_t total, uint64_t seed,
                           Py_ssize_t member, const int32_t[:, ::1] times, bint replace,
                           uint16_t* row_of, uint16_t* drawn, Py_ssize_t* rows):
    """Fill the lanes of a block; return its first row."""
    cdef int64_t start = block * SLOT_BLOCK
    cdef int64_t stop = min(start + SLOT_BLOCK, total)
    cdef Py_ssize_t first, m, i
    cdef const int64_t[::1] edge
    if edges is None:
        first = start
        rows[0] = stop - start
        for i in range(rows[0]):
            row_of[i] = <uint16_t>i
    else:
        edge = edges
        first = row_at(edge, start)
        rows[0] = places(edge, first, start, stop, row_of)
    with nogil:
        memset(drawn, 0, rows[0] * CW_LANES * sizeof(uint16_t))
        for m in range(times.shape[1]):
            draw(stream(seed, member + m, block), stop - start, times[block, m], replace, row_of,
                 drawn, m)
    return first


def multiplicities(object edges, Py_ssize_t begin, Py_ssize_t end, int64_t total, uint64_t seed,
                   Py_ssize_t member, const int32_t[:, ::1] times, bint replace,
                   Py_ssize_t low, Py_ssize_t high, uint32_t[:, ::1] out):
    """Add how often each row from `low` to `high` was drawn in some blocks: rows × members."""
    cdef uint16_t[SLOT_BLOCK] row_of
    buffer = np.empty(SLOT_BLOCK * CW_LANES, dtype=np.uint16)
    cdef uint16_t[::1] drawn = buffer
    cdef Py_ssize_t block, first, rows = 0, i, m
    for block in range(begin, end):
        first = draw_block(edges, block, total, seed, member, times, replace, row_of, &drawn[0],
                           &rows)
        with nogil:
            for i in range(max(0, low - first), min(rows, high - first)):
                for m in range(out.shape[1]):
                    out[first + i - low, m] += drawn[i * CW_LANES + m]


def tally_resampled(list axes, object edges, Py_ssize_t begin, Py_ssize_t end, int64_t total,
                    uint64_t seed, Py_ssize_t member, const int32_t[:, ::1] times, bint replace,
                    list tables, list values, Axes target, list moments):
    """Tally the rows that 64 members have drawn: cells × members for each group of columns.

    `moments` has, for each column of `values`, weight, mean, square and missing by class and member.
    """
    cdef uint16_t[SLOT_BLOCK] row_of
    cdef uint32_t[BLOCK] cell
    buffer = np.empty(SLOT_BLOCK * CW_LANES, dtype=np.uint16)
    cdef uint16_t[::1] drawn = buffer
    cdef Py_ssize_t block, first, rows = 0, i, g, groups = len(axes), m
    cdef Axes own
    cdef uint32_t[:, ::1] table
    cdef uint16_t[:, ::1] short
    cdef int64_t most, held = 0
    shorts = [np.zeros((len(one), CW_LANES), dtype=np.uint16) for one in tables]
    scratch = None
    if values:
        scratch = np.empty((4, moments[0].shape[1], CW_LANES))
    for block in range(begin, end):
        most = 0
        for m in range(times.shape[1]):
            most = max(most, times[block, m])
        if held + most > 65535:
            for g in range(groups):
                table, short = tables[g], shorts[g]
                with nogil:
                    cw_spill(&table[0, 0], &short[0, 0], short.shape[0] * CW_LANES)
                    memset(&short[0, 0], 0, short.shape[0] * CW_LANES * sizeof(uint16_t))
            held = 0
        held += most
        first = draw_block(edges, block, total, seed, member, times, replace, row_of, &drawn[0],
                           &rows)
        for g in range(groups):
            own, short = axes[g], shorts[g]
            with nogil:
                address(own, first, rows, cell)
                for i in range(rows):
                    cw_add_lanes(&short[cell[i], 0], &drawn[i * CW_LANES])
        for g in range(len(values)):
            block_moments(values[g], target, first, rows, &drawn[0], scratch, moments[g])
    for g in range(groups):
        table, short = tables[g], shorts[g]
        with nogil:
            cw_spill(&table[0, 0], &short[0, 0], short.shape[0] * CW_LANES)


cdef void block_moments(const double[::1] values, Axes target, Py_ssize_t first, Py_ssize_t rows,
                        const uint16_t* drawn, double[:, :, ::1] s, double[:, :, ::1] made):
    """Fold a block of a numeric column into the moments of all members (Chan et al. 1983)."""
    cdef uint32_t[BLOCK] label
    cdef double[256] pivot
    cdef bint[256] begun
    cdef Py_ssize_t i, k, m, classes = made.shape[1]
    cdef double x, n, d, gap, whole
    with nogil:
        address(target, first, rows, label)
        for k in range(classes):
            begun[k] = False
        memset(&s[0, 0, 0], 0, 4 * classes * CW_LANES * sizeof(double))
        for i in range(rows):
            x = values[first + i]
            k = label[i]
            if x != x:
                for m in range(CW_LANES):
                    s[3, k, m] += drawn[i * CW_LANES + m]
                continue
            if not begun[k]:
                pivot[k] = x
                begun[k] = True
            cw_add_moments(&s[0, k, 0], &s[1, k, 0], &s[2, k, 0], &drawn[i * CW_LANES],
                           x - pivot[k])
        for k in range(classes):
            for m in range(CW_LANES):
                made[3, k, m] += s[3, k, m]
                n = s[0, k, m]
                if n == 0:
                    continue
                d = s[1, k, m] / n
                whole = made[0, k, m] + n
                gap = pivot[k] + d - made[1, k, m]
                made[2, k, m] += max(0.0, s[2, k, m] - d * s[1, k, m])
                made[2, k, m] += gap * gap * (made[0, k, m] * n / whole)
                made[1, k, m] += gap * (n / whole)
                made[0, k, m] = whole


def row_keys(list codes, list figures, list numbers, list salts, uint64_t[::1] keys):
    """Add to each row's key what its cells are: a figure a level, and the bits of numbers mixed."""
    cdef Py_ssize_t i, rows = keys.shape[0]
    cdef const uint64_t[::1] figure
    cdef const uint64_t[::1] bits
    cdef Axes own
    cdef uint32_t[BLOCK] code
    cdef Py_ssize_t begin, size
    cdef uint64_t salt
    for column, told in zip(codes, figures):
        own, figure = Axes([column], [1]), told
        with nogil:
            begin = 0
            while begin < rows:
                size = min(<Py_ssize_t>BLOCK, rows - begin)
                address(own, begin, size, code)
                for i in range(size):
                    keys[begin + i] += figure[code[i]]
                begin += size
    for column, told in zip(numbers, salts):
        bits, salt = column, told
        with nogil:
            for i in range(rows):
                keys[i] += mixed(bits[i] ^ salt)
    with nogil:
        for i in range(rows):
            keys[i] = mixed(keys[i])


def uniforms(const uint64_t[::1] keys, uint64_t seed, uint64_t member, double[::1] out):
    """Write a number in [0, 1) for each key, the same whenever it is asked for."""
    cdef Py_ssize_t i
    cdef uint64_t salt = stream(seed, member, 0)
    with nogil:
        for i in range(keys.shape[0]):
            out[i] = <double>(mixed(keys[i] ^ salt) >> 11) * (1.0 / 9007199254740992.0)
