/* node.c - writes a node that calls an operator: its name in the dialect, operands, results. */
#include "program/formats/mlir/mlir.h"
#include "schema/facts/mlir.h"

#include <stdio.h>

/* --- results ---------------------------------------------------------------------------------- */
/* Sets w->items to the names and types of results, of a node or of a list that it returns.
 */
static fnz_status node_add_results(fnzi_mlir *w, const fnz_arg *results, uint32_t count) {
  fnzi_mlir_list_clear(&w->items);
  for (uint32_t i = 0; i < count; i++) {
    const char *name;
    if (fnzi_is_reference(&results[i])) {
      FNZ_TRY(fnzi_mlir_add_plain(w, &w->items, fnzi_mlir_top(w), &results[i]));
      continue;
    }
    FNZ_TRY(fnzi_mlir_fresh(w, &name)); /* a name for an undefined tensor */
    FNZ_TRY(fnzi_mlir_add(w, &w->items, name, "!torch.none"));
  }
  return FNZ_OK;
}

static fnz_status put_text(fnzi_mlir *w, const char *text) {
  return fnzi_put_text(w->ctx, &w->body, text);
}

static fnz_status node_put(fnzi_mlir *w, const fnz_buffer *text) {
  return text->size ? fnzi_put(w->ctx, &w->body, text->data, text->size) : FNZ_OK;
}

/* Writes "%a = torch.NAME %x, %y : TX, TY -> " with the operands in w->args. */
static fnz_status put_operation(fnzi_mlir *w, const char *results, size_t size, const char *name) {
  FNZ_TRY(put_text(w, "    "));
  FNZ_TRY(fnzi_put(w->ctx, &w->body, results, size));
  FNZ_TRY(put_text(w, " = torch."));
  FNZ_TRY(put_text(w, name));
  FNZ_TRY(put_text(w, " "));
  FNZ_TRY(node_put(w, &w->args.names));
  FNZ_TRY(put_text(w, " : "));
  FNZ_TRY(node_put(w, &w->args.types));
  return put_text(w, " -> ");
}

/* Writes an operation of w->args with the results of the node. */
static fnz_status put_plain(fnzi_mlir *w, const fnzi_node *n, const char *name) {
  FNZ_TRY(node_add_results(w, n->outputs, n->noutputs));
  FNZ_TRY(put_operation(w, w->items.names.data, w->items.names.size, name));
  FNZ_TRY(node_put(w, &w->items.types));
  return fnzi_mlir_put_end(w, n);
}

/* The operation returns a list, which a second one unpacks to the results. */
static fnz_status put_unpacked(fnzi_mlir *w, const fnzi_node *n, const char *name) {
  const char *list;
  FNZ_TRY(fnzi_mlir_fresh(w, &list));
  FNZ_TRY(put_operation(w, list, strlen(list), name));
  FNZ_TRY(put_text(w, "!torch.list<vtensor>"));
  FNZ_TRY(fnzi_mlir_put_end(w, n));
  if (!n->outputs[0].count)
    return FNZ_OK;
  FNZ_TRY(node_add_results(w, n->outputs[0].u.list, n->outputs[0].count));
  FNZ_TRY(put_text(w, "    "));
  FNZ_TRY(node_put(w, &w->items.names));
  FNZ_TRY(put_text(w, " = torch.prim.ListUnpack "));
  FNZ_TRY(put_text(w, list));
  FNZ_TRY(put_text(w, " : !torch.list<vtensor> -> "));
  FNZ_TRY(node_put(w, &w->items.types));
  return fnzi_mlir_put_end(w, n);
}

/* --- names ------------------------------------------------------------------------------------ */
/* Returns add.Scalar for add.Tensor with a number, if the dialect has it; else the operator itself.
 */
static const fnz_op *with_number(const fnzi_node *n, const fnz_op *op) {
  static const char tensor[] = "Tensor";
  char name[96];
  bool has_number = false;
  for (uint32_t i = 0; i < n->nargs; i++)
    has_number |= op->params[i].type == FNZI_TYPE_TENSOR && !op->params[i].is_list &&
                  n->args[i].tag != FNZ_ARG_VALUE && n->args[i].tag != FNZ_ARG_NONE &&
                  n->args[i].tag != FNZ_ARG_DEFAULT;
  bool is_pair = strncmp(op->overload, tensor, sizeof tensor - 1) == 0 && n->nargs >= 2 &&
                 n->args[0].tag == FNZ_ARG_VALUE && has_number;
  if (!is_pair)
    return op;
  snprintf(name, sizeof name, "%s.Scalar%s", op->base, op->overload + sizeof tensor - 1);
  const fnz_op *scalar = fnzi_ops_find(name);
  bool fits = scalar && fnz_mlir_op_name(scalar) && scalar->nparams == op->nparams;
  return fits ? scalar : op;
}

