/* checks: 13
 * functionalize_test.c - the pass: the meaning of programs after it, its refusals, and the look of
 * the result: how many nodes a pattern costs, which lines they belong to, and how little it
 * needs. */
#include "program/program.h"
#include "tests/help/context.h"
#include "tests/help/faults.h"
#include "tests/help/run_help.h"
#include "tests/functionalize/situations.h"
#include "tests/help/stack.h"

/* --- what programs mean ---------------------------------------------------------------------- */
/* 1, 2, 3 ...; truth values alternate; complex numbers are 1+2i, 2+3i ... */
static void put_number(fnz_dtype dtype, unsigned char *at, size_t i) {
  const float f[2] = {(float)(i + 1), (float)(i + 2)};
  const int64_t n = (int64_t)i + 1;
  if (dtype == FNZ_BOOL)
    *at = i % 2 == 0;
  else if (dtype == FNZ_F32 || dtype == FNZ_C64)
    memcpy(at, f, fnz_dtype_get_info(dtype)->bytes);
  else
    memcpy(at, &n, fnz_dtype_get_info(dtype)->bytes);
}

static fnz_arrays *inputs_of(const fnz_program *p) {
  fnz_arrays *arrays;
  size_t count;
  const fnz_arg *inputs = fnz_graph_inputs(p, 0, &count);
  OK(ctx, fnz_arrays_create(ctx, &arrays));
  for (size_t i = 0; i < count; i++) {
    const fnz_geometry *g = fnz_value_geometry(p, 0, inputs[i].u.value);
    void *data;
    OK(ctx, fnz_arrays_add(arrays, fnz_value_name(p, 0, inputs[i].u.value), g->dtype, g->rank,
                           g->sizes, &data));
    size_t bytes = fnz_dtype_get_info(g->dtype)->bytes;
    for (size_t k = 0, n = (size_t)fnz_geometry_numel(g); k < n; k++)
      put_number(g->dtype, (unsigned char *)data + k * bytes, k);
  }
  return arrays;
}

static double number_at(const fnz_array *a, size_t i) {
  if (a->dtype == FNZ_BOOL)
    return ((const unsigned char *)a->data)[i];
  if (a->dtype == FNZ_I64)
    return (double)((const int64_t *)a->data)[i];
  return ((const float *)a->data)[i]; /* also the halves of complex numbers */
}

static size_t numbers_in(const fnz_array *a) {
  return a->bytes / (a->dtype == FNZ_C64 ? 4 : fnz_dtype_get_info(a->dtype)->bytes);
}

/* One "name numbers" of a list of wants. */
static void check_want(const char *situation_name, const char *want, const fnz_arrays *got) {
  char name[32], result[48];
  int length;
  ck_assert_int_eq(sscanf(want, " %31[^ ;]%n", name, &length), 1);
  snprintf(result, sizeof result, "%s.%s", *name <= '9' ? "output" : "input", name);
  const fnz_array *a = fnz_arrays_find(got, result);
  ck_assert_msg(a != NULL, "%s: there is no %s", situation_name, result);
  const char *at = want + length;
  for (size_t i = 0, n = numbers_in(a); i < n; i++) {
    char *next;
    double wanted = strtod(at, &next);
    ck_assert_msg(next != at, "%s: %s has more than %zu numbers", situation_name, result, i);
    ck_assert_msg(number_at(a, i) == wanted, "%s: %s[%zu] is %g, not %g", situation_name, result, i,
                  number_at(a, i), wanted);
    at = next;
  }
}

static void check_wants(const char *name, const char *wants, const fnz_arrays *got) {
  for (const char *at = wants; at; at = strchr(at, ';')) {
    at += *at == ';';
    check_want(name, at, got);
  }
}

static void check_run(const fnz_run_options *how, const situation *s, const fnz_program *p) {
  fnz_arrays *inputs = inputs_of(p), *got;
  fnz_backend *cpu;
  OK(ctx, fnz_arrays_create(ctx, &got));
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  if (fnz_run(ctx, p, cpu, inputs, how, got))
    ck_abort_msg("%s: %s: %s", s->name, fnz_last_error(ctx)->where, fnz_last_error(ctx)->message);
  check_wants(s->name, s->wants, got);
  fnz_backend_destroy(cpu);
  fnz_arrays_destroy(got);
  fnz_arrays_destroy(inputs);
}

