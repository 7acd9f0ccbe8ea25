/* caller.c - one call after the other of one executable. */
#include "call.h"

#include <stdlib.h>
#include <string.h>

/* --- A call ----------------------------------------------------------------------------------- */
static bool look_at_all(fnzi_py_caller *c, PyObject *leaves) {
  bool is_tuple = PyTuple_Check(leaves);
  if (!is_tuple && !PyList_Check(leaves))
    return false;
  if ((size_t)(is_tuple ? PyTuple_Size(leaves) : PyList_Size(leaves)) != c->ninputs)
    return false;
  for (size_t k = 0; k < c->ninputs; k++) {
    Py_ssize_t at = (Py_ssize_t)k;
    PyObject *value = is_tuple ? PyTuple_GetItem(leaves, at) : PyList_GetItem(leaves, at);
    if (!value || !fnzi_py_input_look(c, &c->inputs[k], value))
      return false;
  }
  return true;
}

/* The address that a handle has; NULL for none. */
static void *address_of(const fnzi_py_caller *c, PyObject *handle) {
  PyObject *number = handle ? PyObject_GetAttr(handle, c->words.address) : NULL;
  void *address = number ? PyLong_AsVoidPtr(number) : NULL;
  Py_XDECREF(number);
  return address;
}

/* The run itself, while other threads of Python go on; false: a Python exception is set. */
static bool run_locked(fnzi_py_caller *c) {
  PyObject *state = Py_XNewRef(c->state), *generator = Py_XNewRef(c->generator);
  c->run.state = address_of(c, state);
  c->lib.set_generator(c->ctx, address_of(c, generator));
  PyThreadState *thread = PyEval_SaveThread();
  fnz_status status = c->lib.run(c->ctx, c->exe, &c->run);
  PyEval_RestoreThread(thread);
  Py_XDECREF(state);
  Py_XDECREF(generator);
  if (status != FNZ_OK) {
    PyObject *address = PyLong_FromVoidPtr(c->ctx);
    Py_XDECREF(address ? PyObject_CallFunctionObjArgs(c->help.fail, address, NULL) : NULL);
    Py_XDECREF(address);
    return false;
  }
  bool is_taken = true;
  for (size_t k = 0; k < c->noutputs && is_taken; k++)
    is_taken = fnzi_py_output_take(c, &c->outputs[k]);
  return is_taken;
}

/* One run at a time: results in the workspace are copied before another run begins. */
static bool run_alone(fnzi_py_caller *c) {
  PyObject *lock = PyObject_GetAttr(c->shared, c->words.lock);
  PyObject *said = lock ? PyObject_CallMethodObjArgs(lock, c->words.acquire, NULL) : NULL;
  if (!said) {
    Py_XDECREF(lock);
    return false;
  }
  Py_DECREF(said);
  bool ran = run_locked(c);
  PyObject *type, *value, *trace; /* of a failure, which calling a method would hide */
  PyErr_Fetch(&type, &value, &trace);
  said = PyObject_CallMethodObjArgs(lock, c->words.release, NULL);
  if (said)
    PyErr_Restore(type, value, trace);
  Py_DECREF(lock);
  Py_XDECREF(said);
  return ran && said;
}

static PyObject *make_all(fnzi_py_caller *c, PyObject *leaves) {
  const fnzi_py_kind *giver = NULL; /* of the first input that decides the library of results */
  for (size_t k = 0; !giver && k < c->ninputs; k++) {
    const fnzi_py_kind *kind = &c->inputs[k].kind;
    if (!c->inputs[k].is_number &&
        (kind->access == FNZI_PY_EXCHANGE || kind->access == FNZI_PY_NUMPY))
      giver = kind;
  }
  PyObject *made = PyList_New(0);
  for (size_t k = 0; made && k < c->noutputs; k++) {
    if (c->outputs[k].is_in_state)
      continue;
    PyObject *one = fnzi_py_output_make(c, &c->outputs[k], giver, leaves);
    if (!one || PyList_Append(made, one))
      Py_CLEAR(made);
    Py_XDECREF(one);
  }
  return made;
}

PyDoc_STRVAR(call_text, "call(leaves) -> list of results, without those in the state; "
                        "NotImplemented: make this call by "
                        "ctypes, nothing was run.");

