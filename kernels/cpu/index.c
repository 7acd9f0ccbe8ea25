/* index.c - reading and writing at places given by index tensors. */
#include "kernels/cpu/pick.h"
#include "kernels/cpu/point.h"

/* --- index.Tensor and index_put ---------------------------------------------------------- */
/* Both walk over the places of the index. For each, a block of the dimensions that are not indexed
 * moves between `self` and `other`, which has the index's dimensions from `first` on. */
typedef struct walk {
  fnzi_meta_places places;
  fnzi_krn_window self, other; /* blocks: the kept dimensions only */
  int64_t self_strides[FNZ_MAX_RANK], other_strides[FNZ_MAX_RANK]; /* bytes, of the others */
} walk;

static void cut_self(walk *w, const fnzi_krn_array *self) {
  uint32_t rank = self->window.rank;
  fnzi_krn_window_of(self, &w->self);
  for (uint32_t i = rank; i-- > 0;) {
    w->self_strides[i] = fnzi_krn_stride_bytes(self->window.strides[i], self->cell);
    if (w->places.values[i])
      fnzi_krn_window_select(&w->self, i, 0);
  }
}

static void cut_other(walk *w, const fnzi_krn_window *other) {
  w->other = *other;
  for (uint32_t i = w->places.rank; i-- > 0;) {
    uint32_t dim = w->places.first + i;
    w->other_strides[i] = fnzi_krn_stride_bytes(other->strides[dim], other->cell);
    fnzi_krn_window_select(&w->other, dim, 0);
  }
}

/* The blocks of the k-th place. */
static void blocks_at(const walk *w, uint32_t rank, int64_t k, fnzi_krn_window *self,
                      fnzi_krn_window *other) {
  self->data = w->self.data;
  other->data = w->other.data;
  for (uint32_t i = 0; i < rank; i++)
    if (w->places.values[i])
      self->data += w->places.values[i][k] * w->self_strides[i];
  for (uint32_t i = w->places.rank; i-- > 0; k /= w->places.sizes[i])
    other->data += k % w->places.sizes[i] * w->other_strides[i];
}

/* An empty self is selected at no place, so that a place of 0 is never looked at. */
static bool is_empty(const walk *w) {
  bool empty = w->places.count == 0;
  for (uint32_t i = 0; i < w->self.rank; i++)
    empty = empty || w->self.sizes[i] == 0;
  return empty;
}

/* --- Told (window.h) --------------------------------------------------------------------- */
/* The shape of places, without the places themselves. Masks are refused: only data count them. */
static fnz_status find_shape(const fnzi_krn_call *call, const fnzi_krn_array *self,
                             fnzi_meta_places *out) {
  fnzi_krn_call shape = *call;
  shape.has_data = false;
  return fnzi_meta_places_find(&shape, self, &call->args[1], out);
}

/* An index, over the space of `w`. */
static void spread_index(const fnzi_meta_places *places, const fnzi_krn_window *w,
                         const fnzi_krn_array *index, fnzi_krn_window *out) {
  uint32_t at = places->first + places->rank - index->window.rank;
  fnzi_krn_window_of(index, out);
  for (uint32_t i = 0; i < w->rank; i++) {
    uint32_t d = i - at;
    bool moves = i >= at && d < index->window.rank && index->window.sizes[d] != 1;
    out->sizes[i] = w->sizes[i];
    out->strides[i] = moves ? index->window.strides[d] : 0;
  }
  out->rank = w->rank;
}

