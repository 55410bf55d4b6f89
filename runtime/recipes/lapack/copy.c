/* Copies a vector; OpenBLAS's for this target takes one element at a time. */
#include "common.h"

int CNAME(BLASLONG n, FLOAT *x, BLASLONG inc_x, FLOAT *y, BLASLONG inc_y) {
  if (n <= 0) return 0;
  if (inc_x == 1 && inc_y == 1) {
    for (BLASLONG i = 0; i < n; i++) y[i] = x[i];
    return 0;
  }
  for (; n >= 4; n -= 4, x += 4 * inc_x, y += 4 * inc_y) {
    FLOAT first = x[0], second = x[inc_x], third = x[2 * inc_x], fourth = x[3 * inc_x];
    y[0] = first, y[inc_y] = second, y[2 * inc_y] = third, y[3 * inc_y] = fourth;
  }
  for (; n > 0; n--, x += inc_x, y += inc_y) *y = *x;
  return 0;
}
