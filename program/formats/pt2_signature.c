/* pt2_signature.c - what the inputs and outputs of graph 0 are: parameters, buffers, mutations.
 *
 * Spec k describes input or output k. A spec repeats the name of its value; the two must agree. */
#include "program/formats/pt2.h"

typedef struct kind {
  const char *tag;
  int kind;
  const char *target; /* the key that names what it belongs to; NULL: the value's own name */
} kind;

static const kind input_kinds[] = {
    {"user_input", FNZ_INPUT_USER, NULL},
    {"parameter", FNZ_INPUT_PARAMETER, "parameter_name"},
    {"buffer", FNZ_INPUT_BUFFER, "buffer_name"},
    {"tensor_constant", FNZ_INPUT_CONSTANT, "tensor_constant_name"},
    {"custom_obj", FNZ_INPUT_OBJECT, "custom_obj_name"},
    {"constant_input", FNZ_INPUT_LITERAL, "name"},
    {"token", FNZ_INPUT_TOKEN, NULL},
    {NULL, 0, NULL},
};

static const kind output_kinds[] = {
    {"user_output", FNZ_OUTPUT_USER, NULL},
    {"loss_output", FNZ_OUTPUT_LOSS, NULL},
    {"buffer_mutation", FNZ_OUTPUT_BUFFER_MUTATION, "buffer_name"},
    {"parameter_mutation", FNZ_OUTPUT_PARAMETER_MUTATION, "parameter_name"},
    {"user_input_mutation", FNZ_OUTPUT_INPUT_MUTATION, "user_input_name"},
    {"gradient_to_parameter", FNZ_OUTPUT_PARAMETER_GRADIENT, "parameter_name"},
    {"gradient_to_user_input", FNZ_OUTPUT_INPUT_GRADIENT, "user_input_name"},
    {"token", FNZ_OUTPUT_TOKEN, NULL},
    {NULL, 0, NULL},
};

/* A spec, taken apart. */
typedef struct description {
  const kind *kind;
  const fnzi_json *fields;
  const char *target; /* interned; "" where the kind has none */
} description;

static fnz_status read_spec(fnzi_pt2 *r, const fnzi_json *json, const kind *kinds,
                            description *out) {
  FNZ_TRY(fnzi_json_only(&r->doc, json, &out->fields));
  for (out->kind = kinds; out->kind->tag; out->kind++)
    if (strcmp(out->kind->tag, out->fields->key) == 0)
      break;
  if (!out->kind->tag)
    return fnzi_json_fail(&r->doc, FNZ_CLASS_UNSUPPORTED, out->fields,
                          "%s is not known in a signature; it is newer than schema 8.20",
                          out->fields->key);
  const char *target = "";
  if (out->kind->target)
    FNZ_TRY(fnzi_json_need_text(&r->doc, out->fields, out->kind->target, &target));
  return fnzi_intern(r->p, target, strlen(target), &out->target);
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

static bool is_value(const fnz_arg *arg) {
  return arg->tag == FNZ_ARG_VALUE || arg->tag == FNZ_ARG_SYMBOL || arg->tag == FNZ_ARG_OBJECT ||
         arg->tag == FNZ_ARG_TOKEN;
}

/* Tokens have no place in the Argument union; the spec alone names them. */
static fnz_status define_input(fnzi_pt2_scope *s, const description *d, const fnzi_json *json,
                               fnz_arg *out) {
  const char *name = name_in(fnzi_json_find(d->fields, "arg"));
  if (d->kind->kind == FNZ_INPUT_TOKEN && name)
    return fnzi_pt2_define(s, json, name, FNZ_ARG_TOKEN, out);
  return fnzi_pt2_define_arg(s, json, out);
}

static fnz_status read_input(fnzi_pt2_scope *s, const fnzi_json *json, const fnzi_json *spec_json,
                             size_t k) {
  fnz_program *p = s->r->p;
  description d;
  fnz_arg *input = &fnzi_graph_at(p, s->graph)->inputs[k];
  FNZ_TRY(read_spec(s->r, spec_json, input_kinds, &d));
  FNZ_TRY(check_name(s->r, &d, json));
  FNZ_TRY(define_input(s, &d, json, input));
  fnz_input_spec *out = &p->inputs[k];
  *out = (fnz_input_spec){.kind = (fnz_input_kind)d.kind->kind, .target = d.target};
  if (out->kind == FNZ_INPUT_BUFFER)
    FNZ_TRY(fnzi_json_flag(&s->r->doc, d.fields, "persistent", true, &out->persistent));
  if (!is_value(input) && out->kind == FNZ_INPUT_USER)
    out->kind = FNZ_INPUT_LITERAL;
  if (is_value(input) && !d.kind->target)
    out->target = fnzi_value_at(p, s->graph, input->u.value)->name;
  return FNZ_OK;
}

fnz_status fnzi_pt2_inputs(fnzi_pt2_scope *s, const fnzi_json *inputs, const fnzi_json *specs) {
  const fnzi_json *spec = specs->u.first;
  size_t k = 0;
  FNZ_TRY(check_count(s->r, inputs, specs));
  FNZ_TRY(fnzi_graph_set_inputs(s->r->p, s->graph, inputs->count));
  for (const fnzi_json *input = inputs->u.first; input; input = input->next, spec = spec->next)
    FNZ_TRY(read_input(s, input, spec, k++));
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
    FNZ_TRY(read_spec(s->r, json, output_kinds, &d));
    FNZ_TRY(check_name(s->r, &d, o));
    FNZ_TRY(fnzi_pt2_read_arg(s, o, &fnzi_graph_at(p, s->graph)->outputs[k]));
    p->outputs[k] = (fnz_output_spec){.kind = (fnz_output_kind)d.kind->kind,
                                      .target = d.kind->target ? d.target : NULL};
  }
  return FNZ_OK;
}
