/* attention.c - scaled dot product attention: softmax(q k^T * scale + mask) v.
 *
 * Work is cut into tiles of query rows of one head. A tile's scores stay in scratch memory of its
 * thread; a row whose keys are all masked gives zeros, as eager does. Keys that causality keeps
 * from all queries of a tile are left out. A thread packs keys and values of a head once for the
 * tiles that it computes one after the other. Row functions compute rows of floats, loops of this
 * file compute rows of doubles. The mask of dropout is drawn for all of the softmax beforehand. */
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/random.h"
#include "kernels/cpu/softmax.h"
#include "kernels/cpu/sizes.h"

#include <math.h>

/* PANEL_CELLS: the room of fnzi_row_panels_scratch() for a product of a tile, since both factors
 * may be brought. MOST_PACKED: keys that stay in a cache. */
enum { TILE = 64, PANEL_CELLS = FNZI_PANEL_MOST_SCRATCH, MOST_PACKED = 1 << 12 };
_Static_assert((int)TILE <= (int)FNZI_PANEL_ROWS, "a tile is one panel");

/* An operand by batch index: strides in elements, `share` heads read one. */
typedef struct side {
  fnzi_cpu_reals data;  /* of a mask */
  const uint8_t *flags; /* of a mask of bool */
  const void *cells;    /* of others: elements of a row lie side by side */
  fnz_dtype dtype;
  fnzi_row_kind kind;
  int64_t row;
  int64_t stride[FNZ_MAX_RANK], share[FNZ_MAX_RANK];
} side;

/* Keys, or values, of the head that a thread computes, as panels. */
typedef struct head_panels {
  const void *of; /* NULL: of none */
  float *panels;  /* NULL: they are not packed */
} head_panels;

enum { KEYS, VALUES, PACKED };

typedef struct attention {
  fnz_dtype dtype;
  uint32_t rank; /* of the batch */
  const int64_t *sizes;
  int64_t queries, keys, width, out_width, tiles;
  side q, k, v, mask;
  int64_t mask_row, mask_col; /* 0 where the mask broadcasts */
  fnzi_cpu_reals_out out, logsumexp, *scores;
  double *rows;
  float *queries_f32;  /* of all threads; NULL: queries are F32 */
  float *panels;       /* room of products, of all threads */
  head_panels *packed; /* PACKED of each thread */
  double scale;
  const unsigned char *kept; /* by dropout, of all heads' rows of keys; NULL: all */
  double kept_factor;        /* of kept scores */
  bool causal, masked;
} attention;

/* `inner` dimensions at the end are not of the batch. */
static void place(const attention *a, const fnz_geometry *g, const int64_t *strides, uint32_t inner,
                  side *s) {
  uint32_t lead = g->rank > inner ? g->rank - inner : 0;
  for (uint32_t i = 0; i < a->rank; i++) {
    bool inside = i + lead >= a->rank;
    int64_t size = inside ? g->sizes[i + lead - a->rank] : 1;
    s->stride[i] = size == 1 ? 0 : strides[i + lead - a->rank];
    s->share[i] = size > 1 && size < a->sizes[i] ? a->sizes[i] / size : 1;
  }
}

static int64_t offset(const attention *a, const side *s, int64_t index) {
  int64_t at = 0;
  for (uint32_t i = a->rank; i-- > 0; index /= a->sizes[i])
    at += index % a->sizes[i] / s->share[i] * s->stride[i];
  return at;
}

/* Rows of a head from row `first` on, as a matrix. */
static fnzi_cpu_matrix attention_rows_of(const attention *a, const side *s, int64_t head,
                                         int64_t first) {
  int64_t at = offset(a, s, head) + first * s->row;
  const void *data = (const char *)s->cells + at * (int64_t)fnzi_dtype(s->dtype)->bytes;
  return (fnzi_cpu_matrix){data, s->row, 1, s->kind};
}

static fnzi_cpu_matrix transposed(fnzi_cpu_matrix x) {
  return (fnzi_cpu_matrix){x.data, x.col, x.row, x.kind};
}

static void *room(const fnzi_cpu_reals_out *x, int64_t at) {
  return x->d ? (void *)(x->d + at) : (void *)(x->f + at);
}

