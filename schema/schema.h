/* schema.h - operators as data, for the rest of the library.
 *
 * The table of all ATen operators is generated at build time from schema/aten.tsv by
 * schema/tablegen.c, which uses the same FunctionSchema parser that reads custom operators at run
 * time (schema/parse.c). Everything below is constant after that. */
#ifndef FNZI_SCHEMA_H
#define FNZI_SCHEMA_H

#include "base/base.h"

#include <fnz/operator.h>

/* Base types of FunctionSchema. One row per type: enum, name. */
#define FNZI_TYPE_ROWS(ROW)                                                                        \
  ROW(TENSOR, "Tensor")                                                                            \
  ROW(INT, "int")                                                                                  \
  ROW(SYM_INT, "SymInt")                                                                           \
  ROW(FLOAT, "float")                                                                              \
  ROW(BOOL, "bool")                                                                                \
  ROW(SYM_BOOL, "SymBool")                                                                         \
  ROW(SCALAR, "Scalar")                                                                            \
  ROW(STRING, "str")                                                                               \
  ROW(DTYPE, "ScalarType")                                                                         \
  ROW(LAYOUT, "Layout")                                                                            \
  ROW(DEVICE, "Device")                                                                            \
  ROW(DEVICE_INDEX, "DeviceIndex")                                                                 \
  ROW(MEMORY_FORMAT, "MemoryFormat")                                                               \
  ROW(GENERATOR, "Generator")                                                                      \
  ROW(STORAGE, "Storage")                                                                          \
  ROW(STREAM, "Stream")                                                                            \
  ROW(QSCHEME, "QScheme")                                                                          \
  ROW(DIM_VECTOR, "DimVector")                                                                     \
  ROW(DIMNAME, "Dimname") /* up to PyTorch 1.13 or so; no operator of the table takes one */       \
  ROW(GRAPH_MODULE, "GraphModule")                                                                 \
  ROW(CLASS, "") /* a custom class, by dotted name */

typedef enum fnzi_type {
#define FNZI_TYPE_ENUM(id, name) FNZI_TYPE_##id,
  FNZI_TYPE_ROWS(FNZI_TYPE_ENUM)
#undef FNZI_TYPE_ENUM
      FNZI_TYPE_COUNT
} fnzi_type;

/* `Tensor(a!)?[2]`: type TENSOR, item_optional, is_list, list_size 2, alias 1, is_write. */
typedef struct fnzi_param {
  const char *name; /* "" for an unnamed return */
  fnzi_type type;
  const char *class_name; /* of FNZI_TYPE_CLASS, else NULL */
  bool is_list, item_optional, optional;
  int list_size;  /* 0: any */
  uint32_t alias; /* bit k: letter 'a' + k (names like "a0" have bits too); 0: no annotation */
  uint32_t alias_after;       /* the set behind "->", 0 when there is none */
  const char *alias_text;     /* the text in the parentheses, "a!" or "a -> *"; NULL for none */
  bool is_write, is_wildcard; /* "!", and "*" in the set or behind "->" */
  bool keyword_only, is_out;  /* is_out: keyword-only and written */
  bool promotes; /* an operand: other arguments, such as factors and masks, are cast to the type to
                    which operands promote */
  bool has_default;
  const char *default_text; /* as written, NULL when has_default is false */
  fnz_arg default_value;    /* FNZ_ARG_DEFAULT when has_default is false */
} fnzi_param;

/* As schemas write it; "" for FNZI_TYPE_CLASS. Static. */
const char *fnzi_type_name(fnzi_type type);

/* torchgen's SchemaKind, first match in this order; but a written `self` makes an operator mutable
 * too (torchgen calls record_stream, retain_grad and set_data functional). */
typedef enum fnzi_kind {
  FNZI_KIND_INPLACE,
  FNZI_KIND_SCRATCH,
  FNZI_KIND_OUT,
  FNZI_KIND_MUTABLE,
  FNZI_KIND_FUNCTIONAL
} fnzi_kind;

typedef enum fnzi_composite { /* how PyTorch dispatches it; decides who sees it whole */
                              FNZI_COMPOSITE_NONE,
                              FNZI_COMPOSITE_IMPLICIT, /* decomposes into other operators before
                                                          functionalization */
                              FNZI_COMPOSITE_EXPLICIT,
                              FNZI_COMPOSITE_EXPLICIT_NON_FUNCTIONAL
} fnzi_composite;

