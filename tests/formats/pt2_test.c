/* checks: 20
 * pt2_test.c - programs of torch.export: reading good files, and the class of each fault. */
#include "program/program.h"
#include "program/formats/formats.h"
#include "tests/help/archive.h"
#include "tests/help/faults.h"

typedef struct fixture {
  fnz_context *ctx;
  fnz_program *program;
} fixture;

static fnz_status read_with(fixture *f, fnzi_reader *reader, const char *data, size_t size) {
  ck_assert_int_eq(fnz_context_create(NULL, &f->ctx), FNZ_OK);
  OK(f->ctx, fnzi_program_create(f->ctx, &f->program));
  return reader(f->ctx, data, size, f->program);
}

static void done(fixture *f) {
  fnz_program_destroy(f->program);
  ck_assert_uint_eq(f->ctx->live_bytes, 0);
  fnz_context_destroy(f->ctx);
}

static void must_read(fixture *f, bytes file) {
  OK(f->ctx, read_with(f, fnzi_read_pt2, file.data, file.size));
  OK(f->ctx, fnz_program_verify(f->ctx, f->program));
  free(file.data);
}

static void must_fail(bytes file, const char *class_name) {
  fixture f;
  fnz_status status = read_with(&f, fnzi_read_pt2, file.data, file.size);
  const fnz_error *e = fnz_last_error(f.ctx);
  ck_assert_int_ne(status, FNZ_OK);
  ck_assert_msg(strcmp(fnz_class_name(e->kind), class_name) == 0, "want %s, got %s: %s: %s",
                class_name, fnz_class_name(e->kind), e->where, e->message);
  done(&f);
  free(file.data);
}

static void open_fixture(const char *name, archive *out) {
  bytes file = load_fixture(name);
  unpack(file, out);
  free(file.data);
}

static char *model_of(const char *name) {
  archive a;
  bytes file = load_fixture(name);
  unpack(file, &a);
  char *text = copy_bytes(find_record(&a, "models/model.json")->bytes,
                          find_record(&a, "models/model.json")->size)
                   .data;
  free_archive(&a);
  free(file.data);
  return text;
}

/* --- good files -------------------------------------------------------------------------- */
START_TEST(in_place_add) {
  fixture f;
  must_read(&f, load_fixture("alias_001.pt2"));
  const fnzi_graph *g = fnzi_graph_main(f.program);
  ck_assert_uint_eq(g->nodes.count, 1);
  const fnzi_node *n = &g->nodes.data[0];
  ck_assert_str_eq(fnzi_node_target(n), "add_.Tensor");
  ck_assert_ptr_eq(n->op, fnz_op_find(NULL, "add_.Tensor"));
  ck_assert_uint_eq(n->nargs, 3);
  ck_assert_int_eq(n->args[0].tag, FNZ_ARG_VALUE);
  ck_assert_int_eq(n->args[1].tag, FNZ_ARG_INT);
  ck_assert_int_eq(n->args[1].u.i, 1);
  ck_assert_int_eq(n->args[2].tag, FNZ_ARG_DEFAULT);
  ck_assert_int_eq(n->outputs[0].tag, FNZ_ARG_VALUE);
  const fnzi_value *x = fnzi_value_at(f.program, 0, n->args[0].u.value);
  ck_assert_str_eq(x->name, "x");
  ck_assert_int_eq(x->geometry->dtype, FNZ_F32);
  ck_assert_int_eq(x->geometry->sizes[0], 4);
  ck_assert_ptr_null(x->geometry->symbols);
  ck_assert_str_eq(n->source, "");
  ck_assert_str_eq(fnzi_node_metadata(n), "{\"nn_module_stack\": \"L__self__,,builtins.P\", "
                                          "\"torch_fn\": \"add__1;method_descriptor.add_\"}");
  ck_assert_int_eq(f.program->inputs[0].kind, FNZ_INPUT_USER);
  ck_assert_str_eq(f.program->inputs[0].target, "x");
  ck_assert_int_eq(f.program->outputs[0].kind, FNZ_OUTPUT_USER);
  ck_assert_str_eq(f.program->torch_version, "2.14.1+debian");
  ck_assert_int_eq(f.program->schema_major, 8);
  ck_assert_int_eq(f.program->schema_minor, 20);
  done(&f);
}
END_TEST

