/* methods_join.c - which weights of several programs are one.
 *
 * needs   programs that are verified and belong to the set alone
 * gives   the list of the weights; and weights of one name, but constants, in one blob
 *
 * Blobs are joined, not weights: weights of one blob share memory, and must do so in all methods.
 */
#include "program/formats/methods.h"

#include <stdio.h>

enum { NONE = -1 };

/* A blob of the method that is joined, and a blob of an earlier method that takes its place. */
typedef struct blob_pair {
  fnzi_blob *from, *to; /* `to` NULL: none */
  uint32_t weight;      /* the first in it */
  uint32_t method;      /* that `to` is of */
  bool is_same;         /* byte by byte */
  bool is_strict;       /* it holds a parameter or buffer */
} blob_pair;

typedef struct joining {
  fnz_context *ctx;
  fnz_methods *set;
  fnz_program *p;
  uint32_t method;
  bool is_read;
  bool *is_constant, *is_written; /* of weights */
  int64_t *entries;               /* of weights: the set's; NONE */
  int64_t *pair_at;               /* of weights: the pair of their blob; NONE */
  struct {
    blob_pair *data;
    size_t count, capacity;
  } pairs;
  fnzi_map from, to; /* blob -> pair */
} joining;

static fnzi_weight *weight_at(const joining *j, size_t i) {
  return &j->p->weights.data[i];
}

static fnzi_methods_entry *entry_of(const joining *j, size_t i) {
  return j->entries[i] == NONE ? NULL : &j->set->weights.data[j->entries[i]];
}

/* --- refusing --------------------------------------------------------------------------------- */
static fnz_status differ(const joining *j, size_t i, const char *what) {
  const fnzi_methods_entry *e = entry_of(j, i);
  return fnzi_fail(
      j->ctx, j->is_read ? FNZ_CLASS_ENCODING : FNZ_CLASS_DIFFERENT, weight_at(j, i)->name,
      "%s in the methods %s and %s; parameters and buffers of one name are one: export "
      "them from one module, or give one of them another name",
      what, j->set->names[e->method], j->set->names[j->method]);
}

/* --- what each weight is ---------------------------------------------------------------------- */
/* A weight without an input is a constant. */
static void note_inputs(joining *j) {
  const fnzi_graph *g = fnzi_graph_main(j->p);
  uint64_t at;
  for (size_t i = 0; i < j->p->weights.count; i++)
    j->is_constant[i] = true;
  for (uint32_t k = 0; k < g->ninputs; k++) {
    const fnz_input_spec *in = &j->p->inputs[k];
    if ((in->kind != FNZ_INPUT_PARAMETER && in->kind != FNZ_INPUT_BUFFER) ||
        !fnzi_map_get(&j->p->weight_index, in->target, strlen(in->target), &at))
      continue;
    j->is_constant[at] = false;
    j->is_written[at] = j->is_written[at] || in->written;
  }
  for (uint32_t k = 0; k < g->noutputs; k++) {
    const fnz_output_spec *out = &j->p->outputs[k];
    int of = fnzi_output_kind_of(out)->of;
    if (fnzi_output_is_mutation(out) && (of == FNZ_INPUT_PARAMETER || of == FNZ_INPUT_BUFFER) &&
        fnzi_map_get(&j->p->weight_index, out->target, strlen(out->target), &at))
      j->is_written[at] = true;
  }
}

static bool are_bytes_same(const fnzi_blob *a, const fnzi_blob *b) {
  return a == b || (fnzi_blob_bytes(a) == fnzi_blob_bytes(b) &&
                    memcmp(fnzi_blob_data(a), fnzi_blob_data(b), fnzi_blob_bytes(a)) == 0);
}

