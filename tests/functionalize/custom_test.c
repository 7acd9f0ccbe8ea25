/* checks: 25
 * custom_test.c - operators that are declared: what may be declared, and which functional form each
 * gets. Programs, PyTorch's wrappers and kernels of such operators are in custom_*.c. */
#include "tests/functionalize/custom.h"

START_TEST(declared_operators_are_found_in_their_context) {
  fnz_context *other;
  begin();
  const fnz_op *op = declare("ns::f(Tensor(a!) x,  int k = 3) -> ()");
  ck_assert_str_eq(fnz_op_schema(op), "ns::f(Tensor(a!) x, int k=3) -> ()");
  ck_assert_str_eq(fnz_op_kind(op), "mutable");
  ck_assert_ptr_eq(fnz_op_find(ctx, "ns::f"), op);
  ck_assert_ptr_eq(fnz_op_find(ctx, "ns::f.default"), op);
  ck_assert_ptr_eq(declare("ns::f(Tensor(a!) x, int k=3) -> ()"), op);
  ck_assert_ptr_eq(fnz_op_find(ctx, "aten::add.Tensor"), fnz_op_find(NULL, "add.Tensor"));
  ck_assert_ptr_null(fnz_op_find(ctx, "ns::g"));
  ck_assert_ptr_null(fnz_op_find(NULL, "ns::f"));
  ck_assert_int_eq(fnz_context_create(NULL, &other), FNZ_OK);
  ck_assert_ptr_null(fnz_op_find(other, "ns::f"));
  fnz_context_destroy(other);
  FAILS(ctx, "DUPLICATE", fnz_op_declare(ctx, "ns::f(Tensor(a!) x) -> ()", NULL));
  ck_assert_ptr_eq(fnz_op_find(ctx, "ns::f"), op);
  end();
}
END_TEST

START_TEST(broken_rules_are_named) {
  static const char *const rows[][3] = {
      {"f(Tensor x) -> Tensor", "TYPE", "namespace"},
      {"aten::f(Tensor x) -> Tensor", "TYPE", "namespace"},
      {"ns::f(int(a!) k) -> ()", "TYPE", "only tensors"},
      {"ns::f(Tensor(a|b!) x) -> ()", "SYNTAX", "one name"},
      {"ns::f(Tensor(a! -> *) x) -> ()", "TYPE", "stays what it is"},
      {"ns::f(Tensor(a!) x, Tensor(a!) y) -> ()", "TYPE", "another argument"},
      {"ns::f(Tensor(a) x, Tensor(a!) y) -> ()", "TYPE", "another argument"},
      {"ns::f(Tensor(a!) x, Tensor(a|b) y) -> ()", "TYPE", "another argument"},
      {"ns::f(Tensor(a!) x) -> Tensor(a)", "TYPE", "both places"},
      {"ns::f(Tensor(a!) x, Tensor(b) y) -> Tensor(a|b)", "TYPE", "both places"},
      {"ns::f(Tensor(a!) x) -> (Tensor(a!), Tensor(a!))", "TYPE", "returned twice"},
      {"ns::f(Tensor(a!)? x) -> Tensor(a!)", "TYPE", "another type"},
      {"ns::f(str s=\"\xff\") -> ()", "ENCODING", "UTF-8"},
      {"ns::f(Tensor(a) x) -> Tensor(a!)", "TYPE", "a result and no argument"},
      {"ns::f(Tensor(a!)[] x) -> Tensor(a!)", "TYPE", "another type"},
      {"ns::f(Tensor x) -> Tensor(a)", "SYNTAX", "results that alias parameters"},
      {"ns::f.functional(Tensor(a!) x) -> ()", "TYPE", "overload"},
      {"ns::f(Tensor x", "SYNTAX", "ends here"},
  };
  begin();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ck_assert_int_ne(fnz_op_declare(ctx, rows[i][0], NULL), FNZ_OK);
    ck_assert_msg(strcmp(fnz_class_name(fnz_last_error(ctx)->kind), rows[i][1]) == 0, "%s: %s",
                  rows[i][0], fnz_last_error(ctx)->message);
    ck_assert_msg(strstr(fnz_last_error(ctx)->message, rows[i][2]) != NULL, "%s: %s", rows[i][0],
                  fnz_last_error(ctx)->message);
    ck_assert_ptr_null(fnz_op_find(ctx, "ns::f"));
  }
  end();
}
END_TEST

