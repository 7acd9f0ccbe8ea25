/* checks: 9
 * native_test.c - reading native_functions.yaml: the model of a small library in which everything
 * occurs, generated variants, the table, and that no damaged file does harm. */
#include "tests/help/faults.h"

#include "schema/native/native.h"

#include <fnz/formats.h>

#include <stdio.h>

#define FIXTURES FNZ_SOURCE_DIR "/fixtures/native/"

static fnz_context *ctx;
static fnz_buffer functions, tags;

static void slurp(const char *path, fnz_buffer *out) {
  char block[4096];
  FILE *f = fopen(path, "rb");
  ck_assert_msg(f != NULL, "%s", path);
  for (size_t n; (n = fread(block, 1, sizeof block, f)) > 0;)
    OK(ctx, fnzi_put(ctx, out, block, n));
  ck_assert_int_eq(fclose(f), 0);
}

static void begin(void) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  slurp(FIXTURES "functions.yaml", &functions);
  slurp(FIXTURES "tags.yaml", &tags);
}

static void end(void) {
  fnz_buffer_free(ctx, &functions);
  fnz_buffer_free(ctx, &tags);
  ck_assert_uint_eq(ctx->live_bytes, 0);
  fnz_context_destroy(ctx);
}

static fnz_status read_bytes(fnz_context *in, const void *bytes, size_t size, const void *tag_bytes,
                             size_t tag_size, fnz_library **out) {
  const fnz_library_source source = {
      .functions_name = "functions.yaml",
      .functions = bytes,
      .functions_size = size,
      .tags_name = "tags.yaml",
      .tags = tag_bytes,
      .tags_size = tag_size,
  };
  return fnz_library_read(in, &source, out);
}

static fnz_library *read_fixture(void) {
  fnz_library *library = NULL;
  OK(ctx, read_bytes(ctx, functions.data, functions.size, tags.data, tags.size, &library));
  return library;
}

/* --- The model -------------------------------------------------------------------------------- */

static const fnzi_native *find(const fnz_library *library, const char *name) {
  const fnzi_native *n = fnzi_native_find(library, name);
  ck_assert_msg(n != NULL, "%s", name);
  return n;
}

static void check_ufunc(const fnzi_native *n) {
  ck_assert_uint_eq(n->nufunc, 2);
  ck_assert_int_eq(n->ufunc[0].key, FNZI_UFUNC_Generic);
  ck_assert_str_eq(n->ufunc[0].function, "blend");
  ck_assert_uint_eq(n->ufunc[0].dtypes,
                    FNZI_UFUNC_AllAndComplex | FNZI_UFUNC_BFloat16 | FNZI_UFUNC_Half);
  ck_assert_int_eq(n->ufunc[1].key, FNZI_UFUNC_ScalarOnly);
  ck_assert_str_eq(n->ufunc[1].function, "blend_bool");
  ck_assert_uint_eq(n->ufunc[1].dtypes, FNZI_UFUNC_Bool);
}

static void check_precomputed(const fnzi_native *n) {
  ck_assert_uint_eq(n->nprecomputed, 2);
  ck_assert_str_eq(n->precomputed[0].param, "weight");
  ck_assert_uint_eq(n->precomputed[0].count, 2);
  ck_assert_str_eq(n->precomputed[0].with[1].name, "is_one");
  ck_assert_int_eq(n->precomputed[0].with[1].type, FNZI_TYPE_BOOL);
  ck_assert_ptr_null(n->precomputed[1].param);
  ck_assert_str_eq(n->precomputed[1].with[0].name, "rank");
}

static void check_dispatch(const fnzi_native *n) {
  ck_assert_uint_eq(n->ndispatch, 3);
  ck_assert_int_eq(n->dispatch[1].key, FNZI_DISPATCH_SparseCUDA);
  ck_assert_str_eq(n->dispatch[1].kernel, "blend_out_sparse");
  ck_assert_str_eq(n->op->dispatch_text,
                   "SparseCPU, SparseCUDA: blend_out_sparse; MPS: mps::blend_out");
  ck_assert(n->keys & FNZI_DISPATCH_BIT(CPU) && n->keys & FNZI_DISPATCH_BIT(CUDA));
}

