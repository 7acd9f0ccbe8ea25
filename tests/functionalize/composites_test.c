/* checks: 3
 * composites_test.c - operators whose aliasing depends on eager geometry: a result is written, and
 * its argument changes with it or does not. */
#include "tests/help/context.h"
#include "tests/help/run_help.h"

static bool mutates(const fnz_program *p, const char *input) {
  size_t count;
  fnz_graph_outputs(p, 0, &count);
  for (uint32_t k = 0; k < count; k++) {
    fnz_output_spec o = fnz_program_output(p, k);
    if (o.kind == FNZ_OUTPUT_INPUT_MUTATION && strcmp(o.target, input) == 0)
      return true;
  }
  return false;
}

/* Whether the body changes input x; its functional form means the same. */
static bool changes_x(const char *inputs, const char *body) {
  fnz_program *p = program_of(ctx, inputs, body), *f;
  fnz_status status = fnz_functionalize(ctx, p, NULL, &f);
  ck_assert_msg(status == FNZ_OK, "%s: %s", body, fnz_last_error(ctx)->message);
  status = fnz_verify(ctx, p, f, NULL, NULL, NULL);
  ck_assert_msg(status == FNZ_OK, "%s: %s", body, fnz_last_error(ctx)->message);
  bool changed = mutates(f, "x");
  fnz_program_destroy(f);
  fnz_program_destroy(p);
  return changed;
}

/* --- one result ------------------------------------------------------------------------------- */
typedef struct row {
  const char *x, *type, *call; /* of the input, and of the result */
  bool aliases;
} row;

