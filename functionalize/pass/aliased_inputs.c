/* aliased_inputs.c - which inputs share memory, and how they come into the pass.
 *
 * needs   a program's signature: inputs that share memory by declaration, weights over one blob
 * gives   per alias set how it is merged: not at all as long as no write to one input overlaps
 *         another one, else as windows of one root. The pass finds this out by replaying the
 *         program, so it may have to start again, at most twice. */
#include "functionalize/pass/aliased_inputs.h"

/* --- alias sets ------------------------------------------------------------------------------- */
static fnz_status find(fnzi_pass_alias_sets *m, const fnz_program *p, fnzi_map *blobs) {
  const fnzi_graph *g = fnzi_graph_main(p);
  for (uint32_t k = 0; k < g->ninputs; k++) {
    m->first[k] = k;
    if (g->inputs[k].tag != FNZ_ARG_VALUE)
      continue;
    const fnz_input_spec *in = &p->inputs[k];
    bool is_weight = in->kind == FNZ_INPUT_PARAMETER || in->kind == FNZ_INPUT_BUFFER ||
                     in->kind == FNZ_INPUT_CONSTANT || in->kind == FNZ_INPUT_MEMORY;
    const fnzi_weight *found = is_weight ? fnzi_weight_find(p, in->target) : NULL;
    const fnzi_weight *w = found && found->blob ? found : NULL;
    m->windows[k] = w ? w->geometry : fnzi_value_at(p, 0, g->inputs[k].u.value)->geometry;
    /* The first input over the same bytes, or by declaration. */
    uint64_t first = k;
    m->first[k] = fnzi_memory_of(p, k);
    if (w && m->first[k] == k) {
      const uint32_t hash = fnzi_map_hash(blobs, &w->blob, sizeof w->blob);
      if (!fnzi_map_find(blobs, hash, &w->blob, sizeof w->blob, &first))
        FNZ_TRY(fnzi_map_add(blobs, hash, &w->blob, sizeof w->blob, k));
      m->first[k] = (uint32_t)first;
    }
    m->shared = m->shared || m->first[k] != k;
  }
  return FNZ_OK;
}

fnz_status fnzi_pass_alias_sets_find(fnzi_arena *arena, const fnz_program *p,
                                     fnzi_pass_alias_sets *out) {
  fnzi_map blobs;
  *out = (fnzi_pass_alias_sets){.count = fnzi_graph_main(p)->ninputs};
  FNZI_NEW(arena, out->count, &out->first);
  FNZI_NEW(arena, out->count, &out->merge);
  FNZI_NEW(arena, out->count, &out->windows);
  fnzi_map_init(&blobs, arena->ctx);
  fnz_status status = find(out, p, &blobs);
  fnzi_map_free(&blobs);
  return status;
}

/* --- the memory of an alias set --------------------------------------------------------------- */
/* Bytes [low, high) that inputs show, and the size of their largest element. */
typedef struct span {
  int64_t low, high, item;
} span;

static span bytes_of(const fnz_geometry *g) {
  int64_t low = 0, high = 0, item = (int64_t)fnzi_dtype(g->dtype)->bytes;
  fnzi_extent(g, &low, &high); /* fits: it is the geometry of a value */
  return (span){low * item, high * item, item};
}

static bool is_member(const fnzi_pass_alias_sets *m, uint32_t k, uint32_t first) {
  return m->first[k] == first && m->windows[k];
}

static span span_of(const fnzi_pass_alias_sets *m, uint32_t first) {
  span all = {INT64_MAX, 0, 1};
  for (uint32_t k = first; k < m->count; k++) {
    if (!is_member(m, k, first))
      continue;
    span s = bytes_of(m->windows[k]);
    if (fnz_geometry_numel(m->windows[k]) > 0) {
      all.low = s.low < all.low ? s.low : all.low;
      all.high = s.high > all.high ? s.high : all.high;
    }
    all.item = s.item > all.item ? s.item : all.item;
  }
  all.low = all.low < all.high ? all.low : all.high; /* without any element */
  return all;
}

bool fnzi_pass_alias_sets_cover(const fnzi_pass_alias_sets *m, uint32_t k) {
  const fnz_geometry *g = m->windows[k];
  span all = span_of(m, m->first[k]), own = bytes_of(g);
  return fnzi_is_dense(g) && !g->is_conj && !g->is_neg && own.low == all.low &&
         own.high == all.high && all.low % all.item == 0;
}

enum { LARGEST_ELEMENT = 16 };

void fnzi_pass_alias_sets_memory(const fnzi_pass_alias_sets *m, uint32_t first, int64_t *size,
                                 fnz_geometry *out) {
  static const int64_t one = 1;
  span all = span_of(m, first);
  *out = (fnz_geometry){.dtype = m->windows[first]->dtype, .rank = 1, .strides = &one};
  for (uint32_t k = first; k < m->count; k++)
    if (is_member(m, k, first) && m->windows[k]->dtype != out->dtype)
      out->dtype = FNZ_U8;
  int64_t item = (int64_t)fnzi_dtype(out->dtype)->bytes;
  int64_t low = all.low - all.low % LARGEST_ELEMENT; /* aligned for any dtype of a window */
  out->offset = low / item;
  *size = (all.high - low) / item;
  out->sizes = size;
}

/* --- merging ---------------------------------------------------------------------------------- */
static bool merge_further(fnzi_pass_alias_sets *m, fnzi_pass_merge from, fnzi_pass_merge to) {
  bool changed = false;
  for (uint32_t k = 0; k < m->count; k++) {
    if (m->first[k] == k || m->merge[m->first[k]] != from)
      continue;
    m->merge[m->first[k]] = (uint8_t)to;
    changed = true;
  }
  return changed;
}

bool fnzi_pass_alias_sets_merge(fnzi_pass_alias_sets *m) {
  return merge_further(m, FNZI_MERGE_NONE, FNZI_MERGE_INTO_MEMBER) ||
         merge_further(m, FNZI_MERGE_INTO_MEMBER, FNZI_MERGE_INTO_BASE);
}

bool fnzi_pass_alias_sets_overlap(const fnzi_pass_alias_sets *m, uint32_t k) {
  for (uint32_t j = m->first[k]; m->shared && j < m->count; j++)
    if (j != k && is_member(m, j, m->first[k]) &&
        fnzi_oracle_relate(NULL, m->windows[k], m->windows[j], NULL, FNZI_MUCH_WORK) !=
            FNZI_DISJOINT)
      return true;
  return false;
}
