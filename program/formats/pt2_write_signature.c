/* pt2_write_signature.c - what the inputs and outputs of graph 0 are, and how the module is called.
 *
 * PyTorch looks outputs up by name and copies final values into inputs one after the other when it
 * runs a program; so no two mutations may give the same value, and no output may lie in an input
 * that an earlier copy has changed. Such outputs become clones, and so do outputs that should have
 * memory of their own but are in the memory of another value.
 *
 * Its run_decompositions() refuses memory that is written and listed twice. A weight that nothing
 * reads, and whose final value is that of another name or a window of it, is left out; not the
 * first of a memory, which fnz_verify() knows it by. */
#include "program/formats/pt2_write.h"
#include "program/signature.h"
#include "program/state_io.h"

/* --- what cannot be expressed ----------------------------------------------------------------- */
static const fnz_geometry *signature_geometry_of(const fnzi_pt2_out *o, uint32_t input) {
  return fnzi_value_at(o->p, 0, fnzi_graph_main(o->p)->inputs[input].u.value)->geometry;
}

/* The input is a weight, which PyTorch loads by its record and its storage offset. */
static bool is_loaded(const fnzi_pt2_out *o, uint32_t k) {
  return fnzi_is_stored(o->p->inputs[k].kind);
}

static fnz_status check_input(const fnzi_pt2_out *o, uint32_t k) {
  const fnz_input_spec *in = &o->p->inputs[k];
  const char *name = in->target ? in->target : "";
  if (in->kind == FNZ_INPUT_TOKEN)
    return fnzi_pt2_cannot(o, name, "an effect token");
  if (is_loaded(o, k) && signature_geometry_of(o, k)->symbols)
    return fnzi_fail(
        o->ctx, FNZ_CLASS_UNSUPPORTED, name,
        "a stored tensor with symbolic sizes cannot be expressed in a .pt2 file; make it a "
        "user input, or give it the sizes of its data");
  const fnz_arg *arg = &fnzi_graph_main(o->p)->inputs[k];
  /* The literals that a graph of PyTorch takes as inputs. */
  bool is_plain = arg->tag == FNZ_ARG_INT || arg->tag == FNZ_ARG_FLOAT ||
                  arg->tag == FNZ_ARG_BOOL || arg->tag == FNZ_ARG_STRING ||
                  arg->tag == FNZ_ARG_NONE || arg->tag == FNZ_ARG_COMPLEX;
  if (in->kind == FNZ_INPUT_LITERAL && !fnzi_is_reference(arg) && !is_plain)
    return fnzi_pt2_cannot(o, name,
                           "an input that is neither a tensor nor a single number or text");
  return FNZ_OK;
}

/* Refuses input k, because it shares memory with input `other` and the file cannot express that. */
static fnz_status refuse_sharing(const fnzi_pt2_out *o, uint32_t k, uint32_t other,
                                 const char *how) {
  const char *name = o->p->inputs[k].target, *with = o->p->inputs[other].target;
  return fnzi_fail(
      o->ctx, FNZ_CLASS_UNSUPPORTED, name ? name : "",
      "that it shares memory with %s%s cannot be expressed in a .pt2 file; write it with "
      "--to cbor, or export the program with a clone of one of them",
      with ? with : "another input", how);
}

/* The targets of mutations; ends with fnzi_map_free() also after a failure. */
static fnz_status find_targets(const fnzi_pt2_out *o, fnzi_map *out) {
  fnzi_map_init(out, o->ctx);
  for (uint32_t k = 0; k < fnzi_graph_main(o->p)->noutputs; k++) {
    const fnz_output_spec *spec = &o->p->outputs[k];
    if (fnzi_output_is_mutation(spec))
      FNZ_TRY(fnzi_map_set(out, spec->target, strlen(spec->target), 1));
  }
  return FNZ_OK;
}

