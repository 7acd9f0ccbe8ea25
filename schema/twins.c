/* twins.c - twins by rule: operators whose signatures are the same belong together.
 *
 * The signature of an operator is its base name without in-place marker and without "_functional",
 * the types of its parameters without out arguments and tensor options, and the types of its
 * results, to which every written argument that is not returned is added (self, then out
 * arguments, then the rest). Alias annotations, names and defaults do not count.
 *
 * Needs: kinds, tags and is_view. Keeps: everything but the four index fields. */
#include "schema/twins.h"

#include <stdio.h>

/* Signatures by text; several kinds of operators share one map, told apart by a first letter. */
typedef struct groups {
  fnz_context *ctx;
  fnzi_arena arena;
  fnzi_map map;
  fnz_buffer key; /* of the operator in hand */
} groups;

static bool ends_with(const char *s, size_t size, const char *tail) {
  size_t tail_size = strlen(tail);
  return size >= tail_size && memcmp(s + size - tail_size, tail, tail_size) == 0;
}

/* --- Keys ------------------------------------------------------------------------------------- */

static fnz_status put_type(groups *g, const fnzi_param *p) {
  return fnzi_printf(g->ctx, &g->key, "%s%s%s%.0d%s%s,", fnzi_type_name(p->type),
                     p->item_optional ? "?" : "", p->is_list ? "[" : "", p->list_size,
                     p->is_list ? "]" : "", p->optional ? "?" : "");
}

/* dtype, layout, device and pin_memory, which only come together. */
static bool is_option(const fnzi_param *p) {
  static const struct {
    const char *name;
    fnzi_type type;
  } options[] = {{"dtype", FNZI_TYPE_DTYPE},
                 {"layout", FNZI_TYPE_LAYOUT},
                 {"device", FNZI_TYPE_DEVICE},
                 {"pin_memory", FNZI_TYPE_BOOL}};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++)
    if (p->keyword_only && p->type == options[i].type && strcmp(p->name, options[i].name) == 0)
      return true;
  return false;
}

static bool are_options(const fnz_op *op, size_t first) {
  if (op->nparams - first < 4)
    return false;
  for (size_t i = first; i < first + 4; i++)
    if (!is_option(&op->params[i]))
      return false;
  return true;
}

static fnz_status put_params(groups *g, const fnz_op *op) {
  FNZ_TRY(fnzi_put_text(g->ctx, &g->key, "("));
  for (size_t i = 0; i < op->nparams; i++) {
    if (are_options(op, i))
      i += 3;
    else if (!op->params[i].is_out)
      FNZ_TRY(put_type(g, &op->params[i]));
  }
  return fnzi_put_text(g->ctx, &g->key, ")");
}

static bool is_returned(const fnz_op *op, uint32_t alias) {
  for (size_t i = 0; i < op->nreturns; i++)
    if (op->returns[i].alias == alias)
      return true;
  return false;
}

typedef enum written_group { WRITTEN_SELF, WRITTEN_OUT, WRITTEN_OTHER } written_group;

static written_group group_of(const fnzi_param *p) {
  if (p->is_out)
    return WRITTEN_OUT;
  return strcmp(p->name, "self") == 0 ? WRITTEN_SELF : WRITTEN_OTHER;
}

static fnz_status put_results(groups *g, const fnz_op *op) {
  for (size_t i = 0; i < op->nreturns; i++)
    FNZ_TRY(put_type(g, &op->returns[i]));
  for (written_group group = WRITTEN_SELF; group <= WRITTEN_OTHER; group++)
    for (size_t i = 0; i < op->nparams; i++) {
      const fnzi_param *p = &op->params[i];
      if (p->is_write && group_of(p) == group && !is_returned(op, p->alias))
        FNZ_TRY(put_type(g, p));
    }
  return FNZ_OK;
}

/* `family` keeps functional operators, views and copies apart. */
static fnz_status make_key(groups *g, const fnz_op *op, char family, const char *base,
                           size_t base_size) {
  g->key.size = 0;
  FNZ_TRY(fnzi_printf(g->ctx, &g->key, "%c%.*s", family, (int)base_size, base));
  FNZ_TRY(put_params(g, op));
  return put_results(g, op);
}

