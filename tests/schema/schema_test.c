/* checks: 14
 * schema_test.c - the operator table against PyTorch's own, and the schema parser. */
#include "tests/schema/arena.h"

#include "schema/schema.h"

#include <stdio.h>

typedef struct columns {
  char *name, *kind, *view, *composite, *tags, *functional, *view_copy, *view_of, *schema, *model,
      *dispatch;
} columns;

/* --- The table -------------------------------------------------------------------------------- */

static bool read_columns(char *line, columns *out) {
  char **fields[] = {&out->name,   &out->kind,       &out->view,      &out->composite,
                     &out->tags,   &out->functional, &out->view_copy, &out->view_of,
                     &out->schema, &out->model,      &out->dispatch};
  if (*line == '#')
    return false;
  line[strcspn(line, "\n")] = 0;
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    ck_assert_ptr_nonnull(line);
    *fields[i] = line;
    line = strchr(line, '\t');
    if (line)
      *line++ = 0;
  }
  ck_assert_ptr_null(line);
  return true;
}

/* In-place operators that PyTorch takes apart before functionalization sees them: its table names
 * no twin for these, the rule finds one. */
static bool is_taken_apart(const char *name) {
  static const char *const names[] = {"__iand__.Scalar",
                                      "__iand__.Tensor",
                                      "__ior__.Scalar",
                                      "__ior__.Tensor",
                                      "__ixor__.Scalar",
                                      "__ixor__.Tensor",
                                      "alpha_dropout_",
                                      "divide_.Scalar",
                                      "divide_.Scalar_mode",
                                      "dropout_",
                                      "feature_alpha_dropout_",
                                      "feature_dropout_",
                                      "multiply_.Scalar",
                                      "relu6_",
                                      "rrelu_",
                                      "selu_",
                                      "subtract_.Scalar",
                                      "true_divide_.Scalar"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i], name) == 0)
      return true;
  return false;
}

/* They write self without saying so in their name; torchgen does not look there. */
static bool is_called_functional(const char *name) {
  return strcmp(name, "record_stream") == 0 || strcmp(name, "retain_grad") == 0 ||
         strcmp(name, "set_data") == 0;
}

static const char *name_of(const fnz_op *op) {
  return op ? fnz_op_name(op) : "-";
}

static void check_twins(const fnz_op *op, const columns *c) {
  bool functional = op->kind == FNZI_KIND_FUNCTIONAL;
  const fnz_op *twin = fnz_op_functional_twin(op);
  if (functional)
    ck_assert_ptr_eq(twin, op);
  else if (!is_taken_apart(op->name))
    ck_assert_msg(strcmp(name_of(twin), c->functional) == 0, "%s: twin %s instead of %s", op->name,
                  name_of(twin), c->functional);
  else
    ck_assert_msg(twin && op->composite == FNZI_COMPOSITE_IMPLICIT, "%s: no twin", op->name);
  ck_assert_str_eq(name_of(fnzi_op_by_index(op->view_copy)), c->view_copy);
  ck_assert_str_eq(name_of(fnzi_op_by_index(op->view_of)), c->view_of);
}

static void check_row(const columns *c) {
  static const char *const composites[] = {"kernel", "implicit", "explicit", "explicit"};
  const fnz_op *op = fnz_op_find(NULL, c->name);
  ck_assert_msg(op != NULL, "%s is missing", c->name);
  ck_assert_ptr_eq(fnz_op_find(NULL, c->name + strlen("aten::")), op);
  ck_assert_str_eq(fnz_op_name(op), c->name + strlen("aten::"));
  ck_assert_str_eq(fnz_op_schema(op), c->schema + strlen("aten::"));
  ck_assert_str_eq(fnz_op_kind(op), is_called_functional(op->name) ? "mutable" : c->kind);
  ck_assert_str_eq(op->tags_text, c->tags);
  ck_assert_str_eq(composites[op->composite], c->composite);
  ck_assert_str_eq(op->model_text, c->model);
  ck_assert_str_eq(op->dispatch_text, c->dispatch);
  ck_assert_str_eq(fnz_op_is_view(op) ? "view" : "-", c->view);
  check_twins(op, c);
}

