/* operands.c - replays a higher-order node: finds the keys of its bodies by making them.
 *
 * Only the replay of a body shows which operands it writes. So bodies are first made as if each
 * operand were memory of its own. A written operand that overlaps another one is merged with it:
 * both become windows of their storage. A captured operand that a loop writes is carried from
 * iteration to iteration. Then the bodies are made again, until nothing changes. This ends, because
 * an operand that is written or merged stays so.
 *
 * needs   a node that agrees with its bodies (program/region_ops_check.c)
 * gives   finished bodies to emit.c, or the nodes of a transparent body among the pass's nodes
 * refuses writes that no carried value can express, by the operand's name */
#include "functionalize/pass/regions/regions.h"
#include "functionalize/wrapper/write_rules.h"

#include <stdlib.h>

/* --- operands --------------------------------------------------------------------------------- */
typedef struct stored {
  const fnzi_wrap_storage *storage;
  uint32_t operand;
} stored;

static int by_storage(const void *left, const void *right) {
  const stored *a = left, *b = right;
  const uintptr_t x = (uintptr_t)a->storage, y = (uintptr_t)b->storage;
  return x != y ? (x > y) - (x < y) : (a->operand > b->operand) - (a->operand < b->operand);
}

/* Only operands of one storage can overlap; others are never compared. */
static fnz_status link_operands(fnzi_pass *p, fnzi_region_op *r) {
  stored *all;
  uint32_t count = 0;
  FNZI_NEW(&p->arena, r->noperands, &all);
  for (uint32_t k = 0; k < r->noperands; k++)
    if (r->operands[k].tensor)
      all[count++] = (stored){r->operands[k].tensor->alias->storage, k};
  if (count)
    qsort(all, count, sizeof *all, by_storage);
  for (uint32_t i = 0; i < count; i++) {
    fnzi_region_operand *o = &r->operands[all[i].operand];
    bool is_first = i == 0 || all[i - 1].storage != all[i].storage;
    bool is_last = i + 1 == count || all[i + 1].storage != all[i].storage;
    o->first = is_first ? all[i].operand : r->operands[all[i - 1].operand].first;
    o->next = is_last ? FNZI_NO_NODE : all[i + 1].operand;
  }
  return FNZ_OK;
}

static const char *operand_name(const fnzi_pass *p, const fnzi_region_operand *o) {
  return p->graph->values.data[o->arg->u.value].name;
}

/* --- the key ---------------------------------------------------------------------------------- */
static uint32_t main_body(const fnzi_region_op *r) {
  return r->hop.bodies[r->hop.nbodies - 1];
}

static bool any_body(const fnzi_region_op *r, const bool *marks) {
  bool found = false;
  for (uint32_t i = 0; i < r->hop.nbodies; i++)
    found = found || marks[r->hop.bodies[i]];
  return found;
}

/* The offset of a window matters only to views that count from the storage. A body without any is
 * the same for all offsets. */
static fnz_status own_memory(fnzi_pass *p, const fnzi_region_op *r, const fnzi_region_operand *o,
                             const fnz_geometry **out) {
  fnz_geometry g = *fnzi_wrap_geometry(o->tensor);
  const bool counts = any_body(r, o->role == FNZI_HOP_CAPTURED ? p->all->sees_storage
                                                               : p->all->counts_from_storage);
  if (o->role == FNZI_HOP_XS) {
    g.rank--;
    g.sizes++;
    g.strides++;
  }
  if (counts && o->role != FNZI_HOP_CAPTURED && (g.offset || o->role == FNZI_HOP_XS))
    return fnzi_fail_for(p->ctx, FNZI_REASON_NO_ROUTE, FNZ_CLASS_UNSUPPORTED, NULL,
                         "operand %s lies in another place of its storage in each iteration, and a "
                         "body has a view that counts from the storage; use views that count from "
                         "their base",
                         operand_name(p, o));
  if (!counts)
    g.offset = 0;
  return fnzi_intern_geometry(p->to, &g, out);
}