static void mask_row(const attention *a, double *row, int64_t head, int64_t query, int64_t keys) {
  if (a->causal)
    for (int64_t j = query + 1; j < keys; j++)
      row[j] = -INFINITY;
  if (!a->masked)
    return;
  int64_t at = offset(a, &a->mask, head) + query * a->mask_row;
  for (int64_t j = 0; j < keys; j++, at += a->mask_col)
    if (!a->mask.flags)
      row[j] += fnzi_cpu_real_at(&a->mask.data, at);
    else if (!a->mask.flags[at])
      row[j] = -INFINITY;
}

static void normalise(const attention *a, int64_t head, int64_t first, int64_t count, int64_t keys,
                      int lane) {
  double *row = a->rows + (int64_t)lane * a->keys;
  fnzi_cpu_reals scores = fnzi_cpu_reals_read(&a->scores[lane]);
  for (int64_t i = 0; i < count; i++) {
    fnzi_cpu_reals_load(&scores, i * keys, 1, keys, row);
    mask_row(a, row, head, first + i, keys);
    if (a->logsumexp.d) {
      double most = fnzi_cpu_row_max(row, keys), sum = 0;
      for (int64_t j = 0; j < keys; j++)
        sum += fnzi_cpu_exp_as(a->dtype, row[j] - most);
      fnzi_cpu_real_put(&a->logsumexp, head * a->queries + first + i,
                        isinf(most) ? most : most + log(sum));
    }
    fnzi_cpu_softmax_row(a->dtype, row, keys, true);
    fnzi_cpu_reals_store(&a->scores[lane], i * keys, 1, keys, row);
  }
}

/* The row begins with key `first`. */
static void mask_row_f32(const attention *a, float *row, int64_t head, int64_t query, int64_t first,
                         int64_t keys) {
  int64_t step = a->mask_col;
  int64_t at = offset(a, &a->mask, head) + query * a->mask_row + first * step;
  const float *added = a->mask.flags ? NULL : a->mask.data.f + at;
  const uint8_t *flags = a->mask.flags ? a->mask.flags + at : NULL;
  if (flags)
    for (int64_t j = 0; j < keys; j++)
      row[j] = flags[j * step] ? row[j] : -INFINITY;
  else if (step == 1)
    for (int64_t j = 0; j < keys; j++)
      row[j] += added[j];
  else
    for (int64_t j = 0; j < keys; j++)
      row[j] += *added;
}

/* --- Keys that a tile sees -------------------------------------------------------------------- */
/* Keys from `first` to `end`, of the `count` that have scores, in rows `row` apart. */
typedef struct span {
  int64_t first, end, count, row;
} span;

/* The first flag from `at` on that is set, and one behind the last one before `end`; the other
 * bound where none is. */
static int64_t first_shown(const uint8_t *flags, int64_t at, int64_t end) {
  for (uint64_t word = 0; !word && at + (int64_t)sizeof word <= end; at += word ? 0 : 8)
    memcpy(&word, flags + at, sizeof word);
  while (at < end && !flags[at])
    at++;
  return at;
}
static int64_t last_shown(const uint8_t *flags, int64_t at, int64_t end) {
  for (uint64_t word = 0; !word && at + (int64_t)sizeof word <= end; end -= word ? 0 : 8)
    memcpy(&word, flags + end - sizeof word, sizeof word);
  while (end > at && !flags[end - 1])
    end--;
  return end;
}

/* All keys but those in front and behind that a mask hides from each row of the tile. Sums begin
 * with the key that they begin with in full rows, so that what is left out is zeros. */
static span seen_by(const attention *a, int64_t head, int64_t first, int64_t count) {
  const int64_t keys = a->causal ? fnzi_cpu_least(a->keys, first + count) : a->keys;
  const uint8_t *flags = a->mask.flags;
  int64_t low = keys, high = 0;
  if (!flags || !a->mask_col || a->dtype == FNZ_F64 || !fnzi_rows_best()->panels)
    return (span){0, keys, keys, keys};
  flags += offset(a, &a->mask, head) + first * a->mask_row;
  for (int64_t i = 0; i < count; i++, flags += a->mask_row) {
    low = first_shown(flags, 0, low);
    high = last_shown(flags, high, keys);
    if (!a->mask_row)
      break;
  }
  low = low / FNZI_PANEL_DEPTH * FNZI_PANEL_DEPTH;
  high = fnzi_cpu_parts(high, FNZI_ROW_LANES) * FNZI_ROW_LANES;
  return low < high ? (span){low, fnzi_cpu_least(high, keys), keys, keys}
                    : (span){0, keys, keys, keys};
}