static const row one[] = {
    {"f32[2,3]", "f32[6]", "reshape(%x, [6])", true},
    {"f32[2,3] stride(1,2)", "f32[6]", "reshape(%x, [6])", false},
    {"f32[2,3] stride(1,2)", "f32[2,3,1] stride(1,2,1)", "reshape(%x, [2, 3, 1])", true},
    {"f32[2,3,4]", "f32[6,4]", "reshape(%x, [-1, 4])", true},
    {"f32[2,3] stride(6,2)", "f32[6] stride(2)", "reshape(%x, [6])", true},
    {"f32[2,3] stride(6,2)", "f32[6]", "ravel(%x)", false},
    {"f32[2,3]", "f32[6]", "ravel(%x)", true},
    {"f32[2,3]", "f32[6]", "flatten.using_ints(%x)", true},
    {"f32[2,3] stride(1,2)", "f32[6]", "flatten.using_ints(%x)", false},
    {"f32[2,3,4] stride(12,4,1)", "f32[2,12]", "flatten.using_ints(%x, 1)", true},
    {"f32[2,3,4]", "f32[6,4]", "flatten.using_ints(%x, 0, 1)", true},
    {"f32[2,3] stride(1,2)", "f32[2,3] stride(1,2)", "flatten.using_ints(%x, 1, 1)", true},
    {"f32[]", "f32[1]", "flatten.using_ints(%x)", true},
    {"f32[2,6]", "f32[2,3,2]", "unflatten.int(%x, 1, [3, -1])", true},
    {"f32[6,2]", "f32[3,2,2]", "unflatten.int(%x, 0, [3, 2])", true},
    {"f32[]", "f32[1,1,1]", "atleast_3d(%x)", true},
    {"f32[3]", "f32[1,3,1]", "atleast_3d(%x)", true},
    {"f32[2,3]", "f32[2,3,1]", "atleast_3d(%x)", true},
    {"f32[2,3,4]", "f32[2,3,4]", "atleast_3d(%x)", true},
    {"f32[3]", "f32[1,3]", "atleast_2d(%x)", true},
    {"f32[]", "f32[1]", "atleast_1d(%x)", true},
    {"f32[3]", "f32[3]", "positive(%x)", true},
    {"f32[2,3]", "f32[2,3]", "contiguous(%x)", true},
    {"f32[2,3] stride(1,2)", "f32[2,3]", "contiguous(%x)", false},
    {"f32[2,3,4,5] stride(60,1,15,3)", "f32[2,3,4,5] stride(60,1,15,3)",
     "contiguous(%x, memory_format=channels_last)", true},
    {"f32[2,3,4,5]", "f32[2,3,4,5] stride(60,1,15,3)",
     "contiguous(%x, memory_format=channels_last)", false},
    {"f32[2,3,4,5] stride(60,1,3,12)", "f32[2,3,4,5] stride(60,1,15,3)",
     "contiguous(%x, memory_format=channels_last)", false},
    {"f32[1,3,4,5] stride(7,1,15,3)", "f32[1,3,4,5] stride(7,1,15,3)",
     "contiguous(%x, memory_format=channels_last)", true},
    {"f32[2,3,4,5] stride(120,1,15,3)", "f32[2,3,4,5] stride(60,1,15,3)",
     "contiguous(%x, memory_format=channels_last)", false},
    {"f32[2,1,4,5]", "f32[2,1,4,5]", "contiguous(%x, memory_format=channels_last)", true},
    {"f32[2,3,1,4,5] stride(60,1,60,15,3)", "f32[2,3,1,4,5] stride(60,1,60,15,3)",
     "contiguous(%x, memory_format=channels_last_3d)", true},
    {"f32[2,3,2,4,5]", "f32[2,3,2,4,5] stride(120,1,60,15,3)",
     "contiguous(%x, memory_format=channels_last_3d)", false},
    {"f32[2,3,4,5] stride(60,1,15,3)", "f32[2,3,4,5]", "contiguous(%x)", false},
    {"c64[3]", "c64[3]", "resolve_conj(%x)", true},
    {"f32[3]", "f32[3]", "resolve_neg(%x)", true},
    {"f32[3]", "f32[3]", "conj_physical(%x)", true},
    {"c64[3]", "c64[3]", "conj_physical(%x)", false},
    {"f32[3]", "f32[3]", "conj(%x)", true},
    {"c64[3]", "c64[3] conj", "conj(%x)", true},
    {"f32[3]", "f32[3]", "real(%x)", true},
    {"c64[3]", "f32[3] stride(2)", "real(%x)", true},
    {"c64[3]", "f32[3] stride(2) offset(1)", "imag(%x)", true},
    {"f32[3]", "f32[3]", "dropout(%x, 0.5, False)", true},
    {"f32[3]", "f32[3]", "dropout(%x, 0.0, True)", true},
    {"f32[3]", "f32[3]", "dropout(%x, 0, True)", true},
    {"f32[3]", "f32[3]", "dropout(%x, 0.5, True)", false},
    {"f32[3]", "f32[3]", "dropout(%x, 1, True)", false},
    {"f32[2,3]", "f32[2,3]", "sum_to_size(%x, [2, 3])", true},
    {"f32[2,3]", "f32[1,3]", "sum_to_size(%x, [1, 3])", false},
    {"f32[]", "f32[]", "sum_to_size(%x, [])", false},
    {"f32[1]", "f32[]", "sum_to_size(%x, [])", false},
    {"f32[3]", "f32[3]", "to.dtype(%x, f32)", true},
    {"f32[3]", "f32[3]", "to.dtype(%x, f32, False, True)", false},
    {"f32[3]", "f64[3]", "to.dtype(%x, f64)", false},
    {"f32[3]", "f32[3]", "to.device(%x, device(\"cpu\"), f32)", true},
    {"f32[2,3] stride(1,2)", "f32[2,3] stride(1,2)",
     "to.dtype(%x, f32, memory_format=preserve_format)", true},
    {"f32[2,3] stride(1,2)", "f32[2,3] stride(1,2)",
     "to.dtype(%x, f32, memory_format=contiguous_format)", true},
    {"f32[2,3,4,5] stride(60,1,15,3)", "f32[2,3,4,5]",
     "to.dtype(%x, f32, memory_format=contiguous_format)", false},
    {"f32[2,3,1,1]", "f32[2,3,1,1] stride(3,1,3,3)",
     "to.dtype(%x, f32, memory_format=channels_last)", false},
    {"f32[2,3,4,5] stride(120,1,15,3)", "f32[2,3,4,5] stride(120,1,15,3)",
     "to.dtype(%x, f32, memory_format=channels_last)", true},
    {"f32[1,3,2,4,5] stride(200,1,100,20,4)", "f32[1,3,2,4,5] stride(200,1,100,20,4)",
     "to.dtype(%x, f32, memory_format=channels_last_3d)", true},
    {"f32[2,3] stride(1,2)", "f64[2,3]", "to.dtype(%x, f64, memory_format=contiguous_format)",
     false},
    {"f32[2,3]", "f32[2,3]", "to.dtype(%x, f32, memory_format=contiguous_format)", true},
    {"f32[2,3]", "f32[3,2] stride(1,3)", "numpy_T(%x)", true},
    {"f32[2,3,4]", "f32[4,3,2] stride(1,4,12)", "numpy_T(%x)", true},
    {"f32[2,3]", "f32[3,2] stride(1,3)", "mT(%x)", true},
    {"f32[2,3]", "f32[3,2] stride(1,3)", "mH(%x)", true},
    {"c64[2,3]", "c64[3,2] stride(1,3) conj", "mH(%x)", true},
    {"f32[2,3,4]", "f32[4,2,3] stride(1,12,4)", "movedim.int(%x, -1, 0)", true},
    {"f32[2,3,4]", "f32[4,3,2] stride(1,4,12)", "movedim.intlist(%x, [2, 1], [0, 1])", true},
    {"f32[2,3,4]", "f32[4,3,2] stride(1,4,12)", "swapaxes(%x, 0, 2)", true},
    {"f32[5]", "f32[2] offset(3)", "narrow(%x, 0, 3, 2)", true},
    {"f32[5]", "f32[2] offset(3)", "narrow(%x, 0, -2, 2)", true},
    {"f32[3,3]", "f32[3] stride(4)", "linalg_diagonal(%x)", true},
    {"f32[2,3]", "f32[3,2] stride(1,3)", "einsum(\"ij->ji\", [%x])", true},
    {"f32[2,3]", "f32[3,2] stride(1,3)", "einsum(\"ba\", [%x])", true},
    {"f32[2,3]", "f32[2,3]", "einsum(\"ab\", [%x])", true},
    {"f32[3]", "f32[3]", "cartesian_prod([%x])", true},
    {"f32[3]", "f32[9,2]", "cartesian_prod([%x, %x])", false},
    {"f32[3,3]", "f32[3] stride(4)", "einsum(\"ii->i\", [%x])", true},
    {"f32[3,3]", "f32[]", "einsum(\"ii\", [%x])", false},
    {"f32[2,3]", "f32[2]", "einsum(\"ij->i\", [%x])", false},
    {"f32[2,3,4]", "f32[4,2,3] stride(1,12,4)", "einsum(\"...k->k...\", [%x])", true},
    {"f32[2,3,4]", "f32[2,3,4]", "einsum(\"...\", [%x])", true},
    {"f32[2,3,4]", "f32[4,2,3] stride(1,12,4)", "einsum(\" b c a \", [%x])", true},
};

