/* pt2_guards.c - what the exporter says that sizes must be: guards_code, Python over the arguments
 * of the module, such as L['x'].size()[0] % 8 == 0.
 *
 * needs   the inputs of graph 0
 * gives   guards of the program, over its symbols, except conditions that a range implies. A
 *         condition that only excludes size 0 or 1 is a guard, too: the program may depend on it
 *
 * The text also stays among the extras, so that a .pt2 file written again contains it unchanged. */
#include "program/formats/pt2.h"
#include "program/shapes/symbolic.h"

#include <stdlib.h>

typedef struct guard_text {
  fnzi_pt2 *r;
  const char *at;
  fnz_buffer out; /* the same over symbols */
} guard_text;

/* --- sources ---------------------------------------------------------------------------------- */
static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

/* The next characters are `word`, which is skipped. */
static bool guards_take(guard_text *g, const char *word) {
  size_t size = strlen(word);
  bool yes = strncmp(g->at, word, size) == 0;
  g->at += yes ? size : 0;
  return yes;
}

/* Appends a key to the name, in the letters that the exporter's names use. */
static bool guards_put_key(char *name, size_t most, const char *key, size_t size) {
  size_t used = strlen(name);
  if (used + size + 2 > most)
    return false;
  if (used)
    name[used++] = '_';
  for (size_t i = 0; i < size; i++) {
    bool is_upper = key[i] >= 'A' && key[i] <= 'Z';
    bool is_plain = fnzi_is_letter(key[i]) || fnzi_is_digit(key[i]);
    name[used + i] = is_upper ? (char)(key[i] - 'A' + 'a') : is_plain ? key[i] : '_';
  }
  name[used + size] = 0;
  return true;
}

/* One key or index in brackets, or one attribute, as the exporter puts it into names of inputs: x,
 * x_0, x_key. */
static bool take_key(guard_text *g, char *name, size_t most) {
  const char *key = g->at + 1;
  if (*g->at == '.' && *name && strncmp(key, "size()", 6) != 0) {
    size_t size = strspn(key, letters);
    g->at = key + size;
    return guards_put_key(name, most, key, size);
  }
  if (*g->at != '[')
    return false;
  bool is_text = *key == '\'' || *key == '"';
  const char *end = is_text ? strchr(key + 1, *key) : strchr(key, ']');
  key += is_text;
  if (!end || end[is_text] != ']' || !guards_put_key(name, most, key, (size_t)(end - key)))
    return false;
  g->at = end + is_text + 1;
  return true;
}

static fnz_status guards_put_symbol(guard_text *g, uint32_t symbol) {
  return fnzi_printf(g->r->doc.ctx, &g->out, "(%s)", g->r->p->symbols.data[symbol].text);
}

/* A number, or a size of a tensor, behind the L; *done false when it is something else. */
static fnz_status guards_put_source(guard_text *g, bool *done) {
  /* The input that L['x'], L['x'][0]['key'] or L['x'].key names. */
  char name[256] = "";
  uint64_t value;
  while (take_key(g, name, sizeof name))
    continue;
  const bool is_known = *name && fnzi_value_find(g->r->p, 0, name, strlen(name), &value);
  const fnzi_value *v = is_known ? fnzi_value_at(g->r->p, 0, value) : NULL;
  *done = v && v->node == FNZI_NO_NODE;
  if (!*done)
    return FNZ_OK;
  if (!v->geometry) {
    *done = v->symbol != 0;
    return *done ? guards_put_symbol(g, v->symbol) : FNZ_OK;
  }
  char *end = NULL;
  unsigned long dim = guards_take(g, ".size()[") ? strtoul(g->at, &end, 10) : 0;
  *done = end && end != g->at && *end == ']' && dim < v->geometry->rank;
  if (!*done)
    return FNZ_OK;
  g->at = end + 1;
  uint32_t symbol = v->geometry->symbols ? v->geometry->symbols[dim] : 0;
  return symbol ? guards_put_symbol(g, symbol)
                : fnzi_printf(g->r->doc.ctx, &g->out, "%lld", (long long)v->geometry->sizes[dim]);
}

/* The text over symbols; *done false where it has another source. */
static fnz_status translate(guard_text *g, bool *done) {
  fnz_context *ctx = g->r->doc.ctx;
  /* Columns: the name of a function in Python, and in expressions. */
  static const char *const names[][2] = {{"torch.sym_max(", "Max("},
                                         {"torch.sym_min(", "Min("},
                                         {"torch.sym_float(", "ToFloat("},
                                         {"torch._sym_sqrt(", "OpaqueUnaryFn_sqrt("},
                                         {"math.trunc(", "TruncToInt("},
                                         {"math.floor(", "FloorToInt("},
                                         {"math.ceil(", "CeilToInt("},
                                         {"round(", "RoundToInt("},
                                         {"abs(", "Abs("}};
  *done = true;
  while (*done && *g->at) {
    const char *function = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !function; i++)
      function = guards_take(g, names[i][0]) ? names[i][1] : NULL;
    if (function) {
      FNZ_TRY(fnzi_printf(ctx, &g->out, "%s", function));
    } else if (g->at[0] == 'L' && g->at[1] == '[') {
      g->at++;
      FNZ_TRY(guards_put_source(g, done));
    } else {
      FNZ_TRY(fnzi_printf(ctx, &g->out, "%c", *g->at++));
    }
  }
  return FNZ_OK;
}

