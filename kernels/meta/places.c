/* places.c - turns what an indexing operator is given (vectors of indices, masks, None) into places
 * in the dimensions of the tensor that is indexed. */
#include "kernels/meta/meta.h"

fnz_status fnzi_meta_index_check(const fnzi_krn_call *call, const fnzi_krn_array *index) {
  if (index->geometry.dtype == FNZ_I64 || index->geometry.dtype == FNZ_I32)
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "an index must be of i64 or i32, not %s",
                              fnzi_dtype(index->geometry.dtype)->name);
}

static bool are_inside(const int64_t *values, size_t count, int64_t size) {
  uint64_t signs = 0; /* of each value, and of its distance from the last one */
  for (size_t i = 0; i < count; i++)
    signs |= (uint64_t)values[i] | ((uint64_t)size - 1 - (uint64_t)values[i]);
  return !(signs >> 63);
}

/* A kernel may write results while it still reads places. */
static bool may_be_written(const fnzi_krn_call *call, const void *data, size_t bytes) {
  const unsigned char *from = data;
  for (size_t k = 0; k < call->noutputs; k++) {
    const fnzi_krn_array *out = call->outputs[k];
    const fnzi_krn_storage *s = out ? out->storage : NULL;
    if (s && s->data && from < s->data + s->bytes && s->data < from + bytes)
      return true;
  }
  return false;
}

fnz_status fnzi_meta_index_values(fnzi_krn_call *call, const fnzi_krn_array *index, int64_t size,
                                  bool wraps, const int64_t **out) {
  size_t count = (size_t)fnzi_krn_array_numel(index);
  const void *given;
  int64_t *values;
  FNZ_TRY(fnzi_meta_index_check(call, index));
  FNZ_TRY(fnzi_krn_dense_get_as(call, index, FNZ_I64, &given));
  *out = given;
  if (are_inside(given, count, size) && !may_be_written(call, given, count * sizeof *values))
    return FNZ_OK;
  FNZI_NEW(&call->scratch, count, &values);
  if (count)
    memcpy(values, given, count * sizeof *values);
  for (size_t i = 0; i < count; i++) {
    int64_t *value = &values[i];
    if (*value >= size || *value < (wraps ? -size : 0))
      return fnzi_krn_call_refuse(
          call, FNZ_CLASS_BOUNDS, "index %lld is outside [%lld, %lld] of a dimension of size %lld",
          (long long)*value, wraps ? -(long long)size : 0LL, (long long)size - 1, (long long)size);
    if (*value < 0)
      *value += size;
  }
  *out = values;
  return FNZ_OK;
}

/* One vector of places along one dimension of self, before broadcasting. */
typedef struct vector {
  uint32_t dim;
  fnz_geometry shape;
  const int64_t *values; /* NULL without data */
} vector;

typedef struct finder {
  fnzi_krn_call *call;
  const fnzi_krn_array *self;
  vector vectors[FNZ_MAX_RANK];
  uint32_t count, dim; /* vectors found; next dimension of self */
} finder;

static fnz_status too_many(const finder *f) {
  return fnzi_krn_call_refuse(f->call, FNZ_CLASS_BOUNDS,
                              "more indices than the %u dimensions of self", f->self->window.rank);
}

enum { TRUTHS = 256 };

void fnzi_meta_true_places(const fnz_geometry *mask, const uint8_t *bits, int64_t *const *places,
                           int64_t step) {
  int64_t index[FNZ_MAX_RANK] = {0}, run[TRUTHS], at = 0;
  int64_t total = fnz_geometry_numel(mask), row = mask->rank ? mask->sizes[mask->rank - 1] : 1;
  uint32_t last = mask->rank ? mask->rank - 1 : 0;
  for (int64_t from = 0, count; from < total; from += count) {
    int64_t start = from % row;
    count = row - start < TRUTHS ? row - start : TRUTHS;
    /* Places of a run along the last dimension, without a branch, as truths are hard to foresee. */
    int64_t n = 0;
    for (int64_t i = 0; i < count; i++) {
      run[n] = i;
      n += bits[from + i] != 0;
    }
    for (uint32_t d = 0; d < last; d++)
      for (int64_t k = 0; k < n; k++)
        places[d][(at + k) * step] = index[d];
    for (int64_t k = 0; mask->rank && k < n; k++)
      places[last][(at + k) * step] = start + run[k];
    at += n;
    for (uint32_t d = last; start + count == row && d-- > 0 && ++index[d] == mask->sizes[d];)
      index[d] = 0;
  }
}

/* The coordinates of the true elements, one vector per dimension of the mask. */
static fnz_status split_mask(finder *f, const fnz_geometry *mask, const uint8_t *bits) {
  int64_t *size, *places[FNZ_MAX_RANK], trues = 0;
  FNZI_NEW(&f->call->scratch, 1, &size);
  for (int64_t i = 0, count = fnz_geometry_numel(mask); i < count; i++)
    trues += bits[i] != 0;
  *size = trues;
  for (uint32_t i = 0; i < mask->rank; i++)
    FNZI_NEW(&f->call->scratch, *size, &places[i]);
  fnzi_meta_true_places(mask, bits, places, 1);
  for (uint32_t i = 0; i < mask->rank; i++) {
    vector *v = &f->vectors[f->count + i];
    v->dim = f->dim + i;
    v->values = places[i];
    v->shape = (fnz_geometry){.dtype = FNZ_I64, .rank = 1, .sizes = size};
  }
  f->count += mask->rank;
  f->dim += mask->rank;
  return FNZ_OK;
}

