/* Distances of one row to 64 others at a time, in single precision, and of one pair in double.

   Rows are kept in tiles of 64, axis by axis, so that a compiler turns each loop below into vector
   instructions. Single precision only decides which pairs are worth double precision; its
   error is bounded where the limit is computed (search.py). */
#ifndef COUNTWISE_LANES_H
#define COUNTWISE_LANES_H

#include <math.h>
#include <stdint.h>

#define LANES 64
/* Kinds of axes: numbers, numbers some of which are missing (NaN), codes that are equal or not,
   codes with a table of distances. */
#define NUMBER 0
#define HOLES 1
#define DIFFERS 2
#define TABLE 3
#define MAXIMUM 1000

#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__)
#define CLONES __attribute__((target_clones("avx2", "default")))
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
    double p;              /* with MAXIMUM: 0, or a p so steep that the largest gap is the sieve */
    int ignore;            /* missing cells are left out and the rest rescaled */
    double total;          /* mass of all axes */
    const signed char *kind;
    const float *far;      /* to the power p, in units of the tiles */
    const float *mass;     /* fractions of the total, see `_to_fractions` in search.py */
    const double *stretch;
    const double *exact_far;  /* not raised */
    const double *exact_mass;
    const double *const *table;  /* raised tables, row-major */
    const float *const *narrow;  /* the same in units of the tiles */
    const int *width;
    /* Of a query with a space of its own; NULL where queries share one. */
    const double *grow;    /* by what the tables are multiplied, raised to p */
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

/* The distance of a pair, raised to p and not rooted: axes in order, in double throughout. With a
   steep p the powers would leave the range of doubles, so they are taken of fractions of the
   largest gap, and the result is the distance itself. */
static double exact_pair(const Space *s, const double *const *columns, const float *tiles,
                         int64_t row, const double *const *asked, const int32_t *codes,
                         int64_t query) {
    double sum = 0.0, present = 0.0, top = 0.0, term;
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
            if (!known && s->ignore) continue;
            if (s->kind[axis] == TABLE) {
                term = s->table[axis][(int64_t)own[axis] * width + code];
                if (s->grow) term *= s->grow[axis];
            } else if (!known)
                term = raised(s->exact_far[axis], s->power, s->p);
            else
                term = code == own[axis] ? 0.0 : raised(s->stretch[axis], s->power, s->p);
        }
        if (s->ignore) {
            if (!known) continue;
            present += s->exact_mass[axis];
        }
        if (s->power != MAXIMUM) {
            sum += term;
        } else if (term > top) {
            if (s->p > 0.0) sum = 1.0 + sum * pow(top / term, s->p);
            top = term;
        } else if (s->p > 0.0 && term > 0.0) {
            sum += pow(term / top, s->p);
        }
    }
    if (s->power == MAXIMUM) {
        if (s->ignore && present <= 0.0) return INFINITY;
        if (s->p <= 0.0 || top <= 0.0) return top;
        return top * pow(s->ignore ? sum * (s->total / present) : sum, 1.0 / s->p);
    }
    if (s->ignore) return present > 0.0 ? sum * (s->total / present) : INFINITY;
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
                    EACH gap[b] = ((x[b] != own) & (x[b] != width)) ? far : 0.0f;
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
        if (s->power == MAXIMUM) EACH sum[b] = present[b] > 0.0f ? sum[b] : INFINITY;
        else EACH sum[b] = present[b] > 0.0f ? sum[b] / present[b] : INFINITY;
    }
    return least(sum) <= limit;
}

/* Several queries against one tile.

   Rows of a tile are loaded once for four queries, and the running sums of sixteen rows stay in
   registers over all axes. Missing cells that are left out, powers that are no whole numbers and
   other processors go the way above, one query at a time. */
#define SEVERAL 4
#define FEW 8              /* levels whose line of distances fits a register, */
#define SOME 16            /* or two */

/* Queries as `several_sums` reads them: axis by axis four numbers (codes as numbers, NaN where
   everything differs), and four lines of a table. */
