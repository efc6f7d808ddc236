# Compiled reading of plain text: the interpreter lock is released.
"""Compiled kernels: scan bytes, and read lines without quotes into codes and doubles."""

from cpython.ref cimport PyObject
from libc.math cimport NAN
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memchr, memcmp, memcpy

import numpy as np

cdef extern from "Python.h":
    double PyOS_string_to_double(const char*, char**, PyObject*) except? -1.0

cdef extern from *:
    """
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    #define LITTLE 1
    #define first_byte(word) (__builtin_ctzll(word) >> 3)
    #else
    #define LITTLE 0
    #define first_byte(word) 0
    #endif
    #if defined(_MSC_VER) && !defined(__clang__)
    #include <intrin.h>
    #define high_product(a, b) __umulh(a, b)
    static __inline int top_zeros(uint64_t word) {
        unsigned long at;
        _BitScanReverse64(&at, word);
        return 63 - (int)at;
    }
    #else
    #define high_product(a, b) ((uint64_t)(((unsigned __int128)(a) * (b)) >> 64))
    #define top_zeros(word) __builtin_clzll(word)
    #endif
    /* Whether a zero and another digit stand behind a sign that ends a cell; in C, because the
       compiler then takes many bytes at once. Signs up to the comma are blanks, quotes and such. */
    static int begins_with_zero(const unsigned char* at, Py_ssize_t size) {
        unsigned char found = 0;
        for (Py_ssize_t i = 1; i + 1 < size; i++) {
            unsigned char past = at[i - 1], next = (unsigned char)(at[i + 1] - 48);
            found |= (unsigned char)(at[i] == 48) & (unsigned char)(next < 10)
                & (unsigned char)((past < 45) | (past == 59) | (past == 124));
        }
        return found;
    }
    """
    int LITTLE
    int first_byte(uint64_t) nogil
    uint64_t high_product(uint64_t, uint64_t) nogil
    int top_zeros(uint64_t) nogil
    bint begins_with_zero(const uint8_t*, Py_ssize_t) nogil

# What a column is read as.
SKIPPED, NUMBER, TEXT = 0, 1, 2

cdef enum:
    AS_NOTHING = 0
    AS_NUMBER = 1
    AS_TEXT = 2
    # A column of more texts than this is left to a reader that bounds nothing.
    MOST_LEVELS = 1048576
    FIRST_SLOTS = 256

# One in each of eight bytes.
cdef uint64_t EVERY = 0x0101010101010101ULL
# Beyond this a double does not hold every whole number, and others decide what becomes of it.
cdef double EXACT = 9007199254740992.0
cdef double[23] TENS
cdef int _power
cdef double _ten = 1.0
for _power in range(23):
    TENS[_power] = _ten  # exact up to 10**22
    _ten *= 10.0


# The first 128 bits of powers of ten: of 5**power, which a power of two makes one of ten.
cdef enum:
    MOST_POWER = 64
cdef uint64_t[2 * MOST_POWER + 1] HIGH
cdef uint64_t[2 * MOST_POWER + 1] LOW


def _fill_powers():
    for power in range(-MOST_POWER, MOST_POWER + 1):
        five = 5 ** abs(power)
        if power < 0:
            # A reciprocal is rounded up, at the last of the 128 bits if it may decide a tie.
            more = 127 if power >= -27 else 255
            five = (1 << five.bit_length() + more) // five + 1
        spare = five.bit_length() - 128
        five = five >> spare if spare > 0 else five << -spare
        HIGH[power + MOST_POWER] = five >> 64
        LOW[power + MOST_POWER] = five & (2 ** 64 - 1)


_fill_powers()


def look(const uint8_t[::1] content, Py_ssize_t size):
    """Return whether bytes are ASCII, whether there is NUL or an x among them, and the quotes.

    The last of all says whether a cell may begin with a zero and another digit.
    """
    cdef Py_ssize_t i, stop, quotes = 0
    cdef uint8_t high = 0, byte, few
    cdef bint nul = False, letter = False, zero = False
    cdef const uint8_t* at
    with nogil:
        if size > 0:
            at = &content[0]
            nul = memchr(at, 0, size) != NULL
            letter = memchr(at, 120, size) != NULL or memchr(at, 88, size) != NULL
            i = 0
            while i < size:
                # Counting in bytes over short runs lets the compiler use wide registers.
                stop = min(size, i + 240)
                few = 0
                for i in range(i, stop):
                    byte = at[i]
                    high |= byte
                    few += byte == 34
                i = stop
                quotes += few
            zero = begins_with_zero(at, size)
    return high < 128, nul, letter, quotes, zero


