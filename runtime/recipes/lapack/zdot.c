/* Inner products of complex vectors, as sums of blocks in double precision; see dot.c. */
#include "common.h"

#define BLOCK 1024

OPENBLAS_COMPLEX_FLOAT CNAME(BLASLONG n, FLOAT *x, BLASLONG inc_x, FLOAT *y, BLASLONG inc_y) {
  double real = 0, imaginary = 0;
  while (n > 0) {
    double sums[4] = {0, 0, 0, 0};
    BLASLONG count = MIN(n, BLOCK);
    for (n -= count; count > 0; count--, x += 2 * inc_x, y += 2 * inc_y) {
      sums[0] += (double)x[0] * y[0];
      sums[1] += (double)x[1] * y[1];
      sums[2] += (double)x[0] * y[1];
      sums[3] += (double)x[1] * y[0];
    }
#ifdef CONJ
    real += sums[0] + sums[1];
    imaginary += sums[2] - sums[3];
#else
    real += sums[0] - sums[1];
    imaginary += sums[2] + sums[3];
#endif
  }
  OPENBLAS_COMPLEX_FLOAT result;
  CREAL(result) = real;
  CIMAG(result) = imaginary;
  return result;
}
