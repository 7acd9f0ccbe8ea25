/* numbers_of_mlir_read.c - see numbers_of_mlir_read.h. Line by line: constants, arithmetic of the
 * torch dialect and of MLIR's own, lists of integers, bounds of symbols. */
#include "tests/formats/numbers_of_mlir_read.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPERANDS = 8 };

/* --- Operations ------------------------------------------------------------------------------- */
/* Columns: operation, number and kind of operands (i, f, b; s: i or f), kind of the result. */
#define OPERATIONS(ROW)                                                                            \
  ROW(ADD, "torch.aten.add.int", 2, 'i', 'i')                                                      \
  ROW(SUB, "torch.aten.sub.int", 2, 'i', 'i')                                                      \
  ROW(MUL, "torch.aten.mul.int", 2, 'i', 'i')                                                      \
  ROW(FLOORDIV, "torch.aten.floordiv.int", 2, 'i', 'i')                                            \
  ROW(REMAINDER, "torch.aten.remainder.int", 2, 'i', 'i')                                          \
  ROW(NEG, "torch.aten.neg.int", 1, 'i', 'i')                                                      \
  ROW(MIN, "torch.prim.min.int", 2, 'i', 'i')                                                      \
  ROW(MAX, "torch.prim.max.int", 2, 'i', 'i')                                                      \
  ROW(EQ, "torch.aten.eq.int", 2, 'i', 'b')                                                        \
  ROW(NE, "torch.aten.ne.int", 2, 'i', 'b')                                                        \
  ROW(LT, "torch.aten.lt.int", 2, 'i', 'b')                                                        \
  ROW(LE, "torch.aten.le.int", 2, 'i', 'b')                                                        \
  ROW(GT, "torch.aten.gt.int", 2, 'i', 'b')                                                        \
  ROW(GE, "torch.aten.ge.int", 2, 'i', 'b')                                                        \
  ROW(AND, "torch.aten.__and__.bool", 2, 'b', 'b')                                                 \
  ROW(OR, "torch.aten.__or__.bool", 2, 'b', 'b')                                                   \
  ROW(SUB_FLOAT, "torch.aten.sub.float", 2, 'f', 'f')                                              \
  ROW(MUL_FLOAT, "torch.aten.mul.float", 2, 'f', 'f')                                              \
  ROW(DIV_FLOAT, "torch.aten.div.float", 2, 'f', 'f')                                              \
  ROW(NEG_FLOAT, "torch.aten.neg.float", 1, 'f', 'f')                                              \
  ROW(SQRT_FLOAT, "math.sqrt", 1, 'f', 'f')                                                        \
  ROW(EQ_FLOAT, "torch.aten.eq.float", 2, 'f', 'b')                                                \
  ROW(GT_FLOAT, "torch.aten.gt.float", 2, 'f', 'b')                                                \
  ROW(GE_FLOAT, "torch.aten.ge.float", 2, 'f', 'b')                                                \
  ROW(POW, "math.powf", 2, 'f', 'f')                                                               \
  ROW(XOR, "arith.xori", 2, 'b', 'b')                                                              \
  ROW(FLOAT_OF_INT, "torch.aten.Float.Scalar", 1, 's', 'f')                                        \
  ROW(INT_OF_FLOAT, "torch.aten.Int.float", 1, 'f', 'i')                                           \
  ROW(INT_OF_BOOL, "torch.aten.Int.bool", 1, 'b', 'i')

enum {
#define OPERATION_ENUM(id, name, nargs, of, gives) OP_##id,
  OPERATIONS(OPERATION_ENUM)
#undef OPERATION_ENUM
      OPERATION_COUNT
};

static const struct {
  const char *name;
  int nargs;
  char of, gives;
} operations[] = {
#define OPERATION_ROW(id, name, nargs, of, gives) {name, nargs, of, gives},
    OPERATIONS(OPERATION_ROW)
#undef OPERATION_ROW
};

_Static_assert(OPERATION_COUNT <= MLIR_OPERATIONS, "there is a count for each operation");

const char *mlir_operation(size_t k) {
  return k < OPERATION_COUNT ? operations[k].name : NULL;
}