static bool has_finite_rows(const attention *a, const fnzi_cpu_matrix *v, int64_t i, int64_t end) {
  const uint32_t ones = 0x7f800000;
  const uint16_t half_ones = v->kind == FNZI_ROW_BF16 ? 0x7f80 : 0x7c00;
  uint32_t found = 0;
  for (; i < end && !found; i++)
    if (v->kind == FNZI_ROW_F32)
      for (int64_t j = 0; j < a->out_width; j++)
        found |= (((const uint32_t *)v->data)[i * v->row + j] & ones) == ones;
    else
      for (int64_t j = 0; j < a->out_width; j++)
        found |= (((const uint16_t *)v->data)[i * v->row + j] & half_ones) == half_ones;
  return !found;
}

static void normalise_f32(const attention *a, int64_t head, int64_t first, int64_t count,
                          const span *keys, int lane) {
  const fnzi_rows *rows = fnzi_rows_best();
  for (int64_t i = 0; i < count; i++) {
    float *whole = a->scores[lane].f + i * keys->row, *row = whole + keys->first;
    int64_t end = a->causal ? fnzi_cpu_least(keys->end, first + i + 1) : keys->end;
    int64_t seen = end > keys->first ? end - keys->first : 0;
    if (a->masked)
      mask_row_f32(a, row, head, first + i, keys->first, seen);
    if (a->logsumexp.f)
      a->logsumexp.f[head * a->queries + first + i] =
          (float)fnzi_cpu_log_sum_exp_f32(rows, row, seen);
    fnzi_cpu_softmax_f32(rows, row, row, seen, true);
    memset(whole, 0, (size_t)keys->first * sizeof *row);
    memset(row + seen, 0, (size_t)(keys->count - keys->first - seen) * sizeof *row);
  }
}

/* Multiplies dropped scores by zero, so that NaN stays NaN. */
static void drop(const attention *a, int64_t head, int64_t first, int64_t count, const span *keys,
                 int lane) {
  const fnzi_cpu_reals_out *scores = &a->scores[lane];
  const float factor = (float)a->kept_factor;
  for (int64_t i = 0; i < count; i++) {
    const unsigned char *kept = a->kept + (head * a->queries + first + i) * a->keys;
    for (int64_t j = 0; scores->f && j < keys->count; j++)
      scores->f[i * keys->row + j] *= kept[j] ? factor : 0;
    for (int64_t j = 0; scores->d && j < keys->count; j++)
      scores->d[i * keys->row + j] *= kept[j] ? a->kept_factor : 0;
  }
}

/* The order of a times b, as chosen for all keys in dense memory, with rows of b `b_row` apart. */
static void attention_choose_order(fnzi_cpu_product *p, bool is_transposed, int64_t b_row,
                                   float *panels) {
  const fnzi_cpu_matrix dense = {.row = b_row, .col = 1};
  const fnzi_cpu_matrix b = is_transposed ? transposed(dense) : dense;
  p->order = fnzi_cpu_product_order(p, &p->a, &b);
  p->room = panels;
}

/* The second factor of `p`, for all keys, as panels; NULL if it is not packed. */
static const float *attention_packed(const attention *a, const fnzi_cpu_product *p, int which,
                                     int lane) {
  head_panels *kept = &a->packed[lane * PACKED + which];
  fnzi_cpu_product all = *p;
  if (kept->panels && kept->of != p->b.data) {
    *(which == KEYS ? &all.n : &all.k) = a->keys;
    fnzi_cpu_product_pack(&all, kept->panels);
    kept->of = p->b.data;
  }
  return kept->panels;
}

