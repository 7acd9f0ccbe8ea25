/* checks: 10
 * mlir_test.c - programs as MLIR: replacements of operators compute the same numbers, weights and
 * files, and memory. That IREE takes the text and gives the same values is checked where it is
 * installed (scripts/check_with_iree.py). */
#include "program/program.h"
#include "schema/facts/mlir.h"
#include "tests/help/faults.h"
#include "tests/help/run_help.h"

#include <dirent.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

static fnz_context *ctx;
static char folder[64], text_path[96], weights_path[96];

static void begin(void) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  strcpy(folder, "/tmp/fnz_mlir_test_XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(text_path, sizeof text_path, "%s/m.mlir", folder);
  snprintf(weights_path, sizeof weights_path, "%s/m.safetensors", folder);
}

static void end(void) {
  unlink(text_path);
  unlink(weights_path);
  ck_assert_int_eq(rmdir(folder), 0); /* nothing else is left in it */
  ck_assert_uint_eq(ctx->live_bytes, 0);
  fnz_context_destroy(ctx);
}

/* --- ways ------------------------------------------------------------------------------------- */
/* Columns: the replaced operator, inputs, the call and its result. */
static const struct {
  const char *gone, *inputs, *call;
} ways[] = {
    {"as_strided_copy", "%x: f32[16]", "%y: f32[3,2] = as_strided_copy(%x, [3, 2], [4, 2], 1)"},
    {"as_strided_copy", "%x: f32[4,4]", "%y: f32[] = as_strided_copy(%x, [], [], 7)"},
    {"as_strided_scatter", "%x: f32[12], %u: f32[2,2]",
     "%y: f32[12] = as_strided_scatter(%x, %u, [2, 2], [5, 2], 1)"},
    {"as_strided_scatter", "%x: f32[3,4], %u: f32[1]",
     "%y: f32[3,4] = as_strided_scatter(%x, %u, [1], [1], 6)"},
    {"diagonal_scatter", "%x: f32[3,5], %u: f32[3]",
     "%y: f32[3,5] = diagonal_scatter(%x, %u, 1, 0, 1)"},
    {"diagonal_scatter", "%x: f32[2,4,3], %u: f32[4,1]",
     "%y: f32[2,4,3] = diagonal_scatter(%x, %u, -1, 0, 2)"},
    {"index_copy", "%x: f32[4,3], %i: i64[2], %u: f32[4,2]",
     "%y: f32[4,3] = index_copy(%x, -1, %i, %u)"},
    {"index_copy", "%x: f32[5], %i: i64[1], %u: f32[1]", "%y: f32[5] = index_copy(%x, 0, %i, %u)"},
    {"index_add", "%x: f32[4,3], %i: i64[3], %u: f32[3,3]",
     "%y: f32[4,3] = index_add(%x, 0, %i, %u, alpha=2)"},
    {"index_fill.int_Scalar", "%x: f32[4,3], %i: i64[2]",
     "%y: f32[4,3] = index_fill.int_Scalar(%x, 1, %i, 2.5)"},
    {"index_fill.int_Tensor", "%x: f32[4], %i: i64[2], %u: f32[]",
     "%y: f32[4] = index_fill.int_Tensor(%x, 0, %i, %u)"},
    {"index_put", "%x: f32[4], %i: i64[1], %u: f32[1]",
     "%y: f32[4] = index_put(%x, [%i], %u, True)"},
    {"index_put", "%x: f32[4,3], %i: i64[1], %u: f32[]",
     "%y: f32[4,3] = index_put(%x, [None, %i], %u, True)"},
    {"index_put", "%x: f32[4,3], %i: i64[2], %u: f32[2]",
     "%y: f32[4,3] = index_put(%x, [%i, %i], %u)"},
    {"index_put", "%x: f32[4,3,2], %i: i64[5], %u: f32[]",
     "%y: f32[4,3,2] = index_put(%x, [None, %i], %u)"},
    {"diff", "%x: f32[3,5], %u: f32[3,1]", "%y: f32[3,4] = diff(%x, 2, -1, %u)"},
    {"diff", "%x: bool[7]", "%y: bool[6] = diff(%x)"},
    {"unfold_copy", "%x: f32[2,5,3]", "%y: f32[2,1,3,3] = unfold_copy(%x, 1, 3, 4)"},
    {"split_copy.Tensor", "%x: f32[7,2]",
     "[%y: f32[3,2], %z: f32[3,2], %w: f32[1,2]] = split_copy.Tensor(%x, 3)"},
    {"instance_norm", "%x: f32[2,3,4]",
     "%y: f32[2,3,4] = instance_norm(%x, None, None, None, None, True, 0.1, 1e-05, False)"},
    {"_native_batch_norm_legit_functional",
     "%x: f32[4,3,2], %w: f32[3], %b: f32[3], %m: f32[3], %v: f32[3]",
     "%y: f32[4,3,2], %s: f32[3], %t: f32[3], %n: f32[3], %u: f32[3] = "
     "_native_batch_norm_legit_functional(%x, %w, %b, %m, %v, True, 0.1, 1e-05)"},
    {"_foreach_add.List", "%x: f32[3], %u: f32[3], %v: f32[2], %w: f32[2]",
     "[%y: f32[3], %z: f32[2]] = _foreach_add.List([%x, %v], [%u, %w], alpha=2)"},
    {"conv2d", "%x: f32[1,2,2,2], %w: f32[2,1,3,3]",
     "%y: f32[1,2,1,1] = conv2d(%x, %w, None, [2, 2], [1, 1], [1, 1], 2)"},
    {"scaled_dot_product_attention",
     "%x: f32[1,2,4,8], %k: f32[1,2,4,8], %v: f32[1,2,4,8], %m: f32[4,4]",
     "%y: f32[1,2,4,8] = scaled_dot_product_attention(%x, %k, %v, %m)"},
    {"select_scatter", "%x: f32[3,4], %u: f32[3]", "%y: f32[3,4] = select_scatter(%x, %u, 1, -2)"},
};

