/* pt2_pairs.c - state that the caller holds, in .pt2 files: pairs of a user input and the user
 * output that is its new value, and the module's call signature with these appended to its own
 * arguments and results.
 *
 * The signature of a .pt2 file has no room for pairs. PyTorch keeps the member "custom" of a graph
 * module's metadata as it is, a JSON text: there is "fnz_state", {input: K} for the user input
 * whose new value is the K-th user output, counted from 0. Tools rename outputs and keep their
 * order. Writer and reader side by side. */
#include "program/formats/pt2.h"
#include "program/formats/pt2_write.h"
#include "program/state_io.h"

static const char key[] = "fnz_state";

/* --- pairs, written --------------------------------------------------------------------------- */
/* The member "custom" of the file, with the pairs of this program in place of its own. */
static fnz_status put_custom(fnzi_pt2_out *o, fnzi_json_out *w, const fnzi_json *had) {
  fnzi_json_doc doc = {.root = NULL};
  if (had && had->kind == FNZI_JSON_STRING)
    FNZ_TRY(fnzi_json_parse(&o->arena, "custom", had->u.s, had->count, &doc));
  FNZ_TRY(fnzi_json_open(w, '{'));
  bool is_object = doc.root && doc.root->kind == FNZI_JSON_OBJECT;
  for (const fnzi_json *m = is_object ? doc.root->u.first : NULL; m; m = m->next) {
    if (strcmp(m->key, key) == 0)
      continue;
    FNZ_TRY(fnzi_json_out_name(w, m->key, m->key_size));
    FNZ_TRY(fnzi_json_out_tree(w, m));
  }
  const fnzi_graph *g = fnzi_graph_main(o->p);
  int64_t number = 0;
  FNZ_TRY(fnzi_json_open_as(w, key, '{'));
  for (uint32_t k = 0; k < g->noutputs; k++) {
    const fnz_output_spec *out = &o->p->outputs[k];
    uint64_t input;
    if (fnzi_output_kind_of(out)->taker != FNZI_TAKEN_BY_USER)
      continue;
    number++;
    if (!fnzi_io_is_new_value(out) ||
        !fnzi_value_find(o->p, 0, out->target, strlen(out->target), &input))
      continue;
    const char *name = fnzi_pt2_name(o, 0, input);
    FNZ_TRY(fnzi_json_out_name(w, name, strlen(name)));
    FNZ_TRY(fnzi_json_out_int(w, number - 1));
  }
  FNZ_TRY(fnzi_json_close(w, '}'));
  return fnzi_json_close(w, '}');
}

fnz_status fnzi_pt2_put_metadata(fnzi_pt2_out *o, fnzi_json_out *w) {
  const char *text = fnzi_extras_text_of(o->x, FNZI_EXTRA_MODULE, "metadata", 8);
  fnzi_json_doc doc = {.root = NULL};
  fnz_buffer custom = {0};
  fnzi_json_out inner = {.ctx = o->ctx, .out = &custom};
  if (!fnzi_io_has_pairs(o->p))
    return text ? fnzi_json_out_raw(w, text, strlen(text)) : fnzi_json_out_raw(w, "{}", 2);
  if (text)
    FNZ_TRY(fnzi_json_parse(&o->arena, "metadata", text, strlen(text), &doc));
  FNZ_TRY(fnzi_json_open(w, '{'));
  bool is_object = doc.root && doc.root->kind == FNZI_JSON_OBJECT;
  for (const fnzi_json *m = is_object ? doc.root->u.first : NULL; m; m = m->next) {
    if (strcmp(m->key, "custom") == 0)
      continue;
    FNZ_TRY(fnzi_json_out_name(w, m->key, m->key_size));
    FNZ_TRY(fnzi_json_out_tree(w, m));
  }
  FNZ_TRY(fnzi_json_key(w, "custom"));
  fnz_status status = put_custom(o, &inner, is_object ? fnzi_json_find(doc.root, "custom") : NULL);
  if (status == FNZ_OK)
    status = fnzi_json_out_string(w, custom.data, custom.size);
  fnz_buffer_free(o->ctx, &custom);
  return status == FNZ_OK ? fnzi_json_close(w, '}') : status;
}