static fnz_status take_mask(finder *f, const fnzi_krn_array *mask) {
  const fnz_geometry *g = &mask->window;
  const void *bits;
  if (g->rank == 0)
    return fnzi_krn_call_refuse(f->call, FNZ_CLASS_UNSUPPORTED, "a mask without dimensions");
  if (g->rank > f->self->window.rank - f->dim)
    return too_many(f);
  for (uint32_t i = 0; i < g->rank; i++)
    if (g->sizes[i] != f->self->window.sizes[f->dim + i])
      return fnzi_krn_call_refuse(
          f->call, FNZ_CLASS_BOUNDS, "a mask has size %lld where self has %lld in dimension %u",
          (long long)g->sizes[i], (long long)f->self->window.sizes[f->dim + i], f->dim + i);
  if (!f->call->has_data)
    return fnzi_krn_call_refuse(f->call, FNZ_CLASS_UNSUPPORTED,
                                "the size of the result depends on the values of a mask");
  FNZ_TRY(fnzi_krn_dense_get(f->call, mask, &bits));
  return split_mask(f, g, bits);
}

static bool is_mask(const fnzi_krn_array *index) {
  return index->window.dtype == FNZ_BOOL || index->window.dtype == FNZ_U8;
}

static fnz_status take_index(finder *f, const fnz_arg *arg) {
  const fnzi_krn_array *index = fnzi_krn_arg_array(arg);
  if (index && is_mask(index))
    return take_mask(f, index);
  if (f->dim >= f->self->window.rank)
    return too_many(f);
  if (index) {
    vector *v = &f->vectors[f->count++];
    v->dim = f->dim;
    v->shape = index->window;
    v->values = NULL;
    if (f->call->has_data)
      FNZ_TRY(
          fnzi_meta_index_values(f->call, index, f->self->window.sizes[f->dim], true, &v->values));
  }
  f->dim++;
  return FNZ_OK;
}

static fnz_status broadcast_vector(finder *f, const vector *v, fnzi_meta_places *out) {
  static const int64_t unknown[1] = {0};
  fnzi_krn_window from, to;
  int64_t *values;
  out->values[v->dim] = unknown;
  if (!v->values)
    return FNZ_OK;
  out->values[v->dim] = v->values;
  if (v->shape.rank == out->rank &&
      memcmp(v->shape.sizes, out->sizes, out->rank * sizeof *out->sizes) == 0)
    return FNZ_OK;
  FNZI_NEW(&f->call->scratch, out->count, &values);
  fnzi_krn_window_dense(&from, FNZ_I64, v->shape.rank, v->shape.sizes, v->values);
  fnzi_krn_window_dense(&to, FNZ_I64, out->rank, out->sizes, values);
  out->values[v->dim] = values;
  return fnzi_krn_window_assign(f->call, &to, &from, false);
}

fnz_status fnzi_meta_places_find(fnzi_krn_call *call, const fnzi_krn_array *self,
                                 const fnz_arg *indices, fnzi_meta_places *out) {
  finder f = {.call = call, .self = self};
  const fnz_geometry *shapes[FNZ_MAX_RANK];
  *out = (fnzi_meta_places){.count = 1};
  /* Before any is read: a mask without data ends the search, and an index behind it is wrong still.
   */
  for (uint32_t i = 0; i < indices->count; i++) {
    const fnzi_krn_array *index = fnzi_krn_arg_array(&indices->u.list[i]);
    if (index && !is_mask(index))
      FNZ_TRY(fnzi_meta_index_check(call, index));
  }
  for (uint32_t i = 0; i < indices->count; i++)
    FNZ_TRY(take_index(&f, &indices->u.list[i]));
  if (f.count == 0)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "at least one index must be given");
  for (uint32_t k = 0; k < f.count; k++)
    shapes[k] = &f.vectors[k].shape;
  FNZ_TRY(fnzi_meta_broadcast(call, shapes, f.count, &out->rank, out->sizes));
  if (out->rank + self->window.rank - f.count > FNZ_MAX_RANK)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_LIMIT, "a result of rank %u is above %d",
                                out->rank + self->window.rank - f.count, FNZ_MAX_RANK);
  for (uint32_t i = 0; i < out->rank; i++)
    out->count *= out->sizes[i];
  bool together = f.vectors[f.count - 1].dim - f.vectors[0].dim + 1 == f.count;
  out->first = together ? f.vectors[0].dim : 0;
  for (uint32_t k = 0; k < f.count; k++)
    FNZ_TRY(broadcast_vector(&f, &f.vectors[k], out));
  return FNZ_OK;
}

fnz_status fnzi_meta_values_check(const fnzi_krn_call *call, const fnzi_krn_array *self,
                                  const fnzi_meta_places *places) {
  const fnz_geometry *values = &fnzi_krn_named_array(call, "values")->geometry;
  /* Kept dimensions of self, with the dimensions of the index in between. */
  int64_t sizes[2 * FNZ_MAX_RANK];
  uint32_t kept = 0, more = 0;
  for (uint32_t d = 0; d < self->window.rank; d++)
    if (!places->values[d]) {
      sizes[kept < places->first ? kept : kept + places->rank] = self->window.sizes[d];
      kept++;
    }
  memcpy(sizes + places->first, places->sizes, places->rank * sizeof *sizes);
  const uint32_t rank = kept + places->rank;
  while (values->rank - more > rank && values->sizes[more] == 1)
    more++;
  if (values->rank - more > rank)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "values have rank %u, the places have %u",
                                values->rank - more, rank);
  for (uint32_t i = more; i < values->rank; i++) {
    int64_t size = values->sizes[i], place = sizes[rank - (values->rank - i)];
    if (size != 1 && size != place)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                  "values have size %lld in dimension %u, the places have %lld",
                                  (long long)size, i, (long long)place);
  }
  return FNZ_OK;
}