/* `other` has the kept dimensions, with the dimensions of the index in between. */
static fnz_status index_record_places(fnzi_krn_call *call, const fnzi_krn_array *self,
                                      const fnzi_meta_places *places, const fnzi_krn_window *other,
                                      fnzi_krn_picking *p) {
  const fnz_arg *indices = &call->args[1];
  fnzi_krn_window space;
  fnzi_krn_window_of(self, &space);
  for (uint32_t i = space.rank; i-- > 0;)
    if (places->values[i])
      fnzi_krn_window_select(&space, i, 0);
  for (uint32_t i = 0; i < places->rank; i++)
    fnzi_krn_window_insert(&space, places->first + i, places->sizes[i], 0);
  for (uint32_t i = 0; i < indices->count; i++) {
    const fnzi_krn_array *index = fnzi_krn_arg_array(&indices->u.list[i]);
    fnzi_krn_pick *pick = &p->picks[p->npicks];
    if (!index)
      continue;
    if (p->npicks++ == FNZI_KRN_PICKS)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED, "more than %d indices at once",
                                  (int)FNZI_KRN_PICKS);
    *pick = (fnzi_krn_pick){
        .size = self->window.sizes[i], .stride = self->window.strides[i], .wraps = true};
    spread_index(places, &space, index, &pick->index);
  }
  p->to = p->into ? space : *other;
  p->from = p->into ? *other : space;
  p->first = places->first;
  p->rank = places->rank;
  return call->record->pick(call->record->user, p);
}

/* --- Rows --------------------------------------------------------------------------------- */
static bool lies_in_one_piece(const fnzi_krn_window *w) {
  int64_t stride = 1;
  for (uint32_t i = w->rank; i-- > 0; stride *= w->sizes[i])
    if (w->sizes[i] != 1 && w->strides[i] != stride)
      return false;
  return true;
}

static int64_t index_bytes_of(const fnzi_krn_window *w) {
  int64_t bytes = (int64_t)w->cell;
  for (uint32_t i = 0; i < w->rank; i++)
    bytes = fnzi_krn_stride_bytes(bytes, (size_t)w->sizes[i]);
  return bytes;
}

/* Blocks of the same type, each in one piece. */
static bool are_rows(const fnzi_krn_window *from, const fnzi_krn_window *to) {
  return from->dtype == to->dtype && lies_in_one_piece(from) && lies_in_one_piece(to);
}

/* One dimension is indexed, and the dimensions after it are contiguous rows. */
static bool picks_rows(const walk *w, const fnzi_krn_array *self, const fnzi_krn_array *out,
                       fnzi_cpu_picked *rows) {
  uint32_t indexed = 0, dim = 0;
  for (uint32_t d = 0; d < self->window.rank; d++)
    if (w->places.values[d]) {
      indexed++;
      dim = d;
    }
  if (indexed != 1 || w->places.first != 0 || !fnzi_is_contiguous(&out->window) ||
      !are_rows(&w->self, &w->other))
    return false;
  *rows =
      (fnzi_cpu_picked){(char *)w->other.data, (const char *)w->self.data, w->places.values[dim],
                        w->places.count,       index_bytes_of(&w->other),  w->self_strides[dim]};
  return true;
}

/* Element by element: each place as the bytes from the start of self, whose kept dimensions have
 * the dimensions of the index in between, as `other` has them. */
static fnz_status place_elements(fnzi_krn_call *call, const walk *w, const fnzi_krn_array *self,
                                 const fnzi_krn_window *other, fnzi_cpu_placed *out) {
  const fnzi_meta_places *places = &w->places;
  int64_t *bytes, step = sizeof *bytes / sizeof(int64_t);
  FNZI_NEW(&call->scratch, places->count, &bytes);
  for (uint32_t d = 0; d < self->window.rank; d++)
    for (int64_t k = 0; places->values[d] && k < places->count; k++)
      bytes[k] += places->values[d][k] * w->self_strides[d];
  *out = (fnzi_cpu_placed){.self = w->self, .other = *other, .step = 1};
  for (uint32_t i = 0; i < places->rank; i++)
    fnzi_krn_window_insert(&out->self, places->first + i, places->sizes[i], 0);
  out->index = out->self;
  out->index.dtype = FNZ_I64, out->index.cell = sizeof *bytes;
  out->index.data = (unsigned char *)bytes;
  memset(out->index.strides, 0, sizeof out->index.strides);
  for (uint32_t i = places->rank; i-- > 0; step *= places->sizes[i])
    out->index.strides[places->first + i] = step;
  return FNZ_OK;
}

