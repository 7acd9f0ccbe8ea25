/* checks: 24
 * pt2_write_test.c - programs as .pt2: a written program is read back as the same program, the
 * file's other members stay, and programs that the format cannot hold are refused. */
#include "program/formats/json_out.h"
#include "program/formats/formats.h"
#include "program/formats/crc.h"
#include "program/formats/zip_out.h"
#include "program/program.h"
#include "tests/help/archive.h"
#include "tests/help/context.h"
#include "tests/help/faults.h"

#include <fnz/functionalize.h>
#include <math.h>

static fnz_program *read_bytes(const void *data, size_t size) {
  fnz_program *p;
  OK(ctx, fnz_program_read(ctx, data, size, FNZ_FORMAT_AUTO, &p));
  return p;
}

static fnz_program *read_fixture(const char *name) {
  bytes file = load_fixture(name);
  fnz_program *p = read_bytes(file.data, file.size);
  free(file.data);
  return p;
}

static fnz_buffer write_as(const fnz_program *p, fnz_format format) {
  fnz_buffer out = {0};
  OK(ctx, fnz_program_write(ctx, p, format, &out));
  return out;
}

static void same_buffers(fnz_buffer a, fnz_buffer b) {
  ck_assert_uint_eq(a.size, b.size);
  ck_assert_mem_eq(a.data, b.data, a.size);
  fnz_buffer_free(ctx, &a);
  fnz_buffer_free(ctx, &b);
}

static void has(const char *text, const char *part) {
  ck_assert_msg(strstr(text, part) != NULL, "no %s in %.4000s", part, text);
}

static void has_not(const char *text, const char *part) {
  ck_assert_msg(!strstr(text, part), "%s in %.4000s", part, text);
}

static void must_refuse(fnz_program *p, const char *class_name, const char *says) {
  fnz_buffer out = {0};
  FAILS(ctx, class_name, fnz_program_write(ctx, p, FNZ_FORMAT_PT2, &out));
  has(fnz_last_error(ctx)->message, says);
  fnz_buffer_free(ctx, &out);
  fnz_program_destroy(p);
}

/* --- pieces ----------------------------------------------------------------------------------- */
static void float_is(double value, const char *text) {
  fnz_buffer out = {0};
  fnzi_json_out w = {.ctx = ctx, .out = &out};
  OK(ctx, fnzi_json_out_float(&w, value));
  ck_assert_str_eq(out.data, text);
  fnz_buffer_free(ctx, &out);
}

START_TEST(floats_are_those_of_python) {
  begin();
  float_is(0, "0.0");
  float_is(-0.0, "-0.0");
  float_is(1, "1.0");
  float_is(0.1, "0.1");
  float_is(1e-05, "1e-05");
  float_is(0.0001, "0.0001");
  float_is(-123.456, "-123.456");
  float_is(1e15, "1000000000000000.0");
  float_is(1e16, "1e+16");
  float_is(1.5e300, "1.5e+300");
  float_is(5e-324, "5e-324");
  float_is(0.30000000000000004, "0.30000000000000004");
  float_is(123456789012345680, "1.2345678901234568e+17");
  float_is((double)NAN, "\"NaN\"");
  float_is((double)INFINITY, "\"Infinity\"");
  float_is(-(double)INFINITY, "\"-Infinity\"");
  end();
}
END_TEST

START_TEST(strings_are_ascii) {
  static const char text[] = "a\"\\\n\t\x01\x7f\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
  fnz_buffer out = {0};
  begin();
  fnzi_json_out w = {.ctx = ctx, .out = &out};
  OK(ctx, fnzi_json_open(&w, '['));
  OK(ctx, fnzi_json_out_string(&w, text, sizeof text - 1));
  OK(ctx, fnzi_json_out_int(&w, INT64_MIN));
  OK(ctx, fnzi_json_close(&w, ']'));
  ck_assert_str_eq(out.data, "[\"a\\\"\\\\\\n\\t\\u0001\\u007f\\u00e9\\u20ac\\ud83d\\ude00\", "
                             "-9223372036854775808]");
  fnz_buffer_free(ctx, &out);
  end();
}
END_TEST

START_TEST(trees_are_written_back) {
  static const char text[] =
      "{\"a\": [1, [], {}, null, {\"b\": [true]}], \"c\": -0.5, \"d\": \"x\"}";
  fnz_buffer out = {0};
  fnzi_arena arena;
  fnzi_json_doc doc;
  begin();
  fnzi_arena_init(&arena, ctx);
  OK(ctx, fnzi_json_parse(&arena, "t", text, sizeof text - 1, &doc));
  fnzi_json_out w = {.ctx = ctx, .out = &out};
  OK(ctx, fnzi_json_out_tree(&w, doc.root));
  ck_assert_str_eq(out.data, text);
  out.size = 0;
  w.follows = false;
  OK(ctx, fnzi_json_out_tree(&w, fnzi_json_find(doc.root, "a")));
  ck_assert_str_eq(out.data, "[1, [], {}, null, {\"b\": [true]}]");
  fnz_buffer_free(ctx, &out);
  fnzi_arena_free(&arena);
  end();
}
END_TEST

/* Bit after bit. */
static uint32_t slow_crc(const char *bytes, size_t size) {
  uint32_t crc = UINT32_MAX;
  for (size_t i = 0; i < 8 * size; i++) {
    uint32_t bit = (crc ^ (uint32_t)(unsigned char)bytes[i / 8] >> i % 8) & 1;
    crc = crc >> 1 ^ (bit ? 0xedb88320u : 0);
  }
  return ~crc;
}