/* An associative scan combines slices and results of its own body: new memory. */
static fnz_status base_memory(fnzi_pass *p, const fnzi_region_op *r, uint32_t k,
                              const fnz_geometry **out) {
  const fnzi_region_operand *o = &r->operands[k];
  const fnzi_graph *g = fnzi_graph_at(p->from, main_body(r));
  const fnz_geometry *dense;
  if (o->merged)
    return fnzi_intern_geometry(p->to, fnzi_wrap_root_geometry(o->tensor), out);
  if (r->hop.kind != FNZI_HOP_ASSOCIATIVE_SCAN || o->role != FNZI_HOP_XS)
    return own_memory(p, r, o, out);
  FNZ_TRY(fnzi_dense_like(p->wrapper->ints, &p->arena,
                          g->values.data[g->inputs[k].u.value].geometry, &dense));
  return fnzi_intern_geometry(p->to, dense, out);
}

/* The geometry of the value of a base: the operand's, or a slice of it. */
static fnz_status base_value(fnzi_pass *p, const fnzi_region_op *r, const fnzi_region_operand *o,
                             const fnz_geometry *memory, const fnz_geometry **out) {
  fnzi_value_ref *value;
  fnz_geometry slice;
  *out = memory;
  if (r->hop.kind == FNZI_HOP_ASSOCIATIVE_SCAN && o->role == FNZI_HOP_XS)
    return FNZ_OK;
  FNZ_TRY(fnzi_wrap_read(fnzi_region_operand_alias(o), &value));
  *out = value->geometry;
  if (o->role != FNZI_HOP_XS) {
    /* Simplifying may replace the value by one with row strides in dimensions of one element. */
    if (!fnzi_int_lies_in_rows(p->wrapper->ints, value->geometry))
      return FNZ_OK;
    FNZ_TRY(fnzi_contiguous_like(p->wrapper->ints, &p->arena, value->geometry, out));
    return fnzi_intern_geometry(p->to, *out, out);
  }
  slice = *value->geometry;
  slice.rank--;
  slice.sizes++;
  slice.strides++;
  FNZ_TRY(fnzi_dense_like(p->wrapper->ints, &p->arena, &slice, out));
  return fnzi_intern_geometry(p->to, *out, out);
}

static fnzi_region_returns returns_of(const fnzi_region_op *r, const fnzi_region_operand *o) {
  if (o->role == FNZI_HOP_CARRIED)
    return FNZI_RETURNS_NEVER;
  if (o->written)
    return FNZI_RETURNS_ALWAYS;
  return fnzi_region_loops(r) ? FNZI_RETURNS_NEVER : FNZI_RETURNS_WRITTEN;
}

static fnz_status add_base(fnzi_pass *p, fnzi_region_op *r, fnzi_region_key *key, uint32_t k) {
  fnzi_region_operand *o = &r->operands[k];
  fnzi_region_base *b = &key->bases[key->nbases];
  b->name = k;
  b->returns = returns_of(r, o);
  b->last = o->role == FNZI_HOP_XS;
  b->is_slice = b->last || o->tensor->alias->storage->is_slice;
  FNZ_TRY(base_memory(p, r, k, &b->memory));
  FNZ_TRY(base_value(p, r, o, b->memory, &b->value));
  r->first[key->nbases] = k;
  o->base = key->nbases++;
  return FNZ_OK;
}

static fnz_status bind_inputs(fnzi_pass *p, fnzi_region_op *r, fnzi_region_key *key) {
  for (uint32_t k = 0; k < r->noperands; k++) {
    fnzi_region_operand *o = &r->operands[k];
    fnzi_region_binding *in = &key->inputs[k];
    in->is_tensor = o->tensor != NULL;
    if (!o->tensor)
      continue;
    bool shares = false; /* a merged operand shares the base of its storage */
    for (uint32_t i = o->first; o->merged && !shares && i < k; i = r->operands[i].next) {
      shares = r->operands[i].merged;
      o->base = shares ? r->operands[i].base : o->base;
    }
    if (!shares)
      FNZ_TRY(add_base(p, r, key, k));
    if (returns_of(r, o) == FNZI_RETURNS_ALWAYS)
      key->bases[o->base].returns = FNZI_RETURNS_ALWAYS;
    in->base = o->base;
    in->window = key->bases[o->base].memory;
    if (o->merged)
      FNZ_TRY(fnzi_intern_geometry(p->to, fnzi_wrap_geometry(o->tensor), &in->window));
  }
  return FNZ_OK;
}

