# Votes of the nearest rows for many k at once: a list of neighbors is walked through once, and the
# votes of a larger k go on where those of a smaller one ended. The interpreter lock is released.
"""Compiled kernels: sum the votes of the k nearest rows, and find which k decide correctly."""

from libc.math cimport exp, isfinite, isnan, log
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

cdef enum:
    UNIFORM
    DISTANCE
    SQUARED
    RANK
    KERNEL
    OWN

#: A place counts as reached when so little is missing.
cdef double ALMOST = 1e-9
cdef double BUMP = exp(-0.5)
#: Posteriors that differ by less are equal: the first of them decides.
cdef double EQUAL = 1e-9
#: A little less than what would make a class equal to the one that decides, and how far that is
#: ahead of it at least: rounding does not decide.
cdef double KEPT = 0.999, AHEAD = 1 + 1e-15
#: The least probability whose logarithm is taken.
cdef double LEAST = 2.0 ** -52


cdef struct Line:
    # The list of one query, and room to work on it.
    Py_ssize_t size, width, columns
    const int64_t* who
    const double* far
    const double* edge
    const double* ballots
    const int64_t* label    # the class a row votes for, or NULL where ballots are all there is
    const double* places
    const double* own       # what each neighbor's vote weighs, where a function says so
    double at_reach         # and of those at the reach
    double same
    double* taken           # places up to and with each neighbor
    double* start           # where the places of its equals begin
    double* stop            # and end
    double* inner           # ballots of those who are nearer than the reach
    double* tied            # ballots of those at the reach


cdef inline double inverse(double nearest, double far, int scheme) noexcept nogil:
    """1/d or 1/d², relative to the nearest; rows at distance 0 alone vote where there are any."""
    cdef double ratio
    if not far > 0:
        return 1.0
    ratio = nearest / far
    if isnan(ratio):  # all rows are infinitely far: none is nearer
        return 1.0
    return ratio if scheme == DISTANCE else ratio * ratio


cdef inline double bump(double far, double reach) noexcept nogil:
    cdef double ratio = 0.0
    if reach > 0:
        ratio = far / reach
        if not isfinite(ratio):
            ratio = 1.0
    return exp(-0.5 * (ratio * ratio))


cdef inline double steps(double start, double stop, double k) noexcept nogil:
    """Return the mean weight of the places from start to stop: the first weighs k, the next k - 1, …"""
    if not stop - start > 0:
        return 1.0
    return ((k * stop - stop * (stop - 1.0) / 2.0)
            - (k * start - start * (start - 1.0) / 2.0)) / (stop - start)


cdef void ranked(Line* line) noexcept nogil:
    """Places of equals begin with the first of them and end with the last."""
    cdef Py_ssize_t j
    cdef double most = 1.0 + line.same
    for j in range(line.size):
        line.stop[j] = line.taken[j]
        line.start[j] = line.taken[j] - line.places[line.who[j]]
        if j and line.far[j] <= line.far[j - 1] * most:
            line.start[j] = line.start[j - 1]
    for j in range(line.size - 2, -1, -1):
        if line.far[j + 1] <= line.far[j] * most:
            line.stop[j] = line.stop[j + 1]


cdef inline void add(double* sums, Line* line, int64_t row, double value) noexcept nogil:
    cdef Py_ssize_t c
    if line.label != NULL:
        sums += line.label[row] * line.columns
    for c in range(line.columns):
        sums[c] += value * line.ballots[row * line.columns + c]


cdef inline double weight_of(Line* line, Py_ssize_t j, double reach, double k,
                             int scheme) noexcept nogil:
    """Return the weight of the vote of a neighbor nearer than the reach."""
    if scheme == UNIFORM:
        return 1.0
    if scheme == RANK:
        return steps(line.start[j], line.stop[j], k)
    if scheme == KERNEL:
        return bump(line.far[j], reach)
    if scheme == OWN:
        return line.own[j]
    return inverse(line.far[0], line.far[j], scheme)


cdef inline double weight_at(Line* line, double reach, double inside, double equals, double k,
                             int scheme) noexcept nogil:
    """Return the weight of the vote of a neighbor at the reach."""
    if scheme == UNIFORM:
        return 1.0
    if scheme == RANK:
        return steps(inside, inside + min(equals, k - inside), k)
    if scheme == KERNEL:
        return BUMP
    if scheme == OWN:
        return line.at_reach
    return inverse(line.far[0], reach, scheme)