/* --- and read --------------------------------------------------------------------------------- */
static bool is_user_tensor(const fnz_program *p, uint64_t value) {
  const fnzi_graph *g = fnzi_graph_main(p);
  for (uint32_t k = 0; k < g->ninputs; k++)
    if (g->inputs[k].tag == FNZ_ARG_VALUE && g->inputs[k].u.value == value)
      return p->inputs[k].kind == FNZ_INPUT_USER;
  return false;
}

/* The user output of that number, if it has the type of the input; NULL. */
static fnz_output_spec *find_output(fnz_program *p, uint64_t input, int64_t number) {
  const fnzi_graph *g = fnzi_graph_main(p);
  uint32_t k = 0;
  for (int64_t left = number; k < g->noutputs; k++)
    if (fnzi_output_kind_of(&p->outputs[k])->taker == FNZI_TAKEN_BY_USER && left-- == 0)
      break;
  if (k == g->noutputs || g->outputs[k].tag != FNZ_ARG_VALUE ||
      p->outputs[k].kind != FNZ_OUTPUT_USER)
    return NULL;
  const fnz_geometry *a = fnzi_value_at(p, 0, input)->geometry;
  const fnz_geometry *b = fnzi_value_at(p, 0, g->outputs[k].u.value)->geometry;
  return a && b && a->dtype == b->dtype && fnzi_same_sizes(a, b) ? &p->outputs[k] : NULL;
}

fnz_status fnzi_pt2_read_pairs(fnzi_pt2 *r, const fnzi_json *module) {
  const fnzi_json *metadata = fnzi_json_find(module, "metadata");
  const fnzi_json *custom = fnzi_json_find(metadata, "custom");
  fnzi_json_doc doc;
  if (!custom || custom->kind != FNZI_JSON_STRING || !strstr(custom->u.s, key))
    return FNZ_OK;
  FNZ_TRY(fnzi_json_parse(r->arena, "custom", custom->u.s, custom->count, &doc));
  const fnzi_json *pairs = fnzi_json_find(doc.root, key);
  for (const fnzi_json *m = pairs && pairs->kind == FNZI_JSON_OBJECT ? pairs->u.first : NULL; m;
       m = m->next) {
    /* Pairs that are not there any more, as after a tool has changed the signature, say nothing. */
    uint64_t input;
    if (m->kind == FNZI_JSON_INT && fnzi_value_find(r->p, 0, m->key, m->key_size, &input) &&
        is_user_tensor(r->p, input)) {
      fnz_output_spec *out = find_output(r->p, input, m->u.i);
      if (out)
        out->target = fnzi_value_at(r->p, 0, input)->name;
    }
  }
  return FNZ_OK;
}

/* --- how the module is called ----------------------------------------------------------------- */
/* PyTorch's texts of trees are [version, node]; a node is {type, context, children_spec}, and a
 * leaf has no type. */
fnz_status fnzi_pt2_open_tree(fnzi_json_out *w, const char *type, const char *context) {
  fnzi_json_open(w, '{');
  fnzi_json_out_text(w, "type", type);
  fnzi_json_out_text(w, "context", context);
  return fnzi_json_open_as(w, "children_spec", '[');
}

fnz_status fnzi_pt2_close_tree(fnzi_json_out *w) {
  fnzi_json_close(w, ']');
  return fnzi_json_close(w, '}');
}

fnz_status fnzi_pt2_put_leaves(fnzi_json_out *w, size_t count) {
  for (size_t i = 0; i < count; i++) {
    fnzi_json_open(w, '{');
    fnzi_json_key(w, "type");
    fnzi_json_out_null(w);
    fnzi_json_key(w, "context");
    fnzi_json_out_null(w);
    fnzi_json_open_as(w, "children_spec", '[');
    FNZ_TRY(fnzi_pt2_close_tree(w));
  }
  return w->status;
}

static size_t count_leaves(const fnzi_json *root) {
  const fnzi_json *at = root;
  size_t count = 0;
  for (;;) {
    count += at->kind == FNZI_JSON_OBJECT && !fnzi_json_find(at, "type");
    const fnzi_json *list = fnzi_json_find(at, "children_spec");
    const fnzi_json *child = list && list->kind == FNZI_JSON_ARRAY ? list->u.first : NULL;
    if (child) {
      at = child;
      continue;
    }
    while (at != root && !at->next)
      at = at->parent->parent; /* the list, the node that has it */
    if (at == root)
      return count;
    at = at->next;
  }
}

