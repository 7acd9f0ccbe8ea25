/* callgen.c - the build-time program that writes <fnz/ops.h>, a typed C function for each operator
 * that the CPU backend computes, and their definitions.
 *
 *   fnz-callgen ops.h ops.c
 *
 * A parameter of a schema becomes a parameter in C by the rows below; an operator with a parameter
 * without a row has no function. Written arguments that a schema returns are not returned again. */
#include "schema/schema.h"

#include <fnz/backend.h>

#include <stdio.h>
#include <stdlib.h>

/* --- Types ------------------------------------------------------------------------------------ */

/* How a schema's type looks in C. `optional` and `list` begin pointers; "" omits the parameter,
 * which then is None. */
typedef struct c_type {
  fnzi_type type;
  const char *single, *optional, *list;
  const char *push; /* a single value */
  const char *tag;  /* of optional values and of items, without FNZ_ARG_ */
} c_type;

static const c_type c_types[] = {
    {FNZI_TYPE_TENSOR, "fnz_eager ", "fnz_eager ", "const fnz_eager *",
     "fnz_push_tensor(&stack, %s)", "VALUE"},
    {FNZI_TYPE_INT, "int64_t ", "const int64_t *", "const int64_t *", "fnz_push_int(&stack, %s)",
     "INT"},
    {FNZI_TYPE_SYM_INT, "int64_t ", "const int64_t *", "const int64_t *",
     "fnz_push_int(&stack, %s)", "INT"},
    {FNZI_TYPE_FLOAT, "double ", "const double *", "const double *", "fnz_push_float(&stack, %s)",
     "FLOAT"},
    {FNZI_TYPE_BOOL, "bool ", "const bool *", "const bool *", "fnz_push_bool(&stack, %s)", "BOOL"},
    {FNZI_TYPE_SCALAR, "fnz_arg ", "const fnz_arg *", "const fnz_arg *",
     "fnz_push_arg(&stack, &%s)", "DEFAULT"},
    {FNZI_TYPE_STRING, "const char *", "const char *", NULL, "fnz_push_string(&stack, %s)",
     "STRING"},
    {FNZI_TYPE_DTYPE, "fnz_dtype ", "const fnz_dtype *", NULL, "fnz_push_dtype(&stack, %s)",
     "DTYPE"},
    {FNZI_TYPE_MEMORY_FORMAT, "fnz_memory_format ", "const fnz_memory_format *", NULL,
     "fnzi_call_push_optional(&stack, FNZ_ARG_MEMORY_FORMAT, &%s)", "MEMORY_FORMAT"},
    {FNZI_TYPE_DEVICE, "const char *", "const char *", NULL, "fnz_push_string(&stack, %s)",
     "STRING"},
    {FNZI_TYPE_LAYOUT, NULL, "", NULL, NULL, ""},
    {FNZI_TYPE_GENERATOR, NULL, "", NULL, NULL, ""},
};

static const c_type *type_of(const fnzi_param *p) {
  for (size_t i = 0; i < sizeof c_types / sizeof *c_types; i++)
    if (c_types[i].type == p->type)
      return &c_types[i];
  return NULL;
}

static const char *declared_as(const fnzi_param *p) {
  const c_type *type = type_of(p);
  if (!type)
    return NULL;
  return p->is_list ? type->list : p->optional ? type->optional : type->single;
}

/* No backend uses pin_memory. */
static bool is_omitted(const fnzi_param *p) {
  const char *text = declared_as(p);
  return (text && !*text) || (p->optional && strcmp(p->name, "pin_memory") == 0);
}

/* --- Which operators -------------------------------------------------------------------------- */

/* A result of the C function: one that is no written argument. */
static bool is_result(const fnzi_param *p) {
  return !p->is_write;
}