START_TEST(lists_of_declarations_name_the_line) {
  static const char good[] = "# two of them\n\n  ns::f(Tensor x) -> Tensor  # one\r\nns::g(Tensor "
                             "x) -> Tensor";
  static const char bad[] = "ns::f(Tensor x) -> Tensor\n\nns::h(Tensr x) -> Tensor\n";
  static const char quoted[] = "ns::q(str a=\"#\", str b='\"\\'#') -> ()# \"";
  begin();
  OK(ctx, fnz_ops_declare(ctx, "good.txt", good, strlen(good)));
  ck_assert(fnz_op_find(ctx, "ns::f") && fnz_op_find(ctx, "ns::g"));
  OK(ctx, fnz_ops_declare(ctx, "quoted.txt", quoted, strlen(quoted)));
  ck_assert_str_eq(fnz_op_schema(fnz_op_find(ctx, "ns::q")),
                   "ns::q(str a=\"#\", str b='\"\\'#') -> ()");
  FAILS(ctx, "SYNTAX", fnz_ops_declare(ctx, "bad.txt", bad, strlen(bad)));
  ck_assert_str_eq(fnz_last_error(ctx)->where, "bad.txt:3");
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, "column 7"));
  FAILS(ctx, "ENCODING", fnz_ops_declare(ctx, "bad.txt", "ns::\0f", 6));
  ck_assert_str_eq(fnz_last_error(ctx)->where, "bad.txt");
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, "no text, byte 4 of it is 0x00"));
  FAILS(ctx, "ENCODING", fnz_ops_declare(ctx, "bad.txt", "PK\3\4", 4));
  end();
}
END_TEST

/* --- Functional forms ------------------------------------------------------------------------- */

/* Columns: the declarations, then the operator in question, and the schema of its twin. */
static const struct {
  const char *declared[2], *op, *twin;
} twins[] = {
    {{"ns::f(Tensor(a!) x, Tensor y) -> Tensor"},
     "ns::f",
     "ns::f_functional(Tensor x, Tensor y) -> (Tensor, Tensor x_out)"},
    {{"ns::f(Tensor(a!)[] xs, Tensor(b!)? log, *, float eps=0.5) -> ()"},
     "ns::f",
     "ns::f_functional(Tensor[] xs, Tensor? log, *, float eps=0.5) -> (Tensor[] xs_out, Tensor? "
     "log_out)"},
    {{"ns::f(Tensor(a!) x, Tensor(b!) self) -> ()"},
     "ns::f",
     "ns::f_functional(Tensor x, Tensor self) -> (Tensor self_out, Tensor x_out)"},
    {{"ns::g_.ov(Tensor(a!) x, int k) -> Tensor(a!)"},
     "ns::g_.ov",
     "ns::g.ov(Tensor x, int k) -> Tensor"},
    {{"ns::g_(Tensor(a!) x) -> ()"}, "ns::g_", "ns::g(Tensor x) -> Tensor x_out"},
    {{"ns::g_(Tensor(a!) x) -> Tensor(a!)", "ns::g(Tensor x) -> Tensor result"},
     "ns::g_",
     "ns::g(Tensor x) -> Tensor result"},
    {{"ns::g(Tensor x) -> Tensor result", "ns::g_(Tensor(a!) x) -> Tensor(a!)"},
     "ns::g_",
     "ns::g(Tensor x) -> Tensor result"},
    {{"ns::h.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)"},
     "ns::h.out",
     "ns::h_functional.out(Tensor x, *, Tensor out) -> Tensor"},
    {{"ns::h(Tensor x) -> Tensor", "ns::h.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)"},
     "ns::h.out",
     "ns::h(Tensor x) -> Tensor"},
    {{"ns::h.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", "ns::h(Tensor x) -> Tensor"},
     "ns::h.out",
     "ns::h(Tensor x) -> Tensor"},
    {{"ns::g_(Tensor(a!) x, *, Tensor(b!) log) -> Tensor(a!)"},
     "ns::g_",
     "ns::g(Tensor x, *, Tensor log) -> (Tensor, Tensor log_out)"},
    {{"ns::v(Tensor(a) x) -> Tensor(a)"}, "ns::v", "ns::v(Tensor(a) x) -> Tensor(a)"},
    {{"ns::w(Tensor(a) x, Tensor(b!) y) -> Tensor(a)"}, "ns::w", NULL},
};