/* Tags that fnz uses; the others are kept as text. */
#define FNZI_TAG_ROWS(ROW)                                                                         \
  ROW(POINTWISE, "pointwise")                                                                      \
  ROW(REDUCTION, "reduction")                                                                      \
  ROW(INPLACE_VIEW, "inplace_view")                                                                \
  ROW(VIEW_COPY, "view_copy")                                                                      \
  ROW(GENERATED, "generated")                                                                      \
  ROW(RANDOM, "nondeterministic_seeded")                                                           \
  ROW(CORE, "core")                                                                                \
  ROW(DYNAMIC_SHAPE, "dynamic_output_shape")                                                       \
  ROW(DATA_DEPENDENT, "data_dependent_output")                                                     \
  ROW(MAYBE_ALIASING, "maybe_aliasing_or_mutating")                                                \
  ROW(EFFECT, "effect") /* others see that it is called: none of PyTorch's own tags */

enum {
#define FNZI_TAG_BIT(id, name) FNZI_TAG_BIT_##id,
  FNZI_TAG_ROWS(FNZI_TAG_BIT)
#undef FNZI_TAG_BIT
#define FNZI_TAG_ENUM(id, name) FNZI_TAG_##id = 1u << FNZI_TAG_BIT_##id,
      FNZI_TAG_ROWS(FNZI_TAG_ENUM)
#undef FNZI_TAG_ENUM
};

/* Calls of operators with one of these keep their number and their order. */
enum { FNZI_TAGS_KEPT = FNZI_TAG_RANDOM | FNZI_TAG_EFFECT };

/* Booleans of native_functions.yaml for an operator, besides schema and dispatch. Columns: enum,
 * the word for it in the table. */
#define FNZI_FLAG_ROWS(ROW)                                                                        \
  ROW(METHOD, "method")                   /* may be called as a method of self */                  \
  ROW(NO_FUNCTION, "no_function")         /* and only so */                                        \
  ROW(STRUCTURED, "structured")           /* an out= operator with a shape function of its own */  \
  ROW(NO_DEVICE_CHECK, "no_device_check") /* tensors may be on several devices */                  \
  ROW(NO_DEVICE_GUARD, "no_device_guard")                                                          \
  ROW(CPP_NO_DEFAULTS, "cpp_no_defaults") /* some defaults are missing in C++ */                   \
  ROW(MANUAL_BINDING, "manual_binding")                                                            \
  ROW(MANUAL_REGISTRATION, "manual_registration")                                                  \
  ROW(CONST_REF, "const_ref") /* the parameter that it writes is a reference to const */

enum {
#define FNZI_FLAG_BIT(id, name) FNZI_OP_BIT_##id,
  FNZI_FLAG_ROWS(FNZI_FLAG_BIT)
#undef FNZI_FLAG_BIT
#define FNZI_FLAG_ENUM(id, name) FNZI_OP_##id = 1u << FNZI_OP_BIT_##id,
      FNZI_FLAG_ROWS(FNZI_FLAG_ENUM)
#undef FNZI_FLAG_ENUM
};

/* How a pointwise operator's result dtype follows from the promoted one, in the terms of PyTorch's
 * ELEMENTWISE_TYPE_PROMOTION_KIND, with three more that operators need; PROMOTES of facts.def. */
typedef enum fnzi_promotion_kind {
  FNZI_PROMOTE_DEFAULT,                  /* add, mul, clamp */
  FNZI_PROMOTE_NO_OPMATH,                /* the same, and f16 is not computed in f32: where */
  FNZI_PROMOTE_INT_TO_FLOAT,             /* integers become the default float: div, sqrt, tanh */
  FNZI_PROMOTE_ALWAYS_BOOL,              /* comparisons, logical_*, isnan */
  FNZI_PROMOTE_COMPLEX_TO_FLOAT,         /* complex becomes its real type: abs */
  FNZI_PROMOTE_BOOL_TO_LONG,             /* bool becomes i64: pow, square */
  FNZI_PROMOTE_INT_AND_COMPLEX_TO_FLOAT, /* angle */
  FNZI_PROMOTE_SELF,  /* the dtype of the first tensor, whatever the others are */
  FNZI_PROMOTE_DOUBLE /* f64 or c128: float_power */
} fnzi_promotion_kind;

