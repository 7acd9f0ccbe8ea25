/* hash.h - values made of hashes: shared by the files of this folder.
 *
 * A value has *cells* (base/series.h): one per element, or with `bytewise` one per byte of an
 * element, so that memory can be seen under several dtypes. Data movement moves cells; a constant
 * has the hash of its number; any other operator is an unknown function of its name, its attributes
 * and all the cells of its arguments, so that two programs agree on it exactly when they agree on
 * all of these.
 *
 * The results of such operators, and unknown inputs, are series (base/series.h): their cells are
 * stored when single ones are read, and the fingerprint of such cells is the fingerprint of the
 * series, whether they are stored or not. */
#ifndef FNZI_HASH_H
#define FNZI_HASH_H

#include "base/series.h"
#include "program/program.h"

#include <fnz/backend.h>

typedef struct fnzi_hash_value {
  fnz_geometry g;
  uint64_t print; /* fingerprint of dtype, sizes and cells; 0 while unknown */
  size_t unit;    /* cells per element */
  size_t ncells;
  bool is_series; /* which begins with `start` */
  bool is_apart;  /* the cells are a block of their own */
  fnzi_cell start;
  fnzi_cell *cells;  /* NULL: the cells of the series, see fnzi_hash_look() */
  int64_t numbers[]; /* sizes, strides, then the cells unless they are apart */
} fnzi_hash_value;

/* A call that does more than compute its results: it draws random numbers, asserts, has an effect,
 * or has no results at all. */
typedef struct fnzi_hash_effect {
  uint64_t print;     /* of the operator and its arguments; of an assertion, of the condition */
  const fnz_op *op;   /* borrowed, as `source` is, from the program that runs */
  const char *source; /* of the node, "" if it is not known */
} fnzi_hash_effect;

typedef struct fnzi_hash_backend {
  fnz_backend backend;
  fnz_context *ctx;
  uint64_t seed;
  bool bytewise;
  uint64_t draws; /* calls that drew random numbers since the last restart */
  struct {
    fnzi_hash_effect *data;
    size_t count, capacity;
  } effects; /* since the last restart, in order */
} fnzi_hash_backend;

/* Before each run: random numbers are drawn from the start again, and no effect has happened. */
void fnzi_hash_effects_restart(fnz_backend *backend);
/* The effects since then, borrowed until the next call. */
const fnzi_hash_effect *fnzi_hash_effects(const fnz_backend *backend, size_t *count);

/* One call to apply, with all that was handed in. */
typedef struct fnzi_hash_call {
  fnzi_hash_backend *hasher;
  fnz_context *ctx;
  fnzi_arena arena; /* ends with the call */
  const fnz_request *call;
  const fnz_op *op;
  const fnz_arg *args; /* one per parameter, defaults filled in */
  fnz_handle *outputs;
  size_t capacity, count;
} fnzi_hash_call;

/* Order matters: combining a then b is not combining b then a. */
static inline uint64_t fnzi_hash_combine(uint64_t h, uint64_t x) {
  return fnzi_mix(h * 0x9e3779b97f4a7c15u + x + 0x165667b19e3779f9u);
}
static inline uint64_t fnzi_hash_cell(uint64_t h, fnzi_cell cell) {
  return fnzi_hash_combine(fnzi_hash_combine(h, cell.of), cell.at);
}
uint64_t fnzi_hash_text(uint64_t h, const char *text);

static inline fnzi_hash_value *fnzi_hash_value_of(fnz_handle handle) {
  return (fnzi_hash_value *)(uintptr_t)handle;
}
static inline size_t fnzi_hash_unit(const fnzi_hash_backend *hasher, fnz_dtype dtype) {
  return hasher->bytewise ? fnz_dtype_get_info(dtype)->bytes : 1;
}

/* A value whose cells the caller fills in; strides that are not dense become row-major. */
FNZ_MUST_CHECK fnz_status fnzi_hash_value_create(fnzi_hash_backend *hasher, fnz_context *ctx,
                                                 const fnz_geometry *g, fnzi_hash_value **out);
/* A series. */
FNZ_MUST_CHECK fnz_status fnzi_hash_value_series(fnzi_hash_backend *hasher, fnz_context *ctx,
                                                 const fnz_geometry *g, fnzi_cell start,
                                                 fnzi_hash_value **out);