enum { WAYS = sizeof ways / sizeof *ways };

static void fill(const fnz_array *a, void *data, uint64_t *seed) {
  for (size_t i = 0; i < a->bytes / fnz_dtype_get_info(a->dtype)->bytes; i++) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    double number = (double)(*seed >> 40) / (1 << 24);
    if (a->dtype == FNZ_F32)
      ((float *)data)[i] = (float)(number * 2 - 0.5); /* mostly above 0, as a variance is */
    else if (a->dtype == FNZ_I64)
      ((int64_t *)data)[i] = 2 - (int64_t)i; /* different places, the last ones negative */
    else
      ((uint8_t *)data)[i] = number > 0.5;
  }
}

static fnz_arrays *inputs_of(const fnz_program *p) {
  const fnzi_graph *g = fnzi_graph_main(p);
  fnz_arrays *out;
  uint64_t seed = 7;
  OK(ctx, fnz_arrays_create(ctx, &out));
  for (uint32_t k = 0; k < g->ninputs; k++) {
    const fnzi_value *v = fnzi_value_at(p, 0, g->inputs[k].u.value);
    void *data;
    OK(ctx, fnz_arrays_add(out, v->name, v->geometry->dtype, v->geometry->rank, v->geometry->sizes,
                           &data));
    fill(fnz_arrays_at(out, k), data, &seed);
  }
  return out;
}

static fnz_arrays *run(const fnz_program *p, const fnz_arrays *inputs) {
  fnz_arrays *out;
  fnz_backend *cpu;
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  OK(ctx, fnz_arrays_create(ctx, &out));
  OK(ctx, fnz_run(ctx, p, cpu, inputs, NULL, out));
  fnz_backend_destroy(cpu);
  return out;
}