/* Adds the operands of `role` that go into list `to`, in their order. */
static void add_slots(const fnzi_region_op *r, fnzi_region_key *key, fnzi_hop_role role,
                      fnzi_hop_role to) {
  for (uint32_t k = 0; k < r->noperands; k++) {
    const fnzi_region_operand *o = &r->operands[k];
    /* The list that operand k goes into: a captured operand that a loop writes is carried. */
    bool is_carried = fnzi_region_loops(r) && o->tensor && o->role == FNZI_HOP_CAPTURED &&
                      key->bases[o->base].returns == FNZI_RETURNS_ALWAYS;
    const fnzi_hop_role into = is_carried ? FNZI_HOP_CARRIED : o->role;
    if (o->role != role || into != to || (o->tensor && r->first[o->base] != k))
      continue;
    key->slots[key->nslots++] = (fnzi_region_slot){o->tensor != NULL, o->tensor ? o->base : k, to};
  }
}

static fnz_status make_keys(fnzi_pass *p, fnzi_region_op *r) {
  const fnzi_hop *hop = &r->hop;
  fnzi_region_key *key = &r->keys[0];
  uint32_t outputs = fnzi_graph_at(p->from, main_body(r))->noutputs;
  *key = (fnzi_region_key){.ninputs = r->noperands};
  key->in_slices = hop->xs.count || fnzi_rec_takes_slices(p->recorder);
  key->autocast = hop->autocast.device ? hop->autocast.enabled : p->autocast;
  FNZI_NEW(&p->arena, r->noperands, &key->inputs);
  FNZI_NEW(&p->arena, r->noperands, &key->bases);
  FNZI_NEW(&p->arena, r->noperands, &key->slots);
  FNZ_TRY(bind_inputs(p, r, key));
  add_slots(r, key, FNZI_HOP_CARRIED, FNZI_HOP_CARRIED);
  add_slots(r, key, FNZI_HOP_CAPTURED, FNZI_HOP_CARRIED);
  add_slots(r, key, FNZI_HOP_XS, FNZI_HOP_XS);
  add_slots(r, key, FNZI_HOP_CAPTURED, FNZI_HOP_CAPTURED);
  key->leading = fnzi_region_loops(r) ? hop->carried.count : outputs;
  r->keys[1] = *key;
  for (uint32_t i = 0; i < hop->nbodies; i++)
    r->keys[i].graph = hop->bodies[i];
  if (hop->kind != FNZI_HOP_WHILE_LOOP)
    return FNZ_OK;
  key->leading = fnzi_graph_at(p->from, key->graph)->noutputs; /* the condition gives one bool */
  FNZI_NEW(&p->arena, r->noperands, &key->bases);
  for (uint32_t b = 0; b < key->nbases; b++) {
    key->bases[b] = r->keys[1].bases[b];
    key->bases[b].returns = FNZI_RETURNS_NEVER;
  }
  return FNZ_OK;
}

/* --- what the bodies write -------------------------------------------------------------------- */
static fnz_status refuse(const fnzi_pass *p, const fnzi_region_operand *o, const char *what) {
  return fnzi_fail_for(p->ctx, FNZI_REASON_NO_ROUTE, FNZ_CLASS_UNSUPPORTED, NULL, "operand %s %s",
                       operand_name(p, o), what);
}