/* A constant that is another one than the first method's of its name stays apart. */
static bool is_apart(const joining *j, size_t i, const fnzi_methods_entry *e) {
  const fnzi_weight *w = weight_at(j, i);
  if (!e->is_constant || !j->is_constant[i])
    return false;
  return !w->blob || !e->weight->blob || !fnzi_geometry_equal(w->geometry, e->weight->geometry) ||
         (j->is_read ? w->blob != e->weight->blob : !are_bytes_same(w->blob, e->weight->blob));
}

/* --- blobs ------------------------------------------------------------------------------------ */
static blob_pair *pair_of(const joining *j, size_t i) {
  return j->pair_at[i] == NONE ? NULL : &j->pairs.data[j->pair_at[i]];
}

static fnz_status pair_weight(joining *j, size_t i) {
  const fnzi_weight *w = weight_at(j, i);
  const fnzi_methods_entry *e = entry_of(j, i);
  fnzi_blob *const *slot = &w->blob;
  uint64_t at = j->pairs.count;
  j->pair_at[i] = NONE;
  if (*slot) {
    if (!fnzi_map_get(&j->from, slot, sizeof *slot, &at)) {
      FNZI_PUSH(j->ctx, &j->pairs, ((blob_pair){.from = *slot, .weight = (uint32_t)i}));
      FNZ_TRY(fnzi_map_set(&j->from, slot, sizeof *slot, at));
    }
    j->pair_at[i] = (int64_t)at;
  }
  blob_pair *pair = pair_of(j, i);
  if (!e)
    return FNZ_OK;
  if (!fnzi_geometry_equal(w->geometry, e->weight->geometry)) {
    char here[FNZI_SHAPE_TEXT], there[FNZI_SHAPE_TEXT], what[2 * FNZI_SHAPE_TEXT + 16];
    const fnz_geometry *a = entry_of(j, i)->weight->geometry, *b = weight_at(j, i)->geometry;
    if (a->dtype == b->dtype && fnzi_same_sizes(a, b))
      return differ(j, i, "it has other strides, or another place in its storage,");
    fnzi_shape_text(a, there);
    fnzi_shape_text(b, here);
    snprintf(what, sizeof what, "it is %s and %s", there, here);
    return differ(j, i, what);
  }
  if (!w->blob != !e->weight->blob)
    return differ(j, i, "it has elements in only one");
  if (!pair)
    return FNZ_OK;
  if (j->is_read && w->blob != e->weight->blob)
    return differ(j, i, "it is stored twice, or shares memory in only one,");
  if (pair->to && pair->to != e->weight->blob)
    return differ(j, i, "it shares memory with other weights in only one");
  pair->to = e->weight->blob;
  pair->method = e->method;
  pair->is_strict = pair->is_strict || !j->is_constant[i];
  return FNZ_OK;
}

/* Two blobs of one method stay two: constants keep their own, others cannot. */
static fnz_status check_pair(joining *j, blob_pair *pair) {
  uint64_t there;
  if (!pair->to)
    return FNZ_OK;
  if (fnzi_map_get(&j->to, &pair->to, sizeof pair->to, &there) ||
      fnzi_blob_bytes(pair->to) != fnzi_blob_bytes(pair->from)) {
    if (pair->is_strict)
      return differ(j, pair->weight, "it shares memory with other weights in only one");
    pair->to = NULL;
    return FNZ_OK;
  }
  pair->is_same = are_bytes_same(pair->from, pair->to);
  return fnzi_map_set(&j->to, &pair->to, sizeof pair->to, 1);
}

/* Weights that a method writes begin as in the first method. */
static fnz_status check_elements(joining *j, size_t i) {
  const fnzi_weight *w = weight_at(j, i);
  const fnzi_methods_entry *e = entry_of(j, i);
  const blob_pair *pair = pair_of(j, i);
  if (!pair || !pair->to || pair->is_same || (e && (e->shown.is_state || j->is_written[i])) ||
      fnzi_weight_difference(w, w->geometry, pair->to) < 0)
    return FNZ_OK;
  if (e)
    return differ(j, i, "it has other elements, although neither writes it,");
  return fnzi_fail(
      j->ctx, FNZ_CLASS_DIFFERENT, w->name,
      "in method %s it shares memory with weights of %s, where that has other elements",
      j->set->names[j->method], j->set->names[pair->method]);
}

