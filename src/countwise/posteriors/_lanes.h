/* Distances of one row to 64 others at a time, in single precision, and of one pair in double.

   Rows are kept in tiles of 64, axis by axis, so that a compiler turns each loop below into vector
   instructions. The single figures only decide which pairs are worth the double one; how far they
   can be off is bounded where the limit is computed (search.py). */
#ifndef COUNTWISE_LANES_H
#define COUNTWISE_LANES_H

#include <math.h>
#include <stdint.h>

#define LANES 64
/* What an axis compares: numbers, numbers some of which are missing (NaN), whether codes differ,
   codes by a table of distances. */
#define NUMBER 0
#define HOLES 1
#define DIFFERS 2
#define TABLE 3
#define MAXIMUM 1000

#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__)
#define CLONES __attribute__((target_clones("arch=haswell", "default")))
#else
#define CLONES
#endif
/* What a clone calls must become part of it, or it would run as plain code. */
#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

/* The space as the kernels see it: one entry an axis. */
typedef struct {
    int axes;
    int power;             /* p as a whole number, twice p negated where that is whole, 0, MAXIMUM */
    double p;
    int ignore;            /* missing cells are left out and the rest rescaled */
    double total;          /* mass of all axes */
    const signed char *kind;
    const float *far;      /* to the power p, in units of the tiles */
    const float *mass;
    const double *stretch;
    const double *exact_far;  /* not raised */
    const double *exact_mass;
    const double *const *table;  /* raised tables, row-major */
    const float *const *narrow;  /* the same in units of the tiles */
    const int *width;
} Space;

static inline double raised(double t, int power, double p) {
    double made = t;
    int step;
    if (power == MAXIMUM || power == 1) return t;
    if (power == 2) return t * t;
    if (power == 0) return pow(t, p);
    if (power < 0) {
        made = sqrt(t);
        for (step = 1; step < -power; step += 2) made *= t;
        return made;
    }
    for (step = 1; step < power; step++) made *= t;
    return made;
}

/* The distance of a pair, raised to p and not rooted: axes in order, in double throughout. */
static double exact_pair(const Space *s, const double *const *columns, const float *tiles,
                         int64_t row, const double *const *asked, const int32_t *codes,
                         int64_t query) {
    double sum = 0.0, present = 0.0, term;
    const float *lane = tiles + (row / LANES) * (int64_t)s->axes * LANES + row % LANES;
    const int32_t *own = codes + query * s->axes;
    int axis;
    for (axis = 0; axis < s->axes; axis++) {
        int known = 1;
        if (s->kind[axis] <= HOLES) {
            double gap = fabs(columns[axis][row] - asked[axis][query]) * s->stretch[axis];
            known = gap == gap;
            term = raised(known ? gap : s->exact_far[axis], s->power, s->p);
        } else {
            int code = (int)lane[(int64_t)axis * LANES], width = s->width[axis];
            known = code != width - 2 && own[axis] != width - 2;
            if (s->kind[axis] == TABLE)
                term = s->table[axis][(int64_t)own[axis] * width + code];
            else if (!known)
                term = raised(s->exact_far[axis], s->power, s->p);
            else
                term = code == own[axis] ? 0.0 : raised(s->stretch[axis], s->power, s->p);
        }
        if (s->ignore) {
            if (!known) continue;
            present += s->exact_mass[axis];
        }
        if (s->power == MAXIMUM) sum = term > sum ? term : sum;
        else sum += term;
    }
    if (s->ignore && s->power != MAXIMUM) return present > 0.0 ? sum * (s->total / present) : INFINITY;
    if (s->ignore && present <= 0.0) return INFINITY;
    return sum;
}

#define EACH for (b = 0; b < LANES; b++)

/* Raise the gaps of one axis to p. */
INLINE void raise(float *gap, int power, float p) {
    int b, step;
    float own[LANES];
    if (power == MAXIMUM || power == 1) return;
    if (power == 2) { EACH gap[b] *= gap[b]; return; }
    if (power == 0) { EACH gap[b] = powf(gap[b], p); return; }
    EACH own[b] = gap[b];
    if (power < 0) {
        EACH gap[b] = sqrtf(gap[b]);
        for (step = 1; step < -power; step += 2) EACH gap[b] *= own[b];
        return;
    }
    for (step = 1; step < power; step++) EACH gap[b] *= own[b];
}

INLINE float least(const float *sum) {
    float low[8];
    int b, g;
    for (b = 0; b < 8; b++) low[b] = sum[b];
    for (g = 8; g < LANES; g += 8)
        for (b = 0; b < 8; b++) low[b] = sum[g + b] < low[b] ? sum[g + b] : low[b];
    for (b = 1; b < 8; b++) low[0] = low[b] < low[0] ? low[b] : low[0];
    return low[0];
}