struct fnz_op {
  const char *name;      /* "add_.Tensor"; "ns::name.overload" outside aten */
  const char *base;      /* "add_" */
  const char *overload;  /* "Tensor", "" */
  const char *schema;    /* the whole text */
  const char *tags_text; /* "core,pointwise", "-" */
  fnzi_kind kind;
  fnzi_composite composite;
  uint32_t tags;                 /* FNZI_TAG_* */
  bool is_view;                  /* as torchgen's is_view_op */
  fnzi_promotion_kind promotion; /* of facts.def, or by tags */
  const fnzi_param *params;
  uint16_t nparams;
  const fnzi_param *returns;
  uint16_t nreturns;
  /* Found by rule (schema/twins.c), as indices into the table; FNZI_NO_OP when there is none. */
  uint16_t functional; /* of an in-place, out or mutable operator; itself when functional */
  uint16_t view_copy;  /* of a view: select.int -> select_copy.int */
  uint16_t view_of;    /* of an in-place view: transpose_ -> transpose.int */
  uint16_t inplace;    /* of a functional operator, for messages */
  uint16_t alias_of;   /* clip -> clamp, clip_ -> clamp_ (schema/facts/aliases.def) */
  /* From native_functions.yaml; of a parsed operator nothing is known: 0, NULL, "-", "-". */
  uint32_t flags;            /* FNZI_OP_* */
  const char *delegate;      /* the out= operator that has its kernels; NULL for none */
  const char *model_text;    /* "method,no_device_check,delegate=add.out", "-" */
  const char *dispatch_text; /* "CPU, CUDA: add_out; SparseCPU: add_sparse", "-" */
};

#define FNZI_NO_OP UINT16_MAX
/* In `functional`: the operator was declared at run time and keeps its twin (schema/custom.c). */
#define FNZI_DECLARED_OP (UINT16_MAX - 1)
/* The first declared operator of a kind whose twin is `functional`, as `op`, which is one of the
 * two or of their group, sees it; NULL when there is none. */
const fnz_op *fnzi_declared_member(const fnz_op *op, const fnz_op *functional, fnzi_kind kind);

/* It is a functional form that was derived from a declared operator, and is not declared itself. */
bool fnzi_op_is_derived(const fnz_op *op);
/* The form by fnzi_derive_on_bases() of a declared operator that writes several tensors; NULL for
 * others. */
const fnz_op *fnzi_op_on_bases(const fnz_op *op);
/* The operator that `op` is such a form of; NULL for others. */
const fnz_op *fnzi_op_of_bases(const fnz_op *op);
/* In place, and it walks over memory, not over places of tensors: where a tensor that it writes has
 * gaps, it writes into these. The fused steps of optimizers do. */
bool fnzi_op_is_flat(const fnz_op *op);

extern FNZI_SHARED const struct fnz_op
    fnzi_ops[]; /* sorted by name (strcmp), fnz_op_count() of them */
extern FNZI_SHARED const size_t fnzi_ops_count;

/* The operator at an index field above; NULL for FNZI_NO_OP. */
const fnz_op *fnzi_op_by_index(uint16_t index);
/* The index of an operator in the table; FNZI_NO_OP if it is not in it. */
static inline uint16_t fnzi_op_place(const fnz_op *op) {
  bool is_inside = op >= fnzi_ops && op < fnzi_ops + fnzi_ops_count;
  return is_inside ? (uint16_t)(op - fnzi_ops) : FNZI_NO_OP;
}
/* The operator behind an alias; `op` itself if it is no alias. Tables have rows of this operator
 * alone. Parameters correspond by position. */
static inline const fnz_op *fnzi_op_canonical(const fnz_op *op) {
  return op->alias_of == FNZI_NO_OP ? op : &fnzi_ops[op->alias_of];
}
/* It has no place in the table. */
/* How many of its returns are lists. */
static inline size_t fnzi_op_lists(const fnz_op *op) {
  size_t lists = 0;
  for (size_t i = 0; i < op->nreturns; i++)
    lists += op->returns[i].is_list;
  return lists;
}
static inline bool fnzi_op_is_custom(const fnz_op *op) {
  return fnzi_op_place(op) == FNZI_NO_OP;
}
/* It is one of these places of the table, as schema/aten_names.h names them; false for NULL. */
bool fnzi_op_is_among(const fnz_op *op, const uint16_t *places, size_t count);
/* The index of the parameter of `op` that corresponds to parameter i of `other`, another operator
 * of its group: it has the same name, or the same index if the two have other names for it, as
 * dropout_(self, ...) and dropout(input, ...). -1 for none. */