/* Scores of a tile: queries times keys, normalised. */
static void score(const attention *a, int64_t head, int64_t first, span *seen, int lane) {
  int64_t count = fnzi_cpu_least(TILE, a->queries - first);
  fnzi_cpu_product p = {.dtype = a->dtype, .m = count, .n = seen->count, .k = a->width};
  p.a = attention_rows_of(a, &a->q, head, first);
  if (p.a.kind != FNZI_ROW_F32) { /* queries as F32, dense, in the room of the thread */
    float *to = a->queries_f32 + (int64_t)lane * TILE * a->width;
    for (int64_t i = 0; i < count; i++)
      fnzi_krn_convert(&(fnzi_krn_conversion){FNZ_F32, a->q.dtype, sizeof(float), sizeof(uint16_t)},
                       to + i * a->width, (const uint16_t *)p.a.data + i * p.a.row, a->width);
    p.a = (fnzi_cpu_matrix){.data = to, .row = a->width, .col = 1};
  }
  p.alpha = a->scale;
  attention_choose_order(&p, true, a->width, a->panels + (int64_t)lane * PANEL_CELLS);
  p.b = transposed(attention_rows_of(a, &a->k, head, seen->first));
  p.n = seen->end - seen->first, p.packed_k = p.k;
  if (!seen->first && (p.packed = attention_packed(a, &p, KEYS, lane))) { /* whole panels */
    p.n = fnzi_row_panels_first(p.n, a->keys);
    seen->row = p.n > seen->row ? p.n : seen->row;
  }
  p.c = room(&a->scores[lane], seen->first), p.c_row = seen->row;
  fnzi_cpu_product_run(&p, 0);
  if (a->scores[lane].f)
    normalise_f32(a, head, first, count, seen, lane);
  else
    normalise(a, head, first, count, seen->count, lane);
  if (a->kept)
    drop(a, head, first, count, seen, lane);
}

static void attention_tile(const void *user, int64_t index, int lane) {
  const attention *a = user;
  int64_t head = index / a->tiles, first = index % a->tiles * TILE;
  int64_t count = fnzi_cpu_least(TILE, a->queries - first);
  span seen = seen_by(a, head, first, count);
  score(a, head, first, &seen, lane);
  fnzi_cpu_product p = {.dtype = a->dtype, .m = count, .n = a->out_width, .alpha = 1};
  p.k = seen.count, p.b = attention_rows_of(a, &a->v, head, 0);
  p.a = (fnzi_cpu_matrix){.data = room(&a->scores[lane], 0), .row = seen.row, .col = 1};
  p.c = room(&a->out, (head * a->queries + first) * a->out_width), p.c_row = a->out_width;
  p.packed_k = a->keys, p.packed = attention_packed(a, &p, VALUES, lane);
  attention_choose_order(&p, false, a->out_width, a->panels + (int64_t)lane * PANEL_CELLS);
  /* Zeros times values that are no numbers are none, so only finite ones can be left out. With few
   * rows it takes as long to look as to multiply. */
  if (p.m > FNZI_ROW_LANES && p.order == FNZI_ORDER_PANELS &&
      has_finite_rows(a, &p.b, 0, seen.first) && has_finite_rows(a, &p.b, seen.end, seen.count)) {
    p.a.data = room(&a->scores[lane], seen.first);
    p.b = attention_rows_of(a, &a->v, head, seen.first);
    p.k = seen.end - seen.first, p.packed = seen.first ? NULL : p.packed;
  }
  fnzi_cpu_product_run(&p, 0);
}

/* As it lies in memory when its type and strides allow, else row-major in scratch. A product of one
 * column reads the second factor as the first one, which has to be of F32. */
