/* values.c - values of native_functions.yaml: their types, and the ones with an inner form.
 */
#include "schema/native/read.h"

#include <stdio.h>

/* --- Types ------------------------------------------------------------------------------------ */

static bool is_among(const char *text, const char *const *words, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(text, words[i]) == 0)
      return true;
  return false;
}

static const char *const true_words[] = {"true", "True", "TRUE", "yes", "Yes",
                                         "YES",  "on",   "On",   "ON"};
static const char *const false_words[] = {"false", "False", "FALSE", "no", "No",
                                          "NO",    "off",   "Off",   "OFF"};
static const char *const null_words[] = {"", "~", "null", "Null", "NULL"};
enum { BOOL_WORDS = 9, NULL_WORDS = 5 };

static bool is_number(const char *text) {
  return strspn(text, "+-.") < strlen(text) && !text[strspn(text, "+-.0123456789eE_:")] &&
         text[strspn(text, "+-.")] >= '0' && text[strspn(text, "+-.")] <= '9';
}

/* The type that YAML reads the text as. */
static const char *type_name(const fnzi_yaml *value) {
  if (value->kind != FNZI_YAML_TEXT)
    return fnzi_yaml_kind_name(value->kind);
  if (!value->plain)
    return "text";
  if (is_among(value->text, null_words, NULL_WORDS))
    return "nothing";
  if (is_among(value->text, true_words, BOOL_WORDS) ||
      is_among(value->text, false_words, BOOL_WORDS))
    return "bool";
  return is_number(value->text) ? "number" : "text";
}

static fnz_status wrong_type(const fnz_library *library, const fnzi_yaml *value, const char *want) {
  const char *key = value->key ? value->key : "an item";
  return FNZI_BREAK(library, value->line, value_type, "%s of type %s instead of %s", key,
                    type_name(value), want);
}

fnz_status fnzi_native_value_text(const fnz_library *library, const fnzi_yaml *value,
                                  const char **out) {
  if (strcmp(type_name(value), "text") != 0)
    return wrong_type(library, value, "text");
  *out = value->text;
  return FNZ_OK;
}

fnz_status fnzi_native_value_bool(const fnz_library *library, const fnzi_yaml *value, bool *out) {
  if (strcmp(type_name(value), "bool") != 0)
    return wrong_type(library, value, "bool");
  *out = is_among(value->text, true_words, BOOL_WORDS);
  return FNZ_OK;
}

fnz_status fnzi_native_value_is(const fnz_library *library, const fnzi_yaml *value,
                                fnzi_yaml_kind kind) {
  return value->kind == kind ? FNZ_OK : wrong_type(library, value, fnzi_yaml_kind_name(kind));
}

bool fnzi_is_word(const char *text, size_t size, const char *more) {
  for (size_t i = 0; i < size; i++) {
    char c = text[i];
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && c != '_' && !(c && strchr(more, c)))
      return false;
  }
  return size > 0;
}

fnz_status fnzi_native_value_word(const fnz_library *library, const fnzi_yaml *value,
                                  const char *more, const char **out) {
  FNZ_TRY(fnzi_native_value_text(library, value, out));
  if (fnzi_is_word(*out, strlen(*out), more))
    return FNZ_OK;
  return FNZI_BREAK(library, value->line, word_form, "'%.80s'", *out);
}

bool fnzi_native_next_piece(const char **at, fnzi_native_piece *out) {
  if (!*at)
    return false;
  const char *start = *at, *end = start + strcspn(start, ",");
  *at = *end ? end + 1 : NULL;
  while (start < end && *start == ' ')
    start++;
  while (start < end && end[-1] == ' ')
    end--;
  *out = (fnzi_native_piece){start, (size_t)(end - start)};
  return true;
}

static bool piece_is(fnzi_native_piece piece, const char *text) {
  return strlen(text) == piece.size && memcmp(text, piece.start, piece.size) == 0;
}

/* The place of a name in a table; `count` when it is not there. */
static int find_name(const char *const *names, int count, fnzi_native_piece piece) {
  int i = 0;
  while (i < count && !piece_is(piece, names[i]))
    i++;
  return i;
}

/* --- Dispatch --------------------------------------------------------------------------------- */

static const char *const dispatch_names[] = {
#define DISPATCH_NAME(name, sort) #name,
    FNZI_DISPATCH_ROWS(DISPATCH_NAME)
#undef DISPATCH_NAME
};

