/* body.c - the body of a higher-order operator as a graph of its own: its inputs, its results, and
 * finding a body that exists already.
 *
 * needs   a key (regions.h); geometries in it are interned in the target program
 * keeps   names of inputs, order of results
 * gives   a graph without writes, and for the caller: the memory of each result, and which bases
 * are written */
#include "functionalize/pass/regions/regions.h"

#include <stdio.h>

/* --- keys ------------------------------------------------------------------------------------- */
static bool same_bases(const fnzi_region_key *a, const fnzi_region_key *b) {
  for (uint32_t k = 0; k < a->nbases; k++) {
    const fnzi_region_base *x = &a->bases[k], *y = &b->bases[k];
    if (x->memory != y->memory || x->value != y->value || x->name != y->name ||
        x->returns != y->returns || x->last != y->last || x->is_slice != y->is_slice)
      return false;
  }
  return true;
}

static bool same_inputs(const fnzi_region_key *a, const fnzi_region_key *b) {
  for (uint32_t k = 0; k < a->ninputs; k++) {
    const fnzi_region_binding *x = &a->inputs[k], *y = &b->inputs[k];
    if (x->is_tensor != y->is_tensor || x->base != y->base || x->window != y->window)
      return false;
  }
  for (uint32_t k = 0; k < a->nslots; k++)
    if (a->slots[k].is_base != b->slots[k].is_base || a->slots[k].index != b->slots[k].index)
      return false;
  return true;
}

static bool same_key(const fnzi_region_key *a, const fnzi_region_key *b) {
  return a->graph == b->graph && a->leading == b->leading && a->autocast == b->autocast &&
         a->in_slices == b->in_slices && a->ninputs == b->ninputs && a->nbases == b->nbases &&
         a->nslots == b->nslots && same_bases(a, b) && same_inputs(a, b);
}

fnzi_region_body *fnzi_region_body_find(const fnzi_pass_stack *all, const fnzi_region_key *key) {
  fnzi_region_body *b = all->bodies[key->graph];
  while (b && !(b->done && same_key(&b->key, key)))
    b = b->next;
  return b;
}

/* --- inputs ----------------------------------------------------------------------------------- */
static const char *input_name(const fnzi_pass *p, uint32_t k) {
  const fnz_arg *input = &p->graph->inputs[k];
  return fnzi_is_reference(input) ? p->graph->values.data[input->u.value].name : NULL;
}

/* Adds an input of the target graph. Literals have no name and no value. */
static fnz_status add_input(fnzi_pass *p, uint32_t slot, uint32_t source,
                            const fnz_geometry *geometry, fnz_handle *out) {
  fnz_arg *input = &fnzi_graph_at(p->to, p->into)->inputs[slot];
  const fnz_arg *from = &p->graph->inputs[source];
  uint32_t value;
  FNZ_TRY(fnzi_value_add(p->to, p->into, input_name(p, source), geometry, FNZI_NO_NODE, &value));
  if (from->tag == FNZ_ARG_SYMBOL)
    FNZ_TRY(fnzi_pass_arg_symbol(p, p->graph->values.data[from->u.value].symbol,
                                 &fnzi_value_at(p->to, p->into, value)->symbol));
  *input = (fnz_arg){.tag = from->tag, .u.value = value};
  return fnzi_rec_value(p->recorder, value, out);
}

/* A tensor for all of a base, held to the end, so that writes to it matter. */
static fnz_status take_base(fnzi_pass *p, uint32_t slot, uint32_t b) {
  const fnzi_region_base *base = &p->body->key.bases[b];
  fnz_handle handle;
  fnz_tensor *all;
  FNZ_TRY(add_input(p, slot, base->name, base->value, &handle));
  FNZ_TRY(fnz_tensor_wrap(p->wrapper, base->memory, handle, &all));
  all->alias->value->is_slice = base->last;
  all->alias->storage->is_slice = base->is_slice;
  p->roots[b] = fnzi_wrap_alias_retain(all->alias);
  all->alias->storage->mark = b + 1;
  return FNZ_OK;
}

