/* eager.h - what the routes of operators on memory share: the call in hand. */
#ifndef FNZI_KERNELS_EAGER_EAGER_H
#define FNZI_KERNELS_EAGER_EAGER_H

#include "kernels/meta/evaluate.h"
#include "mutations/mutations.h"
#include "views/composites.h"
#include "views/views.h"

typedef struct fnzi_mem_job fnzi_mem_job;
typedef struct fnzi_mem_shortcuts fnzi_mem_shortcuts; /* of shortcut.c */
typedef fnz_status fnzi_serve_fn(fnzi_mem_job *job);

/* Facts (facts.def) about the whole operator. */
enum {
  FNZI_ROUTE_EXACT = 1,
  FNZI_ROUTE_CASTS = 2,
  FNZI_ROUTE_APART = 4,
  FNZI_ROUTE_RIGID = 8,
  FNZI_ROUTE_QUIET = 16
};

/* How an operator is served on memory. */
struct fnzi_mem_route {
  fnzi_serve_fn *serve;   /* NULL while the route is being made */
  const fnz_op *via;      /* the operator that does the work; its parameters by name */
  const fnzi_kernel *row; /* of via */
  const fnzi_krn_registered *registered; /* when the row is one's */
  const fnzi_view *view;                 /* of via */
  const fnzi_composite_row *composite;
  struct fnzi_mem_shortcuts *shortcuts; /* NULL for none */
  unsigned strictness;                  /* FNZI_ROUTE_... */
  uint32_t alike, not_bool, floats;     /* of facts.def; bit i is about argument i of via */
  bool same_args;                       /* via's parameters are the operator's first ones */
  uint32_t generation;                  /* of the machine when the route was made */
  bool is_pointwise;                    /* the row is, element by element at its place */
  bool may_write;                       /* by its kind, or by its arguments as batch_norm does */
};

/* An operator at work on memory. */
struct fnzi_mem_job {
  fnzi_krn_machine *m;
  fnz_context *ctx;
  const fnz_op *op;
  const fnzi_mem_route *route;
  const fnz_arg *args; /* op->nparams: defaults filled in, tensors eager */
  fnz_handle *outputs; /* results so far: `count` of at most `capacity` */
  size_t capacity, count;
  char *warning; /* "" for nothing */
  fnzi_arena *scratch;
  int depth; /* nesting of operators */
};

enum { FNZI_MOST_DEPTH = 4 }; /* a list of in-place views of composites that copy */

/* The route that is known of an operator of the table; NULL when there is none, or one from before
 * another kernel came. */
static inline fnzi_mem_route *fnzi_mem_route_known(const fnzi_krn_machine *m, const fnz_op *op) {
  size_t i;
  fnzi_mem_route *route = fnzi_meta_op_index(op, &i) && m->routes ? m->routes[i] : NULL;
  return route && route->generation == m->generation ? route : NULL;
}

/* --- job.c ------------------------------------------------------------------------------------ */
/* Fails with "operator: " in front. */
fnz_status fnzi_mem_job_fail(const fnzi_mem_job *job, fnz_class kind, const char *format, ...)
    FNZI_PRINTF(3, 4);
/* Appends a result; takes over the reference, also when it fails. NULL for an undefined one. */
FNZ_MUST_CHECK fnz_status fnzi_mem_job_give(fnzi_mem_job *job, fnzi_krn_array *array);
/* Appends an argument as a result: another reference. */
FNZ_MUST_CHECK fnz_status fnzi_mem_job_give_again(fnzi_mem_job *job, fnzi_krn_array *array);
/* Runs another operator as a part of the job. `args` as in fnzi_mem_job; results are appended to
 * `outputs`, which has room for `capacity`. */
FNZ_MUST_CHECK fnz_status fnzi_mem_job_part(const fnzi_mem_job *job, const fnz_op *op,
                                            const fnz_arg *args, fnz_handle *outputs,
                                            size_t capacity, size_t *count);
/* The same for one result. */
FNZ_MUST_CHECK fnz_status fnzi_mem_job_part_of_one(const fnzi_mem_job *job, const fnz_op *op,
                                                   const fnz_arg *args, fnzi_krn_array **out);
/* The same for an operator of one tensor, with its defaults. */
FNZ_MUST_CHECK fnz_status fnzi_mem_job_part_on(const fnzi_mem_job *job, const fnz_op *op,
                                               fnzi_krn_array *array, fnzi_krn_array **out);
/* via's arguments, by name. */
FNZ_MUST_CHECK fnz_status fnzi_mem_job_via_args(const fnzi_mem_job *job, const fnz_arg **out);
/* A call of via; its scratch memory is job's until fnzi_mem_job_close(). */
FNZ_MUST_CHECK fnz_status fnzi_mem_job_open(fnzi_mem_job *job, const fnz_arg *args,
                                            fnzi_krn_call *call);
void fnzi_mem_job_close(fnzi_mem_job *job, fnzi_krn_call *call);
/* Gives a result memory of its own, laid out as its geometry. */
FNZ_MUST_CHECK fnz_status fnzi_mem_job_own_result(fnzi_mem_job *job, fnzi_krn_array *out);

