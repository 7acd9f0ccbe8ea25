/* sizes.c - the expressions of a program, and whether numbers are allowed for its symbols.
 *
 * needs   a verified program
 * gives   each symbol's expression; conditions from ranges, guards and assertions; how many
 * elements the values have at some sizes */
#include "program/shapes/sizes.h"
#include "program/shapes/symbolic_set.h"

#include "schema/aten_names.h"

/* --- conditions ------------------------------------------------------------------------------- */
static fnz_status add_condition(fnzi_sizes *s, const fnzi_expr *e, int64_t min, int64_t max,
                                fnzi_condition_kind kind) {
  if (min == INT64_MIN && max == INT64_MAX)
    return FNZ_OK;
  FNZI_PUSH(s->set.ctx, &s->conditions, ((fnzi_condition){e, min, max, kind}));
  return FNZ_OK;
}

static fnz_status sizes_add_conditions(fnzi_sizes *s) {
  const fnz_program *p = s->program;
  for (size_t i = 0; i < p->ranges.count; i++) {
    const fnzi_range *r = &p->ranges.data[i];
    const fnzi_expr *e;
    fnz_status status = fnzi_expr_parse(&s->set, r->symbol, strlen(r->symbol), &e);
    FNZ_TRY(fnzi_at(s->set.ctx, status, "range %.80s", r->symbol));
    /* PyTorch writes 2 as the least size where it has looked at no smaller one, and does not check
     * it: sizes of 0 and 1 are as good as others. */
    const bool is_size = e->kind == FNZI_EXPR_SYMBOL && e->atom_text[0] == 's';
    const int64_t min = is_size && r->min == 2 ? 0 : r->min;
    FNZ_TRY(add_condition(s, e, min, r->max, FNZI_CONDITION_RANGE));
  }
  for (size_t i = 0; i < p->guards.count; i++)
    if (p->guards.data[i].kind == FNZ_GUARD_CONDITION) {
      const char *text = p->guards.data[i].text;
      const fnzi_expr *e;
      fnz_status status = fnzi_expr_parse(&s->set, text, strlen(text), &e);
      FNZ_TRY(status == FNZ_OK ? add_condition(s, e, 1, 1, FNZI_CONDITION_GUARD)
                               : fnzi_at(s->set.ctx, status, "guard %.80s", text));
    }
  for (size_t i = 0; i < p->graphs.count; i++) {
    const fnzi_graph *g = &p->graphs.data[i];
    for (size_t n = 0; n < g->nodes.count; n++) {
      const fnzi_node *node = &g->nodes.data[n];
      if (node->op != &fnzi_ops[FNZI_ATEN__assert_scalar] || !node->nargs ||
          node->args[0].tag != FNZ_ARG_SYMBOL)
        continue;
      uint32_t symbol = g->values.data[node->args[0].u.value].symbol;
      if (symbol && s->symbols[symbol])
        FNZ_TRY(add_condition(s, s->symbols[symbol], 1, 1, FNZI_CONDITION_ASSERTION));
    }
  }
  return FNZ_OK;
}

static void see_asked(const fnzi_sizes *s, const fnzi_graph *g, const fnz_arg *args, size_t count) {
  FNZI_EACH_ARG(each, args, count) {
    bool symbolic = each.arg->tag == FNZ_ARG_SYMBOL;
    uint32_t symbol = symbolic ? g->values.data[each.arg->u.value].symbol : 0;
    if (symbol && s->symbols[symbol])
      s->asked[s->symbols[symbol]->id] = true;
  }
}

static void use(const fnzi_sizes *s, uint32_t symbol, uint8_t *used) {
  if (symbol && s->symbols[symbol])
    used[s->symbols[symbol]->id] = true;
}

static fnz_status list_free(fnzi_sizes *s) {
  size_t count = s->set.all.count;
  uint8_t *used;
  FNZI_NEW(&s->set.arena, count, &used);
  for (size_t i = 0; i < s->program->graphs.count; i++) {
    /* Offsets and strides follow from what views do: a symbol that only they contain is of no use.
     */
    const fnzi_graph *g = &s->program->graphs.data[i];
    for (size_t v = 0; v < g->values.count; v++) {
      const fnz_geometry *geometry = g->values.data[v].geometry;
      use(s, g->values.data[v].symbol, used);
      for (uint32_t d = 0; geometry && geometry->symbols && d < geometry->rank; d++)
        use(s, geometry->symbols[d], used);
    }
  }
  /* A guard may be all that is left of a symbol. */
  for (size_t i = 0; i < s->conditions.count; i++)
    if (s->conditions.data[i].kind == FNZI_CONDITION_GUARD)
      used[s->conditions.data[i].expr->id] = true;
  fnzi_mark_parts(s, count, used);
  for (size_t i = 0; i < count; i++)
    if (used[i] && s->set.all.data[i]->kind == FNZI_EXPR_SYMBOL)
      FNZI_PUSH(s->set.ctx, &s->free, s->set.all.data[i]);
  return FNZ_OK;
}