START_TEST(every_key_is_in_the_model) {
  begin();
  fnz_library *library = read_fixture();
  const fnzi_native *n = find(library, "blend.out");
  check_ufunc(n);
  check_precomputed(n);
  check_dispatch(n);
  ck_assert_str_eq(n->inherits, "TensorIteratorBase");
  ck_assert_uint_eq(n->op->flags, FNZI_OP_STRUCTURED | FNZI_OP_NO_DEVICE_CHECK);
  ck_assert_uint_eq(n->line, 16);
  n = find(library, "blend_.Tensor");
  ck_assert_str_eq(n->op->delegate, "blend.out");
  ck_assert_str_eq(n->op->model_text, "method,no_function,no_device_check,delegate=blend.out");
  ck_assert_str_eq(n->op->tags_text, "inplace,pointwise");
  ck_assert(fnzi_native_delegate(library, n) == find(library, "blend.out"));
  n = find(library, "tile_up");
  ck_assert(n->no_defaults.count == 2 && strcmp(n->no_defaults.data[1], "mode") == 0);
  ck_assert(n->op->flags & FNZI_OP_CPP_NO_DEFAULTS);
  ck_assert(n->autogen.count == 1 && strcmp(n->autogen.data[0], "tile_up.out") == 0);
  ck_assert(find(library, "turn.int")->op->flags & FNZI_OP_NO_DEVICE_GUARD);
  ck_assert(!(find(library, "turn.int")->op->flags & FNZI_OP_NO_DEVICE_CHECK));
  ck_assert_str_eq(find(library, "grid")->category, "factory");
  n = find(library, "extra::solve");
  ck_assert_str_eq(n->python_module, "linalg");
  ck_assert(n->op->flags & FNZI_OP_MANUAL_REGISTRATION && fnzi_native_is_implicit(n));
  ck_assert(!fnzi_native_has(library, n, FNZI_KNOWN_PT2));
  ck_assert(fnzi_native_has(library, find(library, "face"), FNZI_KNOWN_PT2));
  ck_assert(find(library, "name_of")->op->flags & FNZI_OP_MANUAL_BINDING);
  ck_assert(find(library, "observe")->op->flags & FNZI_OP_CONST_REF);
  ck_assert_int_eq(find(library, "turn_copy.int")->op->composite,
                   FNZI_COMPOSITE_EXPLICIT_NON_FUNCTIONAL);
  ck_assert_ptr_null(fnzi_native_find(library, "blend"));
  fnz_library_destroy(library);
  end();
}
END_TEST

static void check_group(const fnz_library *library, const char *functional, const char *out,
                        const char *inplace, const char *mutable) {
  const fnzi_native *n = find(library, functional);
  ck_assert_uint_ne(n->group, FNZI_NO_GROUP);
  const fnzi_native_group *g = &library->groups[n->group];
  const struct {
    const char *name;
    fnzi_native_member place;
  } rows[] = {
      {functional, g->functional}, {out, g->out}, {inplace, g->inplace}, {mutable, g->mutable}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const fnzi_native *member = fnzi_native_at(library, rows[i].place);
    ck_assert_str_eq(member ? member->op->name : "-", rows[i].name);
  }
}