static void expect_alike(const fnz_arrays *want, const fnz_arrays *got, const char *call) {
  ck_assert_uint_eq(fnz_arrays_count(want), fnz_arrays_count(got));
  for (size_t i = 0; i < fnz_arrays_count(want); i++) {
    const fnz_array *a = fnz_arrays_at(want, i), *b = fnz_arrays_find(got, a->name);
    ck_assert_ptr_nonnull(b);
    ck_assert_uint_eq(a->bytes, b->bytes);
    for (size_t k = 0; a->dtype == FNZ_F32 && k < a->bytes / 4; k++) {
      double x = ((const float *)a->data)[k], y = ((const float *)b->data)[k];
      if (!(fabs(x - y) <= 1e-5 * (1 + fabs(x))))
        ck_abort_msg("%s: %s[%zu] is %g, not %g", call, a->name, k, y, x);
    }
    if (a->dtype != FNZ_F32)
      ck_assert_mem_eq(a->data, b->data, a->bytes);
  }
}

static size_t count_of(const fnz_program *p, const char *name) {
  size_t found = 0;
  for (size_t i = 0; i < fnz_node_count(p, 0); i++)
    found += strcmp(fnzi_node_target(fnzi_node_at(p, 0, (uint32_t)i)), name) == 0;
  return found;
}

static fnz_program *for_mlir(const fnz_program *p) {
  fnz_program *functional, *made;
  fnz_decompose_options o = FNZ_DECOMPOSE_OPTIONS_INIT;
  o.set = "mlir";
  OK(ctx, fnz_functionalize(ctx, p, NULL, &functional));
  OK(ctx, fnz_decompose(ctx, functional, &o, &made));
  fnz_program_destroy(functional);
  return made;
}

/* The call, and a return of all that it gives. */
static void body_of(const char *call, char *out, size_t capacity) {
  size_t used = (size_t)snprintf(out, capacity, "%s\n  return", call);
  const char *stop = strstr(call, " = ");
  for (const char *s = strchr(call, '%'); s && s < stop; s = strchr(s + 1, '%'))
    used += (size_t)snprintf(out + used, capacity - used, "%s %.*s",
                             s == strchr(call, '%') ? "" : ",", (int)strcspn(s, ":"), s);
}

/* These keep their operator, for other arguments. */
static bool stays(const char *name) {
  static const char *const names[] = {"conv2d", "instance_norm", "select_scatter",
                                      "scaled_dot_product_attention"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i], name) == 0)
      return true;
  return false;
}

/* More nodes than the one, or another index. */
static bool is_mended(const fnz_program *p) {
  const fnzi_node *n = fnzi_node_at(p, 0, 0);
  return fnz_node_count(p, 0) > 1 || (n->nargs == 4 && n->args[3].u.i >= 0);
}

START_TEST(ways_compute_the_same) {
  begin();
  for (size_t i = 0; i < WAYS; i++) {
    char body[512];
    body_of(ways[i].call, body, sizeof body);
    fnz_program *p = program_of(ctx, ways[i].inputs, body), *made = for_mlir(p);
    fnz_arrays *inputs = inputs_of(p), *want = run(p, inputs), *got = run(made, inputs);
    ck_assert_msg(stays(ways[i].gone) ? is_mended(made) : !count_of(made, ways[i].gone),
                  "%s is as it was", ways[i].call);
    expect_alike(want, got, ways[i].call);
    fnz_arrays_destroy(inputs);
    fnz_arrays_destroy(want);
    fnz_arrays_destroy(got);
    fnz_program_destroy(p);
    fnz_program_destroy(made);
  }
  end();
}
END_TEST

