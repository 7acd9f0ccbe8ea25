/* lower_rows.c - lowering of calls that compute row by row, over any dimensions, as groups with
 * rows: a row's dimensions are moved to the end. */
#include "engine/device/rows.h"

enum { NONE = FNZI_DEV_ROWS_NONE };

/* A call, and its group. */
typedef struct row_group {
  fnzi_dev_rows r;
  fnzi_krn_call *call;
  const fnz_geometry *x;
  uint32_t order[FNZ_MAX_RANK]; /* dimension of x that is dimension d of the group */
  bool reduced[FNZ_MAX_RANK];
  int64_t length;
} row_group;

/* --- Tiles ------------------------------------------------------------------------------------ */
static fnz_status add_row(fnzi_dev_rows *r, const fnzi_tile_program *t, const fnzi_tile_ins *ins,
                          bool *fits) {
  uint16_t in[FNZI_ROW_OPERANDS] = {NONE, NONE, NONE}, results[FNZI_ROW_RESULTS];
  for (uint32_t k = 0; k < ins->arity; k++)
    in[ins->row->code_operand[k]] = ins->in[k];
  fnz_dtype out = (fnz_dtype)t->slots[ins->row->out[0]].dtype;
  *fits = fnzi_dev_rows_code(r, &ins->row->code, out, t->row, in, results);
  for (uint32_t k = 0; k < ins->row->results && *fits; k++)
    fnzi_dev_rows_add(
        r, (fnzi_cuda_ins){
               .kind = FNZI_CUDA_CONVERT, .arity = 1, .out = ins->row->out[k], .in = {results[k]}});
  return FNZ_OK;
}

fnz_status fnzi_dev_work_of_rows(fnzi_dev_builder *m, const fnzi_tile_program *t,
                                 fnzi_dev_work *out) {
  fnzi_dev_rows r;
  bool fits = true;
  FNZ_TRY(fnzi_dev_rows_begin(m, &r));
  r.g.rank = t->rank;
  r.g.outer = t->outer;
  memcpy((int64_t *)(uintptr_t)r.g.sizes, t->sizes, t->rank * sizeof *t->sizes);
  for (uint32_t k = 0; k < t->nslots; k++) {
    const fnzi_tile_slot_info *s = &t->slots[k];
    uint16_t slot = fnzi_dev_rows_value(&r, (fnz_dtype)s->dtype, s->of_rows || s->constants);
    r.g.slots[slot].number = s->constants;
  }
  for (uint32_t k = 0; k < t->nlanes; k++) {
    const fnzi_tile_lane *lane = &t->lanes[k];
    const fnzi_dev_operand operand = {fnzi_dev_memory_of(m->b, lane->storage), lane->offset};
    fnzi_dev_describe_lane(t, lane, fnzi_dev_rows_lane(&r, lane->slot, lane->stores, operand));
  }
  for (uint32_t k = 0; k < t->nins && fits; k++) {
    fnzi_cuda_ins ins = {.kind = FNZI_CUDA_ROW};
    if (t->ins[k].kind == FNZI_TILE_INS_ROW) {
      FNZ_TRY(add_row(&r, t, &t->ins[k], &fits));
      continue;
    }
    fnzi_dev_describe_ins(&t->ins[k], &ins);
    fnzi_dev_rows_add(&r, ins);
  }
  return fits ? fnzi_dev_rows_end(&r, out)
              : fnzi_dev_work_refuse(out, "a reduction of the group has no text");
}

/* --- Calls ------------------------------------------------------------------------------------ */
/* Starts a group with the dimensions of x in order, except that reduced ones, a row's dimensions,
 * come last. */