START_TEST(weights_and_state) {
  fixture f;
  must_read(&f, load_fixture("batchnorm_train.pt2"));
  ck_assert_uint_eq(f.program->weights.count, 8);
  const fnzi_weight *mean = fnzi_weight_find(f.program, "b.running_mean");
  const fnzi_weight *scale = fnzi_weight_find(f.program, "b.weight");
  ck_assert_uint_eq(fnzi_blob_bytes(mean->blob), 24);
  ck_assert_ptr_ne(mean->blob, scale->blob);
  ck_assert_int_eq(mean->geometry->sizes[0], 6);
  ck_assert_int_eq(f.program->inputs[0].kind, FNZ_INPUT_PARAMETER);
  ck_assert_str_eq(f.program->inputs[0].target, "c.weight");
  ck_assert_int_eq(f.program->inputs[5].kind, FNZ_INPUT_BUFFER);
  ck_assert(f.program->inputs[5].persistent);
  const char *source = fnzi_node_at(f.program, 0, 0)->source;
  ck_assert_ptr_nonnull(strstr(source, "torch/nn/modules/conv.py\", line 565"));
  ck_assert_ptr_null(strstr(fnzi_node_metadata(fnzi_node_at(f.program, 0, 0)), "stack_trace"));
  done(&f);
}
END_TEST

START_TEST(regions) {
  fixture f;
  must_read(&f, load_fixture("cond_local_mutation.pt2"));
  ck_assert_uint_eq(f.program->graphs.count, 3);
  const fnzi_node *cond = fnzi_node_at(f.program, 0, 2);
  ck_assert_str_eq(fnzi_node_target(cond), "higher_order.cond");
  ck_assert_ptr_null(cond->op);
  ck_assert_int_eq(cond->args[1].tag, FNZ_ARG_GRAPH);
  ck_assert_int_eq(cond->args[1].u.i, 1);
  ck_assert_int_eq(cond->args[2].u.i, 2);
  ck_assert_str_eq(fnzi_node_arg_name(cond, 0), "");
  ck_assert_str_eq(fnzi_graph_at(f.program, 1)->name, "true_graph_0");
  ck_assert_str_eq(fnzi_node_target(fnzi_node_at(f.program, 1, 0)), "clone");
  done(&f);
}
END_TEST

START_TEST(symbolic_sizes) {
  fixture f;
  bool symbolic = false;
  must_read(&f, load_fixture("dynamic_slices.pt2"));
  ck_assert_uint_eq(f.program->ranges.count, 3);
  ck_assert_str_eq(f.program->ranges.data[0].symbol, "s77");
  ck_assert_int_eq(f.program->ranges.data[0].min, 4);
  ck_assert_int_eq(f.program->ranges.data[0].max, 4096);
  for (size_t i = 0; i < fnzi_graph_main(f.program)->values.count; i++) {
    const fnz_geometry *g = fnzi_value_at(f.program, 0, i)->geometry;
    if (!g || !g->symbols || !g->symbols[0])
      continue;
    const fnzi_symbol *s = &f.program->symbols.data[g->symbols[0]];
    ck_assert(s->has_hint);
    ck_assert_int_eq(s->hint, g->sizes[0]);
    symbolic = true;
  }
  ck_assert(symbolic);
  done(&f);
}
END_TEST

START_TEST(two_names_of_one_memory) {
  archive a;
  fixture f;
  open_fixture("batchnorm_train.pt2", &a);
  edit_record(find_record(&a, "model_weights_config.json"), "\"weight_2\"", "\"weight_1\"");
  must_read(&f, pack(&a));
  const fnzi_weight *scale = fnzi_weight_find(f.program, "b.weight");
  ck_assert_ptr_eq(scale->blob, fnzi_weight_find(f.program, "b.bias")->blob);
  record *data = find_record(&a, "weights/weight_1");
  ck_assert_mem_eq(fnzi_blob_data(scale->blob), data->bytes, data->size);
  done(&f);
  free_archive(&a);
}
END_TEST

START_TEST(deflated_records) {
  archive a;
  fixture f;
  open_fixture("batchnorm_train.pt2", &a);
  for (size_t i = 0; i < a.count; i++)
    a.records[i].method = ZIP_CM_DEFLATE;
  must_read(&f, pack(&a));
  ck_assert_uint_eq(f.program->weights.count, 8);
  done(&f);
  free_archive(&a);
}
END_TEST

