/* Inner products of real vectors, instead of OpenBLAS's for this target, which has one sum in the precision of the vectors: of twenty million
 * ones in single precision it makes sixteen. Sums of blocks, in double precision, of which four are on their way at a time.
 */
#include "common.h"

#define BLOCK 1024

static double sum(BLASLONG n, const FLOAT *x, BLASLONG inc_x, const FLOAT *y, BLASLONG inc_y) {
  double sums[4] = {0, 0, 0, 0};
  for (; n >= 4; n -= 4, x += 4 * inc_x, y += 4 * inc_y)
    for (int i = 0; i < 4; i++) sums[i] += (double)x[i * inc_x] * y[i * inc_y];
  for (; n > 0; n--, x += inc_x, y += inc_y) sums[0] += (double)*x * *y;
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

FLOAT CNAME(BLASLONG n, FLOAT *x, BLASLONG inc_x, FLOAT *y, BLASLONG inc_y) {
  double total = 0;
  for (; n > 0; n -= BLOCK, x += BLOCK * inc_x, y += BLOCK * inc_y) {
    BLASLONG count = MIN(n, BLOCK);
    total += inc_x == 1 && inc_y == 1 ? sum(count, x, 1, y, 1) : sum(count, x, inc_x, y, inc_y);
  }
  return total;
}