static fnz_status check_written(const fnzi_pass *p, const fnzi_region_op *r,
                                const fnzi_region_operand *o, uint32_t body) {
  if (r->hop.kind == FNZI_HOP_WHILE_LOOP && body == 0)
    return refuse(p, o, "is written by the condition of the loop; write it in the body");
  if (r->hop.kind == FNZI_HOP_ASSOCIATIVE_SCAN)
    return refuse(p, o,
                  "is written by what an associative scan combines with, whose order is not "
                  "given; clone() it in there first");
  if (r->hop.kind == FNZI_HOP_SCAN && o->role == FNZI_HOP_XS)
    return refuse(p, o,
                  "is cut into slices that the body of a scan writes; whether the first one "
                  "is a copy depends on the version of PyTorch, clone() it in there first");
  if (o->role == FNZI_HOP_XS &&
      fnzi_oracle_relate_self(p->wrapper->ints, fnzi_wrap_geometry(o->tensor), FNZI_MUCH_WORK) !=
          FNZI_DISJOINT)
    return refuse(p, o,
                  "is cut into slices that share memory, and the body writes them; clone() "
                  "it first");
  return FNZ_OK;
}

/* Merges two overlapping operands if one is written: all captured operands of their storage become
 * windows of one base. */
static fnz_status merge(const fnzi_pass *p, fnzi_region_op *r, const fnzi_region_operand *a,
                        const fnzi_region_operand *b, bool *found) {
  if (a->role != FNZI_HOP_CAPTURED || b->role != FNZI_HOP_CAPTURED)
    return refuse(p, a,
                  "overlaps another operand, and a body writes one of them; what a loop "
                  "carries or cuts is that memory in some iterations only, so clone() it first");
  for (uint32_t k = a->first; k != FNZI_NO_NODE; k = r->operands[k].next) {
    fnzi_region_operand *o = &r->operands[k];
    if (o->role != FNZI_HOP_CAPTURED)
      continue;
    *found |= !o->merged;
    o->merged = true;
  }
  return FNZ_OK;
}

static fnz_status merge_all(const fnzi_pass *p, fnzi_region_op *r, bool *found) {
  for (uint32_t i = 0; i < r->noperands; i++) {
    const fnzi_region_operand *a = &r->operands[i];
    uint32_t k = a->tensor && a->written ? a->first : FNZI_NO_NODE;
    for (; k != FNZI_NO_NODE; k = r->operands[k].next) {
      const fnzi_region_operand *b = &r->operands[k];
      if (k != i && !(a->merged && b->merged) && fnzi_wrap_overlap(a->tensor, b->tensor))
        FNZ_TRY(merge(p, r, a, b, found));
    }
  }
  return FNZ_OK;
}

/* --- loops ------------------------------------------------------------------------------------ */

/* A result that shares memory which the next iteration may write would be written, too. */
static fnz_status check_aliases(const fnzi_pass *p, const fnzi_region_op *r,
                                const fnzi_region_body *body, uint32_t k) {
  const fnzi_region_output *out = &body->outputs[k];
  bool alias = out->entangled || out->origin == FNZI_ORIGIN_BASE ||
               (out->origin == FNZI_ORIGIN_FRESH && out->of != k);
  for (uint32_t i = 0; alias && i < r->noperands; i++) {
    const fnzi_region_operand *o = &r->operands[i];
    bool meets = o->role == FNZI_HOP_CARRIED || out->entangled ||
                 (out->origin == FNZI_ORIGIN_BASE && out->of == o->base);
    if (o->tensor && o->written && meets)
      return refuse(p, o,
                    "is written by the body of a loop whose result may be the same memory; "
                    "clone() it before returning it");
  }
  return FNZ_OK;
}