static void expect_no_data(bytes file, size_t weights) {
  fixture f;
  fnz_stats stats;
  must_read(&f, file);
  stats = fnz_program_stats(f.program);
  ck_assert_uint_eq(stats.weights, weights);
  ck_assert_uint_eq(stats.no_data, weights);
  ck_assert_uint_eq(f.program->weights.count, weights);
  for (size_t i = 0; i < weights; i++) {
    ck_assert_ptr_null(f.program->weights.data[i].blob);
    ck_assert_ptr_nonnull(f.program->weights.data[i].geometry);
  }
  done(&f);
}

START_TEST(flat_archive) {
  archive a = {.count = 0};
  char *model = model_of("batchnorm_train.pt2");
  add_record(&a, "serialized_exported_program.json", model, strlen(model));
  add_record(&a, "serialized_state_dict.pt", "a pickle", 8);
  add_record(&a, "version", "8.7", 3);
  expect_no_data(pack(&a), 8);
  set_record(find_record(&a, "version"), "7.3");
  must_fail(pack(&a), "VERSION");
  free_archive(&a);
  free(model);
}
END_TEST

START_TEST(pickled_weights) {
  archive a;
  open_fixture("batchnorm_train.pt2", &a);
  drop_record(&a, find_record(&a, "model_weights_config.json"));
  add_record(&a, "program/data/weights/model.pt", "a pickle", 8);
  expect_no_data(pack(&a), 8);
  free_archive(&a);
}
END_TEST

START_TEST(model_alone) {
  char *model = model_of("batchnorm_train.pt2");
  expect_no_data(copy_bytes(model, strlen(model)), 8);
  free(model);
}
END_TEST

START_TEST(storage_without_bytes) {
  archive a;
  fixture f;
  open_fixture("batchnorm_train.pt2", &a);
  set_record(find_record(&a, "weights/weight_0"), "");
  must_read(&f, pack(&a));
  ck_assert_ptr_null(fnzi_weight_find(f.program, "c.weight")->blob);
  ck_assert_ptr_nonnull(fnzi_weight_find(f.program, "b.weight")->blob);
  done(&f);
  free_archive(&a);
}
END_TEST

/* --- edits of a model that is otherwise good --------------------------------------------- */
typedef struct edit {
  const char *class_name, *from, *to; /* class "NONE": still good */
} edit;

#define SIZES  "\"sizes\": [{\"as_int\": 4}]"
#define OTHER  "\"name\": \"other\", \"arg\": {\"as_int\": 1}"
#define NODE   "\"nodes\": [{\"target\": \"torch.ops.aten.add_.Tensor\""
#define RESULT "\"outputs\": [{\"as_tensor\": {\"name\": \"add_\"}}], \"metadata\""