fnz_status fnzi_sizes_open(fnzi_sizes *s, fnz_context *ctx, const fnz_program *program) {
  *s = (fnzi_sizes){.program = program};
  fnzi_exprs_init(&s->set, ctx);
  FNZ_TRY(fnzi_sizes_define(s));
  /* A text that is no expression is refused where it is needed. */
  FNZI_NEW(&s->set.arena, program->symbols.count + 1, &s->symbols);
  for (size_t i = 1; i < program->symbols.count; i++) {
    const char *text = program->symbols.data[i].text;
    if (fnzi_expr_parse(&s->set, text, strlen(text), &s->symbols[i]) == FNZ_NO_MEMORY)
      return fnzi_no_memory(ctx);
  }
  FNZ_TRY(sizes_add_conditions(s));
  FNZ_TRY(fnzi_sizes_check_determined(s));
  s->own = s->set.all.count;
  /* A node that only computes other numbers requires nothing itself. */
  size_t count = s->set.all.count;
  FNZI_NEW(&s->set.arena, count, &s->asked);
  for (size_t i = 0; i < s->program->graphs.count; i++) {
    const fnzi_graph *g = &s->program->graphs.data[i];
    see_asked(s, g, g->outputs, g->noutputs);
    for (size_t n = 0; n < g->nodes.count; n++)
      if (!fnzi_is_size_node(&g->nodes.data[n]))
        see_asked(s, g, g->nodes.data[n].args, g->nodes.data[n].nargs);
  }
  fnzi_mark_parts(s, count, s->asked);
  return list_free(s);
}

void fnzi_sizes_close(fnzi_sizes *s) {
  FNZI_VEC_FREE(s->set.ctx, &s->conditions);
  FNZI_VEC_FREE(s->set.ctx, &s->free);
  FNZI_VEC_FREE(s->set.ctx, &s->bounds);
  FNZI_VEC_FREE(s->set.ctx, &s->meanings);
  fnzi_exprs_free(&s->set);
}

/* --- numbers ---------------------------------------------------------------------------------- */
fnz_status fnzi_sizes_admit(const fnzi_sizes *s, fnzi_point *point, const fnzi_condition **broken) {
  *broken = NULL;
  for (size_t i = 0; i < s->conditions.count && !*broken; i++) {
    const fnzi_condition *c = &s->conditions.data[i];
    fnzi_number n;
    FNZ_TRY(fnzi_point_get(point, c->expr, &n));
    bool holds = n.known == FNZI_NUMBER_KNOWN && n.den == 1 && n.num >= c->min && n.num <= c->max;
    if (n.known != FNZI_NUMBER_UNKNOWN && !holds)
      *broken = c;
  }
  return FNZ_OK;
}

fnz_status fnzi_sizes_text(const fnzi_sizes *s, fnzi_point *point, fnz_buffer *out) {
  for (size_t i = 0; i < s->free.count; i++) {
    bool known;
    int64_t number;
    FNZ_TRY(fnzi_point_int(point, s->free.data[i], &known, &number));
    if (known)
      FNZ_TRY(fnzi_printf(s->set.ctx, out, "%s%s = %lld", out->size ? ", " : "",
                          s->free.data[i]->atom_text, (long long)number));
  }
  return FNZ_OK;
}

static bool is_negative(const fnzi_expr *e) {
  return e->kind == FNZI_EXPR_SUM ? !e->num && e->count == 1 && e->parts[0].num < 0
                                  : e->kind == FNZI_EXPR_NUMBER && e->num < 0;
}

fnz_status fnzi_sizes_put_condition(fnzi_sizes *s, const fnzi_condition *c, fnz_buffer *out) {
  fnz_context *ctx = s->set.ctx;
  static const char *const names[] = {
#define CONDITION_NAME(id, name) name,
      FNZI_CONDITION_ROWS(CONDITION_NAME)
#undef CONDITION_NAME
  };
  const fnzi_expr *shown = c->expr, *args[2];
  /* x[-n:] asks for -n >= -m, which is easier to read as m >= n. */
  if (fnzi_expr_is_condition(shown) && shown->count == 2 && is_negative(shown->parts[0].expr) &&
      is_negative(shown->parts[1].expr)) {
    for (uint32_t k = 0; k < 2; k++)
      FNZ_TRY(fnzi_expr_scale(&s->set, shown->parts[1 - k].expr, -1, 1, &args[k]));
    FNZ_TRY(fnzi_expr_call(&s->set, shown->function, args, 2, &shown));
  }
  FNZ_TRY(fnzi_expr_put_text(ctx, shown, out));
  if (c->max == INT64_MAX)
    FNZ_TRY(fnzi_printf(ctx, out, " >= %lld", (long long)c->min));
  else if (c->min != 1 || c->max != 1)
    FNZ_TRY(fnzi_printf(ctx, out, " from %lld to %lld", (long long)c->min, (long long)c->max));
  return fnzi_printf(ctx, out, " (its %s)", names[c->kind]);
}