/* --- names ------------------------------------------------------------------------------------ */
START_TEST(names_of_the_dialect) {
  ck_assert_str_eq(fnz_mlir_op_name(fnz_op_find(NULL, "view_copy")), "aten.view");
  ck_assert_str_eq(fnz_mlir_op_name(fnz_op_find(NULL, "add.Tensor")), "aten.add.Tensor");
  ck_assert_str_eq(fnz_mlir_op_name(fnz_op_find(NULL, "__or__.Tensor")), "aten.bitwise_or.Tensor");
  ck_assert_str_eq(fnz_mlir_op_name(fnz_op_find(NULL, "_to_copy")), "aten._to_copy");
  ck_assert_str_eq(fnz_mlir_op_name(fnz_op_find(NULL, "slice_scatter")), "aten.slice_scatter");
  ck_assert_ptr_null(fnz_mlir_op_name(fnz_op_find(NULL, "polygamma")));
  ck_assert_ptr_null(fnz_mlir_op_name(fnz_op_find(NULL, "as_strided_copy"))); /* not lowered */
  ck_assert(fnzi_mlir_is_check(fnz_op_find(NULL, "_assert_scalar")));
  /* Found by halves, so sorted: every name is found. */
  size_t found = 0;
  for (size_t i = 0; i < fnz_op_count(); i++)
    found += fnz_mlir_op_name(fnz_op_at(i)) != NULL;
  ck_assert_uint_gt(found, 600);
}
END_TEST

#define MLIR_VERSION(version)
#define MLIR_OP(name) name,
static const char *const rows[] = {
#include "schema/facts/mlir.def"
};
#undef MLIR_VERSION
#undef MLIR_OP

START_TEST(rows_are_sorted) {
  for (size_t i = 1; i < sizeof rows / sizeof *rows; i++)
    ck_assert_msg(strcmp(rows[i - 1], rows[i]) < 0, "%s is out of order", rows[i]);
}
END_TEST

/* --- weights ---------------------------------------------------------------------------------- */
static const char with_weights[] = "%w: f32[3,2] stride(1,3) offset(1) parameter \"a.w\",\n"
                                   "%n: bool[3] buffer \"n\",\n%h: f32[2] parameter \"unused\",\n"
                                   "%x: f32[3,2]";

static fnz_status add_weight(fnz_program *p, uint32_t input, size_t bytes) {
  fnzi_blob *blob;
  FNZ_TRY(fnzi_blob_create(p->ctx, bytes, &blob));
  for (size_t i = 0; i < bytes; i++)
    ((unsigned char *)fnzi_blob_data(blob))[i] =
        bytes == 3 ? (unsigned char)(i & 1) : (unsigned char)i;
  fnz_status status =
      fnzi_weight_add(p, p->inputs[input].target, blob,
                      fnzi_value_at(p, 0, fnzi_graph_main(p)->inputs[input].u.value)->geometry);
  fnzi_blob_release(blob);
  return status;
}

static fnz_status weighted(fnz_context *c, fnz_program **out) {
  fnz_buffer text = {0};
  *out = NULL;
  fnz_status status = fnzi_printf(c, &text,
                                  "fnz 1\nprogram(%s)\n{\n"
                                  "  %%y: f32[3,2] = add.Tensor(%%x, %%w)\n"
                                  "  %%m: bool[3] = logical_not(%%n)\n"
                                  "  return %%m buffer_mutation \"n\", %%y\n}\n",
                                  with_weights);
  if (status == FNZ_OK)
    status = fnz_program_read(c, text.data, text.size, FNZ_FORMAT_TEXT, out);
  fnz_buffer_free(c, &text);
  if (status == FNZ_OK)
    status = add_weight(*out, 0, 28);
  if (status == FNZ_OK)
    status = add_weight(*out, 1, 3);
  return status == FNZ_OK ? add_weight(*out, 2, 8) : status;
}

