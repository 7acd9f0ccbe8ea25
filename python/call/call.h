/* call.h - a call of an executable from Python: inputs are looked at, the program runs, results are
 * made.
 *
 * The module serves frequent calls; python/fnz/executable.py serves all others by ctypes. A call
 * that is not served here, or that fails before the run begins, returns NotImplemented, and Python
 * makes it by ctypes. So messages of errors are written in one place.
 *
 * The module is not linked with libfnz, because Python has opened one already and gives the
 * addresses of its functions. It needs CPython's stable interface of version 3.11, where buffers
 * became a part of it. One file serves every later Python.
 *
 * The caller of a function holds Python's lock, except for fnzi_py_block_give(). */
#ifndef FNZI_PY_CALL_H
#define FNZI_PY_CALL_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>
#include <fnz/dlpack.h>
#include <fnz/engine.h>
#include <fnz/random.h>
#include <stdatomic.h>

/* --- Memory of results (memory.c) ------------------------------------------------------------- */
/* The memory of one output. Each result has a block of it. The block comes back when the last
 * object that refers to it has ended, and serves a later result. */
typedef struct fnzi_py_pool fnzi_py_pool;

typedef struct fnzi_py_block {
  DLManagedTensorVersioned managed; /* for consumers of DLPack: its deleter gives the block back */
  fnzi_py_pool *pool;
  size_t capacity; /* of `data`, in bytes */
  unsigned char *data;
  int64_t numbers[]; /* sizes, then strides, of a result of the pool's rank */
} fnzi_py_block;

/* Returns a pool for results of this rank, or NULL: there is no memory. */
fnzi_py_pool *fnzi_py_pool_create(uint32_t rank);
/* The pool ends when all its blocks are back. NULL is allowed. */
void fnzi_py_pool_leave(fnzi_py_pool *pool);
/* Returns a block of the pool, or NULL: there is no memory. */
fnzi_py_block *fnzi_py_block_take(fnzi_py_pool *pool, size_t bytes);
/* In any thread, with Python's lock or without. NULL is allowed. */
void fnzi_py_block_give(fnzi_py_block *block);

/* The type of Python objects that own a block and are a buffer over its first bytes. */
PyObject *fnzi_py_memory_type(PyObject *module);
/* Takes the block over, unless it fails. */
PyObject *fnzi_py_memory_of(PyObject *type, fnzi_py_block *block, size_t bytes);

/* --- Long calls (follow.c) -------------------------------------------------------------------- */
/* A fnz_progress_fn. `user` is a list of two: a function of Python, or None, that is called with
 * the parts of fnz.Progress and cancels with False; and the exception that has cancelled the call.
 * In any thread, without Python's lock or with it. */
bool fnzi_py_follow(void *user, const fnz_progress *progress);

/* --- Inputs (input.c) ------------------------------------------------------------------------- */
/* DLPackExchangeAPI of DLPack 1.3: functions that a library of tensors has for its own type. */
typedef struct fnzi_py_exchange {
  DLPackVersion version;
  void *previous, *allocate, *from_object;
  int (*to_object)(DLManagedTensorVersioned *tensor, void **out);
  int (*look)(void *object, DLTensor *out);
  void *stream;
} fnzi_py_exchange;

/* How inputs of a type are looked at; the numbers are known to python/fnz/quick.py. */
typedef enum fnzi_py_access {
  FNZI_PY_UNKNOWN = 0, /* by ctypes */
  FNZI_PY_EXCHANGE,    /* by functions of its library */
  FNZI_PY_NUMPY,       /* as a buffer, and results are NumPy's */
  FNZI_PY_BUFFER,      /* as a buffer */
  FNZI_PY_OWN          /* as a fnz.Tensor */
} fnzi_py_access;

/* A type of inputs. */
typedef struct fnzi_py_kind {
  PyObject *type; /* NULL: none yet */
  fnzi_py_access access;
  const fnzi_py_exchange *api;
  bool has_bits; /* PyTorch's: memory alone does not say all of its tensors */
} fnzi_py_kind;

typedef struct fnzi_py_input {
  fnz_memory *memory; /* an entry of fnzi_py_caller.given */
  bool is_number, is_donated, is_held;
  int64_t number;
  fnzi_py_kind kind; /* of the last value that was given */
  fnz_dlpack_view view;
  Py_buffer buffer; /* if it is held */
} fnzi_py_input;