static fnz_status open_rows(fnzi_dev_builder *m, fnzi_krn_call *call, const bool *reduced,
                            row_group *w) {
  int64_t *sizes;
  *w = (row_group){.call = call, .x = &fnzi_krn_call_input(call, 0)->window, .length = 1};
  FNZ_TRY(fnzi_dev_rows_begin(m, &w->r));
  sizes = (int64_t *)(uintptr_t)w->r.g.sizes;
  memcpy(w->reduced, reduced, w->x->rank * sizeof *reduced);
  for (int rows = 0; rows < 2; rows++)
    for (uint32_t d = 0; d < w->x->rank; d++) {
      if (reduced[d] != rows)
        continue;
      w->order[w->r.g.rank] = d;
      sizes[w->r.g.rank++] = w->x->sizes[d];
      w->r.g.outer += !rows;
      if (rows)
        w->length = fnzi_krn_stride_bytes(w->length, (size_t)w->x->sizes[d]);
    }
  if (w->r.g.rank == w->r.g.outer) { /* a row of one element */
    if (w->r.g.rank == FNZ_MAX_RANK)
      return fnzi_fail(m->ws->ctx, FNZ_CLASS_INTERNAL, NULL, "too many dimensions");
    w->order[w->r.g.rank] = FNZ_MAX_RANK;
    sizes[w->r.g.rank++] = 1;
  }
  return FNZ_OK;
}

/* A lane of an array that has the dimensions of x, without its first `missing` ones. */
static bool lower_add_lane(row_group *w, const fnzi_krn_array *a, uint16_t slot, bool stores,
                           uint32_t missing) {
  fnzi_dev_operand operand;
  if (!fnzi_dev_operand_of(w->r.m, a, &operand))
    return false;
  fnzi_cuda_lane *lane = fnzi_dev_rows_lane(&w->r, slot, stores, operand);
  for (uint32_t d = 0; d < w->r.g.rank; d++) {
    uint32_t of = w->order[d];
    bool has = of != FNZ_MAX_RANK && of >= missing && a->window.sizes[of - missing] != 1;
    lane->strides[d] = has ? fnzi_krn_stride_bytes(a->window.strides[of - missing], a->cell) : 0;
  }
  return true;
}

/* The same of one that has only the dimensions that are no row's. */
static bool add_reduced_lane(row_group *w, const fnzi_krn_array *a, uint16_t slot, bool stores) {
  fnzi_dev_operand operand;
  if (!fnzi_dev_operand_of(w->r.m, a, &operand))
    return false;
  fnzi_cuda_lane *lane = fnzi_dev_rows_lane(&w->r, slot, stores, operand);
  for (uint32_t d = 0; d < w->r.g.outer && d < a->window.rank; d++)
    lane->strides[d] = fnzi_krn_stride_bytes(a->window.strides[d], a->cell);
  return true;
}

static uint16_t add_input(row_group *w, const fnzi_krn_array *a, uint32_t missing, bool *fits) {
  uint16_t slot = fnzi_dev_rows_value(&w->r, a->window.dtype, false);
  *fits = *fits && lower_add_lane(w, a, slot, false, missing);
  return slot;
}

static bool lower_is_real(fnz_dtype dtype) {
  return fnzi_cuda_text_converts(dtype) && !fnzi_is_complex(dtype) && dtype != FNZ_U64;
}

/* Returns whether all operands and results are real. */
static bool are_real(const fnzi_krn_call *call) {
  bool real = true;
  for (uint32_t k = 0; k < call->op->nparams && real; k++) {
    const fnzi_krn_array *a = fnzi_krn_arg_array(&call->args[k]);
    real = !a || lower_is_real(a->window.dtype);
  }
  for (size_t k = 0; k < call->noutputs && real; k++)
    real = !call->outputs[k] || lower_is_real(call->outputs[k]->window.dtype);
  return real;
}

/* Kernels that take elements in the type of their result. */
static bool rounds_input(const fnzi_krn_call *call) {
  enum { AS_IS, ROUNDED };
  switch (call->row->run) {
#define EACH(run, over, parameter, code, input)                                                    \
  case FNZI_RUN_##run:                                                                             \
    return input == ROUNDED;
#include "kernels/row_ops.def"
  default:
    return false;
  }
}

