/* checks: 4
 * numbers_of_mlir_test.c - what the MLIR of a program computes of integers, doubles and truth
 * values is the value of the program's expressions, at many sizes: over all programs of fixtures/
 * with symbols, and over random expressions. Lists of sizes are compared with the tensors. A reader
 * that shares nothing with the writer computes it (numbers_of_mlir_read.h). */
#include "tests/formats/numbers_of_mlir_draw.h"
#include "tests/formats/numbers_of_mlir_read.h"

#include "program/program.h"
#include "program/shapes/sizes.h"
#include "tests/help/context.h"
#include "tests/help/run_help.h"

#include <glob.h>

enum { DRAWS = 12, SPECIAL = 60, RANDOM_PROGRAMS = 150 };

typedef struct trial {
  const fnz_program *p;
  fnzi_sizes sizes;
  fnzi_point point;
  size_t compared, lists;
} trial;

static mlir_reader reader;

/* --- What the program says -------------------------------------------------------------------- */
/* "%x", and "%$2.x" of the second body that was written out. NULL where no value, or several, have
 * the name. */
static const fnzi_value *find_value(const fnz_program *p, const char *name, size_t size) {
  const char *dot = memchr(name, '.', size);
  const fnzi_value *found = NULL;
  uint64_t value;
  if (size > 1 && name[1] != '$')
    return fnzi_value_find(p, 0, name + 1, size - 1, &value) ? fnzi_value_at(p, 0, value) : NULL;
  for (uint32_t g = 1; dot && g < p->graphs.count; g++)
    if (fnzi_value_find(p, g, dot + 1, size - (size_t)(dot + 1 - name), &value)) {
      if (found)
        return NULL;
      found = fnzi_value_at(p, g, value);
    }
  return found;
}

static const fnzi_expr *expression_of(const trial *t, const char *name, size_t size) {
  const fnzi_value *v = find_value(t->p, name, size);
  return v && v->symbol ? t->sizes.symbols[v->symbol] : NULL;
}

static bool size_at(trial *t, const fnz_geometry *g, int64_t dim, int64_t *out) {
  bool known = true;
  if (!g || dim < 0 || dim >= g->rank)
    return false;
  const fnzi_expr *e = g->symbols && g->symbols[dim] ? t->sizes.symbols[g->symbols[dim]] : NULL;
  *out = g->sizes[dim];
  if (e)
    OK(ctx, fnzi_point_int(&t->point, e, &known, out));
  return known;
}

static bool size_of(void *user, const char *name, size_t size, int64_t dim, int64_t *out) {
  trial *t = user;
  const fnzi_value *v = find_value(t->p, name, size);
  if (v && v->geometry && dim < 0)
    dim += v->geometry->rank;
  return v && size_at(t, v->geometry, dim, out);
}

/* The value of an expression as a number of this kind; UNKNOWN where it has none. */
static mlir_value value_at(trial *t, const fnzi_expr *e, mlir_kind kind) {
  mlir_value v = {.kind = kind};
  bool known;
  if (kind == MLIR_FLOAT)
    OK(ctx, fnzi_point_real(&t->point, e, &known, &v.real));
  else
    OK(ctx, fnzi_point_int(&t->point, e, &known, &v.number));
  if (!known)
    v.kind = MLIR_UNKNOWN;
  return v;
}

static void leaf(void *user, const char *name, size_t size, mlir_value *out) {
  trial *t = user;
  const fnzi_expr *e = expression_of(t, name, size);
  if (e)
    *out = value_at(t, e,
                    fnzi_is_float_symbol(e) || e->is_real ? MLIR_FLOAT
                    : fnzi_expr_is_condition(e)           ? MLIR_BOOL
                                                          : MLIR_INT);
}

