/* checks: 8
 * coverage_test.c - the whole operator table: every view and every operator that writes has a rule
 * or is on the list of refusals, and each rule agrees with the aliasing interpreter. */
#include "mutations/mutations.h"
#include "program/program.h"
#include "tests/help/context.h"
#include "tests/help/faults.h"

#include <fnz/fnz.h>
#include <stdio.h>

/* --- The list of refusals --------------------------------------------------------------------- */
static const char *const listed[] = {
#define CLASS(id, words)
#define REFUSED(op, class, remedy) op,
#include "schema/facts/refused.def"
#undef CLASS
#undef REFUSED
};

static bool is_listed(const char *name) {
  for (size_t i = 0; i < sizeof listed / sizeof *listed; i++)
    if (strcmp(listed[i], name) == 0)
      return true;
  return false;
}

START_TEST(what_is_refused_is_listed) {
  size_t refused = 0;
  for (size_t i = 0; i < fnz_op_count(); i++) {
    const fnz_op *op = fnz_op_at(i);
    fnz_rule rule = fnz_op_rule(op);
    bool is_refused = rule.action == FNZ_ACTION_REFUSED;
    refused += is_refused;
    ck_assert_msg(is_refused == is_listed(op->name), "%s is %s, and %s", op->name, rule.name,
                  is_listed(op->name) ? "listed" : "not listed");
    ck_assert_msg(is_refused == (rule.remedy != NULL), "%s", op->name);
  }
  ck_assert_uint_eq(refused, sizeof listed / sizeof *listed);
}
END_TEST

/* --- Views ------------------------------------------------------------------------------------ */
START_TEST(every_view_has_a_rule) {
  size_t count[FNZ_ACTION_COUNT] = {0};
  for (size_t i = 0; i < fnz_op_count(); i++) {
    const fnz_op *op = fnz_op_at(i);
    if (!fnz_op_is_view(op))
      continue;
    fnz_rule rule = fnz_op_rule(op);
    count[rule.action]++;
    ck_assert_msg(rule.action != FNZ_ACTION_FUNCTIONAL, "%s has no rule", op->name);
  }
  ck_assert_uint_eq(count[FNZ_ACTION_VIEW], 26);
  ck_assert_uint_eq(count[FNZ_ACTION_COMPOSITE], 44);
  ck_assert_uint_eq(count[FNZ_ACTION_INPLACE_VIEW], 10);
  ck_assert_uint_eq(count[FNZ_ACTION_WRITE], 3); /* set_ in its forms */
  ck_assert_uint_eq(count[FNZ_ACTION_REFUSED], 23);
}
END_TEST

/* --- Writes ----------------------------------------------------------------------------------- */
START_TEST(every_writing_operator_has_a_rule) {
  static const struct {
    const char *write;
    size_t count;
  } want[] = {{"twin", 1348},   {"list", 69},      {"copy", 1},    {"fill", 2},
              {"zero", 1},      {"resize", 2},     {"set", 2},     {"windows", 1},
              {"set_empty", 1}, {"set_window", 1}, {"nothing", 3}, {"refused", 11},
              {"undeclared", 6}}; /* out= of batch norms */
  size_t all = 0, views = 0;
  for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
    size_t count = 0;
    for (size_t i = 0; i < fnz_op_count(); i++) {
      fnz_rule rule = fnz_op_rule(fnz_op_at(i));
      count +=
          fnz_op_is_mutating(fnz_op_at(i)) && rule.write && strcmp(rule.write, want[k].write) == 0;
    }
    ck_assert_msg(count == want[k].count, "%zu operators by %s, not %zu", count, want[k].write,
                  want[k].count);
    all += count;
  }
  for (size_t i = 0; i < fnz_op_count(); i++) {
    views += fnz_op_rule(fnz_op_at(i)).action == FNZ_ACTION_INPLACE_VIEW;
    all -= fnz_op_is_mutating(fnz_op_at(i));
  }
  ck_assert_int_eq((long)all, -(long)views);
}
END_TEST

/* --- Each of them in a program ---------------------------------------------------------------- */
/* A call of the operator on tensors of two by three numbers, made from its schema. Its target is a
 * transposed window of a tensor of three by two; all such tensors are returned. */
typedef struct draft {
  const fnz_op *op;
  char inputs[4096], before[4096], args[4096], results[4096], after[2048];
  size_t tensors, written;
} draft;

#define PUT(buffer, ...)                                                                           \
  snprintf((buffer) + strlen(buffer), sizeof(buffer) - strlen(buffer), __VA_ARGS__)