static bool is_target(const fnzi_pt2_out *o, const fnzi_map *targets, uint32_t k) {
  uint64_t found;
  const char *target = o->p->inputs[k].target;
  return fnzi_graph_main(o->p)->inputs[k].tag == FNZ_ARG_VALUE && target &&
         fnzi_map_get(targets, target, strlen(target), &found);
}

static fnz_status leave_out(fnzi_pt2_out *o) {
  const fnzi_graph *g = fnzi_graph_main(o->p);
  uint32_t *finals;
  bool *used;
  FNZI_NEW(&o->arena, g->values.count, &o->left_out);
  FNZI_NEW(&o->arena, g->values.count, &used);
  FNZI_NEW(&o->arena, g->ninputs, &finals);
  fnzi_graph_uses(g, used);
  /* Per first input of a memory: 1 + an input by whose name the signature has its final value. */
  fnzi_map targets;
  fnz_status status = find_targets(o, &targets);
  for (uint32_t k = 0; k < fnzi_graph_main(o->p)->ninputs; k++)
    if (is_loaded(o, k) && is_target(o, &targets, k))
      finals[fnzi_memory_of(o->p, k)] = k + 1;
  fnzi_map_free(&targets);
  FNZ_TRY(status);
  for (uint32_t k = 0; k < g->ninputs; k++) {
    uint32_t first = fnzi_memory_of(o->p, k), holder = finals[first];
    if (is_loaded(o, k) && g->inputs[k].tag == FNZ_ARG_VALUE && first != k && holder &&
        holder != k + 1 && !used[g->inputs[k].u.value])
      o->left_out[g->inputs[k].u.value] =
          fnzi_geometry_covers(signature_geometry_of(o, holder - 1), signature_geometry_of(o, k));
  }
  return FNZ_OK;
}

/* A file can express inputs that share memory if the program needs one of them: its final value is
 * the value of all, since PyTorch loads weights of one record as windows of one memory. For user
 * inputs that holds only if the caller passes one tensor twice. */
static fnz_status check_sharing(fnzi_pt2_out *o) {
  const fnzi_graph *g = fnzi_graph_main(o->p);
  bool *used;
  uint32_t *needed; /* per first input of a memory: 1 + the input that a node takes */
  FNZI_NEW(&o->arena, g->values.count, &used);
  FNZI_NEW(&o->arena, g->ninputs, &needed);
  fnzi_graph_uses(g, used);
  for (uint32_t k = 0; k < g->ninputs; k++) {
    uint32_t first = fnzi_memory_of(o->p, k);
    if (g->inputs[k].tag != FNZ_ARG_VALUE || fnzi_pt2_is_left_out(o, &g->inputs[k]))
      continue;
    bool is_window =
        !fnzi_geometry_equal(signature_geometry_of(o, k), signature_geometry_of(o, first)) &&
        !(is_loaded(o, k) && is_loaded(o, first));
    if (o->p->inputs[k].kind == FNZ_INPUT_MEMORY || is_window)
      return refuse_sharing(o, k, first, ", as another window of it,");
    if (!used[g->inputs[k].u.value])
      continue;
    if (needed[first])
      return refuse_sharing(o, k, needed[first] - 1, ", and both are used,");
    needed[first] = k + 1;
  }
  return FNZ_OK;
}

static fnz_status check_output(const fnzi_pt2_out *o, uint32_t k) {
  const fnz_output_spec *out = &o->p->outputs[k];
  const char *name = out->target ? out->target : "";
  if (out->metadata || out->set)
    return fnzi_pt2_cannot(o, name, "a write that changes sizes, strides or memory of its target");
  if (out->kind == FNZ_OUTPUT_MEMORY_MUTATION)
    return fnzi_pt2_cannot(o, name, "the final content of shared memory");
  if (out->kind == FNZ_OUTPUT_TOKEN)
    return fnzi_pt2_cannot(o, name, "an effect token");
  if (out->kind == FNZ_OUTPUT_PARAMETER_MUTATION && !(o->fields & FNZI_SCHEMA_PARAMETERS))
    return fnzi_fail(o->ctx, FNZ_CLASS_UNSUPPORTED, name,
                     "schema 8.%d has no outputs for parameters that are written; export with "
                     "torch 2.9 or later",
                     o->minor);
  return FNZ_OK;
}