/* --- which are guards ------------------------------------------------------------------------- */
/* The relation of an expression to a number, with the expression at its left side. */
typedef struct relation {
  const fnzi_expr *of;
  fnzi_function is;
  int64_t number;
} relation;

static bool is_integer(const fnzi_expr *e) {
  return e->kind == FNZI_EXPR_NUMBER && e->den == 1;
}

static bool find_relation(const fnzi_expr *e, relation *out) {
  static const fnzi_function mirrored[][2] = {{FNZI_FUNCTION_LT, FNZI_FUNCTION_GT},
                                              {FNZI_FUNCTION_GT, FNZI_FUNCTION_LT},
                                              {FNZI_FUNCTION_LE, FNZI_FUNCTION_GE},
                                              {FNZI_FUNCTION_GE, FNZI_FUNCTION_LE}};
  if (e->kind != FNZI_EXPR_CALL || e->function < FNZI_FUNCTION_EQ || e->count != 2)
    return false;
  const fnzi_expr *a = e->parts[0].expr, *b = e->parts[1].expr;
  bool is_mirrored = is_integer(a);
  if (!is_mirrored && !is_integer(b))
    return false;
  *out = (relation){is_mirrored ? b : a, e->function, is_mirrored ? a->num : b->num};
  for (size_t i = 0; is_mirrored && i < sizeof mirrored / sizeof *mirrored; i++)
    if (mirrored[i][0] == e->function)
      out->is = mirrored[i][1];
  return true;
}

/* The range of the symbol implies it. */
static bool is_in_range(const fnz_program *p, const fnzi_expr *e) {
  relation r;
  if (!find_relation(e, &r) || r.of->kind != FNZI_EXPR_SYMBOL)
    return false;
  for (size_t i = 0; i < p->ranges.count; i++) {
    const fnzi_range *range = &p->ranges.data[i];
    if (strcmp(range->symbol, r.of->atom_text) != 0)
      continue;
    return (r.is == FNZI_FUNCTION_GE && range->min >= r.number) ||
           (r.is == FNZI_FUNCTION_GT && range->min > r.number) ||
           (r.is == FNZI_FUNCTION_LE && range->max <= r.number) ||
           (r.is == FNZI_FUNCTION_LT && range->max < r.number);
  }
  return false;
}

/* --- reading ---------------------------------------------------------------------------------- */
static fnz_status add_guard(fnzi_pt2 *r, const fnzi_expr *e, fnzi_map *there) {
  fnz_guard guard = {.kind = FNZ_GUARD_CONDITION, .text = e->atom_text};
  uint64_t one;
  if (!fnzi_expr_is_condition(e) || is_in_range(r->p, e) ||
      fnzi_map_get(there, e->atom_text, e->text_size, &one))
    return FNZ_OK;
  FNZ_TRY(fnzi_guard_add(r->p, &guard));
  /* The expression goes. */
  const char *kept = r->p->guards.data[r->p->guards.count - 1].text;
  FNZ_TRY(fnzi_map_set(there, kept, e->text_size, 1));
  return fnzi_extras_add_text(r->doc.ctx, r->p->extras, FNZI_EXTRA_GUARD, e->atom_text, "", 0);
}

/* A guard that cannot be parsed is ignored: the program works at the sizes that nodes and ranges
 * allow, as it does without guards. */
static fnz_status guards_read_guard(fnzi_pt2 *r, const char *text, fnzi_map *there) {
  guard_text g = {.r = r, .at = text, .out = {NULL, 0, 0}};
  fnzi_exprs set;
  const fnzi_expr *e = NULL;
  bool done;
  fnzi_exprs_init(&set, r->doc.ctx);
  fnz_status status = translate(&g, &done);
  if (status == FNZ_OK && done)
    status = fnzi_expr_parse(&set, g.out.data ? g.out.data : "", g.out.size, &e);
  if (status == FNZ_OK && e)
    status = add_guard(r, e, there);
  else if (status != FNZ_NO_MEMORY)
    status = FNZ_OK;
  fnz_buffer_free(r->doc.ctx, &g.out);
  fnzi_exprs_free(&set);
  return status;
}

fnz_status fnzi_pt2_guards(fnzi_pt2 *r) {
  const fnzi_json *all = fnzi_json_find(r->doc.root, "guards_code");
  if (!all)
    return FNZ_OK;
  FNZ_TRY(fnzi_json_expect(&r->doc, all, FNZI_JSON_ARRAY));
  fnz_status status = FNZ_OK;
  fnzi_map there; /* texts -> 1 */
  fnzi_map_init(&there, r->doc.ctx);
  for (const fnzi_json *guard = all->u.first; status == FNZ_OK && guard; guard = guard->next) {
    const char *text;
    status = fnzi_json_text(&r->doc, guard, &text);
    if (status == FNZ_OK)
      status = guards_read_guard(r, text, &there);
  }
  fnzi_map_free(&there);
  return status;
}