static fnz_status take_inputs(fnzi_pass *p) {
  const fnzi_region_key *key = &p->body->key;
  FNZI_NEW(&p->tensor_arena, p->graph->values.count, &p->tensors);
  FNZI_NEW(&p->arena, key->ninputs, &p->inputs);
  FNZI_NEW(&p->arena, key->ninputs, &p->roots);
  FNZ_TRY(fnzi_graph_set_inputs(p->to, p->into, key->nslots));
  for (uint32_t s = 0; s < key->nslots; s++) {
    const fnzi_region_slot *slot = &key->slots[s];
    const fnz_arg *from = slot->is_base ? NULL : &p->graph->inputs[slot->index];
    if (!from)
      FNZ_TRY(take_base(p, s, slot->index));
    else if (fnzi_is_reference(from)) {
      fnz_handle handle;
      FNZ_TRY(add_input(p, s, slot->index, NULL, &handle));
      p->others[from->u.value] = (fnz_arg){.tag = from->tag, .u.value = handle};
    } else {
      fnz_arg *copy;
      FNZ_TRY(fnzi_args_copy(p->to, from, 1, &copy));
      fnzi_graph_at(p->to, p->into)->inputs[s] = *copy;
    }
  }
  for (uint32_t k = 0; k < key->ninputs; k++) {
    const fnzi_region_binding *in = &p->body->key.inputs[k];
    if (in->is_tensor) {
      FNZ_TRY(fnzi_pass_tensor_window(p, p->roots[in->base], in->window, &p->inputs[k]));
      p->inputs[k]->refs++;
      p->tensors[p->graph->inputs[k].u.value] = p->inputs[k];
    }
  }
  return FNZ_OK;
}

fnz_status fnzi_region_body_start(fnzi_pass_stack *all, const fnzi_region_key *key) {
  fnzi_pass *p;
  FNZ_TRY(fnzi_pass_stack_push(all, key->graph, &p));
  FNZI_NEW(&all->arena, 1, &p->body);
  fnzi_region_key *to = &p->body->key;
  *to = *key;
  FNZI_NEW(&all->arena, key->ninputs, &to->inputs);
  FNZI_NEW(&all->arena, key->nbases, &to->bases);
  FNZI_NEW(&all->arena, key->nslots, &to->slots);
  if (key->ninputs)
    memcpy(to->inputs, key->inputs, key->ninputs * sizeof *to->inputs);
  if (key->nbases)
    memcpy(to->bases, key->bases, key->nbases * sizeof *to->bases);
  if (key->nslots)
    memcpy(to->slots, key->slots, key->nslots * sizeof *to->slots);
  FNZ_TRY(fnzi_graph_add(all->to, fnzi_graph_at(all->from, key->graph)->name, &p->body->into));
  fnzi_graph_at(all->to, p->body->into)->source = key->graph;
  p->body->next = all->bodies[key->graph];
  all->bodies[key->graph] = p->body;
  p->into = p->body->into;
  p->autocast = key->autocast;
  p->recorder = NULL;
  p->wrapper = NULL;
  p->owns_wrapper = true;
  FNZ_TRY(fnzi_rec_create_on(all->ctx, all->to, p->into, &p->recorder));
  if (key->in_slices)
    fnzi_rec_take_slices(p->recorder);
  FNZ_TRY(fnzi_pass_wrapper_make(p));
  return take_inputs(p);
}

/* --- results ---------------------------------------------------------------------------------- */
/* One result of the target graph. */
typedef struct result {
  fnz_arg arg;
  fnz_handle handle; /* of a value */
} result;

typedef struct results {
  result *data;
  size_t count;
  fnzi_map taken; /* values that are results already */
} results;

/* The mark of a storage: 1 + base, or FRESH | the first output in it. */
#define FRESH 0x80000000u

static fnz_status describe(fnzi_pass *p, uint32_t j, fnzi_region_output *out) {
  const fnz_arg *a = &p->graph->outputs[j];
  *out = (fnzi_region_output){.origin = FNZI_ORIGIN_NUMBER, .same_input = FNZI_NO_NODE};
  if (a->tag != FNZ_ARG_VALUE)
    return FNZ_OK;
  const fnz_tensor *t = p->tensors[a->u.value];
  fnzi_wrap_storage *s = t->alias->storage;
  if (!s->mark)
    s->mark = FRESH | j;
  out->origin = s->mark & FRESH ? FNZI_ORIGIN_FRESH : FNZI_ORIGIN_BASE;
  out->of = s->mark & FRESH ? s->mark & ~FRESH : s->mark - 1;
  const uint32_t ninputs = out->origin == FNZI_ORIGIN_BASE ? p->body->key.ninputs : 0;
  for (uint32_t k = 0; k < ninputs && out->same_input == FNZI_NO_NODE; k++)
    if (p->inputs[k] == t)
      out->same_input = k;
  out->whole = t->alias == s->root;
  out->entangled = s->maybe_aliased != NULL;
  return fnzi_intern_geometry(p->to, &t->alias->geometry, &out->geometry);
}

