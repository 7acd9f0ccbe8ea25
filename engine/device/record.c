/* record.c - kernels that only move elements, combine them by rows of point.def or compute
 * each by a formula, as launches: the CPU's kernel runs over addresses that are none, and what it
 * would do is told (kernels/core/window.h).
 *
 * While it does, each buffer of the binding lies at an address of its own that no memory has, and
 * so does the memory of the step. Windows anywhere else are numbers of the kernel. */
#include "engine/device/way.h"
#include "engine/taken.h"
#include "kernels/core/window.h"
#include "kernels/meta/point.h"

_Static_assert((int)FNZI_KRN_PICKS <= (int)FNZI_CUDA_PICKS, "indices of a kernel");

/* Addresses: buffers from AT on, so many bits apart; before all of them the memory of the step, and
 * numbers that data decide. */
enum { APART = 40 };
#define AT   ((uint64_t)1 << 62)
#define ROOM ((uint64_t)1 << APART)

typedef struct recording {
  fnzi_eng_maker *m;
  fnzi_eng_work *out;
  const fnzi_krn_call *call;
  const char *why; /* it cannot be done: static */
} recording;

static unsigned char *address_of(uint64_t i) {
  return (unsigned char *)(uintptr_t)(AT + ((i + 2) << APART));
}

/* False: it is memory of the host. */
static bool locate(const unsigned char *data, fnzi_eng_operand *out) {
  uint64_t at = (uint64_t)(uintptr_t)data - AT;
  if ((uint64_t)(uintptr_t)data < AT || at >= AT)
    return false;
  *out = (fnzi_eng_operand){(uint32_t)(at >> APART) - 2, (int64_t)(at % ROOM)};
  if (at < 2 * ROOM)
    out->buffer = at < ROOM ? FNZI_ENG_AT_SCRATCH : FNZI_ENG_AT_TAKEN;
  return true;
}

static fnz_status give_up(recording *r, const char *why) {
  r->why = why;
  return FNZ_UNSUPPORTED;
}

/* False: more than could be counted. */
static bool count_all(uint32_t rank, const int64_t *sizes, int64_t *count) {
  bool fits = true;
  *count = 1;
  for (uint32_t d = 0; d < rank; d++)
    fits = fits && fnzi_mul_i64(*count, sizes[d], count);
  return fits;
}

static fnz_status room(void *user, size_t bytes, void **out) {
  recording *r = user;
  int64_t at;
  FNZ_TRY(fnzi_eng_work_scratch(r->m, r->out, bytes, &at));
  if (r->out->scratch >= ROOM)
    return give_up(r, "it needs too much memory in between");
  *out = (void *)(uintptr_t)(AT + (uint64_t)at);
  return FNZ_OK;
}

static fnz_status number(void *user, uint32_t k, fnz_dtype dtype, fnzi_krn_window *out) {
  recording *r = user;
  size_t at;
  if (!fnzi_eng_taking_find(r->m->b, r->call, k, dtype, &at))
    return give_up(r, "data decide a number of it");
  fnzi_krn_window_dense(out, dtype, 0, NULL, (const void *)(uintptr_t)(AT + ROOM + at));
  return FNZ_OK;
}

/* --- Loops --------------------------------------------------------------------------------------
 */
/* A group over the windows of a loop: operands that have one address, numbers, and instructions. */
typedef struct group {
  fnzi_krn_loop loop;
  fnzi_cuda_lane lanes[FNZI_LOOP_OPERANDS];
  fnzi_cuda_slot slots[2 * FNZI_LOOP_OPERANDS];
  fnzi_cuda_ins ins[FNZI_LOOP_OPERANDS];
  fnzi_eng_operand operands[FNZI_LOOP_OPERANDS];
  uint32_t windows[FNZI_LOOP_OPERANDS]; /* per lane: operand of the loop */
  uint32_t nlanes, nslots, nins;
} group;

static bool is_number(const fnzi_krn_window *w) {
  bool one = true;
  for (uint32_t d = 0; d < w->rank; d++)
    one = one && w->sizes[d] == 1;
  return one;
}