fnz_status fnzi_kernel_index(fnzi_krn_call *call) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0);
  fnzi_krn_window out;
  fnzi_cpu_placed elements;
  walk w;
  fnzi_krn_window_of(call->outputs[0], &out);
  if (call->record) {
    fnzi_krn_picking p = {.into = false};
    FNZ_TRY(find_shape(call, self, &w.places));
    return index_record_places(call, self, &w.places, &out, &p);
  }
  FNZ_TRY(fnzi_meta_places_find(call, self, &call->args[1], &w.places));
  cut_self(&w, self);
  cut_other(&w, &out);
  fnzi_cpu_picked rows;
  if (!is_empty(&w) && picks_rows(&w, self, call->outputs[0], &rows)) {
    fnzi_cpu_rows_gather(call, &rows);
    return FNZ_OK;
  }
  if (is_empty(&w))
    return FNZ_OK;
  FNZ_TRY(place_elements(call, &w, self, &out, &elements));
  (void)fnzi_cpu_placed_read(call, &elements);
  return FNZ_OK;
}

/* The values broadcast to (kept dimensions before, index, kept dimensions behind). */
static fnz_status spread_values(fnzi_krn_call *call, const walk *w, const fnzi_krn_array *values,
                                fnzi_krn_window *out) {
  fnzi_krn_window spread = {.rank = 0}, given;
  FNZ_TRY(fnzi_meta_values_check(call, call->outputs[0], &w->places));
  for (uint32_t i = 0; i < w->self.rank; i++)
    fnzi_krn_window_insert(&spread, i, w->self.sizes[i], 0);
  for (uint32_t i = 0; i < w->places.rank; i++)
    fnzi_krn_window_insert(&spread, w->places.first + i, w->places.sizes[i], 0);
  fnzi_krn_window_of(values, &given);
  while (given.rank > spread.rank)
    fnzi_krn_window_select(&given, 0, 0);
  for (uint32_t i = given.rank, at = spread.rank; i-- > 0;)
    spread.strides[--at] = given.sizes[i] == 1 ? 0 : given.strides[i];
  spread.dtype = given.dtype;
  spread.cell = given.cell;
  spread.data = given.data;
  *out = spread;
  return FNZ_OK;
}

/* How blocks are added to blocks: by a row at once where both lie in one piece and are of the type
 * that is computed, else (row NULL) as windows. */
typedef struct adder {
  const fnzi_cpu_point *row;
  int64_t count, cell;
} adder;

static adder find_adder(const fnzi_krn_window *to, const fnzi_krn_window *from) {
  adder a = {.count = 1, .cell = (int64_t)to->cell};
  bool is_computed = to->dtype == FNZ_F32 || to->dtype == FNZ_F64 || to->dtype == FNZ_I64;
  if (!is_computed || from->dtype != to->dtype || !lies_in_one_piece(to) ||
      !lies_in_one_piece(from))
    return a;
  for (uint32_t i = 0; i < to->rank; i++)
    a.count *= to->sizes[i];
  a.row = fnzi_cpu_point_find(to->dtype, "add");
  return a;
}

static fnz_status add_blocks(fnzi_krn_call *call, const adder *a, const fnzi_krn_window *to,
                             const fnzi_krn_window *from) {
  if (!a->row)
    return fnzi_cpu_window_combine(call, "add", to, from, NULL);
  for (int64_t at = 0; at < a->count; at += FNZI_POINT_CHUNK) {
    const void *in[] = {to->data + at * a->cell, from->data + at * a->cell};
    a->row->run(to->data + at * a->cell, in,
                a->count - at < FNZI_POINT_CHUNK ? a->count - at : FNZI_POINT_CHUNK);
  }
  return FNZ_OK;
}

static fnz_status record_index_put(fnzi_krn_call *call, const fnzi_krn_array *out, bool adds) {
  fnzi_krn_picking p = {.into = true, .row = adds ? "add" : NULL, .wide = out->window.dtype};
  fnzi_krn_window values;
  walk w;
  FNZ_TRY(find_shape(call, out, &w.places));
  cut_self(&w, out);
  FNZ_TRY(spread_values(call, &w, fnzi_krn_named_array(call, "values"), &values));
  return index_record_places(call, out, &w.places, &values, &p);
}

