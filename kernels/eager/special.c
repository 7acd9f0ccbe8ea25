/* special.c - operators on memory that do more than their schema declares: set_ and resize_ change
 * the storage or geometry of a tensor, batch norm writes its statistics, some fill windows. An
 * operator's effect is its kind of mutation (mutations.def); this file applies it to memory. */
#include "kernels/eager/eager.h"
#include "schema/aten_names.h"

/* --- Arguments --------------------------------------------------------------------------- */
static fnz_arg named(const fnzi_mem_job *job, const char *name) {
  int i = fnzi_op_param(job->op, name);
  return i < 0 ? (fnz_arg){.tag = FNZ_ARG_NONE} : job->args[i];
}

static fnz_status tensor_named(const fnzi_mem_job *job, const char *name, fnzi_krn_array **out) {
  fnz_arg arg = named(job, name);
  *out = fnzi_krn_arg_array(&arg);
  if (*out)
    return FNZ_OK;
  return fnzi_mem_job_fail(job, FNZ_CLASS_TYPE, "argument %s must be a tensor", name);
}

/* `sizes` has room for FNZ_MAX_RANK. */
static fnz_status sizes_named(const fnzi_mem_job *job, const char *name, int64_t *sizes,
                              uint32_t *rank) {
  fnz_arg arg = named(job, name);
  *rank = arg.tag == FNZ_ARG_LIST ? arg.count : 0;
  if (*rank > FNZ_MAX_RANK)
    return fnzi_mem_job_fail(job, FNZ_CLASS_LIMIT, "%s has %u numbers, at most %d", name, *rank,
                             FNZ_MAX_RANK);
  for (uint32_t d = 0; d < *rank; d++) {
    if (arg.u.list[d].tag != FNZ_ARG_INT || arg.u.list[d].u.i < 0)
      return fnzi_mem_job_fail(job, FNZ_CLASS_BOUNDS, "item %u of %s must be an integer from 0 on",
                               d, name);
    sizes[d] = arg.u.list[d].u.i;
  }
  return FNZ_OK;
}

/* --- Storage and geometry of a tensor ---------------------------------------------------- */
static fnz_status nothing(fnzi_mem_job *job) {
  return fnzi_mem_job_give_returns(job, NULL, 0);
}

static fnz_status first(fnzi_mem_job *job) {
  return fnzi_mem_job_give_again(job, fnzi_krn_arg_array(&job->args[0]));
}

/* Collectives are complete at once, so the results are the tensors themselves. */
static fnz_status wait_for(fnzi_mem_job *job) {
  const fnz_arg *arg = &job->args[0], *items = arg->tag == FNZ_ARG_LIST ? arg->u.list : arg;
  const uint32_t count = arg->tag == FNZ_ARG_LIST ? arg->count : 1;
  for (uint32_t i = 0; i < count; i++)
    FNZ_TRY(fnzi_mem_job_give_again(job, fnzi_krn_arg_array(&items[i])));
  return FNZ_OK;
}

/* resize_(self, size), resize_as_(self, the_template) */
static fnz_status resize(fnzi_mem_job *job) {
  fnzi_krn_array *self, *other = job->op->nparams > 1 ? fnzi_krn_arg_array(&job->args[1]) : NULL;
  int64_t sizes[FNZ_MAX_RANK];
  uint32_t rank = other ? other->geometry.rank : 0;
  FNZ_TRY(tensor_named(job, "self", &self));
  fnz_arg format = named(job, "memory_format");
  if (format.tag == FNZ_ARG_MEMORY_FORMAT && format.u.i != 1 && format.u.i != 4)
    return fnzi_mem_job_fail(job, FNZ_CLASS_UNSUPPORTED, "memory_format must be contiguous");
  if (other && rank)
    memcpy(sizes, other->geometry.sizes, rank * sizeof *sizes);
  if (!other)
    FNZ_TRY(sizes_named(job, "size", sizes, &rank));
  FNZ_TRY(fnzi_mem_array_resize(job->ctx, self, rank, sizes, NULL));
  return fnzi_mem_job_give_again(job, self);
}

/* Gives self another storage. */
static fnz_status look_elsewhere(fnzi_mem_job *job, fnzi_krn_array *self, fnzi_krn_storage *storage,
                                 const fnz_geometry *window) {
  FNZ_TRY(fnzi_krn_array_rebase(job->ctx, self, window));
  storage->refs++;
  fnzi_krn_storage_release(job->ctx, self->storage);
  self->storage = storage;
  return job->op->nreturns ? fnzi_mem_job_give_again(job, self) : FNZ_OK; /* not of set_data */
}

static fnz_status check_dtype(const fnzi_mem_job *job, const fnzi_krn_array *self,
                              const fnzi_krn_array *source) {
  if (self->geometry.dtype == source->geometry.dtype)
    return FNZ_OK;
  return fnzi_mem_job_fail(
      job, FNZ_CLASS_TYPE, "source is %s, but self is %s; both must be the same",
      fnzi_dtype(source->geometry.dtype)->name, fnzi_dtype(self->geometry.dtype)->name);
}