/* The value of a window: read at each element, or a number. */
static fnz_status read_window(recording *r, group *g, const fnzi_krn_window *w, uint16_t *slot) {
  fnzi_eng_operand at;
  *slot = (uint16_t)g->nslots++;
  g->slots[*slot] = (fnzi_cuda_slot){.dtype = (uint8_t)w->dtype};
  uint32_t window = g->loop.operands;
  fnzi_krn_loop_add_window(&g->loop, w);
  if (locate(w->data, &at)) {
    g->windows[g->nlanes] = window;
    g->operands[g->nlanes] = at;
    g->lanes[g->nlanes++] = (fnzi_cuda_lane){.slot = *slot, .aligned = fnzi_eng_aligned(at.at)};
    return FNZ_OK;
  }
  g->slots[*slot].number = w->data;
  return is_number(w) ? FNZ_OK : give_up(r, "it reads what is not in the plan");
}

static fnz_status write_window(recording *r, group *g, const fnzi_krn_window *w, uint16_t slot) {
  fnzi_eng_operand at;
  if (!locate(w->data, &at))
    return give_up(r, "a result lies nowhere");
  g->windows[g->nlanes] = 0;
  g->operands[g->nlanes] = at;
  g->lanes[g->nlanes++] =
      (fnzi_cuda_lane){.slot = slot, .stores = true, .aligned = fnzi_eng_aligned(at.at)};
  return FNZ_OK;
}

/* One more instruction; gives the slot of its value. */
static uint16_t put_ins(group *g, fnzi_cuda_ins ins, fnz_dtype dtype) {
  ins.out = (uint16_t)g->nslots++;
  g->slots[ins.out] = (fnzi_cuda_slot){.dtype = (uint8_t)dtype};
  g->ins[g->nins++] = ins;
  return ins.out;
}

static fnz_status convert(recording *r, group *g, uint8_t kind, fnz_dtype to, uint16_t *slot) {
  fnz_dtype from = (fnz_dtype)g->slots[*slot].dtype;
  if (to == from)
    return FNZ_OK;
  if (!fnzi_cuda_text_converts(to) || !fnzi_cuda_text_converts(from))
    return give_up(r, "no text converts between the types");
  *slot = put_ins(g, (fnzi_cuda_ins){.kind = kind, .arity = 1, .in = {*slot}}, to);
  return FNZ_OK;
}

/* Dimensions that lie together become one, those of short strides come last. */
static fnz_status launch_group(recording *r, group *g) {
  int64_t count;
  uint32_t kernel;
  fnzi_krn_loop_normalise(&g->loop, false);
  if (!count_all(g->loop.rank, g->loop.sizes, &count))
    return give_up(r, "it has too many elements");
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
  return fnzi_eng_work_launch(r->m, r->out, kernel, count, g->operands, g->nlanes);
}

/* Operand 0 of the loop is what is written. */
static bool open_group(group *g, const fnzi_krn_window *to) {
  *g = (group){.nlanes = 0};
  fnzi_krn_loop_start(&g->loop, to->rank, to->sizes);
  fnzi_krn_loop_add_window(&g->loop, to);
  for (uint32_t d = 0; d < to->rank; d++)
    if (to->sizes[d] == 0)
      return false;
  return true;
}

static fnz_status move(void *user, const fnzi_krn_window *to, const fnzi_krn_window *from,
                       bool casts) {
  recording *r = user;
  group g;
  uint16_t value;
  if (!open_group(&g, to))
    return FNZ_OK;
  FNZ_TRY(read_window(r, &g, from, &value));
  FNZ_TRY(convert(r, &g, casts ? FNZI_CUDA_CAST : FNZI_CUDA_CONVERT, to->dtype, &value));
  FNZ_TRY(write_window(r, &g, to, value));
  return launch_group(r, &g);
}

/* Of a row with one operand that is what is written: there is no other. */
static fnz_status combine(void *user, const fnzi_krn_combination *c) {
  recording *r = user;
  const fnzi_krn_window *const in[] = {c->to, c->from, c->number};
  uint8_t kind = c->keeps ? FNZI_CUDA_KEEP : FNZI_CUDA_CONVERT;
  fnzi_cuda_ins row = {.kind = FNZI_CUDA_ROW,
                       .arity = !c->from    ? 1
                                : c->number ? 3
                                            : 2,
                       .compute = (uint8_t)c->compute,
                       .row = c->row};
  group g;
  if (!open_group(&g, c->to))
    return FNZ_OK;
  for (uint8_t k = 0; k < row.arity; k++) {
    FNZ_TRY(read_window(r, &g, in[k], &row.in[k]));
    FNZ_TRY(convert(r, &g, kind, c->class_dtype, &row.in[k]));
  }
  uint16_t value = put_ins(&g, row, c->out);
  FNZ_TRY(convert(r, &g, kind, c->to->dtype, &value));
  FNZ_TRY(write_window(r, &g, c->to, value));
  return launch_group(r, &g);
}

