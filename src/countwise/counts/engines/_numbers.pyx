# Passes over columns of numbers, each read once and from front to back. The interpreter lock is
# released; missing numbers (NaN) are passed over.
"""Compiled kernels: ranges of numeric columns, and their tiles in single precision."""

from libc.math cimport INFINITY, fabs

cdef enum:
    # Running extremes side by side, which a processor can compare at once.
    WIDE = 8


cdef void ends_of(const double* column, Py_ssize_t rows, double* low, double* high) noexcept nogil:
    cdef double[WIDE] least
    cdef double[WIDE] most
    cdef Py_ssize_t row = 0, lane
    for lane in range(WIDE):
        least[lane], most[lane] = INFINITY, -INFINITY
    while row + WIDE <= rows:
        for lane in range(WIDE):
            least[lane] = column[row + lane] if column[row + lane] < least[lane] else least[lane]
            most[lane] = column[row + lane] if column[row + lane] > most[lane] else most[lane]
        row += WIDE
    while row < rows:
        least[0] = column[row] if column[row] < least[0] else least[0]
        most[0] = column[row] if column[row] > most[0] else most[0]
        row += 1
    low[0], high[0] = least[0], most[0]
    for lane in range(1, WIDE):
        low[0] = min(low[0], least[lane])
        high[0] = max(high[0], most[lane])


def ends(const double[::1] column):
    """Return the smallest and the largest number of a column; 0 and 0 where there is none."""
    cdef double low = INFINITY, high = -INFINITY
    if column.shape[0]:
        with nogil:
            ends_of(&column[0], column.shape[0], &low, &high)
    return (low, high) if low <= high else (0.0, 0.0)


cdef bint reach_of(const double* column, Py_ssize_t rows, double centre, double* far) noexcept nogil:
    cdef double[WIDE] most
    cdef long[WIDE] missing
    cdef double away
    cdef Py_ssize_t row = 0, lane
    cdef bint holes = False
    for lane in range(WIDE):
        most[lane], missing[lane] = 0.0, 0
    while row + WIDE <= rows:
        for lane in range(WIDE):
            away = fabs(column[row + lane] - centre)
            most[lane] = away if away > most[lane] else most[lane]
            missing[lane] |= column[row + lane] != column[row + lane]
        row += WIDE
    while row < rows:
        away = fabs(column[row] - centre)
        most[0] = away if away > most[0] else most[0]
        missing[0] |= column[row] != column[row]
        row += 1
    far[0] = 0.0
    for lane in range(WIDE):
        far[0] = max(far[0], most[lane])
        holes = holes or missing[lane]
    return holes


def reach(list columns, const double[::1] centre, double[::1] far, unsigned char[::1] holes):
    """Fill in how far each column is from its centre at most, and whether any number is missing.

    None stands for a column without numbers: 0, and none missing.
    """
    cdef const double[::1] column
    cdef Py_ssize_t axis, axes = len(columns)
    if centre.shape[0] != axes or far.shape[0] != axes or holes.shape[0] != axes:
        raise ValueError("there must be one centre and one reach a column")
    for axis in range(axes):
        far[axis] = 0.0
        holes[axis] = 0
        if columns[axis] is not None:
            column = columns[axis]
            if column.shape[0]:
                with nogil:
                    holes[axis] = reach_of(&column[0], column.shape[0], centre[axis], &far[axis])


def tile(list columns, const double[::1] centre, const double[::1] factor,
         float[:, :, ::1] tiles):
    """Fill in tiles, axis by axis, with columns in single precision, moved and stretched."""
    cdef const double[::1] column
    cdef Py_ssize_t axis, axes = len(columns), lanes = tiles.shape[2], rows, at, row, lane, last
    cdef double middle, times
    cdef float* into
    if tiles.shape[1] != axes or centre.shape[0] != axes or factor.shape[0] != axes:
        raise ValueError("there must be one centre and one factor an axis")
    for axis in range(axes):
        if columns[axis] is None:
            continue
        column = columns[axis]
        rows = column.shape[0]
        if rows > tiles.shape[0] * lanes:
            raise ValueError("tiles must have room for every row")
        middle, times = centre[axis], factor[axis]
        with nogil:
            row = at = 0
            while row < rows:
                into = &tiles[at, axis, 0]
                last = min(lanes, rows - row)
                for lane in range(last):
                    into[lane] = <float> ((column[row + lane] - middle) * times)
                row += lanes
                at += 1


def ask(list columns, const double[::1] centre, const double[::1] factor,
        float[:, ::1] narrow, double[:, ::1] size):
    """Fill in queries: single figures, and how far out each is; return whether any is missing."""
    cdef const double[::1] column
    cdef Py_ssize_t axis, axes = len(columns), row, rows = narrow.shape[0]
    cdef double own, middle, times
    cdef bint holes = False
    if narrow.shape[1] != axes or size.shape[1] != axes or size.shape[0] != rows:
        raise ValueError("there must be one figure a query and axis")
    if centre.shape[0] != axes or factor.shape[0] != axes:
        raise ValueError("there must be one centre and one factor an axis")
    for axis in range(axes):
        if columns[axis] is None:
            continue
        column = columns[axis]
        if column.shape[0] != rows:
            raise ValueError("columns must hold one number a query")
        middle, times = centre[axis], factor[axis]
        with nogil:
            for row in range(rows):
                own = (column[row] - middle) * times
                narrow[row, axis] = <float> own
                if own == own:
                    size[row, axis] = fabs(own)
                else:
                    size[row, axis] = 0.0
                    holes = True
    return holes
