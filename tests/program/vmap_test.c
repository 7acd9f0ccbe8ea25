/* checks: 6
 * vmap_test.c - regions of torch.vmap in exported programs: they have eager PyTorch's results, and
 * operators without a rule are refused by name. */
#include "program/program.h"
#include "tests/help/archive.h"
#include "tests/help/context.h"
#include "tests/help/faults.h"

#include <fnz/fnz.h>
#include <math.h>

static const char *const names[] = {"axes",  "fills",  "gathered",   "mask", "more",
                                    "outer", "places", "products",   "puts", "shapes",
                                    "sums",  "writes", "writes_base"};

static void read_file(const char *name, const char *ending, fnz_buffer *out) {
  char path[512];
  snprintf(path, sizeof path, "%s/fixtures/vmap/%s%s", FNZ_SOURCE_DIR, name, ending);
  OK(ctx, fnz_file_read(ctx, path, out));
}

static fnz_program *read_program(const char *name) {
  fnz_buffer file;
  fnz_program *p;
  read_file(name, ".pt2", &file);
  OK(ctx, fnz_program_read(ctx, file.data, file.size, FNZ_FORMAT_PT2, &p));
  fnz_buffer_free(ctx, &file);
  return p;
}

static fnz_arrays *read_arrays(const char *name, const char *ending) {
  fnz_buffer file;
  fnz_arrays *arrays;
  read_file(name, ending, &file);
  OK(ctx, fnz_arrays_read_safetensors(ctx, file.data, file.size, &arrays));
  fnz_buffer_free(ctx, &file);
  return arrays;
}

/* --- Numbers ---------------------------------------------------------------------------------- */

static double number(const fnz_array *a, size_t i) {
  if (a->dtype == FNZ_F32)
    return ((const float *)a->data)[i];
  if (a->dtype == FNZ_F64)
    return ((const double *)a->data)[i];
  ck_assert_int_eq(a->dtype, FNZ_I64);
  return (double)((const int64_t *)a->data)[i];
}

static void must_be_near(const char *name, const fnz_array *got, const fnz_array *want) {
  ck_assert_msg(got != NULL, "%s: there is no %s", name, want->name);
  ck_assert_msg(got->dtype == want->dtype && got->bytes == want->bytes, "%s: %s looks otherwise",
                name, want->name);
  size_t item = fnz_dtype_get_info(want->dtype)->bytes;
  if (memcmp(got->data, want->data, want->bytes) == 0)
    return;
  ck_assert_msg(want->dtype != FNZ_BOOL, "%s: %s has other values", name, want->name);
  for (size_t i = 0; i < want->bytes / item; i++)
    ck_assert_msg(fabs(number(got, i) - number(want, i)) < 1e-5, "%s: %s[%zu] is %g, not %g", name,
                  want->name, i, number(got, i), number(want, i));
}

static void must_run(const char *name, const fnz_run_options *how, const fnz_program *p) {
  fnz_arrays *in = read_arrays(name, ".inputs.safetensors"), *got;
  fnz_arrays *want = read_arrays(name, ".expected.safetensors");
  fnz_backend *cpu;
  OK(ctx, fnz_arrays_create(ctx, &got));
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  OK(ctx, fnz_run(ctx, p, cpu, in, how, got));
  for (size_t i = 0; i < fnz_arrays_count(want); i++) {
    const fnz_array *a = fnz_arrays_at(want, i), *b = fnz_arrays_find(got, a->name);
    bool is_output = strncmp(a->name, "output.", strlen("output.")) == 0;
    must_be_near(name, b || is_output ? b : fnz_arrays_find(in, a->name + strlen("input.")), a);
  }
  fnz_backend_destroy(cpu);
  fnz_arrays_destroy(got);
  fnz_arrays_destroy(want);
  fnz_arrays_destroy(in);
}