static fnz_status set_tensor(fnzi_mem_job *job) {
  fnzi_krn_array *self, *source;
  FNZ_TRY(tensor_named(job, "self", &self));
  FNZ_TRY(tensor_named(job, job->op->params[1].name, &source));
  FNZ_TRY(check_dtype(job, self, source));
  return look_elsewhere(job, self, source->storage, &source->geometry);
}

static fnz_status set_window(fnzi_mem_job *job) {
  fnzi_krn_array *self, *source;
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
  uint32_t rank, nstrides;
  FNZ_TRY(tensor_named(job, "self", &self));
  FNZ_TRY(tensor_named(job, "source", &source));
  FNZ_TRY(check_dtype(job, self, source));
  FNZ_TRY(sizes_named(job, "size", sizes, &rank));
  FNZ_TRY(sizes_named(job, "stride", strides, &nstrides));
  fnz_arg offset = named(job, "storage_offset");
  if (offset.tag != FNZ_ARG_INT || offset.u.i < 0)
    return fnzi_mem_job_fail(job, FNZ_CLASS_BOUNDS, "storage_offset must be an integer from 0 on");
  if (nstrides && nstrides != rank)
    return fnzi_mem_job_fail(job, FNZ_CLASS_BOUNDS, "%u strides for %u sizes", nstrides, rank);
  FNZ_TRY(fnzi_krn_sizes_check(job->ctx, rank, sizes, self->cell));
  if (!nstrides)
    fnzi_contiguous_strides(sizes, rank, strides);
  fnz_geometry g = {.dtype = self->geometry.dtype,
                    .rank = rank,
                    .offset = offset.u.i,
                    .sizes = sizes,
                    .strides = strides};
  FNZ_TRY(fnzi_krn_storage_holds(job->ctx, source->storage, &g));
  return look_elsewhere(job, self, source->storage, &g);
}

static fnz_status set_empty(fnzi_mem_job *job) {
  static const int64_t none[1] = {0}, one[1] = {1};
  fnzi_krn_array *self;
  fnzi_krn_storage *storage;
  FNZ_TRY(tensor_named(job, "self", &self));
  fnz_geometry g = {.dtype = self->geometry.dtype, .rank = 1, .sizes = none, .strides = one};
  FNZ_TRY(fnzi_krn_storage_create(job->ctx, &job->m->stock, 0, &storage));
  fnz_status status = look_elsewhere(job, self, storage, &g);
  fnzi_krn_storage_release(job->ctx, storage);
  return status;
}

/* The window of the given sizes and strides, which are not checked yet. */
static fnz_status reshape_alias(fnzi_mem_job *job) {
  fnzi_krn_array *self, *window;
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
  uint32_t rank, nstrides;
  FNZ_TRY(tensor_named(job, "self", &self));
  FNZ_TRY(sizes_named(job, "size", sizes, &rank));
  FNZ_TRY(sizes_named(job, "stride", strides, &nstrides));
  if (nstrides != rank)
    return fnzi_mem_job_fail(job, FNZ_CLASS_BOUNDS, "%u strides for %u sizes", nstrides, rank);
  fnz_geometry g = self->geometry;
  g.rank = rank;
  g.sizes = sizes;
  g.strides = strides;
  FNZ_TRY(fnzi_mem_array_window(job->m, job->ctx, self->storage, &g, &window));
  return fnzi_mem_job_give(job, window);
}

static fnz_status reshape_alias_copy(fnzi_mem_job *job) {
  FNZ_TRY(reshape_alias(job));
  return fnzi_mem_job_copy_result(job, job->count - 1);
}

/* If reshape would copy, it refuses as view does. */
static fnz_status unsafe_view(fnzi_mem_job *job) {
  fnzi_krn_array *window;
  FNZ_TRY(fnzi_mem_job_part_of_one(job, fnzi_ops_find("view"), job->args, &window));
  return fnzi_mem_job_give(job, window);
}

/* --- Windows ----------------------------------------------------------------------------- */
static fnz_status fill_windows(fnzi_mem_job *job) {
  fnzi_krn_array *self;
  fnzi_mutation_windows at;
  FNZ_TRY(tensor_named(job, "self", &self));
  FNZ_TRY(fnzi_mutation_windows_find(job->ctx, NULL, job->op, job->args, &self->geometry, &at));
  for (size_t k = 0; k < at.count; k++) {
    fnzi_krn_array *diagonal, *same;
    FNZ_TRY(fnzi_mem_array_window(job->m, job->ctx, self->storage, &at.windows[k], &diagonal));
    const fnz_arg args[] = {{.tag = FNZ_ARG_VALUE, .u.value = fnzi_krn_array_handle(diagonal)},
                            job->args[1]};
    fnz_status status = fnzi_mem_job_part_of_one(job, fnzi_ops_find("fill_.Scalar"), args, &same);
    if (status == FNZ_OK)
      fnzi_krn_array_release(job->ctx, same);
    fnzi_krn_array_release(job->ctx, diagonal);
    FNZ_TRY(status);
  }
  return fnzi_mem_job_give_again(job, self);
}