static fnz_status close_rows(row_group *w, const uint16_t in[FNZI_ROW_OPERANDS], bool fits,
                             fnzi_dev_work *out) {
  const fnzi_meta_row_code code = {.kernel = w->call->row->run,
                                   .mode = w->call->row->mode,
                                   .dtype = fnzi_krn_call_geometry(w->call, 0)->dtype,
                                   .parameter = fnzi_meta_row_parameter(w->call)};
  uint16_t results[FNZI_ROW_RESULTS] = {0};
  fnz_dtype dtype = w->call->outputs[0]->window.dtype;
  if (fits && !fnzi_dev_rows_code(&w->r, &code, dtype, w->length, in, results))
    return fnzi_dev_work_refuse(out, "no text for its type");
  /* A result is whole, or a number for each row, whose dimensions are kept or dropped. */
  for (size_t k = 0; fits && k < w->call->noutputs && k < FNZI_ROW_RESULTS; k++) {
    const fnzi_krn_array *a = w->call->outputs[k];
    if (!a)
      continue;
    uint16_t slot = fnzi_dev_rows_convert(&w->r, a->window.dtype, results[k]);
    fits = a->window.rank == w->x->rank ? lower_add_lane(w, a, slot, true, 0)
                                        : add_reduced_lane(w, a, slot, true);
  }
  return fits ? fnzi_dev_rows_end(&w->r, out)
              : fnzi_dev_work_refuse(out, "an operand is in no buffer of the plan");
}

static bool is_empty(const fnzi_krn_call *call) {
  return fnzi_krn_array_numel(fnzi_krn_call_input(call, 0)) == 0;
}

static fnz_status over(fnzi_dev_builder *m, fnzi_krn_call *call, const bool *reduced,
                       fnzi_dev_work *out) {
  row_group w;
  bool fits = true;
  if (!are_real(call))
    return fnzi_dev_work_refuse(out, "no row kernel for complex numbers");
  if (is_empty(call))
    return fnzi_dev_work_refuse(out, "there are no elements");
  FNZ_TRY(open_rows(m, call, reduced, &w));
  uint16_t x = add_input(&w, fnzi_krn_call_input(call, 0), 0, &fits);
  if (rounds_input(call))
    x = fnzi_dev_rows_convert(&w.r, call->outputs[0]->window.dtype, x);
  return close_rows(&w, (const uint16_t[]){x, NONE, NONE}, fits, out);
}

fnz_status fnzi_dev_lower_reduction(fnzi_dev_builder *m, fnzi_krn_call *call, fnzi_dev_work *out) {
  bool reduced[FNZ_MAX_RANK];
  FNZ_TRY(fnzi_meta_reduced_dims(call, reduced));
  return over(m, call, reduced, out);
}

fnz_status fnzi_dev_lower_along_dim(fnzi_dev_builder *m, fnzi_krn_call *call, fnzi_dev_work *out) {
  bool reduced[FNZ_MAX_RANK] = {false};
  uint32_t dim = 0, rank = fnzi_krn_call_geometry(call, 0)->rank;
  FNZ_TRY(fnzi_wrap_dim(call->ctx, fnz_op_name(call->op), fnzi_krn_named_int(call, "dim", -1), rank,
                        &dim));
  reduced[dim] = true;
  return over(m, call, reduced, out);
}

/* --- Norms ------------------------------------------------------------------------------------ */
static uint16_t add_weight(row_group *w, const char *name, uint32_t missing, bool *fits) {
  const fnzi_krn_array *a = fnzi_krn_named_array(w->call, name);
  return a ? add_input(w, a, missing, fits) : NONE;
}

fnz_status fnzi_dev_lower_layer_norm(fnzi_dev_builder *m, fnzi_krn_call *call, fnzi_dev_work *out) {
  bool reduced[FNZ_MAX_RANK] = {false}, fits = true;
  uint32_t rank = fnzi_krn_call_geometry(call, 0)->rank;
  const int64_t *shape;
  size_t count;
  row_group w;
  FNZ_TRY(fnzi_krn_named_ints(call, "normalized_shape", &shape, &count));
  if (!are_real(call) || is_empty(call) || count > rank)
    return fnzi_dev_work_refuse(out, "there are no elements");
  for (uint32_t d = 0; d < count; d++)
    reduced[rank - 1 - d] = true;
  FNZ_TRY(open_rows(m, call, reduced, &w));
  uint32_t missing = rank - (uint32_t)count;
  const uint16_t in[] = {add_input(&w, fnzi_krn_call_input(call, 0), 0, &fits),
                         add_weight(&w, "weight", missing, &fits),
                         add_weight(&w, "bias", missing, &fits)};
  return close_rows(&w, in, fits, out);
}