START_TEST(numbers_of_eager) {
  begin();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    fnz_program *p = read_program(names[i]), *f;
    must_run(names[i], AS_ORIGINAL, p);
    OK(ctx, fnz_functionalize(ctx, p, NULL, &f));
    must_run(names[i], NULL, f);
    fnz_program_destroy(f);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

START_TEST(equal_for_all_values) {
  begin();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    fnz_program *p = read_program(names[i]);
    OK(ctx, fnz_verify(ctx, p, NULL, NULL, WITH_TRIALS(3), NULL));
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

/* No bookkeeping is left, and nothing else that is no operator. */
START_TEST(regions_are_gone) {
  begin();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    fnz_program *p = read_program(names[i]);
    OK(ctx, fnz_program_verify(ctx, p));
    for (uint32_t k = 0; k < fnzi_graph_main(p)->nodes.count; k++)
      ck_assert_ptr_nonnull(fnzi_node_at(p, 0, k)->op);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

/* --- Refusals --------------------------------------------------------------------------------- */

/* An edit of a model.json, and the message for it. */
typedef struct edit {
  const char *file, *from, *to, *class_name, *says;
} edit;

#define MARK(name) "torch._functorch.predispatch." name

static const edit edits[] = {
    {"writes", "aten.clone.default", "aten.pinverse.default", "UNSUPPORTED",
     "pinverse within torch.vmap has no rule for a batch"},
    {"writes", MARK("_add_batch_dim"), MARK("_make_dual"), "UNSUPPORTED",
     "of torch.func only vmap is read"},
    {"writes", MARK("_add_batch_dim"), MARK("lazy_load_decompositions"), "TYPE",
     "another number of arguments"},
    {"writes",
     "{\"name\": \"\", \"arg\": {\"as_int\": 1}, \"kind\": 1}], \"outputs\": "
     "[{\"as_tensor\": {\"name\": \"_add_batch_dim\"}}]",
     "{\"name\": \"\", \"arg\": {\"as_int\": 2}, \"kind\": 1}], \"outputs\": "
     "[{\"as_tensor\": {\"name\": \"_add_batch_dim\"}}]",
     "REF", "its level is not that of the innermost region"},
    {"writes",
     "{\"name\": \"\", \"arg\": {\"as_int\": 3}, \"kind\": 1}, {\"name\": \"\", \"arg\": "
     "{\"as_string\": \"error\"}",
     "{\"name\": \"\", \"arg\": {\"as_int\": 4}, \"kind\": 1}, {\"name\": \"\", \"arg\": "
     "{\"as_string\": \"error\"}",
     "BOUNDS", "not as long as the region's batch"},
    {"writes", MARK("_vmap_increment_nesting"), MARK("_vmap_decrement_nesting"), "TYPE",
     "another number of arguments"},
    {"writes", "{\"as_int\": 3}, \"kind\": 1}, {\"name\": \"\", \"arg\": {\"as_string\"",
     "{\"as_int\": -3}, \"kind\": 1}, {\"name\": \"\", \"arg\": {\"as_string\"", "UNSUPPORTED",
     "the batch size is not fixed"},
    {"writes", "{\"as_int\": 3}, \"kind\": 1}, {\"name\": \"\", \"arg\": {\"as_string\"",
     "{\"as_bool\": true}, \"kind\": 1}, {\"name\": \"\", \"arg\": {\"as_string\"", "UNSUPPORTED",
     "the batch size is not fixed"},
    {"writes", "{\"as_string\": \"error\"}", "{\"as_none\": true}", "NONE", ""},
    {"writes", MARK("lazy_load_decompositions"), MARK("_vmap_decrement_nesting"), "REF",
     "no region is open"},
    {"writes", "{\"as_tensor\": {\"name\": \"args_0\"}}, \"kind\": 1}, {\"name\": \"\", \"arg\": ",
     "{\"as_int\": 1}, \"kind\": 1}, {\"name\": \"\", \"arg\": ", "TYPE",
     "its first argument must be a tensor"},
    {"writes", "{\"as_int\": 0}, \"kind\": 1}, {\"name\": \"\", \"arg\": {\"as_int\": 1}",
     "{\"as_bool\": true}, \"kind\": 1}, {\"name\": \"\", \"arg\": {\"as_int\": 1}", "TYPE",
     "a dimension must be an integer"},
    {"writes", "{\"as_int\": 0}, \"kind\": 1}, {\"name\": \"\", \"arg\": {\"as_int\": 1}",
     "{\"as_int\": 0}, \"kind\": 1}, {\"name\": \"\", \"arg\": {\"as_bool\": true}", "REF",
     "its level is not that of the innermost region"},
    {"writes", "{\"as_int\": 0}, \"kind\": 1}, {\"name\": \"\", \"arg\": {\"as_int\": 1}",
     "{\"as_int\": 3}, \"kind\": 1}, {\"name\": \"\", \"arg\": {\"as_int\": 1}", "BOUNDS",
     "dimension 3"},
    {"writes", "aten.clone.default", "aten.bernoulli.default", "UNSUPPORTED",
     "its randomness is 'error'"},
    /* A result is looked up before its node is in the graph. */
    {"writes", "\"clone\": {\"dtype\": 7", "\"clone\": {\"dtype\": 99", "UNSUPPORTED",
     "node 1 (clone): there is no element type of number 99"},
    {"writes",
     "\"_add_batch_dim\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 4}, {\"as_int\": 5}], "
     "\"requires_grad\": false, \"device\": {\"type\": \"cpu\", \"index\": null}, \"strides\": "
     "[{\"as_int\": 5}, {\"as_int\": 1}], \"storage_offset\": {\"as_int\": 0}, \"layout\": 7",
     "\"_add_batch_dim\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 4}, {\"as_int\": 5}], "
     "\"requires_grad\": false, \"device\": {\"type\": \"cpu\", \"index\": null}, \"strides\": "
     "[{\"as_int\": 5}, {\"as_int\": 1}], \"storage_offset\": {\"as_int\": 0}, \"layout\": 2",
     "UNSUPPORTED",
     "node 0 (torch._functorch.predispatch._add_batch_): a tensor of layout sparse_csr (2)"},
};

START_TEST(what_is_refused) {
  for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
    const edit *e = &edits[i];
    archive a;
    fnz_buffer file;
    fnz_program *p = NULL;
    begin();
    read_file(e->file, ".pt2", &file);
    unpack((bytes){file.data, file.size}, &a);
    record *model = find_record(&a, "models/model.json");
    char *text = replaced(model->bytes, e->from, e->to);
    fnz_status status = fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_PT2, &p);
    const fnz_error *error = fnz_last_error(ctx);
    ck_assert_msg(strcmp(fnz_class_name(error->kind), e->class_name) == 0 &&
                      (status == FNZ_OK || strstr(error->message, e->says)),
                  "edit %zu: want %s: %s, got %s: %s: %s", i, e->class_name, e->says,
                  fnz_class_name(error->kind), error->where, error->message);
    fnz_program_destroy(p);
    fnz_buffer_free(ctx, &file);
    free_archive(&a);
    free(text);
    end();
  }
}
END_TEST

/* --- Operators -------------------------------------------------------------------------------- */

/* The first call of `shapes` is mul.Tensor of a matrix, "_add_batch_dim", and a number,
 * "_add_batch_dim_1", that the batch has one of each; "args_0" is the same for all of it. Another
 * call in its place, in a region of that randomness; `says` NULL where there is a rule. */
typedef struct call {
  const char *op, *inputs, *randomness, *says;
} call;

#define ARG(name, value) "{\"name\": \"" name "\", \"arg\": {" value "}, \"kind\": 1}"
#define TENSOR(t)        "\"as_tensor\": {\"name\": \"" t "\"}"
#define X                TENSOR("_add_batch_dim")
#define N                TENSOR("_add_batch_dim_1")
#define U                TENSOR("args_0")
#define LIST(t)          "\"as_tensors\": [{\"name\": \"" t "\"}]"
#define NONE             "\"as_none\": true"
#define INT(i)           "\"as_int\": " #i
#define INTS(...)        "\"as_ints\": [" #__VA_ARGS__ "]"
#define SELF(value)      ARG("self", value)
#define WORD(s)          "\"as_string\": \"" s "\""
/* An index of a list of them. */
#define ITEM      "{\"as_tensor\": {\"name\": \"_add_batch_dim\"}}"
#define GAP       "{\"as_none\": true}"
#define AT(items) SELF(X) ", " ARG("indices", "\"as_optional_tensors\": [" items "]")

static const call calls[] = {
    {"clone.default", SELF(LIST("_add_batch_dim")), "error", "needs a tensor first"},
    {"layer_norm.default",
     ARG("input", X) ", " ARG("normalized_shape", INTS(5)) ", " ARG("weight", X), "error",
     "has no rule for a batch of its second tensor"},
    {"cumsum.default", SELF(N) ", " ARG("dim", INT(0)), "error",
     "gets a tensor without dimensions, and names one"},
    {"cumsum.default", SELF(X) ", " ARG("dim", INT(-1)), "error", NULL},
    {"imag.default", SELF(X), "error", NULL},
    {"roll.default", SELF(X) ", " ARG("shifts", INTS(1)), "error", "rolls all dimensions as one"},
    {"roll.default", SELF(X) ", " ARG("shifts", INTS(1)) ", " ARG("dims", NONE), "error",
     "rolls all dimensions as one"},
    {"squeeze_.default", SELF(X), "error", "has no rule for a batch"},
    {"squeeze.default", SELF(N), "error", NULL},
    {"t_.default", SELF(X), "error", "has no rule for a batch"},
    {"t.default", SELF(N), "error", NULL},
    {"view.default", SELF(X) ", " ARG("size", NONE), "error", "needs a list of sizes"},
    {"expand.default", SELF(X) ", " ARG("size", INTS(2, 4, 5)), "error", NULL},
    {"expand.default", SELF(N) ", " ARG("size", INTS(2, 3)), "error", NULL},
    {"repeat.default", SELF(X) ", " ARG("repeats", INTS(2, 1, 1)), "error", NULL},
    {"permute.default", SELF(X) ", " ARG("dims", INTS(1, -2)), "error", NULL},
    {"amax.default", SELF(N), "error", NULL},
    {"logsumexp.default", SELF(N) ", " ARG("dim", INTS(0)), "error", NULL},
    {"sum.default", SELF(N) ", " ARG("dtype", "\"as_scalar_type\": 8"), "error", NULL},
    {"argmax.default", SELF(X) ", " ARG("keepdim", "\"as_bool\": true"), "error",
     "keeps dimensions and names none"},
    {"argmax.default", SELF(X) ", " ARG("dim", INT(1)), "error", NULL},
    {"add_.Tensor", SELF(N) ", " ARG("other", X), "error",
     "writes a tensor of fewer dimensions than what it is written with"},
    {"add_.Tensor", SELF(U) ", " ARG("other", X), "error",
     "writes a tensor that is the same for the whole batch"},
    {"add.Scalar", SELF(N) ", " ARG("other", "\"as_complex\": {\"real\": 1, \"imag\": 2}"), "error",
     NULL},
    {"pow.Scalar", SELF("\"as_float\": 2.5") ", " ARG("exponent", N), "error", NULL},
    {"masked_fill.Tensor", SELF(X) ", " ARG("mask", X) ", " ARG("value", X), "error",
     "fills with a tensor that has dimensions"},
    {"masked_fill_.Tensor", SELF(N) ", " ARG("mask", X) ", " ARG("value", N), "error",
     "writes a tensor of fewer dimensions than its mask has"},
    {"fill.Tensor", SELF(X) ", " ARG("value", N), "error", NULL},
    {"fill.Tensor", SELF(U) ", " ARG("value", N), "error", NULL},
    {"fill.Tensor", SELF(X) ", " ARG("value", X), "error",
     "fills with a tensor that has dimensions"},
    {"fill_diagonal_.default", SELF(N) ", " ARG("fill_value", INT(1)), "error",
     "that is no matrix"},
    {"fill.Tensor", SELF(INT(100000000)) ", " ARG("value", N), "error", NULL},
    {"fill.Tensor", SELF(LIST("_add_batch_dim")) ", " ARG("value", N), "error", "but a list of"},
    {"masked_fill.Tensor", SELF(INT(100000000)) ", " ARG("mask", X) ", " ARG("value", N), "error",
     NULL},
    {"fill_diagonal_.default", SELF(LIST("_add_batch_dim")) ", " ARG("fill_value", INT(1)), "error",
     "that is no matrix"},
    {"add.Tensor", SELF(X) ", " ARG("other", LIST("_add_batch_dim")), "error", "but a list of"},
    {"ravel.default", SELF(X), "error", "has no rule"},
    {"view_as.default", SELF(X) ", " ARG("other", INT(1)), "error", "needs a second tensor"},
    {"expand_as.default", SELF(N) ", " ARG("other", X), "error", NULL},
    {"tile.default", SELF(X) ", " ARG("dims", NONE), "error", "needs a list of sizes"},
    {"pad.default", SELF(X) ", " ARG("pad", INTS(1, 1)) ", " ARG("mode", WORD("reflect")), "error",
     "pads with something else than a number"},
    {"roll.default", SELF(N) ", " ARG("shifts", INTS(1)), "error", "rolls all dimensions as one"},
    {"take_along_dim.default", SELF(X) ", " ARG("indices", X), "error", "names no dimension"},
    {"searchsorted.Tensor", ARG("sorted_sequence", X) ", " SELF(N), "error",
     "looks for values of other dimensions than the rows have"},
    {"index_add.default",
     SELF(N) ", " ARG("dim", INT(0)) ", " ARG("index", N) ", " ARG("source", X), "error",
     "needs a dimension and one row of indices"},
    {"index_copy.default",
     SELF(X) ", " ARG("dim", INT(0)) ", " ARG("index", X) ", " ARG("source", X), "error",
     "needs a dimension and one row of indices"},
    {"index_copy.default",
     SELF(X) ", " ARG("dim", INT(0)) ", " ARG("index", N) ", " ARG("source", INT(1)), "error",
     "has more indices than dimensions, or no values"},
    {"index_fill.int_Scalar",
     SELF(X) ", " ARG("dim", INT(1)) ", " ARG("index", N) ", " ARG("value", INT(1)), "error", NULL},
    {"index_fill.int_Scalar",
     SELF(INT(1)) ", " ARG("dim", INT(1)) ", " ARG("index", N) ", " ARG("value", INT(1)), "error",
     "needs a dimension and one row of indices"},
    {"masked_fill.Tensor", SELF(X) ", " ARG("mask", X) ", " ARG("value", U), "error", NULL},
    {"cat.default", ARG("tensors", LIST("_add_batch_dim")) ", " ARG("dim", INT(1)), "error", NULL},
    {"select_scatter.default",
     SELF(U) ", " ARG("src", X) ", " ARG("dim", INT(0)) ", " ARG("index", INT(0)), "error", NULL},
    {"scaled_dot_product_attention.default",
     ARG("query", X) ", " ARG("key", X) ", " ARG("value", U), "error", NULL},
    {"index.Tensor", SELF(X) ", " ARG("indices", NONE), "error", "needs a list of indices"},
    {"index.Tensor", AT(GAP), "error", "has no index"},
    {"index.Tensor", AT(ITEM ", " ITEM ", " ITEM), "error", "has more indices than dimensions"},
    {"index.Tensor", AT(ITEM ", " ITEM), "error", NULL},
    {"index.Tensor", AT(GAP ", " ITEM), "error", NULL},
    {"embedding.default", ARG("weight", X) ", " ARG("indices", X), "error", NULL},
    {"embedding.default", ARG("weight", U) ", " ARG("indices", X), "error", NULL},
    {"index_select.default", SELF(X) ", " ARG("dim", NONE) ", " ARG("index", N), "error",
     "needs a dimension and one row of indices"},
    {"index_select.default", SELF(X) ", " ARG("dim", INT(0)) ", " ARG("index", N), "error",
     "needs a dimension and one row of indices"},
    {"index_select.default", SELF(X) ", " ARG("dim", INT(0)) ", " ARG("index", U), "error", NULL},
    {"index_put.default", AT(GAP ", " ITEM) ", " ARG("values", X), "error",
     "puts values at indices that do not begin with the first dimension"},
    {"index_put.default", AT(ITEM) ", " ARG("values", INT(3)), "error",
     "has more indices than dimensions, or no values"},
    {"index_put.default", AT(GAP ", " ITEM) ", " ARG("values", N), "error", NULL},
    {"index_put.default", AT(ITEM ", " GAP) ", " ARG("values", X), "error", NULL},
    {"matmul.default", SELF(X) ", " ARG("other", N), "error", "needs tensors with dimensions"},
    {"matmul.default", SELF(X) ", " ARG("other", INT(1)), "error", "needs tensors with dimensions"},
    {"matmul.default", SELF(X) ", " ARG("other", X), "error",
     "multiplies matrices that do not fit"},
    {"addmm.default", SELF(X) ", " ARG("mat1", X) ", " ARG("mat2", X) ", " ARG("alpha", INT(2)),
     "error", "has factors beta or alpha other than 1"},
    {"addmm.default",
     SELF(X) ", " ARG("mat1", X) ", " ARG("mat2", X) ", " ARG("beta", "\"as_float\": 0.5"), "error",
     "has factors beta or alpha other than 1"},
    {"addmm_.default",
     SELF(X) ", " ARG("mat1", X) ", " ARG("mat2", X) ", " ARG("beta", "\"as_float\": 1.0"), "error",
     "has no rule for a batch"},
    {"linear.default", ARG("input", U) ", " ARG("weight", N), "error",
     "has a weight that is no matrix"},
    {"einsum.default",
     ARG("equation", WORD("...i->...")) ", " ARG("tensors", LIST("_add_batch_dim")), "error",
     "has an ellipsis"},
    {"einsum.default", ARG("equation", INT(3)) ", " ARG("tensors", LIST("_add_batch_dim")), "error",
     "has an ellipsis"},
    {"einsum.default",
     ARG("equation", WORD("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")) ", " ARG(
         "tensors", LIST("_add_batch_dim")),
     "error", "leaves no letter for the batch"},
    {"einsum.default", ARG("equation", WORD("Aj")) ", " ARG("tensors", LIST("_add_batch_dim")),
     "error", NULL},
    {"dropout.default",
     ARG("input", X) ", " ARG("p", "\"as_float\": 0.5") ", " ARG("train", "\"as_bool\": false"),
     "error", NULL},
    {"dropout.default",
     ARG("input", X) ", " ARG("p", "\"as_float\": 0.5") ", " ARG("train", "\"as_bool\": true"),
     "error", "its randomness is 'error'"},
    {"bernoulli.default", SELF(X), "different", NULL},
    {"bernoulli.default", SELF(X), "same", "draws the same numbers for some batch dimensions"},
    {"bernoulli.default", SELF(U), "same", NULL},
    {"bernoulli.default", SELF(U), "different", "draws the same numbers for some batch dimensions"},
    {"randn.default", ARG("size", INTS(2)), "different", NULL},
    {"randn.default", ARG("size", INTS(2)), "same", NULL},
    {"randn.default", ARG("size", INTS(2)), "error", "its randomness is 'error'"},
    {"normal.float_float",
     ARG("mean", "\"as_float\": 0.5") ", " ARG("std", "\"as_float\": 1.5") ", " ARG("size",
                                                                                    INTS(2)),
     "different", NULL},
};

static void check_call(const call *c, const char *model) {
  static const char from[] = "\"torch.ops.aten.mul.Tensor\", \"inputs\": [" SELF(X);
  char to[2048], random[64];
  fnz_program *p = NULL;
  snprintf(to, sizeof to, "\"torch.ops.aten.%s\", \"inputs\": [%s], \"was\": [" SELF(X), c->op,
           c->inputs);
  snprintf(random, sizeof random, "\"as_string\": \"%s\"", c->randomness);
  char *one = replaced(model, from, to), *text = replaced(one, "\"as_string\": \"error\"", random);
  fnz_status status = fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_PT2, &p);
  const char *message = fnz_last_error(ctx)->message;
  ck_assert_msg(c->says ? status != FNZ_OK && strstr(message, c->says) : status == FNZ_OK,
                "%s(%s): want %s, got %s", c->op, c->inputs, c->says ? c->says : "no refusal",
                status == FNZ_OK ? "none" : message);
  fnz_program_destroy(p);
  free(one);
  free(text);
}