int fnzi_op_param_like(const fnz_op *op, const fnz_op *other, size_t i);
/* It reads the number of a tensor of one element: item, _local_scalar_dense. */
bool fnzi_op_is_item(const fnz_op *op);

/* The first operator whose name is not below the first `size` bytes of `name`. */
size_t fnzi_op_lower_bound(const char *name, size_t size);

/* In the table, by the name that fnz_op_find() takes; NULL when it is not there. */
const fnz_op *fnzi_ops_find(const char *name);
/* The operator whose base is the first `length` characters of op's, with the same overload:
 * add_.Tensor and 3 -> add.Tensor. NULL when there is none. */
const fnz_op *fnzi_op_find_stem(const fnz_op *op, size_t length);

/* The parameter that a result is because the operator writes it; NULL when the result is new. */
const fnzi_param *fnzi_op_returned(const fnz_op *op, const fnzi_param *result);

/* Position of a parameter, -1 when there is none of that name. */
FNZI_SHARED int fnzi_op_param(const fnz_op *op, const char *name);

/* A call of an operator. Arguments that are left out have their defaults. */
typedef struct fnzi_op_call {
  const fnz_op *op;
  const fnz_arg *args;
  size_t nargs;
} fnzi_op_call;

/* args[i], or the schema's default when it is FNZ_ARG_DEFAULT or beyond nargs. */
static inline fnz_arg fnzi_arg_get(const fnz_op *op, const fnz_arg *args, size_t nargs, size_t i) {
  if (i < nargs && args[i].tag != FNZ_ARG_DEFAULT)
    return args[i];
  return i < op->nparams ? op->params[i].default_value : (fnz_arg){.tag = FNZ_ARG_DEFAULT};
}

static inline bool fnzi_arg_is_real(const fnz_arg *arg) {
  return arg->tag == FNZ_ARG_INT || arg->tag == FNZ_ARG_FLOAT || arg->tag == FNZ_ARG_BOOL;
}
static inline bool fnzi_arg_is_number(const fnz_arg *arg) {
  return fnzi_arg_is_real(arg) || arg->tag == FNZ_ARG_COMPLEX;
}

/* --- Parsing (schema/parse.c) --------------------------------------------------------------------
 * All of the FunctionSchema grammar. The text is kept; everything lives in the arena. The twins of
 * the result are FNZI_NO_OP. Fails with SYNTAX and the column. */
FNZ_MUST_CHECK fnz_status fnzi_schema_parse(fnzi_arena *arena, const char *text, fnz_op **out);
/* Writes the schema back from its parts (schema/print.c); equals op->schema, which is the text that
 * was parsed without "aten::", when that had the usual spaces. */
FNZ_MUST_CHECK fnz_status fnzi_schema_print(fnz_context *ctx, const fnz_op *op, fnz_buffer *out);
/* torchgen's is_view_op; computed again when the tags of a parsed operator become known. */
bool fnzi_schema_is_view(const fnz_op *op);
/* "add_", "__iand__"; not "add", "__and__". */
bool fnzi_is_inplace_name(const char *base);
/* The kind of an operator whose name says nothing of it. */
fnzi_kind fnzi_kind_by_writes(const fnz_op *op);

/* --- Autocast (schema/facts/autocast.c) ------------------------------------------------------- */
/* The dtype to which autocast on the CPU casts the arguments of an operator. */
typedef enum fnzi_autocast {
  FNZI_AUTOCAST_UNKNOWN, /* it may consist of operators whose arguments are cast */
  FNZI_AUTOCAST_PLAIN,   /* to nothing */
  FNZI_AUTOCAST_LOWER,   /* to the dtype of the region */
  FNZI_AUTOCAST_SINGLE,  /* to f32 */
  FNZI_AUTOCAST_WIDEST   /* to f32 if one of them is f32, else to nothing */
} fnzi_autocast;
fnzi_autocast fnzi_autocast_of(const fnz_op *op);
/* Autocast leaves f64, integers and complex numbers alone. */
bool fnzi_autocast_casts(fnz_dtype dtype);

/* --- Element types (schema/facts/promotion.c)
 * ---------------------------------------------------------- PyTorch's type promotion: categories
 * bool < integer < float < complex; only a higher category lifts; tensors with dimensions outrank
 * 0-d tensors, which outrank numbers. */
typedef struct fnzi_promotion {
  fnz_dtype dimensioned, zero_dim, number;
  bool has_dimensioned, has_zero_dim, has_number;
} fnzi_promotion;