START_TEST(a_result_is_the_argument_or_not) {
  begin();
  for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
    const row *r = &one[i];
    char inputs[128], body[512];
    snprintf(inputs, sizeof inputs, "%%x: %s", r->x);
    snprintf(body, sizeof body, "%%v: %s = %s\n%%w: %s = mul_.Scalar(%%v, 2)\nreturn %%x", r->type,
             r->call, r->type);
    ck_assert_msg(changes_x(inputs, body) == r->aliases, "%s: %s", r->x, r->call);
  }
  end();
}
END_TEST

/* --- several results, or several tensors ------------------------------------------------------ */
START_TEST(windows_of_several) {
  static const struct {
    const char *inputs, *body; /* one of the results is written */
    bool aliases;
  } rows[] = {
      {"%x: f32[5]",
       "[%a: f32[2], %b: f32[2] offset(2), %c: f32[1] offset(4)] = chunk(%x, 3)\n"
       "%w: f32[1] offset(4) = zero_(%c)",
       true},
      {"%x: f32[4,0]", "[%a: f32[4,0], %b: f32[4,0]] = chunk(%x, 2, 1)\n%w: f32[4,0] = zero_(%b)",
       true},
      {"%x: f32[5]",
       "[%a: f32[2], %b: f32[2] offset(2), %c: f32[1] offset(4)] = tensor_split.sections(%x, 3)\n"
       "%w: f32[2] offset(2) = zero_(%b)",
       true},
      {"%x: f32[5]",
       "[%a: f32[1], %b: f32[3] offset(1), %c: f32[1] offset(4)] = "
       "tensor_split.indices(%x, [1, 4])\n%w: f32[3] offset(1) = zero_(%b)",
       true},
      {"%x: f32[4]",
       "[%a: f32[2], %b: f32[2] offset(2)] = hsplit.int(%x, 2)\n%w: f32[2] offset(2) = zero_(%b)",
       true},
      {"%x: f32[2,4]",
       "[%a: f32[2,2] stride(4,1), %b: f32[2,2] stride(4,1) offset(2)] = hsplit.int(%x, 2)\n"
       "%w: f32[2,2] stride(4,1) offset(2) = zero_(%b)",
       true},
      {"%x: f32[4,2]",
       "[%a: f32[1,2], %b: f32[3,2] offset(2)] = vsplit.array(%x, [1])\n"
       "%w: f32[1,2] = zero_(%a)",
       true},
      {"%x: f32[1,2,4]",
       "[%a: f32[1,2,2] stride(8,4,1), %b: f32[1,2,2] stride(8,4,1) offset(2)] = dsplit.int(%x, "
       "2)\n%w: f32[1,2,2] stride(8,4,1) = zero_(%a)",
       true},
      {"%x: f32[5]",
       "[%a: f32[2], %b: f32[3] offset(2)] = split.sizes(%x, [2, 3])\n"
       "%w: f32[3] offset(2) = zero_(%b)",
       true},
      {"%x: f32[1,3], %y: f32[2,1]",
       "[%a: f32[2,3] stride(0,1), %b: f32[2,3] stride(1,0)] = broadcast_tensors([%x, %y])\n"
       "%w: f32[2,3] stride(0,1) = zero_(%a)",
       true},
      {"%x: f32[1,3], %y: f32[2,1]",
       "[%a: f32[2,3] stride(0,1), %b: f32[2,3] stride(1,0)] = broadcast_tensors([%x, %y])\n"
       "%w: f32[2,3] stride(1,0) = zero_(%b)",
       false},
      {"%x: f32[2], %y: f32[3]",
       "[%a: f32[2,3] stride(1,0), %b: f32[2,3] stride(0,1)] = meshgrid([%x, %y])\n"
       "%w: f32[2,3] stride(1,0) = zero_(%a)",
       true},
      {"%x: f32[2], %y: f32[3]",
       "[%a: f32[3,2] stride(0,1), %b: f32[3,2] stride(1,0)] = meshgrid.indexing([%x, %y], "
       "indexing=\"xy\")\n%w: f32[3,2] stride(0,1) = zero_(%a)",
       true},
      {"%x: f32[], %y: f32[3]",
       "[%a: f32[1], %b: f32[3]] = atleast_1d.Sequence([%x, %y])\n%w: f32[1] = zero_(%a)", true},
      {"%x: f32[3], %y: f32[2,2]",
       "[%a: f32[1,3], %b: f32[2,2]] = atleast_2d.Sequence([%x, %y])\n%w: f32[1,3] = zero_(%a)",
       true},
      {"%x: f32[2,2], %y: f32[]",
       "[%a: f32[1,1,1], %b: f32[2,2,1]] = atleast_3d.Sequence([%y, %x])\n"
       "%w: f32[2,2,1] = zero_(%b)",
       true},
      {"%x: f32[2,2,1], %y: f32[]",
       "[%a: f32[1,1,1], %b: f32[2,2,1]] = atleast_3d.Sequence([%y, %x])\n"
       "%w: f32[2,2,1] = zero_(%b)",
       true},
      {"%x: f32[6], %y: f32[2,3]", "%v: f32[2,3] = reshape_as(%x, %y)\n%w: f32[2,3] = zero_(%v)",
       true},
      {"%x: f32[6], %y: f32[2,3]", "%v: f32[2,3] = view_as(%x, %y)\n%w: f32[2,3] = zero_(%v)",
       true},
      {"%x: f32[1,3], %y: f32[2,3]",
       "%v: f32[2,3] stride(0,1) = expand_as(%x, %y)\n%w: f32[2,3] stride(0,1) = zero_(%v)", true},
      {"%x: f32[1,3], %y: f32[2,3]",
       "%v: f32[2,3] stride(0,1) = broadcast_to(%x, [2, 3])\n%w: f32[2,3] stride(0,1) = "
       "zero_(%v)",
       true},
      {"%x: f32[3], %y: f32[2]", "%v: f32[3] = type_as(%x, %y)\n%w: f32[3] = zero_(%v)", true},
      {"%x: f32[3], %y: f64[2]", "%v: f64[3] = type_as(%x, %y)\n%w: f64[3] = zero_(%v)", false},
      {"%x: f32[3], %y: f32[2]",
       "%v: f32[3] = to.other(%x, %y, False, True)\n%w: f32[3] = zero_(%v)", false},
      {"%x: f32[3], %y: f32[3]", "%v: f32[] = einsum(\"i,i->\", [%x, %y])\n%w: f32[] = zero_(%v)",
       false},
  };
  begin();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char body[1024];
    snprintf(body, sizeof body, "%s\nreturn %%x", rows[i].body);
    ck_assert_msg(changes_x(rows[i].inputs, body) == rows[i].aliases, "%s", rows[i].body);
  }
  end();
}
END_TEST