/* A guard may say the only number of a symbol that no value has any more. */
static fnz_status solve_by_guards(const fnzi_sizes *s, fnzi_point *point) {
  for (size_t i = 0; i < s->conditions.count; i++) {
    const fnzi_expr *e = s->conditions.data[i].expr;
    const bool is_equation = e->kind == FNZI_EXPR_CALL && e->function == FNZI_FUNCTION_EQ;
    for (uint32_t k = 0; is_equation && k < 2; k++) {
      const fnzi_expr *symbol = e->parts[k].expr, *number = e->parts[1 - k].expr;
      bool known = symbol->kind != FNZI_EXPR_SYMBOL || number->kind != FNZI_EXPR_NUMBER;
      int64_t unused;
      if (!known)
        FNZ_TRY(fnzi_point_int(point, symbol, &known, &unused));
      if (!known && number->den == 1)
        FNZ_TRY(fnzi_point_set(point, symbol, number->num));
    }
  }
  return FNZ_OK;
}

/* A symbol's number may only follow from that of an expression. */
fnz_status fnzi_sizes_recorded(const fnzi_sizes *s, fnzi_point *point, bool *complete) {
  for (size_t i = 1; i < s->program->symbols.count; i++) {
    const fnzi_symbol *symbol = &s->program->symbols.data[i];
    bool solved, wrong;
    if (s->symbols[i] && symbol->has_hint)
      FNZ_TRY(fnzi_point_solve(point, s->symbols[i], symbol->hint, &solved, &wrong));
  }
  FNZ_TRY(solve_by_guards(s, point));
  /* Symbols of strides and offsets only are not drawn, and are not taken from the record. */
  for (size_t i = 0; i < s->set.all.count; i++) {
    const fnzi_expr *e = s->set.all.data[i];
    bool is_kept = e->kind != FNZI_EXPR_SYMBOL;
    for (size_t k = 0; k < s->free.count && !is_kept; k++)
      is_kept = s->free.data[k] == e;
    if (!is_kept)
      FNZ_TRY(fnzi_point_unset(point, e));
  }
  *complete = true;
  for (size_t i = 0; i < s->free.count; i++) {
    bool known;
    int64_t number;
    FNZ_TRY(fnzi_point_int(point, s->free.data[i], &known, &number));
    *complete = *complete && known;
  }
  return FNZ_OK;
}

fnz_status fnzi_sizes_adopt(const fnzi_sizes *s, fnzi_point *point, const fnzi_sizes *from,
                            fnzi_point *there) {
  point->salt = there->salt;
  for (size_t i = 0; i < s->free.count; i++) {
    const fnzi_expr *symbol = fnzi_expr_find(&from->set, s->free.data[i]->atom_text);
    bool known = false;
    int64_t number;
    if (symbol)
      FNZ_TRY(fnzi_point_int(there, symbol, &known, &number));
    if (known)
      FNZ_TRY(fnzi_point_set(point, s->free.data[i], number));
  }
  return FNZ_OK;
}

fnz_status fnzi_sizes_match(const fnzi_sizes *s, fnzi_point *point, const fnz_program *numbers) {
  const fnzi_graph *g = fnzi_graph_main(s->program), *other = fnzi_graph_main(numbers);
  for (uint32_t k = 0; k < g->ninputs && k < other->ninputs; k++) {
    if (g->inputs[k].tag != FNZ_ARG_VALUE || other->inputs[k].tag != FNZ_ARG_VALUE)
      continue;
    const fnz_geometry *a = g->values.data[g->inputs[k].u.value].geometry;
    const fnz_geometry *b = other->values.data[other->inputs[k].u.value].geometry;
    for (uint32_t d = 0; a && b && a->symbols && a->rank == b->rank && d < a->rank; d++) {
      const fnzi_expr *e = s->symbols[a->symbols[d]];
      bool solved, wrong;
      if (a->symbols[d] && e)
        FNZ_TRY(fnzi_point_solve(point, e, b->sizes[d], &solved, &wrong));
    }
  }
  return FNZ_OK;
}