/* As Python divides. */
static bool floor_divide(int64_t a, int64_t b, int64_t *quotient, int64_t *rest) {
  if (b == 0 || (a == INT64_MIN && b == -1))
    return false;
  *quotient = a / b;
  *rest = a % b;
  if (*rest != 0 && (*rest < 0) != (b < 0)) {
    --*quotient;
    *rest += b;
  }
  return true;
}

/* A comparison, a bound or logic. */
static int64_t choose_int(int op, int64_t a, int64_t b) {
  const int order = (a > b) - (a < b);
  const int64_t outcomes[OPERATION_COUNT] = {[OP_MIN] = order < 0 ? a : b,
                                             [OP_MAX] = order > 0 ? a : b,
                                             [OP_EQ] = order == 0,
                                             [OP_NE] = order != 0,
                                             [OP_LT] =
                                                 order<0, [OP_LE] = order <= 0, [OP_GT] = order> 0,
                                             [OP_GE] = order >= 0,
                                             [OP_AND] = a & b,
                                             [OP_OR] = a | b,
                                             [OP_XOR] = a ^ b,
                                             [OP_INT_OF_BOOL] = a};
  return outcomes[op];
}

/* False where the result leaves 64 bits or is none. */
static bool on_ints(int op, int64_t a, int64_t b, int64_t *out) {
  int64_t unused;
  switch (op) {
  case OP_ADD:
    return !__builtin_add_overflow(a, b, out);
  case OP_SUB:
    return !__builtin_sub_overflow(a, b, out);
  case OP_MUL:
    return !__builtin_mul_overflow(a, b, out);
  case OP_NEG:
    return !__builtin_sub_overflow(0, a, out);
  case OP_FLOORDIV:
    return floor_divide(a, b, out, &unused);
  case OP_REMAINDER:
    return floor_divide(a, b, &unused, out);
  default:
    *out = choose_int(op, a, b);
    return true;
  }
}

static bool on_floats(int op, double x, double y, double *out) {
  *out = op == OP_SUB_FLOAT    ? x - y
         : op == OP_MUL_FLOAT  ? x * y
         : op == OP_DIV_FLOAT  ? x / y
         : op == OP_SQRT_FLOAT ? sqrt(x)
         : op == OP_POW        ? pow(x, y)
                               : -x;
  return isfinite(*out);
}

static mlir_value apply(int op, const mlir_value *a, const mlir_value *b) {
  mlir_value out = {.kind = MLIR_UNKNOWN};
  bool known = true;
  if (op == OP_FLOAT_OF_INT)
    return (mlir_value){.kind = MLIR_FLOAT,
                        .real = a->kind == MLIR_FLOAT ? a->real : (double)a->number};
  if (op == OP_EQ_FLOAT || op == OP_GT_FLOAT || op == OP_GE_FLOAT) {
    bool yes = op == OP_EQ_FLOAT   ? a->real == b->real
               : op == OP_GT_FLOAT ? a->real > b->real
                                   : a->real >= b->real;
    return (mlir_value){.kind = MLIR_BOOL, .number = yes};
  }
  if (op == OP_INT_OF_FLOAT && (known = fabs(a->real) < 9.2e18))
    out.number = (int64_t)a->real;
  else if (operations[op].of == 'f' && op != OP_INT_OF_FLOAT)
    known = on_floats(op, a->real, b->real, &out.real);
  else if (op != OP_INT_OF_FLOAT)
    known = on_ints(op, a->number, b->number, &out.number);
  char gives = operations[op].gives;
  if (known)
    out.kind = gives == 'i' ? MLIR_INT : gives == 'f' ? MLIR_FLOAT : MLIR_BOOL;
  return out;
}

/* --- Values ----------------------------------------------------------------------------------- */
static bool refuse(mlir_reader *r, const char *line, const char *why) {
  snprintf(r->refused, sizeof r->refused, "%s: %.*s", why, (int)strcspn(line, "\n"), line);
  return false;
}

const mlir_value *mlir_find(const mlir_reader *r, const char *name, size_t size) {
  for (size_t i = r->count; i-- > 0;)
    if (r->values[i].size == size && memcmp(r->values[i].name, name, size) == 0)
      return &r->values[i];
  return NULL;
}

/* Up to the end of a name, "%a" or "%$2.x" or "%r:2". */
static size_t name_size(const char *s) {
  return strcspn(s, " ,:=)(]}\n");
}