cdef void walk(Line* line, const double* ks, Py_ssize_t many, int scheme,
               double* votes) noexcept nogil:
    """Sum up the ballots for every k, in ascending order; votes holds one line of sums a k."""
    cdef Py_ssize_t j, c, i, at = 0, nearer = 0, tied = 0, held = 0, first = -1, last = -1
    cdef Py_ssize_t size = line.size, width = line.width
    cdef double reach, low, high, inside, equals = 0.0, left, share, say, k
    # Weights that do not depend on k need not be summed up anew.
    cdef bint steady = scheme == UNIFORM or scheme == DISTANCE or scheme == SQUARED
    cdef double total = 0.0
    cdef double* into
    for j in range(size):
        total += line.places[line.who[j]]
        line.taken[j] = total
    if scheme == RANK:
        ranked(line)
    for c in range(width):
        line.inner[c] = 0.0
    for i in range(many):
        k = ks[i]
        # The place at which k is reached; lists that are too short end with their last row.
        while at < size - 1 and line.taken[at] < k - ALMOST:
            at += 1
        reach = line.far[at]
        into = votes + i * width
        if isnan(reach):  # no distance, so no row is as near
            for c in range(width):
                into[c] = 0.0
            continue
        low, high = reach * (1.0 - line.same), reach * (1.0 + line.same)
        while nearer < size and line.far[nearer] < low:
            nearer += 1
        tied = max(tied, nearer)
        while tied < size and line.far[tied] <= high:
            tied += 1
        if not steady:
            held = 0
            for c in range(width):
                line.inner[c] = 0.0
        while held < nearer:
            add(line.inner, line, line.who[held], weight_of(line, held, reach, k, scheme))
            held += 1
        if first != nearer or last != tied:
            first, last = nearer, tied
            equals = summed(line, first, last)
        inside = line.taken[nearer - 1] if nearer else 0.0
        left = max(k - inside, 0.0)
        share = 0.0
        if equals > 0:
            share = left / equals if left < equals else 1.0
        if scheme == UNIFORM and share < 1.0 and equals > 0:
            # One division, at the end: whole votes that are equal stay equal to the last bit.
            for c in range(width):
                into[c] = (line.inner[c] * equals + left * line.tied[c]) / equals
            continue
        say = share * weight_at(line, reach, inside, equals, k, scheme)
        for c in range(width):
            into[c] = line.inner[c] + say * line.tied[c]