/* --- clones ----------------------------------------------------------------------------------- */
/* Marks: the value is a final value already; it is an input that some output writes. */
enum { IS_FINAL = 1, IS_WRITTEN = 2 };

static fnz_status plan(fnzi_pt2_out *o) {
  const fnzi_graph *g = fnzi_graph_main(o->p);
  uint8_t *marks;
  uint64_t *copied;
  FNZI_NEW(&o->arena, g->values.count, &marks);
  FNZI_NEW(&o->arena, g->noutputs, &copied);
  FNZI_NEW(&o->arena, g->noutputs, &o->clones);
  FNZI_NEW(&o->arena, g->noutputs, &o->outputs);
  o->copied = copied;
  fnzi_map targets;
  fnz_status status = find_targets(o, &targets);
  for (uint32_t k = 0; k < g->ninputs; k++)
    if (is_target(o, &targets, k))
      marks[g->inputs[k].u.value] |= IS_WRITTEN;
  fnzi_map_free(&targets);
  FNZ_TRY(status);
  for (uint32_t k = 0; k < g->noutputs; k++) {
    if (g->outputs[k].tag != FNZ_ARG_VALUE)
      continue;
    uint64_t value = g->outputs[k].u.value;
    uint8_t *mark = &marks[value], memory = marks[fnzi_value_memory(o->p, 0, value)];
    bool is_final = fnzi_output_is_mutation(&o->p->outputs[k]);
    bool is_own = !is_final && o->p->outputs[k].sharing == FNZ_SHARING_OWN;
    o->outputs[k] = fnzi_pt2_name(o, 0, value);
    if ((memory & IS_WRITTEN) || is_own || (is_final && (*mark & IS_FINAL))) {
      copied[o->nclones] = value;
      FNZ_TRY(fnzi_pt2_fresh(o, 0, "clone", &o->outputs[k]));
      o->clones[o->nclones++] = o->outputs[k];
    } else if (is_final)
      *mark |= IS_FINAL;
  }
  return FNZ_OK;
}

fnz_status fnzi_pt2_plan_outputs(fnzi_pt2_out *o) {
  const fnzi_graph *g = fnzi_graph_main(o->p);
  for (uint32_t k = 0; k < g->ninputs; k++)
    FNZ_TRY(fnzi_pt2_go_on(o, check_input(o, k), 0, FNZI_NO_NODE));
  FNZ_TRY(leave_out(o));
  FNZ_TRY(fnzi_pt2_go_on(o, check_sharing(o), 0, FNZI_NO_NODE));
  for (uint32_t k = 0; k < g->noutputs; k++) {
    const fnz_arg *arg = &g->outputs[k];
    uint32_t node = fnzi_is_reference(arg) ? g->values.data[arg->u.value].node : FNZI_NO_NODE;
    FNZ_TRY(fnzi_pt2_go_on(o, check_output(o, k), 0, node));
  }
  return plan(o);
}