static void check_situation(const situation *s, fnz_views views) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_program *p = program_of(ctx, s->inputs, s->body), *f;
  fnz_stats stats;
  options.views = views;
  if (fnz_functionalize(ctx, p, &options, &f))
    ck_abort_msg("%s: %s: %s", s->name, fnz_last_error(ctx)->where, fnz_last_error(ctx)->message);
  stats = fnz_program_stats(f);
  ck_assert_uint_eq(stats.mutations, 0);
  if (views != FNZ_VIEWS_KEEP)
    ck_assert_uint_eq(stats.views, 0);
  check_run(NULL, s, f);
  fnz_program_destroy(f);
  fnz_program_destroy(p);
}

START_TEST(situations_functionalized) {
  begin();
  for (size_t i = 0; i < sizeof situations / sizeof *situations; i++) {
    check_situation(&situations[i], FNZ_VIEWS_COPY);
    check_situation(&situations[i], FNZ_VIEWS_KEEP);
    check_situation(&situations[i], FNZ_VIEWS_STRIDED);
  }
  end();
}
END_TEST

/* The definition of the meaning agrees with the numbers worked out by hand. */
START_TEST(situations_original) {
  begin();
  for (size_t i = 0; i < sizeof situations / sizeof *situations; i++) {
    fnz_program *p = program_of(ctx, situations[i].inputs, situations[i].body);
    check_run(AS_ORIGINAL, &situations[i], p);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

START_TEST(what_is_refused) {
  begin();
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    const struct refusal *r = &refusals[i];
    fnz_program *p = program_of(ctx, r->inputs, r->body), *f;
    fnz_status status = fnz_functionalize(ctx, p, NULL, &f);
    const fnz_error *e = fnz_last_error(ctx);
    ck_assert_msg(status != FNZ_OK, "%s is not refused", r->body);
    ck_assert_msg(!strcmp(fnz_class_name(e->kind), r->class_name), "%s: %s: %s", r->body,
                  fnz_class_name(e->kind), e->message);
    ck_assert_msg(strstr(e->message, r->says) != NULL, "%s: %s", r->body, e->message);
    ck_assert_msg(strncmp(e->where, "node ", 5) == 0, "%s: where: %s", r->body, e->where);
    ck_assert_ptr_null(f);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

/* --- what the result looks like -------------------------------------------------------------- */
/* A program text put together piece by piece. */
typedef struct text {
  char *data;
  size_t count, capacity;
} text;

static void add(text *t, const char *format, ...) FNZI_PRINTF(2, 3);
static void add(text *t, const char *format, ...) {
  va_list ap;
  if (t->capacity - t->count < 512) {
    t->capacity = 2 * t->capacity + 4096;
    t->data = realloc(t->data, t->capacity);
    ck_assert_ptr_nonnull(t->data);
  }
  va_start(ap, format);
  t->count += (size_t)vsnprintf(t->data + t->count, t->capacity - t->count, format, ap);
  va_end(ap);
}

static fnz_program *functionalized(const char *inputs, text *body) {
  text all = {0};
  fnz_program *p, *f;
  add(&all, "fnz 1\nprogram(%s)\n{\n", inputs);
  all.data = realloc(all.data, all.count + body->count + 8);
  ck_assert_ptr_nonnull(all.data);
  memcpy(all.data + all.count, body->data, body->count);
  memcpy(all.data + all.count + body->count, "\n}\n", 4);
  OK(ctx, fnz_program_read(ctx, all.data, all.count + body->count + 3, FNZ_FORMAT_TEXT, &p));
  OK(ctx, fnz_functionalize(ctx, p, NULL, &f));
  OK(ctx, fnz_program_verify(ctx, f));
  fnz_program_destroy(p);
  free(all.data);
  free(body->data);
  *body = (text){0};
  return f;
}

/* How often an operator is there. */
static size_t count_op(const fnz_program *p, const char *name) {
  size_t found = 0;
  for (size_t n = 0; n < fnz_node_count(p, 0); n++)
    found += strcmp(fnzi_node_target(fnzi_node_at(p, 0, (uint32_t)n)), name) == 0;
  return found;
}

static void is_functional(const char *inputs, const char *body, const char *const *ops,
                          size_t count) {
  text t = {0};
  add(&t, "%s", body);
  fnz_program *f = functionalized(inputs, &t);
  bool same = fnz_node_count(f, 0) == count;
  for (size_t n = 0; same && n < count; n++)
    same = strcmp(fnzi_node_target(fnzi_node_at(f, 0, (uint32_t)n)), ops[n]) == 0;
  if (!same) {
    fnz_buffer b = {0};
    OK(ctx, fnz_program_write(ctx, f, FNZ_FORMAT_TEXT, &b));
    ck_abort_msg("%s\nbecame\n%s", body, b.data);
  }
  fnz_program_destroy(f);
}

#define BECOMES(inputs, body, ...)                                                                 \
  do {                                                                                             \
    static const char *const ops_[] = {__VA_ARGS__};                                               \
    is_functional(inputs, body, ops_, sizeof ops_ / sizeof *ops_);                                 \
  } while (0)

START_TEST(few_nodes) {
  begin();
  /* several writes through one view: one scatter */
  BECOMES("%x: f32[4]",
          "%s: f32[2] offset(1) = slice.Tensor(%x, 0, 1, 3)\n%a: f32[2] offset(1) = "
          "add_.Tensor(%s, 1)\n%b: f32[2] offset(1) = mul_.Tensor(%s, 2)\n%c: f32[2] offset(1) = "
          "relu_(%s)\nreturn",
          "slice_copy.Tensor", "add.Tensor", "mul.Tensor", "relu", "slice_scatter");
  /* a write that covers everything: the old value is not needed */
  BECOMES("%x: f32[4], %y: f32[4]",
          "%s: f32[2] = slice.Tensor(%x, 0, 0, 2)\n%a: f32[2] = add_.Tensor(%s, 1)\n%c: f32[4] = "
          "copy_(%x, %y)\n%d: f32[4] = neg_(%x)\nreturn",
          "neg");
  /* a write that covers its parent, through another view */
  BECOMES("%x: f32[2,2], %y: f32[4]",
          "%s: f32[2] = select.int(%x, 0, 0)\n%a: f32[2] = add_.Tensor(%s, 1)\n%v: f32[4] = "
          "view(%x, [4])\n%c: f32[4] = copy_(%v, %y)\nreturn",
          "view_copy");
  /* a clone that keeps the geometry is the value itself, except as a result of the program */
  BECOMES("%x: f32[4]", "%c: f32[4] = clone(%x)\n%a: f32[4] = add_.Tensor(%c, 1)\nreturn %c, %x",
          "add.Tensor");
  BECOMES("%x: f32[4]",
          "%c: f32[4] = clone(%x)\n%d: f32[4] = clone(%c)\n%a: f32[4] = neg(%d)\nreturn %c, %a",
          "clone", "neg");
  BECOMES("%x: f32[2,2]",
          "%t: f32[2,2] stride(1,2) = t(%x)\n%c: f32[2,2] = clone(%t, "
          "memory_format=contiguous_format)\n%a: f32[2,2] = neg(%c)\nreturn %a",
          "t_copy", "clone", "neg");
  /* an alias writes what its operator does: here the same to each of the places of an element */
  BECOMES("%x: f32[8]",
          "%u: f32[6,3] stride(1,1) = unfold(%x, 0, 3, 1)\n%c: f32[6,3] stride(1,1) = "
          "clip_(%u, 0, 0.5)\nreturn",
          "unfold_copy", "clip", "as_strided_scatter");
  /* disjoint writes do not force each other */
  BECOMES("%x: f32[4]",
          "%a: f32[2] = slice.Tensor(%x, 0, 0, 2)\n%b: f32[2] offset(2) = slice.Tensor(%x, 0, 2, "
          "4)\n%c: f32[2] = add_.Tensor(%a, 1)\n%d: f32[2] offset(2) = mul_.Tensor(%b, 2)\n%e: "
          "f32[2] = add_.Tensor(%a, 1)\n%f: f32[2] offset(2) = mul_.Tensor(%b, 2)\nreturn",
          "slice_copy.Tensor", "add.Tensor", "slice_copy.Tensor", "mul.Tensor", "add.Tensor",
          "mul.Tensor", "cat");
  end();
}
END_TEST

START_TEST(dead_writes_disappear) {
  begin();
  BECOMES("%x: f32[4]",
          "%y: f32[4] = clone(%x)\n%a: f32[4] = add_.Tensor(%y, 1)\n%r: f32[4] = relu(%x)\nreturn "
          "%r",
          "relu");
  BECOMES("%x: f32[4]",
          "%y: f32[4] = neg(%x)\n%s: f32[2] = slice.Tensor(%y, 0, 0, 2)\n%r: f32[2] = "
          "relu(%s)\n%t: f32[2] offset(2) = slice.Tensor(%y, 0, 2, 4)\n%a: f32[2] offset(2) = "
          "add_.Tensor(%t, 1)\nreturn %r",
          "neg", "slice_copy.Tensor", "relu");
  /* views alone cost nothing */
  BECOMES("%x: f32[4]",
          "%a: f32[2,2] = view(%x, [2, 2])\n%b: f32[2,2] stride(1,2) = t(%a)\n%r: f32[4] = "
          "neg(%x)\nreturn %r",
          "neg");
  end();
}
END_TEST

/* The most that N pieces may cost. */
static void costs_at_most(const char *inputs, text *body, size_t nodes) {
  fnz_program *f = functionalized(inputs, body);
  ck_assert_uint_le(fnz_node_count(f, 0), nodes);
  fnz_program_destroy(f);
}

enum { PIECES = 512 };

static void add_to_each_piece(text *t, int round) {
  add(t, "[");
  for (int i = 0; i < PIECES; i++)
    add(t, "%s%%p%d_%d: f32[] offset(%d)", i ? ", " : "", round, i, i);
  add(t, "] = unbind.int(%%x)\n");
  for (int i = 0; i < PIECES; i++)
    add(t, "%%a%d_%d: f32[] offset(%d) = add_.Tensor(%%p%d_%d, 1)\n", round, i, i, round, i);
}

START_TEST(costs_are_linear) {
  text t = {0};
  char inputs[64];
  begin();
  snprintf(inputs, sizeof inputs, "%%x: f32[%d]", PIECES);
  for (int rounds = 1; rounds <= 3; rounds++) {
    for (int k = 0; k < rounds; k++)
      add_to_each_piece(&t, k);
    add(&t, "return %%x");
    costs_at_most(inputs, &t, (size_t)rounds * (PIECES + 2)); /* unbind_copy, PIECES adds, stack */
  }
  for (int i = 0; i < PIECES; i++)
    add(&t,
        "%%s%d: f32[] offset(%d) = select.int(%%x, 0, %d)\n%%a%d: f32[] offset(%d) = "
        "add_.Tensor(%%s%d, 1)\n",
        i, i, i, i, i, i);
  add(&t, "return %%x");
  costs_at_most(inputs, &t, 3 * PIECES + 8);
  add(&t, "%%s: f32[3] offset(1) = slice.Tensor(%%x, 0, 1, 4)\n");
  for (int i = 0; i < 100; i++)
    add(&t, "%%a%d: f32[3] offset(1) = add_.Tensor(%%s, 1)\n", i);
  add(&t, "return %%x");
  costs_at_most(inputs, &t, 102);
  for (int i = 0; i < 100; i++)
    add(&t, "%%a%d: f32[%d] = add_.Tensor(%%x, 1)\n", i, PIECES);
  add(&t, "return");
  costs_at_most(inputs, &t, 100);
  end();
}
END_TEST

/* --- long chains on a small stack ------------------------------------------------------------ */
enum { LINKS = 100000, SMALL_STACK = 64 * 1024, EVERY = 50 };

/* Each view is t() of the one before; both ends are written in turn. */
static void long_chain(text *t) {
  for (int i = 0; i < LINKS; i++) {
    const char *shape = i % 2 ? "f32[2,3]" : "f32[3,2] stride(1,3)";
    if (i == 0)
      add(t, "%%v0: %s = t(%%x)\n", shape);
    else
      add(t, "%%v%d: %s = t(%%v%d)\n", i, shape, i - 1);
    if (i % EVERY == EVERY - 1)
      add(t, "%%a%d: f32[2,3] = add_.Tensor(%%x, 1)\n%%b%d: %s = mul_.Tensor(%%v%d, 2)\n", i, i,
          shape, i);
  }
  add(t, "return %%v%d", LINKS - 1);
}

static void *on_small_stack(void *user) {
  fnz_program **out = user;
  text t = {0};
  long_chain(&t);
  *out = functionalized("%x: f32[2,3]", &t);
  return NULL;
}

START_TEST(a_long_chain_on_a_small_stack) {
  fnz_program *f = NULL;
  begin();
  on_stack(SMALL_STACK, on_small_stack, &f);
  ck_assert_ptr_nonnull(f);
  ck_assert_uint_le(fnz_node_count(f, 0), 4 * (LINKS + 2 * LINKS / EVERY));
  ck_assert_uint_eq(count_op(f, "add.Tensor"), LINKS / EVERY);
  ck_assert_uint_eq(count_op(f, "mul.Tensor"), LINKS / EVERY);
  fnz_program_destroy(f);
  end();
}
END_TEST

/* --- the other dialect, and where nodes come from -------------------------------------------- */
START_TEST(keep_has_real_views) {
  fnz_functionalize_options keep = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_program *p, *f;
  fnz_stats stats;
  begin();
  keep.views = FNZ_VIEWS_KEEP;
  p = program_of(ctx, "%x: f32[2,3]",
                 "%t: f32[3,2] stride(1,3) = t(%x)\n%s: f32[2] stride(3) = select.int(%t, 0, 0)\n"
                 "%a: f32[2] stride(3) = add_.Tensor(%s, 1)\n%r: f32[3,2] = relu(%t)\nreturn %r");
  OK(ctx, fnz_functionalize(ctx, p, &keep, &f));
  stats = fnz_program_stats(f);
  ck_assert_uint_eq(stats.mutations, 0);
  ck_assert_uint_gt(stats.views, 0);
  ck_assert_uint_eq(count_op(f, "select_copy.int") + count_op(f, "t_copy"), 0);
  OK(ctx, fnz_verify(ctx, p, f, NULL, NULL, NULL));
  fnz_program_destroy(f);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* A plain view where it lies as the copy does, else with a clone: of its window, or of a value
 * whose strides do not allow the view. */
START_TEST(keep_has_no_copies_of_views) {
  static const char *const rows[][3] = {
      {"%x: f32[2,3]",
       "  %t: f32[3,2] stride(1,3) = t(%x)\n"
       "  %a: f32[3,2] stride(1,3) = add_.Tensor(%t, 1)\n  return %t",
       "t add.Tensor t "},
      {"%x: f32[2,3]",
       "  %t: f32[3,2] stride(1,3) = t(%x)\n"
       "  %r: f32[6] = reshape(%t, [6])\n  return %r",
       "t clone view "},
      {"%x: f32[2,3]",
       "  %s: f32[2,2] stride(3,1) = slice.Tensor(%x, 1, 0, 2)\n"
       "  %a: f32[2,2] = add.Tensor(%s, 1)\n"
       "  %r: f32[4] = view_copy(%a, [4])\n  %n: f32[2,2] = relu_(%s)\n"
       "  return %r",
       "slice.Tensor add.Tensor clone view relu slice_scatter "},
      {"%x: f32[2,3]",
       "  %s: f32[3] = select_copy.int(%x, 0, 1)\n  %r: f32[3] = relu_(%s)\n"
       "  return %r",
       "select.int clone relu "}};
  begin();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fnz_functionalize_options keep = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
    fnz_program *p = program_of(ctx, rows[i][0], rows[i][1]), *f;
    char text[256] = "";
    size_t used = 0;
    keep.views = FNZ_VIEWS_KEEP;
    OK(ctx, fnz_functionalize(ctx, p, &keep, &f));
    for (size_t n = 0; n < fnz_node_count(f, 0); n++)
      used += (size_t)snprintf(text + used, sizeof text - used, "%s ",
                               fnz_op_name(fnz_program_node(f, 0, n).op));
    ck_assert_str_eq(text, rows[i][2]);
    OK(ctx, fnz_verify(ctx, p, f, NULL, NULL, NULL));
    fnz_program_destroy(f);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

/* A computation has the line it was written on; a view that is derived again has that of the write.
 */
/* A long program comes out in pieces, one behind the other. */
START_TEST(a_long_program_keeps_its_order) {
  enum { NODES = 20000 };
  fnz_buffer text = {0};
  fnz_program *p, *f;
  begin();
  OK(ctx, fnzi_put_text(ctx, &text, "fnz 1\nprogram(%x: f32[2]) {\n  %v0: f32[2] = neg(%x)\n"));
  for (int k = 1; k < NODES; k++)
    OK(ctx, fnzi_printf(ctx, &text, "  %%v%d: f32[2] = add.Tensor(%%v%d, %%v%d, alpha=%d)\n", k,
                        k - 1, k > 5000 ? k - 5000 : 0, k));
  OK(ctx, fnzi_printf(ctx, &text, "  return %%v%d\n}\n", NODES - 1));
  OK(ctx, fnz_program_read(ctx, text.data, text.size, FNZ_FORMAT_TEXT, &p));
  OK(ctx, fnz_functionalize(ctx, p, NULL, &f));
  ck_assert_uint_eq(fnz_node_count(f, 0), NODES);
  for (uint32_t k = 1; k < NODES; k++) {
    const fnzi_node *node = fnzi_node_at(f, 0, k);
    ck_assert_uint_eq(node->args[0].u.value, k);
    ck_assert_int_eq(node->args[2].u.i, k);
  }
  OK(ctx, fnz_verify(ctx, p, f, NULL, WITH_TRIALS(1), NULL));
  fnz_buffer_free(ctx, &text);
  fnz_program_destroy(f);
  fnz_program_destroy(p);
  end();
}
END_TEST

START_TEST(lines_are_kept) {
  static const struct {
    const char *op, *source;
  } wants[] = {{"select_copy.int", "m.py:2"},
               {"add.Tensor", "m.py:3"},
               {"select_scatter", "m.py:3"},
               {"slice_copy.Tensor", "m.py:4"},
               {"relu", "m.py:5"}};
  begin();
  fnz_program *f, *p = program_of(ctx, "%x: f32[2,3]",
                                  "%s: f32[3] = select.int(%x, 0, 0)  at \"m.py:2\"\n"
                                  "%a: f32[3] = add_.Tensor(%s, 1)  at \"m.py:3\"\n"
                                  "%v: f32[2,2] stride(3,1) = slice.Tensor(%x, 1, 0, 2)  at "
                                  "\"m.py:4\"\n"
                                  "%r: f32[2,2] = relu(%v)  at \"m.py:5\"\nreturn %r");
  OK(ctx, fnz_functionalize(ctx, p, NULL, &f));
  ck_assert_uint_eq(fnz_node_count(f, 0), sizeof wants / sizeof *wants);
  for (uint32_t n = 0; n < sizeof wants / sizeof *wants; n++) {
    ck_assert_str_eq(fnzi_node_target(fnzi_node_at(f, 0, n)), wants[n].op);
    ck_assert_str_eq(fnzi_node_at(f, 0, n)->source, wants[n].source);
  }
  fnz_program_destroy(f);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* --- the signature --------------------------------------------------------------------------- */
START_TEST(mutations_lead_the_outputs) {
  static const char program[] =
      "fnz 1\nweight \"b.mean\": f32[3]\nweight \"w\": f32[3]\nprogram(%m: f32[3] buffer "
      "\"b.mean\" persistent, %w: f32[3] parameter \"w\", %x: f32[3], %y: f32[3])\n{\n%a: f32[3] = "
      "add_.Tensor(%m, %x)\n%b: f32[3] = add_.Tensor(%x, %w)\n%r: f32[3] = neg(%w)\nreturn %r, "
      "%x\n}\n";
  fnz_program *p, *f;
  size_t count;
  begin();
  OK(ctx, fnz_program_read(ctx, program, sizeof program - 1, FNZ_FORMAT_TEXT, &p));
  OK(ctx, fnz_functionalize(ctx, p, NULL, &f));
  fnz_graph_outputs(f, 0, &count);
  ck_assert_uint_eq(count, 4);
  ck_assert_int_eq(fnz_program_output(f, 0).kind, FNZ_OUTPUT_BUFFER_MUTATION);
  ck_assert_str_eq(fnz_program_output(f, 0).target, "b.mean");
  ck_assert_int_eq(fnz_program_output(f, 1).kind, FNZ_OUTPUT_INPUT_MUTATION);
  ck_assert_str_eq(fnz_program_output(f, 1).target, "x");
  ck_assert_int_eq(fnz_program_output(f, 2).kind, FNZ_OUTPUT_USER);
  ck_assert_int_eq(fnz_program_output(f, 3).kind, FNZ_OUTPUT_USER);
  fnz_program_destroy(f);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* --- out of memory --------------------------------------------------------------------------- */
static fnz_status functionalize_text(fnz_context *c, const void *user) {
  const char *body = user;
  char all[2048];
  fnz_program *p, *f = NULL;
  int n = snprintf(all, sizeof all, "fnz 1\nprogram(%%x: f32[2,6])\n{\n%s\n}\n", body);
  FNZ_TRY(fnz_program_read(c, all, (size_t)n, FNZ_FORMAT_TEXT, &p));
  fnz_status status = fnz_functionalize(c, p, NULL, &f);
  fnz_program_destroy(f);
  fnz_program_destroy(p);
  return status;
}

START_TEST(out_of_memory) {
  static const char *const bodies[] = {
      "%s: f32[6] offset(6) = select.int(%x, 0, 1)\n%v: f32[3] stride(2) offset(6) = "
      "slice.Tensor(%s, 0, 0, 6, 2)\n%a: f32[3] stride(2) offset(6) = add_.Tensor(%v, 1)\n%r: "
      "f32[2,6] = relu(%x)\nreturn %r, %v",
      "[%a: f32[2,3] stride(6,1), %b: f32[2,3] stride(6,1) offset(3)] = chunk(%x, 2, 1)\n%c: "
      "f32[2,3] stride(6,1) = mul_.Tensor(%a, %b)\n_foreach_add_.Scalar([%a, %b], 1)\n%t: f32[6,2] "
      "stride(1,6) = t_(%x)\nreturn %a",
      "%w: f32[2,2] stride(5,1) offset(1) = as_strided(%x, [2, 2], [5, 1], 1)\n%z: f32[2,2] "
      "stride(5,1) offset(1) = zero_(%w)\n%e: f32[3,2,6] stride(0,6,1) = expand(%x, [3, 2, "
      "6])\n%f: "
      "f32[3,2,6] stride(0,6,1) = fill_.Scalar(%e, 2)\nreturn",
  };
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
    ck_assert_uint_gt(each_fault(functionalize_text, bodies[i]), 20);
}
END_TEST

RUN_SUITE("functionalize", situations_functionalized, situations_original, what_is_refused,
          few_nodes, dead_writes_disappear, costs_are_linear, a_long_chain_on_a_small_stack,
          keep_has_real_views, keep_has_no_copies_of_views, a_long_program_keeps_its_order,
          lines_are_kept, mutations_lead_the_outputs, out_of_memory)
