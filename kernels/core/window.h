/* window.h - parts of an array's memory: cutting them out, and moving elements between them. */
#ifndef FNZI_CORE_WINDOW_H
#define FNZI_CORE_WINDOW_H

#include "kernels/core/core.h"

/* Part of an array's memory: strides in elements, `data` at the element with all indices 0. */
typedef struct fnzi_krn_window {
  fnz_dtype dtype;
  uint32_t rank;
  size_t cell;
  unsigned char *data;
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
} fnzi_krn_window;

/* Records a kernel instead of running it: then no memory is read, arguments and results have no
 * memory at all, and intermediate arrays get addresses without memory. It records only kernels that
 * consist of the steps below. */
typedef struct fnzi_krn_combination {
  const char *row;                     /* of point.def: to = row(to, from, number) */
  fnz_dtype compute, class_dtype, out; /* out: the row's result */
  bool keeps;                          /* values are converted as fnzi_krn_convert_kept() does */
  const fnzi_krn_window *to, *from, *number; /* NULL: the row has two operands */
} fnzi_krn_combination;

/* Elements that each are computed by themselves, from windows and numbers. */
typedef struct fnzi_krn_formula {
  const char *name; /* of the function: text for C and for a GPU */
  int64_t count;    /* of elements */
  const fnzi_krn_window *windows;
  uint32_t nwindows, nresults; /* results are the last ones */
  const int64_t *integers;
  const double *numbers;
  uint32_t nintegers, nnumbers;
  bool checks;    /* it may find an index out of bounds */
  uint64_t draws; /* words by which it moves the offset of a generator of Philox, whose seed and
                     offset are windows behind the others; 0: it draws nothing */
} fnzi_krn_formula;

/* Places along a dimension, that a tensor says. */
typedef struct fnzi_krn_pick {
  fnzi_krn_window index; /* of i64 or i32, over the space */
  int64_t size;          /* places are below it */
  int64_t stride;        /* elements, of the indexed window */
  bool wraps;            /* negative ones count from the end */
} fnzi_krn_pick;

enum { FNZI_KRN_PICKS = 8 };

/* Elements that go to places, or come from places; over one space, to which `from` broadcasts. The
 * indexed window has place 0 in all dimensions that are indexed. */
typedef struct fnzi_krn_picking {
  fnzi_krn_window to, from;
  fnzi_krn_pick picks[FNZI_KRN_PICKS];
  uint32_t npicks;
  bool into;            /* `to` is indexed, else `from` */
  uint32_t first, rank; /* into: dimensions of the space in whose order elements come to a place;
                           the last one counts, or all are joined: */
  const char *row;      /* of point.def; NULL: the last one counts */
  fnz_dtype wide;       /* what stays of a join is of this type until the last one */
  bool converts_first;  /* each one to that type as well */
  const fnz_arg *alpha; /* a third operand; NULL */
  const fnzi_krn_window *start; /* the start of a join; NULL: the present elements */
  bool averages, counts_self;   /* and is divided by how many there were */
} fnzi_krn_picking;

/* A batch of products of matrices, one behind the other and row-major: c = a @ b, of (m, k) by
 * (k, n). */
typedef struct fnzi_krn_products {
  fnz_dtype dtype;
  int64_t count, m, n, k;
  const void *a, *b, *c;
} fnzi_krn_products;

typedef struct fnzi_krn_recorder {
  void *user;
  /* `casts`: as fnzi_krn_cast() converts. */
  fnz_status (*move)(void *user, const fnzi_krn_window *to, const fnzi_krn_window *from,
                     bool casts);
  fnz_status (*combine)(void *user, const fnzi_krn_combination *combination);
  fnz_status (*formula)(void *user, const fnzi_krn_formula *formula);
  fnz_status (*pick)(void *user, const fnzi_krn_picking *picking);
  fnz_status (*multiply)(void *user, const fnzi_krn_products *products);
  /* Attention as the call says; scores that `kept` has as true are multiplied by the factor, all
   * others by 0. */
  fnz_status (*attend)(void *user, const fnzi_krn_window *kept, double factor);
  /* Argument k, a number that data decide: where it will be, as an element of the dtype. */
  fnz_status (*number)(void *user, uint32_t k, fnz_dtype dtype, fnzi_krn_window *out);
  fnz_status (*room)(void *user, size_t bytes, void **out);
  int64_t threads; /* of the generator that is drawn from; 0: it is none of Philox */
} fnzi_krn_recorder;

/* Room for elements that last as long as the call, not initialised. */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_krn_scratch_take(fnzi_krn_call *call, int64_t count,
                                                            size_t cell, void **out);

