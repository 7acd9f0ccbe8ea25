/* checks: 22
 * program_test.c - building a program, looking at it, and refusals by the verifier. */
#include "program/program.h"
#include "tests/help/faults.h"

#include <fnz/fnz.h>

#include <stdio.h>

static fnz_context *ctx;
static fnz_program *p;

static void begin(void) {
  uint32_t graph;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnzi_program_create(ctx, &p));
  OK(ctx, fnzi_graph_add(p, "", &graph));
  ck_assert_uint_eq(graph, 0);
}

static void end(void) {
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}

static const fnz_geometry *vector(int64_t size) {
  static const int64_t one = 1;
  const fnz_geometry *g;
  OK(ctx,
     fnzi_intern_geometry(
         p, &(fnz_geometry){.dtype = FNZ_F32, .rank = 1, .sizes = &size, .strides = &one}, &g));
  return g;
}

/* program(%x: f32[3]) { %y = relu(%x); return %y } */
static fnz_status build(fnz_context *c, fnz_program **out) {
  const int64_t three = 3, one = 1;
  const fnz_geometry *g;
  const fnz_op *op = fnz_op_find(NULL, "relu");
  uint32_t graph, x, y, node;
  FNZ_TRY(fnzi_program_create(c, out));
  FNZ_TRY(fnzi_graph_add(*out, "", &graph));
  FNZ_TRY(fnzi_intern_geometry(
      *out, &(fnz_geometry){.dtype = FNZ_F32, .rank = 1, .sizes = &three, .strides = &one}, &g));
  FNZ_TRY(fnzi_value_add(*out, 0, "x", g, FNZI_NO_NODE, &x));
  FNZ_TRY(fnzi_value_add_fresh(*out, 0, "y", g, 0, &y));
  fnz_arg in = {.tag = FNZ_ARG_VALUE, .u.value = x}, result = {.tag = FNZ_ARG_VALUE, .u.value = y};
  fnzi_node n = {.op = op, .args = &in, .nargs = 1};
  n.outputs = &result;
  n.noutputs = 1;
  n.source = "File \"/a/b/model.py\", line 7, in forward\n  y = relu(x)";
  FNZ_TRY(fnzi_node_add(*out, 0, &n, &node));
  FNZ_TRY(fnzi_graph_set_inputs(*out, 0, 1));
  FNZ_TRY(fnzi_graph_set_outputs(*out, 0, 1));
  (*out)->graphs.data[0].inputs[0] = in;
  (*out)->graphs.data[0].outputs[0] = result;
  (*out)->inputs[0] = (fnz_input_spec){.kind = FNZ_INPUT_USER, .target = "x"};
  return fnz_program_verify(c, *out);
}

static void rebuild(void) {
  fnz_program_destroy(p);
  OK(ctx, build(ctx, &p));
}

START_TEST(strings_and_geometries_are_kept_once) {
  begin();
  const char *a, *b;
  char text[] = "abc";
  OK(ctx, fnzi_intern(p, "abc", 3, &a));
  OK(ctx, fnzi_intern(p, text, 3, &b));
  ck_assert_ptr_eq(a, b);
  OK(ctx, fnzi_intern(p, text, 2, &b));
  ck_assert_str_eq(b, "ab");
  ck_assert_ptr_eq(vector(3), vector(3));
  ck_assert_ptr_ne(vector(3), vector(4));
  fnz_geometry conj = *vector(3);
  const fnz_geometry *other;
  conj.is_conj = true;
  OK(ctx, fnzi_intern_geometry(p, &conj, &other));
  ck_assert_ptr_ne(other, vector(3));
  ck_assert(!fnzi_geometry_equal(other, vector(3)));
  end();
}
END_TEST

START_TEST(symbols_without_effect_are_dropped) {
  begin();
  uint32_t zeros[3] = {0}, symbol;
  fnz_geometry g = *vector(3);
  const fnz_geometry *kept;
  g.symbols = zeros;
  OK(ctx, fnzi_intern_geometry(p, &g, &kept));
  ck_assert_ptr_eq(kept, vector(3));
  OK(ctx, fnzi_symbol_add(p, "s0", true, 3, &symbol));
  zeros[0] = symbol;
  OK(ctx, fnzi_intern_geometry(p, &g, &kept));
  ck_assert_ptr_ne(kept, vector(3));
  ck_assert_uint_eq(kept->symbols[0], symbol);
  ck_assert_uint_eq(kept->symbols[2], 0);
  uint32_t again;
  OK(ctx, fnzi_symbol_add(p, "s0", false, 0, &again));
  ck_assert_uint_eq(again, symbol);
  ck_assert_int_eq(p->symbols.data[symbol].hint, 3);
  end();
}
END_TEST

