/* emit.c - records the node that replaces a higher-order one.
 *
 * needs   its bodies, finished for the keys of operands.c
 * keeps   settings, keywords, the order of results
 * gives   a node with the bodies' further results, which results.c turns into writes */
#include "functionalize/pass/regions/regions.h"
#include "functionalize/wrapper/write_rules.h"

/* --- arguments -------------------------------------------------------------------------------- */
typedef struct building {
  fnzi_pass *p;
  const fnzi_region_op *r;
  fnz_arg *args;
  const char **names;
  uint32_t count, at; /* at: the next argument of the source node */
} building;

/* Lists the operands of a role: bases by their value before the node, others as they are. */
static fnz_status list_of(building *b, fnzi_hop_role role, fnz_arg *out) {
  const fnzi_region_key *key = &b->r->keys[b->r->hop.nbodies - 1];
  fnz_arg *items;
  FNZI_NEW(&b->p->wrapper->scratch, key->nslots, &items);
  *out = (fnz_arg){.tag = FNZ_ARG_LIST, .u.list = items};
  for (uint32_t s = 0; s < key->nslots; s++) {
    const fnzi_region_slot *slot = &key->slots[s];
    fnz_arg *item = &items[out->count];
    bool is_right = b->r->hop.kind == FNZI_HOP_ASSOCIATIVE_SCAN && role == FNZI_HOP_XS &&
                    out->count == b->r->hop.xs.count; /* the right operand of the combining body */
    if (slot->role != (uint32_t)role || is_right)
      continue;
    out->count++;
    if (slot->is_base) {
      fnzi_value_ref *value;
      FNZ_TRY(fnzi_wrap_read(fnzi_region_operand_alias(&b->r->operands[b->r->first[slot->index]]),
                             &value));
      *item = fnzi_arg_value(value->handle);
      continue;
    }
    *item = *b->r->operands[slot->index].arg;
    FNZ_TRY(fnzi_pass_arg_other(b->p, item));
  }
  return FNZ_OK;
}

static void put(building *b, fnz_arg arg, const char *name) {
  b->names[b->count] = name;
  b->args[b->count++] = arg;
}

/* The captured operands, as single arguments or as one list, as in the source. */
static fnz_status put_captured(building *b) {
  const fnzi_hop *hop = &b->r->hop;
  bool is_list = hop->captured.args != &hop->node->args[b->at];
  fnz_arg list;
  FNZ_TRY(list_of(b, FNZI_HOP_CAPTURED, &list));
  if (is_list && hop->captured.count)
    put(b, list, "");
  for (uint32_t k = 0; !is_list && k < list.count; k++)
    put(b, list.u.list[k], "");
  b->at += is_list ? hop->captured.count > 0 : hop->captured.count;
  return FNZ_OK;
}

static fnz_status put_role(building *b, fnzi_hop_role role, uint32_t *body) {
  fnz_arg list;
  switch (role) {
  case FNZI_HOP_PRED: {
    fnz_arg pred = *b->r->hop.pred;
    b->at++;
    if (pred.tag == FNZ_ARG_VALUE) {
      fnzi_value_ref *value;
      FNZ_TRY(fnzi_wrap_read_tensor(b->p->tensors[pred.u.value], &value));
      pred = fnzi_arg_value(value->handle);
    } else
      FNZ_TRY(fnzi_pass_arg_other(b->p, &pred));
    put(b, pred, "");
    return FNZ_OK;
  }
  case FNZI_HOP_GRAPH:
    b->at++;
    put(b, (fnz_arg){.tag = FNZ_ARG_GRAPH, .u.i = b->r->bodies[(*body)++]->into}, "");
    return FNZ_OK;
  case FNZI_HOP_CARRIED:
  case FNZI_HOP_XS:
  case FNZI_HOP_CAPTURED:
    b->at++;
    FNZ_TRY(list_of(b, role, &list));
    put(b, list, "");
    return FNZ_OK;
  case FNZI_HOP_REST:
    return put_captured(b);
  default:
    put(b, b->r->hop.node->args[b->at++], "");
    return FNZ_OK;
  }
}

/* --- outcomes --------------------------------------------------------------------------------- */
/* The outcomes of the node: its own results, and the final values of bases. */
typedef struct outcomes {
  fnzi_rec_outcome *data;
  uint32_t
      *base; /* the base whose final value it is; FNZI_NO_NODE for a result of the node's own */
  uint32_t count;
} outcomes;

fnz_status fnzi_region_result_outcome(const fnzi_pass *p, const fnz_arg *result,
                                      fnzi_rec_outcome *out) {
  const fnzi_value *v = &p->graph->values.data[result->u.value];
  *out = (fnzi_rec_outcome){.tag = result->tag};
  if (result->tag == FNZ_ARG_VALUE)
    return fnzi_dense_like(p->wrapper->ints, &p->wrapper->scratch, v->geometry, &out->geometry);
  return result->tag == FNZ_ARG_SYMBOL ? fnzi_pass_arg_symbol(p, v->symbol, &out->symbol) : FNZ_OK;
}

static fnz_status add_own(fnzi_pass *p, const fnzi_region_op *r, uint32_t j, outcomes *out) {
  out->base[out->count] = FNZI_NO_NODE;
  return fnzi_region_result_outcome(p, &r->hop.results.args[j], &out->data[out->count++]);
}