static void put_tensor(draft *d, const fnz_param *p) {
  const char *gap = *d->inputs ? ", " : "";
  if (!p->is_write) {
    PUT(d->inputs, "%s%%x%zu: f32[2,3]", gap, d->tensors);
    PUT(d->args, "%%x%zu", d->tensors++);
    return;
  }
  size_t k = d->written++;
  PUT(d->inputs, "%s%%b%zu: f32[3,2]", gap, k);
  PUT(d->before, "%%v%zu: f32[2,3] stride(1,2) = t(%%b%zu)\n", k, k);
  PUT(d->args, "%%v%zu", k);
  PUT(d->after, "%s%%b%zu", k ? ", " : "", k);
}

/* False where a value cannot be written down. */
static bool put_number(draft *d, const fnz_param *p) {
  static const struct {
    const char *type, *text;
  } rows[] = {{"int", "1"},    {"SymInt", "1"},    {"float", "0.5"},     {"bool", "False"},
              {"Scalar", "2"}, {"str", "\"sum\""}, {"ScalarType", "f32"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strcmp(rows[i].type, p->type) == 0) {
      PUT(d->args, "%s", rows[i].text);
      return true;
    }
  return false;
}

static bool put_item(draft *d, const fnz_param *p) {
  if (strcmp(p->type, "Tensor") != 0)
    return put_number(d, p);
  put_tensor(d, p);
  return true;
}

static bool put_arg(draft *d, const fnz_param *p) {
  PUT(d->args, "%s", *d->args ? ", " : "");
  if (p->keyword_only)
    PUT(d->args, "%s=", p->name);
  if (p->optional && !p->is_write) {
    PUT(d->args, "None");
    return true;
  }
  if (!p->is_list)
    return put_item(d, p);
  PUT(d->args, "[");
  bool fits = put_item(d, p);
  for (int i = 1; fits && i < (p->list_size ? p->list_size : 2); i++) {
    PUT(d->args, ", ");
    fits = put_item(d, p);
  }
  PUT(d->args, "]");
  return fits;
}

static void put_result(draft *d, const fnz_param *r, size_t at) {
  const char *looks = r->is_write ? "f32[2,3] stride(1,2)" : "f32[2,3]";
  PUT(d->results, "%s", at ? ", " : "");
  if (r->is_list)
    PUT(d->results, "[%%r%zu: %s, %%s%zu: %s]", at, looks, at, looks);
  else
    PUT(d->results, "%%r%zu: %s", at, looks);
  if (!r->is_write && !r->is_list)
    PUT(d->after, "%s%%r%zu", *d->after ? ", " : "", at);
}

static bool write_call(const fnz_op *op, draft *d, char *text, size_t capacity) {
  *d = (draft){.op = op};
  for (size_t i = 0; i < fnz_op_param_count(op); i++) {
    fnz_param p = fnz_op_param(op, i);
    if (p.default_text && !p.is_write)
      continue;
    if (!put_arg(d, &p))
      return false;
  }
  for (size_t i = 0; i < fnz_op_return_count(op); i++) {
    fnz_param r = fnz_op_return(op, i);
    if (strcmp(r.type, "Tensor") != 0)
      return false;
    put_result(d, &r, i);
  }
  snprintf(text, capacity, "fnz 1\nprogram(%s)\n{\n%s%s%s%s(%s)\nreturn %s\n}\n", d->inputs,
           d->before, d->results, *d->results ? " = " : "", op->name, d->args, d->after);
  return true;
}

typedef struct outcome {
  size_t asked, equal, refused;
} outcome;

static void ask(const fnz_op *op, outcome *o) {
  static char text[16384];
  static draft d;
  fnz_program *p;
  if (!write_call(op, &d, text, sizeof text))
    return;
  if (fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_TEXT, &p))
    return;
  o->asked++;
  p->unchecked = NULL; /* its recorded types are made up, as in a program that was built */
  fnz_status status = fnz_verify(ctx, p, NULL, NULL, NULL, NULL);
  const fnz_error *e = fnz_last_error(ctx);
  ck_assert_msg(status == FNZ_OK || status == FNZ_BAD_INPUT || status == FNZ_UNSUPPORTED,
                "%s: %s: %s\n%s", fnz_class_name(e->kind), e->where, e->message, text);
  o->equal += status == FNZ_OK;
  o->refused += status != FNZ_OK;
  if (status && getenv("FNZ_VERBOSE"))
    printf("%s: %s: %s\n", op->name, fnz_class_name(e->kind), e->message);
  fnz_program_destroy(p);
}