/* --- Results (output.c) ----------------------------------------------------------------------- */
typedef struct fnzi_py_output {
  fnz_memory *memory; /* an entry of fnzi_py_caller.asked */
  bool is_number, is_in_state;
  bool is_fixed;   /* sizes of a result are known before the run */
  int in_place;    /* the input that is the result; or -1 */
  bool is_written; /* that input's memory gets the result; else it has it by another output */
  int dtype;
  uint32_t rank;
  fnz_geometry geometry; /* of a result of fixed sizes: */
  int64_t *numbers;      /* its sizes and strides */
  size_t bytes, cell;    /* of all elements; of one */
  DLDataType exported;   /* the dtype, as DLPack has it */
  fnzi_py_pool *pool;
  fnzi_py_block *block; /* during a call */
  int64_t number;       /* result of the last run: an integer, the bits of a double, or a bool */
  PyObject *row;        /* of fnz.dtypes */
  PyObject *numpy;      /* the dtype of NumPy; None: it has none; NULL: not known yet */
  PyObject *shape, *strides, *steps; /* of fixed sizes: in elements, and in bytes; or NULL */
} fnzi_py_output;

/* --- A caller (caller.c) ---------------------------------------------------------------------- */
/* Functions of the library and of this package, in the order in which Python gives them. */
typedef struct fnzi_py_library {
  fnz_status (*run)(fnz_context *ctx, const fnz_executable *exe, const fnz_execution *run);
  fnz_status (*look)(fnz_context *ctx, const DLManagedTensorVersioned *tensor,
                     fnz_dlpack_view *out);
  fnz_status (*make)(fnz_context *ctx, const fnz_memory *memory, const fnz_dlpack_options *options,
                     DLManagedTensorVersioned **out);
  const fnz_dtype_info *(*dtype_info)(fnz_dtype dtype);
  void (*set_generator)(fnz_context *ctx, fnz_generator *generator);
} fnzi_py_library;

typedef struct fnzi_py_helpers {
  PyObject *memory;   /* the type of fnzi_py_memory_type() */
  PyObject *fail;     /* (context) raises its last failure */
  PyObject *kind_of;  /* (type) -> (access, address of its functions, has bits) */
  PyObject *tensor;   /* fnz.Tensor */
  PyObject *parts_of; /* (fnz.Tensor) -> (address, dtype, shape, strides, read-only) */
  PyObject *numpy_of; /* (row) -> (numpy.ndarray, numpy.dtype or None) */
} fnzi_py_helpers;

/* Names of attributes and methods. */
typedef struct fnzi_py_words {
  PyObject *requires_grad, *is_neg, *is_conj, *lock, *acquire, *release, *address;
} fnzi_py_words;

typedef struct fnzi_py_caller {
  PyObject ob_base;
  fnzi_py_library lib;
  fnzi_py_helpers help;
  fnzi_py_words words;
  PyObject *shared;            /* the context whose `lock` all runs of the executable take */
  PyObject *keeps;             /* the handles of `ctx`, `exe` and the workspace */
  PyObject *state, *generator; /* handles; NULL: none */
  PyObject *array;             /* numpy.ndarray; NULL: not known yet */
  fnz_context *ctx;            /* of this caller alone */
  const fnz_executable *exe;
  fnz_execution run;
  fnz_memory *given, *asked;
  fnzi_py_input *inputs;
  fnzi_py_output *outputs;
  size_t ninputs, noutputs;
  bool is_busy; /* a call of this caller has begun and not ended */
} fnzi_py_caller;

PyObject *fnzi_py_caller_type(PyObject *module);

/* Looks at an input; false: it is not for this module. The look is valid until
 * fnzi_py_input_leave(). */
bool fnzi_py_input_look(fnzi_py_caller *caller, fnzi_py_input *input, PyObject *value);
void fnzi_py_input_leave(fnzi_py_input *input);
/* At the end of the caller. */
void fnzi_py_input_close(fnzi_py_input *input);

/* Reads the tuple that python/fnz/quick.py has of an output; false: a Python exception is set. */
bool fnzi_py_output_open(fnzi_py_caller *caller, fnzi_py_output *output, PyObject *described);
void fnzi_py_output_close(fnzi_py_output *output);
/* Reads `rank` integers of a tuple; false: a Python exception is set. */
bool fnzi_py_read_numbers(PyObject *tuple, uint32_t rank, int64_t *out);
/* Gives the run memory to write to; false: there is none. */
bool fnzi_py_output_prepare(fnzi_py_caller *caller, fnzi_py_output *output);
/* Takes what is in the workspace, which the next run overwrites; false: a Python exception is set.
 */
bool fnzi_py_output_take(fnzi_py_caller *caller, fnzi_py_output *output);
/* Returns the result as a number, or as a tensor of the library that `giver` is of; NULL: a Python
 * exception is set.
 * leaves  the inputs of the call. */
PyObject *fnzi_py_output_make(fnzi_py_caller *caller, fnzi_py_output *output,
                              const fnzi_py_kind *giver, PyObject *leaves);
/* Gives memory back that no result took over. */
void fnzi_py_output_drop(fnzi_py_output *output);

#endif
