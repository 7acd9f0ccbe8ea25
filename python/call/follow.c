/* follow.c - follows long calls: signals, such as Ctrl-C, and the caller's function of Python. */
#include "call.h"

/* Calls the function with the parts of fnz.Progress; only False cancels. NULL: an exception is set.
 */
static bool call_with(PyObject *function, const fnz_progress *p) {
  if (!function || function == Py_None)
    return function != NULL;
  PyObject *said =
      PyObject_CallFunction(function, "ssKKd", p->what, p->unit, (unsigned long long)p->done,
                            (unsigned long long)p->of, p->share);
  const bool goes_on = said && said != Py_False;
  Py_XDECREF(said);
  return goes_on;
}

/* Moves the exception that is set into the list. */
static void keep_raised(PyObject *following) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (value && trace)
    PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  if (value && PyList_SetItem(following, 1, value) != 0)
    PyErr_Clear();
}

/* Python calls this when it goes on: the exception of a signal that has cancelled nothing. */
static int raise_kept(void *user) {
  PyObject *following = user, *value = PyList_GetItem(following, 1);
  const bool is_kept = value && value != Py_None;
  if (is_kept) {
    PyObject *type = PyObject_Type(value);
    PyErr_SetObject(type, value);
    Py_XDECREF(type);
    PyList_SetItem(following, 1, Py_NewRef(Py_None));
  }
  Py_DECREF(following);
  return is_kept ? -1 : 0;
}

bool fnzi_py_follow(void *user, const fnz_progress *progress) {
  PyGILState_STATE lock = PyGILState_Ensure();
  PyObject *following = user;
  const bool is_signal = PyErr_CheckSignals() != 0;
  const bool goes_on = !is_signal && call_with(PyList_GetItem(following, 0), progress);
  if (PyErr_Occurred())
    keep_raised(following);
  if (is_signal && Py_AddPendingCall(raise_kept, Py_NewRef(following)) != 0)
    Py_DECREF(following);
  PyGILState_Release(lock);
  return goes_on;
}
