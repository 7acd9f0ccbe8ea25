/* output.c - results of a call: memory for the run to write to, and tensors over it. */
#include "call.h"

#include <stdlib.h>
#include <string.h>

/* --- What an output is ------------------------------------------------------------------------ */
bool fnzi_py_read_numbers(PyObject *tuple, uint32_t rank, int64_t *out) {
  for (uint32_t d = 0; d < rank; d++) {
    out[d] = PyLong_AsLongLong(PyTuple_GetItem(tuple, d));
    if (out[d] == -1 && PyErr_Occurred())
      return false;
  }
  return true;
}

/* Returns a tuple of numbers times `factor`. */
static PyObject *tuple_of(const int64_t *numbers, uint32_t rank, size_t factor) {
  PyObject *tuple = PyTuple_New(rank);
  for (uint32_t d = 0; tuple && d < rank; d++) {
    PyObject *number = PyLong_FromLongLong(numbers[d] * (int64_t)factor);
    if (!number || PyTuple_SetItem(tuple, d, number)) {
      Py_DECREF(tuple);
      return NULL;
    }
  }
  return tuple;
}

/* Bytes from the first element to behind the last one. */
static size_t span(const int64_t *numbers, uint32_t rank, size_t cell) {
  size_t last = 0;
  for (uint32_t d = 0; d < rank; d++) {
    if (!numbers[d])
      return 0;
    last += (size_t)(numbers[d] - 1) * (size_t)numbers[rank + d];
  }
  return (last + 1) * cell;
}

/* Asks the library for the dtype of its DLPack tensors. */
static bool find_exported(fnzi_py_caller *caller, fnzi_py_output *output) {
  fnz_geometry scalar = {.dtype = (fnz_dtype)output->dtype};
  uint64_t element[2] = {0, 0};
  fnz_memory memory = {element, &scalar};
  DLManagedTensorVersioned *tensor = NULL;
  if (caller->lib.make(caller->ctx, &memory, NULL, &tensor) != FNZ_OK)
    return false;
  output->exported = tensor->dl_tensor.dtype;
  tensor->deleter(tensor);
  return true;
}

static bool fix_sizes(fnzi_py_output *output) {
  uint32_t rank = output->rank;
  if (!fnzi_py_read_numbers(output->shape, rank, output->numbers) ||
      !fnzi_py_read_numbers(output->strides, rank, output->numbers + rank))
    return false;
  output->steps = tuple_of(output->numbers + rank, rank, output->cell);
  output->bytes = span(output->numbers, rank, output->cell);
  output->geometry = (fnz_geometry){.dtype = (fnz_dtype)output->dtype,
                                    .rank = rank,
                                    .sizes = output->numbers,
                                    .strides = output->numbers + rank};
  return output->steps != NULL;
}

bool fnzi_py_output_open(fnzi_py_caller *caller, fnzi_py_output *output, PyObject *described) {
  int is_in_state = 0, is_number = 0, is_written = 0;
  Py_ssize_t cell = 0, rank = 0;
  PyObject *row, *shape, *strides;
  if (!PyArg_ParseTuple(described, "ppipOinnOO", &is_in_state, &is_number, &output->in_place,
                        &is_written, &row, &output->dtype, &cell, &rank, &shape, &strides))
    return false;
  output->is_in_state = is_in_state;
  output->is_number = is_number;
  output->is_written = is_written;
  if (is_in_state || is_number || output->in_place >= 0)
    return true;
  output->cell = (size_t)cell;
  output->rank = (uint32_t)rank;
  output->is_fixed = shape != Py_None;
  output->row = Py_NewRef(row);
  output->numbers = calloc(2 * output->rank + 1, sizeof *output->numbers);
  output->pool = fnzi_py_pool_create(output->rank);
  if (!output->numbers || !output->pool || !find_exported(caller, output)) {
    PyErr_NoMemory();
    return false;
  }
  if (!output->is_fixed)
    return true;
  output->shape = Py_NewRef(shape);
  output->strides = Py_NewRef(strides);
  return fix_sizes(output);
}

void fnzi_py_output_close(fnzi_py_output *output) {
  fnzi_py_output_drop(output);
  fnzi_py_pool_leave(output->pool);
  free(output->numbers);
  Py_XDECREF(output->row);
  Py_XDECREF(output->numpy);
  Py_XDECREF(output->shape);
  Py_XDECREF(output->strides);
  Py_XDECREF(output->steps);
}

/* --- Memory ----------------------------------------------------------------------------------- */
bool fnzi_py_output_prepare(fnzi_py_caller *caller, fnzi_py_output *output) {
  *output->memory = (fnz_memory){NULL, NULL};
  if (output->is_in_state)
    return true;
  if (output->is_written) {
    *output->memory = *caller->inputs[output->in_place].memory;
    return true;
  }
  if (!output->is_fixed || output->in_place >= 0)
    return true;
  output->block = fnzi_py_block_take(output->pool, output->bytes);
  if (output->block)
    *output->memory = (fnz_memory){output->block->data, &output->geometry};
  return output->block != NULL;
}

bool fnzi_py_output_take(fnzi_py_caller *caller, fnzi_py_output *output) {
  if (output->is_in_state || output->is_fixed || output->in_place >= 0)
    return true;
  const fnz_geometry *g = output->memory->geometry;
  if (output->is_number) {
    output->dtype = (int)g->dtype;
    char category = caller->lib.dtype_info(g->dtype)->category;
    output->number = 0;
    memcpy(&output->number, output->memory->data, category == 'b' ? sizeof(bool) : 8);
    return true;
  }
  if (g->rank != output->rank) {
    PyErr_SetString(PyExc_SystemError, "fnz: a result has another rank than its program says");
    return false;
  }
  memcpy(output->numbers, g->sizes, g->rank * sizeof(int64_t));
  memcpy(output->numbers + g->rank, g->strides, g->rank * sizeof(int64_t));
  output->bytes = span(output->numbers, g->rank, output->cell);
  output->block = fnzi_py_block_take(output->pool, output->bytes);
  if (!output->block)
    return PyErr_NoMemory() != NULL;
  if (output->bytes)
    memcpy(output->block->data, output->memory->data, output->bytes);
  return true;
}

