/* input.c - inputs of a call, looked at where they lie. */
#include "call.h"

#include <string.h>

/* Functions that fail set a Python exception; a call that is left to ctypes begins anew, without
 * it. */
static bool not_here(void) {
  PyErr_Clear();
  return false;
}

/* --- Types ------------------------------------------------------------------------------------ */
static void kind_leave(fnzi_py_kind *kind) {
  Py_CLEAR(kind->type);
  *kind = (fnzi_py_kind){0};
}

/* Asks Python for a type that is not that of the last call. */
static bool kind_find(const fnzi_py_caller *caller, fnzi_py_kind *kind, PyObject *type) {
  kind_leave(kind);
  PyObject *said = PyObject_CallFunctionObjArgs(caller->help.kind_of, type, NULL);
  int access = 0, has_bits = 0;
  unsigned long long address = 0;
  bool is_known = said && PyArg_ParseTuple(said, "iKp", &access, &address, &has_bits);
  Py_XDECREF(said);
  if (!is_known)
    return not_here();
  Py_INCREF(type);
  *kind = (fnzi_py_kind){type, (fnzi_py_access)access, (const fnzi_py_exchange *)(uintptr_t)address,
                         has_bits != 0};
  return true;
}

/* --- Tensors with C functions ----------------------------------------------------------------- */
/* Takes over the result of reading an attribute or of calling a method, and says whether it is
 * False. */
static bool is_false(PyObject *said) {
  bool is = said == Py_False;
  Py_XDECREF(said);
  return is;
}

static bool look_by_functions(fnzi_py_caller *caller, fnzi_py_input *input, PyObject *value) {
  DLManagedTensorVersioned tensor = {.version = {1, 0}};
  const fnzi_py_kind *kind = &input->kind;
  const fnzi_py_words *words = &caller->words;
  if (kind->has_bits && !(is_false(PyObject_GetAttr(value, words->requires_grad)) &&
                          is_false(PyObject_CallMethodObjArgs(value, words->is_neg, NULL))))
    return not_here();
  if (kind->api->look(value, &tensor.dl_tensor))
    return not_here();
  if (kind->has_bits && tensor.dl_tensor.dtype.code == kDLComplex &&
      !is_false(PyObject_CallMethodObjArgs(value, words->is_conj, NULL)))
    return not_here();
  return caller->lib.look(caller->ctx, &tensor, &input->view) == FNZ_OK &&
         (input->view.device.device_type == kDLCPU ||
          input->view.device.device_type == kDLCUDAHost);
}

/* --- Buffers ---------------------------------------------------------------------------------- */
/* The category of an item as include/fnz/types.h names it; 0: fnz has none of that kind. */
static char category_of(const char *format) {
  if (!format)
    return 'u';
  format += *format == '@' || *format == '=' || (*format == '<' && PY_LITTLE_ENDIAN);
  if (*format == 'Z' && (format[1] == 'f' || format[1] == 'd') && !format[2])
    return 'c';
  if (!*format || format[1])
    return 0;
  return *format == '?'                     ? 'b'
         : strchr("bhilqn", *format)        ? 'i'
         : strchr("BHILQNc", *format)       ? 'u'
         : strchr("efd", *format)           ? 'f'
         : *format == 'F' || *format == 'D' ? 'c'
                                            : 0;
}

static bool dtype_find(const fnzi_py_caller *caller, const Py_buffer *buffer, fnz_dtype *out) {
  char category = category_of(buffer->format);
  for (int k = 0; category && k < FNZ_DTYPE_COUNT; k++) {
    const fnz_dtype_info *info = caller->lib.dtype_info((fnz_dtype)k);
    if (info->category == category && info->bytes == (size_t)buffer->itemsize && k != FNZ_BF16 &&
        k < FNZ_F8_E4M3FN && k != FNZ_C32) {
      *out = (fnz_dtype)k;
      return true;
    }
  }
  return false;
}