static outcome ask_all(fnz_action action, bool lists) {
  outcome o = {0};
  begin();
  for (size_t i = 0; i < fnz_op_count(); i++) {
    fnz_rule rule = fnz_op_rule(fnz_op_at(i));
    bool is_list = rule.write && strcmp(rule.write, "list") == 0;
    if (rule.action == action && is_list == lists)
      ask(fnz_op_at(i), &o);
  }
  end();
  return o;
}

/* Most take any tensors over hashes; the others need other sizes, dtypes or numbers, or have
 * results of other types than these. */
START_TEST(writes_through_views_are_what_they_are) {
  outcome o = ask_all(FNZ_ACTION_WRITE, false);
  ck_assert_msg(o.asked > 1300 && o.refused < 180, "%zu asked, %zu equal, %zu refused", o.asked,
                o.equal, o.refused);
  if (getenv("FNZ_VERBOSE"))
    printf("%zu asked, %zu equal, %zu refused\n", o.asked, o.equal, o.refused);
}
END_TEST

START_TEST(lists_are_written_in_order) {
  outcome o = ask_all(FNZ_ACTION_WRITE, true);
  ck_assert_msg(o.asked > 60 && o.equal == o.asked, "%zu asked, %zu equal", o.asked, o.equal);
}
END_TEST

/* --- Without declaration
 * ------------------------------------------------------------------------------ */
START_TEST(some_need_no_declaration) {
  begin();
  for (size_t i = 0; i < fnzi_builtin_count(); i++) {
    const char *schema = fnzi_builtin_at(i);
    const fnz_op *op;
    fnz_program *p;
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(schema, "("), schema);
    OK(ctx, fnzi_program_create(ctx, &p));
    OK(ctx, fnzi_op_use(p, name, &op));
    ck_assert_msg(op && strcmp(op->schema, schema) == 0, "%s", schema);
    const uint32_t effect = fnzi_builtin_tags(name) & FNZI_TAG_EFFECT;
    ck_assert_uint_eq(op->tags & FNZI_TAG_EFFECT, effect);
    const fnz_op *twin = fnz_op_functional_twin(op);
    ck_assert_msg(twin && !fnz_op_is_mutating(twin), "%s", schema);
    ck_assert_uint_eq(twin->tags & FNZI_TAG_EFFECT, effect);
    ck_assert(effect || fnzi_builtin_prim(op) || !fnz_op_is_mutating(op));
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

static bool has(const char *text, const char *part) {
  return text && strstr(text, part);
}

START_TEST(others_of_their_namespaces_say_what_to_do) {
  ck_assert(has(fnzi_builtin_remedy("c10d::allreduce_"), "torch.distributed._functional"));
  ck_assert(has(fnzi_builtin_remedy("_c10d_functional::irecv"), "use a collective"));
  ck_assert_ptr_null(fnzi_builtin_remedy("_c10d_functional::all_reduce"));
  ck_assert_ptr_null(fnzi_builtin_schema("_c10d_functional::all_redu"));
  ck_assert_ptr_null(fnzi_builtin_schema("c10d::allreduce_"));
}
END_TEST

/* --- Out of memory ---------------------------------------------------------------------------- */
static fnz_status verify_once(fnz_context *context, const void *path) {
  fnz_buffer text = {0};
  fnz_program *p = NULL;
  fnz_status status = fnz_file_read(context, path, &text);
  if (status == FNZ_OK)
    status = fnz_program_read(context, text.data, text.size, FNZ_FORMAT_TEXT, &p);
  fnz_buffer_free(context, &text);
  if (status == FNZ_OK)
    status = fnz_verify(context, p, NULL, NULL, WITH_TRIALS(1), NULL);
  fnz_program_destroy(p);
  return status;
}

START_TEST(no_memory_anywhere) {
  static const char *const paths[] = {FNZ_SOURCE_DIR "/fixtures/collectives/coalesced_in_place.fnz",
                                      FNZ_SOURCE_DIR "/fixtures/functionalize/norm_statistics.fnz",
                                      FNZ_SOURCE_DIR "/fixtures/functionalize/set_forms.fnz"};
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
    ck_assert_uint_gt(each_fault(verify_once, paths[i]), 100);
}
END_TEST

RUN_SUITE("coverage", what_is_refused_is_listed, every_view_has_a_rule,
          every_writing_operator_has_a_rule, writes_through_views_are_what_they_are,
          lists_are_written_in_order, some_need_no_declaration,
          others_of_their_namespaces_say_what_to_do, no_memory_anywhere)