static const edit edits[] = {
    {"NONE", "\"guards_code\"", "\"something_new\": {}, \"guards_code\""},
    {"NONE", OTHER, "\"name\": \"other\", \"arg\": {\"as_int\": 9223372036854775807}"},
    {"NONE", OTHER, "\"name\": \"other\", \"arg\": {\"as_float\": \"-Infinity\"}"},
    {"NONE", ", \"index\": null", ", \"index\": 0"},
    {"NONE", "\"kind\": 1}, {", "\"kind\": null}, {"},
    {"NONE", "\"torch_version\": \"2.14.1+debian\"", "\"verifier\": []"},
    {"VERSION", "\"major\": 8", "\"major\": 7"},
    {"TYPE", "\"schema_version\"", "\"schema\""},
    {"TYPE", "\"graph_module\"", "\"module\""},
    {"TYPE", "\"tensor_values\": {", "\"tensor_value\": {"},
    {"TYPE", "\"dtype\": 7, \"sizes\"", "\"sizes\""},
    {"TYPE", "\"nodes\": [", "\"nodes\": 1, \"was\": ["},
    {"DUPLICATE", "\"dtype\": 7, ", "\"dtype\": 7, \"dtype\": 7, "},
    {"UNSUPPORTED", "aten.add_.Tensor", "aten.add_.Tensors"},
    {"UNSUPPORTED", "torch.ops.aten.add_.Tensor", "torch.ops.mylib.f.default"},
    {"UNSUPPORTED", "torch.ops.aten.add_.Tensor", "torch._C._functorch._add_batch_dim"},
    {"TYPE", "\"name\": \"other\"", "\"name\": \"othr\""},
    {"DUPLICATE", "\"name\": \"other\"", "\"name\": \"self\""},
    {"TYPE", ", {" OTHER ", \"kind\": 1}", ""},
    {"REF", "\"arg\": {\"as_tensor\": {\"name\": \"x\"}}",
     "\"arg\": {\"as_tensor\": {\"name\": \"y\"}}"},
    {"REF", "\"arg\": {\"as_tensor\": {\"name\": \"x\"}}",
     "\"arg\": {\"as_tensor\": {\"name\": \"add_\"}}"},
    {"DUPLICATE", RESULT, "\"outputs\": [{\"as_tensor\": {\"name\": \"x\"}}], \"metadata\""},
    {"REF", RESULT, "\"outputs\": [{\"as_tensor\": {\"name\": \"z\"}}], \"metadata\""},
    {"TYPE", RESULT, "\"outputs\": [{\"as_ints\": [1]}], \"metadata\""},
    {"UNSUPPORTED", OTHER, "\"name\": \"other\", \"arg\": {\"as_future\": 1}"},
    {"TYPE", OTHER, "\"name\": \"other\", \"arg\": {\"as_int\": 1, \"as_bool\": true}"},
    {"TYPE", OTHER, "\"name\": \"other\", \"arg\": {}"},
    {"TYPE", OTHER, "\"name\": \"other\", \"arg\": {\"as_int\": \"1\"}"},
    {"TYPE", OTHER, "\"name\": \"other\", \"arg\": {\"as_int\": 1.0}"},
    {"TYPE", OTHER, "\"name\": \"other\", \"arg\": {\"as_int\": 1e400}"},
    {"OVERFLOW", OTHER, "\"name\": \"other\", \"arg\": {\"as_int\": 9223372036854775808}"},
    {"TYPE", OTHER,
     "\"name\": \"other\", \"arg\": {\"as_graph\": {\"name\": \"g\", \"graph\": {}}}"},
    {"UNSUPPORTED", "\"dtype\": 7", "\"dtype\": 15"},
    {"UNSUPPORTED", "\"layout\": 7", "\"layout\": 1"},
    {"TYPE", SIZES, "\"sizes\": [{\"as_int\": 2}, {\"as_int\": 2}]"},
    {"BOUNDS", SIZES, "\"sizes\": [{\"as_int\": -4}]"},
    {"OVERFLOW", SIZES, "\"sizes\": [{\"as_int\": 9223372036854775807}]"},
    {"BOUNDS", "\"storage_offset\": {\"as_int\": 0}", "\"storage_offset\": {\"as_int\": -1}"},
    {"DUPLICATE", SIZES, "\"sizes\": [{\"as_int\": 1, \"as_int\": 2}]"},
    {"UNSUPPORTED", SIZES, "\"sizes\": [{\"as_expr\": {\"expr_str\": \"\", \"expr_ast\": []}}]"},
    {"TYPE", "{\"user_input\": {\"arg\": {\"as_tensor\": {\"name\": \"x\"}}}}",
     "{\"user_input\": {\"arg\": {\"as_tensor\": {\"name\": \"y\"}}}}"},
    {"TYPE", "\"output_specs\": [",
     "\"output_specs\": [{\"token\": {\"arg\": {\"name\": \"t\"}}}, "},
    {"UNSUPPORTED", "\"user_output\"", "\"new_output\""},
    {"BOUNDS", "\"range_constraints\": {}",
     "\"range_constraints\": {\"s0\": {\"min_val\": 3, \"max_val\": 2}}"},
    {"ENCODING", "builtins.P", "\\ud800"},
    {"ENCODING", "builtins.P", "\xff"},
    {"ENCODING", "\"name\": \"x\"", "\"name\": \"x\\u0000\""},
    {"SYNTAX", "\"guards_code\": []}", "\"guards_code\": []} {}"},
    {"SYNTAX", "\"guards_code\": []", "\"guards_code\": NaN"},
    {"TRUNCATED", "\"guards_code\": []}", "\"guards_code\": ["},
    {"TRUNCATED", "\"guards_code\": []}", "\"guards_co"},
};

