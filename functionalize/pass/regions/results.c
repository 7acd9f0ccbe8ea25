/* results.c - tensors for the results of a node with bodies.
 *
 * needs   the node's results as values; from its bodies, the memory of each result
 * gives   tensors that alias the same memory as in eager, and writes of values that bodies have
 *         written. If branches or iterations alias different memory, the storages concerned are
 *         marked: they may be read, but not written any more */
#include "functionalize/pass/regions/regions.h"
#include "functionalize/wrapper/write_rules.h"

/* --- writes ----------------------------------------------------------------------------------- */

fnz_status fnzi_region_base_write(fnzi_pass *p, const fnzi_region_op *r, uint32_t base,
                                  fnzi_value_ref *value) {
  p->wrapper->source = r->hop.node->source;
  for (uint32_t i = 0; i < r->hop.nbodies; i++) /* the line of the last write to the base */
    if (r->bodies[i]->ends[base].written && r->bodies[i]->ends[base].source[0])
      p->wrapper->source = r->bodies[i]->ends[base].source;
  fnz_status status =
      fnzi_wrap_write(fnzi_region_operand_alias(&r->operands[r->first[base]]), value);
  p->wrapper->source = r->hop.node->source;
  return status;
}

/* --- results ---------------------------------------------------------------------------------- */
static void entangle(const fnzi_region_op *r, fnzi_wrap_storage *s) {
  s->maybe_aliased = fnzi_node_target(r->hop.node);
}

static fnzi_wrap_storage *storage_of(const fnzi_region_op *r, uint32_t base) {
  return r->operands[r->first[base]].tensor->alias->storage;
}

/* Marks all storages that result j may share: its own, and the storages that its bodies name. */
static void entangle_result(fnzi_pass *p, const fnzi_region_op *r, uint32_t j) {
  fnz_tensor *t = p->tensors[r->hop.results.args[j].u.value];
  entangle(r, t->alias->storage);
  for (uint32_t i = 0; i < r->hop.nbodies; i++) {
    const fnzi_region_output *o = &r->bodies[i]->outputs[j];
    if (r->hop.kind == FNZI_HOP_WHILE_LOOP && i == 0)
      continue;
    if (o->origin == FNZI_ORIGIN_BASE)
      entangle(r, storage_of(r, o->of));
    else if (o->of != j)
      entangle(r, p->tensors[r->hop.results.args[o->of].u.value]->alias->storage);
  }
  for (uint32_t k = 0; k < r->hop.carried.count; k++) /* a carried result may be any of these */
    if (r->operands[k].tensor)
      entangle(r, r->operands[k].tensor->alias->storage);
}

/* A result that is a window of a base, as a window of the operand's storage. */
static fnz_status alias_of_base(fnzi_pass *p, const fnzi_region_op *r, const fnzi_region_output *o,
                                fnzi_value_ref *value, fnz_tensor **out) {
  const fnzi_region_operand *operand = &r->operands[r->first[o->of]];
  const fnzi_wrap_alias *from = fnzi_region_operand_alias(operand);
  const fnz_geometry *memory = r->keys[0].bases[o->of].memory;
  const int64_t unit = (int64_t)fnzi_dtype(o->geometry->dtype)->bytes;
  const int64_t bytes =
      (from->geometry.offset - memory->offset) * (int64_t)fnzi_dtype(memory->dtype)->bytes;
  fnz_geometry window = *o->geometry;
  fnzi_wrap_alias *node;
  if (o->same_input != FNZI_NO_NODE) {
    *out = r->operands[o->same_input].tensor;
    (*out)->refs++;
    return FNZ_OK;
  }
  window.offset += bytes / unit;
  if (bytes % unit)
    return fnzi_fail_for(
        p->ctx, FNZI_REASON_NO_ROUTE, FNZ_CLASS_UNSUPPORTED, NULL,
        "a result is a window of its operand under another dtype, at a place that is "
        "no multiple of its elements; clone() it before returning it");
  if (fnzi_geometry_equal(&window, fnzi_wrap_geometry(operand->tensor)))
    return fnzi_wrap_tensor_on(p->wrapper, operand->tensor->alias, out);
  FNZ_TRY(fnzi_wrap_alias_window(p->wrapper, from->storage->root, &window, &node));
  if (!node->value)
    fnzi_wrap_alias_set_value(node, value);
  fnz_status status = fnzi_wrap_tensor_on(p->wrapper, node, out);
  fnzi_wrap_alias_release(node);
  return status;
}

/* All bodies have the same memory for result j. */
static bool agree(const fnzi_region_op *r, uint32_t j) {
  const fnzi_region_output *a = &r->bodies[0]->outputs[j], *b = a;
  if (r->hop.kind == FNZI_HOP_COND)
    b = &r->bodies[1]->outputs[j];
  if (a->origin != b->origin || a->of != b->of || a->same_input != b->same_input)
    return false;
  bool is_alone = a->origin == FNZI_ORIGIN_FRESH && a->of == j;
  return is_alone || a->geometry == b->geometry;
}