static fnz_status put_index(groups *g, const fnz_op *op, size_t index) {
  const char *key;
  uint64_t other;
  if (fnzi_map_get(&g->map, g->key.data, g->key.size, &other))
    return fnzi_fail(g->ctx, FNZ_CLASS_DUPLICATE, op->name, "another operator has signature %s",
                     g->key.data);
  FNZ_TRY(fnzi_arena_string(&g->arena, g->key.data, g->key.size, &key));
  return fnzi_map_set(&g->map, key, g->key.size, index);
}

static uint16_t get_index(const groups *g) {
  uint64_t index;
  return fnzi_map_get(&g->map, g->key.data, g->key.size, &index) ? (uint16_t)index : FNZI_NO_OP;
}

/* --- Families --------------------------------------------------------------------------------- */

/* `__iadd__` is the in-place form of `__add__`. */
static fnz_status plain_key(groups *g, const fnz_op *op, char family) {
  char dunder[64];
  const char *base = op->base;
  size_t size = strlen(base);
  bool inplace = op->kind == FNZI_KIND_INPLACE;
  if (inplace && ends_with(base, size, "__")) {
    snprintf(dunder, sizeof dunder, "__%s", base + 3);
    return make_key(g, op, family, dunder, strlen(dunder));
  }
  size -= inplace;
  if (ends_with(base, size, "_functional"))
    size -= strlen("_functional");
  return make_key(g, op, family, base, size);
}

static bool is_copy(const fnz_op *op) {
  return op->tags & FNZI_TAG_VIEW_COPY && op->kind == FNZI_KIND_FUNCTIONAL;
}

/* A copying view goes by the name of its view. slice_scatter is what slice_inverse copies. */
static fnz_status copy_key(groups *g, const fnz_op *op) {
  size_t size = strlen(op->base);
  if (ends_with(op->base, size, "_copy"))
    return make_key(g, op, 'c', op->base, size - strlen("_copy"));
  if (!ends_with(op->base, size, "_scatter"))
    return make_key(g, op, 'c', op->base, size);
  char inverse[64];
  snprintf(inverse, sizeof inverse, "%.*s_inverse", (int)(size - strlen("_scatter")), op->base);
  return make_key(g, op, 'c', inverse, strlen(inverse));
}

static fnz_status collect(groups *g, const fnz_op *op, size_t index) {
  if (op->kind != FNZI_KIND_FUNCTIONAL)
    return FNZ_OK;
  FNZ_TRY(plain_key(g, op, op->is_view ? 'v' : 'f'));
  FNZ_TRY(put_index(g, op, index));
  if (!is_copy(op))
    return FNZ_OK;
  FNZ_TRY(copy_key(g, op));
  return put_index(g, op, index);
}

static fnz_status connect(groups *g, fnz_op *ops, size_t index) {
  fnz_op *op = &ops[index];
  if (op->kind == FNZI_KIND_FUNCTIONAL) {
    op->functional = (uint16_t)index;
    if (!op->is_view)
      return FNZ_OK;
    FNZ_TRY(plain_key(g, op, 'c'));
    op->view_copy = get_index(g);
    return FNZ_OK;
  }
  FNZ_TRY(plain_key(g, op, 'f'));
  op->functional = get_index(g);
  if (op->kind != FNZI_KIND_INPLACE)
    return FNZ_OK;
  if (op->functional != FNZI_NO_OP)
    ops[op->functional].inplace = (uint16_t)index;
  if (!(op->tags & FNZI_TAG_INPLACE_VIEW))
    return FNZ_OK;
  FNZ_TRY(plain_key(g, op, 'v'));
  op->view_of = get_index(g);
  return FNZ_OK;
}

static fnz_status find_all(groups *g, fnz_op *ops, size_t count) {
  for (size_t i = 0; i < count; i++)
    FNZ_TRY(collect(g, &ops[i], i));
  for (size_t i = 0; i < count; i++)
    FNZ_TRY(connect(g, ops, i));
  return FNZ_OK;
}

fnz_status fnzi_twins_find(fnz_context *ctx, fnz_op *ops, size_t count) {
  groups g = {.ctx = ctx};
  fnzi_arena_init(&g.arena, ctx);
  fnzi_map_init(&g.map, ctx);
  fnz_status status = find_all(&g, ops, count);
  fnz_buffer_free(ctx, &g.key);
  fnzi_map_free(&g.map);
  fnzi_arena_free(&g.arena);
  return status;
}