/* --- Formulas -----------------------------------------------------------------------------------
 */
/* A result that nothing needs has memory of the step. */
static fnz_status operand_of(recording *r, const fnzi_krn_window *w, bool is_result,
                             fnzi_eng_operand *out) {
  int64_t count;
  size_t bytes;
  if (locate(w->data, out))
    return FNZ_OK;
  if (!is_result)
    return give_up(r, "it reads what is not in the plan");
  if (!count_all(w->rank, w->sizes, &count) || !fnzi_mul_size((size_t)count, w->cell, &bytes))
    return give_up(r, "it has too many elements");
  out->buffer = FNZI_ENG_AT_SCRATCH;
  return fnzi_eng_work_scratch(r->m, r->out, bytes, &out->at);
}

static fnz_status formula(void *user, const fnzi_krn_formula *f) {
  recording *r = user;
  fnzi_eng_operand operands[FNZI_CUDA_FORMULA_WINDOWS + 1];
  fnz_dtype dtypes[FNZI_CUDA_FORMULA_WINDOWS];
  uint32_t kernel, count;
  if (f->nwindows > FNZI_CUDA_FORMULA_WINDOWS - (f->draws ? 2 : 0))
    return give_up(r, "it has too many operands");
  for (uint32_t k = 0; k < f->nwindows; k++) {
    FNZ_TRY(operand_of(r, &f->windows[k], k + f->nresults >= f->nwindows, &operands[k]));
    dtypes[k] = f->windows[k].dtype;
  }
  count = f->nwindows;
  if (f->draws) {
    operands[count++] = (fnzi_eng_operand){FNZI_ENG_AT_SEED, 0};
    operands[count++] = (fnzi_eng_operand){FNZI_ENG_AT_OFFSET, (int64_t)r->out->draws};
    r->out->draws += f->draws;
  }
  if (f->checks)
    operands[count++] = (fnzi_eng_operand){FNZI_ENG_AT_FLAG, 0};
  const fnzi_cuda_formula text = {f->name,     f->count,     dtypes,     f->nwindows,
                                  f->integers, f->nintegers, f->numbers, f->nnumbers,
                                  f->checks,   f->draws != 0};
  FNZ_TRY(fnzi_cuda_text_formula(r->m->ws->ctx, &r->m->text, &text, &kernel));
  return fnzi_eng_work_launch(r->m, r->out, kernel, f->count, operands, count);
}

/* --- Places that data say -----------------------------------------------------------------------
 */
/* A piece is a group without lanes or loop; slot k stands for an operand of the dtype. */
static void open_piece(group *g, fnz_dtype first, fnz_dtype second) {
  g->nins = 0;
  g->nslots = 2;
  g->slots[0] = (fnzi_cuda_slot){.dtype = (uint8_t)first};
  g->slots[1] = (fnzi_cuda_slot){.dtype = (uint8_t)second};
}

static fnzi_cuda_piece close_piece(group *g, uint16_t made) {
  return (fnzi_cuda_piece){{.ins = g->ins, .slots = g->slots, .nins = g->nins, .nslots = g->nslots},
                           made};
}

static fnz_status make_move(recording *r, group *g, const fnzi_krn_picking *p,
                            const unsigned char *number, fnzi_cuda_piece *out) {
  uint16_t value = 0;
  open_piece(g, p->from.dtype, FNZ_I64);
  g->nslots = 1;
  g->slots[0].number = number;
  FNZ_TRY(convert(r, g, FNZI_CUDA_CONVERT, p->to.dtype, &value));
  *out = close_piece(g, value);
  return FNZ_OK;
}

static fnz_status make_open(recording *r, group *g, const fnzi_krn_picking *p,
                            fnzi_cuda_piece *out) {
  uint16_t value = 0;
  open_piece(g, p->start ? p->start->dtype : p->to.dtype, FNZ_I64);
  g->nslots = 1;
  g->slots[0].number = p->start ? p->start->data : NULL;
  FNZ_TRY(convert(r, g, FNZI_CUDA_CONVERT, p->wide, &value));
  *out = close_piece(g, value);
  return FNZ_OK;
}