/* --- refusals --------------------------------------------------------------------------------- */
START_TEST(what_fits_nothing_is_refused) {
  static const struct {
    const char *inputs, *body, *kind, *message;
  } rows[] = {
      {"%x: f32[2,3]", "%v: f32[6] = flatten.using_ints(%x, 1, 0)", "BOUNDS", "behind end_dim"},
      {"%x: f32[2,3]", "%v: f32[4] = reshape(%x, [4])", "BOUNDS", "reshape"},
      {"%x: f32[2,3]", "%v: f32[4] = reshape(%x, [4, -1])", "BOUNDS", "reshape"},
      {"%x: f32[2,6]", "%v: f32[2,3,3] = unflatten.int(%x, 1, [3, 3])", "BOUNDS", "unflatten"},
      {"%x: f32[2,6]", "%v: f32[2,6] = unflatten.int(%x, 1, [])", "BOUNDS", "0 sizes"},
      {"%x: f32[2,3], %y: f32[2]", "[%a: f32[2,3], %b: f32[2,3]] = meshgrid([%x, %y])", "BOUNDS",
       "at most 1"},
      {"%x: f32[5]", "%v: f32[2] = narrow(%x, 0, 4, 2)", "BOUNDS", "narrow"},
      {"%x: f32[3]", "%v: f32[3] = to.device(%x, device(\"cuda:0\"), f32)", "UNSUPPORTED",
       "only cpu"},
      {"%x: f32[]", "[%v: f32[]] = hsplit.int(%x, 1)", "BOUNDS", "hsplit"},
      {"%x: f32[3]", "[%v: f32[3]] = vsplit.int(%x, 1)", "BOUNDS", "vsplit"},
      {"%x: f32[3]", "%v: f32[3] = imag(%x)", "TYPE", "imag"},
  };
  begin();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char body[512];
    snprintf(body, sizeof body, "%s\nreturn %%x", rows[i].body);
    fnz_program *p = program_of(ctx, rows[i].inputs, body), *f = NULL;
    ck_assert_msg(fnz_functionalize(ctx, p, NULL, &f) != FNZ_OK, "%s", body);
    const fnz_error *e = fnz_last_error(ctx);
    ck_assert_msg(strcmp(fnz_class_name(e->kind), rows[i].kind) == 0 &&
                      strstr(e->message, rows[i].message),
                  "%s: %s: %s", body, fnz_class_name(e->kind), e->message);
    ck_assert_ptr_null(f);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

RUN_SUITE("composites", a_result_is_the_argument_or_not, windows_of_several,
          what_fits_nothing_is_refused)