void fnzi_py_output_drop(fnzi_py_output *output) {
  fnzi_py_block_give(output->block);
  output->block = NULL;
}

/* --- Numbers ---------------------------------------------------------------------------------- */
static PyObject *make_number(const fnzi_py_caller *caller, const fnzi_py_output *output) {
  char category = caller->lib.dtype_info((fnz_dtype)output->dtype)->category;
  if (category == 'b')
    return PyBool_FromLong(output->number != 0);
  if (category != 'f')
    return PyLong_FromLongLong(output->number);
  double number;
  memcpy(&number, &output->number, sizeof number);
  return PyFloat_FromDouble(number);
}

/* --- Tensors ---------------------------------------------------------------------------------- */
/* DLPack's consumers call this in any thread, without Python. */
static void end_managed(DLManagedTensorVersioned *managed) {
  fnzi_py_block_give((fnzi_py_block *)managed);
}

/* A tensor of a library with C functions, which has the block from now on. */
static PyObject *make_exchanged(fnzi_py_output *output, const fnzi_py_exchange *api) {
  fnzi_py_block *block = output->block;
  uint32_t rank = output->rank;
  memcpy(block->numbers, output->numbers, 2 * rank * sizeof(int64_t));
  block->managed = (DLManagedTensorVersioned){.version = {1, 0},
                                              .deleter = end_managed,
                                              .dl_tensor = {.data = block->data,
                                                            .device = {kDLCPU, 0},
                                                            .ndim = (int32_t)rank,
                                                            .dtype = output->exported,
                                                            .shape = block->numbers,
                                                            .strides = block->numbers + rank}};
  void *made = NULL;
  output->block = NULL;
  return api->to_object(&block->managed, &made) ? NULL : made;
}

/* The block as an object of Python; `shape` and `strides` are new references. */
static PyObject *open_memory(fnzi_py_caller *caller, fnzi_py_output *output, size_t unit,
                             PyObject **shape, PyObject **strides) {
  const int64_t *numbers = output->numbers;
  uint32_t rank = output->rank;
  PyObject *known = unit == 1 ? output->strides : output->steps;
  *shape = output->is_fixed ? Py_NewRef(output->shape) : tuple_of(numbers, rank, 1);
  *strides = output->is_fixed ? Py_NewRef(known) : tuple_of(numbers + rank, rank, unit);
  if (!*shape || !*strides)
    return NULL;
  PyObject *memory = fnzi_py_memory_of(caller->help.memory, output->block, output->bytes);
  if (memory)
    output->block = NULL;
  return memory;
}

/* fnz.Tensor(address, row, shape, strides, owner) */
static PyObject *make_own(fnzi_py_caller *caller, fnzi_py_output *output) {
  PyObject *shape = NULL, *strides = NULL, *made = NULL;
  PyObject *address = PyLong_FromVoidPtr(output->block->data);
  PyObject *memory = address ? open_memory(caller, output, 1, &shape, &strides) : NULL;
  if (memory)
    made = PyObject_CallFunctionObjArgs(caller->help.tensor, address, output->row, shape, strides,
                                        memory, NULL);
  Py_XDECREF(memory);
  Py_XDECREF(address);
  Py_XDECREF(shape);
  Py_XDECREF(strides);
  return made;
}

/* Finds numpy.ndarray, and the dtype of a result. */
static bool find_numpy(fnzi_py_caller *caller, fnzi_py_output *output) {
  PyObject *array, *dtype;
  PyObject *said = PyObject_CallFunctionObjArgs(caller->help.numpy_of, output->row, NULL);
  bool is_known = said && PyArg_ParseTuple(said, "OO", &array, &dtype);
  if (is_known) {
    Py_CLEAR(caller->array);
    caller->array = Py_NewRef(array);
    output->numpy = Py_NewRef(dtype);
  }
  Py_XDECREF(said);
  return is_known;
}

/* numpy.ndarray(shape, dtype, buffer, offset, strides) */
static PyObject *make_numpy(fnzi_py_caller *caller, fnzi_py_output *output) {
  if (!output->numpy && !find_numpy(caller, output))
    return NULL;
  if (output->numpy == Py_None)
    return make_own(caller, output);
  PyObject *shape = NULL, *strides = NULL, *made = NULL;
  PyObject *zero = PyLong_FromLong(0);
  PyObject *memory = zero ? open_memory(caller, output, output->cell, &shape, &strides) : NULL;
  if (memory)
    made = PyObject_CallFunctionObjArgs(caller->array, shape, output->numpy, memory, zero, strides,
                                        NULL);
  Py_XDECREF(memory);
  Py_XDECREF(zero);
  Py_XDECREF(shape);
  Py_XDECREF(strides);
  return made;
}

PyObject *fnzi_py_output_make(fnzi_py_caller *caller, fnzi_py_output *output,
                              const fnzi_py_kind *giver, PyObject *leaves) {
  if (output->is_number)
    return make_number(caller, output);
  if (output->in_place >= 0)
    return PySequence_GetItem(leaves, output->in_place);
  if (giver && giver->access == FNZI_PY_EXCHANGE)
    return make_exchanged(output, giver->api);
  if (giver && giver->access == FNZI_PY_NUMPY)
    return make_numpy(caller, output);
  return make_own(caller, output);
}