/* A size is not negative. */
static bool symbol(void *user, const mlir_symbol *given, int64_t *out) {
  trial *t = user;
  char text[64];
  bool known = false;
  fnzi_range range = {.min = 0, .max = INT64_MAX};
  snprintf(text, sizeof text, "%.*s", (int)given->size, given->name);
  for (size_t i = 0; i < t->p->ranges.count; i++)
    if (strcmp(t->p->ranges.data[i].symbol, text) == 0)
      range = t->p->ranges.data[i];
  const fnzi_expr *e = fnzi_expr_find(&t->sizes.set, text);
  if (e)
    OK(ctx, fnzi_point_int(&t->point, e, &known, out));
  return known && given->least == (range.min < 0 ? 0 : range.min) && given->most == range.max;
}

/* Operations whose list of integers, at this place, has the sizes of the result or -1. */
static const struct {
  const char *op;
  int place;
} sized[] = {{"torch.aten.view ", 1},        {"torch.aten.reshape ", 1}, {"torch.aten.expand ", 1},
             {"torch.aten.zeros ", 0},       {"torch.aten.ones ", 0},    {"torch.aten.full ", 0},
             {"torch.aten.broadcast_to ", 1}};

static bool same_sizes(mlir_reader *r, trial *t, const fnz_geometry *g, const char *items) {
  for (int64_t dim = 0; dim < g->rank; dim++) {
    size_t size = strcspn(items, " ,");
    const mlir_value *item = *items == '%' ? mlir_find(r, items, size) : NULL;
    int64_t want;
    if (!item || (item->kind != MLIR_INT && item->kind != MLIR_UNKNOWN))
      return false;
    items += size + strspn(items + size, ", ");
    if (item->kind == MLIR_INT && size_at(t, g, dim, &want) && item->number != want &&
        item->number != -1)
      return false;
    t->lists += item->kind == MLIR_INT;
  }
  return *items != '%';
}

static bool tensor(mlir_reader *r, void *user, const char *name, const char *op) {
  trial *t = user;
  const fnzi_value *v = find_value(t->p, name, strcspn(name, " ,:"));
  for (size_t i = 0; v && v->geometry && i < sizeof sized / sizeof *sized; i++) {
    if (strncmp(op, sized[i].op, strlen(sized[i].op)) != 0)
      continue;
    const char *at = strchr(op, '%');
    for (int k = 0; k < sized[i].place; k++)
      at = strchr(at + 1, '%');
    const mlir_value *list = mlir_find(r, at, strcspn(at, " ,"));
    if (list && list->kind == MLIR_LIST && same_sizes(r, t, v->geometry, list->items))
      return true;
    snprintf(r->refused, sizeof r->refused, "other sizes than the result has: %.*s",
             (int)strcspn(op, "\n"), op);
    return false;
  }
  return true;
}

/* --- Comparing -------------------------------------------------------------------------------- */
/* Each number of the program that the text has. */
static void compare(trial *t, const char *name) {
  for (size_t i = 0; i < reader.count; i++) {
    const mlir_value *v = &reader.values[i];
    const fnzi_expr *e = expression_of(t, v->name, v->size);
    if (!e || v->kind == MLIR_UNKNOWN)
      continue;
    ck_assert_msg(v->kind == MLIR_INT || v->kind == MLIR_FLOAT || v->kind == MLIR_BOOL,
                  "%s: %.*s is no number", name, (int)v->size, v->name);
    const mlir_value want = value_at(t, e, v->kind);
    if (want.kind == MLIR_UNKNOWN)
      continue;
    const char *text;
    OK(ctx, fnzi_expr_text(&t->sizes.set, e, &text));
    ck_assert_msg(v->number == want.number && v->real == want.real,
                  "%s: %.*s, which is %s, is %lld (%.17g), not %lld (%.17g)", name, (int)v->size,
                  v->name, text, (long long)v->number, v->real, (long long)want.number, want.real);
    t->compared++;
  }
}

static bool read_for(trial *t, const char *text) {
  reader.user = t;
  reader.size_of = size_of;
  reader.leaf = leaf;
  reader.symbol = symbol;
  reader.tensor = tensor;
  return mlir_read(&reader, text);
}

/* The program runs at the point. */
static bool works(trial *t) {
  const fnz_verify_options once = {.size = sizeof once, .trials = 1, .ignore_memory = true};
  fnz_program *there;
  if (fnzi_instantiate(&t->sizes, &t->point, FNZI_READINGS_WATCHED, &there) != FNZ_OK)
    return false;
  const bool does = fnz_verify_hashes(ctx, there, there, &once, NULL) == FNZ_OK;
  fnz_program_destroy(there);
  return does;
}

