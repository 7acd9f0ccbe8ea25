/* twins.c - twins by rule: operators whose signatures are the same belong together.
 *
 * The signature of an operator is its base name without in-place marker and without "_functional",
 * the types of its parameters without out arguments and tensor options, and the types of its
 * results, to which every written argument that is not returned is added (self, then out
 * arguments, then the rest). Alias annotations never count; names and defaults only on request.
 *
 * Needs: kinds, tags and is_view. Keeps: everything but the four index fields. */
#include "schema/twins.h"

/* Signatures by text; several kinds of operators share one map, each with a first letter of its
 * own. */
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

static fnz_status put_type(fnz_context *ctx, const fnzi_param *p, fnz_buffer *out) {
  const char *name = p->type == FNZI_TYPE_CLASS ? p->class_name : fnzi_type_name(p->type);
  return fnzi_printf(ctx, out, "%s%s%s%.0d%s%s,", name, p->item_optional ? "?" : "",
                     p->is_list ? "[" : "", p->list_size, p->is_list ? "]" : "",
                     p->optional ? "?" : "");
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

bool fnzi_are_tensor_options(const fnz_op *op, size_t first) {
  if (op->nparams - first < 4)
    return false;
  for (size_t i = first; i < first + 4; i++)
    if (!is_option(&op->params[i]))
      return false;
  return true;
}

typedef enum written_group { WRITTEN_SELF, WRITTEN_OUT, WRITTEN_OTHER } written_group;

bool fnzi_written_next(const fnz_op *op, fnzi_written_walk *walk, const fnzi_param **out) {
  for (; walk->group <= WRITTEN_OTHER; walk->group++, walk->next = 0)
    while (walk->next < op->nparams) {
      const fnzi_param *p = &op->params[walk->next++];
      int group = p->is_out                      ? WRITTEN_OUT
                  : strcmp(p->name, "self") == 0 ? WRITTEN_SELF
                                                 : WRITTEN_OTHER;
      bool is_returned = false;
      for (size_t i = 0; i < op->nreturns; i++)
        is_returned |= op->returns[i].alias == p->alias;
      if (!p->is_write || group != walk->group || is_returned)
        continue;
      *out = p;
      return true;
    }
  return false;
}

/* The namespace, and the base without the marks of its kind: `__iadd__` is the in-place form
 * of `__add__`. A copying view goes by the name of its view; slice_scatter is what slice_inverse
 * copies. */
static fnz_status put_base(fnz_context *ctx, const fnz_op *op, bool of_view, fnz_buffer *out) {
  const char *base = op->base, *colons = strstr(op->name, "::"), *start = "", *end = "";
  size_t size = strlen(base);
  bool inplace = op->kind == FNZI_KIND_INPLACE;
  if (inplace && ends_with(base, size, "__")) {
    start = "__";
    base += strlen("__i");
    size -= strlen("__i");
  } else {
    size -= inplace;
  }
  if (ends_with(base, size, "_functional"))
    size -= strlen("_functional");
  if (of_view && ends_with(base, size, "_copy")) {
    size -= strlen("_copy");
  } else if (of_view && ends_with(base, size, "_scatter")) {
    size -= strlen("_scatter");
    end = "_inverse";
  }
  return fnzi_printf(ctx, out, "%.*s:%s%.*s%s", colons ? (int)(colons - op->name) : 0, op->name,
                     start, (int)size, base, end);
}

fnz_status fnzi_signature_put(fnz_context *ctx, const fnz_op *op, uint32_t how, fnz_buffer *out) {
  FNZ_TRY(put_base(ctx, op, how & FNZI_SIGNATURE_OF_VIEW, out));
  FNZ_TRY(fnzi_put_text(ctx, out, "("));
  for (size_t i = 0; i < op->nparams; i++) {
    if (fnzi_are_tensor_options(op, i))
      i += 3;
    else if (!op->params[i].is_out) {
      const fnzi_param *p = &op->params[i];
      /* bernoulli.p lacks the default of its in-place form; PyTorch groups them nevertheless. */
      bool is_half = strcmp(op->name, "bernoulli.p") == 0 && strcmp(p->name, "p") == 0;
      const char *usual = is_half ? "0.5" : p->has_default ? p->default_text : "";
      FNZ_TRY(put_type(ctx, p, out));
      if (how & FNZI_SIGNATURE_EXACT)
        FNZ_TRY(fnzi_printf(ctx, out, "%s%s=%s,", p->keyword_only ? "*" : "", p->name, usual));
    }
  }
  FNZ_TRY(fnzi_put_text(ctx, out, ")"));
  const fnzi_param *written;
  for (size_t i = 0; i < op->nreturns; i++)
    FNZ_TRY(put_type(ctx, &op->returns[i], out));
  for (fnzi_written_walk walk = {0}; fnzi_written_next(op, &walk, &written);)
    FNZ_TRY(put_type(ctx, written, out));
  return FNZ_OK;
}

/* `family` keeps functional operators, views and copies apart. */
static fnz_status make_key(groups *g, const fnz_op *op, char family, uint32_t how) {
  g->key.size = 0;
  FNZ_TRY(fnzi_put(g->ctx, &g->key, &family, 1));
  return fnzi_signature_put(g->ctx, op, how, &g->key);
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

static fnz_status connect(groups *g, fnz_op *ops, size_t index) {
  fnz_op *op = &ops[index];
  if (op->kind == FNZI_KIND_FUNCTIONAL) {
    op->functional = (uint16_t)index;
    if (!op->is_view)
      return FNZ_OK;
    FNZ_TRY(make_key(g, op, 'c', 0));
    op->view_copy = get_index(g);
    return FNZ_OK;
  }
  FNZ_TRY(make_key(g, op, 'f', 0));
  op->functional = get_index(g);
  if (op->kind != FNZI_KIND_INPLACE)
    return FNZ_OK;
  if (op->functional != FNZI_NO_OP)
    ops[op->functional].inplace = (uint16_t)index;
  if (!(op->tags & FNZI_TAG_INPLACE_VIEW))
    return FNZ_OK;
  FNZ_TRY(make_key(g, op, 'v', 0));
  op->view_of = get_index(g);
  return FNZ_OK;
}

static fnz_status find_all(groups *g, fnz_op *ops, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const fnz_op *op = &ops[i];
    if (op->kind == FNZI_KIND_FUNCTIONAL) {
      FNZ_TRY(make_key(g, op, op->is_view ? 'v' : 'f', 0));
      FNZ_TRY(put_index(g, op, i));
      if (op->tags & FNZI_TAG_VIEW_COPY) {
        FNZ_TRY(make_key(g, op, 'c', FNZI_SIGNATURE_OF_VIEW));
        FNZ_TRY(put_index(g, op, i));
      }
    }
  }
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
