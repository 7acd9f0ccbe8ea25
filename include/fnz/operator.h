/* operator.h - operators as data: every ATen operator's schema, and what follows from it. */
#ifndef FNZ_OPERATOR_H
#define FNZ_OPERATOR_H

#include <fnz/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One operator. Constant for the life of the process (the ATen table). */
typedef struct fnz_op fnz_op;

/** By the name as schemas write it: "add_.Tensor", "aten::add_.Tensor", "view". The namespace aten
 * may be left out. NULL when there is none. */
FNZ_API const fnz_op *fnz_op_find(const char *name);

/** Operators are numbered from 0, sorted by name. */
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
/** A result shares memory with an argument (an operator whose schema says so). */
FNZ_API bool fnz_op_is_view(const fnz_op *op);
/** It writes at least one argument. */
FNZ_API bool fnz_op_is_mutating(const fnz_op *op);

#ifdef __cplusplus
}
#endif
#endif
