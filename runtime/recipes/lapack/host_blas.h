/* OpenBLAS's routines hand their inner work to kernels of the host, where it has them: Brumate's engine does, with the vectors
 * of its processor. The imports are weak: elsewhere they stay undefined, and all is as it was.
 *
 * Included by the files of `interface/` that build-openblas.sh patches, after common.h. A kernel takes one pointer to a block of 32-bit words,
 * and returns 1 when the work is done; 0 leaves it to the caller, and nothing has been written. Matrices are by column.
 */
#ifndef HOST_BLAS_H
#define HOST_BLAS_H

#if defined(COMPLEX) && defined(DOUBLE)
#define HOST(name) brumate_z##name
#define OWN(name) BLASFUNC(z##name)
#elif defined(COMPLEX)
#define HOST(name) brumate_c##name
#define OWN(name) BLASFUNC(c##name)
#elif defined(DOUBLE)
#define HOST(name) brumate_d##name
#define OWN(name) BLASFUNC(d##name)
#else
#define HOST(name) brumate_s##name
#define OWN(name) BLASFUNC(s##name)
#endif

/* Rows and columns of one call's matrices at most. */
#define HOST_SIDE 512
/* Products that are too few for a call to pay. */
#define HOST_FEW 4096
/* Factorisations up to this side are left to OpenBLAS's own kernels. */
#define HOST_FACTOR 32

struct host_gemm {
  int transa, transb, m, n, k;
  const FLOAT *alpha, *a;
  int lda;
  const FLOAT *b;
  int ldb;
  const FLOAT *beta;
  FLOAT *c;
  int ldc;
};

extern int HOST(gemm)(const struct host_gemm *) __attribute__((weak));

static inline int host_pays(BLASLONG m, BLASLONG n, BLASLONG k) { return HOST(gemm) && (double)m * n * k >= HOST_FEW; }

/* C = alpha op(A) op(B) + beta C; bit 0 of transa and transb transposes, bit 1 conjugates. */
static int host_gemm(int transa, int transb, BLASLONG m, BLASLONG n, BLASLONG k, const FLOAT *alpha, const FLOAT *a, BLASLONG lda,
                     const FLOAT *b, BLASLONG ldb, const FLOAT *beta, FLOAT *c, BLASLONG ldc) {
  static const FLOAT one[2] = {1, 0};
  int begun = 0;
  if (!host_pays(m, n, k)) return 0;
  for (BLASLONG j = 0; j < n; j += HOST_SIDE)
    for (BLASLONG i = 0; i < m; i += HOST_SIDE)
      for (BLASLONG l = 0; l < k; l += HOST_SIDE) {
        struct host_gemm block = {transa, transb, MIN(m - i, HOST_SIDE), MIN(n - j, HOST_SIDE), MIN(k - l, HOST_SIDE), alpha};
        block.a = a + (transa & 1 ? l + i * lda : i + l * lda) * COMPSIZE, block.lda = lda;
        block.b = b + (transb & 1 ? j + l * ldb : l + j * ldb) * COMPSIZE, block.ldb = ldb;
        block.beta = l == 0 ? beta : one, block.c = c + (i + j * ldc) * COMPSIZE, block.ldc = ldc;
        if (!HOST(gemm)(&block)) {
          /* The first one says what the others will: only memory that is not there is refused later. */
          if (begun) __builtin_trap();
          return 0;
        }
        begun = 1;
      }
  return 1;
}

#ifndef COMPLEX

struct host_gemv {
  int trans, m, n;
  const FLOAT *alpha, *a;
  int lda;
  const FLOAT *x;
  int incx;
  FLOAT *y;
  int incy;
};

struct host_symv {
  int lower, n;
  const FLOAT *alpha, *a;
  int lda;
  const FLOAT *x;
  int incx;
  FLOAT *y;
  int incy;
};

/* B = alpha op(A) B, or alpha times the solution X of op(A) X = B; with `right`, A comes from that side. */
struct host_triangle {
  int right, lower, trans, unit, m, n;
  const FLOAT *alpha, *a;
  int lda;
  FLOAT *b;
  int ldb;
};

extern int HOST(gemv)(const struct host_gemv *) __attribute__((weak));
extern int HOST(symv)(const struct host_symv *) __attribute__((weak));
extern int HOST(trsm)(const struct host_triangle *) __attribute__((weak));
extern int HOST(trmm)(const struct host_triangle *) __attribute__((weak));

