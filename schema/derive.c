/* derive.c - variants by rule. Each is put together as parts, printed, and parsed again: so a
 * derived operator is exactly what its own text says.
 *
 * Names and orders are the same as in torchgen/native_function_generation.py and torchgen/model.py
 * (PyTorch 2.14.1). */
#include "schema/derive.h"

#include "schema/twins.h"

#include <stdio.h>

/* An operator that is being put together: as many entries as the original could ever need. */
typedef struct draft {
  fnzi_arena *arena;
  const fnz_op *from;
  fnz_op op;
  fnzi_param *params, *returns;
} draft;

static fnz_status begin(draft *d, fnzi_arena *arena, const fnz_op *from) {
  size_t most = (size_t)from->nparams + from->nreturns + 1;
  *d = (draft){.arena = arena, .from = from};
  FNZI_NEW(arena, most, &d->params);
  FNZI_NEW(arena, most, &d->returns);
  d->op.params = d->params;
  d->op.returns = d->returns;
  return FNZ_OK;
}

static fnzi_param without_alias(fnzi_param p) {
  p.alias = p.alias_after = 0;
  p.alias_text = NULL;
  p.is_write = p.is_wildcard = p.is_out = false;
  return p;
}

static void add_param(draft *d, fnzi_param p) {
  d->params[d->op.nparams++] = p;
}

static void add_return(draft *d, fnzi_param p) {
  d->returns[d->op.nreturns++] = p;
}

/* A result of the type of `p`, which is a parameter. */
static fnzi_param result_like(const fnzi_param *p, const char *name) {
  fnzi_param result = without_alias(*p);
  result.name = name;
  result.keyword_only = result.has_default = false;
  result.default_text = NULL;
  return result;
}

static fnz_status derive_refuse(const fnz_op *op, fnzi_arena *arena, const char *what) {
  return fnzi_fail(arena->ctx, FNZ_CLASS_TYPE, op->name, "%s; its schema is %s", what, op->schema);
}

/* --- Finishing -------------------------------------------------------------------------------- */

/* The namespace with its colons, the base without its in-place marker (`__iadd__` -> `__add__`),
 * `ending` and the overload. */
static fnz_status set_name(draft *d, const char *ending, const char *overload) {
  const char *name = d->from->name, *base = d->from->base, *colons = strstr(name, "::");
  int space = colons ? (int)(colons - name) + 2 : 0, size = (int)strlen(base);
  bool dunder = d->from->kind == FNZI_KIND_INPLACE && size > 1 && base[size - 2] == '_';
  if (d->from->kind == FNZI_KIND_INPLACE && !dunder)
    size--;
  return fnzi_arena_format(d->arena, &d->op.name, "%.*s%s%.*s%s%s%s", space, name,
                           dunder ? "__" : "", dunder ? size - 3 : size, base + (dunder ? 3 : 0),
                           ending, *overload ? "." : "", overload);
}

static fnz_status finish(draft *d, uint32_t tags, fnz_op **out) {
  const char *schema;
  fnz_buffer text = {0};
  fnz_status status = fnzi_schema_print(d->arena->ctx, &d->op, &text);
  if (status == FNZ_OK)
    status = fnzi_arena_string(d->arena, text.data, text.size, &schema);
  fnz_buffer_free(d->arena->ctx, &text);
  FNZ_TRY(status);
  FNZ_TRY(fnzi_schema_parse(d->arena, schema, out));
  (*out)->composite = FNZI_COMPOSITE_EXPLICIT;
  (*out)->tags = tags | FNZI_TAG_GENERATED;
  (*out)->promotion = fnzi_promotion_by_tags(*out);
  /* Tags in the order of the alphabet, as everywhere. */
  static const struct {
    uint32_t bit;
    const char *name;
  } rows[] = {
      {FNZI_TAG_GENERATED, "generated"},
      {FNZI_TAG_RANDOM, "nondeterministic_seeded"},
      {0, "out"}, /* of each out variant; fnz asks the schema instead */
      {FNZI_TAG_VIEW_COPY, "view_copy"},
  };
  const char *names = "";
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].bit ? (*out)->tags & rows[i].bit : (*out)->kind == FNZI_KIND_OUT)
      FNZ_TRY(
          fnzi_arena_format(d->arena, &names, "%s%s%s", names, *names ? "," : "", rows[i].name));
  (*out)->tags_text = names;
  return FNZ_OK;
}

/* --- Functional ------------------------------------------------------------------------------- */

fnz_status fnzi_derive_functional(fnzi_arena *arena, const fnz_op *op, fnz_op **out) {
  draft d;
  const fnzi_param *written;
  const char *name;
  if (op->kind == FNZI_KIND_FUNCTIONAL)
    return derive_refuse(op, arena, "this operator writes nothing and is its own functional form");
  FNZ_TRY(begin(&d, arena, op));
  FNZ_TRY(set_name(&d, op->kind == FNZI_KIND_MUTABLE ? "_functional" : "", op->overload));
  for (size_t i = 0; i < op->nparams; i++)
    if (!op->params[i].is_out)
      add_param(&d, without_alias(op->params[i]));
  for (size_t i = 0; i < op->nreturns; i++)
    add_return(&d, without_alias(op->returns[i]));
  for (fnzi_written_walk walk = {0}; fnzi_written_next(op, &walk, &written);) {
    FNZ_TRY(fnzi_arena_format(arena, &name, "%s_out", written->name));
    add_return(&d, result_like(written, name));
  }
  return finish(&d, op->tags & (FNZI_TAGS_KEPT | FNZI_TAG_VIEW_COPY), out);
}

/* --- On bases --------------------------------------------------------------------------------- */