const char *fnzi_native_dispatch_name(fnzi_native_dispatch_key key) {
  return dispatch_names[key];
}

static fnz_status add_key(fnzi_native_entry *entry, const fnzi_yaml *line, fnzi_native_piece piece,
                          fnzi_native_dispatch *list) {
  fnzi_native *n = entry->native;
  fnzi_native_dispatch_key key =
      (fnzi_native_dispatch_key)find_name(dispatch_names, FNZI_DISPATCH_COUNT, piece);
  if (key == FNZI_DISPATCH_COUNT)
    return FNZI_BREAK(entry->library, line->line, dispatch_key_known, "'%.*s'", (int)piece.size,
                      piece.start);
  if (n->keys & 1u << key)
    return FNZI_BREAK(entry->library, line->line, dispatch_key_once, "a second kernel for %s",
                      fnzi_native_dispatch_name(key));
  n->keys |= 1u << key;
  list[n->ndispatch++] = (fnzi_native_dispatch){.key = key, .kernel = line->text};
  return FNZ_OK;
}

fnz_status fnzi_native_set_dispatch(fnzi_native_entry *entry, const fnzi_yaml *value) {
  fnzi_native_dispatch *list;
  FNZ_TRY(fnzi_native_value_is(entry->library, value, FNZI_YAML_MAP));
  FNZI_NEW(&entry->library->arena, FNZI_DISPATCH_COUNT, &list);
  entry->native->has_dispatch = true;
  entry->native->dispatch = list;
  for (const fnzi_yaml *line = value->first; line; line = line->next) {
    /* "CPU, CUDA: add_out", and the same onto the text of the whole. */
    fnz_op *op = entry->native->op;
    const char *kernel = "", *at = line->key, *gap = *op->dispatch_text == '-' ? "" : "; ";
    const char *before = *gap ? op->dispatch_text : "";
    fnzi_native_piece piece;
    FNZ_TRY(fnzi_native_value_word(entry->library, line, ":", &kernel));
    int spaces = 0;
    for (const char *s = strstr(kernel, "::"); s; s = strstr(s + 2, "::"))
      spaces++;
    if (spaces > 3) /* "a::b::c::kernel" at most */
      return FNZI_BREAK(entry->library, line->line, kernel_namespaces, "%s", kernel);
    while (fnzi_native_next_piece(&at, &piece)) {
      FNZ_TRY(add_key(entry, line, piece, list));
      FNZ_TRY(fnzi_arena_format(&entry->library->arena, &before, "%s%s%.*s", before, gap,
                                (int)piece.size, piece.start));
      gap = ", ";
    }
    FNZ_TRY(
        fnzi_arena_format(&entry->library->arena, &op->dispatch_text, "%s: %s", before, kernel));
  }
  return FNZ_OK;
}

/* --- Ufuncs ----------------------------------------------------------------------------------- */

static const char *const ufunc_names[] = {
#define UFUNC_NAME(name) #name,
    FNZI_UFUNC_ROWS(UFUNC_NAME)
#undef UFUNC_NAME
};