START_TEST(groups_are_completed) {
  begin();
  fnz_library *library = read_fixture();
  check_group(library, "blend.Tensor", "blend.out", "blend_.Tensor", "-");
  check_group(library, "tile_up", "tile_up.out", "-", "-");
  check_group(library, "jitter", "jitter.out", "jitter_", "-");
  check_group(library, "observe_functional", "observe.out", "-", "observe");
  check_group(library, "turn_copy.int", "turn_copy.int_out", "-", "-");
  check_group(library, "grid", "grid.out", "-", "-");
  check_group(library, "_foreach_blend", "_foreach_blend.out", "_foreach_blend_", "-");
  const fnzi_native *made = find(library, "jitter.out");
  ck_assert_str_eq(made->op->tags_text, "generated,nondeterministic_seeded,out");
  ck_assert_str_eq(made->op->dispatch_text, "CompositeExplicitAutograd: jitter_out");
  ck_assert_uint_eq(made->line, find(library, "jitter_")->line);
  ck_assert_str_eq(find(library, "tile_up.out")->op->dispatch_text,
                   "CompositeExplicitAutograd: tile_up_out_symint");
  ck_assert_str_eq(find(library, "observe.out")->op->schema,
                   "observe.out(Tensor self, Tensor(a!) low, Tensor(b!) high, bool on=True, *, "
                   "Tensor(c!) out) -> Tensor(c!)");
  ck_assert_uint_eq(library->nviews, 3);
  const fnzi_native_view_group *v = &library->views[find(library, "turn.int")->view_group];
  ck_assert(fnzi_native_at(library, v->copy) == find(library, "turn_copy.int"));
  ck_assert(fnzi_native_at(library, v->inplace) == find(library, "turn_.int"));
  ck_assert_uint_eq(find(library, "pieces")->group, FNZI_NO_GROUP);
  fnz_library_destroy(library);
  end();
}
END_TEST

/* --- The public interface --------------------------------------------------------------------- */

START_TEST(everything_is_counted) {
  size_t counts[FNZ_LIBRARY_COUNTS];
  begin();
  fnz_library *library = read_fixture();
  fnz_library_count_all(library, counts);
  ck_assert_uint_eq(counts[FNZ_LIBRARY_COUNT_ENTRIES], 15);
  ck_assert_uint_eq(counts[FNZ_LIBRARY_COUNT_FUNCTIONAL], 9);
  ck_assert_uint_eq(counts[FNZ_LIBRARY_COUNT_INPLACE], 4);
  ck_assert_uint_eq(counts[FNZ_LIBRARY_COUNT_OUT], 1);
  ck_assert_uint_eq(counts[FNZ_LIBRARY_COUNT_MUTABLE], 1);
  ck_assert_uint_eq(counts[FNZ_LIBRARY_COUNT_GENERATED], 9);
  ck_assert_uint_eq(counts[FNZ_LIBRARY_COUNT_GENERATED_OUT], 6);
  ck_assert_uint_eq(counts[FNZ_LIBRARY_COUNT_GENERATED_FUNCTIONAL], 3);
  ck_assert_uint_eq(counts[FNZ_LIBRARY_COUNT_GENERATED_RENAMED], 1);
  ck_assert_uint_eq(counts[FNZ_LIBRARY_COUNT_TOTAL], 24);
  ck_assert_uint_eq(counts[FNZ_LIBRARY_COUNT_GROUPS], 7);
  ck_assert_uint_eq(counts[FNZ_LIBRARY_COUNT_SINGLE], 6);
  ck_assert_uint_eq(counts[FNZ_LIBRARY_COUNT_STRUCTURED], 1);
  ck_assert_uint_eq(counts[FNZ_LIBRARY_COUNT_VIEWS], 3);
  ck_assert_uint_eq(counts[FNZ_LIBRARY_COUNT_VIEWS_IMPLICIT], 2);
  ck_assert_uint_eq(counts[FNZ_LIBRARY_COUNT_IMPLICIT], 4);
  ck_assert_uint_eq(counts[FNZ_LIBRARY_COUNT_NON_FUNCTIONAL], 1);
  ck_assert_uint_eq(counts[FNZ_LIBRARY_COUNT_RULES], FNZI_RULE_COUNT);
  ck_assert_uint_eq(fnz_library_count(library), 24);
  ck_assert_str_eq(fnz_op_name(fnz_library_op(library, 0)), "blend.Tensor");
  ck_assert_str_eq(fnz_op_name(fnz_library_twin(library, 1)), "blend.Tensor");
  ck_assert_uint_eq(fnz_library_line(library, 1), 10);
  ck_assert_ptr_null(fnz_library_op(library, 24));
  ck_assert_ptr_null(fnz_library_twin(library, 24));
  ck_assert_uint_eq(fnz_library_line(library, 24), 0);
  fnz_library_destroy(library);
  fnz_library_destroy(NULL);
  end();
}
END_TEST