def find_zeros(const uint8_t[::1] content, str separator, int64_t[::1] state, uint8_t[::1] found):
    """Mark the columns in which a cell begins with a zero and another digit.

    `state` goes from one part of a file to the next: the column, whether the place is inside
    quotes, and whether its cell has begun (0: no, 1: with a zero, 2: otherwise).
    """
    cdef Py_ssize_t i, column = state[0], columns = found.shape[0]
    cdef bint inside = state[1]
    cdef int begun = state[2]
    cdef uint8_t byte, between = ord(separator)
    with nogil:
        for i in range(content.shape[0]):
            byte = content[i]
            if byte == 34 and (inside or begun == 0):
                inside = not inside
            elif not inside and byte == between:
                column += 1
                begun = 0
            elif not inside and (byte == 10 or byte == 13):
                column = begun = 0
            elif begun == 0:
                if byte != 32:
                    begun = 1 if byte == 48 else 2
            elif begun == 1:
                if digit(byte) and column < columns:
                    found[column] = 1
                begun = 2
    state[0], state[1], state[2] = column, inside, begun


def nesting(const uint8_t[::1] content):
    """Return how deep the brackets of JSON are nested; those inside texts do not count.

    A text ends with its line, as no parser lets it go on: lines that are parsed apart are never
    deeper than what is found here.
    """
    cdef Py_ssize_t i, depth = 0, most = 0
    cdef uint8_t byte
    cdef bint inside = False, escaped = False
    with nogil:
        for i in range(content.shape[0]):
            byte = content[i]
            if byte == 10 or byte == 13:
                inside = escaped = False
            elif inside:
                if escaped:
                    escaped = False
                elif byte == 92:
                    escaped = True
                elif byte == 34:
                    inside = False
            elif byte == 34:
                inside = True
            elif byte == 91 or byte == 123:
                depth += 1
                if depth > most:
                    most = depth
            elif (byte == 93 or byte == 125) and depth > 0:
                depth -= 1
    return most


cdef struct Levels:
    # Where each text first stands, how long it is, its hash; slots hold its number plus one.
    Py_ssize_t* start
    int32_t* length
    uint64_t* hash
    int32_t* slot
    uint32_t slots
    int32_t held


cdef inline uint64_t mixed(uint64_t total, uint64_t word) noexcept nogil:
    # One to one in the word, so that texts of eight bytes or less with equal hashes are equal.
    total = (total ^ word) * 0xFF51AFD7ED558CCDULL
    return total ^ (total >> 32)


cdef inline uint64_t nought(uint64_t word, uint64_t sign) noexcept nogil:
    """Set the top bit of the first byte that equals the sign; those above it mean nothing."""
    word ^= sign
    return (word - EVERY) & ~word & (EVERY << 7)


cdef inline Py_ssize_t cell_end(const uint8_t* text, Py_ssize_t at, Py_ssize_t size,
                                uint64_t separator, const uint8_t* stops,
                                uint64_t* hash) noexcept nogil:
    """Return where a cell ends, and the hash of it; eight bytes at a time."""
    cdef uint64_t total = 0, word, found
    cdef int held
    while LITTLE and at + 8 <= size:
        memcpy(&word, text + at, 8)
        found = nought(word, separator) | nought(word, EVERY * 10) | nought(word, EVERY * 13)
        if found:
            held = first_byte(found)
            if held:
                total = mixed(total, word & ((<uint64_t>1 << (8 * held)) - 1))
            hash[0] = total
            return at + held
        total = mixed(total, word)
        at += 8
    word, held = 0, 0
    while not stops[text[at]]:
        word |= <uint64_t>text[at] << (8 * held)
        at += 1
        held += 1
        if held == 8:
            total = mixed(total, word)
            word, held = 0, 0
    hash[0] = mixed(total, word) if held else total
    return at


