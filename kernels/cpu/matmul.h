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

/* In which order few rows are summed; what more rows take is the library's. Bits depend on it, so
 * it is chosen by sizes and by the strides that eager has, never by where elements lie: an element
 * that lies otherwise is summed in the same order, slower. */
typedef enum fnzi_cpu_order {
  FNZI_ORDER_LIBRARY,
  FNZI_ORDER_DOTS, /* fnzi_row_dots() along both rows: the second factor lies transposed */
  FNZI_ORDER_STEPS /* one row of the second factor after the other */
} fnzi_cpu_order;

/* c = beta * c + alpha * a @ b, with a (m, k), b (k, n) and c (m, n) of rows `c_row` apart. c is
 * not read when beta is 0. */
typedef struct fnzi_cpu_product {
  fnz_dtype dtype; /* F32, F64, C64, C128 or I64 */
  int64_t m, n, k;
  fnzi_cpu_matrix a, b;
  void *c;
  int64_t c_row;
  double alpha, beta;
  fnzi_cpu_order order;
  bool b_is_bf16; /* F32 only, with an order other than the library's and `b` as that has it */
} fnzi_cpu_product;

/* The order for a product of these sizes (m, n, k) whose factors have these strides in eager. The
 * library's unless it is of F32 and has few rows or one column. */
fnzi_cpu_order fnzi_cpu_product_order(const fnzi_cpu_product *p, const fnzi_cpu_matrix *a,
                                      const fnzi_cpu_matrix *b);
/* Computes it in its order. */
void fnzi_cpu_product_few(const fnzi_cpu_product *p);

/* BLAS can take the matrix as it lies: one stride is 1, the other leaves room for a row. */
bool fnzi_cpu_matrix_fits(int64_t rows, int64_t cols, int64_t row, int64_t col);

/* One product on the calling thread. Matrices must fit unless dtype is I64. */
void fnzi_cpu_product_run(const fnzi_cpu_product *p);
/* The same in tiles on up to `threads` threads. */
void fnzi_cpu_product_run_tiled(const fnzi_cpu_product *p, int threads);

/* The type a product of this element type is computed in; false when there is none. */
bool fnzi_cpu_product_dtype(fnz_dtype dtype, fnz_dtype *out);

#endif
