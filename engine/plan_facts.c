/* plan_facts.c - how an operator reads and writes: from the tables of kernels and of views. */
#include "engine/planner.h"
#include "kernels/backends.h"
#include "kernels/meta/meta.h"

static bool counts_elements(const fnz_op *op) {
  return strncmp(op->base, "as_strided", strlen("as_strided")) == 0;
}

static void view_fact(const fnz_op *op, fnzi_eng_fact *out) {
  out->view = fnzi_view_find(op);
  out->strided = counts_elements(op);
  out->way = out->view ? FNZI_ENG_WAY_VIEW : FNZI_ENG_WAY_CALL;
}

static void scatter_fact(const fnz_op *op, fnzi_eng_fact *out) {
  out->through = fnzi_meta_view_written_by(op);
  out->view = out->through ? fnzi_view_find(out->through) : NULL;
  out->strided = counts_elements(op);
  out->way = out->view ? FNZI_ENG_WAY_SCATTER : FNZI_ENG_WAY_BASE;
}

static void row_fact(const fnz_op *op, const fnzi_kernel *row, fnzi_eng_fact *out) {
  out->way = row->memory == FNZI_MEMORY_POINT  ? FNZI_ENG_WAY_POINT
             : row->memory == FNZI_MEMORY_BASE ? FNZI_ENG_WAY_BASE
                                               : FNZI_ENG_WAY_CALL;
  switch (row->run) {
  case FNZI_RUN_scatter_view:
    scatter_fact(op, out);
    break;
  case FNZI_RUN_view:
    view_fact(op, out);
    break;
  case FNZI_RUN_identity:
    out->way = FNZI_ENG_WAY_SAME;
    break;
  case FNZI_RUN_copy:
    out->way = FNZI_ENG_WAY_SAME;
    out->of = 1;
    break;
  case FNZI_RUN_cat:
  case FNZI_RUN_stack:
    out->way = FNZI_ENG_WAY_JOIN;
    out->stacks = row->run == FNZI_RUN_stack;
    break;
  default:
    break;
  }
}

static void make_fact(const fnz_op *op, fnzi_eng_fact *out) {
  const fnzi_kernel *row = &fnzi_kernel_rows[fnzi_op_place(op)];
  out->way = FNZI_ENG_WAY_CALL;
  if (row->shape != NULL)
    row_fact(op, row, out);
  else if (op->view_of == FNZI_NO_OP && fnzi_view_find(op) != NULL)
    view_fact(op, out);
}

fnz_status fnzi_eng_fact_find(fnzi_eng_planner *p, const fnz_op *op, const fnzi_eng_fact **out) {
  static const fnzi_eng_fact region = {.way = FNZI_ENG_WAY_REGION},
                             custom = {.way = FNZI_ENG_WAY_CALL};
  uint16_t place = op ? fnzi_op_place(op) : FNZI_NO_OP;
  *out = op ? &custom : &region;
  if (place == FNZI_NO_OP)
    return FNZ_OK;
  if (p->facts[place] == NULL) {
    FNZI_NEW(&p->scratch, 1, &p->facts[place]);
    make_fact(op, p->facts[place]);
  }
  *out = p->facts[place];
  return FNZ_OK;
}

static const fnz_geometry *geometry_of(const fnzi_eng_planner *p, uint32_t value) {
  return value == FNZI_ENG_NONE ? NULL : p->graph->values.data[value].geometry;
}

/* Elements are moved, not converted. */
static bool same_dtype(const fnz_geometry *a, const fnz_geometry *b) {
  return a && b && a->dtype == b->dtype;
}

static bool joins_plainly(const fnzi_eng_planner *p, const fnzi_node *node,
                          const fnz_geometry *result) {
  const fnz_arg *list = &node->args[0];
  bool stacks = node->args[0].tag == FNZ_ARG_LIST && list->count > 0;
  for (uint32_t i = 0; stacks && i < list->count; i++) {
    const fnz_arg *item = &list->u.list[i];
    const fnz_geometry *g =
        item->tag == FNZ_ARG_VALUE ? geometry_of(p, (uint32_t)item->u.value) : NULL;
    stacks = same_dtype(g, result);
  }
  return stacks;
}

fnzi_eng_way fnzi_eng_node_way(const fnzi_eng_planner *p, const fnzi_node *node,
                               const fnzi_eng_fact *fact) {
  const fnz_geometry *result = geometry_of(p, fnzi_eng_result_of(node));
  const fnz_geometry *first = geometry_of(p, fnzi_eng_argument(node, 0));
  switch ((fnzi_eng_way)fact->way) {
  case FNZI_ENG_WAY_SAME:
    return same_dtype(result, geometry_of(p, fnzi_eng_argument(node, fact->of)))
               ? FNZI_ENG_WAY_SAME
               : FNZI_ENG_WAY_CALL;
  case FNZI_ENG_WAY_VIEW:
    return first && result ? FNZI_ENG_WAY_VIEW : FNZI_ENG_WAY_CALL;
  case FNZI_ENG_WAY_SCATTER:
    return same_dtype(first, geometry_of(p, fnzi_eng_argument(node, 1))) ? FNZI_ENG_WAY_SCATTER
                                                                         : FNZI_ENG_WAY_BASE;
  case FNZI_ENG_WAY_BASE:
    return same_dtype(first, result) && fnzi_same_sizes(first, result) ? FNZI_ENG_WAY_BASE
                                                                       : FNZI_ENG_WAY_CALL;
  case FNZI_ENG_WAY_JOIN:
    return joins_plainly(p, node, result) ? FNZI_ENG_WAY_JOIN : FNZI_ENG_WAY_CALL;
  default:
    return (fnzi_eng_way)fact->way;
  }
}
