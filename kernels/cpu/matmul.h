/* matmul.h - the one place that multiplies matrices; products, layers and attention build on it.
 *
 * A product is cut into tiles whose places depend on the sizes alone, each computed by one thread,
 * so that results do not depend on how many threads there are. */
#ifndef FNZI_CPU_MATMUL_H
#define FNZI_CPU_MATMUL_H

#include "kernels/cpu/cpu.h"

/* A matrix in memory: element (i, j) is data[i * row + j * col]. */
typedef struct fnzi_cpu_matrix {
  const void *data;
  int64_t row, col;
} fnzi_cpu_matrix;

/* c = beta * c + alpha * a @ b, with a (m, k), b (k, n) and c (m, n) of rows `c_row` apart. c is
 * not read when beta is 0. */
typedef struct fnzi_cpu_product {
  fnz_dtype dtype; /* F32, F64, C64, C128 or I64 */
  int64_t m, n, k;
  fnzi_cpu_matrix a, b;
  void *c;
  int64_t c_row;
  double alpha, beta;
} fnzi_cpu_product;

/* BLAS can take the matrix as it lies: one stride is 1, the other leaves room for a row. */
bool fnzi_cpu_matrix_fits(int64_t rows, int64_t cols, int64_t row, int64_t col);

/* One product on the calling thread. Matrices must fit unless dtype is I64. */
void fnzi_cpu_product_run(const fnzi_cpu_product *p);
/* The same in tiles on up to `threads` threads. */
void fnzi_cpu_product_run_tiled(const fnzi_cpu_product *p, int threads);

/* The type a product of this element type is computed in; false when there is none. */
bool fnzi_cpu_product_dtype(fnz_dtype dtype, fnz_dtype *out);

#endif