static bool add(mlir_reader *r, const char *name, mlir_value v) {
  if (r->count == MLIR_VALUES)
    return refuse(r, name, "more values than there is room for");
  v.name = name;
  v.size = name_size(name);
  r->values[r->count++] = v;
  return true;
}

/* "%a, %b", up to something else. */
static bool find_operands(mlir_reader *r, const char *s, const mlir_value **out, int *count) {
  for (*count = 0; *s == '%'; ++*count) {
    if (*count == OPERANDS)
      return refuse(r, s, "many operands");
    out[*count] = mlir_find(r, s, name_size(s));
    if (!out[*count])
      return refuse(r, s, "a name that was not given");
    s += name_size(s);
    s += strspn(s, ", ");
  }
  return true;
}

/* --- Operations with a result ----------------------------------------------------------------- */
static bool has(const char *s, const char *end, const char *word) {
  const char *found = strstr(s, word);
  return found && found < end;
}

static bool begins(const char *s, const char *word) {
  return strncmp(s, word, strlen(word)) == 0;
}

static bool is_of(const mlir_value *v, char letter) {
  return v->kind == MLIR_INT     ? letter == 'i' || letter == 's'
         : v->kind == MLIR_FLOAT ? letter == 'f' || letter == 's'
                                 : v->kind == MLIR_BOOL && letter == 'b';
}

static bool compute(mlir_reader *r, const char *name, int op, const char *operands) {
  const mlir_value *of[OPERANDS], *second;
  int count;
  if (!find_operands(r, operands, of, &count))
    return false;
  if (count != operations[op].nargs)
    return refuse(r, operands, "another number of operands");
  for (int i = 0; i < count; i++)
    if (of[i]->kind == MLIR_UNKNOWN)
      return add(r, name, (mlir_value){.kind = MLIR_UNKNOWN});
    else if (!is_of(of[i], operations[op].of))
      return refuse(r, operands, "an operand of another kind");
  r->used[op]++;
  second = count > 1 ? of[1] : of[0];
  return add(r, name, apply(op, of[0], second));
}

/* torch.aten.size.int %x, %dim */
static bool find_size(mlir_reader *r, const char *name, const char *operands) {
  const mlir_value *of[OPERANDS];
  mlir_value v = {.kind = MLIR_UNKNOWN};
  int count;
  if (!find_operands(r, operands, of, &count))
    return false;
  if (count != 2 || of[1]->kind != MLIR_INT)
    return refuse(r, operands, "a size of what");
  if (r->size_of(r->user, of[0]->name, of[0]->size, of[1]->number, &v.number))
    v.kind = MLIR_INT;
  return add(r, name, v);
}

static bool choose(mlir_reader *r, const char *name, const char *operands) {
  const mlir_value *of[OPERANDS];
  int count;
  if (!find_operands(r, operands, of, &count))
    return false;
  if (count != 3 || (of[0]->kind != MLIR_BOOL && of[0]->kind != MLIR_UNKNOWN))
    return refuse(r, operands, "a choice between what");
  if (of[0]->kind == MLIR_UNKNOWN)
    return add(r, name, (mlir_value){.kind = MLIR_UNKNOWN});
  return add(r, name, of[0]->number ? *of[1] : *of[2]);
}

/* The constant behind `torch.constant.`. */
static bool constant(mlir_reader *r, const char *name, const char *s) {
  mlir_value v = {.kind = MLIR_OTHER};
  if (begins(s, "int "))
    v = (mlir_value){.kind = MLIR_INT, .number = strtoll(s + 4, NULL, 10)};
  else if (begins(s, "bool "))
    v = (mlir_value){.kind = MLIR_BOOL, .number = begins(s + 5, "true")};
  else if (begins(s, "float 0x")) {
    uint64_t bits = strtoull(s + 6, NULL, 16);
    v.kind = MLIR_FLOAT;
    memcpy(&v.real, &bits, sizeof bits);
  } else if (begins(s, "float ")) {
    v = (mlir_value){.kind = MLIR_FLOAT, .real = strtod(s + 6, NULL)};
  } else if (!begins(s, "none") && !begins(s, "str ") && !begins(s, "device ")) {
    return refuse(r, s, "a constant of an unknown kind");
  }
  return add(r, name, v);
}

