/* ops_json.c - one operator as a JSON object; every key is always there, null where it does not
 * apply. */
#include "cli/ops.h"

#include <string.h>

/* "a,b" as ["a", "b"]. */
static void put_words(fnzi_json_out *w, const char *key, const char *text) {
  fnzi_json_open_as(w, key, '[');
  while (*text) {
    size_t size = strcspn(text, ",");
    fnzi_json_out_string(w, text, size);
    text += size + (text[size] == ',');
  }
  fnzi_json_close(w, ']');
}

static void put_op(fnzi_json_out *w, const char *key, const fnz_op *op) {
  fnzi_json_out_text(w, key, cli_ops_name(op));
}

/* --- Parts ------------------------------------------------------------------------------------ */
static void put_params(fnzi_json_out *w, const char *key, const fnz_op *op, size_t count,
                       fnz_param (*get)(const fnz_op *op, size_t i)) {
  fnzi_json_open_as(w, key, '[');
  for (size_t i = 0; i < count; i++) {
    const fnz_param p = get(op, i);
    fnzi_json_open(w, '{');
    fnzi_json_out_text(w, "name", p.name);
    fnzi_json_out_text(w, "type", p.type);
    fnzi_json_out_flag(w, "list", p.is_list);
    fnzi_json_out_count(w, "list_size", (uint64_t)p.list_size);
    fnzi_json_out_flag(w, "optional", p.optional);
    fnzi_json_out_flag(w, "item_optional", p.item_optional);
    fnzi_json_out_text(w, "alias", p.alias);
    fnzi_json_out_flag(w, "write", p.is_write);
    fnzi_json_out_flag(w, "keyword_only", p.keyword_only);
    fnzi_json_out_text(w, "default", p.default_text);
    fnzi_json_close(w, '}');
  }
  fnzi_json_close(w, ']');
}

static void put_rule(fnzi_json_out *w, const fnz_rule *rule) {
  fnzi_json_open_as(w, "rule", '{');
  fnzi_json_out_text(w, "action", rule->name);
  fnzi_json_out_text(w, "words", rule->words);
  fnzi_json_out_text(w, "remedy", rule->remedy);
  fnzi_json_out_text(w, "write", rule->write);
  fnzi_json_out_text(w, "view", rule->view);
  fnzi_json_out_text(w, "reverse", rule->reverse);
  fnzi_json_out_flag(w, "needs_base", rule->needs_base);
  put_op(w, "becomes", rule->becomes);
  put_op(w, "through", rule->through);
  fnzi_json_open_as(w, "steps", '[');
  for (size_t i = 0; i < rule->nsteps; i++)
    fnzi_json_out_string(w, fnz_op_name(rule->steps[i]), strlen(fnz_op_name(rule->steps[i])));
  fnzi_json_close(w, ']');
  fnzi_json_out_flag(w, "may_be_itself", rule->may_be_itself);
  fnzi_json_out_flag(w, "may_compute", rule->may_compute);
  fnzi_json_close(w, '}');
}

static void put_kernels(fnzi_json_out *w, const cli_ops_call *ops, const cli_facts *f) {
  fnzi_json_open_as(w, "kernels", '{');
  for (int i = 0; i < CLI_BACKENDS; i++) {
    const fnz_kernel_facts *k = &f->kernels[i];
    fnzi_json_key(w, ops->names[i]);
    if (!k->way) {
      fnzi_json_out_null(w);
      continue;
    }
    fnzi_json_open(w, '{');
    fnzi_json_out_text(w, "way", k->way);
    put_op(w, "via", k->via);
    fnzi_json_out_text(w, "accepts", k->accepts);
    fnzi_json_out_text(w, "memory", k->memory);
    fnzi_json_out_flag(w, "registered", k->registered);
    fnzi_json_close(w, '}');
  }
  fnzi_json_close(w, '}');
}

void cli_ops_json(fnzi_json_out *w, const cli_ops_call *ops, const cli_facts *f) {
  const fnz_op *op = f->op;
  fnzi_json_open(w, '{');
  put_op(w, "name", op);
  fnzi_json_out_text(w, "schema", fnz_op_schema(op));
  fnzi_json_out_text(w, "kind", fnz_op_kind(op));
  put_op(w, "functional", fnz_op_functional_twin(op));
  put_op(w, "canonical", fnz_op_canonical(op));
  fnzi_json_out_flag(w, "view", fnz_op_is_view(op));
  fnzi_json_out_flag(w, "writes", fnz_op_is_mutating(op));
  fnzi_json_out_flag(w, "cpu_kernel", f->kernels[0].way != NULL);
  fnzi_json_out_text(w, "composite", fnz_op_composite(op));
  put_words(w, "tags", fnz_op_tags(op));
  fnzi_json_out_text(w, "promotion", fnz_op_promotion(op));
  put_params(w, "parameters", op, fnz_op_param_count(op), fnz_op_param);
  put_params(w, "returns", op, fnz_op_return_count(op), fnz_op_return);
  fnzi_json_open_as(w, "group", '{');
  for (int i = 0; i < FNZ_MEMBER_COUNT; i++)
    put_op(w, fnz_member_name((fnz_member)i), fnz_op_member(op, (fnz_member)i));
  put_op(w, "element", fnz_op_element(op));
  fnzi_json_close(w, '}');
  put_rule(w, &f->rule);
  put_kernels(w, ops, f);
  put_words(w, "model", fnz_op_model(op));
  fnzi_json_out_text(w, "dispatch", fnz_op_dispatch(op));
  fnzi_json_out_text(w, "example", f->example);
  fnzi_json_close(w, '}');
}