START_TEST(edited_models) {
  char *model = model_of("alias_001.pt2");
  for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
    fixture f;
    char *text = replaced(model, edits[i].from, edits[i].to);
    fnz_status status = read_with(&f, fnzi_read_json, text, strlen(text));
    const bool is_read = status == FNZ_OK;
    if (is_read) /* all formats refuse the same */
      status = fnz_program_verify(f.ctx, f.program);
    const fnz_error *e = fnz_last_error(f.ctx);
    ck_assert_msg(strcmp(fnz_class_name(e->kind), edits[i].class_name) == 0,
                  "edit %zu (%s): want %s, got %s: %s: %s", i, edits[i].to, edits[i].class_name,
                  fnz_class_name(e->kind), e->where, e->message);
    ck_assert_int_eq(status == FNZ_OK, e->kind == FNZ_CLASS_NONE);
    ck_assert(is_read || strncmp(e->where, "model.json", 10) == 0);
    done(&f);
    free(text);
  }
  free(model);
}
END_TEST

START_TEST(errors_name_the_place) {
  fixture f;
  char *model = model_of("alias_001.pt2");
  char *text = replaced(model, "\"name\": \"other\"", "\"name\": \"othr\"");
  ck_assert_int_eq(read_with(&f, fnzi_read_json, text, strlen(text)), FNZ_BAD_INPUT);
  const fnz_error *e = fnz_last_error(f.ctx);
  ck_assert_str_eq(e->where, "model.json: graph_module.graph.nodes[0].inputs[1]");
  ck_assert_ptr_nonnull(strstr(e->message, "add_.Tensor has no argument \"othr\""));
  done(&f);
  free(text);
  text = replaced(model, "\"layout\": 7", "\"layout\": 2");
  ck_assert_int_eq(read_with(&f, fnzi_read_json, text, strlen(text)), FNZ_UNSUPPORTED);
  e = fnz_last_error(f.ctx);
  ck_assert_str_eq(e->where, "model.json: graph_module.graph.tensor_values.x.layout");
  ck_assert_ptr_nonnull(strstr(e->message, "input x: a tensor of layout sparse_csr (2); only"));
  done(&f);
  free(text);
  free(model);
}
END_TEST

START_TEST(literals_and_tokens) {
  fixture f;
  char *model = model_of("alias_001.pt2");
  char *a =
      replaced(model, "{\"inputs\": [", "{\"inputs\": [{\"as_none\": true}, {\"as_int\": 3}, ");
  char *b = replaced(a, "\"input_specs\": [",
                     "\"input_specs\": [{\"token\": {\"arg\": {\"name\": \"t\"}}}, "
                     "{\"constant_input\": {\"name\": \"k\", \"value\": {\"as_int\": 3}}}, ");
  OK(f.ctx, read_with(&f, fnzi_read_json, b, strlen(b)));
  const fnzi_graph *g = fnzi_graph_main(f.program);
  ck_assert_int_eq(f.program->inputs[0].kind, FNZ_INPUT_TOKEN);
  ck_assert_int_eq(g->inputs[0].tag, FNZ_ARG_TOKEN);
  ck_assert_int_eq(f.program->inputs[1].kind, FNZ_INPUT_LITERAL);
  ck_assert_str_eq(f.program->inputs[1].target, "k");
  ck_assert_int_eq(g->inputs[1].tag, FNZ_ARG_INT);
  ck_assert_int_eq(g->inputs[1].u.i, 3);
  done(&f);
  free(b);
  free(a);
  free(model);
}
END_TEST

/* --- edits of an archive ----------------------------------------------------------------- */
typedef struct change {
  const char *class_name, *record, *from, *to; /* from NULL: the whole record becomes `to` */
} change;

#define CONFIG "model_weights_config.json"

