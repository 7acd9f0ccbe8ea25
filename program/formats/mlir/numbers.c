/* numbers.c - a node that computes numbers from numbers, and what kind of number it gives. */
#include "program/formats/mlir/mlir.h"
#include "schema/facts/mlir.h"

/* The types that a row's operator takes and returns; SAME: integers, or floats if one operand is a
 * float. */
typedef enum number_rule { SAME, TRUTH, REAL, WHOLE } number_rule;

/* Columns: target, the operator on integers, on floats (NULL: none), the type of the result. */
static const struct {
  const char *target, *on_ints, *on_floats;
  number_rule gives;
} rows[] = {
    {"_operator.add", "aten.add.int", NULL, SAME},
    {"_operator.sub", "aten.sub.int", "aten.sub.float", SAME},
    {"_operator.mul", "aten.mul.int", "aten.mul.float", SAME},
    {"_operator.floordiv", "aten.floordiv.int", NULL, SAME},
    {"_operator.mod", "aten.remainder.int", NULL, SAME},
    {"_operator.neg", "aten.neg.int", "aten.neg.float", SAME},
    {"_operator.eq", "aten.eq.int", "aten.eq.float", TRUTH},
    {"_operator.ne", "aten.ne.int", NULL, TRUTH},
    {"_operator.lt", "aten.lt.int", NULL, TRUTH},
    {"_operator.le", "aten.le.int", NULL, TRUTH},
    {"_operator.gt", "aten.gt.int", "aten.gt.float", TRUTH},
    {"_operator.ge", "aten.ge.int", "aten.ge.float", TRUTH},
    {"_operator.truediv", NULL, "aten.div.float", REAL},
    {"_operator.and_", "aten.__and__.bool", NULL, TRUTH},
    {"_operator.or_", "aten.__or__.bool", NULL, TRUTH},
    {"torch.sym_not", NULL, NULL, TRUTH},
    {"torch.sym_min", "prim.min.int", NULL, SAME},
    {"torch.sym_max", "prim.max.int", NULL, SAME},
    {"torch.sym_float", NULL, "aten.Float.Scalar", REAL},
    {"torch.sym_int", NULL, "aten.Int.float", WHOLE},
    {"math.trunc", NULL, "aten.Int.float", WHOLE},
    {"torch.sym_sqrt", NULL, NULL, REAL},
    {"torch._sym_sqrt", NULL, NULL, REAL},
};

enum { ROWS = sizeof rows / sizeof *rows };

/* Operators of MLIR's own dialects, on its own numbers, for operators that IREE lacks in torch's
 * dialect. */
static const struct {
  const char *target, *name;
  bool on_ints;
} builtin[] = {
    {"_operator.pow", "math.powf", false},   {"torch.sym_sqrt", "math.sqrt", false},
    {"torch._sym_sqrt", "math.sqrt", false}, {"torch.sym_ite", "arith.select", true},
    {"torch.sym_not", "arith.xori", true},
};

static int find_row(const char *target) {
  for (int i = 0; i < ROWS; i++)
    if (strcmp(rows[i].target, target) == 0)
      return i;
  return -1;
}

static bool has_float(fnzi_mlir *w, const fnzi_node *n) {
  for (uint32_t i = 0; i < n->nargs; i++)
    if (fnzi_mlir_number_of(w, &n->args[i]) == FNZI_MLIR_FLOAT)
      return true;
  return false;
}

/* --- kinds ------------------------------------------------------------------------------------ */
static fnzi_mlir_number kind_of_result(fnzi_mlir *w, const fnzi_node *n, uint32_t k) {
  fnzi_type type = n->op && k < n->op->nreturns ? n->op->returns[k].type : FNZI_TYPE_INT;
  if (!n->op) {
    int row = find_row(fnzi_node_target(n));
    number_rule gives = row < 0 ? SAME : rows[row].gives;
    return gives == TRUTH    ? FNZI_MLIR_BOOL
           : gives == REAL   ? FNZI_MLIR_FLOAT
           : gives == WHOLE  ? FNZI_MLIR_INT
           : has_float(w, n) ? FNZI_MLIR_FLOAT
                             : FNZI_MLIR_INT;
  }
  if (type == FNZI_TYPE_SCALAR) {
    /* A Scalar is what an element of the tensor is. */
    if (!n->nargs || n->args[0].tag != FNZ_ARG_VALUE)
      return FNZI_MLIR_INT;
    fnz_dtype dtype =
        fnzi_value_at(w->p, fnzi_mlir_top(w)->graph, n->args[0].u.value)->geometry->dtype;
    return dtype == FNZ_BOOL      ? FNZI_MLIR_BOOL
           : fnzi_is_float(dtype) ? FNZI_MLIR_FLOAT
                                  : FNZI_MLIR_INT;
  }
  return type == FNZI_TYPE_FLOAT                                ? FNZI_MLIR_FLOAT
         : type == FNZI_TYPE_BOOL || type == FNZI_TYPE_SYM_BOOL ? FNZI_MLIR_BOOL
                                                                : FNZI_MLIR_INT;
}