START_TEST(what_has_no_rule) {
  archive a;
  fnz_buffer file;
  begin();
  read_file("shapes", ".pt2", &file);
  unpack((bytes){file.data, file.size}, &a);
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
    check_call(&calls[i], find_record(&a, "models/model.json")->bytes);
  free_archive(&a);
  fnz_buffer_free(ctx, &file);
  end();
}
END_TEST

static fnz_status read_once(fnz_context *context, const void *user) {
  const fnz_buffer *file = user;
  fnz_program *p = NULL;
  fnz_status status = fnz_program_read(context, file->data, file->size, FNZ_FORMAT_PT2, &p);
  fnz_program_destroy(p);
  return status;
}

START_TEST(no_memory_anywhere) {
  static const char *const few[] = {"fills", "mask", "more", "places", "products", "puts"};
  for (size_t i = 0; i < sizeof few / sizeof *few; i++) {
    fnz_buffer file;
    begin();
    read_file(few[i], ".pt2", &file);
    ck_assert_uint_gt(each_fault(read_once, &file), 50);
    fnz_buffer_free(ctx, &file);
    end();
  }
}
END_TEST

RUN_SUITE("vmap", numbers_of_eager, equal_for_all_values, regions_are_gone, what_is_refused,
          what_has_no_rule, no_memory_anywhere)
