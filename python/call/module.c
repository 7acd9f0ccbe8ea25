/* module.c - fnz._call, which python/fnz/quick.py loads. */
#include "call.h"

#define TEXT(number)    #number
#define DOTTED(a, b, c) TEXT(a) "." TEXT(b) "." TEXT(c)

static int add(PyObject *module, const char *name, PyObject *owned) {
  int status = owned ? PyModule_AddObjectRef(module, name, owned) : -1;
  Py_XDECREF(owned);
  return status;
}

/* VERSION is that of the headers whose structures are used here. */
static int fill(PyObject *module) {
  const char *version = DOTTED(FNZ_VERSION_MAJOR, FNZ_VERSION_MINOR, FNZ_VERSION_PATCH);
  if (add(module, "Memory", fnzi_py_memory_type(module)) ||
      add(module, "Caller", fnzi_py_caller_type(module)) ||
      add(module, "FOLLOW", PyLong_FromVoidPtr((void *)fnzi_py_follow)))
    return -1;
  return PyModule_AddStringConstant(module, "VERSION", version);
}

PyMODINIT_FUNC PyInit__call(void);

PyMODINIT_FUNC PyInit__call(void) {
  static PyModuleDef_Slot slots[] = {{Py_mod_exec, fill}, {0, NULL}};
  static PyModuleDef module = {
      .m_base = PyModuleDef_HEAD_INIT, .m_name = "fnz._call", .m_size = 0, .m_slots = slots};
  return PyModuleDef_Init(&module);
}