/* torch.symbolic_int "s0" {min_val = 2, max_val = 64} */
static bool symbol(mlir_reader *r, const char *name, const char *s) {
  const char *text = strchr(s, '"'), *end = text ? strchr(text + 1, '"') : NULL;
  const char *least = strstr(s, "min_val = "), *most = strstr(s, "max_val = ");
  mlir_value v = {.kind = MLIR_INT};
  if (!end || !least || !most)
    return refuse(r, s, "a symbol without bounds");
  mlir_symbol given = {text + 1, (size_t)(end - text - 1), strtoll(least + 10, NULL, 10),
                       strtoll(most + 10, NULL, 10)};
  if (!r->symbol(r->user, &given, &v.number))
    return refuse(r, s, "a symbol that is not known, or its bounds are others");
  return add(r, name, v);
}

/* The items are looked at by who asks for the list. */
static bool list(mlir_reader *r, const char *name, const char *operands) {
  mlir_value v = {.kind = MLIR_LIST, .items = operands};
  return add(r, name, v);
}

/* An operation without a row reads a number off data or gives a tensor; else it is refused. */
static bool other(mlir_reader *r, const char *name, const char *op, const char *end) {
  const char *arrow = NULL;
  for (const char *s = strstr(op, "-> "); s && s < end; s = strstr(s + 1, "-> "))
    arrow = s;
  const char *types = arrow ? arrow : op;
  bool is_number = has(types, end, "!torch.int") || has(types, end, "!torch.float") ||
                   has(types, end, "!torch.bool") || has(types, end, "!torch.list<int>");
  bool reads = begins(op, "torch.aten.Int.Tensor ") || begins(op, "torch.aten.Float.Tensor ") ||
               begins(op, "torch.aten.Bool.Tensor ") || begins(op, "torch.prim.If ");
  if (!is_number)
    return r->tensor(r, r->user, name, op) && add(r, name, (mlir_value){.kind = MLIR_OTHER});
  if (!reads)
    return refuse(r, op, "an operation that is not known");
  mlir_value v = {.kind = MLIR_UNKNOWN};
  r->leaf(r->user, name, name_size(name), &v);
  return add(r, name, v);
}

/* Casts between the dialects keep the number; true is the one constant of `arith`. */
static bool crosses(const char *op) {
  return begins(op, "torch_c.to_i64 ") || begins(op, "torch_c.to_f64 ") ||
         begins(op, "torch_c.to_i1 ") || begins(op, "torch_c.from_i64 ") ||
         begins(op, "torch_c.from_f64 ") || begins(op, "torch_c.from_i1 ");
}

static bool one_result(mlir_reader *r, const char *name, const char *op, const char *end) {
  size_t size = strcspn(op, " \n");
  const char *operands = op + size + strspn(op + size, " ");
  if (begins(op, "torch.constant."))
    return constant(r, name, op + strlen("torch.constant."));
  if (begins(op, "arith.constant true"))
    return add(r, name, (mlir_value){.kind = MLIR_BOOL, .number = 1});
  if (begins(op, "torch.symbolic_int "))
    return symbol(r, name, op);
  if (begins(op, "torch.aten.size.int "))
    return find_size(r, name, operands);
  if (begins(op, "arith.select "))
    return choose(r, name, operands);
  if (begins(op, "torch.prim.ListConstruct "))
    return list(r, name, operands);
  if (crosses(op)) {
    const mlir_value *of = mlir_find(r, operands, name_size(operands));
    return of ? add(r, name, *of) : refuse(r, op, "a name that was not given");
  }
  for (int k = 0; k < OPERATION_COUNT; k++)
    if (strlen(operations[k].name) == size && begins(op, operations[k].name))
      return compute(r, name, k, operands);
  return other(r, name, op, end);
}

/* "%a, %b = ...": several results are tensors, or numbers that a branch gives. */
static bool results(mlir_reader *r, const char *line, const char *end) {
  const char *op = strstr(line, " = ");
  bool is_one = line + name_size(line) == op;
  if (!op || op > end)
    return refuse(r, line, "no operation");
  if (is_one)
    return one_result(r, line, op + 3, end);
  for (const char *s = line; *s == '%'; s += strspn(s, ", ")) {
    mlir_value v = {.kind = MLIR_UNKNOWN};
    r->leaf(r->user, s, name_size(s), &v);
    if (!add(r, s, v))
      return false;
    s += name_size(s);
  }
  return true;
}