START_TEST(the_table_is_the_golden_one) {
  static const char path[] = FIXTURES "table.tsv";
  fnz_buffer table = {0}, want = {0};
  begin();
  fnz_library *library = read_fixture();
  OK(ctx, fnz_library_write_table(ctx, library, &table));
  if (getenv("FNZ_BLESS"))
    OK(ctx, fnz_file_write(ctx, path, table.data, table.size));
  slurp(path, &want);
  ck_assert_str_eq(table.data, want.data);
  fnz_buffer_free(ctx, &table);
  fnz_buffer_free(ctx, &want);
  fnz_library_destroy(library);
  end();
}
END_TEST

START_TEST(promotions_of_known_operators_are_the_tables) {
  static const char text[] = "- func: div.Tensor(Tensor self, Tensor other) -> Tensor\n"
                             "  tags: [core, pointwise]\n"
                             "- func: blend(Tensor self, Tensor other) -> Tensor\n"
                             "  tags: [core, pointwise]\n";
  begin();
  fnz_library *library = NULL;
  OK(ctx, read_bytes(ctx, text, strlen(text), tags.data, tags.size, &library));
  ck_assert_str_eq(fnz_op_promotion(fnz_library_op(library, 0)), "int_to_float");
  ck_assert_str_eq(fnz_op_promotion(fnz_library_op(library, 1)), "default");
  fnz_library_destroy(library);
  end();
}
END_TEST

/* --- Files that are no such files ------------------------------------------------------------- */

#define F "- func: f(Tensor self) -> Tensor\n"

START_TEST(what_is_no_plain_yaml_is_refused) {
  static const struct {
    const char *text, *kind, *where;
  } rows[] = {
      {"", "TRUNCATED", "functions.yaml:1"},
      {"# nothing\n", "TRUNCATED", "functions.yaml:1"},
      {"- func: [f\n", "SYNTAX", "functions.yaml:2"},
      {F "\tvariants: method\n", "SYNTAX", "functions.yaml:2"},
      {F "  tags: core\n  tags: core\n", "DUPLICATE", "functions.yaml:3"},
      {F "  tags: &t core\n", "UNSUPPORTED", "functions.yaml:2"},
      {F "  tags: !!str core\n", "UNSUPPORTED", "functions.yaml:2"},
      {F "  tags: &t [core]\n", "UNSUPPORTED", "functions.yaml:2"},
      {F "- *t\n", "UNSUPPORTED", "functions.yaml:2"},
      {F "---\n" F, "UNSUPPORTED", "functions.yaml:2"},
      {F "  [a]: b\n", "TYPE", "functions.yaml:2"},
      {F "  ? {a: b}\n  : b\n", "TYPE", "functions.yaml:2"},
      {F "  tags: \"a\\0b\"\n", "SYNTAX", "functions.yaml:2"},
      {F "  tags: [[[[[[[core]]]]]]]\n", "LIMIT", "functions.yaml:2"},
      {F "  tags: \xff\n", "ENCODING", "functions.yaml:1"},
  };
  begin();
  fnz_library *library;
  FAILS(ctx, "TRUNCATED", read_bytes(ctx, NULL, 0, tags.data, tags.size, &library));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    FAILS(ctx, rows[i].kind,
          read_bytes(ctx, rows[i].text, strlen(rows[i].text), tags.data, tags.size, &library));
    ck_assert_msg(strcmp(fnz_last_error(ctx)->where, rows[i].where) == 0, "%s instead of %s: %s",
                  fnz_last_error(ctx)->where, rows[i].where, rows[i].text);
    ck_assert_ptr_null(library);
  }
  end();
}
END_TEST