static bool has_function(const fnz_op *op) {
  const fnz_op *twin = fnz_op_functional_twin(op);
  if (!fnz_cpu_has_kernel(op) && !(twin && fnz_cpu_has_kernel(twin)))
    return false;
  for (size_t i = 0; i < op->nparams; i++)
    if (!declared_as(&op->params[i]))
      return false;
  for (size_t i = 0; i < op->nreturns; i++) {
    const fnzi_param *r = &op->returns[i];
    bool is_number = !r->is_list && (r->type == FNZI_TYPE_SCALAR || r->type == FNZI_TYPE_BOOL ||
                                     r->type == FNZI_TYPE_INT || r->type == FNZI_TYPE_SYM_INT);
    if (!is_number && (r->type != FNZI_TYPE_TENSOR || (r->is_list && op->nreturns != 1)))
      return false;
  }
  return true;
}

static bool takes_tensors(const fnz_op *op) {
  for (size_t i = 0; i < op->nparams; i++)
    if (op->params[i].type == FNZI_TYPE_TENSOR)
      return true;
  return false;
}

/* --- Writing ---------------------------------------------------------------------------------- */

/* Parameter names that C++ keeps for itself get an underscore. */
static const char *c_name(const fnzi_param *p, char out[64]) {
  static const char *const taken[] = {"default", "new", "operator", "this", "template"};
  const char *tail = "";
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
    if (strcmp(p->name, taken[i]) == 0)
      tail = "_";
  snprintf(out, 64, "%s%s", p->name, tail);
  return out;
}

static const char *result_name(const fnz_op *op, size_t k, char out[64]) {
  if (op->nreturns == 1)
    snprintf(out, 64, "result");
  else if (*op->returns[k].name)
    snprintf(out, 64, "result_%s", op->returns[k].name);
  else
    snprintf(out, 64, "result%zu", k);
  return out;
}

static void put_prototype(FILE *f, const fnz_op *op) {
  char name[64];
  fprintf(f, "fnz_status fnz_aten_%s%s%s(fnz_context *ctx", op->base, *op->overload ? "_" : "",
          op->overload);
  if (!takes_tensors(op))
    fputs(", fnz_backend *backend", f);
  for (size_t i = 0; i < op->nparams; i++) {
    const fnzi_param *p = &op->params[i];
    if (is_omitted(p))
      continue;
    fprintf(f, ", %s%s", declared_as(p), c_name(p, name));
    if (p->is_list)
      fprintf(f, ", size_t %s_count", name);
  }
  for (size_t k = 0; k < op->nreturns; k++)
    if (is_result(&op->returns[k])) {
      char result[64];
      result_name(op, k, result);
      if (op->returns[k].is_list)
        fprintf(f, ", fnz_eager *%s, size_t %s_capacity, size_t *%s_count", result, result, result);
      else
        fprintf(f, ", %s*%s", op->returns[k].type == FNZI_TYPE_TENSOR ? "fnz_eager " : "fnz_arg ",
                result);
    }
  fputs(")", f);
}

static void put_push(FILE *f, const fnzi_param *p) {
  const c_type *type = type_of(p);
  char name[64];
  c_name(p, name);
  fputs("  ", f);
  if (is_omitted(p)) {
    fputs("fnz_push_none(&stack)", f);
  } else if (p->is_list) {
    fprintf(f, "%s(&stack, FNZ_ARG_%s, %s, %s_count)",
            p->optional ? "fnzi_call_push_optional_list" : "fnzi_call_push_list", type->tag, name,
            name);
  } else if (p->optional && p->type != FNZI_TYPE_TENSOR) {
    fprintf(f, "fnzi_call_push_optional(&stack, FNZ_ARG_%s, %s)", type->tag, name);
  } else {
    const char *slot = strstr(type->push, "%s");
    fprintf(f, "%.*s%s%s", (int)(slot - type->push), type->push, name, slot + 2);
  }
  fputs(";\n", f);
}

