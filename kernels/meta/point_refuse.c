/* point_refuse.c - what eager refuses of the operands of a pointwise operator, before anything is
 * computed. */
#include "kernels/core/float8.h"
#include "kernels/meta/point.h"

fnz_status fnzi_meta_point_check_arity(const fnzi_krn_call *call,
                                       const fnzi_meta_point_choice *what, uint8_t arity) {
  if (what->noperands >= arity)
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "%u operands given, %u needed", what->noperands,
                              (unsigned)arity);
}

static bool is_bool(const fnz_arg *operand) {
  const fnzi_krn_array *a = fnzi_krn_arg_array(operand);
  return a && a->window.dtype == FNZ_BOOL;
}

static bool is_bool_or_truth(const fnz_arg *operand) {
  return is_bool(operand) || operand->tag == FNZ_ARG_BOOL;
}

/* Words that choose a row of point_ops.def; a row that no word has chosen takes only `plain`. */
static fnz_status check_word(const fnzi_krn_call *call, const fnzi_meta_point_choice *what) {
  static const struct {
    const char *row, *arg, *plain;
  } words[] = {{"div", "rounding_mode", ""},
               {"gelu", "approximate", "none"},
               {"gelu_backward", "approximate", "none"}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (strcmp(what->name, words[i].row) != 0 || fnzi_op_param(call->op, words[i].arg) < 0)
      continue;
    const char *word = fnzi_krn_named_string(call, words[i].arg);
    if (word[0] && strcmp(word, words[i].plain) != 0)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "%s \"%s\" is none that PyTorch knows",
                                  words[i].arg, word);
  }
  return FNZ_OK;
}

fnz_status fnzi_meta_point_check_types(const fnzi_krn_call *call,
                                       const fnzi_meta_point_choice *what,
                                       fnzi_meta_point_check check) {
  if (check == FNZI_POINT_NOT_BOOL && what->compute == FNZ_BOOL)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                                "not for bool; use logical_xor or logical_not, or convert");
  if (check == FNZI_POINT_DIVIDES && what->compute == FNZ_BOOL)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "not for bool by bool; convert one of them");
  if (check == FNZI_POINT_POWER && is_bool_or_truth(what->operands[0]) &&
      is_bool(what->operands[1]))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                                "not for bool to the power of bool; use logical_or");
  bool adds = strcmp(call->op->base, "celu") != 0 && strcmp(call->op->base, "elu") != 0;
  if (adds)
    FNZ_TRY(fnzi_krn_factor_check(call, "alpha", what->compute));
  FNZ_TRY(check_word(call, what));
  /* Eager looks at both operands of a subtraction before they become what it computes in. */
  static const char *const names[] = {"rsub", "rsub_scaled", "sub", "sub_scaled"};
  bool subtracts = false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    subtracts = subtracts || (*what->name == *names[i] && strcmp(what->name, names[i]) == 0);
  if (!subtracts || (!is_bool_or_truth(what->operands[0]) && !is_bool_or_truth(what->operands[1])))
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                              "subtracts with a bool, as PyTorch refuses it; use logical_xor or "
                              "logical_not, or convert");
}

/* --- Without kernels --------------------------------------------------------------------- */
typedef struct rule {
  const char *row;
  uint8_t arity, check; /* fnzi_meta_point_check */
} rule;

#define PLAIN_RULE(row, arity) {#row, arity, FNZI_POINT_PLAIN},
static const rule of_integers[] = {
#define ANY(row, arity, out, check, value) {#row, arity, FNZI_POINT_##check},
#define INTEGER                            ANY
#include "kernels/point.def"
#undef ANY
#undef INTEGER
    {NULL, 0, 0}};
static const rule of_floats[] = {
#define ANY(row, arity, out, check, value)                    PLAIN_RULE(row, arity)
#define FLOAT(row, arity, out, value)                         PLAIN_RULE(row, arity)
#define MAPPED(row, arity, before, function, accuracy, after) PLAIN_RULE(row, arity)
#include "kernels/point.def"
#undef ANY
#undef FLOAT
#undef MAPPED
    {NULL, 0, 0}};
static const rule of_complexes[] = {
#define COMPLEX(row, arity, out, value) PLAIN_RULE(row, arity)
#include "kernels/point.def"
#undef COMPLEX
    {NULL, 0, 0}};

static const rule *find_rule(const fnzi_meta_point_choice *what) {
  fnz_dtype class_dtype = fnzi_meta_point_class(what->compute);
  if (class_dtype == FNZ_DTYPE_COUNT)
    return NULL;
  const rule *r = class_dtype == FNZ_I64         ? of_integers
                  : fnzi_is_complex(class_dtype) ? of_complexes
                                                 : of_floats;
  while (r->row && (*r->row != *what->name || strcmp(r->row, what->name) != 0))
    r++;
  return r->row ? r : NULL;
}

fnz_status fnzi_meta_point_accepts(const fnzi_krn_call *call) {
  fnzi_meta_point_choice what = {.name = NULL};
  fnzi_meta_point_choose(call, &what);
  const rule *r = find_rule(&what);
  if (!r)
    return FNZ_OK;
  FNZ_TRY(fnzi_meta_point_check_arity(call, &what, r->arity));
  return fnzi_meta_point_check_types(call, &what, (fnzi_meta_point_check)r->check);
}

static bool converts(const fnzi_meta_point_choice *what, uint32_t arity) {
  for (uint32_t k = 0; k < arity; k++) {
    const fnzi_krn_array *a = fnzi_krn_arg_array(what->operands[k]);
    fnz_dtype from = a ? a->window.dtype : what->compute;
    if (!fnzi_krn_can_convert(fnzi_meta_point_class(what->compute), from) ||
        fnzi_krn_is_float8(from))
      return false;
  }
  return true;
}

bool fnzi_meta_point_is_plain(const fnzi_krn_call *call) {
  fnzi_meta_point_choice what = {.name = NULL};
  fnzi_meta_point_choose(call, &what);
  const rule *r = find_rule(&what);
  return r && !what.by_data && what.noperands >= r->arity && r->check != FNZI_POINT_DIVIDES &&
         r->check != FNZI_POINT_POWER && converts(&what, r->arity) &&
         fnzi_meta_point_check_types(call, &what, (fnzi_meta_point_check)r->check) == FNZ_OK;
}