START_TEST(table_equals_the_columns) {
  char line[8192];
  size_t rows = 0;
  columns c;
  FILE *f = fopen(FNZ_SOURCE_DIR "/schema/aten.tsv", "r");
  ck_assert_ptr_nonnull(f);
  while (fgets(line, sizeof line, f))
    if (read_columns(line, &c)) {
      check_row(&c);
      rows++;
    }
  fclose(f);
  ck_assert_uint_eq(rows, 3103);
  ck_assert_uint_eq(fnz_op_count(), rows);
}
END_TEST

/* The fields of native_functions.yaml other than the schema. */
START_TEST(table_has_flags_and_delegates) {
  static const struct {
    const char *name;
    uint32_t flags;
    const char *delegate;
  } rows[] = {
      {"add.out", FNZI_OP_STRUCTURED | FNZI_OP_NO_DEVICE_CHECK, NULL},
      {"add.Tensor", FNZI_OP_METHOD | FNZI_OP_NO_DEVICE_CHECK, "add.out"},
      {"add_.Tensor", FNZI_OP_METHOD | FNZI_OP_NO_FUNCTION | FNZI_OP_NO_DEVICE_CHECK, "add.out"},
      {"select.int", FNZI_OP_METHOD | FNZI_OP_NO_DEVICE_CHECK | FNZI_OP_NO_DEVICE_GUARD, NULL},
      {"select_copy.int_out", FNZI_OP_NO_DEVICE_CHECK | FNZI_OP_NO_DEVICE_GUARD, NULL},
      {"cumsum", FNZI_OP_METHOD | FNZI_OP_NO_DEVICE_CHECK, "cumsum.out"},
      {"is_leaf", FNZI_OP_METHOD | FNZI_OP_NO_FUNCTION | FNZI_OP_MANUAL_BINDING, NULL},
      {"linalg_norm", 0, NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const fnz_op *op = fnz_op_find(NULL, rows[i].name);
    ck_assert_ptr_nonnull(op);
    ck_assert_msg(op->flags == rows[i].flags, "%s: %s", op->name, op->model_text);
    ck_assert_str_eq(op->delegate ? op->delegate : "-", rows[i].delegate ? rows[i].delegate : "-");
  }
  for (size_t i = 0; i < fnz_op_count(); i++) {
    const fnz_op *op = fnz_op_at(i);
    const fnz_op *delegate = op->delegate ? fnz_op_find(NULL, op->delegate) : NULL;
    ck_assert(!op->delegate || (delegate && delegate->flags & FNZI_OP_STRUCTURED));
  }
}
END_TEST

static void check_same_param(const fnzi_param *a, const fnzi_param *b) {
  ck_assert_str_eq(a->name, b->name);
  ck_assert(a->type == b->type && a->alias == b->alias && a->is_write == b->is_write);
  ck_assert(a->is_list == b->is_list && a->list_size == b->list_size);
  ck_assert(a->keyword_only == b->keyword_only && a->is_out == b->is_out);
  ck_assert_int_eq(a->default_value.tag, b->default_value.tag);
  ck_assert_uint_eq(a->default_value.count, b->default_value.count);
}

/* The tables of the build equal the result of parsing, and printing gives the text back. */
START_TEST(every_row_parses_and_prints_back) {
  begin();
  for (size_t i = 0; i < fnz_op_count(); i++) {
    const fnz_op *row = fnz_op_at(i);
    fnz_op *op;
    fnz_buffer text = {0};
    OK(ctx, fnzi_schema_parse(&arena, row->schema, &op));
    OK(ctx, fnzi_schema_print(ctx, op, &text));
    ck_assert_str_eq(text.data, row->schema);
    text.size = 0;
    OK(ctx, fnzi_schema_print(ctx, row, &text));
    ck_assert_str_eq(text.data, row->schema);
    fnz_buffer_free(ctx, &text);
    ck_assert_str_eq(op->name, row->name);
    ck_assert_str_eq(op->base, row->base);
    ck_assert_str_eq(op->overload, row->overload);
    ck_assert_int_eq(op->kind, row->kind);
    ck_assert(op->nparams == row->nparams && op->nreturns == row->nreturns);
    for (size_t k = 0; k < op->nparams; k++)
      check_same_param(&op->params[k], &row->params[k]);
  }
  end();
}
END_TEST

START_TEST(table_is_sorted_and_found) {
  for (size_t i = 1; i < fnz_op_count(); i++)
    ck_assert_int_lt(strcmp(fnz_op_at(i - 1)->name, fnz_op_at(i)->name), 0);
  const fnz_op *add = fnz_op_find(NULL, "add_.Tensor");
  ck_assert_ptr_nonnull(add);
  ck_assert_ptr_eq(fnz_op_find(NULL, "aten::view.default"), fnz_op_find(NULL, "view"));
  ck_assert_str_eq(fnzi_op_by_index(fnz_op_find(NULL, "add.Tensor")->inplace)->name, "add_.Tensor");
  ck_assert(fnz_op_is_mutating(add) && !fnz_op_is_mutating(fnz_op_find(NULL, "add.Tensor")));
  const char *const unknown[] = {"",    "add",     "add.",      "add_.Tensors", "aten::",
                                 "zzz", "default", "aten::add", "prims::mul",   ".default"};
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
    ck_assert_msg(!fnz_op_find(NULL, unknown[i]), "found '%s'", unknown[i]);
  ck_assert_ptr_null(fnz_op_at(fnz_op_count()));
  ck_assert_ptr_null(fnzi_op_by_index(FNZI_NO_OP));
}
END_TEST

START_TEST(twins_of_hard_cases) {
  const char *const pairs[][2] = {
      {"pow_.Scalar", "pow.Tensor_Scalar"},
      {"bernoulli_.float", "bernoulli.p"},
      {"normal_", "normal_functional"},
      {"__ilshift__.Tensor", "__lshift__.Tensor"},
      {"__iand__.Tensor", "__and__.Tensor"},
      {"dropout_", "dropout"},
      {"empty.out", "empty.memory_format"},
      {"arange.start_out", "arange.start_step"},
      {"_native_batch_norm_legit.out", "_native_batch_norm_legit_functional"}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    ck_assert_str_eq(name_of(fnz_op_functional_twin(fnz_op_find(NULL, pairs[i][0]))), pairs[i][1]);
  ck_assert_ptr_null(fnz_op_functional_twin(fnz_op_find(NULL, "transpose_")));
  ck_assert_ptr_null(fnz_op_functional_twin(fnz_op_find(NULL, "polygamma_")));
}
END_TEST

/* --- Arguments -------------------------------------------------------------------------------- */

static fnz_arg default_of(const char *op_name, const char *param) {
  const fnz_op *op = fnz_op_find(NULL, op_name);
  ck_assert_ptr_nonnull(op);
  int i = fnzi_op_param(op, param);
  ck_assert_int_ge(i, 0);
  return fnzi_arg_get(op, NULL, 0, (size_t)i);
}

static void check_int(fnz_arg arg, fnz_tag tag, int64_t value) {
  ck_assert_int_eq(arg.tag, tag);
  ck_assert_int_eq(arg.u.i, value);
}

static void check_ints(fnz_arg arg, uint32_t count, int64_t first) {
  ck_assert_int_eq(arg.tag, FNZ_ARG_LIST);
  ck_assert_uint_eq(arg.count, count);
  if (count)
    check_int(arg.u.list[0], FNZ_ARG_INT, first);
}

START_TEST(defaults_have_the_types_of_their_parameters) {
  check_int(default_of("slice.Tensor", "step"), FNZ_ARG_INT, 1);
  check_int(default_of("slice.Tensor", "end"), FNZ_ARG_NONE, 0);
  check_int(default_of("add.Tensor", "alpha"), FNZ_ARG_INT, 1);
  check_int(default_of("mse_loss", "reduction"), FNZ_ARG_INT, 1);
  check_int(default_of("softmax.int", "dtype"), FNZ_ARG_NONE, 0);
  check_int(default_of("contiguous", "memory_format"), FNZ_ARG_MEMORY_FORMAT, 1);
  check_int(default_of("tril_indices", "dtype"), FNZ_ARG_DTYPE, FNZ_I64);
  check_int(default_of("sort.stable", "descending"), FNZ_ARG_BOOL, 0);
  ck_assert_double_eq(default_of("native_layer_norm", "eps").u.f, 0);
  ck_assert_int_eq(default_of("native_layer_norm", "eps").tag, FNZ_ARG_DEFAULT);
  ck_assert_double_eq(default_of("layer_norm", "eps").u.f, 1e-05);
  ck_assert_int_eq(default_of("allclose", "rtol").tag, FNZ_ARG_FLOAT);
  check_ints(default_of("conv2d", "stride"), 2, 1);
  check_ints(default_of("conv2d", "padding"), 2, 0);
  check_ints(default_of("max_pool2d", "stride"), 0, 0);
  check_ints(default_of("fft_fft2", "dim"), 1 + 1, -2);
  ck_assert_str_eq(default_of("gelu", "approximate").u.s, "none");
  ck_assert_str_eq(default_of("_test_string_default", "b").u.s, "\"'\\");
  ck_assert_uint_eq(default_of("_test_string_default", "a").count, 3);
}
END_TEST

START_TEST(given_arguments_come_before_defaults) {
  const fnz_op *op = fnz_op_find(NULL, "slice.Tensor");
  const fnz_arg args[] = {{.tag = FNZ_ARG_VALUE, .u.value = 7},
                          {.tag = FNZ_ARG_DEFAULT},
                          {.tag = FNZ_ARG_INT, .u.i = 5}};
  check_int(fnzi_arg_get(op, args, 3, 0), FNZ_ARG_VALUE, 7);
  check_int(fnzi_arg_get(op, args, 3, 1), FNZ_ARG_INT, 0);
  check_int(fnzi_arg_get(op, args, 3, 2), FNZ_ARG_INT, 5);
  check_int(fnzi_arg_get(op, args, 3, 4), FNZ_ARG_INT, 1);
  check_int(fnzi_arg_get(op, args, 3, 5), FNZ_ARG_DEFAULT, 0);
  ck_assert_int_eq(fnzi_op_param(op, "none"), -1);
}
END_TEST

/* --- Parsing ---------------------------------------------------------------------------------- */

static fnz_op *parse(const char *text) {
  fnz_op *op = NULL;
  OK(ctx, fnzi_schema_parse(&arena, text, &op));
  return op;
}

START_TEST(custom_operators_parse_and_print_back) {
  static const char *const schemas[] = {
      "my_lib::f(Tensor(a0!) x, Tensor(a12!)? y, Tensor(a2!)[] zs) -> ()",
      "my_lib::g.ov(Tensor(a -> *) x, __torch__.torch.classes.n.T t, *, SymBool k=True) -> "
      "(Tensor(a)[] first, Tensor?)",
      "f(Tensor(a|b) x, Tensor(*) y, SymInt[3]? n=None, float e=inf) -> Tensor(a|b)",
      "f() -> ()",
      "f_(Tensor(a!) self, ScalarType t=bfloat16, Device d=\"cuda:0\", Scalar s=True) -> "
      "Tensor(a!)",
      "__my__(Tensor self) -> Tensor",
  };
  begin();
  for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
    fnz_buffer text = {0};
    fnz_op *op = parse(schemas[i]);
    OK(ctx, fnzi_schema_print(ctx, op, &text));
    ck_assert_str_eq(text.data, schemas[i]);
    ck_assert_str_eq(op->schema, schemas[i]);
    fnz_buffer_free(ctx, &text);
  }
  end();
}
END_TEST

/* The numbers of PyTorch, which it prints as defaults of operators in Python. */
START_TEST(element_types_are_numbers_too) {
  begin();
  fnz_op *op = parse("f(ScalarType a=6, ScalarType b=15, ScalarType c=23, ScalarType d=24, "
                     "ScalarType e=26, ScalarType g=29, ScalarType h=44) -> ()");
  const fnz_dtype want[] = {FNZ_F32,         FNZ_BF16, FNZ_F8_E5M2,   FNZ_F8_E4M3FN,
                            FNZ_F8_E4M3FNUZ, FNZ_U64,  FNZ_F8_E8M0FNU};
  for (size_t i = 0; i < sizeof want / sizeof *want; i++)
    check_int(op->params[i].default_value, FNZ_ARG_DTYPE, want[i]);
  end();
}
END_TEST

START_TEST(parsed_parts_are_right) {
  begin();
  fnz_op *op =
      parse("my_lib::g.ov( Tensor(a!)[2] x,*,Tensor(b!) out, int[] k=[3, 4] )->Tensor( b! ) r");
  ck_assert_str_eq(op->name, "my_lib::g.ov");
  ck_assert_str_eq(op->base, "g");
  ck_assert_str_eq(op->overload, "ov");
  ck_assert_int_eq(op->kind, FNZI_KIND_OUT);
  ck_assert(op->params[0].is_list && op->params[0].list_size == 2 && op->params[0].alias == 1);
  ck_assert(op->params[0].is_write && !op->params[0].is_out && op->params[1].is_out);
  check_ints(op->params[2].default_value, 2, 3);
  ck_assert(op->returns[0].alias == 2 && op->functional == FNZI_NO_OP);
  ck_assert_str_eq(op->returns[0].name, "r");
  op = parse("aten::f(Tensor(a0!) x, Tensor(a1!) y) -> Tensor(a1!)");
  ck_assert_str_eq(op->name, "f");
  ck_assert_int_eq(op->kind, FNZI_KIND_MUTABLE);
  ck_assert(op->params[0].alias && op->params[1].alias);
  ck_assert(op->params[0].alias != op->params[1].alias);
  ck_assert_uint_eq(op->returns[0].alias, op->params[1].alias);
  ck_assert(!op->is_view && parse("f(Tensor(a) x) -> Tensor(a)")->is_view);
  ck_assert(parse("f(Tensor(a -> *) x) -> Tensor(a)[]")->params[0].is_wildcard);
  ck_assert_int_eq(parse("f(*, Tensor(a!) _scratch_x) -> ()")->kind, FNZI_KIND_SCRATCH);
  ck_assert_int_eq(parse("__iadd__(Tensor(a!) self) -> ()")->kind, FNZI_KIND_INPLACE);
  ck_assert_int_eq(parse("__invert__(Tensor self) -> Tensor")->kind, FNZI_KIND_FUNCTIONAL);
  end();
}
END_TEST

START_TEST(broken_schemas_name_the_column) {
  static const struct {
    const char *text;
    int column;
  } broken[] = {
      {"", 1},
      {"9f() -> ()", 1},
      {"f.() -> ()", 3},
      {"n::() -> ()", 4},
      {"f -> ()", 3},
      {"f( -> ()", 4},
      {"f(Tenser x) -> ()", 3},
      {"f(Tensor) -> ()", 9},
      {"f(Tensor x,) -> ()", 12},
      {"f(Tensor x Tensor y) -> ()", 12},
      {"f(Tensor x, Tensor x) -> ()", 21},
      {"f(Tensor(a! x) -> ()", 13},
      {"f(Tensor() x) -> ()", 10},
      {"f(Tensor(a|b!) x) -> ()", 14},
      {"f(Tensor(a ->) x) -> ()", 14},
      {"f(Tensor[ x) -> ()", 10},
      {"f(Tensor[0] x) -> ()", 10},
      {"f(Tensor[99999999999] x) -> ()", 10},
      {"f(*) -> ()", 4},
      {"f(Tensor x, *, Tensor y, *, Tensor z) -> ()", 26},
      {"f(int x=) -> ()", 9},
      {"f(int x=1.5) -> ()", 9},
      {"f(int x=None) -> ()", 9},
      {"f(int x=99999999999999999999) -> ()", 9},
      {"f(int x=\"1\") -> ()", 9},
      {"f(str x=\"1) -> ()", 18},
      {"f(str x=1) -> ()", 9},
      {"f(bool x=1) -> ()", 10},
      {"f(float x=1e) -> ()", 11},
      {"f(int[] x=[1) -> ()", 13},
      {"f(int[] x=[1,]) -> ()", 14},
      {"f(ScalarType x=lang) -> ()", 16},
      {"f()", 4},
      {"f() ->", 7},
      {"f() -> (", 9},
      {"f() -> (Tensor", 15},
      {"f() -> Tensor x y", 16},
      {"f() -> Tensor(a)", 17},
      {"f() -> () ", 10},
  };
  begin();
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
    char where[64];
    fnz_op *op;
    ck_assert_msg(fnzi_schema_parse(&arena, broken[i].text, &op) != FNZ_OK, "%s", broken[i].text);
    snprintf(where, sizeof where, "schema column %d", broken[i].column);
    ck_assert_msg(fnz_last_error(ctx)->kind == FNZ_CLASS_SYNTAX, "%s", broken[i].text);
    ck_assert_msg(strcmp(fnz_last_error(ctx)->where, where) == 0, "%s: %s: %s", broken[i].text,
                  fnz_last_error(ctx)->where, fnz_last_error(ctx)->message);
  }
  end();
}
END_TEST