static fnz_status make_join(recording *r, group *g, const fnzi_krn_picking *p,
                            const unsigned char *number, unsigned char *alpha_room,
                            fnzi_cuda_piece *out) {
  fnz_dtype computes = fnzi_meta_point_class(p->wide);
  fnzi_cuda_ins row = {.kind = FNZI_CUDA_ROW,
                       .arity = 2,
                       .compute = (uint8_t)(p->converts_first ? computes : p->wide),
                       .row = p->row,
                       .in = {0, 1}};
  open_piece(g, p->wide, p->from.dtype);
  g->slots[1].number = number;
  if (p->converts_first)
    FNZ_TRY(convert(r, g, FNZI_CUDA_CONVERT, p->wide, &row.in[1]));
  if (p->alpha) {
    fnzi_krn_window alpha;
    fnzi_krn_window_number(p->alpha, p->wide, alpha_room, &alpha);
    row.in[row.arity++] = (uint16_t)g->nslots;
    g->slots[g->nslots++] = (fnzi_cuda_slot){.dtype = (uint8_t)alpha.dtype, .number = alpha.data};
  }
  for (uint8_t k = 0; k < row.arity; k++)
    FNZ_TRY(convert(r, g, FNZI_CUDA_CONVERT, computes, &row.in[k]));
  uint16_t value = put_ins(g, row, computes);
  FNZ_TRY(convert(r, g, FNZI_CUDA_CONVERT, p->wide, &value));
  *out = close_piece(g, value);
  return FNZ_OK;
}

static fnz_status make_close(recording *r, group *g, const fnzi_krn_picking *p,
                             fnzi_cuda_piece *out) {
  fnz_dtype computes = fnzi_meta_point_class(p->to.dtype);
  bool is_real = fnzi_is_float(p->to.dtype) || fnzi_is_complex(p->to.dtype);
  fnzi_cuda_ins row = {.kind = FNZI_CUDA_ROW,
                       .arity = 2,
                       .compute = (uint8_t)p->to.dtype,
                       .row = is_real ? "div" : "div_floor",
                       .in = {0, 1}};
  uint16_t value = 0;
  open_piece(g, p->wide, FNZ_I64);
  FNZ_TRY(convert(r, g, FNZI_CUDA_CONVERT, p->to.dtype, &value));
  row.in[0] = value;
  if (p->averages) {
    FNZ_TRY(convert(r, g, FNZI_CUDA_CONVERT, computes, &row.in[0]));
    FNZ_TRY(convert(r, g, FNZI_CUDA_CONVERT, computes, &row.in[1]));
    value = put_ins(g, row, computes);
    FNZ_TRY(convert(r, g, FNZI_CUDA_CONVERT, p->to.dtype, &value));
  }
  *out = close_piece(g, value);
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
  fnzi_eng_operand operands[FNZI_CUDA_PICKS + 4];
  uint32_t noperands;
  group groups[4];
  unsigned char alpha[16];
} picked;

static fnz_status describe(recording *r, const fnzi_krn_picking *p, picked *out) {
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
  if (!locate(p->to.data, &out->operands[0]))
    return give_up(r, "a result lies nowhere");
  out->operands[1] = out->operands[0];
  if (!locate(p->from.data, &out->operands[1])) {
    if (!is_number(&p->from) || !p->into)
      return give_up(r, "it reads what is not in the plan");
    text->reads_number = true;
    number = p->from.data;
  }
  for (uint32_t k = 0; k < p->npicks; k++) {
    const fnzi_krn_pick *pick = &p->picks[k];
    size_t cell = p->into ? p->to.cell : p->from.cell;
    text->picks[k] = (fnzi_cuda_pick){.dtype = (uint8_t)pick->index.dtype,
                                      .size = pick->size,
                                      .stride = fnzi_krn_stride_bytes(pick->stride, cell),
                                      .wraps = pick->wraps};
    strides_over(&p->to, &pick->index, text->picks[k].strides);
    if (!locate(pick->index.data, &out->operands[out->noperands++]))
      return give_up(r, "it reads what is not in the plan");
  }
  out->operands[out->noperands++] = (fnzi_eng_operand){FNZI_ENG_AT_FLAG, 0};
  if (!p->row)
    return make_move(r, &out->groups[0], p, number, &text->move);
  FNZ_TRY(make_open(r, &out->groups[1], p, &text->open));
  FNZ_TRY(make_join(r, &out->groups[2], p, number, out->alpha, &text->join));
  return make_close(r, &out->groups[3], p, &text->close);
}

/* Before an element is brought anywhere, all places were seen; one is seen by each thread. Each
 * place of a chain looks at all others of it. */