START_TEST(weights_are_compact) {
  fnz_program *p;
  fnz_buffer text = {0}, file = {0};
  fnz_arrays *arrays;
  begin();
  OK(ctx, weighted(ctx, &p));
  OK(ctx, fnz_mlir_write(ctx, p, NULL, &text, &file));
  OK(ctx, fnz_arrays_read_safetensors(ctx, file.data, file.size, &arrays));
  const fnz_array *w = fnz_arrays_find(arrays, "a.w");
  ck_assert_uint_eq(fnz_arrays_count(arrays), 2); /* unused weights are left out */
  ck_assert_uint_eq(w->bytes, 24);
  static const unsigned char first_bytes[] = {4, 16, 8, 20, 12, 24};
  for (size_t i = 0; i < 6; i++)
    ck_assert_uint_eq(((const unsigned char *)w->data)[4 * i], first_bytes[i]);
  uint64_t header;
  memcpy(&header, file.data, 8);
  ck_assert_uint_eq((8 + header) % 64, 0);
  ck_assert_ptr_nonnull(
      strstr(text.data, "#flow.parameter.named<\"model\"::\"a.w\"> : tensor<3x2xf32>"));
  ck_assert_ptr_nonnull(
      strstr(text.data, "// argument 0: buffer \"n\"\n// argument 1: user \"x\""));
  fnz_arrays_destroy(arrays);
  fnz_buffer_free(ctx, &text);
  fnz_buffer_free(ctx, &file);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* A c64 weight with strides: its bytes are the bytes of pairs, in its own order. */
START_TEST(complex_weights_are_pairs) {
  fnz_buffer text = {0}, file = {0};
  fnz_arrays *arrays;
  begin();
  fnz_program *p = program_of(ctx, "%w: c64[2,2] stride(1,2) parameter \"w\"",
                              "  %y: f32[2,2,2] = view_as_real_copy(%w)\n  return %y");
  OK(ctx, add_weight(p, 0, 32));
  OK(ctx, fnz_mlir_write(ctx, p, NULL, &text, &file));
  OK(ctx, fnz_arrays_read_safetensors(ctx, file.data, file.size, &arrays));
  const fnz_array *w = fnz_arrays_find(arrays, "w");
  ck_assert_int_eq(w->dtype, FNZ_F32);
  ck_assert_uint_eq(w->rank, 3);
  static const unsigned char first_bytes[] = {0, 4, 16, 20, 8, 12, 24, 28};
  for (size_t i = 0; i < 8; i++)
    ck_assert_uint_eq(((const unsigned char *)w->data)[4 * i], first_bytes[i]);
  ck_assert_ptr_nonnull(strstr(text.data, "\"w\"> : tensor<2x2x2xf32>"));
  ck_assert_ptr_nonnull(strstr(text.data, "return %w : !torch.vtensor<[2,2,2],f32>"));
  fnz_arrays_destroy(arrays);
  fnz_buffer_free(ctx, &text);
  fnz_buffer_free(ctx, &file);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* Dimension by dimension; of one without dimensions the value alone. */
static const struct {
  const char *type, *literal;
  size_t bytes;
} truths[] = {
    {"bool[]", "dense<true> : tensor<i1>", 1},
    {"bool[3]", "dense<[true, false, false]> : tensor<3xi1>", 3},
    {"bool[2,3]", "dense<[[true, false, false], [true, false, false]]> : tensor<2x3xi1>", 6},
    {"bool[2,1,2]", "dense<[[[true, false]], [[false, true]]]> : tensor<2x1x2xi1>", 4},
};

START_TEST(truth_values_are_spelled_out) {
  for (size_t k = 0; k < sizeof truths / sizeof *truths; k++) {
    char inputs[64];
    fnzi_blob *blob;
    fnz_buffer text = {0};
    fnz_mlir_options o = FNZ_MLIR_OPTIONS_INIT;
    begin();
    snprintf(inputs, sizeof inputs, "%%n: %s parameter \"n\"", truths[k].type);
    fnz_program *p = program_of(ctx, inputs, "  return %n");
    OK(ctx, fnzi_blob_create(ctx, truths[k].bytes, &blob));
    for (size_t i = 0; i < truths[k].bytes; i++)
      ((unsigned char *)fnzi_blob_data(blob))[i] = i % 3 == 0;
    OK(ctx, fnzi_weight_add(p, "n", blob, fnzi_value_at(p, 0, 0)->geometry));
    fnzi_blob_release(blob);
    o.weights = FNZ_MLIR_WEIGHTS_INLINE;
    OK(ctx, fnz_mlir_write(ctx, p, &o, &text, NULL));
    ck_assert_msg(strstr(text.data, truths[k].literal), "no %s in %s", truths[k].literal,
                  text.data);
    fnz_buffer_free(ctx, &text);
    fnz_program_destroy(p);
    end();
  }
}
END_TEST

static void expect_text(const char *path, const char *want) {
  fnz_buffer b;
  OK(ctx, fnz_file_read(ctx, path, &b));
  if (want)
    ck_assert_str_eq(b.data, want);
  fnz_buffer_free(ctx, &b);
}

START_TEST(both_files_or_none) {
  fnz_program *p;
  fnz_buffer text = {0};
  begin();
  OK(ctx, weighted(ctx, &p));
  OK(ctx, fnz_mlir_write(ctx, p, NULL, &text, NULL));
  OK(ctx, fnz_mlir_save(ctx, p, NULL, text_path));
  expect_text(text_path, text.data);
  expect_text(weights_path, NULL);
  unlink(weights_path); /* the second file cannot be written: the first stays as it was */
  ck_assert_int_eq(mkdir(weights_path, 0777), 0);
  OK(ctx, fnz_file_write(ctx, text_path, "before", 6));
  FAILS(ctx, "IO", fnz_mlir_save(ctx, p, NULL, text_path));
  expect_text(text_path, "before");
  ck_assert_int_eq(rmdir(weights_path), 0);
  unlink(text_path);
  OK(ctx, fnz_mlir_save(ctx, p, NULL, text_path));
  unlink(text_path);
  ck_assert_int_eq(mkdir(text_path, 0777), 0);
  FAILS(ctx, "IO", fnz_mlir_save(ctx, p, NULL, text_path));
  expect_text(weights_path, NULL);
  ck_assert_int_eq(rmdir(text_path), 0);
  OK(ctx, fnz_file_write(ctx, weights_path, "somebody's own", 14));
  FAILS(ctx, "IO", fnz_mlir_save(ctx, p, NULL, text_path));
  expect_text(weights_path, "somebody's own");
  FAILS(ctx, "ARGUMENT", fnz_mlir_save(ctx, p, NULL, "-"));
  fnz_buffer_free(ctx, &text);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* --- forms of state --------------------------------------------------------------------------- */
START_TEST(forms_of_state) {
  static const char *const wanted[][2] = {
      {"-> (!torch.vtensor<[3],i1>, !torch.vtensor<[3,2],f32>)", "%n: !torch.vtensor<[3],i1>"},
      {"util.global.store %.f1, @\"n\" : tensor<3xi1>", "util.global private mutable @\"n\""},
      {"torch.overwrite.tensor.contents %m overwrites %.m1 : !torch.vtensor<[3],i1>, "
       "!torch.tensor<[3],i1>",
       "%n = torch.copy.to_vtensor %.m1"}};
  fnz_program *p;
  begin();
  OK(ctx, weighted(ctx, &p));
  for (int state = 0; state < FNZ_MLIR_STATE_COUNT; state++) {
    fnz_mlir_options o = FNZ_MLIR_OPTIONS_INIT;
    fnz_buffer text = {0}, again = {0};
    o.state = (fnz_mlir_state)state;
    OK(ctx, fnz_mlir_write(ctx, p, &o, &text, NULL));
    OK(ctx, fnz_mlir_write(ctx, p, &o, &again, NULL));
    ck_assert_str_eq(text.data, again.data);
    for (int i = 0; i < 2; i++)
      ck_assert_msg(strstr(text.data, wanted[state][i]) != NULL, "no %s in %s", wanted[state][i],
                    text.data);
    fnz_buffer_free(ctx, &text);
    fnz_buffer_free(ctx, &again);
  }
  fnz_program_destroy(p);
  end();
}
END_TEST

static fnz_status write_once(fnz_context *c, const void *user) {
  fnz_program *p;
  fnz_buffer text = {0}, file = {0};
  fnz_mlir_options o = FNZ_MLIR_OPTIONS_INIT;
  (void)user;
  fnz_status status = weighted(c, &p);
  o.weights = FNZ_MLIR_WEIGHTS_INLINE;
  if (status == FNZ_OK)
    status = fnz_mlir_write(c, p, &o, &text, &file);
  if (status == FNZ_OK)
    status = fnz_mlir_save(c, p, NULL, text_path);
  fnz_buffer_free(c, &text);
  fnz_buffer_free(c, &file);
  fnz_program_destroy(p);
  return status;
}

START_TEST(no_memory_anywhere) {
  begin();
  ck_assert_uint_gt(each_fault(write_once, NULL), 50);
  end();
}
END_TEST

/* --- several functions ------------------------------------------------------------------------ */
#define CACHE_OF(shape, at)                                                                        \
  "fnz 1\nweight \"kc\": f32[" shape "]\nprogram(\n  %b_kc: f32[" shape                            \
  "] buffer \"kc\",\n  %x: f32[2])\n{\n  %w: f32[2] = select.int(%b_kc, 0, " at                    \
  ")\n  %y: f32[2] = copy_(%w, %x)\n  return %b_kc\n}\n"

static fnz_program *functional_text(const char *text) {
  fnz_program *p, *f;
  OK(ctx, fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_TEXT, &p));
  OK(ctx, fnz_functionalize(ctx, p, NULL, &f));
  fnz_program_destroy(p);
  return f;
}

static size_t times(const char *text, const char *word) {
  size_t count = 0;
  for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
    count++;
  return count;
}

START_TEST(functions_share_their_state) {
  begin();
  fnz_mlir_options options = FNZ_MLIR_OPTIONS_INIT;
  fnz_buffer text = {0};
  fnz_program *a = functional_text(CACHE_OF("4,2", "0")),
              *b = functional_text(CACHE_OF("4,2", "1")),
              *c = functional_text(CACHE_OF("5,2", "1"));
  const fnz_method methods[] = {{"prefill", a}, {"decode", b}},
                   bad[] = {{"prefill", a}, {"more", c}}, twice[] = {{"f", a}, {"f", b}};
  options.state = FNZ_MLIR_STATE_GLOBALS;
  OK(ctx, fnz_mlir_write_methods(ctx, methods, 2, &options, &text, NULL));
  ck_assert_uint_eq(times(text.data, "util.global private mutable @\"kc\""), 1);
  ck_assert_uint_eq(times(text.data, "util.global private"), 1);
  ck_assert_uint_eq(times(text.data, "util.global.store"), 2);
  ck_assert_uint_eq(times(text.data, "func.func @prefill("), 1);
  ck_assert_uint_eq(times(text.data, "func.func @decode("), 1);
  fnz_buffer_free(ctx, &text);
  FAILS(ctx, "DIFFERENT", fnz_mlir_write_methods(ctx, bad, 2, &options, &text, NULL));
  ck_assert_ptr_nonnull(
      strstr(fnz_last_error(ctx)->message, "f32[5,2] in more and f32[4,2] in prefill"));
  fnz_buffer_free(ctx, &text);
  ck_assert_int_eq(fnz_mlir_write_methods(ctx, twice, 2, &options, &text, NULL), FNZ_BAD_ARGUMENT);
  FAILS(ctx, "REF", fnz_program_rename_weight(ctx, c, "none", "kd"));
  OK(ctx, fnz_program_rename_weight(ctx, c, "kc", "kd"));
  OK(ctx, fnz_program_verify(ctx, c));
  OK(ctx, fnz_mlir_write_methods(ctx, bad, 2, &options, &text, NULL));
  ck_assert_uint_eq(times(text.data, "util.global private mutable"), 2);
  fnz_buffer_free(ctx, &text);
  fnz_program_destroy(a);
  fnz_program_destroy(b);
  fnz_program_destroy(c);
  end();
}
END_TEST

RUN_SUITE("mlir", functions_share_their_state, ways_compute_the_same, names_of_the_dialect,
          rows_are_sorted, weights_are_compact, complex_weights_are_pairs,
          truth_values_are_spelled_out, both_files_or_none, forms_of_state, no_memory_anywhere)