START_TEST(huge_schemas_are_refused) {
  enum { SIZE = 1 << 17 };
  begin();
  fnz_op *op;
  char *text = malloc(SIZE);
  ck_assert_ptr_nonnull(text);
  memset(text, ',', SIZE);
  text[SIZE - 1] = 0;
  FAILS(ctx, "LIMIT", fnzi_schema_parse(&arena, text, &op));
  text[SIZE / 4] = 0;
  memcpy(text, "f(", 2);
  FAILS(ctx, "LIMIT", fnzi_schema_parse(&arena, text, &op));
  free(text);
  end();
}
END_TEST

/* Fails the allocation that `left` counts down to. */
static void *failing_resize(void *user, void *p, size_t old_bytes, size_t new_bytes) {
  int *left = user;
  (void)old_bytes;
  if (!new_bytes)
    return free(p), NULL;
  return (*left)-- > 0 ? realloc(p, new_bytes) : NULL;
}

START_TEST(out_of_memory_leaks_nothing) {
  static const char text[] =
      "f(Tensor(a!) self, int[2] k=1, str s=\"x\") -> (Tensor(a!), Tensor r)";
  fnz_status status = FNZ_NO_MEMORY;
  int most = 0;
  for (; status != FNZ_OK && most < 1000; most++) {
    int left = most;
    const fnz_allocator allocator = {failing_resize, &left};
    fnz_buffer out = {0};
    fnz_op *op;
    status = fnz_context_create(&allocator, &ctx);
    if (status != FNZ_OK)
      continue;
    fnzi_arena_init(&arena, ctx);
    status = fnzi_schema_parse(&arena, text, &op);
    if (status == FNZ_OK)
      status = fnzi_schema_print(ctx, op, &out);
    ck_assert(status == FNZ_OK || status == FNZ_NO_MEMORY);
    fnz_buffer_free(ctx, &out);
    end();
  }
  ck_assert_int_eq(status, FNZ_OK);
  ck_assert_int_gt(most, 2);
}
END_TEST