fnz_status fnzi_derive_on_bases(fnzi_arena *arena, const fnz_op *op, fnz_op **out) {
  const fnzi_param bases = {.name = "_all_bases", .type = FNZI_TYPE_TENSOR, .is_list = true};
  const bool marked = op->kind == FNZI_KIND_INPLACE; /* set_name() takes the marker away */
  draft d;
  FNZ_TRY(begin(&d, arena, op));
  FNZ_TRY(set_name(&d, marked ? "__on_bases" : "_on_bases", op->overload));
  add_param(&d, bases);
  for (size_t i = 0; i < op->nparams; i++) {
    fnzi_param p = without_alias(op->params[i]);
    if (op->params[i].is_write) { /* a window */
      p.type = FNZI_TYPE_INT;
      p.is_list = true;
      p.optional = p.item_optional = false;
      p.default_text = p.has_default ? "[]" : NULL;
    }
    add_param(&d, p);
  }
  for (size_t i = 0; i < op->nreturns; i++)
    if (!op->returns[i].alias)
      add_return(&d, op->returns[i]);
  add_return(&d, result_like(&bases, "_all_bases_out"));
  return finish(&d, op->tags & FNZI_TAGS_KEPT, out);
}

/* --- Out -------------------------------------------------------------------------------------- */

/* `place`-th letter that no parameter uses, as "c!". */
static fnz_status free_letter(const draft *d, size_t place, fnzi_param *p) {
  uint32_t used = 0;
  for (size_t i = 0; i < d->from->nparams; i++)
    used |= d->from->params[i].alias;
  for (unsigned letter = 0; letter < 26; letter++)
    if (!(used & 1u << letter) && place-- == 0) {
      p->alias = 1u << letter;
      return fnzi_arena_format(d->arena, &p->alias_text, "%c!", 'a' + (int)letter);
    }
  return fnzi_fail(d->arena->ctx, FNZ_CLASS_LIMIT, d->from->name,
                   "an out variant would need more alias names than the 26 letters");
}

static fnzi_param out_like(const fnzi_param *p, const char *name) {
  fnzi_param result = result_like(p, name);
  result.keyword_only = result.is_write = result.is_out = true;
  result.alias = p->alias;
  result.alias_text = p->alias_text;
  return result;
}

/* Each tensor result becomes an out argument; the others stay results. */
static fnz_status out_of_results(draft *d) {
  const fnz_op *op = d->from;
  bool returned = true; /* where all results are plain tensors */
  for (size_t i = 0; i < op->nreturns; i++) {
    const fnzi_param *p = &op->returns[i];
    returned = returned && p->type == FNZI_TYPE_TENSOR && !p->is_list && !p->optional;
  }
  for (size_t i = 0; i < op->nreturns; i++) {
    if (op->returns[i].is_write)
      return derive_refuse(op, d->arena,
                           "an operator that returns what it writes has no out variant");
    if (op->returns[i].type != FNZI_TYPE_TENSOR) {
      add_return(d, op->returns[i]);
      continue;
    }
    const char *name = "out";
    if (op->nreturns > 1)
      FNZ_TRY(fnzi_arena_format(d->arena, &name, "out%zu", i));
    fnzi_param made = out_like(&op->returns[i], name);
    FNZ_TRY(free_letter(d, i, &made));
    add_param(d, made);
    made.name = "";
    made.keyword_only = made.is_out = false;
    if (returned)
      add_return(d, made);
  }
  return FNZ_OK;
}

static fnz_status out_parts(draft *d) {
  switch (d->from->kind) {
  case FNZI_KIND_INPLACE: {
    /* The out argument takes the place of self as what is written. */
    const fnz_op *op = d->from;
    const fnzi_param *self = NULL;
    for (size_t i = 0; i < op->nparams && !self; i++)
      if (strcmp(op->params[i].name, "self") == 0 && !op->params[i].keyword_only)
        self = &op->params[i];
    if (!self || !self->is_write)
      return derive_refuse(op, d->arena,
                           "an in-place operator without a written self has no out variant");
    for (size_t i = 0; i < op->nparams; i++)
      add_param(d, &op->params[i] == self ? without_alias(*self) : op->params[i]);
    add_param(d, out_like(self, "out"));
    for (size_t i = 0; i < op->nreturns; i++)
      add_return(d, op->returns[i]);
    return FNZ_OK;
  }
  case FNZI_KIND_MUTABLE:
    for (size_t i = 0; i < d->from->nparams; i++)
      add_param(d, d->from->params[i]);
    return out_of_results(d);
  case FNZI_KIND_FUNCTIONAL: {
    for (size_t i = 0; i < d->from->nparams; i++) {
      if (fnzi_are_tensor_options(d->from, i))
        i += 3;
      else
        add_param(d, without_alias(d->from->params[i]));
    }
    return out_of_results(d);
  }
  case FNZI_KIND_OUT:
  case FNZI_KIND_SCRATCH:
    break;
  }
  return derive_refuse(d->from, d->arena, "this operator has out arguments already");
}

fnz_status fnzi_derive_out(fnzi_arena *arena, const fnz_op *op, fnz_op **out) {
  draft d;
  FNZ_TRY(begin(&d, arena, op));
  FNZ_TRY(out_parts(&d));
  const char *overload = "out";
  if (*op->overload)
    FNZ_TRY(fnzi_arena_format(arena, &overload, "%s_out", op->overload));
  FNZ_TRY(set_name(&d, "", overload));
  if (!d.op.nparams || !d.params[d.op.nparams - 1].is_out)
    return derive_refuse(op, arena, "an operator without tensor results has no out variant");
  return finish(&d, op->tags & (FNZI_TAGS_KEPT | FNZI_TAG_VIEW_COPY), out);
}