/* The keys of a dict, "[\"a\"]", with more names behind them. */
static fnz_status put_keys(fnzi_pt2_out *o, fnzi_json_out *w, const fnzi_json *context,
                           const char *const *names, size_t count) {
  fnzi_json_doc doc = {.root = NULL};
  fnz_buffer text = {0};
  fnzi_json_out inner = {.ctx = o->ctx, .out = &text};
  if (context->kind == FNZI_JSON_STRING)
    FNZ_TRY(fnzi_json_parse(&o->arena, "context", context->u.s, context->count, &doc));
  bool is_list = doc.root && doc.root->kind == FNZI_JSON_ARRAY;
  fnzi_json_open(&inner, '[');
  for (const fnzi_json *m = is_list ? doc.root->u.first : NULL; m; m = m->next)
    fnzi_json_out_tree(&inner, m);
  for (size_t i = 0; i < count; i++)
    fnzi_json_out_string(&inner, names[i], strlen(names[i]));
  fnz_status status = fnzi_json_close(&inner, ']');
  if (status == FNZ_OK)
    status = fnzi_json_out_string(w, text.data, text.size);
  fnz_buffer_free(o->ctx, &text);
  return status;
}

/* A node with more leaves after its own; the new leaves have the names if the node is a dict. */
static fnz_status put_longer(fnzi_pt2_out *o, fnzi_json_out *w, const fnzi_json *node,
                             const char *const *names, size_t count) {
  const fnzi_json *type = fnzi_json_find(node, "type");
  bool is_dict = type && type->kind == FNZI_JSON_STRING && strcmp(type->u.s, "builtins.dict") == 0;
  FNZ_TRY(fnzi_json_open(w, '{'));
  for (const fnzi_json *m = node->u.first; m; m = m->next) {
    FNZ_TRY(fnzi_json_out_name(w, m->key, m->key_size));
    if (strcmp(m->key, "context") == 0 && is_dict) {
      FNZ_TRY(put_keys(o, w, m, names, count));
      continue;
    }
    if (strcmp(m->key, "children_spec") != 0 || m->kind != FNZI_JSON_ARRAY) {
      FNZ_TRY(fnzi_json_out_tree(w, m));
      continue;
    }
    FNZ_TRY(fnzi_json_open(w, '['));
    for (const fnzi_json *child = m->u.first; child; child = child->next)
      FNZ_TRY(fnzi_json_out_tree(w, child));
    FNZ_TRY(fnzi_pt2_put_leaves(w, count));
    FNZ_TRY(fnzi_json_close(w, ']'));
  }
  return fnzi_json_close(w, '}');
}

/* (arguments, keywords): the state comes after the keywords if there are any, since their leaves
 * come last, else after the arguments. */
static fnz_status pairs_put_arguments(fnzi_pt2_out *o, fnzi_json_out *w, const fnzi_json *node,
                                      const char *const *names, size_t count) {
  const fnzi_json *list = fnzi_json_find(node, "children_spec");
  const fnzi_json *first = list && list->kind == FNZI_JSON_ARRAY ? list->u.first : NULL;
  if (!first || !first->next || first->next->next)
    return fnzi_json_out_tree(w, node);
  bool has_keywords = count_leaves(first->next) > 0;
  FNZ_TRY(fnzi_json_open(w, '{'));
  for (const fnzi_json *m = node->u.first; m; m = m->next) {
    FNZ_TRY(fnzi_json_out_name(w, m->key, m->key_size));
    if (m != list) {
      FNZ_TRY(fnzi_json_out_tree(w, m));
      continue;
    }
    FNZ_TRY(fnzi_json_open(w, '['));
    FNZ_TRY(has_keywords ? fnzi_json_out_tree(w, first) : put_longer(o, w, first, names, count));
    FNZ_TRY(has_keywords ? put_longer(o, w, first->next, names, count)
                         : fnzi_json_out_tree(w, first->next));
    FNZ_TRY(fnzi_json_close(w, ']'));
  }
  return fnzi_json_close(w, '}');
}