static void try_point(trial *t, const char *name, const char *text) {
  const bool can_read = read_for(t, text);
  ck_assert_msg(can_read || !works(t), "%s: %s", name, reader.refused);
  if (can_read)
    compare(t, name);
}

/* At usual sizes and at special ones. */
static void try_sizes(trial *t, const char *name, const char *text) {
  fnzi_draw draw;
  bool found, more = true;
  fnzi_draw_start(&draw, &t->sizes, 35);
  for (int i = 0; i < DRAWS; i++) {
    OK(ctx, fnzi_draw_numbers(&draw, &t->point, &found));
    if (found)
      try_point(t, name, text);
  }
  for (size_t k = 0; more && k < SPECIAL; k++) {
    OK(ctx, fnzi_draw_numbers(&draw, &t->point, &found));
    OK(ctx, fnzi_draw_special(&draw, k, &t->point, &more, &found));
    if (found)
      try_point(t, name, text);
  }
}

/* Functionalized, of operators that the dialect has, as text. False where that is refused. */
static bool write_text(const fnz_program *p, fnz_program **made, fnz_buffer *text) {
  fnz_decompose_options o = FNZ_DECOMPOSE_OPTIONS_INIT;
  fnz_program *functional = NULL;
  o.set = "mlir";
  *made = NULL;
  fnz_status status = fnz_functionalize(ctx, p, NULL, &functional);
  if (status == FNZ_OK)
    status = fnz_decompose(ctx, functional, &o, made);
  if (status == FNZ_OK)
    status = fnz_mlir_write(ctx, *made, NULL, text, NULL);
  ck_assert_int_ne(status, FNZ_INTERNAL);
  fnz_program_destroy(functional);
  return status == FNZ_OK;
}

static void try_text(const char *name, const fnz_program *p, const char *text, trial *sum) {
  trial t = {.p = p};
  fnz_status status = fnzi_sizes_open(&t.sizes, ctx, p);
  fnzi_point_init(&t.point, &t.sizes.set);
  OK(ctx, status);
  try_sizes(&t, name, text);
  sum->compared += t.compared;
  sum->lists += t.lists;
  fnzi_point_free(&t.point);
  fnzi_sizes_close(&t.sizes);
}

static bool try_program(const char *name, const fnz_program *p, trial *sum) {
  fnz_program *made;
  fnz_buffer text = {0};
  bool written = write_text(p, &made, &text);
  if (written)
    try_text(name, made, text.data, sum);
  fnz_buffer_free(ctx, &text);
  fnz_program_destroy(made);
  return written;
}

/* The program needs two equal sizes, and has no guard for them. */
static bool is_unguarded(const char *path) {
  return strstr(path, "symbolic/rows_of_another.fnz") != NULL;
}

static size_t try_files(const char *pattern, trial *sum) {
  glob_t found;
  size_t written = 0;
  if (glob(pattern, 0, NULL, &found) != 0)
    return 0;
  for (size_t i = 0; i < found.gl_pathc; i++) {
    fnz_program *p = NULL;
    if (fnz_program_load(ctx, found.gl_pathv[i], FNZ_FORMAT_AUTO, &p) == FNZ_OK &&
        p->symbols.count > 1 && !is_unguarded(found.gl_pathv[i]))
      written += try_program(found.gl_pathv[i], p, sum);
    fnz_program_destroy(p);
  }
  globfree(&found);
  return written;
}

START_TEST(fixtures_compute_their_expressions) {
  trial sum = {0};
  size_t written = 0;
  begin();
  written += try_files(FNZ_SOURCE_DIR "/fixtures/*/*.fnz", &sum);
  written += try_files(FNZ_SOURCE_DIR "/fixtures/*/*.pt2", &sum);
  written += try_files(FNZ_SOURCE_DIR "/fixtures/*/*/*.pt2", &sum);
  ck_assert_uint_gt(written, 40);
  ck_assert_uint_gt(sum.compared, 5000);
  ck_assert_uint_gt(sum.lists, 1000);
  end();
}
END_TEST

