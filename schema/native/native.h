/* native.h - native functions: all that PyTorch's native_functions.yaml says, as data.
 *
 * A library is read from two YAML files, checked rule by rule (rules.def), completed with
 * the variants that PyTorch generates (derive.h), and grouped. After that it is constant. This is
 * where the operator table comes from; nothing at run time needs it.
 *
 * Facts are from torchgen in PyTorch 1.13.1 to 2.15.0. If a rule is new in some version, the
 * declarations of the tags file decide whether it applies, never a version number. */
#ifndef FNZI_NATIVE_H
#define FNZI_NATIVE_H

#include "schema/schema.h"

#include <fnz/library.h>

/* --- Words ------------------------------------------------------------------------------------ */

/* Dispatch keys that a dispatch table may have. COMPOSITE: one kernel for all backends. DENSE: a
 * backend of structured kernels, which a delegating operator must not name. */
#define FNZI_DISPATCH_ROWS(ROW)                                                                    \
  ROW(CPU, DENSE)                                                                                  \
  ROW(CUDA, DENSE)                                                                                 \
  ROW(MPS, DENSE)                                                                                  \
  ROW(XPU, DENSE)                                                                                  \
  ROW(MTIA, DENSE)                                                                                 \
  ROW(MkldnnCPU, OTHER)                                                                            \
  ROW(SparseCPU, OTHER)                                                                            \
  ROW(SparseCUDA, OTHER)                                                                           \
  ROW(SparseMPS, OTHER)                                                                            \
  ROW(SparseXPU, OTHER)                                                                            \
  ROW(SparseMeta, OTHER)                                                                           \
  ROW(SparseCsrCPU, OTHER)                                                                         \
  ROW(SparseCsrCUDA, OTHER)                                                                        \
  ROW(SparseCsrMPS, OTHER)                                                                         \
  ROW(SparseCsrXPU, OTHER)                                                                         \
  ROW(SparseCsrMeta, OTHER)                                                                        \
  ROW(QuantizedCPU, OTHER)                                                                         \
  ROW(QuantizedCUDA, OTHER)                                                                        \
  ROW(QuantizedMeta, OTHER)                                                                        \
  ROW(NestedTensorCPU, OTHER)                                                                      \
  ROW(NestedTensorCUDA, OTHER)                                                                     \
  ROW(NestedTensorXPU, OTHER)                                                                      \
  ROW(NestedTensorHPU, OTHER)                                                                      \
  ROW(NestedTensorMeta, OTHER)                                                                     \
  ROW(Meta, OTHER)                                                                                 \
  ROW(ZeroTensor, OTHER)                                                                           \
  ROW(CompositeImplicitAutograd, COMPOSITE)                                                        \
  ROW(CompositeImplicitAutogradNestedTensor, COMPOSITE)                                            \
  ROW(CompositeExplicitAutograd, COMPOSITE)                                                        \
  ROW(CompositeExplicitAutogradNonFunctional, COMPOSITE)

typedef enum fnzi_native_dispatch_key {
#define FNZI_DISPATCH_ENUM(name, sort) FNZI_DISPATCH_##name,
  FNZI_DISPATCH_ROWS(FNZI_DISPATCH_ENUM)
#undef FNZI_DISPATCH_ENUM
      FNZI_DISPATCH_COUNT
} fnzi_native_dispatch_key;

#define FNZI_DISPATCH_BIT(name) (1u << FNZI_DISPATCH_##name)

/* Which loops one scalar function of a ufunc gives. */
#define FNZI_UFUNC_ROWS(ROW)                                                                       \
  ROW(Generic)    /* CPU scalar and vector, CUDA */                                                \
  ROW(ScalarOnly) /* CPU scalar, CUDA */                                                           \
  ROW(CPUScalar)                                                                                   \
  ROW(CPUVector)                                                                                   \
  ROW(CUDAFunctor)                                                                                 \
  ROW(CUDAFunctorOnSelf)                                                                           \
  ROW(CUDAFunctorOnOther)

typedef enum fnzi_native_ufunc_key {
#define FNZI_UFUNC_ENUM(name) FNZI_UFUNC_##name,
  FNZI_UFUNC_ROWS(FNZI_UFUNC_ENUM)
#undef FNZI_UFUNC_ENUM
      FNZI_UFUNC_COUNT
} fnzi_native_ufunc_key;