/* --- specs ------------------------------------------------------------------------------------ */
static fnz_status put_input(fnzi_pt2_out *o, fnzi_json_out *w, uint32_t k) {
  const fnz_input_spec *in = &o->p->inputs[k];
  const fnz_arg *arg = &fnzi_graph_main(o->p)->inputs[k];
  /* A literal without a name was a user input in the file. */
  bool is_literal = in->kind == FNZ_INPUT_LITERAL && in->target && *in->target;
  fnz_input_kind kind = in->kind == FNZ_INPUT_LITERAL && !is_literal ? FNZ_INPUT_USER : in->kind;
  const fnzi_pt2_kind row = fnzi_pt2_input_kinds[kind];
  FNZ_TRY(fnzi_json_open(w, '{'));
  FNZ_TRY(fnzi_json_open_as(w, row.tag, '{'));
  if (!is_literal) {
    /* The spec's own arg: a bare tensor or object, or for what users see a whole Argument. */
    FNZ_TRY(fnzi_json_key(w, "arg"));
    if (!row.target) {
      FNZ_TRY(fnzi_pt2_put_arg(o, w, 0, arg, NULL));
    } else {
      const char *name = fnzi_pt2_name(o, 0, arg->u.value);
      FNZ_TRY(arg->tag == FNZ_ARG_VALUE ? fnzi_pt2_put_tensor(w, name)
                                        : fnzi_pt2_put_object(o, w, name));
    }
  }
  if (row.target)
    FNZ_TRY(fnzi_json_out_text(w, row.target, in->target));
  if (in->kind == FNZ_INPUT_BUFFER) {
    FNZ_TRY(fnzi_json_out_flag(w, "persistent", in->persistent));
  }
  if (is_literal) {
    FNZ_TRY(fnzi_json_key(w, "value"));
    FNZ_TRY(fnzi_pt2_put_arg(o, w, 0, arg, NULL));
  }
  FNZ_TRY(fnzi_json_close(w, '}'));
  return fnzi_json_close(w, '}');
}

fnz_status fnzi_pt2_put_signature(fnzi_pt2_out *o, fnzi_json_out *w) {
  const fnzi_graph *g = fnzi_graph_main(o->p);
  FNZ_TRY(fnzi_json_open(w, '{'));
  FNZ_TRY(fnzi_json_open_as(w, "input_specs", '['));
  for (uint32_t k = 0; k < g->ninputs; k++)
    if (!fnzi_pt2_is_left_out(o, &g->inputs[k]))
      FNZ_TRY(put_input(o, w, k));
  FNZ_TRY(fnzi_json_close(w, ']'));
  FNZ_TRY(fnzi_json_open_as(w, "output_specs", '['));
  for (uint32_t k = 0; k < g->noutputs; k++) {
    const fnz_output_spec *out = &o->p->outputs[k];
    const fnz_arg *arg = &g->outputs[k];
    const fnzi_pt2_kind row = fnzi_pt2_output_kinds[out->kind];
    FNZ_TRY(fnzi_json_open(w, '{'));
    FNZ_TRY(fnzi_json_open_as(w, row.tag, '{'));
    FNZ_TRY(fnzi_json_key(w, "arg"));
    if (arg->tag != FNZ_ARG_VALUE)
      FNZ_TRY(fnzi_pt2_put_arg(o, w, 0, arg, NULL));
    else if (out->kind != FNZ_OUTPUT_USER)
      FNZ_TRY(fnzi_pt2_put_tensor(w, o->outputs[k]));
    else {
      FNZ_TRY(fnzi_json_open(w, '{'));
      FNZ_TRY(fnzi_json_key(w, "as_tensor"));
      FNZ_TRY(fnzi_pt2_put_tensor(w, o->outputs[k]));
      FNZ_TRY(fnzi_json_close(w, '}'));
    }
    if (row.target)
      FNZ_TRY(fnzi_json_out_text(w, row.target, out->target ? out->target : ""));
    FNZ_TRY(fnzi_json_close(w, '}'));
    FNZ_TRY(fnzi_json_close(w, '}'));
  }
  FNZ_TRY(fnzi_json_close(w, ']'));
  return fnzi_json_close(w, '}');
}

/* --- how it is called ------------------------------------------------------------------------- */
static bool is_users_output(const fnzi_pt2_out *o, uint32_t k) {
  return fnzi_output_kind_of(&o->p->outputs[k])->taker == FNZI_TAKEN_BY_USER;
}