void fnzi_promotion_add_tensor(fnzi_promotion *p, fnz_dtype dtype, uint32_t rank);
/* An INT, FLOAT, BOOL, COMPLEX or SYMBOL (as int) argument. */
void fnzi_promotion_add_number(fnzi_promotion *p, const fnz_arg *number);
fnz_dtype fnzi_promotion_result(const fnzi_promotion *p);
fnz_dtype fnzi_promote(fnz_dtype a, fnz_dtype b);
/* torch.can_cast: may an in-place or out= operator store `from` in `to`? */
bool fnzi_can_cast(fnz_dtype from, fnz_dtype to);

/* The kind of an operator that facts.def does not name, such as one that was declared at run time.
 */
static inline fnzi_promotion_kind fnzi_promotion_by_tags(const fnz_op *op) {
  return op->tags & FNZI_TAG_POINTWISE ? FNZI_PROMOTE_DEFAULT : FNZI_PROMOTE_SELF;
}

/* Each element of the result depends on the elements at its place (after broadcasting) alone. */
static inline bool fnzi_op_is_elementwise(const fnz_op *op) {
  return (op->tags & FNZI_TAG_POINTWISE) || op->promotion != FNZI_PROMOTE_SELF;
}

/* The geometry of a tensor argument. */
typedef const fnz_geometry *fnzi_geometry_reader(void *user, const fnz_arg *arg);

/* The dtype a pointwise operator computes, from its arguments. `geometry_of(user, arg)` gives the
 * geometry of a tensor argument. */
fnz_dtype fnzi_op_result_dtype(const fnz_op *op, const fnz_arg *args, size_t nargs,
                               fnzi_geometry_reader *geometry_of, void *user);

/* For a functional operator (facts.def): bit i if the tensor given for parameter i must have the
 * element type of argument 0. */
uint32_t fnzi_op_uncast(const fnz_op *op);
/* A written tensor must have the element type of the result, though the operator is elementwise. */
bool fnzi_op_is_exact(const fnz_op *op);
/* Its floats decide sizes (facts.def). */
bool fnzi_op_is_sizing(const fnz_op *op);
/* TYPE where tensors that must be alike are not; all args are given. `geometry_of` as above. */
FNZ_MUST_CHECK fnz_status fnzi_check_uncast(fnz_context *ctx, const fnz_op *op, const fnz_arg *args,
                                            fnzi_geometry_reader *geometry_of, void *user);

/* The dtype to which eager on the CPU casts all operands of a pointwise operator before it
 * computes; operands and a written tensor of another dtype are copied. False when it casts none.
 * `geometry_of` as above. */
bool fnzi_op_common_dtype(const fnz_op *op, const fnz_arg *args, size_t nargs,
                          fnzi_geometry_reader *geometry_of, void *user, fnz_dtype *out);

/* --- Lists (schema/foreach.c) --------------------------------------------------------------------
 * The operator that `_foreach_x.ov` applies to each element: _foreach_add.Scalar -> add.Scalar,
 * _foreach_addcmul.Scalar -> addcmul, _foreach_copy_ -> copy_. NULL when op is no foreach. */
const fnz_op *fnzi_foreach_element(const fnz_op *op);

extern FNZI_SHARED const fnz_dtype_info fnzi_dtype_infos[FNZ_DTYPE_COUNT];
static inline const fnz_dtype_info *fnzi_dtype(fnz_dtype d) {
  unsigned row = (unsigned)d;
  return &fnzi_dtype_infos[row < FNZ_DTYPE_COUNT ? row : 0];
}
static inline bool fnzi_is_integer(fnz_dtype d) { /* without bool */
  char c = fnzi_dtype(d)->category;
  return c == 'i' || c == 'u';
}
static inline bool fnzi_is_float(fnz_dtype d) {
  return fnzi_dtype(d)->category == 'f';
}
static inline bool fnzi_is_complex(fnz_dtype d) {
  return fnzi_dtype(d)->category == 'c';
}

/* Appends "; did you mean add, abs or all?" for an operator that there is not; nothing when none is
 * near (schema/near.c). `own`: the operators of a program, in addition to the table and the
 * context. */
FNZ_MUST_CHECK fnz_status fnzi_put_near_op(fnz_context *ctx, const fnz_op *const *own, size_t count,
                                           const char *name, fnz_buffer *out);

#endif