static const change changes[] = {
    {"VERSION", "archive_version", NULL, "99"},
    {"VERSION", "archive_format", NULL, "pt3"},
    {"LIMIT", "archive_format", NULL, "a format whose name goes on and on and on"},
    {"UNSUPPORTED", "byteorder", NULL, "big"},
    {"SYNTAX", "models/model.json", NULL, "{\"a\" 1}"},
    {"UNSUPPORTED", CONFIG, "\"use_pickle\": false", "\"use_pickle\": true"},
    {"TYPE", CONFIG, "\"use_pickle\": false, ", ""},
    {"TYPE", CONFIG, "\"config\"", "\"configs\""},
    {"REF", CONFIG, "\"weight_0\"", "\"weight_99\""},
    {"ARCHIVE", CONFIG, "\"weight_0\"", "\"../weights/weight_0\""},
    {"ARCHIVE", CONFIG, "\"weight_0\"", "\"..\""},
    {"ARCHIVE", CONFIG, "\"weight_0\"", "\"\""},
    {"TYPE", CONFIG, "\"dtype\": 7", "\"dtype\": 4"},
    {"TYPE", CONFIG, "{\"as_int\": 6}, {\"as_int\": 3}", "{\"as_int\": 3}, {\"as_int\": 6}"},
    {"BOUNDS", CONFIG, "{\"as_int\": 27}", "{\"as_int\": 28}"},
    {"BOUNDS", CONFIG, "\"storage_offset\": {\"as_int\": 0}",
     "\"storage_offset\": {\"as_int\": 1}"},
    {"BOUNDS", "weights/weight_1", NULL, "twenty-three bytes long"},
    {"BOUNDS", "weights/weight_1", NULL, "twenty bytes, not 24"},
    {"NONE", CONFIG, "\"c.weight\"", "\"not_used\""},
};

START_TEST(changed_archives) {
  bytes file = load_fixture("batchnorm_train.pt2");
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    const change *c = &changes[i];
    archive a;
    fixture f;
    unpack(file, &a);
    if (c->from)
      edit_record(find_record(&a, c->record), c->from, c->to);
    else
      set_record(find_record(&a, c->record), c->to);
    bytes changed = pack(&a);
    fnz_status status = read_with(&f, fnzi_read_pt2, changed.data, changed.size);
    const fnz_error *e = fnz_last_error(f.ctx);
    ck_assert_msg(strcmp(fnz_class_name(e->kind), c->class_name) == 0,
                  "change %zu (%s): want %s, got %s: %s: %s", i, c->to, c->class_name,
                  fnz_class_name(e->kind), e->where, e->message);
    ck_assert_int_eq(status == FNZ_OK, e->kind == FNZ_CLASS_NONE);
    done(&f);
    free(changed.data);
    free_archive(&a);
  }
  free(file.data);
}
END_TEST

/* Removes the record, or renames it when `to` is given, or adds it when it is not there. */
static void expect_renamed(const char *from, const char *to, const char *class_name) {
  archive a;
  open_fixture("alias_001.pt2", &a);
  record *r = find_record(&a, from);
  if (to)
    snprintf(r->name, sizeof r->name, "%s", to);
  else
    drop_record(&a, r);
  must_fail(pack(&a), class_name);
  free_archive(&a);
}

START_TEST(other_archives) {
  expect_renamed("models/model.json", NULL, "ARCHIVE");
  expect_renamed("models/model.json", "program/models/model.txt", "ARCHIVE");
  expect_renamed("models/model.json", "program/data/aotinductor/model/a.so", "UNSUPPORTED");
  expect_renamed("archive_format", NULL, "ARCHIVE");
  expect_renamed("archive_format", "program/data.pkl", "UNSUPPORTED");
  expect_renamed("sample_inputs/model.pt", "program/models/second.json", "UNSUPPORTED");
  expect_renamed("sample_inputs/model.pt", "elsewhere/model.pt", "ARCHIVE");
  must_fail(copy_bytes("PYTORCH1 and more than that", 27), "UNSUPPORTED");
}
END_TEST

/* --- damage and memory ------------------------------------------------------------------- */
START_TEST(every_prefix_is_refused) {
  bytes file = load_fixture("alias_001.pt2");
  for (size_t size = 0; size < file.size; size += 7) {
    fixture f;
    bytes cut = copy_bytes(file.data, size);
    ck_assert_int_eq(read_with(&f, fnzi_read_pt2, cut.data, size), FNZ_BAD_INPUT);
    done(&f);
    free(cut.data);
  }
  free(file.data);
}
END_TEST

/* Any outcome will do, but for crashes, leaks, and faults of the reader itself. */
START_TEST(every_flipped_byte_is_survived) {
  bytes file = load_fixture("alias_003.pt2");
  size_t refused = 0;
  for (size_t at = 0; at < file.size; at++) {
    fixture f;
    file.data[at] = (char)(file.data[at] ^ 0x55);
    fnz_status status = read_with(&f, fnzi_read_pt2, file.data, file.size);
    ck_assert(status == FNZ_OK || status == FNZ_BAD_INPUT || status == FNZ_UNSUPPORTED);
    refused += status != FNZ_OK;
    done(&f);
    file.data[at] = (char)(file.data[at] ^ 0x55);
  }
  ck_assert_uint_gt(refused, file.size / 3);
  free(file.data);
}
END_TEST

