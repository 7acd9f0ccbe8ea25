/* facts.c - how an operator reads and writes: from the tables of kernels and of views. */
#include "engine/plan/planner.h"
#include "kernels/backends.h"
#include "kernels/meta/meta.h"
#include "schema/aten_names.h"

static void set_view(fnzi_pln_fact *out, const fnz_op *view, fnzi_pln_access access,
                     fnzi_pln_access otherwise) {
  out->view = view ? fnzi_view_find(view) : NULL;
  out->strided = out->view && fnzi_view_counts_from_storage(out->view);
  out->access = (uint8_t)(out->view ? access : otherwise);
}

static void row_fact(const fnz_op *op, const fnzi_kernel *row, fnzi_pln_fact *out) {
  const fnzi_krn_facts *facts = fnzi_kernel_facts(row);
  out->casts = facts->tile == FNZI_TILE_CAST;
  switch ((fnzi_krn_access)facts->access) {
  case FNZI_ACCESS_CALL:
    out->access = row->memory == FNZI_MEMORY_POINT  ? FNZI_PLN_ACCESS_POINT
                  : row->memory == FNZI_MEMORY_BASE ? FNZI_PLN_ACCESS_BASE
                                                    : FNZI_PLN_ACCESS_CALL;
    break;
  case FNZI_ACCESS_VIEW:
    set_view(out, op, FNZI_PLN_ACCESS_VIEW, FNZI_PLN_ACCESS_CALL);
    break;
  case FNZI_ACCESS_SCATTER:
    out->through = fnzi_meta_view_written_by(op);
    set_view(out, out->through, FNZI_PLN_ACCESS_SCATTER, FNZI_PLN_ACCESS_BASE);
    break;
  case FNZI_ACCESS_SAME:
    out->access = FNZI_PLN_ACCESS_SAME;
    break;
  case FNZI_ACCESS_COPY:
    out->access = FNZI_PLN_ACCESS_SAME;
    out->argument = 1;
    break;
  case FNZI_ACCESS_DROPOUT: /* native_dropout gives its mask as well */
    out->access = op->nreturns == 1 ? FNZI_PLN_ACCESS_SAME : FNZI_PLN_ACCESS_CALL;
    break;
  case FNZI_ACCESS_CAT:
  case FNZI_ACCESS_STACK:
    out->access = FNZI_PLN_ACCESS_JOIN;
    out->stacks = facts->access == FNZI_ACCESS_STACK;
    break;
  }
}

/* Finds the fact of an operator. Without a table row it is a view, or one like _foreach_add, which
 * applies the operator of its elements to each item. */
static void make_fact(const fnz_op *op, fnzi_pln_fact *out) {
  const fnzi_kernel *row = fnzi_kernel_row(op);
  out->access = FNZI_PLN_ACCESS_CALL;
  if (row) {
    row_fact(op, row, out);
    return;
  }
  if (op->view_of == FNZI_NO_OP && fnzi_view_find(op)) {
    set_view(out, op, FNZI_PLN_ACCESS_VIEW, FNZI_PLN_ACCESS_CALL);
    return;
  }
  const fnz_op *element = fnzi_foreach_element(op);
  row = element ? fnzi_kernel_row(element) : NULL;
  out->elements = row && row->memory == FNZI_MEMORY_POINT;
  if (out->elements)
    out->access = FNZI_PLN_ACCESS_POINT;
}

fnz_status fnzi_pln_fact_find(fnzi_pln_planner *p, const fnz_op *op, const fnzi_pln_fact **out) {
  static const fnzi_pln_fact region = {.access = FNZI_PLN_ACCESS_REGION},
                             custom = {.access = FNZI_PLN_ACCESS_CALL};
  uint16_t op_index = op ? fnzi_op_place(op) : FNZI_NO_OP;
  *out = op ? &custom : &region;
  if (op_index == FNZI_NO_OP)
    return FNZ_OK;
  if (p->facts[op_index] == NULL) {
    FNZI_NEW(&p->scratch, 1, &p->facts[op_index]);
    make_fact(op, p->facts[op_index]);
  }
  *out = p->facts[op_index];
  return FNZ_OK;
}

static const fnz_geometry *facts_geometry_of(const fnzi_pln_planner *p, uint32_t value) {
  return value == FNZI_PLN_NONE ? NULL : p->graph->values.data[value].geometry;
}

/* Elements are moved, not converted. */
static bool same_dtype(const fnz_geometry *a, const fnz_geometry *b) {
  return a && b && a->dtype == b->dtype;
}