/* --- the list --------------------------------------------------------------------------------- */
static fnz_status methods_join_add(joining *j, size_t i) {
  const fnzi_weight *w = weight_at(j, i);
  fnzi_methods_entry *e = entry_of(j, i), new = {.weight = w, .method = j->method};
  uint64_t there;
  size_t bytes;
  if (e) {
    e->shown.users++;
    e->shown.is_state = e->shown.is_state || j->is_written[i];
    e->is_constant = e->is_constant && j->is_constant[i];
    return FNZ_OK;
  }
  new.is_constant = j->is_constant[i];
  new.shown.users = 1;
  new.shown.is_state = j->is_written[i];
  if (!fnzi_mul_size((size_t)fnz_geometry_numel(w->geometry), fnzi_dtype(w->geometry->dtype)->bytes,
                     &bytes))
    return fnzi_no_memory(j->ctx);
  new.shown.bytes = bytes;
  FNZ_TRY(fnzi_arena_string(&j->set->arena, w->name, strlen(w->name), &new.shown.name));
  if (!fnzi_map_get(&j->set->index, new.shown.name, strlen(new.shown.name), &there))
    FNZ_TRY(fnzi_map_set(&j->set->index, new.shown.name, strlen(new.shown.name),
                         j->set->weights.count));
  FNZI_PUSH(j->ctx, &j->set->weights, new);
  return FNZ_OK;
}

static fnz_status join_all(joining *j) {
  const size_t count = j->p->weights.count;
  FNZI_NEW(&j->set->arena, count, &j->is_constant);
  FNZI_NEW(&j->set->arena, count, &j->is_written);
  FNZI_NEW(&j->set->arena, count, &j->entries);
  FNZI_NEW(&j->set->arena, count, &j->pair_at);
  note_inputs(j);
  for (size_t i = 0; i < j->p->weights.count; i++) {
    const char *name = weight_at(j, i)->name;
    uint64_t at;
    bool is_there = fnzi_map_get(&j->set->index, name, strlen(name), &at) &&
                    !is_apart(j, i, &j->set->weights.data[at]);
    j->entries[i] = is_there ? (int64_t)at : NONE;
  }
  for (size_t i = 0; i < count; i++)
    FNZ_TRY(pair_weight(j, i));
  for (size_t i = 0; i < j->pairs.count && !j->is_read; i++)
    FNZ_TRY(check_pair(j, &j->pairs.data[i]));
  for (size_t i = 0; i < count && !j->is_read; i++)
    FNZ_TRY(check_elements(j, i));
  for (size_t i = 0; i < count && !j->is_read; i++) {
    const blob_pair *pair = pair_of(j, i);
    fnzi_weight *w = weight_at(j, i);
    fnzi_blob *had = w->blob;
    if (pair && pair->to) {
      w->blob = fnzi_blob_retain(pair->to);
      fnzi_blob_release(had);
    }
  }
  for (size_t i = 0; i < count; i++)
    FNZ_TRY(methods_join_add(j, i));
  return FNZ_OK;
}

fnz_status fnzi_methods_join(fnz_context *ctx, fnz_methods *set, bool is_read) {
  fnz_status status = FNZ_OK;
  for (size_t k = 0; k < set->count && status == FNZ_OK; k++) {
    joining j = {.ctx = ctx, .set = set, .p = set->programs[k], .method = (uint32_t)k};
    j.is_read = is_read;
    fnzi_map_init(&j.from, ctx);
    fnzi_map_init(&j.to, ctx);
    status = join_all(&j);
    fnzi_map_free(&j.from);
    fnzi_map_free(&j.to);
    FNZI_VEC_FREE(ctx, &j.pairs);
  }
  return status;
}
