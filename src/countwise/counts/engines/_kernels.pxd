# What other compiled rooms may share: coded columns and the address of a row in a joint table.
from libc.stdint cimport uint32_t

cdef enum:
    BLOCK = 2048

cdef struct Axis:
    const void* data
    int size
    uint32_t stride

cdef class Axes:
    cdef Axis* axis
    cdef int number
    cdef object keep

cdef void address(Axes axes, Py_ssize_t start, Py_ssize_t rows, uint32_t* cell) noexcept nogil
