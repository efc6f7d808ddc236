/* Short loops over the scores of a row, and over the parameters of a table.

   A number of scores that the compiler knows lets it keep them in registers, so the usual numbers
   have functions of their own. All sums are formed in the same order, whatever the number. */
#ifndef COUNTWISE_SCORES_H
#define COUNTWISE_SCORES_H

#include <stddef.h>
#include <stdint.h>

#define BLOCK 64
#define MOST 12

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

/* Call a function with a number of scores that is known while compiling, if it is a usual one. */
#define WITH_SCORES(call) \
    switch (K) { \
    case 3: call(3); break; \
    case 4: call(4); break; \
    case 5: call(5); break; \
    case 6: call(6); break; \
    case 7: call(7); break; \
    case 8: call(8); break; \
    case 10: call(10); break; \
    default: call(K); \
    }

/* Add an entry of every table to the scores of each row. Cells are listed table by table. */
INLINE void gather_of(const double *tables, const uint32_t *cell, ptrdiff_t number,
                      double *scores, ptrdiff_t rows, const int K) {
    for (ptrdiff_t i = 0; i < rows; i++) {
        double *line = scores + i * K;
        if (K <= MOST) {
            double sum[MOST];
            for (int k = 0; k < K; k++) sum[k] = line[k];
            for (ptrdiff_t t = 0; t < number; t++) {
                const double *entry = tables + (ptrdiff_t)cell[t * BLOCK + i] * K;
                for (int k = 0; k < K; k++) sum[k] += entry[k];
            }
            for (int k = 0; k < K; k++) line[k] = sum[k];
            continue;
        }
        for (ptrdiff_t t = 0; t < number; t++) {
            const double *entry = tables + (ptrdiff_t)cell[t * BLOCK + i] * K;
            for (int k = 0; k < K; k++) line[k] += entry[k];
        }
    }
}

static void gather_scores(const double *tables, const uint32_t *cell, ptrdiff_t number,
                          double *scores, ptrdiff_t rows, int K) {
#define CALL(n) gather_of(tables, cell, number, scores, rows, n)
    WITH_SCORES(CALL)
#undef CALL
}

/* Add the residuals of each row to its cell of every table. */
INLINE void scatter_of(double *tables, const uint32_t *cell, ptrdiff_t number,
                       const double *residuals, ptrdiff_t rows, const int K) {
    for (ptrdiff_t i = 0; i < rows; i++) {
        const double *line = residuals + i * K;
        double kept[MOST];
        if (K <= MOST)
            for (int k = 0; k < K; k++) kept[k] = line[k];
        for (ptrdiff_t t = 0; t < number; t++) {
            double *entry = tables + (ptrdiff_t)cell[t * BLOCK + i] * K;
            for (int k = 0; k < K; k++) entry[k] += K <= MOST ? kept[k] : line[k];
        }
    }
}

static void scatter_residuals(double *tables, const uint32_t *cell, ptrdiff_t number,
                              const double *residuals, ptrdiff_t rows, int K) {
#define CALL(n) scatter_of(tables, cell, number, residuals, rows, n)
    WITH_SCORES(CALL)
#undef CALL
}

/* out[h, :] += Σ_r matrix[h·down + r·across] × part[r, :], for all h. */
INLINE void product_of(const double *matrix, ptrdiff_t down, ptrdiff_t across, const double *part,
                       double *out, ptrdiff_t lines, ptrdiff_t number, const int K) {
    for (ptrdiff_t h = 0; h < lines; h++) {
        double *line = out + h * K;
        if (K <= MOST) {
            double sum[MOST];
            for (int k = 0; k < K; k++) sum[k] = line[k];
            for (ptrdiff_t r = 0; r < number; r++) {
                const double factor = matrix[h * down + r * across];
                for (int k = 0; k < K; k++) sum[k] += factor * part[r * K + k];
            }
            for (int k = 0; k < K; k++) line[k] = sum[k];
            continue;
        }
        for (ptrdiff_t r = 0; r < number; r++) {
            const double factor = matrix[h * down + r * across];
            for (int k = 0; k < K; k++) line[k] += factor * part[r * K + k];
        }
    }
}

static void add_product(const double *matrix, ptrdiff_t down, ptrdiff_t across,
                        const double *part, double *out, ptrdiff_t lines, ptrdiff_t number, int K) {
#define CALL(n) product_of(matrix, down, across, part, out, lines, number, n)
    if (K == 1) {
        CALL(1);
        return;
    }
    WITH_SCORES(CALL)
#undef CALL
}

#endif