static fnz_status describe_all(fnzi_pass *p) {
  fnzi_region_body *b = p->body;
  FNZI_NEW(&p->all->arena, p->graph->noutputs, &b->outputs);
  FNZI_NEW(&p->all->arena, b->key.nbases, &b->ends);
  for (uint32_t j = 0; j < p->graph->noutputs; j++)
    FNZ_TRY(describe(p, j, &b->outputs[j]));
  for (uint32_t k = 0; k < b->key.nbases; k++) {
    const fnzi_wrap_storage *s = p->roots[k]->storage;
    const fnzi_wrap_alias *writer = s->log.count ? s->log.data[s->newest].alias : NULL;
    const fnzi_region_returns returns = b->key.bases[k].returns;
    bool written = s->version > 0;
    b->ends[k] = (fnzi_region_base_end){.written = written,
                                        .returned = returns == FNZI_RETURNS_ALWAYS ||
                                                    (returns == FNZI_RETURNS_WRITTEN && written),
                                        .entangled = s->maybe_aliased != NULL,
                                        .source = writer && writer->source ? writer->source : ""};
  }
  return FNZ_OK;
}

static fnz_status add_value(fnzi_pass *p, fnzi_wrap_alias *node, results *out) {
  fnzi_value_ref *value;
  p->wrapper->source = "";
  p->wrapper->why = fnzi_why_output(out->count);
  FNZ_TRY(fnzi_wrap_read(node, &value));
  /* A result must be memory of its own: an input or another result is cloned. */
  fnz_handle *key = &out->data[out->count].handle; /* borrowed by the map */
  uint64_t unused;
  *key = value->handle;
  bool taken = fnzi_map_get(&out->taken, key, sizeof *key, &unused);
  if (!taken && fnzi_rec_value_is_new(p->recorder, *key)) {
    FNZ_TRY(fnzi_map_set(&out->taken, key, sizeof *key, 1));
  } else {
    const fnz_arg args[] = {fnzi_arg_value(*key)};
    FNZ_TRY(fnzi_wrap_emit_one(p->wrapper, FNZI_EMIT_CLONE, args, 1, value->geometry, &value));
  }
  out->data[out->count++] = (result){{.tag = FNZ_ARG_VALUE}, value->handle};
  fnzi_wrap_release(p->wrapper);
  return FNZ_OK;
}

static fnz_status add_original(fnzi_pass *p, uint32_t j, results *out) {
  fnz_arg a = p->graph->outputs[j];
  if (a.tag == FNZ_ARG_VALUE)
    return add_value(p, p->tensors[a.u.value]->alias, out);
  FNZ_TRY(fnzi_pass_arg_other(p, &a));
  out->data[out->count++] = (result){a, fnzi_is_reference(&a) ? a.u.value : 0};
  return FNZ_OK;
}

static fnz_status body_add_bases(fnzi_pass *p, bool last, results *out) {
  for (uint32_t b = 0; b < p->body->key.nbases; b++) {
    const fnzi_region_base *base = &p->body->key.bases[b];
    if (p->body->ends[b].returned && base->last == last)
      FNZ_TRY(add_value(p, p->roots[b], out));
  }
  return FNZ_OK;
}

static fnz_status add_results(fnzi_pass *p, results *out) {
  uint32_t leading = p->body->key.leading;
  FNZI_NEW(&p->arena, p->graph->noutputs + (size_t)p->body->key.nbases, &out->data);
  for (uint32_t j = 0; j < leading; j++)
    FNZ_TRY(add_original(p, j, out));
  FNZ_TRY(body_add_bases(p, false, out));
  for (uint32_t j = leading; j < p->graph->noutputs; j++)
    FNZ_TRY(add_original(p, j, out));
  return body_add_bases(p, true, out);
}