static PyObject *call(PyObject *self, PyObject *leaves) {
  fnzi_py_caller *c = (fnzi_py_caller *)self;
  if (c->is_busy)
    Py_RETURN_NOTIMPLEMENTED;
  c->is_busy = true;
  PyObject *made;
  bool is_ready = look_at_all(c, leaves);
  for (size_t k = 0; is_ready && k < c->noutputs; k++)
    is_ready = fnzi_py_output_prepare(c, &c->outputs[k]);
  if (!is_ready)
    made = Py_NewRef(Py_NotImplemented);
  else
    made = run_alone(c) ? make_all(c, leaves) : NULL;
  for (size_t k = 0; k < c->noutputs; k++)
    fnzi_py_output_drop(&c->outputs[k]);
  for (size_t k = 0; k < c->ninputs; k++)
    fnzi_py_input_leave(&c->inputs[k]);
  c->is_busy = false;
  return made;
}

/* --- Its parts -------------------------------------------------------------------------------- */
/* Keeps what is given in place of a handle; None: none. */
static PyObject *set_handle(PyObject **kept, PyObject *handle) {
  PyObject *old = *kept;
  *kept = handle == Py_None ? NULL : Py_NewRef(handle);
  Py_XDECREF(old);
  Py_RETURN_NONE;
}

PyDoc_STRVAR(state_text,
             "set_state(handle or None): the state of the calls to come; by who has the lock.");

static PyObject *set_state(PyObject *self, PyObject *handle) {
  return set_handle(&((fnzi_py_caller *)self)->state, handle);
}

PyDoc_STRVAR(
    generator_text,
    "set_generator(handle or None): random numbers of the calls to come; by who has the lock.");

static PyObject *set_generator(PyObject *self, PyObject *handle) {
  return set_handle(&((fnzi_py_caller *)self)->generator, handle);
}

/* --- Making and ending one -------------------------------------------------------------------- */
/* The address of a function, which Python gives as a number, in place of `out`. */
static bool read_addresses(PyObject *addresses, void *out, size_t count) {
  for (size_t k = 0; k < count; k++) {
    PyObject *one = PyTuple_GetItem(addresses, (Py_ssize_t)k);
    void *address = one ? PyLong_AsVoidPtr(one) : NULL;
    if (!address)
      return false;
    memcpy((char *)out + k * sizeof address, &address, sizeof address);
  }
  return true;
}

static bool read_objects(PyObject *objects, PyObject **out, size_t count) {
  for (size_t k = 0; k < count; k++) {
    out[k] = Py_XNewRef(PyTuple_GetItem(objects, (Py_ssize_t)k));
    if (!out[k])
      return false;
  }
  return true;
}

static bool make_words(fnzi_py_words *words) {
  words->requires_grad = PyUnicode_InternFromString("requires_grad");
  words->is_neg = PyUnicode_InternFromString("is_neg");
  words->is_conj = PyUnicode_InternFromString("is_conj");
  words->lock = PyUnicode_InternFromString("lock");
  words->acquire = PyUnicode_InternFromString("acquire");
  words->release = PyUnicode_InternFromString("release");
  words->address = PyUnicode_InternFromString("address");
  return words->requires_grad && words->is_neg && words->is_conj && words->lock && words->acquire &&
         words->release && words->address;
}

static bool open_inputs(fnzi_py_caller *c, PyObject *described) {
  c->ninputs = (size_t)PyTuple_Size(described);
  c->given = calloc(c->ninputs + 1, sizeof *c->given);
  c->inputs = calloc(c->ninputs + 1, sizeof *c->inputs);
  if (!c->given || !c->inputs)
    return PyErr_NoMemory() != NULL;
  for (size_t k = 0; k < c->ninputs; k++) {
    int is_number = 0, is_donated = 0;
    fnzi_py_input *input = &c->inputs[k];
    input->memory = &c->given[k];
    if (!PyArg_ParseTuple(PyTuple_GetItem(described, (Py_ssize_t)k), "pp", &is_number, &is_donated))
      return false;
    input->is_number = is_number;
    input->is_donated = is_donated;
    if (is_number)
      input->memory->data = &input->number;
  }
  return true;
}

