/* operator.h - operators as data: every ATen operator's schema, and facts derived from it. */
#ifndef FNZ_OPERATOR_H
#define FNZ_OPERATOR_H

#include <fnz/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One operator. Constant for the life of the process (the ATen table), or declared, and then
 * constant for the life of its context. */
typedef struct fnz_op fnz_op;

/** Finds an operator by its name in schemas: "add_.Tensor", "aten::add_.Tensor", "view". The
 * namespace aten may be left out. NULL if there is none.
 * ctx  its declared and derived operators are found too; NULL: only the ATen table. */
FNZ_API const fnz_op *fnz_op_find(const fnz_context *ctx, const char *name);

/* --- Custom operators ------------------------------------------------------------------------- */

/** Declares an operator outside the table, "ns::name.overload(Tensor(a!) x, ...) -> ...", for all
 * that the context does from now on; it ends with the context. Programs that use the operator can
 * then be read, functionalized and compared; to compute it, register a kernel (<fnz/kernel.h>).
 *
 * An operator that writes gets its functional form: the declared operator of that signature, as
 * PyTorch names it (ns::f_ and ns::f; ns::g and ns::g_functional), or else one that is derived. A
 * written keyword-only argument counts as read as well, unless the form without it is declared.
 * Arguments without "!" must not be written, results without an annotation must be new memory. A
 * written argument shares its letter with no other argument, and with one result at most, which has
 * its type.
 *
 * Declare before programs that use the operator are read, and before those are shared with other
 * threads.
 *
 * schema  "ns::" must not be aten. Declaring the same one again gives the same operator. For an
 *         operator that needs no declaration, such as _c10d_functional::all_reduce, the name is
 *         enough.
 * out     NULL is allowed.
 * Fails with FNZ_BAD_INPUT: SYNTAX with the column, ENCODING when it is not UTF-8, LIMIT beyond
 * 64 KiB, 4,096 parameters, 32 letters or 8,192 operators (derived ones among them), TYPE for a
 * rule that the schema breaks, DUPLICATE when there is another schema of that name. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_op_declare(fnz_context *ctx, const char *schema,
                                                 const fnz_op **out);
/** Declares one operator per line of `text`; what follows a '#' outside of strings is a comment.
 * Failures are at "name:line". Lines before the failure stay declared. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_ops_declare(fnz_context *ctx, const char *name,
                                                  const char *text, size_t size);
/** The operators that the context has declared or derived, from 0 in that order; NULL beyond the
 * last one. */
FNZ_API size_t fnz_op_declared_count(const fnz_context *ctx);
FNZ_API const fnz_op *fnz_op_declared_at(const fnz_context *ctx, size_t index);

/* --- The table -------------------------------------------------------------------------------- */

/** Operators are numbered from 0, sorted by name. NULL beyond the last one. */
FNZ_API size_t fnz_op_count(void);
FNZ_API const fnz_op *fnz_op_at(size_t index);

/** "add_.Tensor" for namespace aten, else "ns::name.overload". */
FNZ_API const char *fnz_op_name(const fnz_op *op);
/** The FunctionSchema as PyTorch prints it: "add_.Tensor(Tensor(a!) self, ...) -> Tensor(a!)". */
FNZ_API const char *fnz_op_schema(const fnz_op *op);
/** "functional", "inplace", "out", "mutable" or "scratch" (torchgen's SchemaKind). */
FNZ_API const char *fnz_op_kind(const fnz_op *op);
/** The functional operator with the same meaning, found by rule; itself when functional; NULL when
 * there is none. */
FNZ_API const fnz_op *fnz_op_functional_twin(const fnz_op *op);
/** Whether a result shares memory with an argument, by the schema. */
FNZ_API bool fnz_op_is_view(const fnz_op *op);
/** It writes at least one argument. */
FNZ_API bool fnz_op_is_mutating(const fnz_op *op);

/** Appends the names of operators, declared ones included, that may be meant by one who wrote
 * `name`: up to three, nearest first, as "add, abs or all"; nothing when none is near. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_op_suggest(fnz_context *ctx, const char *name,
                                                 fnz_buffer *out);

/* --- Parameters and results ------------------------------------------------------------------- */

/** One parameter or result of a schema. `Tensor(a!)?[2] x=None` has type "Tensor", alias
 * "a!", item_optional, is_list, list_size 2 and default_text "None". Texts are static. */
