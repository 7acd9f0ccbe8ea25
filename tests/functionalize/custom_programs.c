/* custom_programs.c - what programs with declared operators mean after the pass. */
#include "tests/functionalize/custom.h"

static const struct {
  const char *inputs, *body;
} bodies[] = {
    /* a view of a view, written, and read through its base afterwards */
    {"%x: f32[4,4], %y: f32[4]", "%s: f32[2,4] offset(4) = slice.Tensor(%x, 0, 1, 3)\n"
                                 "%t: f32[4,2] stride(1,4) offset(4) = t(%s)\n"
                                 "ns::f(%t, %y)\n%z: f32[4,4] = relu(%x)\nreturn %z"},
    /* two windows of one tensor in one call */
    {"%x: f32[4,4]", "%a: f32[4] = select.int(%x, 0, 0)\n%b: f32[4] offset(8) = select.int(%x, 0, "
                     "2)\n%r: f32[3] = ns::two(%a, %b)\nreturn %r, %a"},
    /* lists of two lengths, an optional one, and a new list of results */
    {"%x: f32[6], %y: f32[2]",
     "%a: f32[2] = slice.Tensor(%x, 0, 0, 2)\n%b: f32[2] offset(2) = slice.Tensor(%x, 0, 2, 4)\n"
     "%c: f32[2] offset(4) = slice.Tensor(%x, 0, 4, 6)\n"
     "[%r: f32[5], %s: i64[]] = ns::many([%a, %b], [%c], %y)\nreturn %r, %s, %b"},
    {"%x: f32[2], %y: f32[2]", "[%r: f32[2]] = ns::many([%x], [], None)\nreturn %r"},
    {"%x: f32[2], %y: f32[2]", "ns::gaps([%x, None, %y])\nreturn %x"},
    {"%x: f32[2]", "ns::gaps([])\nreturn %x"},
    /* lists of several lengths among the results, written ones and new ones */
    {"%x: f32[2], %y: f32[2], %z: f32[3]",
     "[%c: f32[3]], [%a: f32[2], %b: f32[2]] = ns::lists([%x, %y], [%z])\n%d: f32[3] = relu(%c)\n"
     "return %a, %b, %d"},
    {"%x: f32[2], %y: f32[2]",
     "[], %r: f32[5], [%s: f32[4], %t: f32[3]] = ns::news([])\n"
     "[%u: f32[2]], %v: f32[5], [] = ns::news([%x])\nreturn %r, %s, %t, %u, %v"},
    {"%x: f32[2]", "[%a: f32[2], %b: f32[3]], [%c: f32[4]] = ns::parts(%x)\nreturn %c, %a, %b"},
    /* results that are the arguments themselves */
    {"%x: f32[4]", "%a: f32[2] = slice.Tensor(%x, 0, 0, 2)\n%b: f32[2] = ns::g_(%a)\n"
                   "%c: f32[2] = relu_(%b)\nreturn %x, %c"},
    {"%x: f32[2], %y: f32[3]", "%a: f32[3], %n: f32[1], %b: f32[2] = ns::both(%x, %y)\n"
                               "%c: f32[3] = neg_(%a)\nreturn %b, %n"},
    /* an out= argument is read as well */
    {"%x: f32[2], %y: f32[2]", "%r: f32[2] = ns::h.out(%x, out=%y)\nreturn %r"},
    /* one tensor under two names, windows that share elements, one tensor twice in a list */
    {"%x: f32[4], %y: f32[4]",
     "%a: f32[4] = alias(%x)\nns::f(%x, %a)\n%r: f32[3] = ns::two(%x, %x)\n"
     "ns::gaps([%x, None, %x])\nns::gaps([%y, %x, %y])\nreturn %r"},
    {"%x: f32[4]", "%a: f32[3] = slice.Tensor(%x, 0, 0, 3)\n%b: f32[2] offset(2) = "
                   "slice.Tensor(%x, 0, 2, 4)\nns::f(%a, %b)\n%r: f32[3] = ns::two(%a, %b)\n"
                   "%s: f32[3] = ns::two(%b, %a)\n%c: f32[1] = slice.Tensor(%x, 0, 0, 1)\n"
                   "ns::f(%c, %c)\nreturn %r, %s"},
    {"%x: f32[6]",
     "%a: f32[4] = slice.Tensor(%x, 0, 0, 4)\n%b: f32[3] offset(2) = "
     "slice.Tensor(%x, 0, 2, 5)\n%c: f32[3], %n: f32[1], %d: f32[4] = ns::both(%a, %b)\n"
     "%e: f32[4] = relu(%d)\nreturn %e, %n"},
    /* no tensor is written, no result used */
    {"%x: f32[2]", "ns::log(%x)\n%a: f32[2], %b: i64[3] = ns::pure(%x)\nreturn %b"},
};