cdef double summed(Line* line, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    """Sum up the ballots of equals, those beyond the list included; return their places."""
    cdef Py_ssize_t c, j, width = line.width
    cdef double equals = 0.0
    # Where the list ended among equals, all of them are known by their sum.
    if first < last == line.size and not isnan(line.edge[width]):
        for c in range(width):
            line.tied[c] = line.edge[c]
        return line.edge[width]
    for c in range(width):
        line.tied[c] = 0.0
    for j in range(first, last):
        add(line.tied, line, line.who[j], 1.0)
        equals += line.places[line.who[j]]
    return equals


cdef inline double shared(double* votes, Py_ssize_t width) noexcept nogil:
    """Divide votes by their sum, unless they have none; return the sum."""
    cdef Py_ssize_t c
    cdef double total = 0.0
    for c in range(width):
        total += votes[c]
    if total > 0:
        for c in range(width):
            votes[c] /= total
    return total


cdef inline void smooth(double* votes, const double* prior, Py_ssize_t width, double k,
                        double imagined) noexcept nogil:
    """Add imagined votes, spread like the prior, to the fractions of k votes.

    Those beyond the first are evened out as far as they would change the decision.
    """
    cdef Py_ssize_t c, best = 0
    cdef double top = -1.0, kept = 1.0, first = min(imagined, 1.0), lead, gain, more, second = 0.0
    for c in range(width):
        votes[c] = (k * votes[c] + first * prior[c]) / (k + first)
        top = max(top, votes[c])
    while votes[best] < top - EQUAL:
        best += 1
    if imagined > first:
        more = (imagined - first) / (k + first)
        for c in range(width):
            gain = more * (prior[c] - prior[best])
            if gain > 0:
                lead = votes[best] - votes[c] if votes[c] < top - EQUAL else 0.0
                kept = min(kept, KEPT * lead / gain)
        for c in range(width):
            votes[c] += more * (kept * prior[c] + (1.0 - kept) / width)
            votes[c] *= (k + first) / (k + imagined)
    for c in range(width):
        if c != best:
            second = max(second, votes[c])
    if votes[best] < AHEAD * second:
        lead = AHEAD * second - votes[best]
        votes[best] += lead
        for c in range(width):
            votes[c] /= 1.0 + lead


def smooth_all(double[:, ::1] fractions, const double[::1] prior, double k, double imagined):
    """Add imagined votes, spread like the prior, to each line of fractions of k votes, in place."""
    cdef Py_ssize_t line, width = fractions.shape[1]
    if prior.shape[0] != width:
        raise ValueError("there must be one prior a class")
    with nogil:
        for line in range(fractions.shape[0]):
            if width:
                smooth(&fractions[line, 0], &prior[0], width, k, imagined)


def shares(double[:, ::1] votes):
    """Divide each line of votes by its sum, in place; lines without a vote stay as they are."""
    cdef Py_ssize_t line
    if not votes.shape[1]:
        return
    with nogil:
        for line in range(votes.shape[0]):
            shared(&votes[line, 0], votes.shape[1])


cdef bint among(const int64_t[:, ::1] who, Py_ssize_t rows) noexcept nogil:
    cdef Py_ssize_t i, j
    for i in range(who.shape[0]):
        for j in range(who.shape[1]):
            if not 0 <= who[i, j] < rows:
                return False
    return True


cdef bint labelled(const int64_t[:, ::1] who, const int64_t[::1] label,
                   Py_ssize_t classes) noexcept nogil:
    cdef Py_ssize_t i, j
    for i in range(who.shape[0]):
        for j in range(who.shape[1]):
            if not 0 <= label[who[i, j]] < classes:
                return False
    return True


cdef class Poll:
    """Lists of neighbors with what they vote for, checked once for all blocks."""

    cdef const int64_t[:, ::1] who
    cdef const double[:, ::1] far
    cdef const double[:, ::1] edge
    cdef const double[:, ::1] ballots
    cdef const int64_t[::1] label
    cdef const double[::1] places
    cdef const double[::1] ks
    cdef const double[:, ::1] own
    cdef const double[::1] at_reach
    cdef int scheme
    cdef double same
    cdef readonly Py_ssize_t queries, width

    def __init__(self, const int64_t[:, ::1] who, const double[:, ::1] far,
                 const double[:, ::1] edge, const double[:, ::1] ballots,
                 const double[::1] places, const double[::1] ks, int scheme, double same,
                 const int64_t[::1] label=None, Py_ssize_t classes=1,
                 const double[:, ::1] own=None, const double[::1] at_reach=None):
        cdef Py_ssize_t i, rows = ballots.shape[0]
        self.queries, self.width = who.shape[0], ballots.shape[1] * classes
        if far.shape[0] != self.queries or edge.shape[0] != self.queries:
            raise ValueError("there must be one list a query")
        if far.shape[1] != who.shape[1] or edge.shape[1] != self.width + 1 or not who.shape[1]:
            raise ValueError("there must be one distance a neighbor, and one sum a ballot")
        if places.shape[0] != rows or not self.width or not UNIFORM <= scheme <= OWN:
            raise ValueError("there must be one ballot and some places a row")
        if label is None and classes != 1:
            raise ValueError("votes for classes need the class of each row")
        for i in range(1, ks.shape[0]):
            if not ks[i - 1] <= ks[i]:
                raise ValueError("k must ascend")
        if scheme == OWN and (
            own is None or at_reach is None or ks.shape[0] != 1
            or own.shape[0] != self.queries or own.shape[1] != who.shape[1]
            or at_reach.shape[0] != self.queries
        ):
            raise ValueError("a function's weights are those of one k, one a neighbor")
        if not among(who, rows):
            raise ValueError("neighbors must be rows that vote")
        if label is not None and (label.shape[0] != rows or not labelled(who, label, classes)):
            raise ValueError("there must be one of the classes a row")
        self.who, self.far, self.edge = who, far, edge
        self.ballots, self.places, self.ks, self.label = ballots, places, ks, label
        self.own, self.at_reach = own, at_reach
        self.scheme, self.same = scheme, same

    cdef double* room(self, Line* line) except NULL:
        """Room to work on one list; the line begins to know what all lists share."""
        cdef Py_ssize_t size = self.who.shape[1]
        cdef double* made = <double*> malloc((3 * size + 2 * self.width) * sizeof(double))
        if made == NULL:
            raise MemoryError()
        line.size, line.width, line.same = size, self.width, self.same
        line.ballots, line.places = &self.ballots[0, 0], &self.places[0]
        line.columns = self.ballots.shape[1]
        line.label = NULL
        if self.label is not None:
            line.label = &self.label[0]
        line.taken, line.start, line.stop = made, made + size, made + 2 * size
        line.inner = made + 3 * size
        line.tied = line.inner + self.width
        line.own, line.at_reach = NULL, 0.0
        return made

    cdef void turn_to(self, Line* line, Py_ssize_t query) noexcept nogil:
        line.who, line.far = &self.who[query, 0], &self.far[query, 0]
        line.edge = &self.edge[query, 0]
        if self.scheme == OWN:
            line.own, line.at_reach = &self.own[query, 0], self.at_reach[query]

    def sums(self, Py_ssize_t start, Py_ssize_t stop, double[:, :, ::1] votes):
        """Fill in the sums of ballots of the queries from start to stop: query, k, ballot."""
        cdef Line line
        cdef Py_ssize_t query, many = self.ks.shape[0]
        cdef double* made
        if votes.shape[0] != self.queries or votes.shape[1] != many or not many:
            raise ValueError("there must be one line of sums a query and k")
        if votes.shape[2] != self.width or not 0 <= start <= stop <= self.queries:
            raise ValueError("there must be one sum a ballot")
        if start == stop:
            return
        made = self.room(&line)
        with nogil:
            for query in range(start, stop):
                self.turn_to(&line, query)
                walk(&line, &self.ks[0], many, self.scheme, &votes[query, 0, 0])
            free(made)

    def verdicts(self, Py_ssize_t start, Py_ssize_t stop, const int64_t[::1] truth,
                 const double[::1] weight, const double[::1] total, const double[::1] without,
                 double imagined, double[::1] right, double[::1] hoped, double[::1] lost):
        """Add up, for every k, the weight decided right, the shares of the true classes and the
        log loss. Imagined votes are spread like the total weights of the classes, each query taken
        out of its class by so much weight; queries whose class is then empty lose nothing."""
        cdef Line line
        cdef Py_ssize_t query, i, c, best, many = self.ks.shape[0], width = self.width
        cdef bint silent
        cdef double top, share, left, whole = 0.0
        cdef double* made
        cdef double* votes
        cdef double* plain
        cdef double* prior
        if truth.shape[0] != self.queries or weight.shape[0] != self.queries or not many:
            raise ValueError("there must be one class and one weight a query")
        if right.shape[0] != many or hoped.shape[0] != many or lost.shape[0] != many:
            raise ValueError("there must be one sum a k")
        if total.shape[0] != width or without.shape[0] != self.queries:
            raise ValueError("there must be one weight a class, and one to leave out a query")
        for c in range(width):
            whole += total[c]
        if not 0 <= start <= stop <= self.queries:
            raise ValueError("there must be a list for each query")
        for query in range(start, stop):
            if not 0 <= truth[query] < width:
                raise ValueError("a true class must be one that is voted for")
        if start == stop:
            return
        votes = <double*> malloc((2 * many + 1) * width * sizeof(double))
        if votes == NULL:
            raise MemoryError()
        plain = votes + many * width
        prior = plain + many * width
        try:
            made = self.room(&line)
            with nogil:
                for query in range(start, stop):
                    self.turn_to(&line, query)
                    walk(&line, &self.ks[0], many, self.scheme, votes)
                    silent = False
                    left = whole - without[query]
                    for c in range(width):
                        share = total[c] - (without[query] if c == truth[query] else 0.0)
                        prior[c] = share / left if left > 0 and share > ALMOST * total[c] else 0.0
                    for i in range(many):
                        if not shared(votes + i * width, width) > 0:
                            if not silent:
                                walk(&line, &self.ks[0], many, UNIFORM, plain)
                                silent = True
                            # No vote weighs anything: all neighbors count alike.
                            for c in range(width):
                                votes[i * width + c] = plain[i * width + c]
                            shared(votes + i * width, width)
                        if imagined > 0 and left > 0:
                            smooth(votes + i * width, prior, width, self.ks[i], imagined)
                        best, top = 0, votes[i * width]
                        for c in range(1, width):
                            best = c if votes[i * width + c] > top else best
                            top = max(top, votes[i * width + c])
                        # A product, not a branch: a branch could not be predicted.
                        right[i] += weight[query] * (best == truth[query])
                        hoped[i] += weight[query] * votes[i * width + truth[query]]
                        if prior[truth[query]] > 0:
                            share = max(votes[i * width + truth[query]], LEAST)
                            lost[i] -= weight[query] * log(share)
                free(made)
        finally:
            free(votes)


def reaches(const int64_t[:, ::1] who, const double[:, ::1] far, const double[::1] places,
            double k, double[::1] reach):
    """Fill in how far the neighbor is at which k places are taken, or the last one."""
    cdef Py_ssize_t query, at, size = who.shape[1]
    cdef double taken
    if far.shape[0] != who.shape[0] or far.shape[1] != size or not size:
        raise ValueError("there must be one distance a neighbor")
    if reach.shape[0] != who.shape[0] or not among(who, places.shape[0]):
        raise ValueError("there must be one reach a query, and neighbors must be rows that vote")
    with nogil:
        for query in range(who.shape[0]):
            at = 0
            taken = places[who[query, 0]]
            while at < size - 1 and taken < k - ALMOST:
                at += 1
                taken += places[who[query, at]]
            reach[query] = far[query, at]