static const struct {
  const char *class_name;
  uint32_t rank;
  int64_t sizes[3], strides[3], offset;
} refused[] = {
    {"LIMIT", 65, {1}, {1}, 0},
    {"OVERFLOW", 2, {1ll << 32, 1ll << 32}, {1, 1}, 0},
    {"OVERFLOW", 3, {1ll << 32, 1ll << 32, 0}, {1, 1, 1}, 0},
    {"OVERFLOW", 1, {1ll << 62}, {1}, 0},
    {"OVERFLOW", 1, {5}, {1ll << 62}, 0},
    {"OVERFLOW", 1, {2}, {1}, INT64_MAX - 10000},
    {"BOUNDS", 1, {-1}, {1}, 0},
    {"BOUNDS", 1, {3}, {-1}, 2},
    {"BOUNDS", 1, {3}, {1}, -1},
};

START_TEST(geometries_that_do_not_fit_are_refused) {
  begin();
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    int64_t sizes[65] = {0}, strides[65] = {0};
    const fnz_geometry *kept;
    memcpy(sizes, refused[i].sizes, sizeof refused[i].sizes);
    memcpy(strides, refused[i].strides, sizeof refused[i].strides);
    fnz_geometry g = {.dtype = FNZ_F32, .rank = refused[i].rank, .offset = refused[i].offset};
    g.sizes = sizes;
    g.strides = strides;
    FAILS(ctx, refused[i].class_name, fnzi_intern_geometry(p, &g, &kept));
  }
  end();
}
END_TEST

START_TEST(rank_64_fits) {
  begin();
  int64_t ones[64];
  const fnz_geometry *kept;
  for (int i = 0; i < 64; i++)
    ones[i] = 1;
  fnz_geometry g = {.dtype = FNZ_C128, .rank = 64, .sizes = ones, .strides = ones};
  OK(ctx, fnzi_intern_geometry(p, &g, &kept));
  ck_assert_int_eq(fnz_geometry_numel(kept), 1);
  end();
}
END_TEST

static const struct {
  int64_t sizes[3], strides[3];
  bool contiguous, dense;
  int64_t high;
} layouts[] = {
    {{2, 3, 4}, {12, 4, 1}, true, true, 24},  {{2, 3, 4}, {1, 2, 6}, false, true, 24},
    {{2, 1, 4}, {4, 99, 1}, true, true, 8},   {{2, 3, 4}, {24, 4, 1}, false, false, 36},
    {{2, 0, 4}, {7, 7, 7}, true, true, 0},    {{3, 3, 1}, {0, 1, 1}, false, false, 3},
    {{1, 1, 1}, {5, 5, 5}, true, true, 1},    {{0, 1, 1}, {1, 1, 1}, true, true, 0},
    {{4, 4, 4}, {4, 1, 16}, false, true, 64}, {{4, 4, 4}, {1, 1, 1}, false, false, 10},
};

START_TEST(layouts_are_told_apart) {
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
    int64_t low, high;
    fnz_geometry g = {.dtype = FNZ_F32, .rank = 3};
    g.sizes = layouts[i].sizes;
    g.strides = layouts[i].strides;
    ck_assert_int_eq(fnzi_is_contiguous(&g), layouts[i].contiguous);
    ck_assert_int_eq(fnzi_is_dense(&g), layouts[i].dense);
    ck_assert(fnzi_extent(&g, &low, &high));
    ck_assert_int_eq(low, 0);
    ck_assert_int_eq(high, layouts[i].high);
  }
}
END_TEST