START_TEST(functional_forms_are_found_or_derived) {
  for (size_t i = 0; i < sizeof twins / sizeof *twins; i++) {
    begin();
    for (size_t k = 0; k < 2 && twins[i].declared[k]; k++)
      declare(twins[i].declared[k]);
    const fnz_op *twin = fnz_op_functional_twin(fnz_op_find(ctx, twins[i].op));
    ck_assert_msg((twin != NULL) == (twins[i].twin != NULL), "row %zu", i);
    if (twin) {
      ck_assert_str_eq(fnz_op_schema(twin), twins[i].twin);
      ck_assert_ptr_eq(fnz_op_find(ctx, fnz_op_name(twin)), twin);
    }
    end();
  }
}
END_TEST

START_TEST(functional_forms_of_another_signature_clash) {
  begin();
  declare("ns::f(Tensor(a!) x) -> ()");
  FAILS(ctx, "DUPLICATE", fnz_op_declare(ctx, "ns::f_functional(int x) -> Tensor", NULL));
  end();
}
END_TEST

/* An operator g beside g_ that is not its functional form, declared before it or after it. */
START_TEST(in_place_beside_another) {
  for (int order = 0; order < 2; order++) {
    begin();
    for (int k = 0; k < 2; k++)
      declare(k == order ? "ns::g(Tensor(a!) x) -> Tensor" : "ns::g_(Tensor(a!) x) -> ()");
    const fnz_op *twin = fnz_op_functional_twin(fnz_op_find(ctx, "ns::g_"));
    ck_assert_str_eq(fnz_op_schema(twin), "ns::g__functional(Tensor x) -> Tensor x_out");
    twin = fnz_op_functional_twin(fnz_op_find(ctx, "ns::g"));
    ck_assert_str_eq(fnz_op_schema(twin), "ns::g_functional(Tensor x) -> (Tensor, Tensor x_out)");
    end();
  }
}
END_TEST

/* PyTorch takes a name with an underscore for anything, and prints some schemas in ways of its own.
 */
START_TEST(what_pytorch_declares_is_taken) {
  static const char *const rows[][3] = {
      {"ns::a_(Tensor(a!) x, Tensor y) -> ()", "inplace", "ns::a"},
      {"ns::b_(Tensor x, Tensor(a!) y) -> ()", "mutable", "ns::b__functional"},
      {"ns::c_(Tensor x, Tensor(a!) y) -> Tensor(a!)", "mutable", "ns::c__functional"},
      {"ns::d_(int n, Tensor(a!)[] x) -> ()", "mutable", "ns::d__functional"},
      {"ns::e_(Tensor(a!) x, Tensor y) -> Tensor", "mutable", "ns::e__functional"},
      {"ns::f_(Tensor(a!) x) -> (Tensor, Tensor)", "mutable", "ns::f__functional"},
      {"ns::g_(Tensor x) -> Tensor", "functional", "ns::g_"},
      {"ns::h_() -> Tensor", "functional", "ns::h_"},
      {"ns::i_(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", "mutable", "ns::i__functional"},
      {"ns::j(Tensor(a!) x) -> NoneType", "mutable", "ns::j_functional"},
      {"ns::k(Tensor x) -> None", "functional", "ns::k"},
      {"ns::l(Tensor?(a!)[] xs) -> ()", "mutable", "ns::l_functional"},
      {"ns::m(Tensor x, Device d=cuda:0, ScalarType t=6) -> Tensor", "functional", "ns::m"},
      {"ns::n(Tensor x, Layout l=0, MemoryFormat? m=0) -> Tensor", "functional", "ns::n"}};
  begin();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const fnz_op *op = declare(rows[i][0]);
    ck_assert_msg(strcmp(fnz_op_kind(op), rows[i][1]) == 0, "%s is %s", rows[i][0],
                  fnz_op_kind(op));
    ck_assert_str_eq(fnz_op_name(fnz_op_functional_twin(op)), rows[i][2]);
  }
  const fnz_op *m = fnz_op_find(ctx, "ns::m"), *n = fnz_op_find(ctx, "ns::n");
  ck_assert_str_eq(m->params[1].default_value.u.s, "cuda:0");
  ck_assert_int_eq(m->params[2].default_value.u.i, FNZ_F32);
  ck_assert_int_eq(n->params[1].default_value.u.i, 7);
  ck_assert_int_eq(n->params[2].default_value.u.i, 1);
  ck_assert(fnz_op_find(ctx, "ns::l")->params[0].is_write);
  FAILS(ctx, "SYNTAX", fnz_op_declare(ctx, "ns::o(Tensor x, ScalarType t=99) -> Tensor", NULL));
  end();
}
END_TEST