typedef struct {
    float number[SEVERAL];
    float line[SEVERAL][SOME];
    const float *wide[SEVERAL];  /* lines of more levels, where they are kept */
} Packed;

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define WIDE __attribute__((target("avx2,fma")))
#define WIDE_INLINE static inline __attribute__((always_inline, target("avx2,fma")))

/* A gap raised to a whole power; the second needs no sign taken off. */
WIDE_INLINE __m256 gap_raised(__m256 x, __m256 own, const int power) {
    __m256 gap = _mm256_sub_ps(x, own), made;
    int step;
    if (power == 2) return _mm256_mul_ps(gap, gap);
    gap = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), gap);
    if (power == 1 || power == MAXIMUM) return gap;
    made = _mm256_mul_ps(gap, gap);
    for (step = 2; step < power; step++) made = _mm256_mul_ps(made, gap);
    return made;
}

WIDE_INLINE __m256 with(__m256 sum, __m256 term, const int power) {
    return power == MAXIMUM ? _mm256_max_ps(sum, term) : _mm256_add_ps(sum, term);
}

WIDE_INLINE __m256 with_gap(__m256 sum, __m256 x, __m256 own, const int power) {
    if (power == 2) {
        const __m256 gap = _mm256_sub_ps(x, own);
        return _mm256_fmadd_ps(gap, gap, sum);
    }
    return with(sum, gap_raised(x, own, power), power);
}

WIDE_INLINE __m256 or_far(__m256 gap, __m256 far) {
    return _mm256_blendv_ps(gap, far, _mm256_cmp_ps(gap, gap, _CMP_UNORD_Q));
}

/* Eight figures of a line in two registers: the fourth bit of a code says of which. */
WIDE_INLINE __m256 of_two(const float *line, __m256i code) {
    const __m256 few = _mm256_permutevar8x32_ps(_mm256_loadu_ps(line), code);
    const __m256 more = _mm256_permutevar8x32_ps(_mm256_loadu_ps(line + FEW), code);
    return _mm256_blendv_ps(few, more, _mm256_castsi256_ps(_mm256_slli_epi32(code, 28)));
}

WIDE_INLINE int within(__m256 low, __m256 high, float limit) {
    return _mm256_movemask_ps(_mm256_cmp_ps(_mm256_min_ps(low, high), _mm256_set1_ps(limit),
                                            _CMP_LE_OQ)) != 0;
}