/* --- Lists ------------------------------------------------------------------------------------ */

START_TEST(foreach_operators_have_elements) {
  static const char *const pairs[][2] = {
      {"_foreach_add.Scalar", "add.Scalar"},
      {"_foreach_add.ScalarList", "add.Scalar"},
      {"_foreach_add.List", "add.Tensor"},
      {"_foreach_add.Tensor", "add.Tensor"},
      {"_foreach_add_.List", "add_.Tensor"},
      {"_foreach_div_.ScalarList", "div_.Scalar"},
      {"_foreach_addcmul.Scalar", "addcmul"},
      {"_foreach_addcdiv_.ScalarList", "addcdiv_"},
      {"_foreach_addcmul.Tensor", "-"},
      {"_foreach_lerp.List", "lerp.Tensor"},
      {"_foreach_lerp_.Scalar", "lerp_.Scalar"},
      {"_foreach_pow.List", "pow.Tensor_Tensor"},
      {"_foreach_pow.Scalar", "pow.Tensor_Scalar"},
      {"_foreach_pow.ScalarAndTensor", "pow.Scalar"},
      {"_foreach_pow_.Scalar", "pow_.Scalar"},
      {"_foreach_maximum.List", "maximum"},
      {"_foreach_maximum_.Scalar", "clamp_min_"},
      {"_foreach_minimum.ScalarList", "clamp_max"},
      {"_foreach_clamp_max.List", "clamp_max.Tensor"},
      {"_foreach_copy_", "copy_"},
      {"_foreach_copy", "copy"},
      {"_foreach_zero_", "zero_"},
      {"_foreach_sqrt", "sqrt"},
      {"_foreach_max", "max"},
      {"_foreach_norm.Scalar", "-"},
      {"add.Tensor", "-"},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    ck_assert_str_eq(name_of(fnzi_foreach_element(fnz_op_find(NULL, pairs[i][0]))), pairs[i][1]);
}
END_TEST

RUN_SUITE("schema", table_equals_the_columns, table_has_flags_and_delegates,
          every_row_parses_and_prints_back, table_is_sorted_and_found, twins_of_hard_cases,
          defaults_have_the_types_of_their_parameters, given_arguments_come_before_defaults,
          custom_operators_parse_and_print_back, element_types_are_numbers_too,
          parsed_parts_are_right, broken_schemas_name_the_column, huge_schemas_are_refused,
          out_of_memory_leaks_nothing, foreach_operators_have_elements)