START_TEST(checksums) {
  char many[5000];
  ck_assert_uint_eq(fnzi_crc32(0, "123456789", 9), 0xcbf43926u);
  ck_assert_uint_eq(fnzi_crc32(fnzi_crc32(0, "1234", 4), "56789", 5), 0xcbf43926u);
  for (size_t i = 0; i < sizeof many; i++)
    many[i] = (char)(i * 7);
  uint32_t whole = fnzi_crc32(0, many, sizeof many), parts = 0;
  for (size_t i = 0; i < sizeof many; i += 1000)
    parts = fnzi_crc32(parts, many + i, 1000);
  ck_assert_uint_eq(whole, parts);
  for (size_t size = 0; size < 400; size++)
    for (size_t from = 0; from < 3; from++)
      ck_assert_uint_eq(fnzi_crc32(0, many + from, size), slow_crc(many + from, size));
  for (size_t cut = 0; cut <= 400; cut += 7)
    ck_assert_uint_eq(fnzi_crc32(fnzi_crc32(0, many, cut), many + cut, 400 - cut),
                      slow_crc(many, 400));
}
END_TEST

/* --- programs as they were read --------------------------------------------------------------- */
static const char *const fixtures[] = {"alias_001.pt2",       "alias_003.pt2",
                                       "batchnorm_train.pt2", "cond_local_mutation.pt2",
                                       "dynamic_slices.pt2",  "kv_cache.pt2"};
enum { FIXTURES = sizeof fixtures / sizeof *fixtures };

START_TEST(reads_back_what_it_wrote) {
  for (int i = 0; i < FIXTURES; i++) {
    begin();
    fnz_program *p = read_fixture(fixtures[i]), *q = read_again(p, FNZ_FORMAT_PT2);
    same_buffers(write_as(p, FNZ_FORMAT_TEXT), write_as(q, FNZ_FORMAT_TEXT));
    same_buffers(write_as(p, FNZ_FORMAT_PT2), write_as(q, FNZ_FORMAT_PT2));
    fnz_program_destroy(p);
    fnz_program_destroy(q);
    end();
  }
}
END_TEST

/* The members of the model that was read and of the model that is written, as text each. */
static void same_member(const fnzi_json_doc *a, const fnzi_json_doc *b, const char *key) {
  const fnzi_json *x = fnzi_json_find(a->root, key), *y = fnzi_json_find(b->root, key);
  fnz_buffer s = {0}, t = {0};
  fnzi_json_out v = {.ctx = ctx, .out = &s}, w = {.ctx = ctx, .out = &t};
  ck_assert_ptr_nonnull(x);
  ck_assert_ptr_nonnull(y);
  OK(ctx, fnzi_json_out_tree(&v, x));
  OK(ctx, fnzi_json_out_tree(&w, y));
  ck_assert_str_eq(s.data, t.data);
  fnz_buffer_free(ctx, &s);
  fnz_buffer_free(ctx, &t);
}

static void parse_model(fnzi_arena *arena, bytes file, fnzi_json_doc *out) {
  archive a;
  unpack(file, &a);
  record *model = find_record(&a, "models/model.json");
  OK(ctx, fnzi_json_parse(arena, "model", model->bytes, model->size, out));
  free_archive(&a);
}

START_TEST(members_stay_as_they_were) {
  static const char *const keys[] = {"opset_version", "range_constraints", "schema_version",
                                     "verifiers",     "torch_version",     "guards_code"};
  for (int i = 0; i < FIXTURES; i++) {
    begin();
    fnzi_arena arena;
    fnzi_json_doc before, after;
    fnzi_arena_init(&arena, ctx);
    bytes file = load_fixture(fixtures[i]);
    fnz_program *p = read_bytes(file.data, file.size);
    fnz_buffer out = write_as(p, FNZ_FORMAT_PT2);
    parse_model(&arena, file, &before);
    parse_model(&arena, (bytes){out.data, out.size}, &after);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
      same_member(&before, &after, keys[k]);
    before.root = fnzi_json_find(before.root, "graph_module");
    after.root = fnzi_json_find(after.root, "graph_module");
    same_member(&before, &after, "module_call_graph");
    same_member(&before, &after, "signature");
    before.root = fnzi_json_find(before.root, "graph");
    after.root = fnzi_json_find(after.root, "graph");
    same_member(&before, &after, "tensor_values");
    same_member(&before, &after, "sym_int_values");
    same_member(&before, &after, "inputs");
    same_member(&before, &after, "outputs");
    fnzi_arena_free(&arena);
    fnz_buffer_free(ctx, &out);
    fnz_program_destroy(p);
    free(file.data);
    end();
  }
}
END_TEST

START_TEST(records_stay_as_they_were) {
  begin();
  archive before, after;
  bytes file = load_fixture("batchnorm_train.pt2");
  fnz_program *p = made_functional(read_bytes(file.data, file.size));
  fnz_buffer out = write_as(p, FNZ_FORMAT_PT2);
  unpack(file, &before);
  unpack((bytes){out.data, out.size}, &after);
  ck_assert_uint_eq(after.count + 1, before.count); /* without serialization_id, the last one */
  for (size_t i = 0; i < after.count; i++) {
    ck_assert_str_eq(after.records[i].name, before.records[i].name);
    if (strstr(after.records[i].name, "models/"))
      continue;
    ck_assert_uint_eq(after.records[i].size, before.records[i].size);
    ck_assert_mem_eq(after.records[i].bytes, before.records[i].bytes, after.records[i].size);
  }
  free_archive(&before);
  free_archive(&after);
  free(file.data);
  fnz_buffer_free(ctx, &out);
  fnz_program_destroy(p);
  end();
}
END_TEST