/* The sums of a tile for four queries; which of them have a row within their limit. */
WIDE_INLINE int several_of(const Space *s, const float *tile, const Packed *asked,
                           const float *limit, float sums[SEVERAL][LANES], const int power) {
    int lane, axis, i, which = 0;
    for (lane = 0; lane < LANES; lane += 16) {
        const float *x = tile + lane;
        __m256 low[SEVERAL], high[SEVERAL];
        int since = 0, gone = 0;
        for (i = 0; i < SEVERAL; i++) low[i] = high[i] = _mm256_setzero_ps();
        for (axis = 0; axis < s->axes; axis++, x += LANES) {
            const Packed *own = asked + axis;
            const __m256 a = _mm256_loadu_ps(x), b = _mm256_loadu_ps(x + 8);
            const int kind = s->kind[axis];
            if (kind == NUMBER) {
                for (i = 0; i < SEVERAL; i++) {
                    const __m256 q = _mm256_broadcast_ss(own->number + i);
                    low[i] = with_gap(low[i], a, q, power);
                    high[i] = with_gap(high[i], b, q, power);
                }
            } else if (kind == HOLES) {
                const __m256 far = _mm256_set1_ps(s->far[axis]);
                for (i = 0; i < SEVERAL; i++) {
                    const __m256 q = _mm256_broadcast_ss(own->number + i);
                    low[i] = with(low[i], or_far(gap_raised(a, q, power), far), power);
                    high[i] = with(high[i], or_far(gap_raised(b, q, power), far), power);
                }
            } else if (kind == DIFFERS) {
                const __m256 far = _mm256_set1_ps(s->far[axis]);
                for (i = 0; i < SEVERAL; i++) {
                    const __m256 q = _mm256_broadcast_ss(own->number + i);
                    const __m256 c = _mm256_cmp_ps(a, q, _CMP_NEQ_UQ);
                    const __m256 d = _mm256_cmp_ps(b, q, _CMP_NEQ_UQ);
                    low[i] = with(low[i], _mm256_and_ps(c, far), power);
                    high[i] = with(high[i], _mm256_and_ps(d, far), power);
                }
            } else if (s->width[axis] > SOME) {
                const __m256i c = _mm256_cvttps_epi32(a), d = _mm256_cvttps_epi32(b);
                for (i = 0; i < SEVERAL; i++) {
                    low[i] = with(low[i], _mm256_i32gather_ps(own->wide[i], c, 4), power);
                    high[i] = with(high[i], _mm256_i32gather_ps(own->wide[i], d, 4), power);
                }
            } else if (s->width[axis] > FEW) {
                const __m256i c = _mm256_cvttps_epi32(a), d = _mm256_cvttps_epi32(b);
                for (i = 0; i < SEVERAL; i++) {
                    low[i] = with(low[i], of_two(own->line[i], c), power);
                    high[i] = with(high[i], of_two(own->line[i], d), power);
                }
            } else {
                const __m256i c = _mm256_cvttps_epi32(a), d = _mm256_cvttps_epi32(b);
                for (i = 0; i < SEVERAL; i++) {
                    const __m256 line = _mm256_loadu_ps(own->line[i]);
                    low[i] = with(low[i], _mm256_permutevar8x32_ps(line, c), power);
                    high[i] = with(high[i], _mm256_permutevar8x32_ps(line, d), power);
                }
            }
            /* What is left can only add: rows beyond the limit already stay beyond it. */
            if (++since >= 8 && axis + 1 < s->axes) {
                since = 0;
                gone = 1;
                for (i = 0; i < SEVERAL; i++) gone &= !within(low[i], high[i], limit[i]);
                if (gone) break;
            }
        }
        for (i = 0; i < SEVERAL; i++) {
            if (gone) low[i] = high[i] = _mm256_set1_ps(INFINITY);
            else which |= within(low[i], high[i], limit[i]) << i;
            _mm256_storeu_ps(sums[i] + lane, low[i]);
            _mm256_storeu_ps(sums[i] + lane + 8, high[i]);
        }
    }
    return which;
}

WIDE
static int several_sums(const Space *s, const float *tile, const Packed *asked, const float *limit,
                        float sums[SEVERAL][LANES]) {
    if (s->power == 2) return several_of(s, tile, asked, limit, sums, 2);
    if (s->power == 1) return several_of(s, tile, asked, limit, sums, 1);
    if (s->power == 3) return several_of(s, tile, asked, limit, sums, 3);
    if (s->power == MAXIMUM) return several_of(s, tile, asked, limit, sums, MAXIMUM);
    return several_of(s, tile, asked, limit, sums, s->power);
}

static inline int wide_enough(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

#else
static int several_sums(const Space *s, const float *tile, const Packed *asked, const float *limit,
                        float sums[SEVERAL][LANES]) {
    (void)s, (void)tile, (void)asked, (void)limit, (void)sums;
    return 0;
}

static inline int wide_enough(void) { return 0; }
#endif

/* Whether `several_sums` can serve a space; `whole`: no kept row misses a cell. */
static inline int together(const Space *s, int whole) {
    return wide_enough() && s->power >= 1 && (whole || !s->ignore);
}

/* Put one query into its place among four. */
static inline void packed(const Space *s, Packed *into, int place, const float *q,
                          const int32_t *codes) {
    int axis, level;
    for (axis = 0; axis < s->axes; axis++) {
        if (s->kind[axis] == TABLE) {
            const float *line = s->narrow[axis] + (int64_t)codes[axis] * s->width[axis];
            into[axis].wide[place] = line;
            if (s->width[axis] > SOME) continue;
            for (level = 0; level < SOME; level++)
                into[axis].line[place][level] = level < s->width[axis] ? line[level] : 0.0f;
        } else {
            const int blank = s->kind[axis] == DIFFERS && codes[axis] == s->width[axis] - 2;
            into[axis].number[place] = blank ? NAN : q[axis];
        }
    }
}

#endif
