/* excerpt_symbols.c - which symbols tensors and nodes of a program depend on.
 *
 * needs   the sizes of a program of one graph
 * gives   a bit for each free symbol: of the expressions of sizes, strides, offsets and numbers,
 * and of the conditions that tie others to these; and how an excerpt of some of them begins */
#include "functionalize/dynamic/excerpt.h"

enum { MOST_SYMBOLS = 64 };

static void find_parts(fnzi_reach *r) {
  const fnzi_sizes *s = r->sizes;
  for (size_t i = 0; i < s->free.count; i++)
    r->of[s->free.data[i]->id] = UINT64_C(1) << i;
  for (size_t e = 0; e < s->own; e++)
    for (uint32_t k = 0; k < s->set.all.data[e]->count; k++)
      r->of[e] |= r->of[s->set.all.data[e]->parts[k].expr->id];
}

/* All symbols that conditions tie to each other, and to those. */
static uint64_t tied(const fnzi_reach *r, uint64_t symbols) {
  for (uint64_t before = 0; before != symbols;) {
    before = symbols;
    for (size_t i = 0; i < r->sizes->conditions.count; i++) {
      const uint64_t of = r->of[r->sizes->conditions.data[i].expr->id];
      symbols |= of & symbols ? of : 0;
    }
  }
  return symbols;
}

static void tie_all(fnzi_reach *r) {
  for (size_t e = 0; e < r->sizes->own; e++)
    r->of[e] = tied(r, r->of[e]);
}

/* A text that is no expression may be of any symbol. */
static bool find_names(fnzi_reach *r) {
  const fnzi_sizes *s = r->sizes;
  bool all = true;
  for (uint32_t k = 1; k < s->program->symbols.count; k++) {
    const fnzi_expr *e = s->symbols[k];
    all = all && e;
    for (size_t i = 0; e && i < s->free.count; i++)
      if (s->free.data[i] == e)
        r->names[i] = k;
  }
  for (size_t i = 0; i < s->free.count; i++)
    all = all && r->names[i];
  return all;
}

fnz_status fnzi_reach_find(fnzi_reach *r, const fnzi_sizes *sizes, fnzi_arena *arena, bool *done) {
  *r = (fnzi_reach){.sizes = sizes, .graph = fnzi_graph_at(sizes->program, 0)};
  *done = sizes->free.count <= MOST_SYMBOLS;
  if (!*done)
    return FNZ_OK;
  FNZI_NEW(arena, sizes->set.all.count, &r->of);
  FNZI_NEW(arena, sizes->free.count, &r->names);
  find_parts(r);
  tie_all(r);
  *done = find_names(r);
  return FNZ_OK;
}

static uint64_t of_symbol(const fnzi_reach *r, uint32_t symbol) {
  return symbol ? r->of[r->sizes->symbols[symbol]->id] : 0;
}

uint64_t fnzi_reach_value(const fnzi_reach *r, uint64_t value) {
  const fnzi_value *v = &r->graph->values.data[value];
  const fnz_geometry *g = v->geometry;
  uint64_t out = of_symbol(r, v->symbol);
  for (uint32_t i = 0; g && g->symbols && i < 2 * g->rank + 1; i++)
    out |= of_symbol(r, g->symbols[i]);
  return out;
}

uint64_t fnzi_reach_args(const fnzi_reach *r, const fnz_arg *args, size_t count) {
  uint64_t out = 0;
  FNZI_EACH_ARG(each, args, count)
    if (fnzi_is_reference(each.arg))
      out |= fnzi_reach_value(r, each.arg->u.value);
  return out;
}

uint64_t fnzi_reach_node(const fnzi_reach *r, const fnzi_node *node) {
  return fnzi_reach_args(r, node->args, node->nargs) |
         fnzi_reach_args(r, node->outputs, node->noutputs);
}

/* Conditions have the order of guards. */
bool fnzi_reach_has_guard(const fnzi_reach *r, size_t guard, uint64_t symbols) {
  const fnzi_sizes *s = r->sizes;
  size_t before = 0;
  for (size_t i = 0; i < guard; i++)
    before += s->program->guards.data[i].kind == FNZ_GUARD_CONDITION;
  for (size_t i = 0; i < s->conditions.count; i++)
    if (s->conditions.data[i].kind == FNZI_CONDITION_GUARD && before-- == 0)
      return !(r->of[s->conditions.data[i].expr->id] & ~symbols);
  return true;
}

/* --- a program of some of them ---------------------------------------------------------------- */
fnz_status fnzi_excerpt_start(fnz_context *ctx, const fnzi_reach *reach, uint64_t symbols,
                              fnz_program **out) {
  const fnz_program *program = reach->sizes->program;
  uint32_t graph, symbol;
  FNZ_TRY(fnzi_program_create(ctx, out));
  (*out)->torch_version = program->torch_version;
  (*out)->schema_major = program->schema_major;
  (*out)->schema_minor = program->schema_minor;
  FNZ_TRY(fnzi_graph_add(*out, program->graphs.data[0].name, &graph));
  for (size_t i = 1; i < program->symbols.count; i++) {
    const fnzi_symbol *s = &program->symbols.data[i];
    FNZ_TRY(fnzi_symbol_add(*out, s->text, s->has_hint, s->hint, &symbol));
  }
  for (size_t i = 0; i < program->ranges.count; i++) {
    const fnzi_range *r = &program->ranges.data[i];
    FNZ_TRY(fnzi_range_add(*out, r->symbol, r->min, r->max));
  }
  for (size_t i = 0; i < program->guards.count; i++)
    if (program->guards.data[i].kind == FNZ_GUARD_CONDITION &&
        fnzi_reach_has_guard(reach, i, symbols))
      FNZ_TRY(fnzi_guard_add(*out, &program->guards.data[i]));
  return FNZ_OK;
}