/* One of the numbers of a geometry; *known stays true when it is not symbolic. */
static fnz_status dim_at(const fnzi_sizes *s, fnzi_point *point, uint32_t symbol, bool *known,
                         int64_t *number) {
  *known = true;
  if (!symbol)
    return FNZ_OK;
  const fnzi_expr *e = s->symbols[symbol];
  *known = false;
  return e ? fnzi_point_int(point, e, known, number) : FNZ_OK;
}

static fnz_status fill_strides(const fnzi_sizes *s, fnzi_point *point, const fnz_geometry *g,
                               const int64_t *sizes, int64_t *strides) {
  bool all = true;
  for (uint32_t d = 0; d < g->rank; d++) {
    bool known;
    strides[d] = g->strides[d];
    FNZ_TRY(dim_at(s, point, g->symbols[g->rank + d], &known, &strides[d]));
    all = all && known && strides[d] >= 0;
  }
  if (!all)
    fnzi_contiguous_strides(sizes, g->rank, strides);
  return FNZ_OK;
}

fnz_status fnzi_sizes_geometry(const fnzi_sizes *s, fnzi_point *point, const fnz_geometry *g,
                               fnzi_arena *arena, const fnz_geometry **out) {
  fnz_geometry *made;
  int64_t *numbers;
  bool known;
  *out = g;
  if (!g || !g->symbols)
    return FNZ_OK;
  *out = NULL;
  FNZI_NEW(arena, 1, &made);
  FNZI_NEW(arena, 2 * (size_t)g->rank, &numbers);
  *made = *g;
  made->symbols = NULL;
  made->sizes = numbers;
  made->strides = numbers + g->rank;
  for (uint32_t d = 0; d < g->rank; d++) {
    numbers[d] = g->sizes[d];
    FNZ_TRY(dim_at(s, point, g->symbols[d], &known, &numbers[d]));
    if (!known)
      return FNZ_OK;
    if (numbers[d] < 0)
      return fnzi_fail(arena->ctx, FNZ_CLASS_BOUNDS, NULL, "the size %s of dimension %u is %lld",
                       s->program->symbols.data[g->symbols[d]].text, d, (long long)numbers[d]);
  }
  if (!fnzi_elements_fit(made))
    return fnzi_fail(arena->ctx, FNZ_CLASS_OVERFLOW, NULL,
                     "the sizes of a %s tensor of %u dimensions leave 63 bits",
                     fnzi_dtype(g->dtype)->name, g->rank);
  FNZ_TRY(fill_strides(s, point, g, numbers, numbers + g->rank));
  FNZ_TRY(dim_at(s, point, g->symbols[2 * g->rank], &known, &made->offset));
  if (!known || made->offset < 0)
    made->offset = 0;
  *out = made;
  return FNZ_OK;
}

bool fnzi_sizes_have_data(const fnzi_sizes *sizes) {
  for (size_t i = 0; i < sizes->free.count; i++)
    if (fnzi_is_data_symbol(sizes->free.data[i]) || fnzi_is_float_symbol(sizes->free.data[i]))
      return true;
  return false;
}

/* --- how much it would be --------------------------------------------------------------------- */
enum {
  MOST_ELEMENTS = 1 << 18, /* of all values together */
  MOST_BEARABLE = 1 << 22  /* of values that have symbolic sizes */
};

static fnz_status are_few(const fnzi_sizes *s, fnzi_point *point, bool fixed, int64_t most,
                          bool *out) {
  fnzi_arena arena;
  *out = true;
  fnzi_arena_init(&arena, s->set.ctx);
  const fnzi_graph *graph = fnzi_graph_main(s->program);
  fnz_status status = FNZ_OK;
  int64_t elements = 0;
  for (size_t i = 0; i < graph->values.count && *out && status != FNZ_NO_MEMORY; i++) {
    const fnz_geometry *g = NULL, *from = graph->values.data[i].geometry;
    if (!fixed && from && !from->symbols)
      continue;
    status = fnzi_sizes_geometry(s, point, from, &arena, &g);
    *out = fnzi_add_i64(elements, g ? fnz_geometry_numel(g) : 0, &elements) && elements <= most;
  }
  fnzi_arena_free(&arena);
  /* After any other error the numbers are none that the program takes. */
  return status == FNZ_NO_MEMORY ? status : FNZ_OK;
}

fnz_status fnzi_sizes_are_small(const fnzi_sizes *s, fnzi_point *point, bool *out) {
  return are_few(s, point, true, MOST_ELEMENTS, out);
}

fnz_status fnzi_sizes_are_bearable(const fnzi_sizes *s, fnzi_point *point, bool *out) {
  return are_few(s, point, false, MOST_BEARABLE, out);
}