/* Four axes of numbers at once: the running sums are loaded and stored once for the four. */
INLINE void four(const float *x, const float *q, int power, float *sum) {
    int b;
    if (power == 2) {
        EACH {
            float g0 = x[b] - q[0], g1 = x[b + LANES] - q[1];
            float g2 = x[b + 2 * LANES] - q[2], g3 = x[b + 3 * LANES] - q[3];
            sum[b] += (g0 * g0 + g1 * g1) + (g2 * g2 + g3 * g3);
        }
    } else if (power == 1) {
        EACH {
            float g0 = fabsf(x[b] - q[0]), g1 = fabsf(x[b + LANES] - q[1]);
            float g2 = fabsf(x[b + 2 * LANES] - q[2]), g3 = fabsf(x[b + 3 * LANES] - q[3]);
            sum[b] += (g0 + g1) + (g2 + g3);
        }
    } else if (power == 3) {
        EACH {
            float g0 = fabsf(x[b] - q[0]), g1 = fabsf(x[b + LANES] - q[1]);
            float g2 = fabsf(x[b + 2 * LANES] - q[2]), g3 = fabsf(x[b + 3 * LANES] - q[3]);
            sum[b] += (g0 * g0 * g0 + g1 * g1 * g1) + (g2 * g2 * g2 + g3 * g3 * g3);
        }
    } else {
        EACH {
            float g0 = fabsf(x[b] - q[0]), g1 = fabsf(x[b + LANES] - q[1]);
            float g2 = fabsf(x[b + 2 * LANES] - q[2]), g3 = fabsf(x[b + 3 * LANES] - q[3]);
            g0 = g0 > g1 ? g0 : g1;
            g2 = g2 > g3 ? g2 : g3;
            g0 = g0 > g2 ? g0 : g2;
            sum[b] = sum[b] > g0 ? sum[b] : g0;
        }
    }
}

/* One axis of numbers. */
INLINE void one(const float *x, float q, int power, float *sum) {
    int b;
    if (power == 2) EACH { float g = x[b] - q; sum[b] += g * g; }
    else if (power == 1) EACH sum[b] += fabsf(x[b] - q);
    else if (power == 3) EACH { float g = fabsf(x[b] - q); sum[b] += g * g * g; }
    else EACH { float g = fabsf(x[b] - q); sum[b] = sum[b] > g ? sum[b] : g; }
}

/* Sum up one tile; 0 when every lane is beyond the limit, and then the sums may be partial. */
CLONES
static int tile_sums(const Space *s, const float *tile, const float *q, const int32_t *codes,
                     float limit, float *sum) {
    int axis = 0, b, since = 0;
    float gap[LANES], present[LANES];
    const int quick = s->power == 1 || s->power == 2 || s->power == 3 || s->power == MAXIMUM;
    EACH sum[b] = 0.0f;
    if (s->ignore) EACH present[b] = 0.0f;
    while (axis < s->axes) {
        const float *x = tile + (int64_t)axis * LANES;
        const int kind = s->kind[axis];
        if (quick && !s->ignore && axis + 3 < s->axes && kind == NUMBER &&
            s->kind[axis + 1] == NUMBER && s->kind[axis + 2] == NUMBER &&
            s->kind[axis + 3] == NUMBER) {
            four(x, q + axis, s->power, sum);
            axis += 4;
            since += 4;
        } else if (quick && !s->ignore && kind == NUMBER) {
            one(x, q[axis], s->power, sum);
            axis++;
            since++;
        } else {
            const float own = q[axis], far = s->far[axis], mass = s->mass[axis];
            const int code = codes[axis], blank = s->width[axis] - 2;
            if (kind <= HOLES) {
                if (own != own && s->ignore) { axis++; continue; }
                EACH gap[b] = fabsf(x[b] - own);
                if (kind == HOLES || own != own) {
                    if (s->ignore) {
                        EACH present[b] += x[b] == x[b] ? mass : 0.0f;
                        EACH gap[b] = x[b] == x[b] ? gap[b] : 0.0f;
                        raise(gap, s->power, (float)s->p);
                    } else {
                        raise(gap, s->power, (float)s->p);
                        EACH gap[b] = gap[b] == gap[b] ? gap[b] : far;
                    }
                } else {
                    if (s->ignore) EACH present[b] += mass;
                    raise(gap, s->power, (float)s->p);
                }
            } else if (s->ignore && code == blank) {
                axis++;
                continue;
            } else if (kind == DIFFERS) {
                const float width = (float)blank;
                if (s->ignore) {
                    EACH present[b] += x[b] != width ? mass : 0.0f;
                    EACH gap[b] = (x[b] != own) & (x[b] != width) ? far : 0.0f;
                } else if (code == blank) {
                    EACH gap[b] = far;
                } else {
                    EACH gap[b] = x[b] != own ? far : 0.0f;
                }
            } else {
                const float *line = s->narrow[axis] + (int64_t)code * s->width[axis];
                EACH gap[b] = line[(int)x[b]];
                if (s->ignore) {
                    const float width = (float)blank;
                    EACH present[b] += x[b] != width ? mass : 0.0f;
                    EACH gap[b] = x[b] != width ? gap[b] : 0.0f;
                }
            }
            if (s->power == MAXIMUM) EACH sum[b] = sum[b] > gap[b] ? sum[b] : gap[b];
            else EACH sum[b] += gap[b];
            axis++;
            since++;
        }
        /* What is left can only add: rows beyond the limit already stay beyond it. */
        if (since >= 8 && axis < s->axes) {
            since = 0;
            if (least(sum) > limit) return 0;
        }
    }
    if (s->ignore) {
        const float total = (float)s->total;
        if (s->power == MAXIMUM) EACH sum[b] = present[b] > 0.0f ? sum[b] : INFINITY;
        else EACH sum[b] = present[b] > 0.0f ? sum[b] * (total / present[b]) : INFINITY;
    }
    return least(sum) <= limit;
}

#endif
