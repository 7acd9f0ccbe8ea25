/* custom_wrappers.c - what PyTorch's wrappers around declared operators become, and broken ones. */
#include "tests/functionalize/custom.h"

START_TEST(wrapped_calls_mean_what_direct_calls_mean) {
  static const char *const pairs[][2] = {{"direct.pt2", "wrapped_v2.pt2"},
                                         {"separate.pt2", "wrapped_v1.pt2"},
                                         {"named.pt2", "named_wrapped.pt2"},
                                         {"overlapping.pt2", "overlapping_wrapped.pt2"}};
  begin();
  declare_fixture_ops();
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    fnz_program *direct;
    OK(ctx, read_fixture(pairs[i][0], &direct));
    fnz_program *functional = functional_fixture(pairs[i][0]);
    fnz_program *wrapped = functional_fixture(pairs[i][1]);
    OK(ctx, fnz_verify(ctx, direct, functional, NULL, NULL, NULL));
    OK(ctx, fnz_verify(ctx, direct, wrapped, NULL, NULL, NULL));
    fnz_program_destroy(wrapped);
    fnz_program_destroy(functional);
    fnz_program_destroy(direct);
  }
  end();
}
END_TEST

START_TEST(unknown_operators_show_how_to_declare_them) {
  fnz_program *p;
  begin();
  FAILS(ctx, "UNSUPPORTED", read_fixture("direct.pt2", &p));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message,
                               "--ops, as in 'fixture::scale_rows(Tensor dst, Tensor factor, int[] "
                               "rows) -> ()'"));
  FAILS(ctx, "UNSUPPORTED", read_fixture("wrapped_v2.pt2", &p));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, "fixture::scale_rows"));
  end();
}
END_TEST

#define DECLARES(called)                                                                           \
  "fnz 1\noperator \"ns::scale(Tensor x) -> Tensor\"\nprogram(%x: f32[4])\n{\n"                    \
  "%y: f32[4] = " called "(%x)\nreturn %y\n}\n"

static void must_name_scale(const char *bytes, size_t size) {
  fnz_program *p;
  FAILS(ctx, "UNSUPPORTED", fnz_program_read(ctx, bytes, size, FNZ_FORMAT_AUTO, &p));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message,
                               "no operator ns::scael; did you mean ns::scale? declare it"));
}

/* Operators that a program declares itself may be suggested as well, in CBOR as in text. */
START_TEST(unknown_operators_name_declared_ones_that_are_near) {
  static const char right[] = DECLARES("ns::scale"), wrong[] = DECLARES("ns::scael");
  fnz_program *p;
  fnz_buffer file = {0};
  begin();
  must_name_scale(wrong, sizeof wrong - 1);
  OK(ctx, fnz_program_read(ctx, right, sizeof right - 1, FNZ_FORMAT_TEXT, &p));
  OK(ctx, fnz_program_write(ctx, p, FNZ_FORMAT_CBOR, &file));
  size_t at = 0; /* of a string of nine bytes: the schema begins with the same ones */
  while (at + 10 < file.size && memcmp(file.data + at, "ins::scale", 10) != 0)
    at++;
  memcpy(file.data + at, "ins::scael", 10);
  must_name_scale(file.data, file.size);
  fnz_buffer_free(ctx, &file);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* An operator that overwrites its out arguments has no base: new tensors that it fills. */
START_TEST(wrapped_out_operators_fill_new_tensors) {
  fnz_program *p;
  begin();
  OK(ctx, fnz_op_declare(ctx, "fixture::twice(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", NULL));
  OK(ctx, read_fixture("out.pt2", &p));
  size_t filled = 0;
  for (uint32_t k = 1; k < fnzi_graph_main(p)->nodes.count; k++) {
    const fnzi_node *call = fnzi_node_at(p, 0, k), *maker;
    if (strcmp(fnzi_node_target(call), "fixture::twice") != 0)
      continue;
    maker = fnzi_node_at(p, 0, fnzi_value_at(p, 0, call->args[1].u.value)->node);
    ck_assert_str_eq(fnzi_node_target(maker), "empty_strided");
    filled++;
  }
  ck_assert_uint_eq(filled, 2);
  OK(ctx, fnz_verify(ctx, p, NULL, NULL, NULL, NULL));
  fnz_program_destroy(p);
  end();
}
END_TEST

/* Reads a fixture with one change in its model, in which ' stands for ". */
static fnz_status read_changed(const char *name, const char *from, const char *to,
                               fnz_program **out) {
  archive a;
  char path[64];
  bytes quoted[2] = {copy_bytes(from, strlen(from)), copy_bytes(to, strlen(to))};
  for (int k = 0; k < 2; k++)
    for (char *c = quoted[k].data; (c = strchr(c, '\'')) != NULL;)
      *c = '"';
  snprintf(path, sizeof path, "../custom/%s.pt2", name);
  bytes file = load_fixture(path);
  unpack(file, &a);
  free(file.data);
  edit_record(find_record(&a, "models/model.json"), quoted[0].data, quoted[1].data);
  file = pack(&a);
  free_archive(&a);
  fnz_status status = fnz_program_read(ctx, file.data, file.size, FNZ_FORMAT_PT2, out);
  free(file.data);
  free(quoted[0].data);
  free(quoted[1].data);
  return status;
}

/* In other formats a wrapper is a higher-order operator like any. */
START_TEST(wrappers_are_for_pt2_files) {
  fnz_program *p, *functional;
  begin();
  OK(ctx, read_body(ctx, "%x: f32[2]",
                    "%y: f32[2] = higher_order.auto_functionalized(%x)\nreturn %y", &p));
  FAILS(ctx, "UNSUPPORTED", fnz_functionalize(ctx, p, NULL, &functional));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, "write the clones and the call"));
  fnz_program_destroy(p);
  end();
}
END_TEST

