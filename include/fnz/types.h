/* types.h - element types, the geometry of a tensor, and the argument of an operator. */
#ifndef FNZ_TYPES_H
#define FNZ_TYPES_H

#include <fnz/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Element types. Columns: name as the text form writes it; bytes of one element; category
 * (b bool, u unsigned, i signed, f float, c complex); number in .pt2 files; name in torch;
 * name in safetensors files ("" when it has none). Order is ABI. */
#define FNZ_DTYPE_ROWS(ROW)                                                                        \
  ROW(BOOL, "bool", 1, 'b', 12, "bool", "BOOL")                                                    \
  ROW(U8, "u8", 1, 'u', 1, "uint8", "U8")                                                          \
  ROW(I8, "i8", 1, 'i', 2, "int8", "I8")                                                           \
  ROW(I16, "i16", 2, 'i', 3, "int16", "I16")                                                       \
  ROW(I32, "i32", 4, 'i', 4, "int32", "I32")                                                       \
  ROW(I64, "i64", 8, 'i', 5, "int64", "I64")                                                       \
  ROW(F16, "f16", 2, 'f', 6, "float16", "F16")                                                     \
  ROW(BF16, "bf16", 2, 'f', 13, "bfloat16", "BF16")                                                \
  ROW(F32, "f32", 4, 'f', 7, "float32", "F32")                                                     \
  ROW(F64, "f64", 8, 'f', 8, "float64", "F64")                                                     \
  ROW(C32, "c32", 4, 'c', 9, "complex32", "")                                                      \
  ROW(C64, "c64", 8, 'c', 10, "complex64", "C64")                                                  \
  ROW(C128, "c128", 16, 'c', 11, "complex128", "")                                                 \
  ROW(U16, "u16", 2, 'u', 28, "uint16", "U16")                                                     \
  ROW(U32, "u32", 4, 'u', 34, "uint32", "U32")                                                     \
  ROW(U64, "u64", 8, 'u', 35, "uint64", "U64")                                                     \
  ROW(F8_E4M3FN, "f8e4m3fn", 1, 'f', 29, "float8_e4m3fn", "F8_E4M3")                               \
  ROW(F8_E5M2, "f8e5m2", 1, 'f', 30, "float8_e5m2", "F8_E5M2")                                     \
  ROW(F8_E4M3FNUZ, "f8e4m3fnuz", 1, 'f', 31, "float8_e4m3fnuz", "F8_E4M3FNUZ")                     \
  ROW(F8_E5M2FNUZ, "f8e5m2fnuz", 1, 'f', 32, "float8_e5m2fnuz", "F8_E5M2FNUZ")                     \
  ROW(F8_E8M0FNU, "f8e8m0fnu", 1, 'f', 33, "float8_e8m0fnu", "F8_E8M0")

typedef enum fnz_dtype {
#define FNZ_DTYPE_ENUM(id, name, bytes, category, pt2, torch, safetensors) FNZ_##id,
  FNZ_DTYPE_ROWS(FNZ_DTYPE_ENUM)
#undef FNZ_DTYPE_ENUM
      FNZ_DTYPE_COUNT
} fnz_dtype;

typedef struct fnz_dtype_info {
  const char *name;
  size_t bytes;
  char category;
  int pt2;
  const char *torch, *safetensors;
} fnz_dtype_info;

/** The row of a dtype; of the first one when `dtype` is out of range. Static. */
FNZ_API const fnz_dtype_info *fnz_dtype_get_info(fnz_dtype dtype);

/* Most dimensions a tensor may have (PyTorch's own limit). */
#define FNZ_MAX_RANK 64

/** The geometry of a tensor: a window into a storage. Strides and offset count elements.
 *
 * Immutable, and shared: a program keeps one copy of equal geometries.
 * `symbols`, when not NULL, has 2 * rank + 1 entries (sizes, strides, offset): 0 says that the
 * number is fixed, k > 0 that it is the program's symbolic expression k; the number itself is then
 * the example the exporter recorded. */
typedef struct fnz_geometry {
  fnz_dtype dtype;
  uint32_t rank;
  bool is_conj, is_neg; /* lazy conjugate and negative bits of eager tensors */
  int64_t offset;
  const int64_t *sizes, *strides; /* `rank` entries each */
  const uint32_t *symbols;
} fnz_geometry;

/** The number of elements: the product of the sizes. Geometries inside a program never overflow. */
FNZ_API int64_t fnz_geometry_numel(const fnz_geometry *g);

typedef struct fnz_tensor fnz_tensor; /* <fnz/tensor.h> */

/* The kinds of arguments of an operator, and of inputs and outputs of a graph. Order is ABI. */
typedef enum fnz_tag {
  FNZ_ARG_DEFAULT = 0,   /* not given: the schema's default holds */
  FNZ_ARG_NONE,          /* None; as an output: an undefined tensor */
  FNZ_ARG_VALUE,         /* value: a tensor */
  FNZ_ARG_SYMBOL,        /* value: a symbolic int, float or bool */
  FNZ_ARG_TOKEN,         /* value: an effect token */
  FNZ_ARG_OBJECT,        /* value: a script object, never looked into */
  FNZ_ARG_INT,           /* i */
  FNZ_ARG_FLOAT,         /* f */
  FNZ_ARG_BOOL,          /* i: 0 or 1 */
  FNZ_ARG_COMPLEX,       /* list: two FLOAT items, real and imaginary */
  FNZ_ARG_STRING,        /* s, `count` bytes, zero-terminated */
  FNZ_ARG_DTYPE,         /* i: fnz_dtype */
  FNZ_ARG_LAYOUT,        /* i: the number in .pt2 files; 7 is strided */
  FNZ_ARG_MEMORY_FORMAT, /* i: fnz_memory_format */
  FNZ_ARG_DEVICE,        /* s: "cpu", "cuda:0" */
  FNZ_ARG_LIST,          /* list of `count` items */
  FNZ_ARG_GRAPH,         /* i: index of a graph of the program, 1 or more */
  FNZ_ARG_OPERATOR       /* s: the name of an operator, as a higher-order one takes it */
} fnz_tag;

/* Orders of dimensions in memory, with their numbers in .pt2 files. */
typedef enum fnz_memory_format {
  FNZ_CONTIGUOUS_FORMAT = 1,
  FNZ_CHANNELS_LAST = 2,
  FNZ_CHANNELS_LAST_3D = 3,
  FNZ_PRESERVE_FORMAT = 4
} fnz_memory_format;

/** One argument. What `value` counts depends on who is speaking: in a program it is the index of a
 * value of the same graph; in a call to a backend it is the backend's handle; in a call to the
 * wrapper (<fnz/tensor.h>) `tensor` is used instead. Lists are borrowed. */
typedef struct fnz_arg {
  uint8_t tag;   /* fnz_tag */
  uint8_t flags; /* FNZ_ARG_LAST_USE */
  uint32_t count;
  union {
    int64_t i;
    double f;
    uint64_t value;
    fnz_tensor *tensor;
    const char *s;
    const struct fnz_arg *list;
  } u;
} fnz_arg;

/* In a call to a backend: no later call uses this value, so its memory may be reused. */
#define FNZ_ARG_LAST_USE 1

#ifdef __cplusplus
}
#endif
#endif
