/* sets.c - operators that move a tensor to other memory, that resize it, that do nothing here, or
 * that wait for values to arrive. */
#include "run/eager/eager.h"

/* --- Other memory ----------------------------------------------------------------------------- */

/* set_data and record_stream return nothing. */
static fnz_status give(fnzi_eag_op *s, fnzi_eag_tensor *self) {
  return s->op->nreturns > 0 ? fnzi_eag_op_push(s, self) : FNZ_OK;
}

static fnz_status set(fnzi_eag_op *s, fnzi_eag_tensor *self, fnzi_run_memory *memory,
                      const fnzi_eag_window *w) {
  memory->users++;
  self->memory->users--;
  self->memory = memory;
  FNZ_TRY(fnzi_eag_tensor_reshape(s->in, self, w));
  return give(s, self);
}

/* The first two arguments, and the window of the second. */
static fnz_status read_source(fnzi_eag_op *s, fnzi_eag_tensor **self, fnzi_eag_tensor **source,
                              fnzi_eag_window *w) {
  FNZ_TRY(fnzi_eag_op_tensor(s, &s->args[0], self));
  FNZ_TRY(fnzi_eag_op_tensor(s, &s->args[1], source));
  if ((*self)->g->dtype != (*source)->g->dtype)
    return fnzi_fail(s->ctx, FNZ_CLASS_TYPE, "", "%s: the tensor is %s, the source is %s",
                     s->op->name, fnzi_dtype((*self)->g->dtype)->name,
                     fnzi_dtype((*source)->g->dtype)->name);
  fnzi_eag_window_of((*source)->g, w);
  return FNZ_OK;
}

/* set_(self, source), set_data(self, new_data) */
fnz_status fnzi_eag_set_tensor(fnzi_eag_op *s) {
  fnzi_eag_tensor *self, *source;
  fnzi_eag_window w;
  FNZ_TRY(read_source(s, &self, &source, &w));
  return set(s, self, source->memory, &w);
}

/* set_(self, source, storage_offset, size, stride): the source is a memory that begins at its
 * offset. */
fnz_status fnzi_eag_set_window(fnzi_eag_op *s) {
  fnzi_eag_tensor *self, *source;
  fnzi_eag_window w;
  uint32_t count;
  FNZ_TRY(read_source(s, &self, &source, &w));
  if (!fnzi_is_contiguous(source->g))
    return fnzi_fail(s->ctx, FNZ_CLASS_TYPE, "",
                     "%s: the source must be contiguous to stand for memory; call contiguous() on "
                     "it before",
                     s->op->name);
  FNZ_TRY(fnzi_eag_op_ints(s, 3, w.sizes, &w.rank));
  FNZ_TRY(fnzi_eag_op_ints(s, 4, w.strides, &count));
  if (count == 0)
    fnzi_contiguous_strides(w.sizes, w.rank, w.strides);
  else if (count != w.rank)
    return fnzi_eag_op_refuse(s, "as many strides as sizes are needed", count, w.rank);
  w.offset = source->g->offset + fnzi_eag_op_int(s, 2, 0);
  return set(s, self, source->memory, &w);
}

/* set_(self) */
fnz_status fnzi_eag_set_empty(fnzi_eag_op *s) {
  fnzi_eag_tensor *self;
  fnzi_run_memory *memory;
  FNZ_TRY(fnzi_eag_op_tensor(s, &s->args[0], &self));
  fnzi_eag_window w = {.dtype = self->g->dtype, .rank = 1};
  fnzi_eag_window_dense(&w);
  FNZ_TRY(fnzi_run_memory_create(&s->in->run, w.dtype, 0, &memory));
  return set(s, self, memory, &w);
}

fnz_status fnzi_eag_nothing(fnzi_eag_op *s) {
  fnzi_eag_tensor *self;
  FNZ_TRY(fnzi_eag_op_tensor(s, &s->args[0], &self));
  return give(s, self);
}

/* --- Other sizes ------------------------------------------------------------------------------ */

/* The backend's cells of zeros: new elements are zero. */
static fnz_status zero_cells(fnzi_eag_op *s, fnz_dtype dtype, int64_t count, unsigned char *cells) {
  fnz_backend *b = s->in->run.backend;
  const fnz_op *op = fnzi_ops_find("zeros");
  if (op == NULL)
    return fnzi_fail(s->ctx, FNZ_CLASS_INTERNAL, "", "there is no operator zeros");
  int64_t one = 1;
  fnz_geometry g = {.dtype = dtype, .rank = 1, .sizes = &count, .strides = &one};
  const fnz_geometry *expected[1] = {&g};
  fnz_arg size = {.tag = FNZ_ARG_INT, .u.i = count};
  fnz_arg args[2] = {{.tag = FNZ_ARG_LIST, .count = 1, .u.list = &size},
                     {.tag = FNZ_ARG_DTYPE, .u.i = dtype}};
  fnz_handle value;
  FNZ_TRY(fnzi_eag_apply(s->in, (fnz_request){op, args, 2, expected, ""}, &value, 1));
  fnz_status status = b->download(b->self, s->ctx, value, cells);
  b->release(b->self, value);
  return status;
}

