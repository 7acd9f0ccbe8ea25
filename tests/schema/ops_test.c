/* checks: 10
 * ops_test.c - the public questions about operators, each asked of the whole table: parameters,
 * groups, rules, kernels, and examples that parse. */
#include "schema/schema.h"
#include "tests/help/test.h"

#include <fnz/fnz.h>
#include <stdio.h>

static fnz_context *ctx;
static fnz_buffer text;

static void begin(void) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
}

static void end(void) {
  fnz_buffer_free(ctx, &text);
  fnz_context_destroy(ctx);
}

static const fnz_op *op_named(const char *name) {
  const fnz_op *op = fnz_op_find(NULL, name);
  ck_assert_msg(op != NULL, "there is no operator %s", name);
  return op;
}

static const char *name_of(const fnz_op *op) {
  return op ? fnz_op_name(op) : "";
}

/* --- Parameters ------------------------------------------------------------------------------- */
/* Builds "Tensor(a!)[2]? name=default" from the fields of the interface, as the schema has it. */
static void put_param(fnz_param p) {
  char size[16] = "";
  if (p.list_size)
    snprintf(size, sizeof size, "%d", p.list_size);
  OK(ctx, fnzi_printf(ctx, &text, "%s%s%s%s%s%s%s%s%s%s%s%s%s", p.type, p.alias ? "(" : "",
                      p.alias ? p.alias : "", p.alias ? ")" : "", p.item_optional ? "?" : "",
                      p.is_list ? "[" : "", size, p.is_list ? "]" : "", p.optional ? "?" : "",
                      *p.name ? " " : "", p.name, p.default_text ? "=" : "",
                      p.default_text ? p.default_text : ""));
}

static void put_schema(const fnz_op *op) {
  bool keyword_only = false;
  size_t returns = fnz_op_return_count(op);
  text.size = 0;
  OK(ctx, fnzi_printf(ctx, &text, "%s(", fnz_op_name(op)));
  for (size_t i = 0; i < fnz_op_param_count(op); i++) {
    fnz_param p = fnz_op_param(op, i);
    OK(ctx, fnzi_printf(ctx, &text, "%s%s", i ? ", " : "",
                        p.keyword_only && !keyword_only ? "*, " : ""));
    keyword_only = p.keyword_only;
    put_param(p);
  }
  OK(ctx, fnzi_printf(ctx, &text, ") -> %s", returns == 1 ? "" : "("));
  for (size_t i = 0; i < returns; i++) {
    OK(ctx, fnzi_printf(ctx, &text, "%s", i ? ", " : ""));
    put_param(fnz_op_return(op, i));
  }
  OK(ctx, fnzi_printf(ctx, &text, "%s", returns == 1 ? "" : ")"));
}

START_TEST(schemas_follow_from_their_parts) {
  begin();
  for (size_t i = 0; i < fnz_op_count(); i++) {
    put_schema(fnz_op_at(i));
    ck_assert_str_eq(text.data, fnz_op_schema(fnz_op_at(i)));
  }
  end();
}
END_TEST

/* Letters, writes and results say the same. */
START_TEST(alias_sets_join_results_to_arguments) {
  for (size_t i = 0; i < fnz_op_count(); i++) {
    const fnz_op *op = fnz_op_at(i);
    uint32_t sets = 0;
    bool writes = false;
    for (size_t k = 0; k < fnz_op_param_count(op); k++) {
      fnz_param p = fnz_op_param(op, k);
      sets |= p.alias_set;
      writes = writes || p.is_write;
      ck_assert_int_eq(p.is_write, p.alias && strchr(p.alias, '!') != NULL);
    }
    ck_assert_int_eq(writes, fnz_op_is_mutating(op));
    for (size_t k = 0; k < fnz_op_return_count(op); k++)
      ck_assert_uint_eq(fnz_op_return(op, k).alias_set & ~sets, 0);
  }
}
END_TEST