/* The names of what users see, if the file listed them. */
static fnz_status put_user_outputs(fnzi_pt2_out *o, fnzi_json_out *w) {
  const fnzi_graph *g = fnzi_graph_main(o->p);
  FNZ_TRY(fnzi_json_open(w, '['));
  for (uint32_t k = 0; k < g->noutputs; k++) {
    if (!is_users_output(o, k))
      continue;
    if (g->outputs[k].tag != FNZ_ARG_VALUE) {
      FNZ_TRY(fnzi_pt2_put_arg(o, w, 0, &g->outputs[k], NULL));
      continue;
    }
    FNZ_TRY(fnzi_json_open(w, '{'));
    FNZ_TRY(fnzi_json_key(w, "as_tensor"));
    FNZ_TRY(fnzi_pt2_put_tensor(w, o->outputs[k]));
    FNZ_TRY(fnzi_json_close(w, '}'));
  }
  return fnzi_json_close(w, ']');
}

static bool is_users(fnz_input_kind is) {
  return is == FNZ_INPUT_USER || is == FNZ_INPUT_LITERAL;
}

/* Finds the arguments and results of a call; none if all of them are the file's own. */
static fnz_status find_leaves(fnzi_pt2_out *o, fnzi_pt2_leaves *inputs, fnzi_pt2_leaves *outputs) {
  const fnzi_graph *g = fnzi_graph_main(o->p);
  const char **names;
  *inputs = *outputs = (fnzi_pt2_leaves){NULL, 0};
  if (!fnzi_io_has_pairs(o->p))
    return FNZ_OK;
  FNZI_NEW(&o->arena, g->ninputs, &names);
  for (uint32_t k = 0; k < g->ninputs; k++)
    if (is_users(o->p->inputs[k].kind))
      names[inputs->count++] = fnzi_is_reference(&g->inputs[k])
                                   ? fnzi_pt2_name(o, 0, g->inputs[k].u.value)
                                   : o->p->inputs[k].target;
  for (uint32_t k = 0; k < g->noutputs; k++)
    outputs->count += is_users_output(o, k);
  inputs->names = names;
  return FNZ_OK;
}

/* The module's own entry keeps its signature, with new names of outputs. Entries of inner modules
 * lose theirs, because their values may be gone. */
static fnz_status signature_put_call(fnzi_pt2_out *o, fnzi_json_out *w, const fnzi_json *entry) {
  const fnzi_json *fqn = fnzi_json_find(entry, "fqn");
  const fnzi_json *call = fnzi_json_find(entry, "signature");
  bool is_whole = fqn && fqn->kind == FNZI_JSON_STRING && !fqn->count;
  FNZ_TRY(fnzi_json_open(w, '{'));
  if (fqn) {
    FNZ_TRY(fnzi_json_key(w, "fqn"));
    FNZ_TRY(fnzi_json_out_tree(w, fqn));
  }
  FNZ_TRY(fnzi_json_key(w, "signature"));
  if (!is_whole || !call || call->kind != FNZI_JSON_OBJECT) {
    FNZ_TRY(fnzi_json_out_null(w));
    return fnzi_json_close(w, '}');
  }
  fnzi_pt2_leaves inputs, outputs;
  FNZ_TRY(find_leaves(o, &inputs, &outputs));
  FNZ_TRY(fnzi_json_open(w, '{'));
  for (const fnzi_json *m = call->u.first; m; m = m->next) {
    bool lists = strcmp(m->key, "outputs") == 0 && m->kind == FNZI_JSON_ARRAY && m->count;
    FNZ_TRY(fnzi_json_out_name(w, m->key, m->key_size));
    FNZ_TRY(lists ? put_user_outputs(o, w) : fnzi_pt2_put_longer_call(o, w, m, &inputs, &outputs));
  }
  FNZ_TRY(fnzi_json_close(w, '}'));
  return fnzi_json_close(w, '}');
}

static fnz_status put_tuple(fnzi_json_out *w, size_t count) {
  FNZ_TRY(fnzi_pt2_open_tree(w, "builtins.tuple", "null"));
  FNZ_TRY(fnzi_pt2_put_leaves(w, count));
  return fnzi_pt2_close_tree(w);
}

