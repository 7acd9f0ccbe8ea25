/* record.c - records kernels that only move elements, combine them by rows of point.def or compute
 * each by a formula, and makes launches of them. The CPU's kernel runs with fake addresses and a
 * recorder, which it calls instead of computing (kernels/core/window.h).
 *
 * Meanwhile each buffer of the binding, and the scratch of the step, has a unique address that no
 * memory has. Windows at other addresses are scalars of the kernel. */
#include "engine/device/record.h"
#include "engine/steps/scalars.h"

static fnz_status reserve_scratch(void *user, size_t bytes, void **out) {
  fnzi_dev_recording *r = user;
  int64_t offset;
  FNZ_TRY(fnzi_dev_work_scratch(r->m, r->out, bytes, &offset));
  if (r->out->scratch >= FNZI_DEV_RECORD_AREA)
    return fnzi_dev_record_refuse(r, "too much scratch memory");
  *out = fnzi_dev_record_address(FNZI_DEV_RECORD_SCRATCH) + offset;
  return FNZ_OK;
}

static fnz_status scalar_window(void *user, uint32_t k, fnz_dtype dtype, fnzi_krn_window *out) {
  fnzi_dev_recording *r = user;
  size_t offset;
  if (!fnzi_stp_scalar_find(r->m->b, r->call, k, dtype, &offset))
    return fnzi_dev_record_refuse(r, "a scalar argument depends on data");
  fnzi_krn_window_dense(out, dtype, 0, NULL,
                        fnzi_dev_record_address(FNZI_DEV_RECORD_SCALARS) + offset);
  return FNZ_OK;
}

/* --- Loops ------------------------------------------------------------------------------------ */
/* The value of a window: read at each element, or a number. */
static fnz_status read_window(fnzi_dev_recording *r, fnzi_dev_recorded *g, const fnzi_krn_window *w,
                              uint16_t *slot) {
  fnzi_dev_operand operand;
  *slot = (uint16_t)g->nslots++;
  g->slots[*slot] = (fnzi_cuda_slot){.dtype = (uint8_t)w->dtype};
  uint32_t window = g->loop.operands;
  fnzi_krn_loop_add_window(&g->loop, w);
  if (fnzi_dev_record_locate(w->data, &operand)) {
    g->windows[g->nlanes] = window;
    g->operands[g->nlanes] = operand;
    g->lanes[g->nlanes++] =
        (fnzi_cuda_lane){.slot = *slot, .aligned = fnzi_dev_aligned(operand.offset)};
    return FNZ_OK;
  }
  g->slots[*slot].number = w->data;
  return fnzi_dev_record_is_scalar(w)
             ? FNZ_OK
             : fnzi_dev_record_refuse(r, "it reads memory outside the plan");
}

static fnz_status write_window(fnzi_dev_recording *r, fnzi_dev_recorded *g,
                               const fnzi_krn_window *w, uint16_t slot) {
  fnzi_dev_operand operand;
  if (!fnzi_dev_record_locate(w->data, &operand))
    return fnzi_dev_record_refuse(r, "a result has no location");
  g->windows[g->nlanes] = 0;
  g->operands[g->nlanes] = operand;
  g->lanes[g->nlanes++] =
      (fnzi_cuda_lane){.slot = slot, .stores = true, .aligned = fnzi_dev_aligned(operand.offset)};
  return FNZ_OK;
}

/* Adds the launch of a group, after merging adjacent dimensions and moving short strides last. */
static fnz_status launch_group(fnzi_dev_recording *r, fnzi_dev_recorded *g) {
  int64_t count;
  uint32_t kernel;
  fnzi_krn_loop_normalise(&g->loop, false);
  if (!fnzi_dev_record_count(g->loop.rank, g->loop.sizes, &count))
    return fnzi_dev_record_refuse(r, "it has too many elements");
  for (uint32_t k = 0; k < g->nlanes; k++)
    memcpy(g->lanes[k].strides, g->loop.strides[g->windows[k]],
           g->loop.rank * sizeof *g->lanes[k].strides);
  const fnzi_cuda_group text = {.rank = g->loop.rank,
                                .sizes = g->loop.sizes,
                                .lanes = g->lanes,
                                .ins = g->ins,
                                .slots = g->slots,
                                .nlanes = g->nlanes,
                                .nins = g->nins,
                                .nslots = g->nslots};
  FNZ_TRY(fnzi_cuda_text_add(r->m->ws->ctx, &r->m->text, &text, &kernel, &count));
  return fnzi_dev_work_launch(r->m, r->out, kernel, count, g->operands, g->nlanes);
}

