/* pt2_write_names.c - names as torch.fx wants them.
 *
 * needs   only the graph
 * keeps   names of inputs, and every name that is a Python identifier and hides no builtin of
 * Python: FX would give such a node another name than the signature says
 * gives   a name for each value, and for each node that has not one result to be named after */
#include "program/formats/pt2_write.h"

#include <stdio.h>
#include <stdlib.h>

/* Keywords and builtins of Python 3, sorted. */
/* clang-format off */
static const char *const reserved[] = {
    "ArithmeticError", "AssertionError", "AttributeError", "BaseException", "BaseExceptionGroup",
    "BlockingIOError", "BrokenPipeError", "BufferError", "BytesWarning", "ChildProcessError",
    "ConnectionAbortedError", "ConnectionError", "ConnectionRefusedError", "ConnectionResetError",
    "DeprecationWarning", "EOFError", "Ellipsis", "EncodingWarning", "EnvironmentError",
    "Exception", "ExceptionGroup", "False", "FileExistsError", "FileNotFoundError",
    "FloatingPointError", "FutureWarning", "GeneratorExit", "IOError", "ImportError",
    "ImportWarning", "IndentationError", "IndexError", "InterruptedError", "IsADirectoryError",
    "KeyError", "KeyboardInterrupt", "LookupError", "MemoryError", "ModuleNotFoundError",
    "NameError", "None", "NoneType", "NotADirectoryError", "NotImplemented", "NotImplementedError",
    "OSError", "OverflowError", "PendingDeprecationWarning", "PermissionError",
    "ProcessLookupError", "PythonFinalizationError", "RecursionError", "ReferenceError",
    "ResourceWarning", "RuntimeError", "RuntimeWarning", "StopAsyncIteration", "StopIteration",
    "SyntaxError", "SyntaxWarning", "SystemError", "SystemExit", "TabError", "TimeoutError", "True",
    "TypeError", "UnboundLocalError", "UnicodeDecodeError", "UnicodeEncodeError", "UnicodeError",
    "UnicodeTranslateError", "UnicodeWarning", "UserWarning", "ValueError", "Warning",
    "ZeroDivisionError", "__build_class__", "__debug__", "__doc__", "__import__", "__loader__",
    "__name__", "__package__", "__spec__", "abs", "aiter", "all", "and", "anext", "any", "as",
    "ascii", "assert", "async", "await", "bin", "bool", "break", "breakpoint", "bytearray", "bytes",
    "callable", "chr", "class", "classmethod", "compile", "complex", "continue", "copyright",
    "credits", "def", "del", "delattr", "device", "dict", "dir", "divmod", "elif", "else",
    "enumerate", "eval", "except", "exec", "exit", "filter", "finally", "float", "for", "format",
    "from", "frozenset", "fx_pytree", "getattr", "global", "globals", "hasattr", "hash", "help",
    "hex", "id", "if", "import", "in", "inf", "input", "int", "is", "isinstance", "issubclass",
    "iter", "lambda", "len", "license", "list", "locals", "map", "max", "memoryview", "min", "nan",
    "next", "nonlocal", "not", "object", "oct", "open", "or", "ord", "pass", "pow", "print",
    "property", "pytree", "quit", "raise", "range", "repr", "return", "reversed", "round", "self",
    "set", "setattr", "slice", "sorted", "staticmethod", "str", "sum", "super", "torch", "try",
    "tuple", "type", "vars", "while", "with", "yield", "zip",
};
/* clang-format on */

static int compare(const void *key, const void *row) {
  return strcmp(key, *(const char *const *)row);
}

static bool names_is_reserved(const char *name) {
  return bsearch(name, reserved, sizeof reserved / sizeof *reserved, sizeof *reserved, compare);
}

static bool names_is_letter(char c) {
  return fnzi_is_letter(c) || c == '_';
}

static bool is_identifier(const char *name) {
  if (!names_is_letter(*name))
    return false;
  while (names_is_letter(*name) || (*name >= '0' && *name <= '9'))
    name++;
  return *name == 0;
}

/* --- new names -------------------------------------------------------------------------------- */
static fnz_status names_take(fnzi_pt2_names *names, const char *name) {
  return fnzi_map_set(&names->taken, name, strlen(name), 1);
}