START_TEST(windows_that_others_cover) {
  const struct {
    fnz_geometry all, part;
    bool covers;
  } rows[] = {
#define WINDOW(type, size, stride, first)                                                          \
  {.dtype = FNZ_##type,                                                                            \
   .rank = 1,                                                                                      \
   .sizes = (const int64_t[]){size},                                                               \
   .strides = (const int64_t[]){stride},                                                           \
   .offset = (first)}
      {WINDOW(F32, 8, 1, 0), WINDOW(F32, 4, 2, 1), true},
      {WINDOW(F32, 8, 1, 0), WINDOW(F32, 4, 2, 2), false}, /* one beyond the end */
      {WINDOW(F32, 8, 1, 2), WINDOW(F32, 3, 1, 1), false}, /* one before the start */
      {WINDOW(F32, 4, 2, 0), WINDOW(F32, 3, 1, 0), false}, /* gaps */
      {WINDOW(F32, 4, 2, 1), WINDOW(F32, 4, 2, 1), true},
      {WINDOW(F32, 8, 1, 0), WINDOW(I32, 3, 1, 0), false},
#undef WINDOW
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    ck_assert_msg(fnzi_geometry_covers(&rows[i].all, &rows[i].part) == rows[i].covers, "row %zu",
                  i);
}
END_TEST

START_TEST(strides_and_dims) {
  begin();
  int64_t strides[3];
  uint32_t dim;
  fnzi_contiguous_strides((int64_t[]){2, 0, 4}, 3, strides);
  ck_assert_int_eq(strides[0], 4);
  ck_assert_int_eq(strides[1], 4);
  ck_assert_int_eq(strides[2], 1);
  OK(ctx, fnzi_wrap_dim(ctx, "dim", -3, 3, &dim));
  ck_assert_uint_eq(dim, 0);
  OK(ctx, fnzi_wrap_dim(ctx, "dim", -1, 0, &dim));
  ck_assert_uint_eq(dim, 0);
  FAILS(ctx, "BOUNDS", fnzi_wrap_dim(ctx, "dim", 3, 3, &dim));
  FAILS(ctx, "BOUNDS", fnzi_wrap_dim(ctx, "dim", -4, 3, &dim));
  FAILS(ctx, "BOUNDS", fnzi_wrap_dim(ctx, "dim", 1, 0, &dim));
  end();
}
END_TEST

START_TEST(names_are_unique) {
  begin();
  uint32_t v;
  const char *const want[] = {"add", "add_1", "add_3", "add_4"};
  OK(ctx, fnzi_value_add(p, 0, "add_2", vector(3), FNZI_NO_NODE, &v));
  for (int i = 0; i < 4; i++) {
    OK(ctx, fnzi_value_add_fresh(p, 0, "add", vector(3), FNZI_NO_NODE, &v));
    ck_assert_str_eq(fnz_value_name(p, 0, v), want[i]);
  }
  FAILS(ctx, "DUPLICATE", fnzi_value_add(p, 0, "add_1", vector(3), FNZI_NO_NODE, &v));
  ck_assert_str_eq(fnz_value_name(p, 0, 99), "");
  /* A stem that looks like a name of another stem. */
  const char *const stems[] = {"mul_1", "mul", "mul", "mul", "mul_1", "mul_2", "mul"};
  const char *const names[] = {"mul_1", "mul", "mul_2", "mul_3", "mul_1_1", "mul_2_1", "mul_4"};
  for (int i = 0; i < 7; i++) {
    uint64_t found;
    OK(ctx, fnzi_value_add_fresh(p, 0, stems[i], vector(3), FNZI_NO_NODE, &v));
    ck_assert_str_eq(fnz_value_name(p, 0, v), names[i]);
    ck_assert(fnzi_value_find(p, 0, names[i], strlen(names[i]), &found) && found == v);
    ck_assert(!fnzi_value_find(p, 0, names[i], strlen(names[i]) - 1, &found) || found != v);
  }
  /* Digits alone, and none; a long one is cut in front of a character of two bytes. */
  char stem[301];
  for (int i = 0; i < 300; i++)
    stem[i] = i == 0 ? 'a' : i % 2 ? '\xc3' : '\xa9';
  stem[300] = 0;
  OK(ctx, fnzi_value_add_fresh(p, 0, stem, vector(3), FNZI_NO_NODE, &v));
  ck_assert_uint_eq(strlen(fnz_value_name(p, 0, v)) % 2, 1);
  ck_assert_uint_lt(strlen(fnz_value_name(p, 0, v)), 256);
  OK(ctx, fnzi_value_add_fresh(p, 0, "12", vector(3), FNZI_NO_NODE, &v));
  ck_assert_str_eq(fnz_value_name(p, 0, v), "12");
  OK(ctx, fnzi_value_add_fresh(p, 0, "", vector(3), FNZI_NO_NODE, &v));
  ck_assert_str_eq(fnz_value_name(p, 0, v), "");
  end();
}
END_TEST

static int64_t sum_of_items(const fnz_arg *arg) {
  int64_t sum = 0;
  FNZI_EACH_ARG(each, arg, 1)
    sum += each.arg->u.i;
  return sum;
}

START_TEST(arguments_are_copied_deep) {
  begin();
  char text[] = "sum";
  fnz_arg inner[2] = {{.tag = FNZ_ARG_INT, .u.i = 5}, {.tag = FNZ_ARG_INT, .u.i = 7}};
  fnz_arg outer[2] = {{.tag = FNZ_ARG_LIST, .count = 2, .u.list = inner},
                      {.tag = FNZ_ARG_LIST, .count = 0}};
  fnz_arg args[2] = {{.tag = FNZ_ARG_LIST, .count = 2, .u.list = outer},
                     {.tag = FNZ_ARG_STRING, .count = 3, .u.s = text}};
  fnz_arg *copy;
  OK(ctx, fnzi_args_copy(p, args, 2, &copy));
  inner[0].u.i = text[0] = 0;
  ck_assert_str_eq(copy[1].u.s, "sum");
  ck_assert_int_eq(sum_of_items(copy), 12);
  end();
}
END_TEST

START_TEST(nesting_has_a_limit) {
  begin();
  fnz_arg level[66] = {{.tag = FNZ_ARG_INT, .u.i = 1}}, *copy;
  for (int i = 1; i < 66; i++)
    level[i] = (fnz_arg){.tag = FNZ_ARG_LIST, .count = 1, .u.list = &level[i - 1]};
  OK(ctx, fnzi_args_copy(p, &level[64], 1, &copy));
  ck_assert_int_eq(sum_of_items(copy), 1);
  FAILS(ctx, "LIMIT", fnzi_args_copy(p, &level[65], 1, &copy));
  ck_assert_int_eq(sum_of_items(&level[65]), 0); /* passed over */
  end();
}
END_TEST

START_TEST(a_blob_outlives_its_context) {
  begin();
  faults f = {0};
  fnz_allocator allocator = {faults_resize, &f};
  fnz_context *other;
  fnzi_blob *blob;
  ck_assert_int_eq(fnz_context_create(&allocator, &other), FNZ_OK);
  OK(other, fnzi_blob_create(other, 12, &blob));
  memcpy(fnzi_blob_data(blob), "abc", 4);
  OK(ctx, fnzi_weight_add(p, "w", blob, vector(3)));
  fnzi_blob_release(blob);
  fnz_context_destroy(other);
  ck_assert_mem_eq(fnzi_blob_data(fnzi_weight_find(p, "w")->blob), "abc\0", 4);
  FAILS(ctx, "DUPLICATE", fnzi_weight_add(p, "w", NULL, vector(3)));
  ck_assert_ptr_null(fnzi_weight_find(p, "v"));
  ck_assert_uint_gt(f.live_bytes, 0);
  end();
  ck_assert_uint_eq(f.live_bytes, 0);
}
END_TEST

START_TEST(a_program_can_be_read_back) {
  begin();
  rebuild();
  fnz_node_info n;
  size_t count;
  fnz_stats s;
  char place[160];
  n = fnz_program_node(p, 0, 0);
  ck_assert_str_eq(n.target, "relu");
  ck_assert_uint_eq(fnz_graph_inputs(p, 0, &count)[0].u.value, 0);
  ck_assert_uint_eq(count, 1);
  ck_assert_uint_eq(fnz_graph_outputs(p, 0, &count)[0].u.value, 1);
  ck_assert_ptr_null(fnz_graph_outputs(p, 7, &count));
  ck_assert_str_eq(fnz_program_input(p, 0).target, "x");
  s = fnz_program_stats(p);
  ck_assert_uint_eq(s.nodes, 1);
  ck_assert_uint_eq(s.views + s.mutations + s.copies + s.mutated, 0);
  fnzi_node_place(p, 0, 0, place);
  ck_assert_str_eq(place, "node 0 (relu at model.py:7)");
  end();
}
END_TEST

/* Damage to the program of build(), and the class it gives. */
static void swap_argument(void) {
  fnzi_node_at(p, 0, 0)->args[0].u.value = 1;
}
static void unknown_value(void) {
  fnzi_node_at(p, 0, 0)->args[0].u.value = 2;
}
static void other_kind(void) {
  fnzi_node_at(p, 0, 0)->args[0].tag = FNZ_ARG_SYMBOL;
}
static void missing_argument(void) {
  fnzi_node_at(p, 0, 0)->args[0].tag = FNZ_ARG_DEFAULT;
}
static void wrong_argument(void) {
  fnzi_node_at(p, 0, 0)->args[0].tag = FNZ_ARG_NONE;
}
static void no_result(void) {
  fnzi_node_at(p, 0, 0)->noutputs = 0;
}
static void input_again(void) {
  fnzi_node_at(p, 0, 0)->outputs[0].u.value = 0;
}
static void never_defined(void) {
  fnzi_node_at(p, 0, 0)->outputs[0].tag = FNZ_ARG_NONE;
}
static void region_of_itself(void) {
  static const fnzi_node_other relu = {.target = "relu"};
  fnzi_node *n = fnzi_node_at(p, 0, 0);
  n->op = NULL;
  n->u.other = &relu;
  n->args[0] = (fnz_arg){.tag = FNZ_ARG_GRAPH, .u.i = 0};
}
static void unknown_symbol(void) {
  fnzi_value_at(p, 0, 0)->symbol = 4;
}
static void target_of_nothing(void) {
  p->outputs[0] = (fnz_output_spec){.kind = FNZ_OUTPUT_BUFFER_MUTATION, .target = "x"};
}
static void no_target(void) {
  p->outputs[0].kind = FNZ_OUTPUT_INPUT_MUTATION;
}
static void literal_tensor(void) {
  p->inputs[0].kind = FNZ_INPUT_LITERAL;
}
static void weight_of_another_type(void) {
  p->inputs[0].kind = FNZ_INPUT_PARAMETER;
  OK(ctx, fnzi_weight_add(p, "x", NULL, vector(4)));
}
static void weight_beyond_its_bytes(void) {
  fnzi_blob *blob;
  OK(ctx, fnzi_blob_create(ctx, 11, &blob));
  OK(ctx, fnzi_weight_add(p, "x", blob, vector(3)));
  fnzi_blob_release(blob);
}

static void too_many_arguments(void) {
  fnzi_node_at(p, 0, 0)->nargs = 2;
}
static void list_for_a_tensor(void) {
  fnzi_node_at(p, 0, 0)->outputs[0] = (fnz_arg){.tag = FNZ_ARG_LIST};
}
static void of_another_node(void) {
  fnzi_value_at(p, 0, 1)->node = 7;
}
static void no_operator(void) {
  static const fnzi_node_other nothing = {.target = ""};
  fnzi_node_at(p, 0, 0)->op = NULL;
  fnzi_node_at(p, 0, 0)->u.other = &nothing;
}
static void unknown_symbol_in_a_type(void) {
  static const uint32_t symbols[] = {0, 0, 9};
  static fnz_geometry look;
  fnz_geometry *g = &look;
  *g = *fnzi_value_at(p, 0, 0)->geometry;
  g->symbols = symbols;
  fnzi_value_at(p, 0, 0)->geometry = g;
}
static void unknown_input(void) {
  p->inputs[0].kind = FNZ_INPUT_KIND_COUNT;
}
static void unknown_output(void) {
  p->outputs[0].kind = FNZ_OUTPUT_KIND_COUNT;
}
static void input_without_a_name(void) {
  p->inputs[0].target = NULL;
}
static void unknown_sharing(void) {
  p->outputs[0].sharing = FNZ_SHARING_COUNT;
}
static void guard(fnz_guard_kind kind, const char *text, uint32_t count) {
  static const char *const names[] = {"x", "x"};
  const fnz_guard made = {.kind = kind, .text = text, .names = names, .count = count};
  OK(ctx, fnzi_guard_add(p, &made));
}
static void unknown_guard(void) {
  guard(FNZ_GUARD_KIND_COUNT, NULL, 0);
}
static void condition_of_inputs(void) {
  guard(FNZ_GUARD_CONDITION, "s0 > 2", 2);
}
static void condition_without_text(void) {
  guard(FNZ_GUARD_CONDITION, NULL, 0);
}
static void disjoint_by_a_text(void) {
  guard(FNZ_GUARD_DISJOINT, "s0 > 2", 2);
}
static void view_without_an_operator(void) {
  static const fnz_view_call view = {.op = NULL};
  p->outputs[0].sharing = FNZ_SHARING_INPUT_VIEW;
  p->outputs[0].views = &view;
  p->outputs[0].nviews = 1;
}
static void view_without_arguments(void) {
  static fnz_view_call view;
  view = (fnz_view_call){.op = fnz_op_find(NULL, "t")};
  p->outputs[0].sharing = FNZ_SHARING_INPUT_VIEW;
  p->outputs[0].views = &view;
  p->outputs[0].nviews = 1;
}

static const struct {
  const char *class_name, *where;
  void (*damage)(void);
} damages[] = {
    {"REF", "node 0 (relu at model.py:7)", swap_argument},
    {"REF", "node 0 (relu at model.py:7)", unknown_value},
    {"TYPE", "node 0 (relu at model.py:7)", other_kind},
    {"TYPE", "node 0 (relu at model.py:7)", missing_argument},
    {"TYPE", "node 0 (relu at model.py:7)", wrong_argument},
    {"TYPE", "node 0 (relu at model.py:7)", no_result},
    {"DUPLICATE", "node 0 (relu at model.py:7)", input_again},
    {"REF", "outputs of graph 0", never_defined},
    {"REF", "node 0 (relu at model.py:7)", region_of_itself},
    {"REF", "outputs of graph 0", unknown_symbol},
    {"REF", "output 0", target_of_nothing},
    {"REF", "output 0", no_target},
    {"TYPE", "input 0", literal_tensor},
    {"TYPE", "x", weight_of_another_type},
    {"BOUNDS", "x", weight_beyond_its_bytes},
    {"TYPE", "node 0 (relu at model.py:7)", too_many_arguments},
    {"TYPE", "node 0 (relu at model.py:7)", list_for_a_tensor},
    {"REF", "node 0 (relu at model.py:7)", of_another_node},
    {"REF", "node 0 ( at model.py:7)", no_operator},
    {"REF", "outputs of graph 0", unknown_symbol_in_a_type},
    {"TYPE", "input 0", unknown_input},
    {"TYPE", "output 0", unknown_output},
    {"REF", "input 0", input_without_a_name},
    {"TYPE", "output 0", unknown_sharing},
    {"TYPE", "guard 0", unknown_guard},
    {"TYPE", "guard 0", condition_of_inputs},
    {"TYPE", "guard 0", condition_without_text},
    {"TYPE", "guard 0", disjoint_by_a_text},
    {"TYPE", "output 0", view_without_an_operator},
    {"TYPE", "output 0", view_without_arguments},
};

START_TEST(the_verifier_finds_damage) {
  for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
    begin();
    rebuild();
    damages[i].damage();
    FAILS(ctx, damages[i].class_name, fnz_program_verify(ctx, p));
    ck_assert_str_eq(fnz_last_error(ctx)->where, damages[i].where);
    end();
  }
}
END_TEST