/* Result j is a window of result `of`, which shows all of their memory. */
static bool is_window_of_result(const fnzi_region_op *r, uint32_t j) {
  const fnzi_region_output *o = &r->bodies[0]->outputs[j];
  bool whole = true;
  for (uint32_t i = 0; i < r->hop.nbodies; i++)
    whole = whole && r->bodies[i]->outputs[o->of].whole &&
            r->bodies[i]->outputs[o->of].geometry == r->bodies[0]->outputs[o->of].geometry;
  return o->origin == FNZI_ORIGIN_FRESH && o->of != j && whole;
}

/* New memory with the strides that the body gives it. */
static fnz_status fresh(fnzi_pass *p, const fnzi_region_op *r, uint32_t j, fnzi_value_ref *value,
                        fnz_tensor **out) {
  const fnzi_region_body *body = r->bodies[r->hop.nbodies - 1];
  const fnzi_value *recorded = &p->graph->values.data[r->hop.results.args[j].u.value];
  if (!p->all->writes || (fnzi_region_loops(r) && j >= r->hop.carried.count))
    return fnzi_wrap_tensor_new(p->wrapper, recorded->geometry, value, out);
  fnz_geometry g = *body->outputs[j].geometry;
  for (uint32_t i = 0; r->hop.kind == FNZI_HOP_COND && i < r->hop.nbodies; i++)
    if (!fnzi_region_same_strides(&g, r->bodies[i]->outputs[j].geometry))
      return fnzi_fail_for(p->ctx, FNZI_REASON_NO_ROUTE, FNZ_CLASS_UNSUPPORTED, NULL,
                           "result %s has other strides in one branch than in the other; make both "
                           "contiguous()",
                           recorded->name);
  g.offset = 0;
  return fnzi_wrap_tensor_new(p->wrapper, &g, value, out);
}

static fnz_status bind_branch(fnzi_pass *p, const fnzi_region_op *r, uint32_t j,
                              fnzi_value_ref *value, fnz_tensor **out) {
  const fnzi_region_output *o = &r->bodies[0]->outputs[j];
  bool agreed =
      p->all->writes && agree(r, j); /* aliases do not matter in a program without writes */
  if (agreed && o->origin == FNZI_ORIGIN_BASE)
    return alias_of_base(p, r, o, value, out);
  if (!agreed || !is_window_of_result(r, j))
    return fresh(p, r, j, value, out);
  const fnz_tensor *all = p->tensors[r->hop.results.args[o->of].u.value];
  fnz_geometry window = *o->geometry;
  window.offset -= r->bodies[0]->outputs[o->of].geometry->offset;
  return fnzi_pass_tensor_window(p, all->alias->storage->root, &window, out);
}

/* The bodies agree on the memory of result j; any other result must not be written later. */
static bool is_known(const fnzi_region_op *r, uint32_t j) {
  const fnzi_region_output *o = &r->bodies[0]->outputs[j];
  if (fnzi_region_loops(r)) {
    o = &r->bodies[r->hop.nbodies - 1]->outputs[j];
    return j >= r->hop.carried.count ||
           (o->origin == FNZI_ORIGIN_FRESH && o->of == j && !o->entangled);
  }
  for (uint32_t i = 0; i < r->hop.nbodies; i++)
    if (r->bodies[i]->outputs[j].entangled)
      return false;
  return agree(r, j) && (o->origin == FNZI_ORIGIN_BASE || o->of == j || is_window_of_result(r, j));
}

fnz_status fnzi_region_results_bind(fnzi_pass *p, const fnzi_region_op *r,
                                    fnzi_value_ref *const *values, const fnz_handle *handles) {
  for (uint32_t j = 0; j < r->hop.results.count; j++) {
    const fnz_arg *a = &r->hop.results.args[j];
    if (a->tag == FNZ_ARG_VALUE)
      FNZ_TRY(fnzi_region_loops(r) ? fresh(p, r, j, values[j], &p->tensors[a->u.value])
                                   : bind_branch(p, r, j, values[j], &p->tensors[a->u.value]));
    else if (fnzi_is_reference(a))
      p->others[a->u.value] = (fnz_arg){.tag = a->tag, .u.value = handles[j]};
  }
  for (uint32_t j = 0; j < r->hop.results.count; j++)
    if (r->hop.results.args[j].tag == FNZ_ARG_VALUE && !is_known(r, j))
      entangle_result(p, r, j);
  for (uint32_t i = 0; i < r->hop.nbodies; i++)
    for (uint32_t b = 0; b < r->bodies[i]->key.nbases; b++)
      if (r->bodies[i]->ends[b].entangled) /* marked by a body */
        entangle(r, storage_of(r, b));
  /* The first iteration of a loop writes its initial values, if there is an iteration: their
   * elements are not known afterwards. */
  for (uint32_t k = 0; k < r->noperands; k++) {
    const fnzi_region_operand *o = &r->operands[k];
    if (!o->tensor || o->role != FNZI_HOP_CARRIED || !o->written)
      continue;
    o->tensor->alias->storage->poisoned = fnzi_node_target(r->hop.node);
    o->tensor->alias->storage->version++;
  }
  return FNZ_OK;
}
