/* matmul.h - the one place that multiplies matrices; products, layers and attention build on it.
 *
 * Results do not depend on how many threads there are: an element has the same bits in whatever
 * tile it is computed, or tiles have places that depend on the sizes alone. */
#ifndef FNZI_CPU_MATMUL_H
#define FNZI_CPU_MATMUL_H

#include "kernels/cpu/cpu.h"
#include "kernels/rows/rows.h"

/* A matrix in memory: element (i, j) is data[i * row + j * col]. */
typedef struct fnzi_cpu_matrix {
  const void *data;
  int64_t row, col;
  fnzi_row_kind kind; /* in a product of F32; else 0 */
} fnzi_cpu_matrix;

/* In which order an element of F32 is summed. Bits depend on it, so it is chosen by sizes and by
 * the strides that eager has, never by where elements lie: an element that lies otherwise is summed
 * in the same order, slower. */
typedef enum fnzi_cpu_order {
  FNZI_ORDER_LIBRARY, /* a library's: other dtypes, large products, and where there are no panels */
  FNZI_ORDER_DOTS,    /* few rows, fnzi_row_dots() along both: the second factor lies transposed */
  FNZI_ORDER_STEPS,   /* few rows, one row of the second factor after the other */
  FNZI_ORDER_PANELS   /* fnzi_row_panels() */
} fnzi_cpu_order;

/* c = beta * c + alpha * a @ b, with a (m, k), b (k, n) and c (m, n) of rows `c_row` apart. c is
 * not read when beta is 0. */
typedef struct fnzi_cpu_product {
  fnz_dtype dtype; /* F32, F64, C64, C128, I32 or I64 */
  int64_t m, n, k;
  fnzi_cpu_matrix a, b;
  void *c;
  int64_t c_row;
  double alpha, beta;
  fnzi_cpu_order order;
  float *room; /* by fnzi_cpu_product_scratch(), of this product or one that it is a part of */
  int64_t room_each;   /* elements of it for each thread */
  const float *added;  /* a row that is read in place of each row of c; only by panels */
  const float *packed; /* b, by fnzi_cpu_product_pack(); NULL: it is not */
  int64_t packed_k;    /* its rows: of b, or more */
} fnzi_cpu_product;

/* Panels take other kinds than F32 in both factors; orders of few rows take them in the factor that
 * does not have few rows: the first of a product of one column and many rows, else the second. */
static inline bool fnzi_cpu_product_is_transposed(const fnzi_cpu_product *p) {
  return p->n == 1 && (p->m != 1 || p->a.kind != FNZI_ROW_F32);
}

/* The order for a product of these sizes (m, n, k) whose factors have these kinds, and these
 * strides in eager. */
fnzi_cpu_order fnzi_cpu_product_order(const fnzi_cpu_product *p, const fnzi_cpu_matrix *a,
                                      const fnzi_cpu_matrix *b);
/* Computes it in its order. */
void fnzi_cpu_product_few(const fnzi_cpu_product *p);
/* By panels, in a lane of a team; and by all lanes. */
void fnzi_cpu_product_panels(const fnzi_cpu_product *p, int lane);
void fnzi_cpu_product_panels_tiled(const fnzi_cpu_product *p, fnzi_krn_team *team);
/* Takes the scratch memory that its order needs, for all threads: p->room, NULL for none. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_product_scratch(fnzi_krn_call *call, fnzi_cpu_product *p);

/* Says that packing the second factor once saves time; packs it. */
bool fnzi_cpu_product_packs(const fnzi_cpu_product *p);
void fnzi_cpu_product_pack(const fnzi_cpu_product *p, float *to);
/* Sets p->packed if the second factor is `weight`, lasts and is worth the memory. It is packed in
 * the second run, and kept as long as the backend. */
void fnzi_cpu_product_use_packed(const fnzi_krn_call *call, const fnzi_krn_array *weight,
                                 fnzi_cpu_product *p);

/* Holds OpenBLAS to one thread: where it cuts its work, and so the bits, would depend on how many.
 */
void fnzi_cpu_blas_hold(void);
/* BLAS can take the matrix as it lies: one stride is 1, the other leaves room for a row. */
bool fnzi_cpu_matrix_fits(int64_t rows, int64_t cols, int64_t row, int64_t col);

/* One product on the calling thread, which is number `lane`. In the library's order matrices must
 * fit unless they are of integers. */
void fnzi_cpu_product_run(const fnzi_cpu_product *p, int lane);
/* The same in tiles on up to `threads` threads. */
void fnzi_cpu_product_run_tiled(const fnzi_cpu_product *p, fnzi_krn_team *team);

/* Bytes, u8 or i8 by i8, summed in 32 bits, with the integers' bits; *done is false if it is left
 * to a product of integers. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_matmul_bytes(fnzi_krn_call *call, const fnzi_krn_array *a,
                                                const fnzi_krn_array *b, bool *done);

/* The type a product of this element type is computed in; false when there is none. */
bool fnzi_cpu_product_dtype(fnz_dtype dtype, fnz_dtype *out);

#endif