void fnzi_hash_value_free(fnzi_hash_backend *hasher, fnzi_hash_value *v);
uint64_t fnzi_hash_value_print(fnzi_hash_value *v);

/* The tensor at an argument; TYPE when there is none. */
FNZ_MUST_CHECK fnz_status fnzi_hash_input(fnzi_hash_call *h, size_t i, fnzi_hash_value **out);
/* Before cells of an argument are looked at: stores them. */
FNZ_MUST_CHECK fnz_status fnzi_hash_look(fnzi_hash_call *h, fnzi_hash_value *v);
/* The next result: of the expected geometry, else of `fallback`, else it is refused. */
FNZ_MUST_CHECK fnz_status fnzi_hash_result(fnzi_hash_call *h, const fnz_geometry *fallback,
                                           fnzi_hash_value **out);
/* As above; the sizes must equal the sizes of `wanted`. */
FNZ_MUST_CHECK fnz_status fnzi_hash_result_like(fnzi_hash_call *h, const fnz_geometry *wanted,
                                                fnzi_hash_value **out);
/* Both for a series. */
FNZ_MUST_CHECK fnz_status fnzi_hash_result_series(fnzi_hash_call *h, const fnz_geometry *fallback,
                                                  fnzi_cell start);
FNZ_MUST_CHECK fnz_status fnzi_hash_result_series_like(fnzi_hash_call *h,
                                                       const fnz_geometry *wanted, fnzi_cell start);
/* The cells of a number in a dtype. */
void fnzi_hash_number(const fnzi_hash_backend *hasher, const fnz_arg *number, fnz_dtype dtype,
                      fnzi_cell *out);

/* Over the places of a geometry in row-major order, row by row: `length` elements from `place` on,
 * `step` apart. Dimensions that lie one behind the other make one row. */
typedef struct fnzi_hash_walk {
  const fnz_geometry *g;
  uint32_t outer; /* dimensions that are not in a row */
  int64_t index[FNZ_MAX_RANK];
  int64_t place, left; /* of the row; how many rows */
  int64_t length, step;
} fnzi_hash_walk;
void fnzi_hash_walk_start(fnzi_hash_walk *w, const fnz_geometry *g);
void fnzi_hash_walk_next(fnzi_hash_walk *w);
/* A dense value seen with the sizes of `to`; *fits is false when it does not broadcast. */
FNZ_MUST_CHECK fnz_status fnzi_hash_broadcast(fnzi_hash_call *h, const fnzi_hash_value *from,
                                              const fnz_geometry *to, fnz_geometry *out,
                                              bool *fits);

/* The row-major geometry of a value, which views of it are reckoned from. In the arena. */
FNZ_MUST_CHECK fnz_status fnzi_hash_dense(fnzi_hash_call *h, const fnzi_hash_value *v,
                                          fnz_geometry *out);
/* The next result is what the window shows of the value. */
FNZ_MUST_CHECK fnz_status fnzi_hash_pull(fnzi_hash_call *h, fnzi_hash_value *base,
                                         const fnz_geometry *window);

/* Operators that move elements (move.c), that are views one after the other (composite.c) or fill
 * in constants (constants.c); false when the operator is none of these. */
FNZ_MUST_CHECK fnz_status fnzi_hash_move(fnzi_hash_call *h, bool *done);
FNZ_MUST_CHECK fnz_status fnzi_hash_composite(fnzi_hash_call *h, bool *done);
FNZ_MUST_CHECK fnz_status fnzi_hash_constant(fnzi_hash_call *h, bool *done);
/* The functions that run/ calls on series (fnzi_run_series). */
FNZ_MUST_CHECK fnz_status fnzi_hash_series_make(fnz_backend *backend, fnz_context *ctx,
                                                const fnz_geometry *g, fnzi_cell start,
                                                fnz_handle *out);
bool fnzi_hash_series_find(fnz_handle value, fnzi_cell *start);
/* Any other operator (opaque.c). */
FNZ_MUST_CHECK fnz_status fnzi_hash_opaque(fnzi_hash_call *h);

#endif