/* Indices that are not there get nothing, not a crash. */
START_TEST(nothing_is_behind_the_end) {
  fnz_program *empty;
  size_t count = 1;
  begin();
  rebuild();
  ck_assert_uint_eq(fnz_node_count(p, 1), 0);
  ck_assert_ptr_null(fnz_graph_inputs(p, 1, &count));
  ck_assert_uint_eq(count, 0);
  count = 1;
  ck_assert_ptr_null(fnz_graph_outputs(p, 1, &count));
  ck_assert_uint_eq(count, 0);
  ck_assert_str_eq(fnz_value_name(p, 1, 0), "");
  ck_assert_ptr_null(fnz_value_geometry(p, 0, 99));
  ck_assert_ptr_null(fnz_program_guard(p, 0).text);
  OK(ctx, fnzi_program_create(ctx, &empty));
  for (int k = 0; k < 2; k++) {
    const fnz_program *of = k ? p : empty;
    ck_assert_str_eq(fnz_program_input(of, 1).target, "");
    ck_assert_int_eq(fnz_program_output(of, 1).kind, FNZ_OUTPUT_USER);
  }
  fnz_program_destroy(empty);
  end();
}
END_TEST

START_TEST(two_mutations_of_one_input_are_refused) {
  begin();
  rebuild();
  fnz_arg y = p->graphs.data[0].outputs[0];
  OK(ctx, fnzi_graph_set_outputs(p, 0, 2));
  for (int k = 0; k < 2; k++) {
    p->graphs.data[0].outputs[k] = y;
    p->outputs[k] = (fnz_output_spec){.kind = FNZ_OUTPUT_INPUT_MUTATION, .target = "x"};
  }
  FAILS(ctx, "DUPLICATE", fnz_program_verify(ctx, p));
  p->outputs[1] = (fnz_output_spec){.kind = FNZ_OUTPUT_USER};
  OK(ctx, fnz_program_verify(ctx, p));
  const fnz_stats s = fnz_program_stats(p);
  ck_assert_uint_eq(s.mutated, 1);
  end();
}
END_TEST