static bool look_at_buffer(fnzi_py_caller *caller, fnzi_py_input *input, PyObject *value) {
  Py_buffer *buffer = &input->buffer;
  if (PyObject_GetBuffer(value, buffer, PyBUF_RECORDS_RO))
    return not_here();
  input->is_held = true;
  fnz_dlpack_view *view = &input->view;
  fnz_geometry *g = &view->geometry;
  if (buffer->suboffsets || buffer->ndim < 0 || buffer->ndim > FNZ_MAX_RANK ||
      (buffer->ndim && !buffer->strides) || !dtype_find(caller, buffer, &g->dtype) ||
      (uintptr_t)buffer->buf % (size_t)buffer->itemsize)
    return false;
  for (int d = 0; d < buffer->ndim; d++) {
    if (buffer->strides[d] < 0 || buffer->strides[d] % buffer->itemsize)
      return false;
    view->sizes[d] = buffer->shape[d];
    view->strides[d] = buffer->strides[d] / buffer->itemsize;
  }
  g->rank = (uint32_t)buffer->ndim;
  g->sizes = view->sizes;
  g->strides = view->strides;
  view->memory = (fnz_memory){buffer->buf, g};
  view->read_only = buffer->readonly != 0;
  return true;
}

/* --- Tensors of this package ------------------------------------------------------------------ */
static bool look_at_own(const fnzi_py_caller *caller, fnzi_py_input *input, PyObject *value) {
  fnz_dlpack_view *view = &input->view;
  PyObject *shape, *strides;
  unsigned long long address;
  int dtype, read_only;
  PyObject *parts = PyObject_CallFunctionObjArgs(caller->help.parts_of, value, NULL);
  bool is_seen = parts && PyArg_ParseTuple(parts, "KiO!O!p", &address, &dtype, &PyTuple_Type,
                                           &shape, &PyTuple_Type, &strides, &read_only);
  Py_ssize_t rank = is_seen ? PyTuple_Size(shape) : 0;
  is_seen = is_seen && rank <= FNZ_MAX_RANK && PyTuple_Size(strides) == rank &&
            fnzi_py_read_numbers(shape, (uint32_t)rank, view->sizes) &&
            fnzi_py_read_numbers(strides, (uint32_t)rank, view->strides);
  Py_XDECREF(parts);
  if (!is_seen)
    return not_here();
  view->geometry = (fnz_geometry){.dtype = (fnz_dtype)dtype,
                                  .rank = (uint32_t)rank,
                                  .sizes = view->sizes,
                                  .strides = view->strides};
  view->memory = (fnz_memory){(void *)(uintptr_t)address, &view->geometry};
  view->read_only = read_only != 0;
  return true;
}

/* --- One input -------------------------------------------------------------------------------- */
static bool look_at_number(fnzi_py_input *input, PyObject *value) {
  if (!PyLong_CheckExact(value))
    return false;
  input->number = PyLong_AsLongLong(value);
  return !PyErr_Occurred() || not_here();
}

bool fnzi_py_input_look(fnzi_py_caller *caller, fnzi_py_input *input, PyObject *value) {
  if (input->is_number)
    return look_at_number(input, value);
  PyObject *type = (PyObject *)Py_TYPE(value);
  if (type != input->kind.type && !kind_find(caller, &input->kind, type))
    return false;
  fnzi_py_access access = input->kind.access;
  bool is_seen = access == FNZI_PY_EXCHANGE  ? look_by_functions(caller, input, value)
                 : access == FNZI_PY_OWN     ? look_at_own(caller, input, value)
                 : access != FNZI_PY_UNKNOWN ? look_at_buffer(caller, input, value)
                                             : false;
  if (!is_seen || (input->is_donated && input->view.read_only))
    return false;
  *input->memory = input->view.memory;
  return true;
}

void fnzi_py_input_leave(fnzi_py_input *input) {
  if (input->is_held)
    PyBuffer_Release(&input->buffer);
  input->is_held = false;
}

void fnzi_py_input_close(fnzi_py_input *input) {
  fnzi_py_input_leave(input);
  kind_leave(&input->kind);
}
