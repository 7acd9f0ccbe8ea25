/* ops_json.c - one operator as a JSON object; every key is always there, null where it does not
 * apply. */
#include "cli/ops.h"

#include <string.h>

/* --- Members ---------------------------------------------------------------------------------- */
/* An object or array that is being written. */
typedef struct json {
  const char *gap;
} json;

static json open_with(char bracket) {
  putchar(bracket);
  return (json){""};
}

static void put_key(json *j, const char *key) {
  fputs(j->gap, stdout);
  cli_json_string(stdout, key);
  fputs(": ", stdout);
  j->gap = ", ";
}

static void put_item(json *j) {
  fputs(j->gap, stdout);
  j->gap = ", ";
}

static void put_value(const char *text) {
  if (text)
    cli_json_string(stdout, text);
  else
    fputs("null", stdout);
}

static void put_text(json *j, const char *key, const char *text) {
  put_key(j, key);
  put_value(text);
}

static void put_bool(json *j, const char *key, bool b) {
  put_key(j, key);
  fputs(b ? "true" : "false", stdout);
}

static void put_int(json *j, const char *key, int i) {
  put_key(j, key);
  printf("%d", i);
}

/* "a,b" as ["a", "b"]. */
static void put_words(json *j, const char *key, const char *text) {
  put_key(j, key);
  json list = open_with('[');
  while (*text) {
    size_t size = strcspn(text, ",");
    put_item(&list);
    printf("\"%.*s\"", (int)size, text);
    text += size + (text[size] == ',');
  }
  putchar(']');
}

/* --- Parts ------------------------------------------------------------------------------------ */
static void put_param(fnz_param p) {
  json j = open_with('{');
  put_text(&j, "name", p.name);
  put_text(&j, "type", p.type);
  put_bool(&j, "list", p.is_list);
  put_int(&j, "list_size", p.list_size);
  put_bool(&j, "optional", p.optional);
  put_bool(&j, "item_optional", p.item_optional);
  put_text(&j, "alias", p.alias);
  put_bool(&j, "write", p.is_write);
  put_bool(&j, "keyword_only", p.keyword_only);
  put_text(&j, "default", p.default_text);
  putchar('}');
}

static void put_params(json *j, const char *key, const fnz_op *op, size_t count,
                       fnz_param (*get)(const fnz_op *op, size_t i)) {
  put_key(j, key);
  json list = open_with('[');
  for (size_t i = 0; i < count; i++) {
    put_item(&list);
    put_param(get(op, i));
  }
  putchar(']');
}

static void put_group(json *j, const fnz_op *op) {
  put_key(j, "group");
  json group = open_with('{');
  for (int i = 0; i < FNZ_MEMBER_COUNT; i++)
    put_text(&group, fnz_member_name((fnz_member)i),
             cli_ops_name(fnz_op_member(op, (fnz_member)i)));
  put_text(&group, "element", cli_ops_name(fnz_op_element(op)));
  putchar('}');
}

static void put_rule(json *j, const fnz_rule *rule) {
  put_key(j, "rule");
  json r = open_with('{');
  put_text(&r, "action", rule->name);
  put_text(&r, "words", rule->words);
  put_text(&r, "remedy", rule->remedy);
  put_text(&r, "write", rule->write);
  put_text(&r, "view", rule->view);
  put_text(&r, "reverse", rule->reverse);
  put_bool(&r, "needs_base", rule->needs_base);
  put_text(&r, "becomes", cli_ops_name(rule->becomes));
  put_text(&r, "through", cli_ops_name(rule->through));
  put_key(&r, "steps");
  json steps = open_with('[');
  for (size_t i = 0; i < rule->nsteps; i++) {
    put_item(&steps);
    put_value(fnz_op_name(rule->steps[i]));
  }
  putchar(']');
  put_bool(&r, "may_be_itself", rule->may_be_itself);
  put_bool(&r, "may_compute", rule->may_compute);
  putchar('}');
}

static void put_kernel(const fnz_kernel_facts *k) {
  json j = open_with('{');
  put_text(&j, "way", k->way);
  put_text(&j, "via", cli_ops_name(k->via));
  put_text(&j, "accepts", k->accepts);
  put_text(&j, "memory", k->memory);
  put_bool(&j, "registered", k->registered);
  putchar('}');
}

static void put_kernels(json *j, const cli_ops_call *ops, const cli_facts *f) {
  put_key(j, "kernels");
  json all = open_with('{');
  for (int i = 0; i < CLI_BACKENDS; i++) {
    put_key(&all, ops->names[i]);
    if (f->kernels[i].way)
      put_kernel(&f->kernels[i]);
    else
      put_value(NULL);
  }
  putchar('}');
}

void cli_ops_json(const cli_ops_call *ops, const cli_facts *f) {
  const fnz_op *op = f->op;
  json j = open_with('{');
  put_text(&j, "name", fnz_op_name(op));
  put_text(&j, "schema", fnz_op_schema(op));
  put_text(&j, "kind", fnz_op_kind(op));
  put_text(&j, "functional", cli_ops_name(fnz_op_functional_twin(op)));
  put_text(&j, "canonical", cli_ops_name(fnz_op_canonical(op)));
  put_bool(&j, "view", fnz_op_is_view(op));
  put_bool(&j, "writes", fnz_op_is_mutating(op));
  put_bool(&j, "cpu_kernel", f->kernels[0].way != NULL);
  put_text(&j, "composite", fnz_op_composite(op));
  put_words(&j, "tags", fnz_op_tags(op));
  put_text(&j, "promotion", fnz_op_promotion(op));
  put_params(&j, "parameters", op, fnz_op_param_count(op), fnz_op_param);
  put_params(&j, "returns", op, fnz_op_return_count(op), fnz_op_return);
  put_group(&j, op);
  put_rule(&j, &f->rule);
  put_kernels(&j, ops, f);
  put_words(&j, "model", fnz_op_model(op));
  put_text(&j, "dispatch", fnz_op_dispatch(op));
  put_text(&j, "example", f->example);
  putchar('}');
}