/* --- Lines without a result ------------------------------------------------------------------- */
/* "(s0 * 2 + 1, 3)" of the places in brackets: a multiple of one symbol, plus a number. */
static bool shape_term(mlir_reader *r, const char **s, const mlir_value *const *of, int count,
                       int64_t *out) {
  char *end;
  if (**s != 's') {
    *out = strtoll(*s, &end, 10);
    *s = end;
    return true;
  }
  long place = strtol(*s + 1, &end, 10);
  if (place >= count || of[place]->kind != MLIR_INT)
    return refuse(r, *s, "a symbol that the map does not have");
  *out = of[place]->number;
  if (begins(end, " * "))
    *out *= strtoll(end + 3, &end, 10);
  if (begins(end, " + "))
    *out += strtoll(end + 3, &end, 10);
  *s = end;
  return true;
}

/* torch.bind_symbolic_shape %x, [%.sym_s0], affine_map<()[s0] -> (s0, 3)> : TYPE */
static bool bind_shape(mlir_reader *r, const char *line, const char *end) {
  const mlir_value *of[OPERANDS];
  const char *name = strchr(line, '%'), *names = strchr(line, '['), *at = strstr(line, "-> (");
  int64_t size, want, dim = 0;
  int count;
  if (!name || !names || !at || at > end || !find_operands(r, names + 1, of, &count))
    return refuse(r, line, "a shape of what");
  for (const char *s = at + 4; *s != ')'; s += strspn(s, ", "), dim++) {
    if (!shape_term(r, &s, of, count, &size))
      return false;
    if (!strchr(",)", *s))
      return refuse(r, line, "a size that is not a multiple of one symbol plus a number");
    if (r->size_of(r->user, name, name_size(name), dim, &want) && size != want)
      return refuse(r, line, "another size than the input has");
  }
  return true;
}

static bool is_control(const char *line) {
  static const char *const known[] = {"torch.prim.If ",
                                      "torch.prim.If.yield",
                                      "torch.prim.Loop.condition",
                                      "return",
                                      "util.global.store ",
                                      "torch.overwrite.tensor.contents ",
                                      "} else {",
                                      "}"};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (begins(line, known[i]))
      return true;
  return false;
}

/* "^bb0(%n: !torch.int, %x: TYPE):" and the function's arguments: numbers are the caller's. */
static bool arguments(mlir_reader *r, const char *line, const char *end) {
  for (const char *s = memchr(line, '%', (size_t)(end - line)); s;
       s = memchr(s + 1, '%', (size_t)(end - s - 1))) {
    mlir_value v = {.kind = MLIR_OTHER};
    const char *type = s + name_size(s);
    if (begins(type, ": !torch.int") || begins(type, ": !torch.float") ||
        begins(type, ": !torch.bool")) {
      v.kind = MLIR_UNKNOWN;
      r->leaf(r->user, s, name_size(s), &v);
    }
    if (!add(r, s, v))
      return false;
  }
  return true;
}

static bool read_line(mlir_reader *r, const char *line, const char *end) {
  if (*line == '%')
    return results(r, line, end);
  if (begins(line, "^bb0("))
    return arguments(r, line, end);
  if (begins(line, "torch.bind_symbolic_shape "))
    return bind_shape(r, line, end);
  return line == end || is_control(line) || refuse(r, line, "a line that is not known");
}

bool mlir_read(mlir_reader *r, const char *text) {
  const char *line = strstr(text, "func.func @main("), *body;
  r->count = 0;
  r->refused[0] = 0;
  body = line ? strstr(line, "attributes {torch.assume_strict_symbolic_shapes} {\n") : NULL;
  if (!body)
    return refuse(r, text, "no function");
  /* Results of the function have no names. */
  if (!arguments(r, line, strstr(line, "-> (") ? strstr(line, "-> (") : body))
    return false;
  for (line = strchr(body, '\n') + 1; *line; line++) {
    const char *end = line + strcspn(line, "\n");
    line += strspn(line, " ");
    if (!read_line(r, line, end))
      return false;
    line = end;
    if (!*line)
      break;
  }
  return true;
}