cdef bint opened(Levels* own) noexcept nogil:
    own.slots, own.held = FIRST_SLOTS, 0
    own.slot = <int32_t*>calloc(own.slots, sizeof(int32_t))
    own.start = <Py_ssize_t*>malloc(own.slots // 2 * sizeof(Py_ssize_t))
    own.length = <int32_t*>malloc(own.slots // 2 * sizeof(int32_t))
    own.hash = <uint64_t*>malloc(own.slots // 2 * sizeof(uint64_t))
    return own.slot != NULL and own.start != NULL and own.length != NULL and own.hash != NULL


cdef void closed(Levels* own) noexcept nogil:
    free(own.slot)
    free(own.start)
    free(own.length)
    free(own.hash)


cdef bint widened(Levels* own) noexcept nogil:
    """Make room for four times as many texts."""
    cdef uint32_t slots = own.slots * 4, at
    cdef int32_t level
    cdef void* start = realloc(own.start, slots // 2 * sizeof(Py_ssize_t))
    if start != NULL:
        own.start = <Py_ssize_t*>start
    cdef void* length = realloc(own.length, slots // 2 * sizeof(int32_t))
    if length != NULL:
        own.length = <int32_t*>length
    cdef void* hash = realloc(own.hash, slots // 2 * sizeof(uint64_t))
    if hash != NULL:
        own.hash = <uint64_t*>hash
    cdef int32_t* slot = <int32_t*>calloc(slots, sizeof(int32_t))
    if start == NULL or length == NULL or hash == NULL or slot == NULL:
        free(slot)
        return False
    for level in range(own.held):
        at = <uint32_t>(own.hash[level] & (slots - 1))
        while slot[at]:
            at = (at + 1) & (slots - 1)
        slot[at] = level + 1
    free(own.slot)
    own.slot, own.slots = slot, slots
    return True


cdef inline int32_t level_of(Levels* own, const uint8_t* text, Py_ssize_t start,
                             Py_ssize_t length, uint64_t mine) noexcept nogil:
    """Return the number of a text, a new one if it was not met before; -1 if there are too many."""
    cdef uint32_t at = <uint32_t>(mine & (own.slots - 1))
    cdef int32_t level
    while own.slot[at]:
        level = own.slot[at] - 1
        if (own.hash[level] == mine and own.length[level] == length
                and (length <= 8 or memcmp(text + own.start[level], text + start, length) == 0)):
            return level
        at = (at + 1) & (own.slots - 1)
    level = own.held
    if level >= MOST_LEVELS:
        return -1
    own.slot[at] = level + 1
    own.start[level], own.length[level], own.hash[level] = start, <int32_t>length, mine
    own.held += 1
    if <uint32_t>own.held >= own.slots // 2 and not widened(own):
        return -1
    return level


cdef inline bint digit(uint8_t sign) noexcept nogil:
    return <uint8_t>(sign - 48) < 10


cdef bint slowly(const uint8_t* text, double* value) noexcept nogil:
    """Read a number that is not exact at once, as Python would."""
    cdef char* end
    with gil:
        try:
            value[0] = PyOS_string_to_double(<const char*>text, &end, NULL)
        except ValueError:
            return False
    return True


cdef inline bint in_one_step(uint64_t whole, int tens, double* value) noexcept nogil:
    """Write a whole number times a power of ten, if both are exact as doubles."""
    if whole >= <uint64_t>EXACT or not -22 <= tens <= 22:
        return False
    value[0] = <double>whole / TENS[-tens] if tens < 0 else <double>whole * TENS[tens]
    return True


cdef inline int leading_zeros(const uint8_t* text) noexcept nogil:
    """Return how many zeros stand before the first other digit of a number."""
    cdef int zeros = 0
    while text[0] == 48 or text[0] == 46 or text[0] == 45 or text[0] == 43:
        zeros += text[0] == 48
        text += 1
    return zeros


cdef inline bint nearest(uint64_t whole, int tens, double* value) noexcept nogil:
    """Write the double nearest to a whole number times a power of ten (Lemire 2021).

    128 bits of the power decide how the product is rounded; False where they might not.
    """
    cdef uint64_t high, low, more, bits
    cdef int zeros, top, exponent
    if whole == 0:
        value[0] = 0.0
        return True
    if not -MOST_POWER <= tens <= MOST_POWER:
        return False
    zeros = top_zeros(whole)
    whole <<= zeros
    high = high_product(whole, HIGH[tens + MOST_POWER])
    low = whole * HIGH[tens + MOST_POWER]
    if high & 0x1FF == 0x1FF:
        more = high_product(whole, LOW[tens + MOST_POWER])
        low += more
        high += low < more
    if low == 0xFFFFFFFFFFFFFFFFULL and not -27 <= tens <= 55:
        return False
    top = <int>(high >> 63)
    bits = high >> (top + 9)
    # 217706 / 2**16 is the logarithm of ten by two, exact enough for these powers.
    exponent = ((217706 * tens) >> 16) + 63 + 1023 + top - zeros
    if low <= 1 and -4 <= tens <= 23 and bits & 3 == 1 and bits << (top + 9) == high:
        bits -= 1  # just between two doubles: the even one
    bits = (bits + (bits & 1)) >> 1
    if bits == <uint64_t>1 << 53:
        bits >>= 1
        exponent += 1
    bits = (bits & ~(<uint64_t>1 << 52)) | <uint64_t>exponent << 52
    memcpy(value, &bits, 8)
    return True


cdef inline bint eight_digits(const uint8_t* text, uint64_t* whole) noexcept nogil:
    """Add eight digits to a whole number, if they are such."""
    cdef uint64_t word, high = EVERY * 0xF0
    memcpy(&word, text, 8)
    if (word & high) | ((word + EVERY * 6 & high) >> 4) != EVERY * 0x33:
        return False
    # Neighbors are put together: digits to pairs, pairs to fours, fours to eight.
    word -= EVERY * 48
    word = word * 10 + (word >> 8)
    word = ((word & 0x000000FF000000FFULL) * 0x000F424000000064ULL
            + (word >> 16 & 0x000000FF000000FFULL) * 0x0000271000000001ULL) >> 32
    whole[0] = whole[0] * 100000000 + word
    return True


cdef inline Py_ssize_t number(const uint8_t* text, Py_ssize_t at, Py_ssize_t size,
                              double* value) noexcept nogil:
    """Read a number and return where it ends, or -1 where this is none or a very large one."""
    cdef Py_ssize_t first, start = at
    cdef int digits, tens = 0, power = 0
    cdef uint64_t whole = 0
    cdef bint minus = text[at] == 45, under
    if minus or text[at] == 43:
        at += 1
    first = at
    while digit(text[at]):
        whole = whole * 10 + (text[at] - 48)
        at += 1
    digits = <int>(at - first)
    if text[at] == 46:
        at += 1
        first = at
        while LITTLE and at + 8 <= size and eight_digits(text + at, &whole):
            at += 8
        while digit(text[at]):
            whole = whole * 10 + (text[at] - 48)
            at += 1
        tens = <int>(first - at)
        digits -= tens
    if not digits or digits > 1000:
        return -1
    if text[at] | 32 == 101:
        at += 1
        under = text[at] == 45
        if under or text[at] == 43:
            at += 1
        if not digit(text[at]):
            return -1
        while digit(text[at]):
            power = power * 10 + (text[at] - 48)
            if power > 300:
                return -1
            at += 1
        tens += -power if under else power
    if digits > 19:
        digits -= leading_zeros(text + start)
    if digits < 20 and (
        in_one_step(whole, tens, value) or nearest(whole, tens, value)
    ):
        if minus:
            value[0] = -value[0]
    elif not slowly(text + start, value):
        return -1
    return at if -EXACT < value[0] < EXACT else -1


cdef struct Mark:
    const char* text
    Py_ssize_t length


cdef inline bint marked(const uint8_t* text, Py_ssize_t length, Mark* marks,
                        Py_ssize_t many) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(many):
        if marks[i].length == length and memcmp(marks[i].text, text, length) == 0:
            return True
    return False


cdef Py_ssize_t read_lines(const uint8_t* text, Py_ssize_t size, uint8_t separator,
                           const int8_t* kinds, Py_ssize_t columns, void** out, Levels* levels,
                           Mark* marks, Py_ssize_t many) noexcept nogil:
    """Fill the columns and return the number of rows; -1 where a line is not plain."""
    cdef uint8_t[256] stops
    cdef Py_ssize_t at = 0, row = 0, column, begin, end, tight
    cdef double value
    cdef int32_t level
    cdef uint64_t between = EVERY * separator, hash
    for column in range(256):
        stops[column] = column == separator or column == 10 or column == 13 or column == 0
    while at < size:
        if text[at] == 10:
            at += 1
            continue
        if text[at] == 13 and text[at + 1] == 10:
            at += 2
            continue
        for column in range(columns):
            begin = at
            if kinds[column] == AS_NUMBER:
                while text[at] == 32:
                    at += 1
                tight = at
                end = number(text, at, size, &value)
                at = end
                if end >= 0:
                    while text[at] == 32:
                        at += 1
                if end < 0 or not stops[text[at]]:
                    # No number: it may be a mark for a missing one.
                    at = tight
                    while not stops[text[at]]:
                        at += 1
                    end = at
                    while end > tight and text[end - 1] == 32:
                        end -= 1
                    if not marked(text + tight, end - tight, marks, many):
                        return -1
                    value = NAN
                (<double*>out[column])[row] = value
            else:
                at = cell_end(text, at, size, between, stops, &hash)
                if kinds[column] == AS_TEXT:
                    level = level_of(&levels[column], text, begin, at - begin, hash)
                    if level < 0:
                        return -2
                    (<int32_t*>out[column])[row] = level
            if column < columns - 1:
                if text[at] != separator:
                    return -1
                at += 1
        if text[at] == 13:
            at += 1
            if text[at] != 10:
                return -1
        if text[at] == 10:
            at += 1
        elif at < size:
            return -1
        row += 1
    return row


cdef Py_ssize_t count_lines(const uint8_t* text, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t i = 0, stop, lines = 0
    cdef uint8_t few
    while i < size:
        # In bytes over short runs, as in `look`.
        stop = min(size, i + 240)
        few = 0
        for i in range(i, stop):
            few += text[i] == 10
        i = stop
        lines += few
    return lines


def lines(bytes content, str separator, const int8_t[::1] kinds, list marks):
    """Read lines without quotes, NUL or a header into one column for each kind that is not skipped.

    Returns doubles for a number (NaN where a cell is one of the marks), codes and the texts they
    stand for in order of appearance for a text. Returns 0 if a line has too many or too few cells
    or one that is no plain number, and -1 if a column holds more texts than are kept apart.
    """
    cdef const uint8_t* text = content
    cdef Py_ssize_t size = len(content), columns = kinds.shape[0], column, many = len(marks)
    cdef Py_ssize_t room = count_lines(text, size) + 1, rows = -1
    cdef uint8_t between = ord(separator)
    cdef void** out = <void**>calloc(columns, sizeof(void*))
    cdef Levels* levels = <Levels*>calloc(columns, sizeof(Levels))
    cdef Mark* signs = <Mark*>calloc(many + 1, sizeof(Mark))
    cdef bint ready = out != NULL and levels != NULL and signs != NULL
    cdef double[::1] doubles
    cdef int32_t[::1] codes
    made = []
    try:
        for column in range(columns if ready else 0):
            if kinds[column] == AS_NUMBER:
                doubles = np.empty(room)
                made.append(doubles.base)
                out[column] = &doubles[0]
            elif kinds[column] == AS_TEXT:
                codes = np.empty(room, dtype=np.int32)
                made.append(codes.base)
                out[column] = &codes[0]
                ready = ready and opened(&levels[column])
        if not ready:
            raise MemoryError
        for column in range(many):
            signs[column].text = <const char*>(<bytes>marks[column])
            signs[column].length = len(marks[column])
        with nogil:
            rows = read_lines(text, size, between, &kinds[0], columns, out, levels, signs, many)
        if rows < 0:
            return rows + 1
        found = []
        for column in range(columns):
            if kinds[column] == AS_NUMBER:
                found.append(made[len(found)][:rows])
            elif kinds[column] == AS_TEXT:
                found.append((made[len(found)][:rows], texts(content, &levels[column])))
        return found
    finally:
        for column in range(columns if levels != NULL else 0):
            closed(&levels[column])
        free(out)
        free(levels)
        free(signs)


cdef tuple texts(bytes content, Levels* own):
    cdef int32_t level
    return tuple([
        content[own.start[level]:own.start[level] + own.length[level]].decode("utf-8")
        for level in range(own.held)
    ])
