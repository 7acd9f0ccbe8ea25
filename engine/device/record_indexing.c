/* record_indexing.c - records indexing: elements that are loaded from, or stored to, places given
 * by index tensors (record.c). */
#include "engine/device/record.h"
#include "kernels/core/sort_recorded.h"
#include "kernels/meta/point.h"

_Static_assert((int)FNZI_KRN_PICKS <= (int)FNZI_CUDA_PICKS, "indices of a kernel");

/* Opens a piece, a group without lanes or loop. Slot k is an operand of the dtype. */
static void open_statements(fnzi_dev_recorded *g, fnz_dtype first, fnz_dtype second) {
  g->nins = 0;
  g->nslots = 2;
  g->slots[0] = (fnzi_cuda_slot){.dtype = (uint8_t)first};
  g->slots[1] = (fnzi_cuda_slot){.dtype = (uint8_t)second};
}

static fnzi_cuda_statements close_statements(fnzi_dev_recorded *g, uint16_t result) {
  return (fnzi_cuda_statements){
      {.ins = g->ins, .slots = g->slots, .nins = g->nins, .nslots = g->nslots}, result};
}

static fnz_status make_move(fnzi_dev_recording *r, fnzi_dev_recorded *g, const fnzi_krn_picking *p,
                            const unsigned char *number, fnzi_cuda_statements *out) {
  uint16_t value = 0;
  open_statements(g, p->from.dtype, FNZ_I64);
  g->nslots = 1;
  g->slots[0].number = number;
  FNZ_TRY(fnzi_dev_record_convert(r, g, FNZI_CUDA_CONVERT, p->to.dtype, &value));
  *out = close_statements(g, value);
  return FNZ_OK;
}

static fnz_status make_join(fnzi_dev_recording *r, fnzi_dev_recorded *g, const fnzi_krn_picking *p,
                            const unsigned char *number, unsigned char *alpha_room,
                            fnzi_cuda_statements *out) {
  fnz_dtype computes = fnzi_meta_point_class(p->wide);
  fnzi_cuda_ins row = {.kind = FNZI_CUDA_ROW,
                       .arity = 2,
                       .compute = (uint8_t)(p->converts_first ? computes : p->wide),
                       .row = p->row,
                       .in = {0, 1}};
  open_statements(g, p->wide, p->from.dtype);
  g->slots[1].number = number;
  if (p->converts_first)
    FNZ_TRY(fnzi_dev_record_convert(r, g, FNZI_CUDA_CONVERT, p->wide, &row.in[1]));
  if (p->alpha) {
    fnzi_krn_window alpha;
    fnzi_krn_window_number(p->alpha, p->wide, alpha_room, &alpha);
    row.in[row.arity++] = (uint16_t)g->nslots;
    g->slots[g->nslots++] = (fnzi_cuda_slot){.dtype = (uint8_t)alpha.dtype, .number = alpha.data};
  }
  for (uint8_t k = 0; k < row.arity; k++)
    FNZ_TRY(fnzi_dev_record_convert(r, g, FNZI_CUDA_CONVERT, computes, &row.in[k]));
  uint16_t value = fnzi_dev_record_put(g, row, computes);
  FNZ_TRY(fnzi_dev_record_convert(r, g, FNZI_CUDA_CONVERT, p->wide, &value));
  *out = close_statements(g, value);
  return FNZ_OK;
}

static fnz_status make_close(fnzi_dev_recording *r, fnzi_dev_recorded *g, const fnzi_krn_picking *p,
                             fnzi_cuda_statements *out) {
  fnz_dtype computes = fnzi_meta_point_class(p->to.dtype);
  bool is_real = fnzi_is_float(p->to.dtype) || fnzi_is_complex(p->to.dtype);
  fnzi_cuda_ins row = {.kind = FNZI_CUDA_ROW,
                       .arity = 2,
                       .compute = (uint8_t)p->to.dtype,
                       .row = is_real ? "div" : "div_floor",
                       .in = {0, 1}};
  uint16_t value = 0;
  open_statements(g, p->wide, FNZ_I64);
  FNZ_TRY(fnzi_dev_record_convert(r, g, FNZI_CUDA_CONVERT, p->to.dtype, &value));
  row.in[0] = value;
  if (p->averages) {
    FNZ_TRY(fnzi_dev_record_convert(r, g, FNZI_CUDA_CONVERT, computes, &row.in[0]));
    FNZ_TRY(fnzi_dev_record_convert(r, g, FNZI_CUDA_CONVERT, computes, &row.in[1]));
    value = fnzi_dev_record_put(g, row, computes);
    FNZ_TRY(fnzi_dev_record_convert(r, g, FNZI_CUDA_CONVERT, p->to.dtype, &value));
  }
  *out = close_statements(g, value);
  return FNZ_OK;
}