/* A tuple with more leaves; of another result, a tuple of it and these. */
static fnz_status pairs_put_results(fnzi_pt2_out *o, fnzi_json_out *w, const fnzi_json *node,
                                    size_t count) {
  const fnzi_json *type = fnzi_json_find(node, "type");
  if (type && type->kind == FNZI_JSON_STRING && strcmp(type->u.s, "builtins.tuple") == 0)
    return put_longer(o, w, node, NULL, count);
  FNZ_TRY(fnzi_pt2_open_tree(w, "builtins.tuple", "null"));
  FNZ_TRY(fnzi_json_out_tree(w, node));
  FNZ_TRY(fnzi_pt2_put_leaves(w, count));
  return fnzi_pt2_close_tree(w);
}

/* The tree of the text `spec`, its version before it. */
static fnz_status put_tree(fnzi_pt2_out *o, fnzi_json_out *w, const fnzi_json *spec,
                           const fnzi_pt2_leaves *leaves) {
  fnzi_json_doc doc;
  fnz_buffer text = {0};
  fnzi_json_out inner = {.ctx = o->ctx, .out = &text};
  FNZ_TRY(fnzi_json_parse(&o->arena, spec->key, spec->u.s, spec->count, &doc));
  const fnzi_json *version = doc.root->kind == FNZI_JSON_ARRAY ? doc.root->u.first : NULL;
  const fnzi_json *node = version ? version->next : NULL;
  size_t had = node && node->kind == FNZI_JSON_OBJECT ? count_leaves(node) : SIZE_MAX;
  if (had >= leaves->count)
    return fnzi_json_out_tree(w, spec);
  fnzi_json_open(&inner, '[');
  fnz_status status = fnzi_json_out_tree(&inner, version);
  if (status == FNZ_OK)
    status = leaves->names
                 ? pairs_put_arguments(o, &inner, node, leaves->names + had, leaves->count - had)
                 : pairs_put_results(o, &inner, node, leaves->count - had);
  if (status == FNZ_OK)
    status = fnzi_json_close(&inner, ']');
  if (status == FNZ_OK)
    status = fnzi_json_out_string(w, text.data, text.size);
  fnz_buffer_free(o->ctx, &text);
  return status;
}

fnz_status fnzi_pt2_put_longer_call(fnzi_pt2_out *o, fnzi_json_out *w, const fnzi_json *member,
                                    const fnzi_pt2_leaves *inputs, const fnzi_pt2_leaves *outputs) {
  size_t more = 0;
  if (!fnzi_io_has_pairs(o->p))
    return fnzi_json_out_tree(w, member);
  const fnzi_json *in_spec = fnzi_json_find(member->parent, "in_spec");
  if (member->kind == FNZI_JSON_STRING && strcmp(member->key, "in_spec") == 0)
    return put_tree(o, w, member, inputs);
  if (member->kind == FNZI_JSON_STRING && strcmp(member->key, "out_spec") == 0)
    return put_tree(o, w, member, outputs);
  if (member->kind == FNZI_JSON_ARRAY && strcmp(member->key, "forward_arg_names") == 0 && in_spec &&
      in_spec->kind == FNZI_JSON_STRING) {
    fnzi_json_doc doc;
    FNZ_TRY(fnzi_json_parse(&o->arena, "in_spec", in_spec->u.s, in_spec->count, &doc));
    const fnzi_json *node =
        doc.root->kind == FNZI_JSON_ARRAY && doc.root->u.first ? doc.root->u.first->next : NULL;
    size_t had = node && node->kind == FNZI_JSON_OBJECT ? count_leaves(node) : inputs->count;
    more = had < inputs->count ? inputs->count - had : 0;
    /* forward_arg_names, which may be null. */
    FNZ_TRY(fnzi_json_open(w, '['));
    for (const fnzi_json *m = member->u.first; m; m = m->next)
      FNZ_TRY(fnzi_json_out_tree(w, m));
    for (size_t i = inputs->count - more; i < inputs->count; i++)
      FNZ_TRY(fnzi_json_out_string(w, inputs->names[i], strlen(inputs->names[i])));
    return fnzi_json_close(w, ']');
  }
  return fnzi_json_out_tree(w, member);
}