static uint32_t dtypes_of(fnzi_native_piece piece) {
  static const struct {
    const char *name;
    uint32_t dtypes;
  } rows[] = {
#define DTYPE_ROW(name) {#name, FNZI_UFUNC_##name},
      FNZI_UFUNC_DTYPE_ROWS(DTYPE_ROW) DTYPE_ROW(Integral) DTYPE_ROW(Floating) DTYPE_ROW(Complex)
          DTYPE_ROW(All) DTYPE_ROW(AllAndComplex) DTYPE_ROW(FloatingAndComplex)
#undef DTYPE_ROW
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (piece_is(piece, rows[i].name))
      return rows[i].dtypes;
  return 0;
}

/* "add (AllAndComplex, BFloat16)" */
static fnz_status read_ufunc(fnzi_native_entry *entry, const fnzi_yaml *value,
                             fnzi_native_ufunc *out) {
  const char *text = "", *list;
  FNZ_TRY(fnzi_native_value_text(entry->library, value, &text));
  size_t name = strcspn(text, " "), size = strlen(text);
  if (size < sizeof "f ()" - 1 || !fnzi_is_word(text, name, "") || text[name] != ' ' ||
      text[name + 1] != '(' || text[size - 1] != ')')
    return FNZI_BREAK(entry->library, value->line, ufunc_form, "'%.80s'", text);
  FNZ_TRY(fnzi_arena_string(&entry->library->arena, text, name, &out->function));
  FNZ_TRY(fnzi_arena_string(&entry->library->arena, text + name + 2, size - name - 3, &list));
  fnzi_native_piece piece;
  while (fnzi_native_next_piece(&list, &piece)) {
    uint32_t dtypes = dtypes_of(piece);
    if (!dtypes)
      return FNZI_BREAK(entry->library, value->line, ufunc_dtype_known, "'%.*s'", (int)piece.size,
                        piece.start);
    out->dtypes |= dtypes;
  }
  return FNZ_OK;
}

fnz_status fnzi_native_set_ufunc(fnzi_native_entry *entry, const fnzi_yaml *value) {
  fnzi_native_ufunc *list;
  size_t count = 0;
  FNZI_NEW(&entry->library->arena, value->count + 1, &list);
  entry->native->ufunc = list;
  if (value->kind == FNZI_YAML_TEXT) {
    FNZ_TRY(read_ufunc(entry, value, list));
    count = 1;
  } else {
    FNZ_TRY(fnzi_native_value_is(entry->library, value, FNZI_YAML_MAP));
    for (const fnzi_yaml *line = value->first; line; line = line->next) {
      fnzi_native_ufunc *out = &list[count++];
      int key = find_name(ufunc_names, FNZI_UFUNC_COUNT,
                          (fnzi_native_piece){line->key, strlen(line->key)});
      if (key == FNZI_UFUNC_COUNT)
        return FNZI_BREAK(entry->library, line->line, ufunc_key_known, "'%.80s'", line->key);
      out->key = (fnzi_native_ufunc_key)key;
      FNZ_TRY(read_ufunc(entry, line, out));
    }
  }
  entry->native->nufunc = count;
  return FNZ_OK;
}

/* --- Precomputed ------------------------------------------------------------------------------ */

/* "int dim, int valid", by way of the schema parser. */
static fnz_status read_params(fnzi_native_entry *entry, const fnzi_yaml *line, const char *text,
                              fnzi_native_precomputed *out) {
  const char *schema;
  fnz_op *op;
  FNZ_TRY(fnzi_arena_format(&entry->library->arena, &schema, "precomputed(%s) -> ()", text));
  fnz_status status = fnzi_schema_parse(&entry->library->arena, schema, &op);
  if (status == FNZ_NO_MEMORY)
    return status;
  if (status != FNZ_OK || !op->nparams || op->params[op->nparams - 1].keyword_only)
    return FNZI_BREAK(entry->library, line->line, precomputed_form, "'%.80s'", line->text);
  for (size_t i = 0; i < op->nparams; i++) {
    const char *name = op->params[i].name;
    if (!name[strcspn(name, "abcdefghijklmnopqrstuvwxyz")])
      return FNZI_BREAK(entry->library, line->line, precomputed_name, "%s", name);
  }
  out->with = op->params;
  out->count = op->nparams;
  return FNZ_OK;
}

/* "dim -> int dim, int valid" */
static fnz_status read_precomputed(fnzi_native_entry *entry, const fnzi_yaml *line,
                                   fnzi_native_precomputed *out) {
  static const char arrow[] = " -> ";
  const char *text = "";
  FNZ_TRY(fnzi_native_value_text(entry->library, line, &text));
  const char *at = strstr(text, arrow);
  if (!at && !line->next)
    return read_params(entry, line, text, out);
  if (!at || !fnzi_is_word(text, (size_t)(at - text), ""))
    return FNZI_BREAK(entry->library, line->line, precomputed_form, "'%.80s'", text);
  FNZ_TRY(fnzi_arena_string(&entry->library->arena, text, (size_t)(at - text), &out->param));
  return read_params(entry, line, at + sizeof arrow - 1, out);
}

fnz_status fnzi_native_set_precomputed(fnzi_native_entry *entry, const fnzi_yaml *value) {
  fnzi_native_precomputed *list;
  if (value->kind != FNZI_YAML_LIST || !value->count)
    return FNZI_BREAK(entry->library, value->line, precomputed_form, "%s", type_name(value));
  FNZI_NEW(&entry->library->arena, value->count, &list);
  entry->native->precomputed = list;
  for (const fnzi_yaml *line = value->first; line; line = line->next)
    FNZ_TRY(read_precomputed(entry, line, &list[entry->native->nprecomputed++]));
  return FNZ_OK;
}