/* Element types by the names that ufuncs use, and the sets of them that have names. */
#define FNZI_UFUNC_DTYPE_ROWS(ROW)                                                                 \
  ROW(Byte)                                                                                        \
  ROW(Char)                                                                                        \
  ROW(Short)                                                                                       \
  ROW(Int)                                                                                         \
  ROW(Long)                                                                                        \
  ROW(Half)                                                                                        \
  ROW(Float)                                                                                       \
  ROW(Double)                                                                                      \
  ROW(ComplexHalf)                                                                                 \
  ROW(ComplexFloat)                                                                                \
  ROW(ComplexDouble)                                                                               \
  ROW(Bool)                                                                                        \
  ROW(BFloat16)                                                                                    \
  ROW(Float8_e5m2)                                                                                 \
  ROW(Float8_e5m2fnuz)                                                                             \
  ROW(Float8_e4m3fn)                                                                               \
  ROW(Float8_e4m3fnuz)                                                                             \
  ROW(Float8_e8m0fnu)

enum {
#define FNZI_UFUNC_DTYPE_BIT(name) FNZI_UFUNC_DTYPE_BIT_##name,
  FNZI_UFUNC_DTYPE_ROWS(FNZI_UFUNC_DTYPE_BIT)
#undef FNZI_UFUNC_DTYPE_BIT
#define FNZI_UFUNC_DTYPE_ENUM(name) FNZI_UFUNC_##name = 1u << FNZI_UFUNC_DTYPE_BIT_##name,
      FNZI_UFUNC_DTYPE_ROWS(FNZI_UFUNC_DTYPE_ENUM)
#undef FNZI_UFUNC_DTYPE_ENUM
          FNZI_UFUNC_Integral = FNZI_UFUNC_Byte | FNZI_UFUNC_Char | FNZI_UFUNC_Short |
                                FNZI_UFUNC_Int | FNZI_UFUNC_Long,
  FNZI_UFUNC_Floating = FNZI_UFUNC_Float | FNZI_UFUNC_Double,
  FNZI_UFUNC_Complex = FNZI_UFUNC_ComplexFloat | FNZI_UFUNC_ComplexDouble,
  FNZI_UFUNC_All = FNZI_UFUNC_Integral | FNZI_UFUNC_Floating,
  FNZI_UFUNC_AllAndComplex = FNZI_UFUNC_All | FNZI_UFUNC_Complex,
  FNZI_UFUNC_FloatingAndComplex = FNZI_UFUNC_Floating | FNZI_UFUNC_Complex
};

/* --- One function ----------------------------------------------------------------------------- */

typedef struct fnzi_native_dispatch {
  fnzi_native_dispatch_key key;
  const char *kernel; /* "add_out", "ns::add_out" */
} fnzi_native_dispatch;

typedef struct fnzi_native_ufunc {
  fnzi_native_ufunc_key key;
  const char *function;
  uint32_t dtypes; /* FNZI_UFUNC_* */
} fnzi_native_ufunc;

/* Values that a structured kernel computes before its loop runs: they replace `param`, or are
 * additional. */
typedef struct fnzi_native_precomputed {
  const char *param; /* NULL: these come in addition */
  const fnzi_param *with;
  size_t count;
} fnzi_native_precomputed;

typedef struct fnzi_native_texts {
  const char **data;
  size_t count;
} fnzi_native_texts;

#define FNZI_NO_GROUP UINT32_MAX

typedef struct fnzi_native {
  fnz_op *op;     /* schema, flags, delegate, texts; its index fields stay empty */
  uint32_t line;  /* of its entry; that of the original when generated */
  fnzi_kind kind; /* torchgen's: a written self alone makes no operator mutable */
  uint64_t tags;  /* bit k: the k-th tag of the library */
  uint32_t keys; /* a bit per fnzi_native_dispatch_key, also one for the key of no dispatch table */
  bool has_dispatch; /* a dispatch table is written down */
  const fnzi_native_dispatch *dispatch;
  size_t ndispatch;
  const char *inherits, *python_module, *category; /* NULL for none */
  fnzi_native_texts autogen, no_defaults;
  const fnzi_native_precomputed *precomputed;
  size_t nprecomputed;
  const fnzi_native_ufunc *ufunc;
  size_t nufunc;
  uint32_t group, view_group; /* into the library's, FNZI_NO_GROUP when alone */
} fnzi_native;

/* A place in a library's functions; FNZI_NO_GROUP for none. */
typedef uint32_t fnzi_native_member;

typedef struct fnzi_native_group {
  fnzi_native_member functional, out, inplace, mutable;
} fnzi_native_group;

typedef struct fnzi_native_view_group {
  fnzi_native_member view, copy, inplace;
} fnzi_native_view_group;

/* --- A library -------------------------------------------------------------------------------- */