void fnzi_krn_window_of(const fnzi_krn_array *array, fnzi_krn_window *out);
/* A tensor without dimensions counts as a vector of one. */
void fnzi_krn_window_lanes(const fnzi_krn_array *array, fnzi_krn_window *out);
FNZI_SHARED void fnzi_krn_loop_add_window(fnzi_krn_loop *loop, const fnzi_krn_window *w);
/* `count` positions of a dimension from `start`. */
void fnzi_krn_window_narrow(fnzi_krn_window *w, uint32_t dim, int64_t start, int64_t count);
/* One position of a dimension; the dimension goes. */
void fnzi_krn_window_select(fnzi_krn_window *w, uint32_t dim, int64_t index);
/* Another dimension of this size and stride before `dim`. */
void fnzi_krn_window_insert(fnzi_krn_window *w, uint32_t dim, int64_t size, int64_t stride);

/* A row-major copy as f32 in scratch memory, in which 16-bit floats add up without rounding. */
FNZ_MUST_CHECK fnz_status fnzi_krn_window_widen(fnzi_krn_call *call, const fnzi_krn_window *w,
                                                fnzi_krn_window *out);

/* UNSUPPORTED, with both types. */
fnz_status fnzi_krn_refuse_conversion(const fnzi_krn_call *call, fnz_dtype to, fnz_dtype from);
/* The same windows, of the same sizes, with the dimensions that eager's loop over `target` has
 * outermost first; `source` is what is read. */
void fnzi_krn_windows_in_order(const fnz_geometry *target, const fnz_geometry *source,
                               fnzi_krn_window *to, fnzi_krn_window *from);

/* Copies the elements of `from`, broadcast, into the elements of `to`, converted. UNSUPPORTED when
 * the dtypes do not convert. `ordered`: in row-major order, for windows that overlap themselves. */
FNZ_MUST_CHECK fnz_status fnzi_krn_window_assign(fnzi_krn_call *call, const fnzi_krn_window *to,
                                                 const fnzi_krn_window *from, bool ordered);

/* A number, as a window of rank 0 over `room` of 16 bytes. If no number converts to the dtype it
 * stays c128, and assigning it fails. */
FNZI_SHARED void fnzi_krn_window_number(const fnz_arg *number, fnz_dtype dtype, unsigned char *room,
                                        fnzi_krn_window *out);

/* The same of a number that may be an argument of the call, which data may decide. */
FNZ_MUST_CHECK fnz_status fnzi_krn_window_argument(fnzi_krn_call *call, const fnz_arg *number,
                                                   fnz_dtype dtype, unsigned char *room,
                                                   fnzi_krn_window *out);

/* The same of a number that may be held by a tensor without dimensions: what item() gives. */
FNZ_MUST_CHECK fnz_status fnzi_krn_window_item(fnzi_krn_call *call, const fnz_arg *value,
                                               fnz_dtype dtype, unsigned char *room,
                                               fnzi_krn_window *out);
/* Whole arrays, likewise. */
FNZ_MUST_CHECK fnz_status fnzi_krn_array_assign(fnzi_krn_call *call, const fnzi_krn_array *to,
                                                const fnzi_krn_array *from);
FNZ_MUST_CHECK fnz_status fnzi_krn_array_fill(fnzi_krn_call *call, const fnzi_krn_array *to,
                                              const fnz_arg *number);

/* Result k gets the value of `from`: its memory when dtype and sizes agree, else a converted copy.
 */
FNZ_MUST_CHECK fnz_status fnzi_krn_result_take(fnzi_krn_call *call, size_t k,
                                               const fnzi_krn_array *from);

/* The row-major window that fnzi_krn_dense_get() or scratch memory is. */
FNZI_SHARED void fnzi_krn_window_dense(fnzi_krn_window *out, fnz_dtype dtype, uint32_t rank,
                                       const int64_t *sizes, const void *data);

/* A copy of the elements as `dtype` in scratch memory, with eager's strides, so that an order taken
 * from these is the same wherever the array lies; row-major when they leave gaps. `strides` has
 * room for FNZ_MAX_RANK. */
FNZ_MUST_CHECK fnz_status fnzi_krn_dense_in_order(fnzi_krn_call *call, const fnzi_krn_array *self,
                                                  fnz_dtype dtype, const void **data,
                                                  int64_t *strides);

/* The array's geometry with the strides from which eager takes an order of computing; for values of
 * programs they are the strides of such a copy, as functional programs have it in place of a
 * view. */
fnz_geometry fnzi_krn_array_ordered(const fnzi_krn_array *self, int64_t *strides);

/* Results in 16-bit floats are computed from elements that were rounded before: if argument 0 has
 * another dtype, it is replaced by such a copy, in scratch memory. */
FNZ_MUST_CHECK fnz_status fnzi_krn_round_input(fnzi_krn_call *call);

#endif