static void put_definition(FILE *f, const fnz_op *op) {
  put_prototype(f, op);
  fprintf(f, " {\n  fnz_stack stack;\n  fnzi_call_stack_init(&stack, ctx, %s);\n",
          takes_tensors(op) ? "NULL" : "backend");
  for (size_t i = 0; i < op->nparams; i++)
    put_push(f, &op->params[i]);
  fprintf(f, "  fnz_status status = fnz_call(ctx, &fnzi_ops[%zu], &stack);\n",
          (size_t)(op - fnzi_ops));
  for (size_t k = 0; k < op->nreturns; k++) {
    char name[64];
    result_name(op, k, name);
    if (is_result(&op->returns[k])) {
      fputs("  if (status == FNZ_OK)\n    ", f);
      if (op->returns[k].is_list)
        fprintf(f, "status = fnzi_call_take_list(&stack, %zu, %s, %s_capacity, %s_count)", k, name,
                name, name);
      else if (op->returns[k].type == FNZI_TYPE_TENSOR)
        fprintf(f, "*%s = fnz_take_tensor(&stack, %zu)", name, k);
      else
        fprintf(f, "fnzi_call_take_number(&stack, %zu, %s)", k, name);
      fputs(";\n", f);
    }
  }
  fputs("  return fnzi_call_typed_end(&stack, status);\n}\n\n", f);
}

/* Lines of 100 columns, broken behind commas. */
static void put_wrapped(FILE *f, const char *text, const char *indent) {
  size_t column = 0;
  for (const char *at = text; *at;) {
    size_t size = strcspn(at, ",");
    size += at[size] == ',';
    bool breaks = column && column + size > 100;
    at += breaks && *at == ' ';
    size -= breaks && at[-1] == ' ';
    column = breaks ? strlen(indent) + size : column + size;
    fprintf(f, "%s%s%.*s", breaks ? "\n" : "", breaks ? indent : "", (int)size, at);
    at += size;
  }
  fputs("\n", f);
}

static bool put_declaration(FILE *f, const fnz_op *op) {
  char *text = NULL;
  size_t size;
  FILE *memory = open_memstream(&text, &size);
  if (!memory)
    return false;
  fprintf(memory, "/** %s */", op->schema);
  fflush(memory);
  put_wrapped(f, text, " * ");
  rewind(memory);
  fputs("FNZ_MUST_CHECK FNZ_API ", memory);
  put_prototype(memory, op);
  fputs(";", memory);
  bool done = fputc(0, memory) == 0 && fclose(memory) == 0;
  if (done)
    put_wrapped(f, text, "    ");
  free(text);
  return done;
}

static const char header_start[] =
    "/* ops.h - a typed function for each operator that the CPU backend computes; generated.\n"
    " *\n"
    " * Each calls its operator as fnz_call() does; the line above it is the operator's schema.\n"
    " * Lists are an array and a count. Pointers are optional arguments, NULL for None; a tensor\n"
    " * whose handle is 0 is None. Scalars come from fnz_scalar_int() and fnz_scalar_float(). "
    "Layout,\n"
    " * pin_memory and generator are always None. Results belong to the caller, who releases them\n"
    " * with fnz_eager_release(); after a failure they are not set. Arguments that an operator\n"
    " * writes and returns are not returned here. */\n"
    "#ifndef FNZ_OPS_H\n"
    "#define FNZ_OPS_H\n\n"
    "#include <fnz/call.h>\n\n"
    "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";

static const char header_end[] = "\n#ifdef __cplusplus\n}\n#endif\n#endif\n";

static const char source_start[] =
    "/* Generated by fnz-callgen. */\n#include \"run/call/typed.h\"\n\n#include <fnz/ops.h>\n\n";

static bool write_all(FILE *header, FILE *source) {
  bool failed = false;
  fputs(header_start, header);
  fputs(source_start, source);
  for (size_t i = 0; i < fnz_op_count(); i++) {
    if (!has_function(fnz_op_at(i)))
      continue;
    failed |= !put_declaration(header, fnz_op_at(i));
    put_definition(source, fnz_op_at(i));
  }
  fputs(header_end, header);
  failed |= ferror(header) || ferror(source);
  failed |= fclose(header) != 0;
  failed |= fclose(source) != 0;
  return !failed;
}

int main(int argc, char **argv) {
  FILE *header = argc == 3 ? fopen(argv[1], "wb") : NULL;
  FILE *source = header ? fopen(argv[2], "wb") : NULL;
  if (source && write_all(header, source))
    return EXIT_SUCCESS;
  fputs("fnz-callgen: usage: fnz-callgen ops.h ops.c, two files that can be written\n", stderr);
  return EXIT_FAILURE;
}
