/* defaults.c - default values in schemas: text to an argument of the parameter's type.
 *
 * A number without a point is a float where the parameter is one; a single value stands for all
 * items of a list of fixed size. */
#include "schema/parse.h"

#include <errno.h>
#include <stdlib.h>

/* Words that stand for a value of one type; and the numbers that PyTorch prints of them. */
typedef struct word_row {
  const char *name;
  fnzi_type type;
  fnz_tag tag;
  int64_t value;
} word_row;

static const word_row words[] = {
#define DTYPE_WORD(id, name, bytes, category, pt2, torch, safetensors)                             \
  {torch, FNZI_TYPE_DTYPE, FNZ_ARG_DTYPE, FNZ_##id},
    FNZ_DTYPE_ROWS(DTYPE_WORD)
#undef DTYPE_WORD
        {"long", FNZI_TYPE_DTYPE, FNZ_ARG_DTYPE, FNZ_I64},
    {"int", FNZI_TYPE_DTYPE, FNZ_ARG_DTYPE, FNZ_I32},
    {"short", FNZI_TYPE_DTYPE, FNZ_ARG_DTYPE, FNZ_I16},
    {"half", FNZI_TYPE_DTYPE, FNZ_ARG_DTYPE, FNZ_F16},
    {"float", FNZI_TYPE_DTYPE, FNZ_ARG_DTYPE, FNZ_F32},
    {"double", FNZI_TYPE_DTYPE, FNZ_ARG_DTYPE, FNZ_F64},
    {"Mean", FNZI_TYPE_INT, FNZ_ARG_INT, 1},
    {"Sum", FNZI_TYPE_INT, FNZ_ARG_INT, 2},
    {"contiguous_format", FNZI_TYPE_MEMORY_FORMAT, FNZ_ARG_MEMORY_FORMAT, 1},
    {"channels_last", FNZI_TYPE_MEMORY_FORMAT, FNZ_ARG_MEMORY_FORMAT, 2},
    {"channels_last_3d", FNZI_TYPE_MEMORY_FORMAT, FNZ_ARG_MEMORY_FORMAT, 3},
    {"preserve_format", FNZI_TYPE_MEMORY_FORMAT, FNZ_ARG_MEMORY_FORMAT, 4},
    {"strided", FNZI_TYPE_LAYOUT, FNZ_ARG_LAYOUT, 7},
    {"sparse_coo", FNZI_TYPE_LAYOUT, FNZ_ARG_LAYOUT, 1},
#define SCALAR_TYPE(number, dtype) {#number, FNZI_TYPE_DTYPE, FNZ_ARG_DTYPE, FNZ_##dtype},
#include "schema/scalar_types.def"
#undef SCALAR_TYPE
    {"0", FNZI_TYPE_MEMORY_FORMAT, FNZ_ARG_MEMORY_FORMAT, 1},
    {"1", FNZI_TYPE_MEMORY_FORMAT, FNZ_ARG_MEMORY_FORMAT, 4},
    {"2", FNZI_TYPE_MEMORY_FORMAT, FNZ_ARG_MEMORY_FORMAT, 2},
    {"3", FNZI_TYPE_MEMORY_FORMAT, FNZ_ARG_MEMORY_FORMAT, 3},
    {"0", FNZI_TYPE_LAYOUT, FNZ_ARG_LAYOUT, 7},
    {"1", FNZI_TYPE_LAYOUT, FNZ_ARG_LAYOUT, 1},
    {"True", FNZI_TYPE_BOOL, FNZ_ARG_BOOL, 1},
    {"False", FNZI_TYPE_BOOL, FNZ_ARG_BOOL, 0},
    {"True", FNZI_TYPE_SYM_BOOL, FNZ_ARG_BOOL, 1},
    {"False", FNZI_TYPE_SYM_BOOL, FNZ_ARG_BOOL, 0},
    {"True", FNZI_TYPE_SCALAR, FNZ_ARG_BOOL, 1},
    {"False", FNZI_TYPE_SCALAR, FNZ_ARG_BOOL, 0},
};

static const char value_wanted[] = "a default value of the parameter's type";

static fnz_status word_value(fnzi_scan *s, fnzi_type type, fnz_arg *out) {
  const char *start = s->at;
  /* A word or a number; of a device with the number behind its colon. */
  static const char digits[] = "0123456789";
  if (!fnzi_scan_word(s, false).size)
    s->at += strspn(s->at, digits);
  else if (type == FNZI_TYPE_DEVICE && *s->at == ':')
    s->at += 1 + strspn(s->at + 1, digits);
  fnzi_word word = (fnzi_word){start, (size_t)(s->at - start)};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (words[i].type == type && fnzi_word_is(word, words[i].name)) {
      *out = (fnz_arg){.tag = (uint8_t)words[i].tag, .u.i = words[i].value};
      return FNZ_OK;
    }
  if (type == FNZI_TYPE_DEVICE && word.size) {
    out->tag = (uint8_t)FNZ_ARG_DEVICE;
    out->count = (uint32_t)word.size;
    return fnzi_arena_string(s->arena, word.start, word.size, &out->u.s);
  }
  s->at = start;
  return fnzi_scan_fail(s, value_wanted);
}

/* The double of a whole word, whatever the locale's decimal point is. */
static bool read_double(char *text, double *out) {
  char *end;
  *out = strtod(text, &end);
  if (*end == '.') {
    *end = ',';
    *out = strtod(text, &end);
  }
  return *text && !*end;
}

static bool read_int(const char *text, int64_t *out) {
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  *out = value;
  return *text && !*end && !errno;
}

static fnz_status number_value(fnzi_scan *s, fnzi_type type, fnz_arg *out) {
  char text[64];
  bool may_int = type == FNZI_TYPE_INT || type == FNZI_TYPE_SYM_INT || type == FNZI_TYPE_SCALAR;
  bool may_float = type == FNZI_TYPE_FLOAT || type == FNZI_TYPE_SCALAR;
  size_t size = strspn(s->at, "+-.0123456789eEinfa");
  if (size >= sizeof text)
    return fnzi_scan_fail(s, "a number of at most 63 characters");
  memcpy(text, s->at, size);
  text[size] = 0;
  if (may_int && read_int(text, &out->u.i))
    out->tag = FNZ_ARG_INT;
  else if (may_float && read_double(text, &out->u.f))
    out->tag = FNZ_ARG_FLOAT;
  else
    return fnzi_scan_fail(s, value_wanted);
  s->at += size;
  return FNZ_OK;
}

static fnz_status string_value(fnzi_scan *s, fnzi_type type, fnz_arg *out) {
  char quote = *s->at, *text, *end;
  if (type != FNZI_TYPE_STRING && type != FNZI_TYPE_DEVICE)
    return fnzi_scan_fail(s, value_wanted);
  FNZI_NEW(s->arena, strlen(s->at), &text);
  end = text;
  for (s->at++; *s->at && *s->at != quote; s->at++) {
    s->at += *s->at == '\\' && s->at[1];
    *end++ = *s->at;
  }
  if (*s->at != quote)
    return fnzi_scan_fail(s, "the end of a string");
  s->at++;
  out->tag = type == FNZI_TYPE_STRING ? FNZ_ARG_STRING : FNZ_ARG_DEVICE;
  out->count = (uint32_t)(end - text);
  out->u.s = text;
  return FNZ_OK;
}

static fnz_status value(fnzi_scan *s, fnzi_type type, fnz_arg *out) {
  fnzi_scan_accept(s, "");
  if (*s->at == '"' || *s->at == '\'')
    return string_value(s, type, out);
  bool number = *s->at && strchr("+-.0123456789", *s->at);
  if (type == FNZI_TYPE_DTYPE || type == FNZI_TYPE_MEMORY_FORMAT || type == FNZI_TYPE_LAYOUT)
    return word_value(s, type, out);
  if (number || ((type == FNZI_TYPE_FLOAT || type == FNZI_TYPE_SCALAR) &&
                 (strncmp(s->at, "inf", 3) == 0 || strncmp(s->at, "nan", 3) == 0)))
    return number_value(s, type, out);
  return word_value(s, type, out);
}

static fnz_status any_value(fnzi_scan *s, const fnzi_param *p, fnz_arg *out) {
  const char *start = s->at;
  if (p->optional && fnzi_word_is(fnzi_scan_word(s, false), "None"))
    return *out = (fnz_arg){.tag = FNZ_ARG_NONE}, FNZ_OK;
  s->at = start;
  if (!p->is_list)
    return value(s, p->type, out);
  if (fnzi_scan_accept(s, "[")) {
    size_t most = 1;
    fnz_arg *items;
    for (const char *c = s->at; *c && *c != ']'; c++)
      most += *c == ',';
    FNZI_NEW(s->arena, most, &items);
    *out = (fnz_arg){.tag = FNZ_ARG_LIST, .u.list = items};
    if (fnzi_scan_accept(s, "]"))
      return FNZ_OK;
    do {
      FNZ_TRY(value(s, p->type, &items[out->count]));
      out->count++;
    } while (fnzi_scan_accept(s, ",") && out->count < most);
    return fnzi_scan_expect(s, "]");
  }
  /* `int[2] stride=1` is [1, 1]; of a list of any size it is [1]. */
  uint32_t count = p->list_size ? (uint32_t)p->list_size : 1;
  fnz_arg *items, item = {0};
  FNZ_TRY(value(s, p->type, &item));
  FNZI_NEW(s->arena, count, &items);
  for (uint32_t i = 0; i < count; i++)
    items[i] = item;
  *out = (fnz_arg){.tag = FNZ_ARG_LIST, .count = count, .u.list = items};
  return FNZ_OK;
}

fnz_status fnzi_scan_default(fnzi_scan *s, fnzi_param *p) {
  fnzi_scan_accept(s, "");
  const char *start = s->at;
  FNZ_TRY(any_value(s, p, &p->default_value));
  p->has_default = true;
  return fnzi_arena_string(s->arena, start, (size_t)(s->at - start), &p->default_text);
}
