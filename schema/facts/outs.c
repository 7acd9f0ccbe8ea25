/* outs.c - the dtypes of results that facts.def says. */
#include "schema/facts/outs.h"

/* Its own row, or that of all overloads; the empty one where neither says anything. */
static const fnzi_fact *find(const fnz_op *op) {
  bool fits = !fnzi_op_is_elementwise(op) && op->kind == FNZI_KIND_FUNCTIONAL &&
              op->nreturns == 1 && !op->returns[0].is_list;
  const fnzi_fact *row = fnzi_fact_of(op, 0);
  if (!fits)
    return &fnzi_facts[0];
  return row->own != FNZI_OWN_UNKNOWN ? row : fnzi_fact_of(op, 1);
}

fnzi_out_rule fnzi_out_rule_of(const fnz_op *functional) {
  return find(functional)->out_rule;
}

int fnzi_unsaid_dtype(const fnz_op *op, const fnz_arg *args) {
  int at = fnzi_op_param(op, "dtype");
  bool says_nothing = at >= 0 && (args[at].tag == FNZ_ARG_DEFAULT || args[at].tag == FNZ_ARG_NONE);
  return says_nothing && op->params[at].type == FNZI_TYPE_DTYPE ? at : -1;
}

/* --- From the operands ------------------------------------------------------------------------ */
typedef struct reading {
  const fnz_op *op;
  const fnz_arg *args;
  size_t nargs;
  fnzi_geometry_reader *geometry_of;
  void *user;
} reading;

/* The dtype to which all tensors promote, or that of the first; false when one is unknown. */
static bool of_tensors(const reading *r, bool first, fnz_dtype *out) {
  fnzi_promotion p = {0};
  bool known = true;
  for (size_t i = 0; i < r->op->nparams && known; i++) {
    const fnz_arg arg = fnzi_arg_get(r->op, r->args, r->nargs, i);
    const bool is_list = arg.tag == FNZ_ARG_LIST;
    const fnz_arg *items = is_list ? arg.u.list : &arg;
    if (r->op->params[i].type != FNZI_TYPE_TENSOR ||
        (first && (p.has_dimensioned || p.has_zero_dim)))
      continue;
    for (uint32_t k = 0; k < (is_list ? arg.count : 1) && known && !(first && k); k++) {
      if (items[k].tag != FNZ_ARG_VALUE)
        continue;
      const fnz_geometry *g = r->geometry_of(r->user, &items[k]);
      known = g != NULL;
      if (g)
        fnzi_promotion_add_tensor(&p, g->dtype, g->rank);
    }
  }
  *out = fnzi_promotion_result(&p);
  return known && (p.has_dimensioned || p.has_zero_dim);
}

/* Of all numbers; false when one of them is not there yet, or there is none. */
static bool of_numbers(const reading *r, fnz_dtype *out) {
  fnzi_promotion p = {0};
  bool known = true;
  for (size_t i = 0; i < r->op->nparams; i++) {
    const fnz_arg arg = fnzi_arg_get(r->op, r->args, r->nargs, i);
    if (r->op->params[i].type != FNZI_TYPE_SCALAR || arg.tag == FNZ_ARG_NONE)
      continue;
    known = known && fnzi_arg_is_number(&arg);
    if (known)
      fnzi_promotion_add_number(&p, &arg);
  }
  *out = fnzi_promotion_result(&p);
  return known && p.has_number;
}

static bool outs_is_exact(fnz_dtype d) {
  return d == FNZ_BOOL || fnzi_is_integer(d);
}

static bool own_dtype(const reading *r, fnzi_own own, fnz_dtype *out) {
  bool known = true;
  switch (own) {
  case FNZI_OWN_SELF:
    return of_tensors(r, true, out);
  case FNZI_OWN_JOINED:
    return of_tensors(r, false, out);
  case FNZI_OWN_COUNT:
    known = of_tensors(r, true, out);
    *out = outs_is_exact(*out) ? FNZ_I64 : *out;
    return known;
  case FNZI_OWN_AS_FLOAT:
    known = of_tensors(r, true, out);
    *out = outs_is_exact(*out) ? FNZ_F32 : *out;
    return known;
  case FNZI_OWN_REAL:
    known = of_tensors(r, true, out);
    *out = *out == FNZ_C32    ? FNZ_F16
           : *out == FNZ_C64  ? FNZ_F32
           : *out == FNZ_C128 ? FNZ_F64
                              : *out;
    return known;
  case FNZI_OWN_NUMBERS:
    known = of_numbers(r, out);
    *out = outs_is_exact(*out) ? FNZ_I64 : FNZ_F32;
    return known;
  case FNZI_OWN_VALUE:
    return of_numbers(r, out);
  case FNZI_OWN_FLOAT:
    *out = of_numbers(r, out) && fnzi_is_complex(*out) ? FNZ_C64 : FNZ_F32;
    return true;
  case FNZI_OWN_LONG:
  case FNZI_OWN_UNKNOWN:
    break;
  }
  *out = FNZ_I64;
  return true;
}

bool fnzi_own_dtype(const fnz_op *op, const fnz_arg *args, size_t nargs,
                    fnzi_geometry_reader *geometry_of, void *user, fnz_dtype *out) {
  const fnzi_fact *row = find(op);
  const reading r = {op, args, nargs, geometry_of, user};
  int at = fnzi_op_param(op, "dtype");
  if (row->own == FNZI_OWN_UNKNOWN)
    return false;
  const fnz_arg said =
      at < 0 ? (fnz_arg){.tag = FNZ_ARG_NONE} : fnzi_arg_get(op, args, nargs, (size_t)at);
  if (said.tag != FNZ_ARG_DTYPE)
    return own_dtype(&r, row->own, out);
  *out = (fnz_dtype)said.u.i;
  return true;
}