/* Strides in bytes of a window that broadcasts to the space of `to`. */
static void strides_over(const fnzi_krn_window *to, const fnzi_krn_window *w, int64_t *out) {
  fnzi_krn_loop loop;
  fnzi_krn_loop_start(&loop, to->rank, to->sizes);
  fnzi_krn_loop_add_window(&loop, w);
  memcpy(out, loop.strides[0], to->rank * sizeof *out);
}

typedef struct picked {
  fnzi_cuda_picking text;
  fnzi_dev_operand operands[FNZI_CUDA_PICKS + 5];
  uint32_t noperands;
  fnzi_dev_recorded groups[4];
  unsigned char alpha[16];
} picked;

/* The indices, an operand for each. */
static fnz_status describe_picks(fnzi_dev_recording *r, const fnzi_krn_picking *p, picked *out) {
  const size_t cell = p->into ? p->to.cell : p->from.cell;
  for (uint32_t k = 0; k < p->npicks; k++) {
    const fnzi_krn_pick *pick = &p->picks[k];
    out->text.picks[k] = (fnzi_cuda_pick){.dtype = (uint8_t)pick->index.dtype,
                                          .size = pick->size,
                                          .stride = fnzi_krn_stride_bytes(pick->stride, cell),
                                          .wraps = pick->wraps};
    strides_over(&p->to, &pick->index, out->text.picks[k].strides);
    if (!fnzi_dev_record_locate(pick->index.data, &out->operands[out->noperands++]))
      return fnzi_dev_record_refuse(r, "it reads memory outside the plan");
  }
  return FNZ_OK;
}

static fnz_status describe(fnzi_dev_recording *r, const fnzi_krn_picking *p, picked *out) {
  fnzi_cuda_picking *text = &out->text;
  const unsigned char *number = NULL;
  *text = (fnzi_cuda_picking){.rank = p->to.rank,
                              .sizes = p->to.sizes,
                              .stored = p->to.dtype,
                              .read = p->from.dtype,
                              .npicks = p->npicks,
                              .into = p->into,
                              .first = p->first,
                              .order = p->into ? p->rank : 0,
                              .joins = p->row != NULL,
                              .starts_anew = p->start != NULL,
                              .counts_self = p->counts_self};
  out->noperands = 2;
  strides_over(&p->to, &p->to, text->to);
  strides_over(&p->to, &p->from, text->from);
  if (!fnzi_dev_record_locate(p->to.data, &out->operands[0]))
    return fnzi_dev_record_refuse(r, "a result has no location");
  out->operands[1] = out->operands[0];
  if (!fnzi_dev_record_locate(p->from.data, &out->operands[1])) {
    if (!fnzi_dev_record_is_scalar(&p->from) || !p->into)
      return fnzi_dev_record_refuse(r, "it reads memory outside the plan");
    text->reads_number = true;
    number = p->from.data;
  }
  FNZ_TRY(describe_picks(r, p, out));
  out->operands[out->noperands++] = (fnzi_dev_operand){FNZI_DEV_AT_FLAG, 0};
  if (!p->row)
    return make_move(r, &out->groups[0], p, number, &text->move);
  fnzi_dev_recorded *g = &out->groups[1];
  uint16_t value = 0;
  open_statements(g, p->start ? p->start->dtype : p->to.dtype, FNZ_I64);
  g->nslots = 1;
  g->slots[0].number = p->start ? p->start->data : NULL;
  FNZ_TRY(fnzi_dev_record_convert(r, g, FNZI_CUDA_CONVERT, p->wide, &value));
  text->open = close_statements(g, value);
  FNZ_TRY(make_join(r, &out->groups[2], p, number, out->alpha, &text->join));
  return make_close(r, &out->groups[3], p, &text->close);
}