/* y += alpha op(A) x */
static inline int host_gemv(int trans, BLASLONG m, BLASLONG n, FLOAT alpha, const FLOAT *a, BLASLONG lda, const FLOAT *x, BLASLONG incx,
                            FLOAT *y, BLASLONG incy) {
  struct host_gemv call = {trans, m, n, &alpha, a, lda, x, incx, y, incy};
  return HOST(gemv) && incx > 0 && incy > 0 && (double)m * n >= HOST_FEW / 4 && HOST(gemv)(&call);
}

/* y += alpha A x, of whose A only one half is looked at */
static inline int host_symv(int lower, BLASLONG n, FLOAT alpha, const FLOAT *a, BLASLONG lda, const FLOAT *x, BLASLONG incx, FLOAT *y,
                            BLASLONG incy) {
  struct host_symv call = {lower, n, &alpha, a, lda, x, incx, y, incy};
  return HOST(symv) && incx > 0 && incy > 0 && (double)n * n >= HOST_FEW / 4 && HOST(symv)(&call);
}

/* Updates of a symmetric matrix: squares on the diagonal by way of a copy, what is beside them as products. */
static int host_update(int lower, int trans, blas_arg_t *args, int twice) {
  enum { SIDE = 32 };
  static FLOAT zero[1] = {0}, one[1] = {1};
  FLOAT whole[SIDE * SIDE];
  BLASLONG n = args->n, k = args->k, lda = args->lda, ldb = twice ? args->ldb : args->lda, ldc = args->ldc;
  FLOAT *a = args->a, *b = twice ? args->b : args->a, *c = args->c, *alpha = args->alpha, *beta = args->beta;
  if (n <= SIDE || !host_pays(SIDE, SIDE, k)) return 0;
  char uplo = lower ? 'L' : 'U', transpose = trans ? 'T' : 'N';
  BLASLONG step_a = trans ? lda : 1, step_b = trans ? ldb : 1;
  for (BLASLONG j = 0; j < n; j += SIDE) {
    blasint side = MIN(n - j, SIDE), inner = k, stride_a = lda, stride_b = ldb, stride_c = ldc;
    FLOAT *square = c + j + j * ldc;
    BLASLONG row = lower ? j + side : 0, rows = lower ? n - row : j;
    FLOAT *rest = c + row + j * ldc;
    if (host_gemm(trans, !trans, side, side, k, alpha, a + j * step_a, lda, b + j * step_b, ldb, zero, whole, SIDE)) {
      for (BLASLONG s = 0; s < side; s++)
        for (BLASLONG r = lower ? s : 0; r < (lower ? side : s + 1); r++) {
          FLOAT added = whole[r + s * SIDE] + (twice ? whole[s + r * SIDE] : 0);
          square[r + s * ldc] = *beta == 0 ? added : *beta * square[r + s * ldc] + added;
        }
    } else if (twice)
      OWN(syr2k)(&uplo, &transpose, &side, &inner, alpha, a + j * step_a, &stride_a, b + j * step_b, &stride_b, beta, square, &stride_c);
    else
      OWN(syrk)(&uplo, &transpose, &side, &inner, alpha, a + j * step_a, &stride_a, beta, square, &stride_c);
    if (rows == 0) continue;
    blasint count = rows;
    char first = trans ? 'T' : 'N', second = trans ? 'N' : 'T';
    OWN(gemm)(&first, &second, &count, &side, &inner, alpha, a + row * step_a, &stride_a, b + j * step_b, &stride_b, beta, rest, &stride_c);
    if (twice)
      OWN(gemm)(&first, &second, &count, &side, &inner, alpha, b + row * step_b, &stride_b, a + j * step_a, &stride_a, one, rest, &stride_c);
  }
  return 1;
}