static bool open_outputs(fnzi_py_caller *c, PyObject *described) {
  size_t count = (size_t)PyTuple_Size(described);
  c->asked = calloc(count + 1, sizeof *c->asked);
  c->outputs = calloc(count + 1, sizeof *c->outputs);
  if (!c->asked || !c->outputs)
    return PyErr_NoMemory() != NULL;
  for (; c->noutputs < count; c->noutputs++) {
    fnzi_py_output *output = &c->outputs[c->noutputs];
    output->memory = &c->asked[c->noutputs];
    PyObject *one = PyTuple_GetItem(described, (Py_ssize_t)c->noutputs);
    if (!fnzi_py_output_open(c, output, one)) {
      fnzi_py_output_close(output);
      return false;
    }
  }
  return true;
}

static bool open(fnzi_py_caller *c, PyObject *args) {
  PyObject *functions, *helpers, *shared, *context, *executable, *workspace, *inputs, *outputs;
  if (!PyArg_ParseTuple(args, "O!O!OOOOO!O!", &PyTuple_Type, &functions, &PyTuple_Type, &helpers,
                        &shared, &context, &executable, &workspace, &PyTuple_Type, &inputs,
                        &PyTuple_Type, &outputs))
    return false;
  c->shared = Py_NewRef(shared);
  c->keeps = PyTuple_Pack(3, context, executable, workspace);
  if (!c->keeps || !make_words(&c->words) ||
      !read_addresses(functions, &c->lib, sizeof c->lib / sizeof(void *)) ||
      !read_objects(helpers, (PyObject **)&c->help, sizeof c->help / sizeof(PyObject *)))
    return false;
  c->ctx = address_of(c, context);
  c->exe = address_of(c, executable);
  c->run.size = sizeof c->run;
  c->run.workspace = address_of(c, workspace);
  if (PyErr_Occurred() || !open_inputs(c, inputs) || !open_outputs(c, outputs))
    return false;
  c->run.inputs = c->given;
  c->run.outputs = c->asked;
  return true;
}

static PyObject *new_caller(PyTypeObject *type, PyObject *args, PyObject *named) {
  (void)named;
  fnzi_py_caller *c = (fnzi_py_caller *)PyType_GenericAlloc(type, 0);
  if (c && !open(c, args)) {
    if (!PyErr_Occurred())
      PyErr_SetString(PyExc_ValueError, "fnz: a function has no address");
    Py_CLEAR(c);
  }
  return (PyObject *)c;
}

static void caller_end(PyObject *self) {
  fnzi_py_caller *c = (fnzi_py_caller *)self;
  PyTypeObject *type = Py_TYPE(self);
  for (size_t k = 0; k < c->noutputs; k++)
    fnzi_py_output_close(&c->outputs[k]);
  for (size_t k = 0; c->inputs && k < c->ninputs; k++)
    fnzi_py_input_close(&c->inputs[k]);
  PyObject *held[] = {c->help.memory,         c->help.fail,     c->help.kind_of,
                      c->help.tensor,         c->help.parts_of, c->help.numpy_of,
                      c->words.requires_grad, c->words.is_neg,  c->words.is_conj,
                      c->words.lock,          c->words.acquire, c->words.release,
                      c->words.address,       c->shared,        c->state,
                      c->generator,           c->array,         c->keeps};
  for (size_t k = 0; k < sizeof held / sizeof *held; k++)
    Py_XDECREF(held[k]);
  free(c->outputs);
  free(c->inputs);
  free(c->given);
  free(c->asked);
  PyObject_Free(self);
  Py_DECREF(type);
}

PyObject *fnzi_py_caller_type(PyObject *module) {
  /* The type refers to it. */
  static PyMethodDef methods[] = {{"call", call, METH_O, call_text},
                                  {"set_state", set_state, METH_O, state_text},
                                  {"set_generator", set_generator, METH_O, generator_text},
                                  {NULL, NULL, 0, NULL}};
  PyType_Slot slots[] = {
      {Py_tp_new, new_caller}, {Py_tp_dealloc, caller_end}, {Py_tp_methods, methods}, {0, NULL}};
  PyType_Spec spec = {"fnz._call.Caller", sizeof(fnzi_py_caller), 0, Py_TPFLAGS_DEFAULT, slots};
  return PyType_FromModuleAndSpec(module, &spec, NULL);
}