/* --- Places in order -------------------------------------------------------------------------- */
/* Memory of the step with a number of each place, as one operand more. */
static fnz_status indexing_add_scratch(fnzi_dev_recording *r, picked *p, int64_t count,
                                       void **out) {
  FNZ_TRY(fnzi_krn_scratch_take(r->recorded, count, sizeof(int64_t), out));
  (void)fnzi_dev_record_locate(*out, &p->operands[p->noperands++]);
  return FNZ_OK;
}

static fnz_status launch_over(fnzi_dev_recording *r, const picked *p, uint32_t kernel,
                              int64_t count) {
  return fnzi_dev_work_launch(r->m, r->out, kernel, count, p->operands, p->noperands);
}

/* Memory of the keys becomes that of the ends. */
static fnz_status sort_indices(fnzi_dev_recording *r, picked *p, int64_t count, int64_t lanes) {
  fnzi_krn_recorded_sort sort = {
      .dtype = FNZ_I64, .rows = lanes, .length = count, .inner = 1, .keep = count};
  uint32_t kernel;
  void *keys;
  FNZ_TRY(indexing_add_scratch(r, p, count * lanes, &keys));
  FNZ_TRY(fnzi_cuda_text_keys(r->m->ws->ctx, &r->m->text, &p->text, &kernel));
  FNZ_TRY(launch_over(r, p, kernel, count * lanes));
  sort.elements = keys;
  FNZ_TRY(fnzi_krn_sort_record(r->recorded, &sort));
  FNZ_TRY(fnzi_krn_sort_record_runs(r->recorded, &sort, keys));
  (void)fnzi_dev_record_locate(sort.places, &p->operands[p->noperands - 1]);
  (void)fnzi_dev_record_locate(keys, &p->operands[p->noperands++]);
  return FNZ_OK;
}

/* Adds a kernel that sorts the indices, so that elements of one target are joined in order. It runs
 * before any element is moved. Each thread handles one index. FEW indices are compared in pairs.
 * Sorting takes 24 to 40 bytes per index, up to 5 GB for MOST. */
static fnz_status add_order(fnzi_dev_recording *r, picked *p) {
  enum { FEW = 128, MOST = 1 << 27 };
  int64_t places, lanes, all;
  uint32_t kernel;
  void *order, *ends;
  fnzi_cuda_picking_count(&p->text, &places, &lanes);
  if (!p->text.into || (places <= 1 && lanes <= 1))
    return FNZ_OK;
  if (!fnzi_mul_i64(places, lanes, &all))
    return fnzi_dev_record_refuse(r, "it has too many elements");
  if (places > FEW && all > MOST)
    return fnzi_dev_record_refuse(r, "sorting so many indices takes too much memory");
  if (places > FEW)
    return sort_indices(r, p, places, lanes);
  if (places > 1) {
    FNZ_TRY(indexing_add_scratch(r, p, all, &order));
    FNZ_TRY(indexing_add_scratch(r, p, all, &ends));
  }
  FNZ_TRY(fnzi_cuda_text_in_order(r->m->ws->ctx, &r->m->text, &p->text, &kernel));
  return launch_over(r, p, kernel, all);
}

/* Records an indexing. Without elements the CPU checks the index and reports its errors. */
fnz_status fnzi_dev_record_pick(void *user, const fnzi_krn_picking *picking) {
  fnzi_dev_recording *r = user;
  uint32_t kernel;
  int64_t count;
  picked *p;
  if (!fnzi_dev_record_count(picking->to.rank, picking->to.sizes, &count))
    return fnzi_dev_record_refuse(r, "it has too many elements");
  if (count == 0)
    return fnzi_dev_record_refuse(r, "it has no elements");
  FNZI_NEW(&r->m->ws->scratch, 1, &p);
  FNZ_TRY(describe(r, picking, p));
  FNZ_TRY(add_order(r, p));
  FNZ_TRY(fnzi_cuda_text_pick(r->m->ws->ctx, &r->m->text, &p->text, &kernel));
  return launch_over(r, p, kernel, count);
}