/* Opens a group. Operand 0 of the loop is its result. */
static bool open_group(fnzi_dev_recorded *g, const fnzi_krn_window *to) {
  *g = (fnzi_dev_recorded){.nlanes = 0};
  fnzi_krn_loop_start(&g->loop, to->rank, to->sizes);
  fnzi_krn_loop_add_window(&g->loop, to);
  for (uint32_t d = 0; d < to->rank; d++)
    if (to->sizes[d] == 0)
      return false;
  return true;
}

static fnz_status record_move(void *user, const fnzi_krn_window *to, const fnzi_krn_window *from,
                              bool casts) {
  fnzi_dev_recording *r = user;
  fnzi_dev_recorded g;
  uint16_t value;
  if (!open_group(&g, to))
    return FNZ_OK;
  FNZ_TRY(read_window(r, &g, from, &value));
  FNZ_TRY(fnzi_dev_record_convert(r, &g, casts ? FNZI_CUDA_CAST : FNZI_CUDA_CONVERT, to->dtype,
                                  &value));
  FNZ_TRY(write_window(r, &g, to, value));
  return launch_group(r, &g);
}

/* Records to = row(to, from, number). A row with one operand reads the target, because there is no
 * other. */
static fnz_status combine(void *user, const fnzi_krn_combination *c) {
  fnzi_dev_recording *r = user;
  const fnzi_krn_window *const in[] = {c->to, c->from, c->number};
  uint8_t kind = c->keeps ? FNZI_CUDA_KEEP : FNZI_CUDA_CONVERT;
  fnzi_cuda_ins row = {.kind = FNZI_CUDA_ROW,
                       .arity = !c->from    ? 1
                                : c->number ? 3
                                            : 2,
                       .compute = (uint8_t)c->compute,
                       .row = c->row};
  fnzi_dev_recorded g;
  if (!open_group(&g, c->to))
    return FNZ_OK;
  for (uint8_t k = 0; k < row.arity; k++) {
    FNZ_TRY(read_window(r, &g, in[k], &row.in[k]));
    FNZ_TRY(fnzi_dev_record_convert(r, &g, kind, c->class_dtype, &row.in[k]));
  }
  uint16_t value = fnzi_dev_record_put(&g, row, c->out);
  FNZ_TRY(fnzi_dev_record_convert(r, &g, kind, c->to->dtype, &value));
  FNZ_TRY(write_window(r, &g, c->to, value));
  return launch_group(r, &g);
}

/* --- Formulas --------------------------------------------------------------------------------- */
/* Finds the operand of a window. A result that nothing needs gets scratch of the step. */
static fnz_status operand_of(fnzi_dev_recording *r, const fnzi_krn_window *w, bool is_result,
                             fnzi_dev_operand *out) {
  int64_t count;
  size_t bytes;
  if (fnzi_dev_record_locate(w->data, out))
    return FNZ_OK;
  if (!is_result)
    return fnzi_dev_record_refuse(r, "it reads memory outside the plan");
  if (!fnzi_dev_record_count(w->rank, w->sizes, &count) ||
      !fnzi_mul_size((size_t)count, w->cell, &bytes))
    return fnzi_dev_record_refuse(r, "it has too many elements");
  out->buffer = FNZI_DEV_AT_SCRATCH;
  return fnzi_dev_work_scratch(r->m, r->out, bytes, &out->offset);
}

static fnz_status formula(void *user, const fnzi_krn_formula *f) {
  fnzi_dev_recording *r = user;
  fnzi_dev_operand operands[FNZI_CUDA_FORMULA_WINDOWS + 1];
  fnz_dtype dtypes[FNZI_CUDA_FORMULA_WINDOWS];
  uint32_t kernel, count;
  if (f->nwindows > FNZI_CUDA_FORMULA_WINDOWS - (f->draws ? 2 : 0))
    return fnzi_dev_record_refuse(r, "it has too many operands");
  for (uint32_t k = 0; k < f->nwindows; k++) {
    FNZ_TRY(operand_of(r, &f->windows[k], k + f->nresults >= f->nwindows, &operands[k]));
    dtypes[k] = f->windows[k].dtype;
  }
  count = f->nwindows;
  if (f->draws) {
    operands[count++] = (fnzi_dev_operand){FNZI_DEV_AT_SEED, 0};
    operands[count++] = (fnzi_dev_operand){FNZI_DEV_AT_OFFSET, (int64_t)r->out->draws};
    r->out->draws += f->draws;
  }
  if (f->checks)
    operands[count++] = (fnzi_dev_operand){FNZI_DEV_AT_FLAG, 0};
  const fnzi_cuda_formula text = {f->name,     f->count,     dtypes,     f->nwindows,
                                  f->integers, f->nintegers, f->numbers, f->nnumbers,
                                  f->checks,   f->draws != 0};
  FNZ_TRY(fnzi_cuda_text_formula(r->m->ws->ctx, &r->m->text, &text, &kernel));
  return fnzi_dev_work_launch(r->m, r->out, kernel, f->count, operands, count);
}