static fnz_status read_once(fnz_context *ctx, const void *user) {
  const bytes *file = user;
  fnz_program *p = NULL;
  fnz_status status = fnzi_program_create(ctx, &p);
  if (status == FNZ_OK)
    status = fnzi_read_pt2(ctx, file->data, file->size, p);
  fnz_program_destroy(p);
  return status;
}

START_TEST(no_memory_anywhere) {
  static const char *const names[] = {"batchnorm_train.pt2", "cond_local_mutation.pt2"};
  for (size_t i = 0; i < 2; i++) {
    bytes file = load_fixture(names[i]);
    ck_assert_uint_gt(each_fault(read_once, &file), 50);
    free(file.data);
  }
}
END_TEST

/* --- bytes that are handed over --------------------------------------------------------------- */
static fnz_status take_once(fnz_context *ctx, const void *user) {
  const bytes *file = user;
  fnz_program *p = NULL;
  fnz_buffer own = {0};
  fnz_status status = fnzi_put(ctx, &own, file->data, file->size);
  if (status == FNZ_OK)
    status = fnz_program_read_buffer(ctx, &own, FNZ_FORMAT_AUTO, &p);
  else
    fnz_buffer_free(ctx, &own);
  ck_assert_ptr_null(own.data);
  fnz_program_destroy(p);
  return status;
}

static bool is_between(const void *p, const char *first, const char *last) {
  return (const char *)p >= first && (const char *)p < last;
}

START_TEST(weights_stay_in_the_file) {
  fixture f;
  fnz_buffer own, cbor = {0};
  fnz_program *again;
  size_t windows = 0;
  ck_assert_int_eq(fnz_context_create(NULL, &f.ctx), FNZ_OK);
  OK(f.ctx, fnz_file_read(f.ctx, FNZ_SOURCE_DIR "/fixtures/pt2/batchnorm_train.pt2", &own));
  const char *first = own.data, *last = own.data + own.size;
  OK(f.ctx, fnz_program_read_buffer(f.ctx, &own, FNZ_FORMAT_AUTO, &f.program));
  ck_assert_ptr_null(own.data);
  for (size_t i = 0; i < f.program->weights.count; i++)
    windows += is_between(fnzi_blob_data(f.program->weights.data[i].blob), first, last);
  ck_assert_uint_gt(windows, 0);
  ck_assert_uint_eq(windows, f.program->weights.count);
  /* They outlive the program that was read, and are the same bytes in CBOR. */
  fnzi_blob *blob = fnzi_blob_retain(f.program->weights.data[0].blob);
  OK(f.ctx, fnz_program_write(f.ctx, f.program, FNZ_FORMAT_CBOR, &cbor));
  fnz_program_destroy(f.program);
  OK(f.ctx, fnz_program_read_buffer(f.ctx, &cbor, FNZ_FORMAT_AUTO, &again));
  const fnzi_blob *copy = again->weights.data[0].blob;
  ck_assert_uint_eq(fnzi_blob_bytes(blob), fnzi_blob_bytes(copy));
  ck_assert_mem_eq(fnzi_blob_data(blob), fnzi_blob_data(copy), fnzi_blob_bytes(copy));
  fnzi_blob_release(blob);
  f.program = again;
  done(&f);
}
END_TEST

START_TEST(taken_bytes_and_no_memory) {
  bytes file = load_fixture("batchnorm_train.pt2"), half = {file.data, file.size / 2};
  fnz_context *ctx;
  ck_assert_uint_gt(each_fault(take_once, &file), 50);
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  FAILS(ctx, "ARCHIVE", take_once(ctx, &half));
  ck_assert_uint_eq(ctx->live_bytes, 0);
  fnz_context_destroy(ctx);
  free(file.data);
}
END_TEST

RUN_SUITE("pt2", in_place_add, weights_and_state, regions, symbolic_sizes, two_names_of_one_memory,
          deflated_records, flat_archive, pickled_weights, model_alone, storage_without_bytes,
          edited_models, errors_name_the_place, literals_and_tokens, changed_archives,
          other_archives, every_prefix_is_refused, every_flipped_byte_is_survived,
          no_memory_anywhere, weights_stay_in_the_file, taken_bytes_and_no_memory)