fnz_status fnzi_kernel_index_put(fnzi_krn_call *call) {
  const fnzi_krn_array *out = call->outputs[0];
  bool adds = fnzi_krn_named_bool(call, "accumulate", false);
  enum { LONG = 64 }; /* bytes of blocks that are worth more than their elements one by one */
  fnzi_krn_window values, from, to;
  fnzi_cpu_placed elements;
  walk w;
  if (call->record)
    return record_index_put(call, out, adds);
  FNZ_TRY(fnzi_meta_places_find(call, out, &call->args[1], &w.places));
  cut_self(&w, out);
  FNZ_TRY(spread_values(call, &w, fnzi_krn_named_array(call, "values"), &values));
  cut_other(&w, &values);
  to = w.self;
  from = w.other;
  const adder a = find_adder(&to, &from);
  const bool are_long = lies_in_one_piece(&to) && index_bytes_of(&to) >= LONG;
  if (!is_empty(&w) && values.dtype == out->window.dtype && !are_long) {
    FNZ_TRY(place_elements(call, &w, out, &values, &elements));
    elements.row = adds ? fnzi_cpu_point_find(fnzi_meta_point_class(values.dtype), "add") : NULL;
    (void)fnzi_cpu_placed_write(&elements);
    return FNZ_OK;
  }
  for (int64_t k = 0; k < w.places.count && !is_empty(&w); k++) {
    blocks_at(&w, out->window.rank, k, &to, &from);
    if (adds)
      FNZ_TRY(add_blocks(call, &a, &to, &from));
    else
      FNZ_TRY(fnzi_krn_window_assign(call, &to, &from, false));
  }
  return FNZ_OK;
}

/* --- A vector of indices along one dimension --------------------------------------------- */
typedef struct lane {
  uint32_t dim;
  int64_t count; /* of indices */
  int64_t picks; /* how many of them are looked at */
  int64_t size;  /* of the dimension */
  bool wraps;
  const int64_t *places;
} lane;

static fnz_status find_lane(fnzi_krn_call *call, const fnzi_krn_window *self, bool wraps,
                            lane *out) {
  const fnzi_krn_array *index = fnzi_krn_named_array(call, "index");
  FNZ_TRY(fnzi_wrap_dim(call->ctx, call->op->name, fnzi_krn_named_int(call, "dim", 0), self->rank,
                        &out->dim));
  out->count = out->picks = fnzi_krn_array_numel(index);
  out->size = self->sizes[out->dim];
  out->wraps = wraps;
  if (call->record)
    return fnzi_meta_index_check(call, index);
  return fnzi_meta_index_values(call, index, self->sizes[out->dim], wraps, &out->places);
}

/* If another dimension is empty nothing is written, and eager reads no index. */
static fnz_status find_written_lane(fnzi_krn_call *call, const fnzi_krn_window *self, bool wraps,
                                    lane *out) {
  FNZ_TRY(fnzi_wrap_dim(call->ctx, call->op->name, fnzi_krn_named_int(call, "dim", 0), self->rank,
                        &out->dim));
  *out =
      (lane){.dim = out->dim, .count = fnzi_krn_array_numel(fnzi_krn_named_array(call, "index"))};
  for (uint32_t d = 0; d < self->rank; d++)
    if (d != out->dim && self->sizes[d] == 0)
      return FNZ_OK;
  return find_lane(call, self, wraps, out);
}