/* Triangular solves and products; larger ones by halves: what is beside the triangles is a product of matrices. */
static int host_triangle(int solve, int right, int lower, int trans, int unit, blas_arg_t *args) {
  static FLOAT one[1] = {1}, minus[1] = {-1};
  BLASLONG m = args->m, n = args->n, lda = args->lda, ldb = args->ldb;
  FLOAT *a = args->a, *b = args->b, *alpha = args->beta;
  BLASLONG side = right ? n : m, other = right ? m : n;
  if (!HOST(trsm) || !HOST(trmm) || (double)side * side * other < HOST_FEW / 2 || *alpha == 0) return 0;
  if (side <= HOST_SIDE) {
    for (BLASLONG i = 0; i < other; i += HOST_SIDE) {
      int count = MIN(other - i, HOST_SIDE);
      struct host_triangle call = {right, lower, trans, unit, right ? count : side, right ? side : count, alpha, a, lda};
      call.b = right ? b + i : b + i * ldb, call.ldb = ldb;
      if (!(solve ? HOST(trsm)(&call) : HOST(trmm)(&call))) {
        if (i > 0) __builtin_trap();
        return 0;
      }
    }
    return 1;
  }
  BLASLONG half = side / 2, rest = side - half;
  FLOAT *corner = lower ? a + half : a + half * lda, *a2 = a + half + half * lda;
  FLOAT *b2 = right ? b + half * ldb : b + half;
  char sides = right ? 'R' : 'L', uplo = lower ? 'L' : 'U', transpose = trans ? 'T' : 'N', diagonal = unit ? 'U' : 'N';
  blasint stride_a = lda, stride_b = ldb, h = half, r = rest, o = other;
  blasint *m1 = right ? &o : &h, *n1 = right ? &h : &o, *m2 = right ? &o : &r, *n2 = right ? &r : &o;
  /* Whether op(A) is lower. */
  int below = lower != trans;
  char plain = 'N';
#define TRIANGLE(triangle, block, rows, columns, factor)                                                                            \
  (solve ? OWN(trsm)(&sides, &uplo, &transpose, &diagonal, rows, columns, factor, triangle, &stride_a, block, &stride_b)             \
         : OWN(trmm)(&sides, &uplo, &transpose, &diagonal, rows, columns, factor, triangle, &stride_a, block, &stride_b))
  /* target = before * target + factor * op(corner) source, or source op(corner) */
#define CORNER(target, rows, columns, source, inner, factor, before)                                                                 \
  (right ? OWN(gemm)(&plain, &transpose, rows, columns, inner, factor, source, &stride_b, corner, &stride_a, before, target, &stride_b) \
         : OWN(gemm)(&transpose, &plain, rows, columns, inner, factor, corner, &stride_a, source, &stride_b, before, target, &stride_b))
  if (solve) {
    if (below != right) {
      TRIANGLE(a, b, m1, n1, alpha);
      CORNER(b2, m2, n2, b, &h, minus, alpha);
      TRIANGLE(a2, b2, m2, n2, one);
    } else {
      TRIANGLE(a2, b2, m2, n2, alpha);
      CORNER(b, m1, n1, b2, &r, minus, alpha);
      TRIANGLE(a, b, m1, n1, one);
    }
  } else if (below != right) {
    TRIANGLE(a2, b2, m2, n2, alpha);
    CORNER(b2, m2, n2, b, &h, alpha, one);
    TRIANGLE(a, b, m1, n1, alpha);
  } else {
    TRIANGLE(a, b, m1, n1, alpha);
    CORNER(b, m1, n1, b2, &r, alpha, one);
    TRIANGLE(a2, b2, m2, n2, alpha);
  }
#undef TRIANGLE
#undef CORNER
  return 1;
}

#endif

#ifdef HOST_BLAS_LAPACK

#ifndef COMPLEX

struct host_getrf {
  int m, n;
  FLOAT *a;
  int lda;
  blasint *pivots, *info;
};

extern int HOST(getrf)(const struct host_getrf *) __attribute__((weak));

#endif