/* --- lazy_bits.c ------------------------------------------------------------------------------ */
/* Arguments without lazy bits: an argument that has some is replaced by a computed one. These are
 * in *temporaries, *count of them, for the caller to release. */
FNZ_MUST_CHECK fnz_status fnzi_mem_job_plain_args(const fnzi_mem_job *job, const fnz_op *op,
                                                  const fnz_arg *args, const fnz_arg **out,
                                                  fnzi_krn_array ***temporaries, size_t *count);
void fnzi_mem_job_drop(const fnzi_mem_job *job, fnzi_krn_array **temporaries, size_t count);
/* The elements of `array` as its bits say, in memory of their own. */
FNZ_MUST_CHECK fnz_status fnzi_mem_job_resolve(const fnzi_mem_job *job, fnzi_krn_array *array,
                                               fnzi_krn_array **out);
/* The same where no operator is at work. */
FNZ_MUST_CHECK fnz_status fnzi_mem_machine_resolve(fnzi_krn_machine *m, fnz_context *ctx,
                                                   fnzi_krn_array *array, fnzi_krn_array **out);

/* --- compute.c -------------------------------------------------------------------------------- */
/* Calls `body` with via's arguments, checked and without lazy bits. */
typedef fnz_status fnzi_args_fn(fnzi_mem_job *job, const fnz_arg *args);
FNZ_MUST_CHECK fnz_status fnzi_mem_job_on_args(fnzi_mem_job *job, fnzi_args_fn *body);
/* Checks the conditions of facts.def on the types of via's arguments. */
FNZ_MUST_CHECK fnz_status fnzi_mem_job_check_types(const fnzi_mem_job *job, const fnz_arg *args);

fnzi_serve_fn fnzi_serve_compute; /* the row of via, into new memory */
fnzi_serve_fn fnzi_serve_refuse;

/* --- view.c, scatter_copy.c ------------------------------------------------------------------- */
/* Puts a copy in the place of result k. */
FNZ_MUST_CHECK fnz_status fnzi_mem_job_copy_result(fnzi_mem_job *job, size_t k);
fnzi_serve_fn fnzi_serve_view;      /* windows into argument 0 */
fnzi_serve_fn fnzi_serve_view_copy; /* the same, copied */
fnzi_serve_fn fnzi_serve_review;    /* argument 0 gets the geometry of via's result */

/* --- view_or_copy.c, foreach.c ---------------------------------------------------------------- */
fnzi_serve_fn fnzi_serve_composite; /* views, the argument itself, a copy: eager geometry decides */
fnzi_serve_fn fnzi_serve_list;      /* via on each element, in order */
/* The number at place i of a tensor that holds one per element of a list. */
FNZ_MUST_CHECK fnz_status fnzi_mem_list_number(fnz_context *ctx, const fnz_op *op,
                                               const fnzi_krn_array *a, uint32_t i, fnz_arg *out);
FNZ_MUST_CHECK fnz_status fnzi_mem_lists_refuse(fnz_context *ctx, const fnz_op *op);

/* --- shortcut.c ------------------------------------------------------------------------------- */
/* After a call of a row: keeps its dtypes and numbers, for fnzi_mem_shortcut_call(). */
void fnzi_mem_shortcut_learn(fnzi_mem_job *job, const fnzi_krn_call *call);
/* Makes a call that is like one before; false, with nothing done, when it is not. The route has
 * shortcuts. */
bool fnzi_mem_shortcut_call(fnzi_krn_machine *m, fnz_context *ctx, const fnzi_mem_route *route,
                            const fnz_request *request, fnz_handle *output);

/* --- write.c ---------------------------------------------------------------------------------- */
fnzi_serve_fn fnzi_serve_write;     /* the row of via, into the written arguments */
fnzi_serve_fn fnzi_serve_write_any; /* via however it is served, then copied into them */
/* Stores `from` in a target that was checked: elements are cast. `order` of the dimensions, the
 * outermost first, where elements lie in one place and the last one stays; NULL for any. */
FNZ_MUST_CHECK fnz_status fnzi_mem_job_store(fnzi_mem_job *job, fnzi_krn_array *target,
                                             fnzi_krn_array *from, const uint32_t *order);
/* The arguments that are written, as results, where the schema returns them; plain results are
 * handed over. */
FNZ_MUST_CHECK fnz_status fnzi_mem_job_give_returns(fnzi_mem_job *job, fnzi_krn_array *const *plain,
                                                    size_t nplain);

/* --- write_check.c ---------------------------------------------------------------------------- */
/* May `result`, of a call of via with these arguments, be stored in the target? The strides of an
 * out= argument that must be resized do not matter before. *order as above, in the scratch. */
FNZ_MUST_CHECK fnz_status fnzi_mem_write_check(const fnzi_mem_job *job, const fnz_arg *args,
                                               const fnzi_krn_array *target,
                                               const fnz_geometry *result, fnzi_arena *scratch,
                                               const uint32_t **order);