static size_t number_at(const char *p, int count) {
  size_t n = 0;
  while (count--)
    n = n << 8 | (unsigned char)p[count];
  return n;
}

START_TEST(data_is_aligned) {
  begin();
  fnz_program *p = read_fixture("kv_cache.pt2");
  fnz_buffer out = write_as(p, FNZ_FORMAT_PT2);
  size_t at = 0, records = 0;
  for (; number_at(out.data + at, 4) == 0x04034b50; records++) {
    size_t data = at + 30 + number_at(out.data + at + 26, 2) + number_at(out.data + at + 28, 2);
    ck_assert_uint_eq(data % 64, 0);
    at = data + number_at(out.data + at + 18, 4);
  }
  ck_assert_uint_gt(records, 10);
  fnz_buffer_free(ctx, &out);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* --- functional programs ---------------------------------------------------------------------- */
START_TEST(the_signature_names_final_values) {
  begin();
  fnz_program *p = made_functional(read_fixture("batchnorm_train.pt2"));
  fnz_buffer json = write_as(p, FNZ_FORMAT_JSON);
  has(json.data, "\"output_specs\": [{\"buffer_mutation\": {\"arg\": {\"name\": ");
  has(json.data, "\"buffer_name\": \"b.running_mean\"}}");
  has(json.data, "{\"user_output\": {\"arg\": {\"as_tensor\": {\"name\": \"linear\"}}}}]");
  has(json.data, "\"verifiers\": [\"ATEN\"]");
  has(json.data, "\"nn_module_stack\": \"L__self__,,__main__.Train;L__self__b,b,torch");
  has(json.data, "\"requires_grad\": true");
  has_not(json.data, "torch.ops.aten.add_.");
  fnz_program *q = read_bytes(json.data, json.size), *r = read_again(p, FNZ_FORMAT_PT2);
  ck_assert_uint_eq(fnz_node_count(q, 0), fnz_node_count(p, 0));
  OK(ctx, fnz_program_verify(ctx, r));
  for (size_t k = 0; k < fnz_node_count(p, 0); k++) {
    fnz_buffer a = {0}, b = {0};
    OK(ctx, fnzi_write_node(ctx, p, 0, (uint32_t)k, &a));
    OK(ctx, fnzi_write_node(ctx, r, 0, (uint32_t)k, &b));
    ck_assert_str_eq(a.data, b.data);
    fnz_buffer_free(ctx, &a);
    fnz_buffer_free(ctx, &b);
  }
  fnz_buffer_free(ctx, &json);
  fnz_program_destroy(p);
  fnz_program_destroy(q);
  fnz_program_destroy(r);
  end();
}
END_TEST

/* "2*s2": PyTorch cannot decompose a program that has one, and it follows from that of "s2". */
START_TEST(ranges_of_expressions_are_left_out) {
  begin();
  fnz_program *p = read_fixture("dynamic_slices.pt2");
  fnz_buffer before = write_as(p, FNZ_FORMAT_JSON);
  has(before.data, "\"2*s2\": {\"min_val\": 8");
  p = made_functional(p);
  fnz_buffer json = write_as(p, FNZ_FORMAT_JSON);
  has_not(json.data, "\"2*s2\"");
  has(json.data, "\"range_constraints\": {\"s77\": {\"min_val\": 4, \"max_val\": 4096}, \"s2\": "
                 "{\"min_val\": 4, \"max_val\": 2048}}");
  fnz_buffer_free(ctx, &before);
  fnz_buffer_free(ctx, &json);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* A written constant that the caller holds is a plain input, and no constant of the file. */
START_TEST(constants_that_became_inputs_are_left_out) {
  begin();
  fnz_functionalize_options o = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_program *p = read_fixture("written_constant.pt2"), *made;
  archive a;
  o.state = FNZ_STATE_IO;
  OK(ctx, fnz_functionalize(ctx, p, &o, &made));
  for (int is_made = 0; is_made < 2; is_made++) {
    fnz_buffer out = write_as(is_made ? made : p, FNZ_FORMAT_PT2);
    unpack((bytes){out.data, out.size}, &a);
    const record *config = find_record(&a, "model_constants_config.json");
    const char *named = strstr(config->bytes, "\"c\"");
    ck_assert_int_eq(is_made, !named || named >= config->bytes + config->size);
    free_archive(&a);
    fnz_program_destroy(read_bytes(out.data, out.size));
    fnz_buffer_free(ctx, &out);
  }
  fnz_program_destroy(made);
  fnz_program_destroy(p);
  end();
}
END_TEST

START_TEST(the_same_bytes_each_time) {
  begin();
  fnz_program *p = made_functional(read_fixture("kv_cache.pt2"));
  fnz_program *q = made_functional(read_fixture("kv_cache.pt2"));
  same_buffers(write_as(p, FNZ_FORMAT_PT2), write_as(q, FNZ_FORMAT_PT2));
  same_buffers(write_as(p, FNZ_FORMAT_JSON), write_as(q, FNZ_FORMAT_JSON));
  fnz_program_destroy(p);
  fnz_program_destroy(q);
  end();
}
END_TEST

/* Among copies that PyTorch makes one after another, no source may be a target written before. */
START_TEST(outputs_that_get_in_each_others_way_are_clones) {
  begin();
  fnz_program *p =
      read_text("fnz 1\nprogram(\n  %x: f32[4],\n  %y: f32[4])\n{\n"
                "  %a: f32[4] = add.Scalar(%x, 1)\n"
                "  return %a input_mutation \"x\", %x input_mutation \"y\", %y, %a\n}\n");
  fnz_buffer json = write_as(p, FNZ_FORMAT_JSON);
  has(json.data, "\"outputs\": [{\"as_tensor\": {\"name\": \"a\"}}, {\"as_tensor\": {\"name\": "
                 "\"clone\"}}, {\"as_tensor\": {\"name\": \"clone_1\"}}, {\"as_tensor\": "
                 "{\"name\": \"a\"}}]");
  has(json.data, "{\"target\": \"torch.ops.aten.clone.default\", \"inputs\": [{\"name\": \"self\", "
                 "\"arg\": {\"as_tensor\": {\"name\": \"x\"}}, \"kind\": 1}], \"outputs\": "
                 "[{\"as_tensor\": {\"name\": \"clone\"}}]");
  has(json.data, "\"clone_1\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 4}]");
  fnz_program_destroy(read_bytes(json.data, json.size));
  fnz_buffer_free(ctx, &json);
  fnz_program_destroy(p);
  p = read_text("fnz 1\nprogram(\n  %x: f32[4],\n  %y: f32[4])\n{\n"
                "  %a: f32[4] = add.Tensor(%x, %y)\n"
                "  return %a input_mutation \"x\", %a input_mutation \"y\"\n}\n");
  json = write_as(p, FNZ_FORMAT_JSON);
  has(json.data, "\"outputs\": [{\"as_tensor\": {\"name\": \"a\"}}, {\"as_tensor\": {\"name\": "
                 "\"clone\"}}]");
  fnz_buffer_free(ctx, &json);
  fnz_program_destroy(p);
  end();
}
END_TEST

START_TEST(names_are_those_of_python) {
  begin();
  fnz_program *p = read_text("fnz 1\nprogram(\n  %input: f32[4])\n{\n"
                             "  %sum: f32[] = sum(%input)\n  %sum_1: f32[] = sum(%input)\n"
                             "  %lambda: f32[], %max: i64[] = max.dim(%input, 0)\n"
                             "  return %sum, %sum_1, %lambda\n}\n");
  fnz_buffer json = write_as(p, FNZ_FORMAT_JSON);
  has(json.data, "\"outputs\": [{\"as_tensor\": {\"name\": \"sum_2\"}}, {\"as_tensor\": {\"name\": "
                 "\"sum_1\"}}, {\"as_tensor\": {\"name\": \"lambda_1\"}}]");
  has(json.data,
      "\"outputs\": [{\"as_tensor\": {\"name\": \"lambda_1\"}}, {\"as_tensor\": "
      "{\"name\": \"max_1\"}}], \"metadata\": {}, \"is_hop_single_tensor_return\": null, "
      "\"name\": \"max_2\"");
  has(json.data, "{\"user_input\": {\"arg\": {\"as_tensor\": {\"name\": \"input\"}}}}");
  fnz_buffer_free(ctx, &json);
  fnz_program_destroy(p);
  end();
}
END_TEST

START_TEST(arguments_of_every_kind) {
  begin();
  fnz_program *p = read_text("fnz 1\nprogram(\n  %x: f32[4,6],\n  %i: i64[2])\n{\n"
                             "  %a: f32[2,6] = index.Tensor(%x, [%i, None])\n"
                             "  %b: f32[8,6] = cat([%x, %x], 0)\n"
                             "  %c: f64[4] = full([4], 1.5, dtype=f64, device=device(\"cpu\"))\n"
                             "  %d: f32[4,6] = add.Tensor(%x, %x, alpha=2)\n"
                             "  [%e: f32[2,6], %f: f32[2,6]] = split_copy.Tensor(%x, 2)\n"
                             "  %g: f32[] = sum.dim_IntList(%x, [])\n"
                             "  return %a, %b, %c, %d, %e, %f, %g\n}\n");
  fnz_buffer json = write_as(p, FNZ_FORMAT_JSON);
  has(json.data,
      "{\"as_optional_tensors\": [{\"as_tensor\": {\"name\": \"i\"}}, {\"as_none\": true}]}");
  has(json.data, "{\"as_tensors\": [{\"name\": \"x\"}, {\"name\": \"x\"}]}");
  has(json.data, "{\"as_scalar_type\": 8}");
  has(json.data, "{\"as_device\": {\"type\": \"cpu\", \"index\": null}}");
  has(json.data, "{\"name\": \"alpha\", \"arg\": {\"as_int\": 2}, \"kind\": 2}");
  has(json.data, "\"outputs\": [{\"as_tensors\": [{\"name\": \"e\"}, {\"name\": \"f\"}]}]");
  has(json.data, "{\"name\": \"dim\", \"arg\": {\"as_ints\": []}, \"kind\": 1}");
  fnz_program *q = read_bytes(json.data, json.size);
  ck_assert_uint_eq(fnz_node_count(q, 0), 6);
  fnz_buffer_free(ctx, &json);
  fnz_program_destroy(p);
  fnz_program_destroy(q);
  end();
}
END_TEST

/* Every kind of argument: said so that it is read back as it was, or refused by name. */
static const struct {
  const char *text, *refused; /* NULL: it can be said */
} arguments[] = {
    {"1", NULL},
    {"-9223372036854775808", NULL},
    {"2.5", NULL},
    {"-0.0", NULL},
    {"nan", NULL},
    {"-inf", NULL},
    {"True", NULL},
    {"None", NULL},
    {"%x", NULL},
    {"complex(1.0, nan)", NULL},
    {"\"a\\x00b\\n\xc3\xa9\"", NULL},
    {"\"\"", NULL},
    {"f8e4m3fn", NULL},
    {"strided", NULL},
    {"layout(99)", NULL},
    {"channels_last", NULL},
    {"memory_format(77)", NULL},
    {"device(\"cpu\")", NULL},
    {"device(\"cpu:0\")", NULL},
    {"device(\"cpu:-1\")", NULL},
    {"device(\"cpu:12\")", NULL},
    {"device(\"cpu:9223372036854775807\")", NULL},
    {"device(\"\")", "is for device "},
    {"device(\"cuda:0\")", "is for device cuda:0, and only the original .pt2 file records"},
    {"device(\"cuda\")", "is for device cuda,"},
    {"device(\"cpus\")", "is for device cpus,"},
    {"device(\"cpu:\")", "device(\"cpu:\") cannot be expressed in a .pt2 file: a device is"},
    {"device(\"cpu:x\")", "argument \"a\", device(\"cpu:x\") cannot be expressed"},
    {"device(\"cpu:01\")", "cannot be expressed"},
    {"device(\"cpu:+1\")", "cannot be expressed"},
    {"device(\"cpu: 1\")", "cannot be expressed"},
    {"device(\"cpu:1 \")", "cannot be expressed"},
    {"device(\"cpu:0:1\")", "cannot be expressed"},
    {"device(\"cpu:9223372036854775808\")", "cannot be expressed"},
    {"operator(\"add.Tensor\")", NULL},
    {"operator(\"relu\")", NULL},
    {"operator(\"ns::f\")", NULL},
    {"operator(\"ns::f.out\")", NULL},
    {"operator(\"relu.default\")", "an operator is \"NAME.OVERLOAD\""},
    {"operator(\"ns::f.default\")", "an operator is"},
    {"operator(\"aten::relu\")", "an operator is"},
    {"operator(\"a.b::c\")", "an operator is"},
    {"operator(\"a::b::c\")", "an operator is"},
    {"operator(\"::c\")", "an operator is"},
    {"operator(\"ns::\")", "an operator is"},
    {"operator(\"\")", "an operator is"},
    {"operator(\"f.\")", "an operator is"},
    {"operator(\".f\")", "an operator is"},
    {"[]", NULL},
    {"[1, 2]", NULL},
    {"[1.5, nan]", NULL},
    {"[True, False]", NULL},
    {"[\"a\", \"\"]", NULL},
    {"[%x, %x]", NULL},
    {"[%x, None]", NULL},
    {"[None, None]", NULL},
    {"[[], [1]]", NULL},
    {"[[1.5], []]", NULL},
    {"[[%x], []]", NULL},
    {"[[]]", NULL},
    {"[1, 2.0]",
     "argument \"a\", [1, 2.0] cannot be expressed in a .pt2 file: it has no list of such"},
    {"[1, True]", "no list of such items"},
    {"[1, None]", "no list of such items"},
    {"[%x, 1]", "no list of such items"},
    {"[[1], [1.5]]", "no list of such items"},
    {"[[True]]", "no list of such items"},
    {"[[\"a\"]]", "no list of such items"},
    {"[[%x, None]]", "no list of such items"},
    {"[[[1]]]", "[[[1]]] cannot be expressed"},
    {"[f32]", "[f32] cannot be expressed"},
    {"[strided]", "no list of such items"},
    {"[channels_last]", "no list of such items"},
    {"[device(\"cpu\")]", "no list of such items"},
    {"[complex(1.0, 2.0)]", "no list of such items"},
    {"[operator(\"relu\")]", "no list of such items"},
    {"[default]", "no list of such items"},
};

static void said_or_refused(const char *text, const char *refused) {
  char program[400];
  fnz_buffer a = {0}, b = {0};
  snprintf(program, sizeof program,
           "fnz 1\nprogram(\n  %%x: f32[4])\n{\n  %%f: f32[4] = ns::f(%%x, %s)\n  return %%f\n}\n",
           text);
  fnz_program *p = read_text(program);
  if (refused) {
    FAILS(ctx, "UNSUPPORTED", fnz_program_write(ctx, p, FNZ_FORMAT_JSON, &a));
    ck_assert_msg(strstr(fnz_last_error(ctx)->where, "node 0 (ns::f)") != NULL, "%s: at %s", text,
                  fnz_last_error(ctx)->where);
    has(fnz_last_error(ctx)->message, refused);
    fnz_buffer_free(ctx, &a);
    fnz_program_destroy(p);
    return;
  }
  fnz_buffer json = write_as(p, FNZ_FORMAT_JSON);
  fnz_program *q = read_bytes(json.data, json.size);
  OK(ctx, fnzi_write_node(ctx, p, 0, 0, &a));
  OK(ctx, fnzi_write_node(ctx, q, 0, 0, &b));
  same_buffers(a, b);
  fnz_buffer_free(ctx, &json);
  fnz_program_destroy(p);
  fnz_program_destroy(q);
}

START_TEST(arguments_are_said_or_refused) {
  begin();
  OK(ctx, fnz_op_declare(ctx, "ns::f(Tensor x, Generator a) -> Tensor", NULL));
  for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++)
    said_or_refused(arguments[i].text, arguments[i].refused);
  fnz_context_destroy(ctx);
}
END_TEST

/* --- other sources ---------------------------------------------------------------------------- */
START_TEST(weights_from_cbor_make_an_archive) {
  begin();
  fnz_program *p = made_functional(read_fixture("batchnorm_train.pt2"));
  fnz_buffer cbor = write_as(p, FNZ_FORMAT_CBOR);
  fnz_program *q = read_bytes(cbor.data, cbor.size), *r = read_again(q, FNZ_FORMAT_PT2);
  fnz_buffer_free(ctx, &cbor);
  ck_assert_uint_eq(r->weights.count, 8);
  for (size_t i = 0; i < p->weights.count; i++) {
    const fnzi_weight *a = &p->weights.data[i], *b = fnzi_weight_find(r, a->name);
    ck_assert(fnzi_geometry_equal(a->geometry, b->geometry));
    ck_assert_uint_eq(fnzi_blob_bytes(a->blob), fnzi_blob_bytes(b->blob));
    ck_assert_mem_eq(fnzi_blob_data(a->blob), fnzi_blob_data(b->blob), fnzi_blob_bytes(b->blob));
  }
  fnz_program_destroy(p);
  fnz_program_destroy(q);
  fnz_program_destroy(r);
  end();
}
END_TEST

START_TEST(the_older_archive_stays_one) {
  begin();
  archive a, flat = {.count = 0}, after;
  bytes file = load_fixture("batchnorm_train.pt2");
  unpack(file, &a);
  record *model = find_record(&a, "models/model.json");
  add_record(&flat, "serialized_exported_program.json", model->bytes, model->size);
  add_record(&flat, "serialized_state_dict.pt", "a pickle", 8);
  add_record(&flat, "serialized_example_inputs.pt", "", 0);
  add_record(&flat, "version", "8.20", 4);
  bytes old = pack(&flat);
  fnz_program *p = made_functional(read_bytes(old.data, old.size));
  fnz_buffer out = write_as(p, FNZ_FORMAT_PT2);
  unpack((bytes){out.data, out.size}, &after);
  ck_assert_uint_eq(after.count, 4);
  for (size_t i = 0; i < after.count; i++)
    ck_assert_str_eq(after.records[i].name, flat.records[i].name);
  ck_assert_str_eq(find_record(&after, "state_dict.pt")->bytes, "a pickle");
  has(find_record(&after, "program.json")->bytes, "\"buffer_mutation\"");
  fnz_buffer_free(ctx, &out);
  fnz_program_destroy(p);
  free_archive(&a);
  free_archive(&flat);
  free_archive(&after);
  free(old.data);
  free(file.data);
  end();
}
END_TEST

/* Readers of older schemas die on fields that they do not know. */
START_TEST(no_field_is_newer_than_the_file) {
  static const char model[] =
      "{\"graph_module\": {\"graph\": {\"inputs\": [{\"as_tensor\": {\"name\": \"x\"}}], "
      "\"outputs\": "
      "[{\"as_tensor\": {\"name\": \"y\"}}], \"nodes\": [{\"target\": "
      "\"torch.ops.aten.relu.default\", "
      "\"inputs\": [{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"x\"}}}], "
      "\"outputs\": "
      "[{\"as_tensor\": {\"name\": \"y\"}}], \"metadata\": {}}], \"tensor_values\": {\"x\": "
      "{\"dtype\": 7, "
      "\"sizes\": [{\"as_int\": 4}], \"requires_grad\": false, \"device\": {\"type\": \"cuda\", "
      "\"index\": 1}, \"strides\": [{\"as_int\": 1}], \"storage_offset\": {\"as_int\": 0}, "
      "\"layout\": 7}, "
      "\"y\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 4}], \"requires_grad\": false, \"device\": "
      "{\"type\": \"cuda\", \"index\": 1}, \"strides\": [{\"as_int\": 1}], \"storage_offset\": "
      "{\"as_int\": 0}, \"layout\": 7}}, \"sym_int_values\": {}, \"sym_bool_values\": {}, "
      "\"is_single_tensor_return\": false}, \"signature\": {\"input_specs\": [{\"user_input\": "
      "{\"arg\": "
      "{\"as_tensor\": {\"name\": \"x\"}}}}], \"output_specs\": [{\"user_output\": {\"arg\": "
      "{\"as_tensor\": {\"name\": \"y\"}}}}]}, \"module_call_graph\": [{\"fqn\": \"\", "
      "\"signature\": "
      "{\"inputs\": [{\"as_tensor\": {\"name\": \"x\"}}], \"outputs\": [{\"as_tensor\": {\"name\": "
      "\"y\"}}], \"in_spec\": \"i\", \"out_spec\": \"o\"}}, {\"fqn\": \"m\", \"signature\": "
      "{\"inputs\": [], "
      "\"outputs\": [{\"as_tensor\": {\"name\": \"y\"}}]}}], \"metadata\": {}}, \"opset_version\": "
      "{\"aten\": 10}, \"range_constraints\": {}, \"schema_version\": {\"major\": 8, \"minor\": "
      "1}, "
      "\"verifiers\": [\"TRAINING\"], \"torch_version\": \"2.5.0\"}";
  begin();
  fnz_program *p = read_text(model);
  fnz_buffer json = write_as(p, FNZ_FORMAT_JSON);
  has_not(json.data, "\"kind\"");
  has_not(json.data, "is_hop_single");
  has_not(json.data, "sym_float_values");
  has_not(json.data, "custom_obj_values");
  has_not(json.data, "guards_code");
  has(json.data, "\"minor\": 1}");
  has(json.data, "\"metadata\": {}}]");
  fnz_buffer_free(ctx, &json);
  p = made_functional(p);
  json = write_as(p, FNZ_FORMAT_JSON);
  has(json.data, "\"outputs\": [{\"as_tensor\": {\"name\": \"relu\"}}], \"in_spec\": \"i\"");
  has(json.data, "{\"fqn\": \"m\", \"signature\": null}");
  has(fnz_program_module_call_graph(p), "\"in_spec\": \"i\", \"out_spec\": \"o\"");
  has(json.data, "\"relu\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 4}], \"requires_grad\": false, "
                 "\"device\": {\"type\": \"cuda\", \"index\": 1}");
  fnz_buffer_free(ctx, &json);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* PyTorch knows no functional form of such an operator, but wraps the operator itself. */
START_TEST(custom_operators_are_wrapped) {
  begin();
  OK(ctx, fnz_op_declare(ctx, "ns::fill_rows(Tensor(a!) dst, int rows) -> ()", NULL));
  fnz_program *p = made_functional(read_text("fnz 1\nprogram(\n  %x: f32[4])\n{\n"
                                             "  ns::fill_rows(%x, 2)\n  return %x\n}\n"));
  fnz_buffer json = write_as(p, FNZ_FORMAT_JSON);
  has(json.data,
      "{\"target\": \"torch.ops.higher_order.auto_functionalized\", \"inputs\": "
      "[{\"name\": \"\", \"arg\": {\"as_operator\": \"torch.ops.ns.fill_rows.default\"}, "
      "\"kind\": 1}, {\"name\": \"dst\", \"arg\": {\"as_tensor\": {\"name\": \"x\"}}, "
      "\"kind\": 2}, {\"name\": \"rows\", \"arg\": {\"as_int\": 2}, \"kind\": 2}], "
      "\"outputs\": [{\"as_none\": true}, {\"as_tensor\": {\"name\": ");
  fnz_program *q = made_functional(read_bytes(json.data, json.size));
  ck_assert_uint_eq(fnz_node_count(p, 0), fnz_node_count(q, 0));
  fnz_buffer_free(ctx, &json);
  fnz_program_destroy(p);
  fnz_program_destroy(q);
  fnz_context_destroy(ctx);
}
END_TEST

/* A name that ends with an underscore, a written list that is None, tensors that share memory, and
 * a result that is an argument, which PyTorch does not wrap. */
START_TEST(wrapped_calls_are_read_again) {
  static const char *const rows[][2] = {
      {"  %a: f32[2] = slice.Tensor(%x, 0, 0, 2)\n  ns::step_(%a)\n  return %x\n",
       "{\"target\": \"torch.ops.higher_order.auto_functionalized\", \"inputs\": "
       "[{\"name\": \"\", \"arg\": {\"as_operator\": \"torch.ops.ns.step_.default\"}"},
      {"  ns::many_(None, %x)\n  return %x\n",
       "{\"name\": \"xs\", \"arg\": {\"as_none\": true}, \"kind\": 2}"},
      {"  %b: f32[3] offset(1) = slice.Tensor(%x, 0, 1, 4)\n  ns::two(%b, %x)\n  return %x\n",
       "[{\"name\": \"\", \"arg\": {\"as_operator\": \"torch.ops.ns.two.default\"}, \"kind\": "
       "1}, {\"name\": \"_all_bases\", \"arg\": {\"as_tensors\": [{\"name\": \"x\"}]}, "
       "\"kind\": 2}, {\"name\": \"_x_base_index\", \"arg\": {\"as_int\": 0}, \"kind\": 2}, "
       "{\"name\": \"_x_size\", \"arg\": {\"as_ints\": [3]}, \"kind\": 2}, {\"name\": "
       "\"_x_stride\", \"arg\": {\"as_ints\": [1]}, \"kind\": 2}, {\"name\": "
       "\"_x_storage_offset\", \"arg\": {\"as_int\": 1}, \"kind\": 2}"},
      {"  %b: f32[3] offset(1) = slice.Tensor(%x, 0, 1, 4)\n  ns::many_([%b, %x], %x)\n"
       "  return %x\n",
       "{\"name\": \"_xs_length\", \"arg\": {\"as_int\": 2}, \"kind\": 2}, {\"name\": "
       "\"_xs_0_base_index\""},
  };
  begin();
  OK(ctx, fnz_op_declare(ctx, "ns::step_(Tensor(a!) x) -> ()", NULL));
  OK(ctx, fnz_op_declare(ctx, "ns::many_(Tensor(a!)[]? xs, Tensor y) -> ()", NULL));
  OK(ctx, fnz_op_declare(ctx, "ns::two(Tensor(a!) x, Tensor(b!) y) -> ()", NULL));
  OK(ctx, fnz_op_declare(ctx, "ns::own_(Tensor(a!) x) -> Tensor(a!)", NULL));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[512];
    snprintf(text, sizeof text, "fnz 1\nprogram(\n  %%x: f32[4])\n{\n%s}\n", rows[i][0]);
    fnz_program *p = made_functional(read_text(text));
    fnz_buffer json = write_as(p, FNZ_FORMAT_JSON);
    has(json.data, rows[i][1]);
    fnz_program *q = read_bytes(json.data, json.size);
    OK(ctx, fnz_verify(ctx, q, p, NULL, NULL, NULL));
    fnz_buffer_free(ctx, &json);
    fnz_program_destroy(p);
    fnz_program_destroy(q);
  }
  must_refuse(made_functional(read_text("fnz 1\nprogram(\n  %x: f32[4])\n{\n"
                                        "  %y: f32[4] = ns::own_(%x)\n  return %x\n}\n")),
              "UNSUPPORTED", "it returns what it writes");
  fnz_context_destroy(ctx);
}
END_TEST

/* --- refusals --------------------------------------------------------------------------------- */
START_TEST(refusals) {
  begin();
  must_refuse(made_functional(read_text("fnz 1\nprogram(\n  %x: f32[2,3])\n{\n"
                                        "  %y: f32[3,2] stride(1,3) = t_(%x)\n  return %x\n}\n")),
              "UNSUPPORTED", "changes sizes");
  must_refuse(read_text("fnz 1\nprogram(\n  %x: f32[2] parameter \"w\")\n{\n  return %x\n}\n"),
              "UNSUPPORTED", "has no data");
  must_refuse(read_text("fnz 1\nprogram(\n  %x: f32[2])\n{\n"
                        "  %y: f32[2] = full([2], 1, device=device(\"cuda:0\"))\n  return %y\n}\n"),
              "UNSUPPORTED", "is for device cuda:0");
  must_refuse(read_text("fnz 1\nprogram(\n  %x: f32[2])\n{\n"
                        "  %y: f32[2] = full([2], 1, device=\"cuda:0\")\n  return %y\n}\n"),
              "UNSUPPORTED", "is for device cuda:0");
  must_refuse(read_text("fnz 1\nprogram(\n  %x: f32[2])\n{\n"
                        "  %y: f32[2] = higher_order.some(%x, default)\n  return %y\n}\n"),
              "UNSUPPORTED", "default cannot be expressed in a .pt2 file: a default");
  must_refuse(read_text("fnz 1\nprogram(\n  %x.1: f32[2])\n{\n  return %x.1\n}\n"), "UNSUPPORTED",
              "no Python identifier");
  end();
}
END_TEST

/* Records that only a writer needs may be damaged; then there is no writing. */
START_TEST(damaged_records_are_not_copied) {
  begin();
  archive a;
  bytes file = load_fixture("alias_001.pt2");
  unpack(file, &a);
  const char *pickle = find_record(&a, "sample_inputs/model.pt")->bytes;
  size_t size = find_record(&a, "sample_inputs/model.pt")->size, at = 0;
  while (memcmp(file.data + at, pickle, size) != 0)
    at++;
  file.data[at + size / 2] = (char)(file.data[at + size / 2] ^ 1);
  must_refuse(made_functional(read_bytes(file.data, file.size)), "ARCHIVE", "damaged");
  free_archive(&a);
  free(file.data);
  end();
}
END_TEST

/* --- memory ----------------------------------------------------------------------------------- */
static fnz_status convert(fnz_context *own, const void *user) {
  const bytes *file = user;
  fnz_program *p = NULL, *f = NULL;
  fnz_buffer out = {0};
  fnz_status status = fnz_program_read(own, file->data, file->size, FNZ_FORMAT_PT2, &p);
  if (status == FNZ_OK)
    status = fnz_functionalize(own, p, NULL, &f);
  if (status == FNZ_OK)
    status = fnz_program_write(own, f, FNZ_FORMAT_PT2, &out);
  fnz_buffer_free(own, &out);
  fnz_program_destroy(p);
  fnz_program_destroy(f);
  return status;
}

START_TEST(no_memory_anywhere) {
  bytes file = load_fixture("batchnorm_train.pt2");
  ck_assert_uint_gt(each_fault(convert, &file), 100);
  begin();
  fnz_program *p = read_bytes(file.data, file.size);
  fnz_buffer cbor = write_as(p, FNZ_FORMAT_CBOR);
  bytes other = {cbor.data, cbor.size};
  ck_assert_uint_gt(each_fault(rewrite, &other), 50);
  fnz_buffer_free(ctx, &cbor);
  fnz_program_destroy(p);
  end();
  free(file.data);
  file = load_fixture("cond_local_mutation.pt2");
  ck_assert_uint_gt(each_fault(rewrite, &file), 100);
  free(file.data);
}
END_TEST

RUN_SUITE("pt2_write", floats_are_those_of_python, strings_are_ascii, trees_are_written_back,
          checksums, reads_back_what_it_wrote, members_stay_as_they_were, records_stay_as_they_were,
          data_is_aligned, the_signature_names_final_values, ranges_of_expressions_are_left_out,
          constants_that_became_inputs_are_left_out, the_same_bytes_each_time,
          outputs_that_get_in_each_others_way_are_clones, names_are_those_of_python,
          arguments_of_every_kind, arguments_are_said_or_refused, weights_from_cbor_make_an_archive,
          the_older_archive_stays_one, no_field_is_newer_than_the_file,
          custom_operators_are_wrapped, wrapped_calls_are_read_again, refusals,
          damaged_records_are_not_copied, no_memory_anywhere)