/* --- bodies ----------------------------------------------------------------------------------- */
static fnz_status begin(fnzi_pass *p, const fnzi_node *node) {
  fnzi_region_op *r;
  FNZI_NEW(&p->arena, 1, &r);
  FNZ_TRY(fnzi_hop_read(p->ctx, p->from, node, &r->hop));
  if (r->hop.kind != FNZI_HOP_EFFECT) {
    r->noperands = fnzi_hop_input_count(&r->hop);
    FNZI_NEW(&p->arena, r->noperands, &r->operands);
    FNZI_NEW(&p->arena, r->noperands, &r->first);
    for (uint32_t k = 0; k < r->noperands; k++) {
      fnzi_region_operand *o = &r->operands[k];
      bool sliced;
      o->arg = fnzi_hop_operand(&r->hop, k, &sliced);
      o->role = sliced                     ? FNZI_HOP_XS
                : k < r->hop.carried.count ? FNZI_HOP_CARRIED
                                           : FNZI_HOP_CAPTURED;
      if (o->arg->tag == FNZ_ARG_VALUE)
        o->tensor = p->tensors[o->arg->u.value];
    }
    FNZ_TRY(link_operands(p, r));
    /* A body that counts from the storage may see more than an operand shows: operands that are
     * windows come in as windows of all their storage. */
    for (uint32_t k = 0; any_body(r, p->all->sees_storage) && k < r->noperands; k++) {
      const fnzi_region_operand *o = &r->operands[k];
      bool is_window = o->tensor && o->role == FNZI_HOP_CAPTURED && o->tensor->alias->parent;
      for (uint32_t i = is_window ? o->first : FNZI_NO_NODE; i != FNZI_NO_NODE;
           i = r->operands[i].next)
        r->operands[i].merged |= r->operands[i].role == FNZI_HOP_CAPTURED;
    }
    FNZ_TRY(make_keys(p, r));
  }
  p->region = r;
  return FNZ_OK;
}

/* Replays the nodes of the body in place of the node, in the same wrapper with the same tensors. */
static fnz_status start_inlined(fnzi_pass *p, fnzi_region_op *r) {
  fnzi_pass *body;
  FNZ_TRY(fnzi_pass_stack_push(p->all, r->hop.bodies[0], &body));
  FNZI_NEW(&body->tensor_arena, body->graph->values.count, &body->tensors);
  body->inlined = r->inlined = true;
  body->autocast = p->autocast;
  fnzi_pass_casts_begin(p, &r->hop, body);
  for (uint32_t k = 0; k < r->noperands; k++) {
    const fnz_arg *to = &body->graph->inputs[k];
    fnz_arg from = *r->operands[k].arg;
    if (r->operands[k].tensor) {
      r->operands[k].tensor->refs++;
      body->tensors[to->u.value] = r->operands[k].tensor;
      continue;
    }
    FNZ_TRY(fnzi_pass_arg_other(p, &from));
    if (fnzi_is_reference(to))
      body->others[to->u.value] = from;
  }
  return FNZ_OK;
}

fnz_status fnzi_region_inlined_finish(fnzi_pass *body) {
  fnzi_pass *p = body->below;
  const fnzi_region_op *r = p->region;
  for (uint32_t j = 0; j < r->hop.results.count; j++) {
    const fnz_arg *to = &r->hop.results.args[j];
    fnz_arg from = body->graph->outputs[j];
    if (to->tag == FNZ_ARG_VALUE) {
      body->tensors[from.u.value]->refs++;
      p->tensors[to->u.value] = body->tensors[from.u.value];
    } else if (fnzi_is_reference(to)) {
      FNZ_TRY(fnzi_pass_arg_other(body, &from));
      p->others[to->u.value] = from;
    }
  }
  return FNZ_OK;
}