typedef enum fnzi_native_known_tag { /* tags that rules ask for; the library knows their places */
#define FNZI_KNOWN_TAG_ROWS(ROW)                                                                   \
  ROW(PT2, "pt2_compliant_tag")                                                                    \
  ROW(OUT, "out")                                                                                  \
  ROW(INPLACE, "inplace")                                                                          \
  ROW(GENERATED, "generated")                                                                      \
  ROW(RANDOM, "nondeterministic_seeded")                                                           \
  ROW(VIEW_COPY, "view_copy")                                                                      \
  ROW(INPLACE_VIEW, "inplace_view")                                                                \
  ROW(CORE, "core")
#define FNZI_KNOWN_TAG_ENUM(id, name) FNZI_KNOWN_##id,
                                     FNZI_KNOWN_TAG_ROWS(FNZI_KNOWN_TAG_ENUM)
#undef FNZI_KNOWN_TAG_ENUM
                                         FNZI_KNOWN_TAG_COUNT
} fnzi_native_known_tag;

enum { FNZI_MOST_TAGS = 64 }; /* a bit for each */

struct fnz_library {
  fnz_context *ctx;
  fnzi_arena arena;
  const char *name;                     /* of the file with the functions, for messages */
  fnzi_native_texts tags;               /* as declared */
  uint64_t known[FNZI_KNOWN_TAG_COUNT]; /* the bit of each, 0 when it is not declared */
  fnzi_native *natives;                 /* in the order of the file, then the generated ones */
  size_t nentries, count;
  fnzi_map by_name;
  fnzi_native_group *groups;
  size_t ngroups;
  fnzi_native_view_group *views;
  size_t nviews;
};

/* The function at a place; NULL for FNZI_NO_GROUP. */
static inline fnzi_native *fnzi_native_at(const fnz_library *library, fnzi_native_member place) {
  return place == FNZI_NO_GROUP ? NULL : &library->natives[place];
}

/* By operator name; NULL when there is none. */
fnzi_native *fnzi_native_find(const fnz_library *library, const char *name);

/* The out= operator that structured_delegate names; NULL when there is none of that name. */
fnzi_native *fnzi_native_delegate(const fnz_library *library, const fnzi_native *n);

static inline bool fnzi_native_has(const fnz_library *library, const fnzi_native *n,
                                   fnzi_native_known_tag tag) {
  return n->tags & library->known[tag];
}

static inline bool fnzi_native_is_implicit(const fnzi_native *n) {
  return n->keys & FNZI_DISPATCH_BIT(CompositeImplicitAutograd);
}

/* Part of a structured group: an out= operator with a shape function, or one that delegates. */
static inline bool fnzi_native_is_structured(const fnzi_native *n) {
  return n->op->flags & FNZI_OP_STRUCTURED || n->op->delegate;
}

/* "CPU", "CompositeImplicitAutograd". Static. */
const char *fnzi_native_dispatch_name(fnzi_native_dispatch_key key);

/* --- The steps of reading --------------------------------------------------------------------- */

/* Tags and entries, as they are written (read.c, values.c). */
FNZ_MUST_CHECK fnz_status fnzi_native_read(fnz_library *library, const fnz_library_source *source);
/* Takes the function that was put at natives[count] into the library: fills the operator's tags,
 * composite class and model, and adds its name. */
FNZ_MUST_CHECK fnz_status fnzi_native_publish(fnz_library *library);
/* Checks every rule that entries, alone or together, can break (rules.c). */
FNZ_MUST_CHECK fnz_status fnzi_native_check(const fnz_library *library);
/* Adds generated variants, then fills the groups (groups.c). */
FNZ_MUST_CHECK fnz_status fnzi_native_complete(fnz_library *library);
/* Every rule on groups (group_rules.c). */
FNZ_MUST_CHECK fnz_status fnzi_native_check_groups(const fnz_library *library);

/* --- Rules ------------------------------------------------------------------------------------ */

typedef enum fnzi_native_rule {
#define RULE(stage, id, kind, text) FNZI_RULE_##id,
#include "schema/native/rules.def"
#undef RULE
  FNZI_RULE_COUNT
} fnzi_native_rule;

/* Fails with the rule's class at "file:line": "rule ID: text; have ...". */
FNZ_MUST_CHECK fnz_status fnzi_native_rule_broken(const fnz_library *library, uint32_t line,
                                                  fnzi_native_rule rule, const char *have, ...)
    FNZI_PRINTF(4, 5);

/* Is this operator one that PyTorch lets off the rule (exempt.def)? */
bool fnzi_native_rule_exempts(fnzi_native_rule rule, const fnz_op *op);

#endif