/* Says that the list has only tensors of the dtype of the result. */
static bool joins_plainly(const fnzi_pln_planner *p, const fnz_arg *list,
                          const fnz_geometry *result) {
  bool plain = list->tag == FNZ_ARG_LIST && list->count > 0;
  for (uint32_t i = 0; plain && i < list->count; i++)
    plain = list->u.list[i].tag == FNZ_ARG_VALUE &&
            same_dtype(facts_geometry_of(p, (uint32_t)list->u.list[i].u.value), result);
  return plain;
}

/* Says that the node is a dropout that drops. */
static bool trains(const fnzi_node *node) {
  int at = fnzi_op_param(node->op, "train");
  if (at < 0)
    return false;
  fnz_arg arg = fnzi_arg_get(node->op, node->args, node->nargs, (size_t)at);
  return arg.tag != FNZ_ARG_BOOL || arg.u.i != 0;
}

fnzi_pln_access fnzi_pln_node_access(const fnzi_pln_planner *p, const fnzi_node *node,
                                     const fnzi_pln_fact *fact) {
  const fnz_geometry *result = facts_geometry_of(p, fnzi_pln_result_of(node));
  const fnz_geometry *first = facts_geometry_of(p, fnzi_pln_argument(node, 0));
  switch ((fnzi_pln_access)fact->access) {
  case FNZI_PLN_ACCESS_SAME:
    if (same_dtype(result, facts_geometry_of(p, fnzi_pln_argument(node, fact->argument))) &&
        !trains(node))
      return FNZI_PLN_ACCESS_SAME;
    return fact->casts && first && result && fnzi_same_sizes(first, result)
               ? FNZI_PLN_ACCESS_POINT /* a conversion, element by element */
               : FNZI_PLN_ACCESS_CALL;
  case FNZI_PLN_ACCESS_VIEW:
    return first && result ? FNZI_PLN_ACCESS_VIEW : FNZI_PLN_ACCESS_CALL;
  case FNZI_PLN_ACCESS_SCATTER:
    return same_dtype(first, facts_geometry_of(p, fnzi_pln_argument(node, 1)))
               ? FNZI_PLN_ACCESS_SCATTER
               : FNZI_PLN_ACCESS_BASE;
  case FNZI_PLN_ACCESS_BASE:
    return same_dtype(first, result) && fnzi_same_sizes(first, result) ? FNZI_PLN_ACCESS_BASE
                                                                       : FNZI_PLN_ACCESS_CALL;
  case FNZI_PLN_ACCESS_JOIN:
    return joins_plainly(p, &node->args[0], result) ? FNZI_PLN_ACCESS_JOIN : FNZI_PLN_ACCESS_CALL;
  default:
    return (fnzi_pln_access)fact->access;
  }
}

static const struct flat {
  uint16_t op;
  uint8_t result, argument;
} flats[] = {
#define FLAT(op, result, argument) {FNZI_ATEN_##op, result, argument},
#define START(...)
#define KEEP(...)
#include "engine/plan/facts.def"
#undef KEEP
#undef START
#undef FLAT
};

bool fnzi_pln_may_share(const fnzi_pln_planner *p, const fnzi_node *node, const fnzi_pln_fact *fact,
                        fnzi_pln_access access, uint32_t result, const fnzi_pln_operand *operand) {
  const fnz_arg *arg = &node->args[operand->k], *list = &node->outputs[0];
  const uint32_t item = operand->item;
  if (access == FNZI_PLN_ACCESS_REGION)
    return fnzi_pln_is_pair(p, node, result, arg->tag == FNZ_ARG_LIST ? &arg->u.list[item] : arg);
  if (access == FNZI_PLN_ACCESS_CALL) {
    uint16_t op_index = node->op ? fnzi_op_place(node->op) : FNZI_NO_OP;
    for (size_t i = 0; i < sizeof flats / sizeof *flats; i++) {
      const struct flat *f = &flats[i];
      if (f->op == op_index && f->argument == operand->k && f->result < node->noutputs &&
          node->outputs[f->result].tag == FNZ_ARG_VALUE &&
          node->outputs[f->result].u.value == result)
        return true;
    }
    return false;
  }
  if (access != FNZI_PLN_ACCESS_POINT)
    return false;
  return !fact->elements ||
         (arg->tag == FNZ_ARG_LIST && list->tag == FNZ_ARG_LIST && item < list->count &&
          list->u.list[item].tag == FNZ_ARG_VALUE && list->u.list[item].u.value == result);
}
