/* alias_parse.c - declares inputs that alias, from text: "x=y[1:]", "v=b.view(-1)".
 *
 * needs   one line; a program whose inputs have fixed sizes
 * gives   a declaration with the window that the text describes, step by step, each by the rule of
 * its view operator */
#include "program/program.h"
#include "views/steps.h"
#include "views/views.h"

#include <fnz/functionalize.h>

#include <ctype.h>
#include <stdio.h>

typedef struct reader {
  fnz_context *ctx;
  fnzi_arena arena; /* of the windows of all steps */
  const char *text, *at;
  fnz_geometry *window;
} reader;

/* --- words ------------------------------------------------------------------------------------ */
static fnz_status fail(const reader *r, const char *message) {
  char where[48];
  snprintf(where, sizeof where, "alias, column %zu", (size_t)(r->at - r->text) + 1);
  return fnzi_fail(r->ctx, FNZ_CLASS_SYNTAX, where, "%s; \"%.60s\" is like x=y[1:] or v=b.view(-1)",
                   message, r->text);
}

static void skip_blanks(reader *r) {
  while (*r->at == ' ' || *r->at == '\t')
    r->at++;
}

static bool accept(reader *r, char c) {
  skip_blanks(r);
  if (*r->at != c)
    return false;
  r->at++;
  return true;
}

static fnz_status expect(reader *r, char c) {
  char message[] = "expected '?'";
  message[10] = c;
  return accept(r, c) ? FNZ_OK : fail(r, message);
}

static bool is_word(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

static fnz_status read_word(reader *r, const char **out) {
  skip_blanks(r);
  const char *from = r->at;
  while (is_word(*r->at))
    r->at++;
  if (r->at == from)
    return fail(r, "expected a name");
  return fnzi_arena_string(&r->arena, from, (size_t)(r->at - from), out);
}

static bool at_number(reader *r) {
  skip_blanks(r);
  return isdigit((unsigned char)*r->at) || (*r->at == '-' && isdigit((unsigned char)r->at[1]));
}

static fnz_status read_number(reader *r, int64_t *out) {
  bool negative = accept(r, '-');
  *out = 0;
  if (!at_number(r) || *r->at == '-')
    return fail(r, "expected an integer");
  for (; isdigit((unsigned char)*r->at); r->at++)
    if (!fnzi_mul_i64(*out, 10, out) || !fnzi_add_i64(*out, *r->at - '0', out))
      return fail(r, "an integer beyond 64 bits");
  *out = negative ? -*out : *out;
  return FNZ_OK;
}

/* --- steps ------------------------------------------------------------------------------------ */
static fnz_status open_window(reader *r, fnzi_step_op step, const fnz_arg *args, size_t nargs) {
  const fnzi_op_call call = {fnzi_op_of_step(step), args, nargs};
  fnz_geometry *opened;
  size_t count;
  fnz_status status = fnzi_view_forward((fnzi_int_space){NULL, &r->arena}, fnzi_view_find(call.op),
                                        &call, r->window, &opened, &count);
  FNZ_TRY(fnzi_at(r->ctx, status, "alias, column %zu", (size_t)(r->at - r->text)));
  r->window = opened;
  return FNZ_OK;
}

/* Four at most. */
static fnz_status step_of_ints(reader *r, fnzi_step_op step, const int64_t *numbers, size_t count) {
  fnz_arg args[6] = {fnzi_arg_default()};
  for (size_t i = 0; i < count; i++)
    args[i + 1] = fnzi_arg_int(numbers[i]);
  return open_window(r, step, args, count + 1);
}

/* --- indices ---------------------------------------------------------------------------------- */

/* A number removes the dimension, None adds one. */
static fnz_status read_index(reader *r, int64_t *dim) {
  int64_t numbers[2] = {*dim, 0};
  skip_blanks(r);
  if (strncmp(r->at, "None", 4) == 0 && !is_word(r->at[4])) {
    r->at += 4;
    return step_of_ints(r, FNZI_STEP_UNSQUEEZE, (int64_t[]){(*dim)++}, 1);
  }
  bool has_number = at_number(r);
  if (has_number)
    FNZ_TRY(read_number(r, &numbers[1]));
  if (accept(r, ':')) {
    int64_t slice[4] = {(*dim)++, numbers[1], INT64_MAX, 1};
    if (at_number(r))
      FNZ_TRY(read_number(r, &slice[2]));
    if (accept(r, ':') && at_number(r))
      FNZ_TRY(read_number(r, &slice[3]));
    return step_of_ints(r, FNZI_STEP_SLICE, slice, 4);
  }
  if (!has_number)
    return fail(r, "expected an index, a slice or None");
  return step_of_ints(r, FNZI_STEP_SELECT, numbers, 2);
}

/* --- methods ---------------------------------------------------------------------------------- */
/* Integers with commas in between, in brackets of either kind or bare; one may be followed by the
 * bracket at once. */
static fnz_status read_numbers(reader *r, int64_t *out, size_t *count) {
  char close = accept(r, '(') ? ')' : accept(r, '[') ? ']' : 0;
  *count = 0;
  while (at_number(r)) {
    if (*count == FNZ_MAX_RANK)
      return fail(r, "more numbers than a tensor has dimensions");
    FNZ_TRY(read_number(r, &out[(*count)++]));
    if (!accept(r, ','))
      break;
  }
  return close ? expect(r, close) : FNZ_OK;
}

static fnz_status one_list(reader *r, fnzi_step_op step) {
  int64_t numbers[FNZ_MAX_RANK];
  size_t count;
  fnz_arg args[2] = {fnzi_arg_default()};
  FNZ_TRY(read_numbers(r, numbers, &count));
  FNZ_TRY(fnzi_arg_ints(&r->arena, numbers, count, &args[1]));
  return open_window(r, step, args, 2);
}

static fnz_status no_ints(reader *r, fnzi_step_op step) {
  return step_of_ints(r, step, NULL, 0);
}

static fnz_status some_ints(reader *r, fnzi_step_op step) {
  int64_t numbers[FNZ_MAX_RANK];
  size_t count, wanted = step == FNZI_STEP_TRANSPOSE ? 2 : 1;
  FNZ_TRY(read_numbers(r, numbers, &count));
  if (count != wanted)
    return fail(r, wanted == 1 ? "expected one dimension" : "expected two dimensions");
  return step_of_ints(r, step, numbers, count);
}

static fnz_status read_view(reader *r, fnzi_step_op step) {
  const char *word;
  bool is_number = at_number(r) || *r->at == '(' || *r->at == '[' || *r->at == ')';
  if (is_number)
    return one_list(r, step);
  FNZ_TRY(read_word(r, &word));
  if (accept(r, '.')) /* torch.float32 */
    FNZ_TRY(read_word(r, &word));
  int d = 0;
  for (const fnz_dtype_info *info; d < FNZ_DTYPE_COUNT; d++) {
    info = fnz_dtype_get_info((fnz_dtype)d);
    if (strcmp(word, info->name) == 0 || strcmp(word, info->torch) == 0)
      break;
  }
  if (d == FNZ_DTYPE_COUNT)
    return fail(r, "expected sizes or an element type");
  const fnz_arg args[2] = {fnzi_arg_default(), fnzi_arg_dtype((fnz_dtype)d)};
  return open_window(r, FNZI_STEP_VIEW_DTYPE, args, 2);
}

static fnz_status read_strided(reader *r, fnzi_step_op step) {
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK], offset = r->window->offset;
  size_t nsizes, nstrides;
  fnz_arg args[4] = {fnzi_arg_default()};
  FNZ_TRY(read_numbers(r, sizes, &nsizes));
  FNZ_TRY(expect(r, ','));
  FNZ_TRY(read_numbers(r, strides, &nstrides));
  if (accept(r, ','))
    FNZ_TRY(read_number(r, &offset));
  FNZ_TRY(fnzi_arg_ints(&r->arena, sizes, nsizes, &args[1]));
  FNZ_TRY(fnzi_arg_ints(&r->arena, strides, nstrides, &args[2]));
  args[3] = fnzi_arg_int(offset);
  return open_window(r, step, args, 4);
}