/* A group by its members, as the context knows it by now. */
START_TEST(declared_operators_have_groups) {
  begin();
  const fnz_op *functional = declare("ns::g(Tensor x) -> Tensor");
  ck_assert_ptr_eq(fnz_op_member(functional, FNZ_MEMBER_FUNCTIONAL), functional);
  ck_assert_ptr_null(fnz_op_member(functional, FNZ_MEMBER_INPLACE));
  const fnz_op *inplace = declare("ns::g_(Tensor(a!) x) -> Tensor(a!)");
  const fnz_op *out = declare("ns::g.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)");
  const fnz_op *ops[] = {functional, inplace, out};
  for (size_t i = 0; i < 3; i++) {
    ck_assert_ptr_eq(fnz_op_member(ops[i], FNZ_MEMBER_FUNCTIONAL), functional);
    ck_assert_ptr_eq(fnz_op_member(ops[i], FNZ_MEMBER_INPLACE), inplace);
    ck_assert_ptr_eq(fnz_op_member(ops[i], FNZ_MEMBER_OUT), out);
    ck_assert_ptr_null(fnz_op_member(ops[i], FNZ_MEMBER_MUTABLE));
    ck_assert_ptr_null(fnz_op_member(ops[i], FNZ_MEMBER_VIEW));
    ck_assert_ptr_null(fnz_op_member(ops[i], FNZ_MEMBER_INPLACE_VIEW));
  }
  const fnz_op *writer = declare("ns::f(Tensor(a!) x) -> ()");
  const fnz_op *derived = fnz_op_functional_twin(writer);
  ck_assert_ptr_eq(fnz_op_member(derived, FNZ_MEMBER_MUTABLE), writer);
  ck_assert_ptr_null(fnz_op_member(derived, FNZ_MEMBER_OUT));
  end();
}
END_TEST

/* In order, each once: a derived operator gives its place to the declared one. */
static void lists(const char *const *names, size_t count) {
  ck_assert_uint_eq(fnz_op_declared_count(ctx), count);
  for (size_t i = 0; i < count; i++) {
    ck_assert_str_eq(fnz_op_name(fnz_op_declared_at(ctx, i)), names[i]);
    ck_assert_ptr_eq(fnz_op_find(ctx, names[i]), fnz_op_declared_at(ctx, i));
  }
  ck_assert_ptr_null(fnz_op_declared_at(ctx, count));
}

static const char *const again[] = {"ns::g_(Tensor(a!) x) -> Tensor(a!)",
                                    "ns::f(Tensor(a!) x) -> ()", "ns::g(Tensor x) -> Tensor y",
                                    "ns::h(Tensor x, int k=1) -> Tensor"};

/* Whatever allocation fails, declaring once more makes the same of it. */
START_TEST(failed_declarations_can_be_repeated) {
  static const char *const names[] = {"ns::g", "ns::g_", "ns::f_functional", "ns::f", "ns::h"};
  faults f = {0};
  do {
    const size_t last = f.fail_at;
    f = (faults){.fail_at = last + 1};
    fnz_allocator allocator = {faults_resize, &f};
    if (fnz_context_create(&allocator, &ctx) != FNZ_OK)
      continue;
    for (size_t i = 0; i < sizeof again / sizeof *again; i++)
      if (fnz_op_declare(ctx, again[i], NULL) != FNZ_OK)
        OK(ctx, fnz_op_declare(ctx, again[i], NULL));
    lists(names, sizeof names / sizeof *names);
    ck_assert_str_eq(fnz_op_schema(fnz_op_functional_twin(fnz_op_find(ctx, "ns::f"))),
                     "ns::f_functional(Tensor x) -> Tensor x_out");
    end();
    ck_assert_uint_eq(f.live_bytes, 0);
  } while (f.calls >= f.fail_at);
}
END_TEST

SUITE_PART(custom_forms, declared_operators_are_found_in_their_context, broken_rules_are_named,
           what_pytorch_declares_is_taken, lists_of_declarations_name_the_line,
           functional_forms_are_found_or_derived, functional_forms_of_another_signature_clash,
           in_place_beside_another, declared_operators_have_groups,
           failed_declarations_can_be_repeated)

suite_part custom_programs, custom_wrappers, custom_kernels;
RUN_PARTS("custom", custom_forms, custom_programs, custom_wrappers, custom_kernels)