typedef struct fnz_param {
  const char *name;  /* "" for an unnamed result */
  const char *type;  /* of an item, without annotations: "Tensor", "SymInt", a class's name */
  const char *alias; /* "a", "a!", "a -> *"; NULL: shares no memory with anything */
  const char *default_text; /* as written; NULL: it must be given */
  bool is_list, item_optional, optional;
  int list_size;      /* 0: any */
  bool is_write;      /* its alias set has a "!" */
  bool keyword_only;  /* follows "*" in the schema */
  uint32_t alias_set; /* bit k: the letter 'a' + k; parameters and results with a bit in common
                         share memory */
} fnz_param;

/** How many parameters there are, and parameter `i`, which must be below the count. */
FNZ_API size_t fnz_op_param_count(const fnz_op *op);
FNZ_API fnz_param fnz_op_param(const fnz_op *op, size_t i);
/** The same of results. */
FNZ_API size_t fnz_op_return_count(const fnz_op *op);
FNZ_API fnz_param fnz_op_return(const fnz_op *op, size_t i);

/** Appends the shortest call of the operator in the text form, "add_.Tensor(%self, %other)":
 * arguments without default only, each value under the name of its parameter, with "_0", "_1" for
 * the items of a list. Made from the schema alone: it parses, but that does not mean that it can be
 * computed. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_op_write_example(fnz_context *ctx, const fnz_op *op,
                                                       fnz_buffer *out);

/* --- The group -------------------------------------------------------------------------------- */

/* The variants of one operation, as torchgen groups them. Columns: name. Order is ABI. */
#define FNZ_MEMBER_ROWS(ROW)                                                                       \
  ROW(FUNCTIONAL, "functional")                                                                    \
  ROW(INPLACE, "inplace")                                                                          \
  ROW(MUTABLE, "mutable")                                                                          \
  ROW(VIEW, "view")                                                                                \
  ROW(VIEW_COPY, "view_copy")                                                                      \
  ROW(INPLACE_VIEW, "inplace_view")                                                                \
  ROW(OUT, "out")

typedef enum fnz_member {
#define FNZ_MEMBER_ENUM(id, name) FNZ_MEMBER_##id,
  FNZ_MEMBER_ROWS(FNZ_MEMBER_ENUM)
#undef FNZ_MEMBER_ENUM
      FNZ_MEMBER_COUNT
} fnz_member;

/** "functional", "inplace", ... Static. */
FNZ_API const char *fnz_member_name(fnz_member member);
/** A member of op's group, op itself included; NULL when it has none. A view's copying form is its
 * functional member, so that out= belongs to both. For a declared operator, only operators that its
 * context has declared so far. */
FNZ_API const fnz_op *fnz_op_member(const fnz_op *op, fnz_member member);
/** The operator that `op` is an alias of, which PyTorch implements by one call of it: clamp for
 * clip, clamp_ for clip_; `op` itself if it is no alias. Parameters correspond by position; names
 * and
 * defaults may differ. */
FNZ_API const fnz_op *fnz_op_canonical(const fnz_op *op);
/** The operator that a _foreach_ operator applies to each item of its lists; NULL for other
 * operators. */
FNZ_API const fnz_op *fnz_op_element(const fnz_op *op);

/* --- PyTorch's data about operators ----------------------------------------------------------- */

/** "core,pointwise", "" for none. */
FNZ_API const char *fnz_op_tags(const fnz_op *op);
FNZ_API bool fnz_op_has_tag(const fnz_op *op, const char *tag);
/** "implicit": decomposed before anything sees it; "explicit", "explicit_non_functional"; "kernel"
 * when it is dispatched to kernels. */
FNZ_API const char *fnz_op_composite(const fnz_op *op);
/** "method,structured,delegate=add.out": what else native_functions.yaml states, "" for nothing. */
FNZ_API const char *fnz_op_model(const fnz_op *op);
/** "CPU, CUDA: add_out; SparseCPU: add_out_sparse_cpu", "" for nothing. */
FNZ_API const char *fnz_op_dispatch(const fnz_op *op);
/** How the dtype of the results follows from the promoted dtype, by PyTorch's names: "default" (the
 * promoted dtype), "no_opmath", "int_to_float", "always_bool", "complex_to_float", "bool_to_long",
 * "int_and_complex_to_float"; and "double", "self" (the dtype of the first tensor). NULL when the
 * operator is not computed element by element. */
FNZ_API const char *fnz_op_promotion(const fnz_op *op);

#ifdef __cplusplus
}
#endif
#endif