void fnzi_mlir_note_numbers(fnzi_mlir *w, const fnzi_node *n) {
  for (uint32_t k = 0; k < n->noutputs; k++)
    if (n->outputs[k].tag == FNZ_ARG_SYMBOL)
      fnzi_mlir_top(w)->numbers[n->outputs[k].u.value] = (uint8_t)kind_of_result(w, n, k);
}

/* --- operations ------------------------------------------------------------------------------- */

static const char *builtin_type(fnzi_mlir_number kind) {
  return kind == FNZI_MLIR_FLOAT ? "f64" : kind == FNZI_MLIR_BOOL ? "i1" : "i64";
}

/* The condition of a choice is a truth value, everything else of one kind. Not is the exclusive or
 * with true. */
static fnz_status put_builtin(fnzi_mlir *w, const fnzi_node *n, const char *name,
                              fnzi_mlir_number kind) {
  const char *given, *own, *result;
  const bool chooses = n->nargs == 3;
  fnzi_mlir_list_clear(&w->args);
  for (uint32_t i = 0; i < n->nargs; i++) {
    fnzi_mlir_number is = chooses && i == 0 ? FNZI_MLIR_BOOL : kind;
    FNZ_TRY(fnzi_mlir_convert(w, &n->args[i], is, &given));
    FNZ_TRY(fnzi_mlir_fresh(w, &own));
    FNZ_TRY(
        fnzi_printf(w->ctx, &w->body, "    %s = torch_c.to_%s %s\n", own, builtin_type(is), given));
    FNZ_TRY(fnzi_mlir_add(w, &w->args, own, builtin_type(is)));
  }
  if (kind == FNZI_MLIR_BOOL && n->nargs == 1) {
    FNZ_TRY(fnzi_mlir_fresh(w, &own));
    FNZ_TRY(fnzi_printf(w->ctx, &w->body, "    %s = arith.constant true\n", own));
    FNZ_TRY(fnzi_mlir_add(w, &w->args, own, builtin_type(kind)));
  }
  FNZ_TRY(fnzi_mlir_fresh(w, &own));
  FNZ_TRY(fnzi_mlir_name(w, fnzi_mlir_top(w), n->outputs[0].u.value, &result));
  FNZ_TRY(fnzi_printf(w->ctx, &w->body, "    %s = %s %s : %s\n", own, name, w->args.names.data,
                      builtin_type(kind)));
  FNZ_TRY(fnzi_printf(w->ctx, &w->body, "    %s = torch_c.from_%s %s", result, builtin_type(kind),
                      own));
  return fnzi_mlir_put_end(w, n);
}

fnz_status fnzi_mlir_put_number(fnzi_mlir *w, const fnzi_node *n) {
  const char *target = fnzi_node_target(n), *result;
  int row = find_row(target);
  bool floats = has_float(w, n) || (row >= 0 && !rows[row].on_ints);
  const char *own = NULL;
  for (size_t i = 0; i < sizeof builtin / sizeof *builtin && !own; i++)
    if (strcmp(builtin[i].target, target) == 0 && (floats || builtin[i].on_ints))
      own = builtin[i].name;
  if (own && n->noutputs == 1 && n->outputs[0].tag == FNZ_ARG_SYMBOL)
    return put_builtin(w, n, own, fnzi_mlir_number_of(w, &n->outputs[0]));
  const char *name = row < 0 ? NULL : floats ? rows[row].on_floats : rows[row].on_ints;
  if (!name || n->noutputs != 1 || n->outputs[0].tag != FNZ_ARG_SYMBOL)
    return fnzi_fail(w->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "%s of %s has no operator in the torch dialect of IREE %s; compute it in a "
                     "tensor, or export with fixed sizes",
                     target, floats ? "floats" : "integers", fnzi_mlir_version());
  /* Operands of the truth values' operators are truth values. */
  bool of_truth = strncmp(name, "aten.__", 7) == 0;
  fnzi_mlir_number kind = of_truth ? FNZI_MLIR_BOOL : floats ? FNZI_MLIR_FLOAT : FNZI_MLIR_INT;
  fnzi_mlir_list_clear(&w->args);
  for (uint32_t i = 0; i < n->nargs; i++) {
    const char *operand;
    FNZ_TRY(fnzi_mlir_convert(w, &n->args[i], kind, &operand));
    FNZ_TRY(fnzi_mlir_add(w, &w->args, operand, fnzi_mlir_number_type(kind)));
  }
  FNZ_TRY(fnzi_mlir_name(w, fnzi_mlir_top(w), n->outputs[0].u.value, &result));
  FNZ_TRY(fnzi_printf(w->ctx, &w->body, "    %s = torch.%s %s : %s -> %s", result, name,
                      w->args.names.data, w->args.types.data,
                      fnzi_mlir_number_type(fnzi_mlir_number_of(w, &n->outputs[0]))));
  return fnzi_mlir_put_end(w, n);
}