/* Makes the bodies until no round finds an operand written or merged. *waits: for one of them. */
static fnz_status make_bodies(fnzi_pass *p, fnzi_region_op *r, bool *waits) {
  for (bool found = true; found;) {
    for (uint32_t i = 0; i < r->hop.nbodies && !*waits; i++) {
      r->bodies[i] = fnzi_region_body_find(p->all, &r->keys[i]);
      *waits = !r->bodies[i];
      if (*waits)
        FNZ_TRY(fnzi_region_body_start(p->all, &r->keys[i]));
    }
    if (*waits)
      return FNZ_OK;
    if (r->rounds++ > 2 * r->noperands + 2)
      return fnzi_fail(p->ctx, FNZ_CLASS_INTERNAL, NULL, "what the bodies write does not settle");
    for (uint32_t i = 0; i < r->hop.nbodies; i++)
      for (uint32_t k = 0; k < r->noperands; k++) {
        fnzi_region_operand *o = &r->operands[k];
        if (!o->tensor || !r->bodies[i]->ends[o->base].written)
          continue;
        FNZ_TRY(check_written(p, r, o, i));
        o->written = true;
      }
    /* Another round if a body writes a base whose final value not every body returns; the condition
     * of a loop returns no base. */
    found = false;
    for (uint32_t k = 0; k < r->noperands; k++) {
      const fnzi_region_operand *o = &r->operands[k];
      for (uint32_t i = r->hop.kind == FNZI_HOP_WHILE_LOOP; o->written && i < r->hop.nbodies; i++)
        found |= o->role != FNZI_HOP_CARRIED && !r->bodies[i]->ends[o->base].returned;
    }
    FNZ_TRY(merge_all(p, r, &found));
    if (found)
      FNZ_TRY(make_keys(p, r));
  }
  return FNZ_OK;
}

/* A node that stays one, or whose body is to be replayed among the nodes of the pass. */
static fnz_status replay_bodies(fnzi_pass *p, fnzi_region_op *r, bool *waits) {
  bool casts = false;
  FNZ_TRY(fnzi_pass_casts_find(p, &r->hop, &casts));
  if (casts || fnzi_hop_is_inlined(&r->hop, p->autocast)) {
    *waits = true;
    return start_inlined(p, r);
  }
  FNZ_TRY(make_bodies(p, r, waits));
  if (*waits)
    return FNZ_OK;
  if (fnzi_region_loops(r)) {
    const fnzi_region_body *body = r->bodies[r->hop.nbodies - 1];
    for (uint32_t k = 0; k < r->hop.carried.count; k++) {
      const fnzi_region_operand *o = &r->operands[k];
      const fnzi_region_output *out = &body->outputs[k];
      if (o->tensor && out->origin != FNZI_ORIGIN_NUMBER && p->all->writes &&
          !fnzi_region_same_strides(body->key.bases[o->base].memory, out->geometry))
        return refuse(
            p, o,
            "is carried with other strides from iteration to iteration than at first; make "
            "it contiguous() before the loop and at the end of the body");
      FNZ_TRY(check_aliases(p, r, body, k));
    }
    for (uint32_t j = r->hop.carried.count; j < r->hop.results.count; j++) {
      /* A map stacks its results after the last iteration: memory that they share has the values of
       * the last iteration's writes in all of them. */
      const fnzi_region_output *out = &body->outputs[j];
      for (uint32_t i = 0; r->hop.kind == FNZI_HOP_MAP && i < r->noperands; i++) {
        const fnzi_region_operand *o = &r->operands[i];
        bool meets = out->entangled || (out->origin == FNZI_ORIGIN_BASE && out->of == o->base);
        if (o->tensor && o->written && o->role == FNZI_HOP_CAPTURED && meets)
          return refuse(p, o,
                        "is written in each iteration of a map and returned by it, which shows the "
                        "last iteration's value in all results; clone() it before returning it");
      }
    }
  }
  return fnzi_region_emit(p, r);
}

fnz_status fnzi_region_replay(fnzi_pass *p, const fnzi_node *node, bool *waits) {
  *waits = false;
  if (!p->region)
    FNZ_TRY(begin(p, node));
  fnzi_region_op *r = p->region;
  if (r->hop.kind == FNZI_HOP_EFFECT)
    FNZ_TRY(fnzi_region_token_replay(p, &r->hop));
  else if (!r->inlined) /* else its nodes have been replayed by now */
    FNZ_TRY(replay_bodies(p, r, waits));
  if (!*waits)
    p->region = NULL;
  return FNZ_OK;
}
