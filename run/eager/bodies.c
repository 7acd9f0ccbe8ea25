/* bodies.c - what the aliasing interpreter does for bodies of higher-order operators: tensors are
 * passed in and out as they are, slices are windows, stacks and copies are new memory. */
#include "run/eager/eager.h"

static void end_item(void *self, fnzi_run_item *item) {
  fnzi_eag_tensor_end(self, (fnzi_eag_tensor *)item);
}

static const fnz_geometry *item_geometry(void *self, const fnzi_run_item *item) {
  (void)self;
  return ((const fnzi_eag_tensor *)item)->g;
}

static fnz_status item_value(void *self, fnzi_run_item *item, fnz_handle *out) {
  return fnzi_eag_tensor_value(self, (fnzi_eag_tensor *)item, out);
}

/* A window into the tensor's memory, as select has it. */
static fnz_status slice_item(void *self, fnzi_run_item *item, int64_t index, fnzi_run_item **out) {
  const fnzi_eag_tensor *from = (const fnzi_eag_tensor *)item;
  fnzi_eag_tensor *slice;
  fnzi_eag_window w;
  fnzi_eag_window_of(from->g, &w);
  fnzi_eag_window_move(&w, 0, index);
  fnzi_eag_window_drop(&w, 0);
  FNZ_TRY(fnzi_eag_tensor_create(self, from->memory, &w, &slice));
  *out = &slice->item;
  return FNZ_OK;
}

/* Memory of its own for a value (borrowed) of the tensor's sizes, in the order of its memory. */
static fnz_status store_like(fnzi_eag_interp *in, const fnz_geometry *g, fnz_handle value,
                             fnzi_run_item **out) {
  fnzi_eag_tensor *made;
  fnzi_eag_window w;
  fnzi_eag_window_of(g, &w);
  w.dtype = fnzi_run_geometry_of(&in->run, value)->dtype;
  w.is_conj = w.is_neg = false;
  w.offset = 0;
  if (!fnzi_is_dense(g))
    fnzi_eag_window_dense(&w);
  FNZ_TRY(fnzi_eag_tensor_store(in, &w, value, &made));
  *out = &made->item;
  return FNZ_OK;
}

static fnz_status copy_item(void *self, fnzi_run_item *item, fnzi_run_item **out) {
  fnz_handle value;
  FNZ_TRY(item_value(self, item, &value));
  return store_like(self, ((const fnzi_eag_tensor *)item)->g, value, out);
}

static fnz_status cast_item(void *self, fnzi_run_item *item, fnz_dtype dtype, fnzi_run_item **out) {
  fnzi_eag_interp *in = self;
  fnz_handle value, casted = 0;
  FNZ_TRY(item_value(self, item, &value));
  FNZ_TRY(fnzi_eag_unary(in, "_to_copy", value, dtype, &casted));
  fnz_status status = store_like(in, ((const fnzi_eag_tensor *)item)->g, casted, out);
  fnzi_run_release(&in->run, casted);
  return status;
}

/* New memory, filled slice after slice. */
static fnz_status stack_items(void *self, fnzi_run_item *const *items, size_t count,
                              fnzi_run_item **out) {
  fnzi_eag_interp *in = self;
  fnz_geometry g;
  fnzi_run_memory *memory;
  fnzi_eag_tensor *all;
  fnzi_eag_window w;
  FNZ_TRY(fnzi_run_stack_geometry(&in->run, item_geometry(in, items[0]), count, &g));
  fnzi_eag_window_of(&g, &w);
  FNZ_TRY(fnzi_run_memory_create(&in->run, w.dtype, fnz_geometry_numel(&g), &memory));
  FNZ_TRY(fnzi_eag_tensor_create(in, memory, &w, &all));
  fnzi_eag_window_drop(&w, 0);
  for (size_t i = 0; i < count; i++) {
    fnz_geometry slice = fnzi_eag_window_geometry(&w);
    fnz_handle value;
    slice.offset = (int64_t)i * g.strides[0];
    FNZ_TRY(fnzi_eag_tensor_value(in, (fnzi_eag_tensor *)items[i], &value));
    FNZ_TRY(fnzi_eag_deposit(in, &slice, NULL, value, memory));
  }
  *out = &all->item;
  return FNZ_OK;
}

fnzi_run_interpreter fnzi_eag_interpreter(fnzi_eag_interp *in,
                                          fnz_status (*node)(void *self, const fnzi_node *node)) {
  return (fnzi_run_interpreter){.self = in,
                                .node = node,
                                .end = end_item,
                                .geometry = item_geometry,
                                .value = item_value,
                                .slice = slice_item,
                                .copy = copy_item,
                                .cast = cast_item,
                                .stack = stack_items};
}