START_TEST(programs_mean_the_same_afterwards) {
  begin();
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    fnz_program *p, *functional;
    fnz_stats stats;
    OK(ctx, read_body(ctx, bodies[i].inputs, bodies[i].body, &p));
    OK(ctx, fnz_functionalize(ctx, p, NULL, &functional));
    stats = fnz_program_stats(functional);
    ck_assert_uint_eq(stats.mutations + stats.views, 0);
    OK(ctx, fnz_verify(ctx, p, functional, NULL, NULL, NULL));
    fnz_program_destroy(functional);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

/* Two programs that differ are not equal: in a window, in an attribute, in the order of calls. */
START_TEST(different_programs_are_told_apart) {
  static const char inputs[] = "%x: f32[4], %y: f32[2]";
  static const char *const others[][2] = {
      {"%a: f32[2] = slice.Tensor(%x, 0, 0, 2)\nns::f(%a, %y)\nreturn %x",
       "%a: f32[2] offset(2) = slice.Tensor(%x, 0, 2, 4)\nns::f(%a, %y)\nreturn %x"},
      {"%b: f32[2] = ns::g_(%y, 3)\nreturn %y", "%b: f32[2] = ns::g_(%y, 4)\nreturn %y"},
      {"ns::f(%x, %y)\nns::f(%y, %x)\nreturn %x", "ns::f(%y, %x)\nns::f(%x, %y)\nreturn %x"},
      {"ns::f(%x, %y)\nreturn %x", "return %x"},
  };
  begin();
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    fnz_program *a, *b, *functional;
    OK(ctx, read_body(ctx, inputs, others[i][0], &a));
    OK(ctx, read_body(ctx, inputs, others[i][1], &b));
    OK(ctx, fnz_functionalize(ctx, b, NULL, &functional));
    FAILS(ctx, "DIFFERENT", fnz_verify(ctx, a, functional, NULL, NULL, NULL));
    fnz_program_destroy(functional);
    fnz_program_destroy(b);
    fnz_program_destroy(a);
  }
  end();
}
END_TEST

/* The pass and the interpreter of originals refuse operations that values cannot express. */
START_TEST(overlap_is_refused) {
  static const char *const rows[][3] = {
      {"%a: f32[4,2] stride(1,0) = expand(%y, [4,2])\nns::f(%a, %x)\nreturn %x", "OVERLAP",
       "ns::f"},
      {"%r: f32[4] = ns::v(%x)\nreturn %r", "UNSUPPORTED", "ns::v"},
  };
  begin();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fnz_program *p, *functional;
    fnz_backend *hashes;
    fnz_arrays *out;
    OK(ctx, read_body(ctx, "%x: f32[4], %y: f32[4,1]", rows[i][0], &p));
    FAILS(ctx, rows[i][1], fnz_functionalize(ctx, p, NULL, &functional));
    ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, rows[i][2]));
    OK(ctx, fnz_hash_backend_create(ctx, 1, false, &hashes));
    OK(ctx, fnz_arrays_create(ctx, &out));
    FAILS(ctx, rows[i][1], fnz_run(ctx, p, hashes, NULL, AS_ORIGINAL, out));
    fnz_arrays_destroy(out);
    fnz_backend_destroy(hashes);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

/* The functional program says itself what it calls, in a context that knows nothing. */
START_TEST(written_programs_stand_alone) {
  static const fnz_format formats[] = {FNZ_FORMAT_TEXT, FNZ_FORMAT_CBOR};
  begin();
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    fnz_program *p, *functional, *again, *copy;
    fnz_buffer out = {0};
    fnz_context *other;
    OK(ctx, read_body(ctx, bodies[2].inputs, bodies[2].body, &p));
    ck_assert_int_eq(fnz_context_create(NULL, &other), FNZ_OK);
    OK(other, fnz_functionalize(other, p, NULL, &copy));
    OK(ctx, fnz_functionalize(ctx, p, NULL, &functional));
    OK(ctx, fnz_program_write(ctx, functional, formats[i], &out));
    fnz_program_destroy(functional);
    fnz_program_destroy(p);
    OK(other, fnz_program_read(other, out.data, out.size, formats[i], &again));
    OK(other, fnz_verify(other, again, copy, NULL, NULL, NULL));
    fnz_program_destroy(copy);
    fnz_program_destroy(again);
    fnz_context_destroy(other);
    fnz_buffer_free(ctx, &out);
  }
  end();
}
END_TEST

/* The operator of the program is that of the context, so that its kernel is found. */
START_TEST(programs_use_the_operators_of_their_context) {
  fnz_program *p;
  fnz_node_info node;
  begin();
  const fnz_op *op = declare("ns::f(Tensor(a!) x, Tensor y) -> ()");
  OK(ctx, read_body(ctx, "%x: f32[2], %y: f32[2]", "ns::f(%x, %y)\nreturn %x", &p));
  node = fnz_program_node(p, 0, 0);
  ck_assert_ptr_eq(node.op, op);
  fnz_program_destroy(p);
  end();
  begin();
  declare("ns::f(Tensor(a!) other) -> ()");
  FAILS(ctx, "DUPLICATE", read_body(ctx, "%x: f32[2]", "return %x", &p));
  end();
}
END_TEST

static fnz_status use_everything(fnz_context *c, const void *user) {
  fnz_program *p = NULL, *functional = NULL;
  (void)user;
  fnz_status status = fnz_op_declare(c, "ns::h(Tensor x) -> Tensor", NULL);
  if (status == FNZ_OK)
    status = fnz_op_declare(c, "ns::g_(Tensor(a!) x, int k=2) -> Tensor(a!)", NULL);
  if (status == FNZ_OK)
    status = read_body(c, bodies[2].inputs, bodies[2].body, &p);
  if (status == FNZ_OK)
    status = fnz_functionalize(c, p, NULL, &functional);
  if (status == FNZ_OK)
    status = fnz_verify(c, p, functional, NULL, WITH_TRIALS(1), NULL);
  fnz_program_destroy(functional);
  fnz_program_destroy(p);
  return status;
}

START_TEST(out_of_memory_leaks_nothing) {
  ck_assert_uint_gt(each_fault(use_everything, NULL), 50);
}
END_TEST

SUITE_PART(custom_programs, programs_mean_the_same_afterwards, different_programs_are_told_apart,
           overlap_is_refused, written_programs_stand_alone,
           programs_use_the_operators_of_their_context, out_of_memory_leaks_nothing)
