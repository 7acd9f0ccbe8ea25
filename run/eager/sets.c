/* sets.c - operators that let a tensor look at other memory, that do nothing here, or that
 * wait for values to arrive. */
#include "run/eager/eager.h"

/* --- Other memory ----------------------------------------------------------------------------- */

/* set_data and record_stream return nothing. */
static fnz_status give(fnzi_act *s, fnzi_eager *self) {
  return s->op->nreturns > 0 ? fnzi_act_push(s, self) : FNZ_OK;
}

static fnz_status set(fnzi_act *s, fnzi_eager *self, fnzi_memory *memory, const fnzi_pane *w) {
  memory->users++;
  self->memory->users--;
  self->memory = memory;
  FNZ_TRY(fnzi_eager_reshape(s->in, self, w));
  return give(s, self);
}

/* The first two arguments, and what the second shows. */
static fnz_status read_source(fnzi_act *s, fnzi_eager **self, fnzi_eager **source, fnzi_pane *w) {
  FNZ_TRY(fnzi_act_tensor(s, &s->args[0], self));
  FNZ_TRY(fnzi_act_tensor(s, &s->args[1], source));
  if ((*self)->g->dtype != (*source)->g->dtype)
    return fnzi_fail(s->ctx, FNZ_CLASS_TYPE, "", "%s: the tensor is %s, the source is %s",
                     s->op->name, fnzi_dtype((*self)->g->dtype)->name,
                     fnzi_dtype((*source)->g->dtype)->name);
  fnzi_pane_of((*source)->g, w);
  return FNZ_OK;
}

/* set_(self, source), set_data(self, new_data) */
fnz_status fnzi_act_set_tensor(fnzi_act *s) {
  fnzi_eager *self, *source;
  fnzi_pane w;
  FNZ_TRY(read_source(s, &self, &source, &w));
  return set(s, self, source->memory, &w);
}

/* set_(self, source, storage_offset, size, stride): the source stands for memory that begins where
 * it does. */
fnz_status fnzi_act_set_window(fnzi_act *s) {
  fnzi_eager *self, *source;
  fnzi_pane w;
  uint32_t count;
  FNZ_TRY(read_source(s, &self, &source, &w));
  if (!fnzi_is_contiguous(source->g))
    return fnzi_fail(s->ctx, FNZ_CLASS_TYPE, "",
                     "%s: the source must be contiguous to stand for memory; call contiguous() on "
                     "it before",
                     s->op->name);
  FNZ_TRY(fnzi_act_ints(s, 3, w.sizes, &w.rank));
  FNZ_TRY(fnzi_act_ints(s, 4, w.strides, &count));
  if (count == 0)
    fnzi_contiguous_strides(w.sizes, w.rank, w.strides);
  else if (count != w.rank)
    return fnzi_act_refuse(s, "as many strides as sizes are needed", count, w.rank);
  w.offset = source->g->offset + fnzi_act_int(s, 2, 0);
  return set(s, self, source->memory, &w);
}

/* set_(self) */
fnz_status fnzi_act_set_empty(fnzi_act *s) {
  fnzi_eager *self;
  fnzi_memory *memory;
  FNZ_TRY(fnzi_act_tensor(s, &s->args[0], &self));
  fnzi_pane w = {.dtype = self->g->dtype, .rank = 1};
  fnzi_pane_dense(&w);
  FNZ_TRY(fnzi_memory_create(&s->in->run, w.dtype, 0, &memory));
  return set(s, self, memory, &w);
}

fnz_status fnzi_act_nothing(fnzi_act *s) {
  fnzi_eager *self;
  FNZ_TRY(fnzi_act_tensor(s, &s->args[0], &self));
  return give(s, self);
}

/* --- Waiting ---------------------------------------------------------------------------------- */

/* A collective's result is there once somebody has waited for it: the same tensor, which the
 * backend gives its value. Its argument is a tensor, or one list of them. */
fnz_status fnzi_act_wait(fnzi_act *s) {
  bool is_list = s->args[0].tag == FNZ_ARG_LIST;
  const fnz_arg *items = is_list ? s->args[0].u.list : s->args;
  size_t count = is_list ? s->args[0].count : 1;
  const fnz_geometry **expected;
  fnzi_eager **waited;
  fnz_handle *values;
  FNZI_NEW(&s->in->run.scratch, count, &expected);
  FNZI_NEW(&s->in->run.scratch, count, &waited);
  FNZI_NEW(&s->in->run.scratch, count, &values);
  for (size_t i = 0; i < count; i++) {
    FNZ_TRY(fnzi_act_tensor(s, &items[i], &waited[i]));
    expected[i] = waited[i]->g;
  }
  FNZ_TRY(fnzi_eager_apply(s->in, s->op, s->args, s->op->nparams, expected, values, count));
  fnz_status status = FNZ_OK;
  for (size_t i = 0; i < count; i++) {
    if (status == FNZ_OK)
      status = fnzi_eager_write(s->in, waited[i], values[i], NULL);
    else
      s->in->run.backend->release(s->in->run.backend->self, values[i]);
    if (status == FNZ_OK)
      status = fnzi_act_push(s, waited[i]);
  }
  return status;
}