/* Told: `w` is indexed along the lane. */
static fnz_status record_lane(fnzi_krn_call *call, const lane *l, const fnzi_krn_window *w,
                              const fnzi_krn_window *other, fnzi_krn_picking *p) {
  fnzi_krn_pick *pick = &p->picks[p->npicks++];
  fnzi_krn_window space = *w, index;
  if (l->picks == 0)
    return FNZ_OK;
  *pick = (fnzi_krn_pick){.size = l->size, .stride = w->strides[l->dim], .wraps = l->wraps};
  space.sizes[l->dim] = l->count;
  space.strides[l->dim] = 0;
  fnzi_krn_window_lanes(fnzi_krn_named_array(call, "index"), &index);
  pick->index = space;
  pick->index.dtype = index.dtype;
  pick->index.cell = index.cell;
  pick->index.data = index.data;
  memset(pick->index.strides, 0, sizeof pick->index.strides);
  pick->index.strides[l->dim] = index.strides[0];
  p->to = p->into ? space : *other;
  p->from = p->into ? *other : space;
  return call->record->pick(call->record->user, p);
}

/* Element by element: `w` is indexed along the lane, `other` has all its elements. */
static fnzi_cpu_placed place_lane(const lane *l, const fnzi_krn_window *w,
                                  const fnzi_krn_window *other) {
  fnzi_cpu_placed p = {.self = *w, .other = *other};
  p.step = fnzi_krn_stride_bytes(w->strides[l->dim], w->cell);
  p.self.sizes[l->dim] = l->count;
  p.self.strides[l->dim] = 0;
  p.index = p.self;
  p.index.dtype = FNZ_I64, p.index.cell = sizeof *l->places;
  p.index.data = (unsigned char *)(uintptr_t)l->places;
  memset(p.index.strides, 0, sizeof p.index.strides);
  p.index.strides[l->dim] = 1;
  return p;
}

/* Along the first dimension; the dimensions after it are contiguous rows. */
static bool picks_lane(const fnzi_krn_window *self, const fnzi_krn_window *out, const lane *l,
                       fnzi_cpu_picked *rows) {
  fnzi_krn_window from = *self, to = *out;
  if (l->dim != 0 || l->count == 0 || self->rank == 0)
    return false;
  fnzi_krn_window_select(&from, 0, 0);
  fnzi_krn_window_select(&to, 0, 0);
  int64_t row = fnzi_krn_stride_bytes(out->strides[0], out->cell);
  *rows = (fnzi_cpu_picked){(char *)to.data,
                            (const char *)from.data,
                            l->places,
                            l->count,
                            row,
                            fnzi_krn_stride_bytes(self->strides[0], self->cell)};
  return row == index_bytes_of(&to) && are_rows(&from, &to);
}

fnz_status fnzi_kernel_index_select(fnzi_krn_call *call) {
  fnzi_krn_picking p = {.into = false};
  fnzi_krn_window self, out;
  fnzi_cpu_picked rows;
  lane l;
  fnzi_krn_window_lanes(fnzi_krn_call_input(call, 0), &self);
  fnzi_krn_window_lanes(call->outputs[0], &out);
  FNZ_TRY(find_lane(call, &self, false, &l));
  if (call->record)
    return record_lane(call, &l, &self, &out, &p);
  if (picks_lane(&self, &out, &l, &rows)) {
    fnzi_cpu_rows_gather(call, &rows);
    return FNZ_OK;
  }
  const fnzi_cpu_placed placed = place_lane(&l, &self, &out);
  (void)fnzi_cpu_placed_read(call, &placed);
  return FNZ_OK;
}

fnz_status fnzi_kernel_index_fill(fnzi_krn_call *call) {
  const fnz_arg *value = fnzi_krn_named(call, "value");
  fnzi_krn_picking p = {.into = true};
  fnzi_krn_window out, from;
  unsigned char room[16];
  lane l;
  fnzi_krn_window_lanes(call->outputs[0], &out);
  FNZ_TRY(find_written_lane(call, &out, true, &l));
  FNZ_TRY(fnzi_krn_window_item(call, value, out.dtype, room, &from));
  if (call->record)
    return record_lane(call, &l, &out, &from, &p);
  if (l.picks && from.dtype == out.dtype) {
    const fnzi_cpu_placed placed = place_lane(&l, &out, &from);
    (void)fnzi_cpu_placed_write(&placed);
    return FNZ_OK;
  }
  for (int64_t k = 0; k < l.picks; k++) {
    fnzi_krn_window to = out;
    fnzi_krn_window_select(&to, l.dim, l.places[k]);
    FNZ_TRY(fnzi_krn_window_assign(call, &to, &from, false));
  }
  return FNZ_OK;
}