START_TEST(an_empty_program_is_refused) {
  fnz_program *empty;
  begin();
  OK(ctx, fnzi_program_create(ctx, &empty));
  FAILS(ctx, "TRUNCATED", fnz_program_verify(ctx, empty));
  fnz_program_destroy(empty);
  end();
}
END_TEST

START_TEST(custom_operators_are_found_by_name) {
  begin();
  const fnz_op *op, *again;
  OK(ctx, fnzi_custom_op_add(p, "my::op(Tensor(a!) x, int k=3) -> ()", &op));
  ck_assert_ptr_eq(fnzi_op_find(p, "my::op"), op);
  ck_assert(fnz_op_is_mutating(op));
  OK(ctx, fnzi_custom_op_add(p, "my::op(Tensor(a!) x, int k=3) -> ()", &again));
  ck_assert_ptr_eq(op, again);
  FAILS(ctx, "DUPLICATE", fnzi_custom_op_add(p, "my::op(Tensor x) -> Tensor", &again));
  ck_assert_ptr_null(fnzi_op_find(p, "my::other"));
  ck_assert_ptr_eq(fnzi_op_find(p, "relu"), fnz_op_find(NULL, "relu"));
  end();
}
END_TEST

static fnz_status build_and_destroy(fnz_context *c, const void *user) {
  fnz_program *made = NULL;
  (void)user;
  fnz_status status = build(c, &made);
  fnz_program_destroy(made);
  return status;
}

