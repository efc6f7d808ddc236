# Sums over arrays of numbers that the compiled passes and the dual form share.

cdef inline double dot(const double* a, const double* b, Py_ssize_t n) noexcept nogil:
    # Four lanes, which a compiler may put side by side without reordering a sum by itself.
    cdef double one = 0.0, two = 0.0, three = 0.0, four = 0.0
    cdef Py_ssize_t i = 0
    while i + 4 <= n:
        one += a[i] * b[i]
        two += a[i + 1] * b[i + 1]
        three += a[i + 2] * b[i + 2]
        four += a[i + 3] * b[i + 3]
        i += 4
    while i < n:
        one += a[i] * b[i]
        i += 1
    return (one + two) + (three + four)


cdef inline void add_scaled(double* to, const double* part, double factor,
                            Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        to[i] += factor * part[i]