static fnz_status open_side(fnzi_krn_call *call, attention *a, size_t i, side *s) {
  const fnzi_krn_array *x = fnzi_krn_call_input(call, i);
  const fnz_geometry *g = &x->geometry;
  const int64_t *own = x->window.strides, height = g->sizes[g->rank - 2];
  int64_t strides[FNZ_MAX_RANK];
  bool is_half = g->dtype == FNZ_BF16 || g->dtype == FNZ_F16;
  bool by_library = a->dtype == FNZ_F64 || !fnzi_rows_best()->panels;
  is_half = is_half && fnzi_rows_best()->panels && a->keys > 1 && a->out_width > 1;
  s->dtype = is_half ? g->dtype : a->dtype;
  s->kind = !is_half ? FNZI_ROW_F32 : g->dtype == FNZ_BF16 ? FNZI_ROW_BF16 : FNZI_ROW_F16;
  /* Rows lie dense within, and far enough apart for the library where that multiplies. */
  if (g->dtype == s->dtype && own[g->rank - 1] == 1 &&
      (!by_library || fnzi_cpu_matrix_fits(height, g->sizes[g->rank - 1], own[g->rank - 2], 1))) {
    s->cells = fnzi_krn_array_data(x);
    s->row = own[g->rank - 2];
    place(a, g, own, 2, s);
    return FNZ_OK;
  }
  fnzi_contiguous_strides(g->sizes, g->rank, strides);
  s->row = strides[g->rank - 2];
  place(a, g, strides, 2, s);
  return fnzi_krn_dense_get_as(call, x, s->dtype, &s->cells);
}

static fnz_status open_mask(fnzi_krn_call *call, attention *a) {
  const fnzi_krn_array *x = fnzi_krn_named_array(call, "attn_mask");
  const void *flags;
  if (!x)
    return FNZ_OK;
  const fnz_geometry *g = &x->geometry;
  int64_t strides[FNZ_MAX_RANK];
  a->masked = true;
  fnzi_contiguous_strides(g->sizes, g->rank, strides);
  place(a, g, strides, 2, &a->mask);
  if (g->rank >= 1 && g->sizes[g->rank - 1] != 1)
    a->mask_col = 1;
  if (g->rank >= 2 && g->sizes[g->rank - 2] != 1)
    a->mask_row = strides[g->rank - 2];
  if (g->dtype != FNZ_BOOL)
    return fnzi_cpu_reals_open(call, x, a->dtype, &a->mask.data);
  FNZ_TRY(fnzi_krn_dense_get(call, x, &flags));
  a->mask.flags = flags;
  return FNZ_OK;
}

/* Drawn as eager's dropout draws for a tensor of all scores; it draws nothing to keep nothing. */
static fnz_status open_dropout(fnzi_krn_call *call, attention *a) {
  const double p = fnzi_krn_named_float(call, "dropout_p", 0);
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
  fnz_geometry all = {.dtype = FNZ_BOOL, .rank = a->rank + 2, .sizes = sizes, .strides = strides};
  FNZ_TRY(fnzi_cpu_probability(call, "dropout_p", p));
  if (p == 0)
    return FNZ_OK;
  if (call->noutputs > 1)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED,
                                "dropout_p is %g; PyTorch takes only 0 here", p);
  for (uint32_t i = 0; i < a->rank; i++)
    sizes[i] = a->sizes[i];
  sizes[a->rank] = a->queries, sizes[a->rank + 1] = a->keys;
  fnzi_contiguous_strides(sizes, all.rank, strides);
  const double left = a->dtype == FNZ_F64 ? 1 - p : (double)(float)(1 - p);
  a->kept_factor = p == 1 ? 0 : 1 / left;
  void *kept;
  FNZ_TRY(fnzi_krn_scratch_take(call, fnz_geometry_numel(&all), 1, &kept));
  a->kept = kept;
  if (p == 1 && call->record)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED, "dropout_p is 1: nothing is drawn");
  if (p < 1)
    return fnzi_cpu_draw_kept(call, &all, fnzi_krn_call_geometry(call, 0)->dtype, 1 - p, kept);
  memset(kept, 0, (size_t)fnz_geometry_numel(&all));
  return FNZ_OK;
}

/* Panels pay for a second tile of a head. The first keys of them are found if the width is no more
 * than one panel is deep. */
static fnz_status open_packed(fnzi_krn_call *call, attention *a, size_t lanes) {
  int64_t cells[PACKED];
  fnzi_cpu_reals_out made;
  FNZI_NEW(&call->scratch, lanes * PACKED, &a->packed);
  if (a->dtype != FNZ_F32 || !fnzi_rows_best()->panels || a->tiles < 2 ||
      a->width > FNZI_PANEL_DEPTH || a->out_width > FNZI_PANEL_DEPTH || a->keys > MOST_PACKED)
    return FNZ_OK;
  cells[KEYS] = fnzi_row_panels_packed(a->width, a->keys);
  cells[VALUES] = fnzi_row_panels_packed(a->keys, a->out_width);
  for (size_t i = 0; i < lanes * PACKED; i++) {
    FNZ_TRY(fnzi_cpu_reals_scratch(call, FNZ_F32, cells[i % PACKED], &made));
    a->packed[i].panels = made.f;
  }
  return FNZ_OK;
}