/* Adds final values of bases: the ones before the node's own results, or with `last` the ones
 * after. */
static fnz_status emit_add_bases(fnzi_pass *p, const fnzi_region_op *r, bool last, outcomes *out) {
  const fnzi_region_body *body = r->bodies[r->hop.nbodies - 1];
  for (uint32_t b = 0; b < body->key.nbases; b++) {
    if (!body->ends[b].returned || body->key.bases[b].last != last)
      continue;
    fnzi_rec_outcome *o = &out->data[out->count];
    out->base[out->count++] = b;
    o->tag = FNZ_ARG_VALUE;
    FNZ_TRY(fnzi_dense_like(p->wrapper->ints, &p->wrapper->scratch,
                            &fnzi_region_operand_alias(&r->operands[r->first[b]])->geometry,
                            &o->geometry));
  }
  return FNZ_OK;
}

static fnz_status find_outcomes(fnzi_pass *p, const fnzi_region_op *r, outcomes *out) {
  const fnzi_region_body *body = r->bodies[r->hop.nbodies - 1];
  size_t most = r->hop.results.count + (size_t)body->key.nbases;
  uint32_t leading = body->key.leading;
  FNZI_NEW(&p->wrapper->scratch, most, &out->data);
  FNZI_NEW(&p->wrapper->scratch, most, &out->base);
  for (uint32_t j = 0; j < leading; j++)
    FNZ_TRY(add_own(p, r, j, out));
  FNZ_TRY(emit_add_bases(p, r, false, out));
  for (uint32_t j = leading; j < r->hop.results.count; j++)
    FNZ_TRY(add_own(p, r, j, out));
  return emit_add_bases(p, r, true, out);
}

/* --- the node --------------------------------------------------------------------------------- */
static fnz_status record(fnzi_pass *p, const fnzi_region_op *r, const outcomes *out,
                         fnz_handle *handles) {
  building b = {.p = p, .r = r};
  /* A map with carried values becomes a scan. */
  bool carries = r->hop.kind == FNZI_HOP_MAP && out->count && out->base[0] != FNZI_NO_NODE &&
                 !r->keys[0].bases[out->base[0]].last;
  const char *target = carries ? fnzi_hop_target(FNZI_HOP_SCAN) : fnzi_node_target(r->hop.node);
  const fnzi_node *node = r->hop.node;
  bool effects = false;
  for (uint32_t i = 0; i < r->hop.nbodies; i++)
    effects |= r->bodies[i]->effects;
  const uint8_t *roles = fnzi_hop_roles(target);
  size_t most = node->nargs + (size_t)r->noperands + 8;
  uint32_t body = 0;
  FNZI_NEW(&p->wrapper->scratch, most, &b.args);
  FNZI_NEW(&p->wrapper->scratch, most, &b.names);
  for (size_t i = 0; roles[i] != FNZI_HOP_END; i++)
    FNZ_TRY(put_role(&b, (fnzi_hop_role)roles[i], &body));
  /* PyTorch's list of written operands is left out: none is written any more. */
  for (uint32_t i = 0; i < node->nargs; i++)
    if (fnzi_node_arg_name(node, i)[0] &&
        strcmp(fnzi_node_arg_name(node, i), "mutated_arg_indices") != 0)
      put(&b, node->args[i], fnzi_node_arg_name(node, i));
  const fnzi_rec_call call = {.target = target,
                              .source = node->source,
                              .args = b.args,
                              .names = b.names,
                              .nargs = b.count,
                              .outcomes = out->data,
                              .noutcomes = out->count,
                              .in_list = r->hop.results.args != node->outputs,
                              .effects = effects};
  return fnzi_rec_node(p->recorder, &call, handles);
}

fnz_status fnzi_region_emit(fnzi_pass *p, fnzi_region_op *r) {
  fnzi_arena *scratch = &p->wrapper->scratch;
  outcomes out = {0};
  fnz_handle *handles, *own_handles;
  fnzi_value_ref **values, **own;
  uint32_t n = 0;
  p->wrapper->source = r->hop.node->source;
  FNZ_TRY(find_outcomes(p, r, &out));
  FNZI_NEW(scratch, out.count, &handles);
  FNZI_NEW(scratch, out.count, &values);
  FNZI_NEW(scratch, out.count, &own_handles);
  FNZI_NEW(scratch, out.count, &own);
  FNZ_TRY(record(p, r, &out, handles));
  for (uint32_t i = 0; i < out.count; i++) {
    if (out.data[i].tag != FNZ_ARG_VALUE)
      continue;
    FNZ_TRY(fnzi_wrap_value_take(p->wrapper, handles[i]));
    values[i] = p->wrapper->fresh.data[p->wrapper->fresh.count - 1];
  }
  for (uint32_t i = 0; i < out.count; i++) {
    if (out.base[i] != FNZI_NO_NODE) {
      FNZ_TRY(fnzi_region_base_write(p, r, out.base[i], values[i]));
      continue;
    }
    own_handles[n] = handles[i];
    own[n++] = values[i];
  }
  FNZ_TRY(fnzi_region_results_bind(p, r, own, own_handles));
  fnzi_wrap_release(p->wrapper);
  return FNZ_OK;
}
