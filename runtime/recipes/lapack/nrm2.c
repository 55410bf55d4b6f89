/* The Euclidean norm of a vector, instead of OpenBLAS's that divides by the largest so far for each element, and has one sum in the precision
 * of the vector: the root of a sum of squares wherever that is exact enough, and with numbers scaled where squares leave the range.
 */
#include "common.h"
#include <math.h>

/* Between these, squares that are too small to be kept do not count, and none is too large. Single precision's always are. */
#define LEAST 1e-280
#define MOST 1e300
#define BLOCK 1024

/* The sum of squares of numbers, as four sums, since each addition waits for the one before. */
static double squares(BLASLONG n, const FLOAT *x, BLASLONG inc_x) {
  double sums[4] = {0, 0, 0, 0};
  for (; n >= 4; n -= 4)
    for (int i = 0; i < 4; i++, x += inc_x) {
      double element = *x;
      sums[i] += element * element;
    }
  for (; n > 0; n--, x += inc_x) {
    double element = *x;
    sums[0] += element * element;
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

FLOAT CNAME(BLASLONG n, FLOAT *x, BLASLONG inc_x) {
  if (n <= 0 || inc_x == 0) return 0;
  if (n * COMPSIZE == 1) return fabs(x[0]);
  BLASLONG step = inc_x * COMPSIZE;
  double sum = 0;
  for (BLASLONG i = 0; i < n; i += BLOCK)
    for (int part = 0; part < COMPSIZE; part++) sum += squares(MIN(n - i, BLOCK), x + i * step + part, step);
#ifdef DOUBLE
  if (!(sum >= LEAST && sum <= MOST)) {
    double most = 0;
    for (BLASLONG i = 0; i < n * COMPSIZE; i++) {
      double element = fabs(x[i / COMPSIZE * step + i % COMPSIZE]);
      if (isnan(element)) return element;
      if (element > most) most = element;
    }
    if (most == 0 || isinf(most)) return most;
    /* By a power of two, which is exact, so that the largest is about one: in two steps, as such a power may be out of range. */
    int exponent;
    frexp(most, &exponent);
    double first = ldexp(1, -exponent / 2), second = ldexp(1, -exponent - -exponent / 2);
    double scaled = 0;
    for (BLASLONG i = 0; i < n * COMPSIZE; i++) {
      double element = x[i / COMPSIZE * step + i % COMPSIZE] * first * second;
      scaled += element * element;
    }
    return sqrt(scaled) / first / second;
  }
#endif
  return sqrt(sum);
}
