/* pt2_signature.c - what the inputs and outputs of graph 0 are: parameters, buffers, mutations.
 *
 * Spec k describes input or output k. A spec repeats the name of its value; the two must agree. */
#include "program/formats/pt2.h"

const fnzi_pt2_kind fnzi_pt2_input_kinds[FNZ_INPUT_KIND_COUNT] = {
    [FNZ_INPUT_USER] = {"user_input", NULL},
    [FNZ_INPUT_PARAMETER] = {"parameter", "parameter_name"},
    [FNZ_INPUT_BUFFER] = {"buffer", "buffer_name"},
    [FNZ_INPUT_CONSTANT] = {"tensor_constant", "tensor_constant_name"},
    [FNZ_INPUT_OBJECT] = {"custom_obj", "custom_obj_name"},
    [FNZ_INPUT_LITERAL] = {"constant_input", "name"},
    [FNZ_INPUT_TOKEN] = {"token", NULL},
    [FNZ_INPUT_MEMORY] = {"user_input", NULL}, /* refused, so no file has one */
};

const fnzi_pt2_kind fnzi_pt2_output_kinds[FNZ_OUTPUT_KIND_COUNT] = {
    [FNZ_OUTPUT_USER] = {"user_output", NULL},
    [FNZ_OUTPUT_LOSS] = {"loss_output", NULL},
    [FNZ_OUTPUT_BUFFER_MUTATION] = {"buffer_mutation", "buffer_name"},
    [FNZ_OUTPUT_PARAMETER_MUTATION] = {"parameter_mutation", "parameter_name"},
    [FNZ_OUTPUT_INPUT_MUTATION] = {"user_input_mutation", "user_input_name"},
    [FNZ_OUTPUT_PARAMETER_GRADIENT] = {"gradient_to_parameter", "parameter_name"},
    [FNZ_OUTPUT_INPUT_GRADIENT] = {"gradient_to_user_input", "user_input_name"},
    [FNZ_OUTPUT_TOKEN] = {"token", NULL},
    [FNZ_OUTPUT_MEMORY_MUTATION] = {"user_output", NULL}, /* the same */
};

/* A spec, taken apart. */
typedef struct description {
  int kind;
  const fnzi_json *fields;
  const char *target; /* interned; NULL if the kind has none */
} description;

static fnz_status read_spec(fnzi_pt2 *r, const fnzi_json *json, const fnzi_pt2_kind *kinds,
                            int count, description *out) {
  FNZ_TRY(fnzi_json_only(&r->doc, json, &out->fields));
  for (out->kind = 0; out->kind < count; out->kind++)
    if (kinds[out->kind].tag && strcmp(kinds[out->kind].tag, out->fields->key) == 0)
      break;
  if (out->kind == count)
    return fnzi_json_fail(&r->doc, FNZ_CLASS_UNSUPPORTED, out->fields,
                          "%s is not known in a signature; it is newer than schema 8.20",
                          out->fields->key);
  out->target = NULL;
  if (kinds[out->kind].target)
    FNZ_TRY(fnzi_json_need_text(&r->doc, out->fields, kinds[out->kind].target, &out->target));
  return fnzi_intern_text(r->p, &out->target);
}

/* The name in {"name": n}, {"as_name": n}, or a union of such a member; NULL for a literal. */
static const char *name_in(const fnzi_json *arg) {
  for (int level = 0; arg && level < 3; level++) {
    const fnzi_json *name = fnzi_json_find(arg, "name");
    if (!name)
      name = fnzi_json_find(arg, "as_name");
    if (name)
      return name->kind == FNZI_JSON_STRING ? name->u.s : NULL;
    arg = arg->kind == FNZI_JSON_OBJECT ? arg->u.first : NULL;
  }
  return NULL;
}

static fnz_status check_name(fnzi_pt2 *r, const description *d, const fnzi_json *arg) {
  const char *own = name_in(fnzi_json_find(d->fields, "arg")), *there = name_in(arg);
  if (!own || !there || strcmp(own, there) == 0)
    return FNZ_OK;
  return fnzi_json_fail(&r->doc, FNZ_CLASS_TYPE, d->fields,
                        "describes %s, but in its place the graph has %s", own, there);
}

static fnz_status check_count(fnzi_pt2 *r, const fnzi_json *args, const fnzi_json *specs) {
  if (args->count == specs->count)
    return FNZ_OK;
  return fnzi_json_fail(&r->doc, FNZ_CLASS_TYPE, specs, "%u specs for the %u %s of the graph",
                        specs->count, args->count, args->key);
}

fnz_status fnzi_pt2_inputs(fnzi_pt2_scope *s, const fnzi_json *inputs, const fnzi_json *specs) {
  fnz_program *p = s->r->p;
  const fnzi_json *spec = specs->u.first;
  size_t k = 0;
  FNZ_TRY(check_count(s->r, inputs, specs));
  FNZ_TRY(fnzi_graph_set_inputs(p, s->graph, inputs->count));
  for (const fnzi_json *json = inputs->u.first; json; json = json->next, spec = spec->next, k++) {
    description d;
    fnz_arg *input = &fnzi_graph_at(p, s->graph)->inputs[k];
    FNZ_TRY(read_spec(s->r, spec, fnzi_pt2_input_kinds, FNZ_INPUT_KIND_COUNT, &d));
    FNZ_TRY(check_name(s->r, &d, json));
    /* The Argument union has no tokens; the spec alone names them. */
    const char *token = d.kind == FNZ_INPUT_TOKEN ? name_in(fnzi_json_find(d.fields, "arg")) : NULL;
    FNZ_TRY(token ? fnzi_pt2_define(s, json, token, FNZ_ARG_TOKEN, input)
                  : fnzi_pt2_define_arg(s, json, input));
    fnz_input_spec *out = &p->inputs[k];
    *out = (fnz_input_spec){.kind = (fnz_input_kind)d.kind, .target = d.target ? d.target : ""};
    if (out->kind == FNZ_INPUT_BUFFER)
      FNZ_TRY(fnzi_json_flag(&s->r->doc, d.fields, "persistent", true, &out->persistent));
    if (!fnzi_is_reference(input) && out->kind == FNZ_INPUT_USER)
      out->kind = FNZ_INPUT_LITERAL;
    if (fnzi_is_reference(input) && !d.target)
      out->target = fnzi_value_at(p, s->graph, input->u.value)->name;
  }
  return FNZ_OK;
}

fnz_status fnzi_pt2_outputs(fnzi_pt2_scope *s, const fnzi_json *outputs, const fnzi_json *specs) {
  fnz_program *p = s->r->p;
  const fnzi_json *json = specs->u.first;
  size_t k = 0;
  FNZ_TRY(check_count(s->r, outputs, specs));
  FNZ_TRY(fnzi_graph_set_outputs(p, s->graph, outputs->count));
  for (const fnzi_json *o = outputs->u.first; o; o = o->next, json = json->next, k++) {
    description d;
    FNZ_TRY(read_spec(s->r, json, fnzi_pt2_output_kinds, FNZ_OUTPUT_KIND_COUNT, &d));
    FNZ_TRY(check_name(s->r, &d, o));
    FNZ_TRY(fnzi_pt2_read_arg(s, o, &fnzi_graph_at(p, s->graph)->outputs[k]));
    p->outputs[k] = (fnz_output_spec){.kind = (fnz_output_kind)d.kind, .target = d.target};
  }
  return FNZ_OK;
}