static fnz_status open_scratch(fnzi_krn_call *call, attention *a) {
  size_t lanes = (size_t)fnzi_cpu_lanes(call), count;
  int64_t cells;
  fnzi_cpu_reals_out made;
  FNZI_NEW(&call->scratch, lanes, &a->scores);
  FNZ_TRY(fnzi_cpu_reals_scratch(call, FNZ_F32, (int64_t)lanes * PANEL_CELLS, &made));
  a->panels = made.f;
  FNZ_TRY(open_packed(call, a, lanes));
  if (!fnzi_mul_size(lanes, (size_t)a->keys, &count))
    return fnzi_no_memory(call->ctx);
  if (a->dtype == FNZ_F64)
    FNZI_NEW(&call->scratch, count, &a->rows);
  if (a->q.kind != FNZI_ROW_F32) {
    if (!fnzi_mul_i64((int64_t)lanes * TILE, a->width, &cells))
      return fnzi_no_memory(call->ctx);
    FNZ_TRY(fnzi_cpu_reals_scratch(call, FNZ_F32, cells, &made));
    a->queries_f32 = made.f;
  }
  if (!fnzi_mul_i64(a->keys, TILE, &cells))
    return fnzi_no_memory(call->ctx);
  for (size_t i = 0; i < lanes; i++)
    FNZ_TRY(fnzi_cpu_reals_scratch(call, a->dtype, cells, &a->scores[i]));
  return FNZ_OK;
}

static fnz_status attention_open(fnzi_krn_call *call, attention *a) {
  a->causal = fnzi_krn_named_bool(call, "is_causal", false);
  a->scale = fnzi_krn_named_float(call, "scale", 1 / sqrt((double)a->width));
  FNZ_TRY(open_side(call, a, 0, &a->q));
  FNZ_TRY(open_side(call, a, 1, &a->k));
  FNZ_TRY(open_side(call, a, 2, &a->v));
  FNZ_TRY(open_mask(call, a));
  FNZ_TRY(open_dropout(call, a));
  FNZ_TRY(fnzi_cpu_reals_result(call, 0, a->dtype, &a->out));
  if (call->noutputs > 1)
    FNZ_TRY(fnzi_cpu_reals_result(call, 1, a->dtype, &a->logsumexp));
  return open_scratch(call, a);
}

fnz_status fnzi_kernel_attention(fnzi_krn_call *call) {
  const fnz_geometry *q = fnzi_krn_call_geometry(call, 0), *k = fnzi_krn_call_geometry(call, 1);
  const fnz_geometry *out = &call->outputs[0]->geometry;
  attention *a;
  int64_t heads = 1;
  FNZI_NEW(&call->scratch, 1, &a);
  a->dtype = fnzi_cpu_real_dtype(q->dtype);
  a->rank = out->rank - 2, a->sizes = out->sizes;
  a->queries = q->sizes[q->rank - 2], a->width = q->sizes[q->rank - 1];
  a->keys = k->sizes[k->rank - 2], a->out_width = out->sizes[out->rank - 1];
  a->tiles = (a->queries + TILE - 1) / TILE;
  for (uint32_t i = 0; i < a->rank; i++)
    heads *= a->sizes[i];
  if (call->record) { /* the mask of dropout; the caller records the rest of attention */
    const int64_t count = heads * a->queries * a->keys;
    fnzi_krn_window kept;
    FNZ_TRY(open_dropout(call, a));
    fnzi_krn_window_dense(&kept, FNZ_BOOL, 1, &count, a->kept);
    return call->record->attend(call->record->user, &kept, a->kept_factor);
  }
  FNZ_TRY(attention_open(call, a));
  fnzi_cpu_rows_spread(call, heads * a->tiles, TILE * a->keys, attention_tile, a);
  return FNZ_OK;
}