static fnz_status add_chain(recording *r, picked *p) {
  enum { MOST = 1 << 16 };
  const int64_t work = (int64_t)1 << 33;
  int64_t places, lanes, all, at;
  uint32_t kernel;
  fnzi_cuda_picking_count(&p->text, &places, &lanes);
  if (!p->text.into || (places <= 1 && lanes <= 1))
    return FNZ_OK;
  if (places > MOST || lanes > work / places / places)
    return give_up(r, "too many places, in whose order elements are written");
  if (!fnzi_mul_i64(places, lanes, &all))
    return give_up(r, "it has too many elements");
  if (places > 1) {
    FNZ_TRY(
        fnzi_eng_work_scratch(r->m, r->out, (size_t)fnzi_krn_stride_bytes(all, sizeof all), &at));
    p->operands[p->noperands++] = (fnzi_eng_operand){FNZI_ENG_AT_SCRATCH, at};
  }
  FNZ_TRY(fnzi_cuda_text_chain(r->m->ws->ctx, &r->m->text, &p->text, &kernel));
  return fnzi_eng_work_launch(r->m, r->out, kernel, all, p->operands, p->noperands);
}

/* Without elements the CPU says what there is to say of the index. */
static fnz_status pick(void *user, const fnzi_krn_picking *picking) {
  recording *r = user;
  int64_t count;
  uint32_t kernel;
  picked *p;
  if (!count_all(picking->to.rank, picking->to.sizes, &count))
    return give_up(r, "it has too many elements");
  if (count == 0)
    return give_up(r, "it has no elements");
  FNZI_NEW(&r->m->ws->scratch, 1, &p);
  FNZ_TRY(describe(r, picking, p));
  FNZ_TRY(add_chain(r, p));
  FNZ_TRY(fnzi_cuda_text_pick(r->m->ws->ctx, &r->m->text, &p->text, &kernel));
  return fnzi_eng_work_launch(r->m, r->out, kernel, count, p->operands, p->noperands);
}

/* --- Products -----------------------------------------------------------------------------------
 */
static fnz_status multiply(void *user, const fnzi_krn_products *products) {
  recording *r = user;
  const void *at[] = {products->a, products->b, products->c};
  fnzi_eng_operand operands[3];
  const char *why;
  for (int k = 0; k < 3; k++)
    if (!locate(at[k], &operands[k]))
      return give_up(r, "it multiplies what is not in the plan");
  FNZ_TRY(fnzi_eng_work_products(r->m, r->out, products, operands, &why));
  return why ? give_up(r, why) : FNZ_OK;
}

/* --- A call -------------------------------------------------------------------------------------
 */
static fnz_status run_recorded(recording *r, const fnzi_krn_call *call) {
  const fnzi_krn_recorder recorder = {.user = r,
                                      .move = move,
                                      .combine = combine,
                                      .formula = formula,
                                      .pick = pick,
                                      .multiply = multiply,
                                      .number = number,
                                      .room = room,
                                      .threads = r->m->threads};
  fnzi_krn_call told = *call;
  told.record = &recorder;
  told.pending = NULL;
  fnzi_arena_init(&told.scratch, r->m->ws->ctx);
  fnz_status status = told.kernels->runs[told.row->run](&told);
  if (status == FNZ_OK)
    status = fnzi_krn_results_finish(&told);
  fnzi_arena_free(&told.scratch);
  return status;
}

/* What the kernel refuses, the CPU refuses again when it runs. */
fnz_status fnzi_eng_way_recorded(fnzi_eng_maker *m, fnzi_krn_call *call, fnzi_eng_work *out) {
  recording r = {.m = m, .out = out, .call = call};
  const fnz_error had = m->ws->ctx->error;
  size_t count = m->b->plan.buffers.count;
  unsigned char **was;
  FNZI_NEW(&m->ws->scratch, count, &was);
  for (size_t i = 0; i < count; i++) {
    was[i] = m->b->storages[i].data;
    m->b->storages[i].data = address_of(i);
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
  return fnzi_eng_work_refuse(out, r.why ? r.why : "its kernel refuses what it is given");
}

/* Numbers of PyTorch's generator of the CPU come one after the other, and are the CPU's. */
fnz_status fnzi_eng_way_drawn(fnzi_eng_maker *m, fnzi_krn_call *call, fnzi_eng_work *out) {
  m->b->asks_threads = true;
  if (!m->threads)
    return fnzi_eng_work_refuse(out, "its generator is that of the CPU");
  return fnzi_eng_way_recorded(m, call, out);
}
