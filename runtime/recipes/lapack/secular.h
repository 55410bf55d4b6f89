/* Sums over the poles of a secular equation, which LAPACK's ?laed4 and ?lasd4 take most of their time for: with vectors, so that two or
 * four divisions are done at once. The compiler cannot do that, since each step of its loops needs the sum so far.
 */
#ifndef SECULAR_H
#define SECULAR_H

/* Of n poles, with t = z / (delta work), or z / delta where there is no work: adds z t to `sum`, t² to `slope`, and to `error` what all sums so
 * far are together, when they are taken from the first pole on, or (`down`) from the last.
 */
#define SECULAR(name, type)                                                                                                      \
  static void name(long n, const type *z, const type *delta, const type *work, int down, type *sum, type *slope, type *error) { \
    typedef type lanes __attribute__((vector_size(16)));                                                                        \
    enum { LANES = 16 / sizeof(type), PAIR = 2 * LANES };                                                                       \
    lanes sums[2] = {{0}}, slopes[2] = {{0}}, errors[2] = {{0}}, weights[2];                                                     \
    const type step = down ? PAIR : -PAIR;                                                                                      \
    for (int i = 0; i < PAIR; i++) weights[i / LANES][i % LANES] = down ? i + 1 : n - i;                                         \
    long k = 0;                                                                                                                 \
    for (; k + PAIR <= n; k += PAIR)                                                                                            \
      for (int half = 0; half < 2; half++) {                                                                                    \
        lanes zs, poles, factors;                                                                                               \
        __builtin_memcpy(&zs, z + k + half * LANES, sizeof zs);                                                                 \
        __builtin_memcpy(&poles, delta + k + half * LANES, sizeof poles);                                                       \
        if (work) {                                                                                                             \
          __builtin_memcpy(&factors, work + k + half * LANES, sizeof factors);                                                  \
          poles *= factors;                                                                                                     \
        }                                                                                                                       \
        lanes t = zs / poles, term = zs * t;                                                                                    \
        sums[half] += term;                                                                                                     \
        slopes[half] += t * t;                                                                                                  \
        errors[half] += weights[half] * term;                                                                                   \
        weights[half] += step;                                                                                                  \
      }                                                                                                                         \
    type total = 0, slope_total = 0, error_total = 0;                                                                           \
    for (int i = 0; i < PAIR; i++) {                                                                                            \
      total += sums[i / LANES][i % LANES];                                                                                      \
      slope_total += slopes[i / LANES][i % LANES];                                                                              \
      error_total += errors[i / LANES][i % LANES];                                                                              \
    }                                                                                                                           \
    for (; k < n; k++) {                                                                                                        \
      type t = z[k] / (work ? delta[k] * work[k] : delta[k]), term = z[k] * t;                                                  \
      total += term;                                                                                                            \
      slope_total += t * t;                                                                                                     \
      error_total += (type)(down ? k + 1 : n - k) * term;                                                                       \
    }                                                                                                                           \
    *sum += total;                                                                                                              \
    *slope += slope_total;                                                                                                      \
    *error += error_total;                                                                                                      \
  }

SECULAR(secular_s, float)
SECULAR(secular_d, double)

#endif