/* Many of one thing, as often as a limit allows and once more. */
static void check_many(const char *head, const char *before, const char *after, size_t times) {
  fnz_buffer text = {0};
  fnz_library *library;
  OK(ctx, fnzi_put_text(ctx, &text, head));
  for (size_t i = 0; i < times; i++)
    OK(ctx, fnzi_printf(ctx, &text, "%s%zu%s", before, i, after));
  FAILS(ctx, "LIMIT", read_bytes(ctx, text.data, text.size, tags.data, tags.size, &library));
  FAILS(ctx, "LIMIT", read_bytes(ctx, "- {}", 4, text.data, text.size, &library));
  fnz_buffer_free(ctx, &text);
}

START_TEST(huge_files_are_refused) {
  begin();
  check_many("- func: f() -> ()\n", "  k", ": x\n", 300);
  check_many("", "- {a", ": b}\n", 1 << 19);
  check_many("", "                                          # ", "\n", 1 << 19);
  end();
}
END_TEST

/* --- Damage ----------------------------------------------------------------------------------- */

/* Reads whatever the bytes are; a library that comes out is whole. */
static void survive(const void *bytes, size_t size, const void *tag_bytes, size_t tag_size) {
  fnz_library *library;
  fnz_buffer table = {0};
  if (read_bytes(ctx, bytes, size, tag_bytes, tag_size, &library) != FNZ_OK) {
    ck_assert_ptr_null(library);
    ck_assert_str_ne(fnz_last_error(ctx)->message, "");
    return;
  }
  OK(ctx, fnz_library_write_table(ctx, library, &table));
  fnz_buffer_free(ctx, &table);
  fnz_library_destroy(library);
}

START_TEST(damaged_files_do_no_harm) {
  static const char flips[] = {'\n', ' ', ':', '!', '(', ',', '-', '\"', '[', '\t', 'a', 0, '\x80'};
  begin();
  size_t live = ctx->live_bytes;
  for (size_t i = 0; i < functions.size; i += 3) {
    char *byte = &functions.data[i], was = *byte;
    survive(functions.data, i, tags.data, tags.size);
    *byte = flips[i / 3 % sizeof flips];
    survive(functions.data, functions.size, tags.data, tags.size);
    *byte = (char)(was ^ (1 << i % 7));
    survive(functions.data, functions.size, tags.data, tags.size);
    *byte = was;
  }
  for (size_t i = 0; i < tags.size; i++) {
    char was = tags.data[i];
    survive(functions.data, functions.size, tags.data, i);
    tags.data[i] = flips[i % sizeof flips];
    survive(functions.data, functions.size, tags.data, tags.size);
    tags.data[i] = was;
  }
  ck_assert_uint_eq(ctx->live_bytes, live);
  end();
}
END_TEST

static fnz_status read_and_write(fnz_context *poor, const void *user) {
  fnz_library *library;
  fnz_buffer table = {0};
  (void)user;
  fnz_status status =
      read_bytes(poor, functions.data, functions.size, tags.data, tags.size, &library);
  if (status == FNZ_OK)
    status = fnz_library_write_table(poor, library, &table);
  fnz_buffer_free(poor, &table);
  fnz_library_destroy(library);
  return status;
}

START_TEST(out_of_memory_leaks_nothing) {
  begin();
  ck_assert_uint_gt(each_fault(read_and_write, NULL), 20);
  end();
}
END_TEST

RUN_SUITE("native", every_key_is_in_the_model, groups_are_completed, everything_is_counted,
          the_table_is_the_golden_one, promotions_of_known_operators_are_the_tables,
          what_is_no_plain_yaml_is_refused, huge_files_are_refused, damaged_files_do_no_harm,
          out_of_memory_leaks_nothing)