START_TEST(running_out_of_memory_is_an_error) {
  ck_assert_uint_gt(each_fault(build_and_destroy, NULL), 10);
}
END_TEST

/* Memory per node of a long chain of fresh names: node, value, name, arguments and the map. */
START_TEST(nodes_are_small) {
  begin();
  const fnz_op *op = fnz_op_find(NULL, "relu");
  const fnz_geometry *g = vector(3);
  enum { COUNT = 100000 };
  for (uint32_t k = 0; k < COUNT; k++) {
    uint32_t v, node;
    OK(ctx, fnzi_value_add_fresh(p, 0, "relu", g, k, &v));
    fnz_arg in = {.tag = FNZ_ARG_VALUE, .u.value = k ? k - 1 : 0};
    fnz_arg result = {.tag = FNZ_ARG_VALUE, .u.value = v};
    fnzi_node n = {.op = op, .args = &in, .nargs = 1};
    n.outputs = &result;
    n.noutputs = 1;
    OK(ctx, fnzi_node_add(p, 0, &n, &node));
  }
  ck_assert_uint_lt(ctx->live_bytes / COUNT, 200);
  end();
}
END_TEST

/* Data for readers of a program from outside: weights by name, symbols by index. */
START_TEST(weights_and_symbols_are_handed_out) {
  static const char text[] =
      "fnz 1\nsymbol s0 = 4\nrange s0 2..9\nweight \"w\": f32[3] offset(1)\n"
      "program(\n  %w: f32[3] offset(1) parameter \"w\",\n  %x: f32[{s0},{s0 + 1}])\n"
      "{\n  return %x\n}\n";
  fnz_program *read;
  begin();
  OK(ctx, fnz_program_read(ctx, text, sizeof text - 1, FNZ_FORMAT_TEXT, &read));
  const fnz_weight w = fnz_program_weight(read, "w"), none = fnz_program_weight(read, "v");
  ck_assert_str_eq(w.name, "w");
  ck_assert_int_eq(w.geometry->offset, 1);
  ck_assert_ptr_null(w.data); /* a text has none */
  ck_assert_uint_eq(w.bytes, 0);
  ck_assert(!none.name && !none.geometry);
  ck_assert_ptr_null(fnz_program_weight(read, NULL).name);
  const fnz_symbol s = fnz_program_symbol(read, 1), other = fnz_program_symbol(read, 2);
  ck_assert_str_eq(s.text, "s0");
  ck_assert(s.has_example && s.example == 4 && s.least == 2 && s.greatest == 9);
  ck_assert(other.text && other.least == INT64_MIN && other.greatest == INT64_MAX);
  ck_assert_ptr_null(fnz_program_symbol(read, 0).text);
  ck_assert_ptr_null(fnz_program_symbol(read, 99).text);
  fnz_program_destroy(read);
  end();
}
END_TEST