#define INDEX  "'_dst_base_index', 'arg': {'as_int': 0}"
#define START  "'_dst_slice_start', 'arg': {'as_int': 1}"
#define END    "'_dst_slice_end', 'arg': {'as_int': 3}"
#define LENGTH "'_outs_length', 'arg': {'as_int': 2}"
#define SIZE   "'_a_size', 'arg': {'as_ints': [4]}"
#define OFFSET "'_a_storage_offset', 'arg': {'as_int': 0}"
#define BASES  "{'as_tensors': [{'name': 'x'}]}"
#define DST    "{'name': 'dst', 'arg': {'as_tensor': {'name': 'slice_1'}}, 'kind': 2}"
#define BOTH   "{'as_tensors': [{'name': 'getitem_7'}, {'name': 'getitem_8'}]}"
#define OUT    "'_out_size', 'arg': {'as_ints': [4, 4]}"

/* Wrappers changed in one place; class NONE: it is read, and the program means something. */
static const struct {
  const char *file, *from, *to, *class_name, *says;
} changed[] = {
    {"wrapped_v2", INDEX, "'_dst_base_index', 'arg': {'as_int': 1}", "REF", "names one of _all"},
    {"wrapped_v2", INDEX, "'_dst_base_index', 'arg': {'as_int': -1}", "REF", "names one of _all"},
    {"wrapped_v2", INDEX, "'_dst_base_index', 'arg': {'as_string': 'x'}", "REF", "names one of"},
    {"wrapped_v2", "_dst_base_index", "_dst_bass_index", "REF", "`dst` has no base_index"},
    {"wrapped_v2", "'_all_bases'", "'_no_bases'", "REF", "`_all_bases` is missing"},
    {"wrapped_v2", BASES, "{'as_tensor': {'name': 'x'}}", "REF", "`_all_bases` is missing"},
    {"wrapped_v2", BASES, "{'as_ints': [1]}", "TYPE", "`base` is written and no tensor"},
    {"wrapped_v2", START, "'_dst_slice_start', 'arg': {'as_int': -9}", "NONE", ""},
    {"wrapped_v2", START, "'_dst_slice_start', 'arg': {'as_int': -2}", "NONE", ""},
    {"wrapped_v2", START, "'_dst_slice_start', 'arg': {'as_int': 9}", "NONE", ""},
    {"wrapped_v2", START, "'_dst_slice_start', 'arg': {'as_none': true}", "UNSUPPORTED",
     "a slice without fixed dim, start and end"},
    {"wrapped_v2", "_dst_slice_start", "_dst_slice_stort", "UNSUPPORTED",
     "a slice without fixed dim, start and end"},
    {"wrapped_v2", END, "'_dst_slice_end', 'arg': {'as_none': true}", "UNSUPPORTED",
     "a slice without fixed dim, start and end"},
    {"wrapped_v2", "_dst_slice_end", "_dst_slice_und", "UNSUPPORTED",
     "a slice without fixed dim, start and end"},
    {"wrapped_v2", "'_dst_slice_dim', 'arg': {'as_int': 0}",
     "'_dst_slice_dim', 'arg': {'as_int': 2}", "UNSUPPORTED", "`dst` is a slice without fixed dim"},
    {"wrapped_v2", "'_dst_slice_dim', 'arg': {'as_int': 0}",
     "'_dst_slice_dim', 'arg': {'as_int': -1}", "UNSUPPORTED",
     "`dst` is a slice without fixed dim"},
    {"wrapped_v2", "'_dst_slice_dim', 'arg': {'as_int': 0}",
     "'_dst_slice_dim', 'arg': {'as_none': true}", "UNSUPPORTED", "is a slice without fixed dim"},
    {"wrapped_v2", "_a_stride", "_a_strode", "UNSUPPORTED", "a view without fixed size, stride"},
    {"wrapped_v2", SIZE, "'_a_size', 'arg': {'as_int': 4}", "UNSUPPORTED", "a view without fixed"},
    {"wrapped_v2", SIZE, "'_a_size', 'arg': {'as_bools': [true]}", "UNSUPPORTED",
     "a view without fixed size"},
    {"wrapped_v2", SIZE, "'_a_size', 'arg': {'as_ints': [2, 2]}", "UNSUPPORTED",
     "a view without fixed size"},
    {"wrapped_v2", "_a_storage_offset", "_a_storage_affset", "UNSUPPORTED", "a view without fixed"},
    {"wrapped_v2", OFFSET, "'_a_storage_offset', 'arg': {'as_bool': true}", "UNSUPPORTED",
     "`a` is a view without fixed size"},
    {"wrapped_v2", OFFSET, "'_a_storage_offset', 'arg': {'as_int': 9223372036854775807}",
     "OVERFLOW", ""},
    {"wrapped_v2", "_outs_0_size", "_outs_0_alias", "NONE", ""},
    {"wrapped_v2", LENGTH, "'_outs_length', 'arg': {'as_int': -2}", "LIMIT", "too great a length"},
    {"wrapped_v2", LENGTH, "'_outs_length', 'arg': {'as_bool': true}", "LIMIT",
     "of unknown or too"},
    {"wrapped_v2", LENGTH, "'_outs_length', 'arg': {'as_int': 99999999}", "LIMIT", "too great a"},
    {"wrapped_v2", LENGTH, "'_outs_length', 'arg': {'as_int': 3}", "REF",
     "`outs_2` has no base_in"},
    {"wrapped_v2", LENGTH, "'_outs_lungth', 'arg': {'as_int': 2}", "REF",
     "`outs` has no base_index"},
    {"wrapped_v2", "{'as_operator': 'torch.ops.fixture.scale_rows.default'}", "{'as_int': 3}",
     "UNSUPPORTED", "is no operator; only wrapped custom operators are read"},
    {"wrapped_v2", "fixture.scale_rows", "fixture.scale_cows", "UNSUPPORTED",
     "fixture::scale_cows is not in the ATen table; did you mean fixture::scale_rows"},
    {"wrapped_v2", "'inputs': [{'name': '', 'arg': {'as_operator'",
     "'inputs': [], 'were': [{'name': '', 'arg': {'as_operator'", "UNSUPPORTED", "is no operator"},
    {"wrapped_v2", "{'name': 'factor', 'arg'", "{'name': 'fuctor', 'arg'", "TYPE",
     "`factor` is missing"},
    {"wrapped_v1", DST, "{'name': 'dust', 'arg': {'as_int': 1}, 'kind': 2}", "TYPE",
     "`dst` is missing"},
    {"wrapped_v1", DST, "{'name': 'dst', 'arg': {'as_int': 1}, 'kind': 2}", "TYPE",
     "`dst` is written and no tensor"},
    {"wrapped_v1", "'name': 'log', 'arg': {'as_none'", "'name': 'lug', 'arg': {'as_none'", "TYPE",
     "`log` is missing"},
    {"wrapped_v1", BOTH, "{'as_tensors': [{'name': 'getitem_7'}]}", "REF", "getitem_8"},
    {"wrapped_v1", "'outputs': [{'as_tensor': {'name': 'getitem_2'}}, ", "'outputs': [", "REF",
     "getitem"},
    {"wrapped_v1", "'outputs': [{'as_tensor': {'name': 'getitem_2'}}, ",
     "'outputs': [], 'were': [{'as_tensor': {'name': 'getitem_2'}}, ", "TYPE",
     "has fewer results than the schema"},
    {"out", "_out_dtype", "_out_dtipe", "REF", "`out` has no base_index"},
    {"out", "'_out_dtype', 'arg': {'as_scalar_type': 7}", "'_out_dtype', 'arg': {'as_int': 7}",
     "UNSUPPORTED", "`out` is an out argument without fixed size"},
    {"out", OUT, "'_out_size', 'arg': {'as_ints': [4]}", "UNSUPPORTED", "an out argument without"},
    {"out", OUT, "'_out_size', 'arg': {'as_int': 4}", "UNSUPPORTED", "an out argument without"},
    {"out", "_out_stride", "_out_strode", "UNSUPPORTED", "an out argument without fixed size"},
    {"out", "_out_device", "_out_devise", "NONE", ""},
    {"wrapped_v1", "'getitem_2': {'dtype': 7", "'getitem_2': {'dtype': 99", "UNSUPPORTED", "node "},
    {"wrapped_v2", "'getitem_11': {'dtype': 7", "'getitem_11': {'dtype': 99", "UNSUPPORTED",
     "node "},
};