/* Extends a memory, for all tensors that are windows into it. */
static fnz_status grow(fnzi_eag_op *s, fnzi_run_memory *memory, fnz_dtype dtype, int64_t elements) {
  fnz_backend *b = s->in->run.backend;
  size_t cell = b->cell_bytes(b->self, dtype), old = memory->bytes;
  int64_t more = elements - (int64_t)(old / cell);
  fnzi_run_memory *larger;
  if (more <= 0)
    return FNZ_OK;
  if (!fnzi_run_memory_has_data(memory))
    return fnzi_fail(s->ctx, FNZ_CLASS_REF, "",
                     "the file has no data for the weight resized here" FNZI_RUN_GET_DATA);
  FNZ_TRY(fnzi_run_memory_need(&s->in->run, memory));
  FNZ_TRY(fnzi_run_memory_create(&s->in->run, dtype, elements, &larger));
  memcpy(larger->cells, memory->cells, old);
  FNZ_TRY(zero_cells(s, dtype, more, larger->cells + (size_t)(elements - more) * cell));
  fnzi_run_memory_drop(&s->in->run, memory);
  memory->cells = larger->cells;
  memory->bytes = larger->bytes;
  larger->cells = NULL;
  return FNZ_OK;
}

fnz_status fnzi_eag_resize_to(fnzi_eag_op *s, fnzi_eag_tensor *self, fnzi_eag_window *w) {
  fnz_geometry g = fnzi_eag_window_geometry(w);
  int64_t low, high;
  if (fnzi_same_sizes(&g, self->g))
    return FNZ_OK;
  fnzi_contiguous_strides(w->sizes, w->rank, w->strides);
  if (!fnzi_extent(&g, &low, &high))
    return fnzi_fail(s->ctx, FNZ_CLASS_OVERFLOW, "", "%s: the sizes leave 64 bits", s->op->name);
  FNZ_TRY(grow(s, self->memory, w->dtype, high));
  return fnzi_eag_tensor_reshape(s->in, self, w);
}

fnz_status fnzi_eag_resize(fnzi_eag_op *s) {
  fnzi_eag_tensor *self;
  fnzi_eag_window w;
  FNZ_TRY(fnzi_eag_op_tensor(s, &s->args[0], &self));
  fnzi_eag_window_of(self->g, &w);
  FNZ_TRY(fnzi_eag_op_ints(s, 1, w.sizes, &w.rank));
  for (uint32_t d = 0; d < w.rank; d++)
    if (w.sizes[d] < 0)
      return fnzi_fail(s->ctx, FNZ_CLASS_BOUNDS, "", "%s: size %lld is negative", s->op->name,
                       (long long)w.sizes[d]);
  FNZ_TRY(fnzi_eag_resize_to(s, self, &w));
  return fnzi_eag_op_push(s, self);
}

fnz_status fnzi_eag_resize_as(fnzi_eag_op *s) {
  fnzi_eag_tensor *self, *other;
  fnzi_eag_window w;
  FNZ_TRY(fnzi_eag_op_tensor(s, &s->args[0], &self));
  FNZ_TRY(fnzi_eag_op_tensor(s, &s->args[1], &other));
  fnzi_eag_window_of(self->g, &w);
  w.rank = other->g->rank;
  memcpy(w.sizes, other->g->sizes, w.rank * sizeof *w.sizes);
  FNZ_TRY(fnzi_eag_resize_to(s, self, &w));
  return fnzi_eag_op_push(s, self);
}

/* --- Waiting ---------------------------------------------------------------------------------- */

/* Waits for the result of a collective: the same tensor, with the value that the backend has for
 * it. The argument is a tensor or one list of tensors. */
fnz_status fnzi_eag_wait(fnzi_eag_op *s) {
  bool is_list = s->args[0].tag == FNZ_ARG_LIST;
  const fnz_arg *items = is_list ? s->args[0].u.list : s->args;
  size_t count = is_list ? s->args[0].count : 1;
  const fnz_geometry **expected;
  fnzi_eag_tensor **waited;
  fnz_handle *values;
  FNZI_NEW(&s->in->run.scratch, count, &expected);
  FNZI_NEW(&s->in->run.scratch, count, &waited);
  FNZI_NEW(&s->in->run.scratch, count, &values);
  for (size_t i = 0; i < count; i++) {
    FNZ_TRY(fnzi_eag_op_tensor(s, &items[i], &waited[i]));
    expected[i] = waited[i]->g;
  }
  const fnz_request call = {s->op, s->args, s->op->nparams, expected, ""};
  FNZ_TRY(fnzi_eag_apply(s->in, call, values, count));
  fnz_status status = FNZ_OK;
  for (size_t i = 0; i < count; i++) {
    if (status == FNZ_OK)
      status = fnzi_eag_tensor_write(s->in, waited[i], values[i], NULL);
    else
      fnzi_run_release(&s->in->run, values[i]);
    if (status == FNZ_OK)
      status = fnzi_eag_op_push(s, waited[i]);
  }
  return status;
}