/* --- Batch norm -------------------------------------------------------------------------- */

/* The results of the operator that has the statistics as its last ones. */
static fnz_status keep_statistics(fnzi_mem_job *job, fnz_handle *handles, size_t count,
                                  fnzi_krn_array *const *statistics) {
  for (size_t k = 0; k < 2; k++)
    FNZ_TRY(
        fnzi_mem_job_store(job, statistics[k], fnzi_krn_array_of(handles[count - 2 + k]), NULL));
  for (size_t k = 0; k < job->op->nreturns; k++)
    FNZ_TRY(fnzi_mem_job_give_again(job, fnzi_krn_array_of(handles[k])));
  return FNZ_OK;
}

static fnz_status batch_norm(fnzi_mem_job *job) {
  enum { RESULTS = 5 };
  fnz_arg mean = named(job, "running_mean"), var = named(job, "running_var");
  fnzi_krn_array *statistics[] = {fnzi_krn_arg_array(&mean), fnzi_krn_arg_array(&var)};
  if (!named(job, "training").u.i || !statistics[0] || !statistics[1])
    return job->route->row ? fnzi_serve_compute(job) : fnzi_serve_refuse(job);
  const fnz_op *op = fnzi_ops_find("_native_batch_norm_legit_functional");
  fnz_arg *args;
  fnz_handle handles[RESULTS];
  size_t count;
  /* Eager's loop order decides the result if statistics share elements with themselves, or with
   * operands that it reads meanwhile: the arguments before them. */
  enum { MEAN = 3, VAR = 4 }; /* of all batch norms */
  for (size_t k = MEAN; k <= VAR; k++)
    FNZ_TRY(fnzi_mem_check_apart(job, fnzi_krn_arg_array(&job->args[k]), job->args, k));
  FNZI_NEW(job->scratch, op->nparams, &args);
  for (size_t i = 0; i < op->nparams; i++)
    args[i] = named(job, op->params[i].name);
  FNZ_TRY(fnzi_mem_job_part(job, op, args, handles, RESULTS, &count));
  fnz_status status = count == RESULTS
                          ? keep_statistics(job, handles, count, statistics)
                          : fnzi_mem_job_fail(job, FNZ_CLASS_INTERNAL, "%zu results", count);
  for (size_t k = 0; k < count; k++)
    fnzi_krn_array_release(job->ctx, fnzi_krn_array_of(handles[k]));
  return status;
}

/* --- The route of a kind, and of some that write nothing ------------------------------------ */
/* They keep more of an argument than its elements, or believe the strides that they are given. */
static const struct {
  uint16_t op;
  fnzi_serve_fn *serve;
} functional[] = {
    {FNZI_ATEN__reshape_alias, reshape_alias},
    {FNZI_ATEN__reshape_alias_copy, reshape_alias_copy},
    {FNZI_ATEN__unsafe_view, unsafe_view},
    {FNZI_ATEN_as_strided_scatter, fnzi_serve_view_scatter},
    {FNZI_ATEN_copy, fnzi_serve_copy},
    {FNZI_ATEN_diagonal_scatter, fnzi_serve_view_scatter},
    {FNZI_ATEN_lift_fresh, first},
    {FNZI_ATEN_select_scatter, fnzi_serve_view_scatter},
    {FNZI_ATEN_slice_scatter, fnzi_serve_view_scatter},
    {FNZI_ATEN_view_copy, fnzi_serve_compute},
};

static fnzi_serve_fn *serve_of_kind(fnzi_mutation_kind kind) {
  switch (kind) {
  case FNZI_MUTATION_WINDOWS:
    return fill_windows;
  case FNZI_MUTATION_SET:
    return set_tensor;
  case FNZI_MUTATION_SET_EMPTY:
    return set_empty;
  case FNZI_MUTATION_SET_WINDOW:
    return set_window;
  case FNZI_MUTATION_RESIZE:
    return resize;
  case FNZI_MUTATION_BATCH_NORM:
    return batch_norm;
  case FNZI_MUTATION_NOTHING:
    return nothing;
  case FNZI_MUTATION_WAIT:
    return wait_for;
  default: /* the rows of kernels, or no route */
    return NULL;
  }
}

bool fnzi_mem_route_special(const fnz_op *op, fnzi_mem_route *route) {
  fnzi_serve_fn *serve = serve_of_kind(fnzi_mutation_find(op));
  for (size_t i = 0; i < sizeof functional / sizeof *functional && !serve; i++)
    if (functional[i].op == fnzi_op_place(op))
      serve = functional[i].serve;
  if (serve)
    route->serve = serve;
  return serve != NULL;
}