/* --- results without elements ----------------------------------------------------------------- */
/* Returns the geometry of the only result if it has no elements; else NULL. */
static const fnz_geometry *empty_result(const fnzi_mlir *w, const fnzi_node *n) {
  if (n->noutputs != 1 || n->outputs[0].tag != FNZ_ARG_VALUE)
    return NULL;
  uint32_t graph = w->frames[w->depth - 1].graph;
  const fnz_geometry *g = fnzi_value_at(w->p, graph, n->outputs[0].u.value)->geometry;
  return g->symbols || fnz_geometry_numel(g) ? NULL : g;
}

/* A tensor without elements needs no operator, and IREE folds some slices of that kind wrongly
 * (docs/iree/empty_slice.mlir). */
static fnz_status put_empty(fnzi_mlir *w, const fnzi_node *n, const fnz_geometry *whole) {
  const char *name;
  fnzi_mlir_scratch scratch;
  const fnz_geometry *g = fnzi_mlir_as_pairs(whole, &scratch);
  FNZ_TRY(fnzi_mlir_name(w, fnzi_mlir_top(w), n->outputs[0].u.value, &name));
  FNZ_TRY(fnzi_printf(w->ctx, &w->body, "    %s = torch.vtensor.literal(dense<> : tensor<", name));
  for (uint32_t i = 0; i < g->rank; i++)
    FNZ_TRY(fnzi_printf(w->ctx, &w->body, "%lldx", (long long)g->sizes[i]));
  FNZ_TRY(put_text(w, fnzi_mlir_element(g->dtype)));
  FNZ_TRY(put_text(w, ">) : "));
  FNZ_TRY(fnzi_mlir_put_tensor(w, &w->body, g, false));
  return fnzi_mlir_put_end(w, n);
}

/* --- complex numbers -------------------------------------------------------------------------- */
static bool has_complex(const fnzi_mlir *w, const fnzi_node *n) {
  uint32_t graph = w->frames[w->depth - 1].graph;
  for (int k = 0; k < 2; k++)
    FNZI_EACH_ARG(each, k ? n->outputs : n->args, k ? n->noutputs : n->nargs)
      if (each.arg->tag == FNZ_ARG_VALUE &&
          fnzi_is_complex(fnzi_value_at(w->p, graph, each.arg->u.value)->geometry->dtype))
        return true;
  return false;
}

static fnz_status no_complex(fnzi_mlir *w, const fnz_op *op) {
  return fnzi_fail(
      w->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
      "IREE %s lowers no tensors of complex numbers, and fnz has no decomposition of %s "
      "to real ones; compute with real and imaginary parts in that line of the model, or "
      "outside of the module",
      fnzi_mlir_version(), op->name);
}

/* --- calls ------------------------------------------------------------------------------------ */
fnz_status fnzi_mlir_put_call(fnzi_mlir *w, const fnzi_node *n) {
  const fnz_op *op = with_number(n, n->op);
  const char *name = fnz_mlir_op_name(op);
  if (fnzi_mlir_is_check(n->op))
    return FNZ_OK; /* it computes nothing, and fnz has checked it */
  if (fnzi_mlir_is_pairs(n->op)) {
    /* Complex numbers are written as pairs, so view_as_real and the like return their argument. */
    fnzi_mlir_frame *frame = fnzi_mlir_top(w);
    const char *shown;
    FNZ_TRY(fnzi_mlir_name(w, frame, n->args[0].u.value, &shown));
    frame->names[n->outputs[0].u.value] = shown;
    return FNZ_OK;
  }
  if (empty_result(w, n))
    return put_empty(w, n, empty_result(w, n));
  /* sym_size of a dimension counted from the front is the same for pairs. */
  if (has_complex(w, n) && (strcmp(n->op->name, "sym_size.int") != 0 ||
                            n->args[1].tag != FNZ_ARG_INT || n->args[1].u.i < 0))
    return no_complex(w, n->op);
  if (fnzi_op_is_item(n->op) && n->outputs[0].tag == FNZ_ARG_SYMBOL) {
    /* The scalar of a tensor is read by the operator for its dtype. */
    static const char *const names[] = {"aten.Int.Tensor", "aten.Float.Tensor", "aten.Bool.Tensor"};
    fnzi_mlir_list_clear(&w->args);
    FNZ_TRY(fnzi_mlir_add_plain(w, &w->args, fnzi_mlir_top(w), &n->args[0]));
    return put_plain(w, n, names[fnzi_mlir_number_of(w, &n->outputs[0])]);
  }
  if (!name) {
    const char *why = fnzi_op_is_custom(n->op) ? "because it is a custom operator"
                                               : "and fnz has no decomposition of it";
    return fnzi_fail(w->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "the torch dialect of IREE %s has no operator %s, %s; write that line of the "
                     "model with other operators, or compute it outside of the module",
                     fnzi_mlir_version(), n->op->name, why);
  }
  FNZ_TRY(fnzi_mlir_add_args(w, n, op));
  if (n->noutputs == 1 && n->outputs[0].tag == FNZ_ARG_LIST)
    return put_unpacked(w, n, name);
  return put_plain(w, n, name);
}