/* The arguments, all by position, and no keywords. */
static fnz_status signature_put_arguments(fnzi_json_out *w, size_t count) {
  FNZ_TRY(fnzi_pt2_open_tree(w, "builtins.tuple", "null"));
  FNZ_TRY(put_tuple(w, count));
  FNZ_TRY(fnzi_pt2_open_tree(w, "builtins.dict", "[]"));
  FNZ_TRY(fnzi_pt2_close_tree(w));
  return fnzi_pt2_close_tree(w);
}

/* The text of a tree, with its version. */
static fnz_status put_spec(fnzi_pt2_out *o, fnzi_json_out *w, const char *key, size_t count,
                           bool of_inputs) {
  o->text.size = 0;
  fnzi_json_out inner = {.ctx = o->ctx, .out = &o->text};
  fnzi_json_open(&inner, '[');
  fnzi_json_out_int(&inner, 1);
  FNZ_TRY(of_inputs    ? signature_put_arguments(&inner, count)
          : count == 1 ? fnzi_pt2_put_leaves(&inner, 1)
                       : put_tuple(&inner, count));
  FNZ_TRY(fnzi_json_close(&inner, ']'));
  FNZ_TRY(fnzi_json_key(w, key));
  return fnzi_json_out_string(w, o->text.data, o->text.size);
}

/* For a program that did not come from a .pt2 file: all inputs by position, one result bare or a
 * tuple. */
static fnz_status put_plain_call(fnzi_pt2_out *o, fnzi_json_out *w) {
  const fnzi_graph *g = fnzi_graph_main(o->p);
  size_t inputs = 0, outputs = 0;
  for (uint32_t k = 0; k < g->ninputs; k++)
    inputs += is_users(o->p->inputs[k].kind);
  for (uint32_t k = 0; k < g->noutputs; k++)
    outputs += is_users_output(o, k);
  FNZ_TRY(fnzi_json_open(w, '{'));
  FNZ_TRY(fnzi_json_out_text(w, "fqn", ""));
  FNZ_TRY(fnzi_json_open_as(w, "signature", '{'));
  FNZ_TRY(fnzi_json_key(w, "inputs"));
  FNZ_TRY(fnzi_json_out_raw(w, "[]", 2));
  FNZ_TRY(fnzi_json_key(w, "outputs"));
  FNZ_TRY(fnzi_json_out_raw(w, "[]", 2));
  FNZ_TRY(put_spec(o, w, "in_spec", inputs, true));
  FNZ_TRY(put_spec(o, w, "out_spec", outputs, false));
  FNZ_TRY(fnzi_json_key(w, "forward_arg_names"));
  FNZ_TRY(fnzi_json_out_null(w));
  FNZ_TRY(fnzi_json_close(w, '}'));
  return fnzi_json_close(w, '}');
}

fnz_status fnzi_pt2_put_calls(fnzi_pt2_out *o, fnzi_json_out *w) {
  static const char key[] = "module_call_graph";
  const char *text = fnzi_extras_text_of(o->x, FNZI_EXTRA_MODULE, key, sizeof key - 1);
  fnzi_json_doc doc;
  if (text && !o->p->is_rewritten)
    return fnzi_json_out_raw(w, text, strlen(text));
  FNZ_TRY(fnzi_json_open(w, '['));
  if (!text)
    FNZ_TRY(put_plain_call(o, w));
  else {
    FNZ_TRY(fnzi_json_parse(&o->arena, key, text, strlen(text), &doc));
    FNZ_TRY(fnzi_json_expect(&doc, doc.root, FNZI_JSON_ARRAY));
    for (const fnzi_json *entry = doc.root->u.first; entry; entry = entry->next)
      FNZ_TRY(signature_put_call(o, w, entry));
  }
  return fnzi_json_close(w, ']');
}