/* Methods have the names of their operators. */
static fnz_status read_method(reader *r) {
  static const struct {
    fnzi_step_op step;
    fnz_status (*read)(reader *r, fnzi_step_op step);
  } methods[] = {{FNZI_STEP_T, no_ints},
                 {FNZI_STEP_TRANSPOSE, some_ints},
                 {FNZI_STEP_PERMUTE, one_list},
                 {FNZI_STEP_UNSQUEEZE, some_ints},
                 {FNZI_STEP_VIEW, read_view},
                 {FNZI_STEP_VIEW_AS_REAL, no_ints},
                 {FNZI_STEP_AS_STRIDED, read_strided}};
  const char *name, *from = r->at;
  FNZ_TRY(read_word(r, &name));
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    if (strcmp(name, fnzi_op_of_step(methods[i].step)->base) != 0)
      continue;
    FNZ_TRY(expect(r, '('));
    FNZ_TRY(methods[i].read(r, methods[i].step));
    return expect(r, ')');
  }
  r->at = from;
  return fail(r, "there is no view of this name here");
}

/* --- the whole -------------------------------------------------------------------------------- */
/* The name of an input, which may have dots: "layer.cache", "buffer.layer.cache". */
static fnz_status read_input(reader *r, const fnz_program *p, const char **name, uint32_t *input) {
  skip_blanks(r);
  size_t size = fnzi_input_at(p, r->at, input);
  if (!size) {
    FNZ_TRY(read_word(r, name));
    return fnzi_fail(r->ctx, FNZ_CLASS_REF, *name, "the program has no tensor input of this name");
  }
  FNZ_TRY(fnzi_arena_string(&r->arena, r->at, size, name));
  r->at += size;
  return FNZ_OK;
}

static fnz_status declare(reader *r, fnz_program *p) {
  const char *input, *base;
  uint32_t a, b;
  FNZ_TRY(read_input(r, p, &input, &a));
  FNZ_TRY(expect(r, '='));
  FNZ_TRY(read_input(r, p, &base, &b));
  const fnz_geometry *g = fnzi_input_geometry(p, b);
  if (g->symbols)
    return fnzi_fail(r->ctx, FNZ_CLASS_UNSUPPORTED, base,
                     "aliases are declared for fixed sizes; export the program with fixed sizes");
  FNZI_NEW(&r->arena, 1, &r->window);
  *r->window = *g;
  for (bool ends = false; !ends;) {
    if (accept(r, '[')) {
      int64_t dim = 0;
      do
        FNZ_TRY(read_index(r, &dim));
      while (accept(r, ','));
      FNZ_TRY(expect(r, ']'));
    } else if (accept(r, '.'))
      FNZ_TRY(read_method(r));
    else if (*r->at != 0)
      return fail(r, "expected '[', '.' or the end");
    else
      ends = true;
  }
  return fnz_program_declare_alias(r->ctx, p, input, base, r->window);
}

fnz_status fnz_program_alias(fnz_context *ctx, fnz_program *p, const char *alias) {
  reader r = {.ctx = ctx, .text = alias, .at = alias};
  fnzi_arena_init(&r.arena, ctx);
  fnz_status status = declare(&r, p);
  fnzi_arena_free(&r.arena);
  return status;
}