fnz_status fnzi_pt2_fresh(fnzi_pt2_out *o, uint32_t graph, const char *stem, const char **out) {
  fnzi_pt2_names *names = &o->names[graph];
  const char *base;
  uint64_t number = 0;
  /* Everything that no identifier may have becomes "_". */
  FNZ_TRY(fnzi_arena_format(&o->arena, &base, "%s%s", names_is_letter(*stem) ? "" : "_", stem));
  for (char *c = (char *)(uintptr_t)base; *c; c++)
    if (!names_is_letter(*c) && !(*c >= '0' && *c <= '9'))
      *c = '_';
  (void)fnzi_map_get(&names->next, base, strlen(base), &number);
  *out = base;
  for (;; number++) {
    if (number)
      FNZ_TRY(fnzi_arena_format(&o->arena, out, "%s_%llu", base, (unsigned long long)number));
    uint64_t unused;
    const bool is_taken = fnzi_map_get(&names->taken, *out, strlen(*out), &unused);
    if (!is_taken && !names_is_reserved(*out))
      break;
  }
  FNZ_TRY(fnzi_map_set(&names->next, base, strlen(base), number + 1));
  return names_take(names, *out);
}

/* --- values ----------------------------------------------------------------------------------- */
static fnz_status name_value(fnzi_pt2_out *o, uint32_t graph, const fnzi_value *v,
                             const char **out) {
  if (v->node == FNZI_NO_NODE) {
    *out = v->name;
    if (is_identifier(v->name))
      return FNZ_OK;
    fnz_status status =
        fnzi_fail(o->ctx, FNZ_CLASS_UNSUPPORTED, v->name,
                  "the input's name is no Python identifier, as .pt2 files need it; rename it");
    return fnzi_pt2_go_on(o, status, 0, FNZI_NO_NODE);
  }
  /* Readers before Node.name call a node of several results after its operator, so no result of a
   * higher-order one may have that name. */
  const fnzi_node *n = fnzi_node_at(o->p, graph, v->node);
  if (!(o->fields & FNZI_SCHEMA_NODE_NAME) && !n->op && n->noutputs > 1)
    return fnzi_pt2_fresh(o, graph, "getitem", out);
  *out = v->name;
  bool is_fine = is_identifier(v->name) && !names_is_reserved(v->name);
  return is_fine ? FNZ_OK : fnzi_pt2_fresh(o, graph, v->name, out);
}

/* --- nodes ------------------------------------------------------------------------------------ */
fnz_status fnzi_pt2_make_names(fnzi_pt2_out *o, uint32_t graph) {
  const fnzi_graph *g = fnzi_graph_at(o->p, graph);
  fnzi_pt2_names *names = &o->names[graph];
  FNZI_NEW(&o->arena, g->values.count, &names->values);
  FNZI_NEW(&o->arena, g->nodes.count, &names->nodes);
  for (size_t i = 0; i < g->values.count; i++)
    FNZ_TRY(names_take(names, g->values.data[i].name));
  for (size_t i = 0; i < g->values.count; i++)
    FNZ_TRY(name_value(o, graph, &g->values.data[i], &names->values[i]));
  for (size_t i = 0; i < g->nodes.count; i++) {
    const fnzi_node *n = fnzi_node_at(o->p, graph, (uint32_t)i);
    const char *dot = strrchr(fnzi_node_target(n), '.');
    names->nodes[i] = NULL;
    /* The node and its one result are the same thing to FX, unless that comes in a tuple. */
    bool is_its_result =
        n->noutputs == 1 && fnzi_pt2_single(o, graph, (uint32_t)i) != FNZI_SINGLE_TUPLE &&
        (n->outputs[0].tag == FNZ_ARG_VALUE || n->outputs[0].tag == FNZ_ARG_SYMBOL);
    if (!is_its_result && o->fields & FNZI_SCHEMA_NODE_NAME)
      FNZ_TRY(fnzi_pt2_fresh(o, graph,
                             n->op ? n->op->base
                             : dot ? dot + 1
                                   : fnzi_node_target(n),
                             &names->nodes[i]));
  }
  return FNZ_OK;
}