static fnz_status write_results(fnzi_pass *p, const results *r) {
  fnz_handle *handles;
  uint32_t *values;
  size_t n = 0;
  FNZI_NEW(&p->arena, r->count, &handles);
  FNZI_NEW(&p->arena, r->count, &values);
  for (size_t k = 0; k < r->count; k++)
    if (r->data[k].handle)
      handles[n++] = r->data[k].handle;
  FNZ_TRY(
      fnzi_rec_build(p->recorder, handles, n, p->all->as_recorded ? NULL : &p->all->views, values));
  FNZ_TRY(fnzi_graph_set_outputs(p->to, p->into, r->count));
  fnzi_graph *graph = fnzi_graph_at(p->to, p->into);
  n = 0;
  for (size_t k = 0; k < r->count; k++) {
    graph->outputs[k] = r->data[k].arg;
    if (r->data[k].handle)
      graph->outputs[k].u.value = values[n++];
  }
  graph->returns_single = p->graph->returns_single && r->count == p->graph->noutputs;
  return FNZ_OK;
}

fnz_status fnzi_region_body_finish(fnzi_pass *p) {
  results out = {NULL, 0, {0}};
  /* Only the elements of an input may change. */
  for (uint32_t k = 0; k < p->body->key.ninputs; k++) {
    const fnzi_region_binding *in = &p->body->key.inputs[k];
    if (!in->is_tensor)
      continue;
    const fnzi_wrap_alias *node = p->inputs[k]->alias;
    if (node->storage != p->roots[in->base]->storage || node->storage->root != p->roots[in->base] ||
        !fnzi_geometry_equal(&node->geometry, in->window))
      return fnzi_fail_for(
          p->ctx, FNZI_REASON_NO_ROUTE, FNZ_CLASS_UNSUPPORTED, NULL,
          "input %s gets other sizes, strides or memory in it; clone() it in there first",
          input_name(p, k));
  }
  FNZ_TRY(describe_all(p));
  fnzi_map_init(&out.taken, p->ctx);
  fnz_status status = add_results(p, &out);
  fnzi_map_free(&out.taken);
  FNZ_TRY(status);
  FNZ_TRY(write_results(p, &out));
  p->body->effects = fnzi_rec_has_effects(p->recorder);
  p->body->done = true;
  return FNZ_OK;
}

/* --- all of them ------------------------------------------------------------------------------ */
/* Which target graphs the program needs, and in what order. */
typedef struct made {
  uint32_t *order, count;
  bool *needed;
} made;

static void need(const fnzi_pass_stack *all, uint32_t graph, made *m) {
  const fnzi_graph *g = fnzi_graph_at(all->to, graph);
  m->needed[graph] = true;
  for (size_t n = 0; n < g->nodes.count; n++)
    for (uint32_t i = 0; !g->nodes.data[n].op && i < g->nodes.data[n].nargs; i++)
      if (g->nodes.data[n].args[i].tag == FNZ_ARG_GRAPH)
        m->needed[g->nodes.data[n].args[i].u.i] = true;
}

/* A source graph refers to later ones only. So in the order of source graphs, all users of a graph
 * are known when it is reached. */
fnz_status fnzi_region_bodies_arrange(fnzi_pass_stack *all) {
  uint32_t graphs = (uint32_t)all->to->graphs.count;
  made m = {.count = 0};
  FNZI_NEW(&all->arena, graphs, &m.order);
  FNZI_NEW(&all->arena, graphs, &m.needed);
  need(all, 0, &m);
  m.order[m.count++] = 0;
  for (uint32_t g = 1; g < all->from->graphs.count; g++) {
    uint32_t first = m.count;
    for (const fnzi_region_body *b = all->bodies[g]; b; b = b->next)
      if (m.needed[b->into])
        m.order[m.count++] = b->into;
    for (uint32_t i = first, k = m.count; i + 1 < k--; i++) { /* the oldest first */
      uint32_t other = m.order[i];
      m.order[i] = m.order[k];
      m.order[k] = other;
    }
    for (uint32_t i = first; i < m.count; i++) {
      need(all, m.order[i], &m);
      if (i == first)
        continue;
      /* Further bodies of the same source graph get names of their own. */
      fnzi_graph *body = fnzi_graph_at(all->to, m.order[i]);
      char name[256];
      snprintf(name, sizeof name, "%.200s_%u", body->name, i - first);
      FNZ_TRY(fnzi_intern(all->to, name, strlen(name), &body->name));
    }
  }
  if (all->to->notes)
    FNZ_TRY(fnzi_notes_arrange(all->to->ctx, all->to->notes, m.order, m.count));
  return fnzi_graphs_arrange(all->to, m.order, m.count);
}