/* Fails if two elements of the target share memory, or the target shares memory with one of `count`
 * arguments. */
FNZ_MUST_CHECK fnz_status fnzi_mem_check_apart(const fnzi_mem_job *job,
                                               const fnzi_krn_array *target, const fnz_arg *args,
                                               size_t count);
/* The operator has this flag of FNZI_ROUTE_*. */
bool fnzi_mem_job_is_strict(const fnzi_mem_job *job, unsigned flag);
/* An out= operator that PyTorch derives from the functional one by copying its results. */
bool fnzi_mem_job_is_generated(const fnzi_mem_job *job);
enum { FNZI_SIZES_TEXT = 96 };
/* "[2, 3]", cut off when it is too long; returns `out`. */
const char *fnzi_mem_sizes_text(const fnz_geometry *g, char out[FNZI_SIZES_TEXT]);

/* --- special.c, scatter_copy.c -------------------------------------------------------------------
 * Operators that change the geometry or storage of a tensor, or write without declaring it. */
bool fnzi_mem_route_special(const fnz_op *op, fnzi_mem_route *route);
fnzi_serve_fn fnzi_serve_copy;
fnzi_serve_fn fnzi_serve_view_scatter;

/* --- registered.c ----------------------------------------------------------------------------- */
/* The operator has a registered kernel, or its group has. */
bool fnzi_mem_route_registered(const fnzi_krn_machine *m, const fnz_op *op, fnzi_mem_route *route);
/* Nothing serves the operator itself, but it follows from a plain kernel. */
bool fnzi_mem_route_donor(const fnzi_krn_machine *m, const fnz_op *op, fnzi_mem_route *route);

fnzi_serve_fn fnzi_serve_plain;        /* a plain kernel, by its own schema */
fnzi_serve_fn fnzi_serve_write_copies; /* via writes copies, which are the results */
fnzi_serve_fn fnzi_serve_write_bases;  /* via writes windows of copies of bases (on_bases.c) */
fnzi_serve_fn fnzi_serve_copy_views;   /* via's results, copied */
fnzi_serve_fn fnzi_serve_out_is_self;  /* via writes argument 0 */

/* --- memory.c --------------------------------------------------------------------------------- */
/* Makes the array eager: its elements are where its geometry says, in memory that it shares with no
 * other array. */
FNZ_MUST_CHECK fnz_status fnzi_mem_array_make_eager(fnzi_krn_machine *m, fnz_context *ctx,
                                                    fnzi_krn_array *array);
/* A new eager array that is a window into a storage. BOUNDS when it leaves it. */
/* One over memory of another library: its storage has no `end` yet. */
FNZ_MUST_CHECK fnz_status fnzi_mem_array_over(fnzi_krn_machine *m, fnz_context *ctx,
                                              const fnz_memory *memory, fnzi_krn_array **out);
FNZ_MUST_CHECK fnz_status fnzi_mem_array_window(fnzi_krn_machine *m, fnz_context *ctx,
                                                fnzi_krn_storage *storage,
                                                const fnz_geometry *window, fnzi_krn_array **out);
/* A new eager array with memory, not initialised. */
FNZ_MUST_CHECK fnz_status fnzi_mem_array_create(fnzi_krn_machine *m, fnz_context *ctx,
                                                const fnz_geometry *geometry, fnzi_krn_array **out);
/* Elements of `from`, broadcast and cast; lazy bits are not looked at. Nothing without data. */
FNZ_MUST_CHECK fnz_status fnzi_mem_array_copy(fnzi_krn_machine *m, fnz_context *ctx,
                                              const fnz_op *op, const fnzi_krn_array *to,
                                              const fnzi_krn_array *from);
/* As resize_: the same sizes change nothing; else the strides (NULL: row-major) from where the
 * tensor begins, and more memory if need be. */
FNZ_MUST_CHECK fnz_status fnzi_mem_array_resize(fnz_context *ctx, fnzi_krn_array *array,
                                                uint32_t rank, const int64_t *sizes,
                                                const int64_t *strides);
/* Element by element the same places. */
bool fnzi_mem_array_same_window(const fnzi_krn_array *a, const fnzi_krn_array *b);
/* They may have a byte in common. */
bool fnzi_mem_array_meets(const fnzi_krn_array *a, const fnzi_krn_array *b);
/* Two elements may have. */
bool fnzi_mem_array_overlaps_itself(const fnzi_krn_array *array);

/* --- route.c ---------------------------------------------------------------------------------- */
FNZ_MUST_CHECK fnz_status fnzi_mem_route_find(fnzi_krn_machine *m, const fnz_op *op,
                                              const fnzi_mem_route **out);

/* --- dispatch.c ------------------------------------------------------------------------------- */
fnz_status fnzi_mem_dispatch(void *self, fnz_context *ctx, const fnz_request *request,
                             fnz_handle *outputs, size_t capacity, size_t *count, char *warning);

#endif