/* --- Random expressions ----------------------------------------------------------------------- */
static void try_random(uint64_t seed, trial *sum) {
  fnz_buffer source = {0}, text = {0};
  fnz_program *p;
  char name[32];
  snprintf(name, sizeof name, "random %llu", (unsigned long long)seed);
  OK(ctx, numbers_of_mlir_draw(ctx, seed, &source));
  OK(ctx, fnz_program_read(ctx, source.data, source.size, FNZ_FORMAT_TEXT, &p));
  ck_assert_msg(fnz_mlir_write(ctx, p, NULL, &text, NULL) == FNZ_OK, "%s: %s\n%s", name,
                fnz_last_error(ctx)->message, source.data);
  try_text(name, p, text.data, sum);
  fnz_program_destroy(p);
  fnz_buffer_free(ctx, &text);
  fnz_buffer_free(ctx, &source);
}

START_TEST(random_expressions_are_computed) {
  trial sum = {0};
  begin();
  memset(reader.used, 0, sizeof reader.used);
  for (uint64_t seed = 0; seed < RANDOM_PROGRAMS; seed++)
    try_random(seed, &sum);
  for (size_t k = 0; mlir_operation(k); k++)
    ck_assert_msg(reader.used[k] > 0, "%s was never computed", mlir_operation(k));
  ck_assert_uint_gt(sum.compared, 20000);
  end();
}
END_TEST

/* --- Names ------------------------------------------------------------------------------------ */
#define MLIR_VERSION(version)
#define MLIR_OP(name) "torch." name,
static const char *const registered[] = {
#include "schema/facts/mlir.def"
};
#undef MLIR_VERSION
#undef MLIR_OP

/* The reader knows an operation only if the torch dialect of IREE has it. */
START_TEST(operations_are_registered) {
  for (size_t k = 0; mlir_operation(k); k++) {
    bool found = strncmp(mlir_operation(k), "torch.", 6) != 0;
    for (size_t i = 0; i < sizeof registered / sizeof *registered; i++)
      found = found || strcmp(registered[i], mlir_operation(k)) == 0;
    ck_assert_msg(found, "%s is unknown to IREE", mlir_operation(k));
  }
}
END_TEST

/* --- The reader ------------------------------------------------------------------------------- */
static const char head[] = "func.func @main(%n: !torch.int)\n"
                           "      attributes {torch.assume_strict_symbolic_shapes} {\n";

/* The reader does not pass over an operation that it does not know. */
START_TEST(unknown_operations_are_refused) {
  static const char *const wrong[] = {
      "    %a = torch.aten.gcd.int %n, %n : !torch.int, !torch.int -> !torch.int\n",
      "    %a = torch.aten.add.int %n, %b : !torch.int, !torch.int -> !torch.int\n",
      "    %a = torch.aten.add.int %n : !torch.int -> !torch.int\n",
      "    %a = torch.constant.number 3\n",
      "    %c = torch.constant.bool true\n"
      "    %a = torch.aten.add.int %c, %c : !torch.bool, !torch.bool -> !torch.int\n",
      "    cf.assert %n, \"no\"\n",
      "    %a = torch.symbolic_int \"s0\" : !torch.int\n",
  };
  char text[1024];
  trial t = {0};
  begin();
  fnz_program *p = program_of(ctx, "%x: f32[2]", "  return %x");
  t.p = p;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    snprintf(text, sizeof text, "%s%s    return\n  }\n}\n", head, wrong[i]);
    ck_assert_msg(!read_for(&t, text) && reader.refused[0], "taken: %s", wrong[i]);
  }
  snprintf(text, sizeof text, "%s    return\n  }\n}\n", head);
  ck_assert_msg(read_for(&t, text), "%s", reader.refused);
  fnz_program_destroy(p);
  end();
}
END_TEST

RUN_SUITE("numbers_of_mlir", fixtures_compute_their_expressions, random_expressions_are_computed,
          operations_are_registered, unknown_operations_are_refused)