/* `meta` is the metadata of the one node, as text writes it. */
static fnz_module module_in(const char *meta, size_t k, fnz_program **out) {
  char text[512];
  int size =
      snprintf(text, sizeof text,
               "fnz 1\nprogram(%%x: f32[3])\n{\n  %%y: f32[3] = relu(%%x)%s%s%s\n  return %%y\n}\n",
               *meta ? " meta '" : "", meta, *meta ? "'" : "");
  OK(ctx, fnz_program_read(ctx, text, (size_t)size, FNZ_FORMAT_TEXT, out));
  return fnz_node_module(*out, 0, 0, k);
}

static void is_module(const char *meta, size_t k, const char *path, const char *type) {
  fnz_program *read;
  const fnz_module m = module_in(meta, k, &read);
  ck_assert_msg((m.path != NULL) == (path != NULL), "module %zu of %s", k, meta);
  ck_assert_uint_eq(m.path_size, path ? strlen(path) : 0);
  ck_assert(!path || (memcmp(m.path, path, m.path_size) == 0 && m.type_size == strlen(type) &&
                      memcmp(m.type, type, m.type_size) == 0));
  fnz_program_destroy(read);
}

START_TEST(modules_are_read_from_metadata) {
  static const char two[] = "{\"torch_fn\": \"nn_module_stack\", \"nn_module_stack\": "
                            "\"L__self__,,m.Model;L__self__fc,fc,torch.nn.Linear\"}";
  fnz_program *read;
  begin();
  module_in(two, 0, &read);
  ck_assert_str_eq(fnz_node_metadata(read, 0, 0), two);
  fnz_program_destroy(read);
  is_module(two, 0, "fc", "torch.nn.Linear");
  is_module(two, 1, "", "m.Model");
  is_module(two, 2, NULL, NULL);
  is_module("", 0, NULL, NULL);
  is_module("{\"nn_module_stack\":\"k[1,2],a[(3,4)],T\"}", 0, "a[(3,4)]", "T");
  is_module("{\"nn_module_stack\": \"a,b\"}", 0, NULL, NULL);
  is_module("{\"nn_module_stack\": \"a,b,c,d\"}", 0, NULL, NULL);
  is_module("{\"nn_module_stack\": 3}", 0, NULL, NULL);
  is_module("{\"nn_module_stack\": \"\"}", 0, NULL, NULL);
  is_module("{\"x\": \"\\\\\"nn_module_stack\\\\\": 1\"}", 0, NULL, NULL);
  rebuild();
  ck_assert_str_eq(fnz_node_metadata(p, 0, 99), "");
  ck_assert_ptr_null(fnz_node_module(p, 9, 0, 0).path);
  end();
}
END_TEST