START_TEST(broken_wrappers_are_refused) {
  begin();
  declare_fixture_ops();
  OK(ctx, fnz_op_declare(ctx, "fixture::twice(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", NULL));
  for (size_t i = 0; i < sizeof changed / sizeof *changed; i++) {
    fnz_program *p;
    fnz_status status = read_changed(changed[i].file, changed[i].from, changed[i].to, &p);
    const fnz_error *e = fnz_last_error(ctx);
    const char *kind = fnz_class_name(status == FNZ_OK ? FNZ_CLASS_NONE : e->kind);
    ck_assert_msg(strcmp(kind, changed[i].class_name) == 0 &&
                      (status == FNZ_OK || strstr(e->message, changed[i].says)),
                  "%s: want %s: %s, got %s: %s", changed[i].to, changed[i].class_name,
                  changed[i].says, kind, e->message);
    if (status == FNZ_OK)
      OK(ctx, fnz_verify(ctx, p, NULL, NULL, WITH_TRIALS(1), NULL));
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

typedef struct file {
  const char *data;
  size_t size;
} file;

static fnz_status read_wrapped(fnz_context *c, const void *user) {
  const file *f = user;
  fnz_program *p = NULL;
  static const char ops[] = "fixture::scale_rows(Tensor(a!) dst, Tensor factor, SymInt[] rows) -> "
                            "()\nfixture::swap(Tensor(a!) a, Tensor(b!) b) -> Tensor\n"
                            "fixture::add_to(Tensor(a!)[] outs, Tensor x, Tensor(b!)? log) -> ()";
  fnz_status status = fnz_ops_declare(c, "ops", ops, strlen(ops));
  if (status == FNZ_OK)
    status = fnz_program_read(c, f->data, f->size, FNZ_FORMAT_JSON, &p);
  fnz_program_destroy(p);
  return status;
}

START_TEST(out_of_memory_in_wrappers_leaks_nothing) {
  archive a;
  bytes whole = load_fixture("../custom/wrapped_v1.pt2");
  unpack(whole, &a);
  const record *model = find_record(&a, "models/model.json");
  const file f = {model->bytes, model->size};
  ck_assert_uint_gt(each_fault(read_wrapped, &f), 50);
  free_archive(&a);
  free(whole.data);
}
END_TEST

SUITE_PART(custom_wrappers, wrapped_out_operators_fill_new_tensors,
           wrapped_calls_mean_what_direct_calls_mean, unknown_operators_show_how_to_declare_them,
           unknown_operators_name_declared_ones_that_are_near, wrappers_are_for_pt2_files,
           broken_wrappers_are_refused, out_of_memory_in_wrappers_leaks_nothing)