/* --- Products --------------------------------------------------------------------------------- */
static fnz_status multiply(void *user, const fnzi_krn_products *products) {
  fnzi_dev_recording *r = user;
  const void *at[] = {products->a, products->b, products->c};
  fnzi_dev_operand operands[3];
  const char *why;
  for (int k = 0; k < 3; k++)
    if (!fnzi_dev_record_locate(at[k], &operands[k]))
      return fnzi_dev_record_refuse(r, "a factor is outside the plan");
  FNZ_TRY(fnzi_dev_work_products(r->m, r->out, products, operands, &why));
  return why ? fnzi_dev_record_refuse(r, why) : FNZ_OK;
}

/* --- Attention -------------------------------------------------------------------------------- */
static fnz_status attend(void *user, const fnzi_krn_window *kept, double factor) {
  fnzi_dev_recording *r = user;
  fnzi_dev_operand operand;
  const char *why;
  if (!fnzi_dev_record_locate(kept->data, &operand))
    return fnzi_dev_record_refuse(r, "the dropout mask has no location");
  FNZ_TRY(fnzi_dev_work_attention(r->m, r->call, &operand, factor, r->out, &why));
  return why ? fnzi_dev_record_refuse(r, why) : FNZ_OK;
}

/* --- A call ----------------------------------------------------------------------------------- */
static fnz_status run_recorded(fnzi_dev_recording *r, const fnzi_krn_call *call) {
  const fnzi_krn_recorder recorder = {.user = r,
                                      .move = record_move,
                                      .combine = combine,
                                      .formula = formula,
                                      .pick = fnzi_dev_record_pick,
                                      .multiply = multiply,
                                      .attend = attend,
                                      .number = scalar_window,
                                      .room = reserve_scratch,
                                      .threads = r->m->threads};
  fnzi_krn_call recorded = *call;
  recorded.record = &recorder;
  recorded.pending = NULL;
  r->recorded = &recorded;
  fnzi_arena_init(&recorded.scratch, r->m->ws->ctx);
  fnz_status status = recorded.kernels->runs[recorded.row->run](&recorded);
  if (status == FNZ_OK)
    status = fnzi_krn_results_finish(&recorded);
  fnzi_arena_free(&recorded.scratch);
  return status;
}

/* Records the call. If the kernel refuses its arguments, the step is left to the CPU, which reports
 * the error when it runs. */
fnz_status fnzi_dev_lower_recorded(fnzi_dev_builder *m, fnzi_krn_call *call, fnzi_dev_work *out) {
  fnzi_dev_recording r = {.m = m, .out = out, .call = call};
  const fnz_error had = m->ws->ctx->error;
  size_t count = m->b->plan.buffers.count;
  unsigned char **was;
  FNZI_NEW(&m->ws->scratch, count, &was);
  for (size_t i = 0; i < count; i++) {
    was[i] = m->b->storages[i].data;
    m->b->storages[i].data = fnzi_dev_record_address(FNZI_DEV_RECORD_BUFFERS + i);
  }
  fnz_status status = run_recorded(&r, call);
  for (size_t i = 0; i < count; i++)
    m->b->storages[i].data = was[i];
  if (status == FNZ_OK) {
    out->on_device = true;
    return FNZ_OK;
  }
  if (status == FNZ_NO_MEMORY || (!r.why && m->ws->ctx->error.kind == FNZ_CLASS_INTERNAL))
    return status;
  m->ws->ctx->error = had;
  return fnzi_dev_work_refuse(out, r.why ? r.why : "its kernel refuses the arguments");
}

/* Records a kernel that draws random numbers. PyTorch's CPU generator draws in sequence, so only
 * the CPU can use it. */
fnz_status fnzi_dev_lower_drawn(fnzi_dev_builder *m, fnzi_krn_call *call, fnzi_dev_work *out) {
  m->b->needs_threads = true;
  if (!m->threads)
    return fnzi_dev_work_refuse(out, "its generator is that of the CPU");
  return fnzi_dev_lower_recorded(m, call, out);
}

/* With dropout, records the CPU's kernel, which reports its random draws and the attention, and
 * checks that the dropout is a probability. */
fnz_status fnzi_dev_lower_attention(fnzi_dev_builder *m, fnzi_krn_call *call, fnzi_dev_work *out) {
  const char *why;
  if (fnzi_krn_named_float(call, "dropout_p", 0) != 0)
    return fnzi_dev_lower_drawn(m, call, out);
  FNZ_TRY(fnzi_dev_work_attention(m, call, NULL, 1, out, &why));
  return why ? fnzi_dev_work_refuse(out, why) : FNZ_OK;
}