/* --- Groups ----------------------------------------------------------------------------------- */
START_TEST(groups_have_their_members) {
  static const struct {
    const char *op, *functional, *inplace, *mutable_, *view, *view_copy, *inplace_view, *out;
  } rows[] = {
      {"add_.Tensor", "add.Tensor", "add_.Tensor", "", "", "", "", "add.out"},
      {"add.out", "add.Tensor", "add_.Tensor", "", "", "", "", "add.out"},
      {"select.int", "select_copy.int", "", "", "select.int", "select_copy.int", "",
       "select_copy.int_out"},
      {"select_copy.int_out", "select_copy.int", "", "", "select.int", "select_copy.int", "",
       "select_copy.int_out"},
      {"squeeze_.dim", "squeeze_copy.dim", "", "", "squeeze.dim", "squeeze_copy.dim",
       "squeeze_.dim", "squeeze_copy.dim_out"},
      {"rrelu_with_noise", "rrelu_with_noise_functional", "rrelu_with_noise_", "rrelu_with_noise",
       "", "", "", "rrelu_with_noise.out"},
      {"polygamma_", "", "polygamma_", "", "", "", "", ""},
      {"reshape", "", "", "", "reshape", "", "", ""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const fnz_op *op = op_named(rows[i].op);
    ck_assert_str_eq(name_of(fnz_op_member(op, FNZ_MEMBER_FUNCTIONAL)), rows[i].functional);
    ck_assert_str_eq(name_of(fnz_op_member(op, FNZ_MEMBER_INPLACE)), rows[i].inplace);
    ck_assert_str_eq(name_of(fnz_op_member(op, FNZ_MEMBER_MUTABLE)), rows[i].mutable_);
    ck_assert_str_eq(name_of(fnz_op_member(op, FNZ_MEMBER_VIEW)), rows[i].view);
    ck_assert_str_eq(name_of(fnz_op_member(op, FNZ_MEMBER_VIEW_COPY)), rows[i].view_copy);
    ck_assert_str_eq(name_of(fnz_op_member(op, FNZ_MEMBER_INPLACE_VIEW)), rows[i].inplace_view);
    ck_assert_str_eq(name_of(fnz_op_member(op, FNZ_MEMBER_OUT)), rows[i].out);
  }
  ck_assert_str_eq(name_of(fnz_op_element(op_named("_foreach_add.Scalar"))), "add.Scalar");
  ck_assert_ptr_null(fnz_op_element(op_named("add.Scalar")));
}
END_TEST

/* Every operator is in its own group, and all members agree about their functional form. */
START_TEST(groups_agree) {
  for (size_t i = 0; i < fnz_op_count(); i++) {
    const fnz_op *op = fnz_op_at(i), *functional = fnz_op_member(op, FNZ_MEMBER_FUNCTIONAL);
    bool found = false;
    for (int m = 0; m < FNZ_MEMBER_COUNT; m++) {
      const fnz_op *member = fnz_op_member(op, (fnz_member)m);
      found = found || member == op;
      if (member)
        ck_assert_msg(fnz_op_member(member, FNZ_MEMBER_FUNCTIONAL) == functional,
                      "%s and its %s member %s have different functional forms", fnz_op_name(op),
                      fnz_member_name((fnz_member)m), fnz_op_name(member));
    }
    ck_assert_msg(found, "%s is not in its own group", fnz_op_name(op));
  }
}
END_TEST

START_TEST(tags_are_whole_words) {
  const fnz_op *add = op_named("add.Tensor"), *split = op_named("split.Tensor");
  ck_assert(fnz_op_has_tag(add, "core") && fnz_op_has_tag(add, "pointwise"));
  ck_assert(!fnz_op_has_tag(add, "point") && !fnz_op_has_tag(add, "wise"));
  ck_assert(!fnz_op_has_tag(add, "core,pointwise") && !fnz_op_has_tag(add, ""));
  ck_assert_str_eq(fnz_op_tags(op_named("reshape")), "");
  ck_assert_str_eq(fnz_op_composite(op_named("reshape")), "implicit");
  ck_assert_str_eq(fnz_op_composite(split), "explicit");
  ck_assert_str_eq(fnz_op_composite(add), "kernel");
  ck_assert_str_eq(fnz_op_promotion(add), "default");
  ck_assert_str_eq(fnz_op_promotion(op_named("div_.Tensor")), "int_to_float");
  ck_assert_str_eq(fnz_op_promotion(op_named("eq.Tensor")), "always_bool");
  ck_assert_ptr_null(fnz_op_promotion(op_named("mm")));
}
END_TEST

/* --- Rules and kernels ------------------------------------------------------------------------ */
START_TEST(rules_say_what_becomes_of_an_operator) {
  static const struct {
    const char *op, *action, *write, *view, *becomes, *through;
  } rows[] = {
      {"add.Tensor", "functional", "", "", "add.Tensor", ""},
      {"add_.Tensor", "write", "twin", "", "add.Tensor", ""},
      {"zero_", "write", "zero", "", "full", ""},
      {"polygamma_", "write", "twin", "", "polygamma", ""},
      {"select.int", "view", "", "select", "select_copy.int", "select_scatter"},
      {"squeeze_.dim", "inplace_view", "", "squeeze_dim", "squeeze_copy.dim", "view_copy"},
      {"detach", "view", "", "alias", "detach_copy", ""},
      {"reshape", "composite", "", "reshape", "", ""},
      {"set_.source_Storage", "refused", "refused", "", "", ""},
      {"record_stream", "write", "nothing", "", "", ""},
      {"_cummax_helper", "write", "twin", "", "cummax", ""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const fnz_rule rule = fnz_op_rule(op_named(rows[i].op));
    ck_assert_str_eq(rule.name, rows[i].action);
    ck_assert_str_eq(rule.write ? rule.write : "", rows[i].write);
    ck_assert_str_eq(rule.view ? rule.view : "", rows[i].view);
    ck_assert_str_eq(name_of(rule.becomes), rows[i].becomes);
    ck_assert_str_eq(name_of(rule.through), rows[i].through);
  }
}
END_TEST

/* Every operator that is not refused ends in operators that neither write nor share memory. */
START_TEST(rules_end_in_functional_operators) {
  for (size_t i = 0; i < fnz_op_count(); i++) {
    const fnz_op *op = fnz_op_at(i);
    const fnz_rule rule = fnz_op_rule(op);
    ck_assert_msg(rule.words && *rule.words, "%s has no words", fnz_op_name(op));
    if (rule.becomes)
      ck_assert_msg(!fnz_op_is_mutating(rule.becomes) && !fnz_op_is_view(rule.becomes),
                    "%s becomes %s", fnz_op_name(op), fnz_op_name(rule.becomes));
    if (rule.action == FNZ_ACTION_FUNCTIONAL)
      ck_assert(!fnz_op_is_mutating(op) && !fnz_op_is_view(op));
  }
}
END_TEST

/* A row of the kernel table serves its own operator and the others of the group. */
START_TEST(kernels_serve_whole_groups) {
  static const struct {
    const char *op, *via;
  } rows[] = {{"add.Tensor", "add.Tensor"},
              {"add_.Tensor", "add.Tensor"},
              {"add.out", "add.Tensor"},
              {"_foreach_add_.Scalar", "add.Scalar"},
              {"select.int", "select.int"}};
  fnz_backend *cpu;
  fnz_kernel_facts facts;
  begin();
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    OK(ctx, fnz_backend_get_kernel(ctx, cpu, op_named(rows[i].op), &facts));
    ck_assert_msg(facts.way != NULL, "%s has no kernel", rows[i].op);
    ck_assert_str_eq(name_of(facts.via), rows[i].via);
  }
  for (size_t i = 0; i < fnz_op_count(); i++) {
    OK(ctx, fnz_backend_get_kernel(ctx, cpu, fnz_op_at(i), &facts));
    if (fnz_cpu_has_kernel(fnz_op_at(i)))
      ck_assert_msg(facts.way != NULL, "%s has a row that no search finds", name_of(fnz_op_at(i)));
    ck_assert(!facts.accepts == !facts.memory && (facts.way || !facts.accepts));
  }
  OK(ctx, fnz_backend_get_kernel(ctx, cpu, op_named("linalg_eig"), &facts));
  ck_assert_ptr_null(facts.way);
  fnz_backend_destroy(cpu);
  end();
}
END_TEST

/* Nothing is known of foreign backends. */
START_TEST(other_backends_are_not_known) {
  fnz_backend *hash;
  fnz_kernel_facts facts;
  begin();
  OK(ctx, fnz_hash_backend_create(ctx, 1, false, &hash));
  OK(ctx, fnz_backend_get_kernel(ctx, hash, op_named("add.Tensor"), &facts));
  ck_assert_ptr_null(facts.way);
  fnz_backend_destroy(hash);
  end();
}
END_TEST

/* --- Examples --------------------------------------------------------------------------------- */
enum { ROOM = 1 << 14 };

/* Every %name of the call as an input of the program: tensors by their types, other things as
 * objects. */
static size_t put_inputs(const fnz_op *op, const char *call, char *out) {
  size_t used = 0;
  for (size_t i = 0; i < fnz_op_param_count(op); i++) {
    fnz_param p = fnz_op_param(op, i);
    for (int k = -1; k < 8; k++) {
      char name[128], end[2] = {0};
      int size = k < 0 ? snprintf(name, sizeof name, "%%%s", p.name)
                       : snprintf(name, sizeof name, "%%%s_%d", p.name, k);
      const char *at = strstr(call, name);
      while (at && (end[0] = at[size], !strpbrk(end, ",)]")))
        at = strstr(at + 1, name);
      if (at)
        used += (size_t)snprintf(out + used, ROOM - used, "%s%s: %s", used ? ", " : "", name,
                                 strcmp(p.type, "Tensor") == 0 ? "f32[2,2]" : "object");
    }
  }
  return used;
}

static void put_results(const fnz_op *op, char *out) {
  size_t used = 0;
  for (size_t i = 0; i < fnz_op_return_count(op); i++) {
    fnz_param r = fnz_op_return(op, i);
    const char *type = strcmp(r.type, "Tensor") == 0 ? "f32[2,2]" : "sym";
    used += (size_t)snprintf(out + used, ROOM - used, "%s%s%%r%zu: %s%s", i ? ", " : "",
                             r.is_list ? "[" : "", i, type, r.is_list ? "]" : "");
  }
  if (used)
    snprintf(out + used, ROOM - used, " = ");
}

START_TEST(every_example_parses) {
  static char inputs[ROOM], results[ROOM], source[3 * ROOM];
  begin();
  for (size_t i = 0; i < fnz_op_count(); i++) {
    const fnz_op *op = fnz_op_at(i);
    fnz_program *program;
    fnz_node_info node;
    *inputs = *results = 0;
    text.size = 0;
    OK(ctx, fnz_op_write_example(ctx, op, &text));
    put_inputs(op, text.data, inputs);
    put_results(op, results);
    int size = snprintf(source, sizeof source, "fnz 1 program(%s) { %s%s return }", inputs, results,
                        text.data);
    fnz_status status = fnz_program_read(ctx, source, (size_t)size, FNZ_FORMAT_TEXT, &program);
    ck_assert_msg(status == FNZ_OK, "%s\n%s", source, fnz_last_error(ctx)->message);
    ck_assert_uint_eq(fnz_node_count(program, 0), 1);
    node = fnz_program_node(program, 0, 0);
    ck_assert_ptr_eq(node.op, op);
    fnz_program_destroy(program);
  }
  end();
}
END_TEST

RUN_SUITE("ops", schemas_follow_from_their_parts, alias_sets_join_results_to_arguments,
          groups_have_their_members, groups_agree, tags_are_whole_words,
          rules_say_what_becomes_of_an_operator, rules_end_in_functional_operators,
          kernels_serve_whole_groups, other_backends_are_not_known, every_example_parses)