/* How index_add joins elements: its alpha is multiplied and added at once. */
typedef struct joining {
  bool adds;
  const fnz_arg *alpha; /* NULL for 1 */
} joining;

static fnz_status join_lanes(fnzi_krn_call *call, const fnzi_krn_window *out,
                             const fnzi_krn_window *source, const lane *l, joining j) {
  adder a = {.row = NULL};
  bool lies_along = out->rank > 0; /* its elements lie closer together than others */
  for (uint32_t d = 0; d < out->rank; d++)
    lies_along = lies_along &&
                 (d == l->dim || out->sizes[d] == 1 || out->strides[d] >= out->strides[l->dim]);
  /* Elements at places have a loop of their type: not halves and complex numbers that are added. */
  bool is_half = out->dtype == FNZ_F16 || out->dtype == FNZ_BF16;
  bool has_loop = !j.adds || (!is_half && !fnzi_is_complex(out->dtype));
  if (l->picks && !j.alpha && source->dtype == out->dtype && (lies_along || has_loop)) {
    fnzi_cpu_placed p = place_lane(l, out, source);
    p.row = j.adds ? fnzi_cpu_point_find(fnzi_meta_point_class(out->dtype), "add") : NULL;
    (void)fnzi_cpu_placed_write(&p);
    return FNZ_OK;
  }
  for (int64_t k = 0; k < l->picks; k++) {
    fnzi_krn_window to = *out, from = *source;
    fnzi_krn_window_select(&to, l->dim, l->places[k]);
    fnzi_krn_window_select(&from, l->dim, k);
    if (k == 0)
      a = find_adder(&to, &from);
    if (j.adds && j.alpha)
      FNZ_TRY(fnzi_cpu_window_combine(call, "add_scaled", &to, &from, j.alpha));
    else if (j.adds)
      FNZ_TRY(add_blocks(call, &a, &to, &from));
    else
      FNZ_TRY(fnzi_krn_window_assign(call, &to, &from, false));
  }
  return FNZ_OK;
}

/* index_copy and index_add. */
fnz_status fnzi_kernel_index_write(fnzi_krn_call *call) {
  const fnz_arg *alpha = fnzi_krn_named(call, "alpha");
  joining j = {.adds = call->row->mode == FNZI_MODE_add};
  fnzi_krn_window out, source, wide;
  lane l;
  fnzi_krn_window_lanes(call->outputs[0], &out);
  fnzi_krn_window_lanes(fnzi_krn_named_array(call, "source"), &source);
  FNZ_TRY(find_written_lane(call, &out, false, &l));
  if (j.adds && (alpha->tag == FNZ_ARG_COMPLEX || fnzi_krn_number_float(alpha) != 1.0))
    j.alpha = alpha;
  /* Along the first or the last of several dimensions eager's index_add without alpha is
   * scatter_add, which rounds 16-bit floats once; elsewhere each addition is rounded. */
  const bool is_half = out.dtype == FNZ_F16 || out.dtype == FNZ_BF16;
  const bool is_wide =
      is_half && j.adds && !j.alpha && out.rank > 1 && (l.dim == 0 || l.dim + 1 == out.rank);
  if (call->record) {
    fnzi_krn_picking p = {.into = true, .first = l.dim, .rank = 1, .alpha = j.alpha};
    if (j.adds)
      p.row = j.alpha ? "add_scaled" : "add";
    p.wide = is_wide ? FNZ_F32 : out.dtype;
    return record_lane(call, &l, &out, &source, &p);
  }
  if (!is_wide)
    return join_lanes(call, &out, &source, &l, j);
  FNZ_TRY(fnzi_krn_window_widen(call, &out, &wide));
  FNZ_TRY(join_lanes(call, &wide, &source, &l, j));
  return fnzi_krn_window_assign(call, &out, &wide, false);
}