/* LU factorisation; larger ones by halves of the columns. */
static int host_getrf(blas_arg_t *args, blasint *info) {
  static FLOAT one[2] = {1, 0}, minus[2] = {-1, 0};
  BLASLONG m = args->m, n = args->n, lda = args->lda;
  FLOAT *a = args->a;
  blasint *pivots = args->c;
  BLASLONG steps = MIN(m, n), half = steps / 2;
  if (!host_pays(m, n, steps)) return 0;
#ifndef COMPLEX
  if (HOST(getrf) && (double)m * n * steps <= (double)HOST_SIDE * HOST_SIDE * HOST_SIDE) {
    struct host_getrf call = {m, n, a, lda, pivots, info};
    if (HOST(getrf)(&call)) return 1;
  }
#endif
  if (steps <= HOST_FACTOR) return 0;
  blasint rows = m, first = half, rest = n - half, below = m - half, stride = lda, from = 1, step = 1, failed = 0;
  FLOAT *right = a + half * lda * COMPSIZE, *corner = a + half * COMPSIZE, *square = right + half * COMPSIZE;
  char left = 'L', plain = 'N', unit = 'U';
  *info = 0;
  OWN(getrf)(&rows, &first, a, &stride, pivots, info);
  OWN(laswp)(&rest, right, &stride, &from, &first, pivots, &step);
  OWN(trsm)(&left, &left, &plain, &unit, &first, &rest, one, a, &stride, right, &stride);
  OWN(gemm)(&plain, &plain, &below, &rest, &first, minus, corner, &stride, right, &stride, one, square, &stride);
  OWN(getrf)(&below, &rest, square, &stride, pivots + half, &failed);
  if (*info == 0 && failed > 0) *info = failed + half;
  for (BLASLONG i = half; i < steps; i++) pivots[i] += half;
  blasint next = half + 1, last = steps;
  OWN(laswp)(&first, a, &stride, &next, &last, pivots, &step);
  return 1;
}

/* Solving with a matrix that is factorised. */
static int host_getrs(int trans, blas_arg_t *args) {
  static FLOAT one[2] = {1, 0};
  BLASLONG n = args->m, columns = args->n;
#ifdef COMPLEX
  if (n <= HOST_FACTOR || columns < 8) return 0;
#endif
  if (!host_pays(n, n, columns)) return 0;
  blasint order = n, count = columns, stride = args->lda, stride_b = args->ldb, from = 1, forward = 1, backward = -1;
  FLOAT *a = args->a, *b = args->b;
  char left = 'L', upper = 'U', unit = 'U', transpose = trans ? 'T' : 'N', plain = 'N';
  if (!trans) OWN(laswp)(&count, b, &stride_b, &from, &order, args->c, &forward);
  OWN(trsm)(&left, trans ? &upper : &left, &transpose, trans ? &plain : &unit, &order, &count, one, a, &stride, b, &stride_b);
  OWN(trsm)(&left, trans ? &left : &upper, &transpose, trans ? &unit : &plain, &order, &count, one, a, &stride, b, &stride_b);
  if (trans) OWN(laswp)(&count, b, &stride_b, &from, &order, args->c, &backward);
  return 1;
}

/* Factorisation and solution. */
static int host_gesv(blas_arg_t *args, blasint *info) {
  BLASLONG n = args->m;
  if (!host_pays(n, n, n)) return 0;
  blasint order = n, columns = args->n, stride = args->lda, stride_b = args->ldb, ignored;
  char plain = 'N';
  OWN(getrf)(&order, &order, args->a, &stride, args->c, info);
  if (*info == 0) OWN(getrs)(&plain, &order, &columns, args->a, &stride, args->c, args->b, &stride_b, &ignored);
  return 1;
}

#ifndef COMPLEX

/* Cholesky factorisation by halves. */
static int host_potrf(int lower, blas_arg_t *args, blasint *info) {
  static FLOAT one[1] = {1}, minus[1] = {-1};
  BLASLONG n = args->n, lda = args->lda, half = n / 2;
  FLOAT *a = args->a;
  if (n <= HOST_FACTOR || !host_pays(half, half, half)) return 0;
  blasint first = half, rest = n - half, stride = lda;
  FLOAT *corner = lower ? a + half : a + half * lda, *square = a + half + half * lda;
  char uplo = lower ? 'L' : 'U', side = lower ? 'R' : 'L', transposed = 'T', plain = 'N';
  OWN(potrf)(&uplo, &first, a, &stride, info);
  if (*info != 0) return 1;
  if (lower)
    OWN(trsm)(&side, &uplo, &transposed, &plain, &rest, &first, one, a, &stride, corner, &stride);
  else
    OWN(trsm)(&side, &uplo, &transposed, &plain, &first, &rest, one, a, &stride, corner, &stride);
  OWN(syrk)(&uplo, lower ? &plain : &transposed, &rest, &first, minus, corner, &stride, one, square, &stride);
  OWN(potrf)(&uplo, &rest, square, &stride, info);
  if (*info > 0) *info += half;
  return 1;
}

#endif
#endif
#endif