START_TEST(a_functional_program_keeps_modules) {
  fnz_program *traced, *functional;
  size_t found = 0;
  begin();
  OK(ctx,
     fnz_program_load(ctx, FNZ_SOURCE_DIR "/fixtures/decode/llama.pt2", FNZ_FORMAT_AUTO, &traced));
  OK(ctx, fnz_functionalize(ctx, traced, NULL, &functional));
  for (size_t n = 0; n < fnz_node_count(functional, 0); n++) {
    const fnz_module m = fnz_node_module(functional, 0, n, 0);
    found += m.path && m.path_size == 12 && memcmp(m.path, "blocks.0.qkv", 12) == 0;
  }
  ck_assert_uint_ge(found, 1);
  fnz_program_destroy(functional);
  fnz_program_destroy(traced);
  end();
}
END_TEST

RUN_SUITE("program", modules_are_read_from_metadata, a_functional_program_keeps_modules,
          weights_and_symbols_are_handed_out, strings_and_geometries_are_kept_once,
          symbols_without_effect_are_dropped, geometries_that_do_not_fit_are_refused, rank_64_fits,
          layouts_are_told_apart, windows_that_others_cover, strides_and_dims, names_are_unique,
          arguments_are_copied_deep, nesting_has_a_limit, a_blob_outlives_its_context,
          a_program_can_be_read_back, the_verifier_finds_damage, nothing_is_behind_the_end,
          two_mutations_of_one_input_are_refused, an_empty_program_is_refused,
          custom_operators_are_found_by_name, running_out_of_memory_is_an_error, nodes_are_small)
