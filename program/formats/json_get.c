/* json_get.c - reading a JSON tree with errors that name the record and the place. */
#include "program/formats/json.h"

#include <math.h>
#include <stdio.h>

/* --- places ----------------------------------------------------------------------------------- */

/* Puts "[3]", ".key" or "key" before `end`; NULL when there is no room for it. */
static char *step_before(char *start, char *end, const fnzi_json *at) {
  char text[24];
  const char *step = at->key;
  size_t size = at->key_size, dot = at->key && at->parent->parent;
  if (!at->key) {
    size_t n = 0;
    for (const fnzi_json *i = at->parent->u.first; i != at; i = i->next)
      n++;
    snprintf(text, sizeof text, "[%zu]", n);
    step = text;
    size = strlen(text);
  }
  if (size + dot > (size_t)(end - start))
    return NULL;
  end -= size;
  memcpy(end, step, size);
  if (dot)
    *--end = '.';
  return end;
}

/* "record: a.b[3].c"; of a path that is too long its end, which is of more use than its beginning.
 */
static void describe(const fnzi_json_doc *doc, const fnzi_json *at, char out[192]) {
  char path[128], *start = path + sizeof path - 1, *next;
  *start = 0;
  for (; at && at->parent; at = at->parent, start = next)
    if (!(next = step_before(path, start, at)))
      break;
  snprintf(out, 192, "%.60s%s%s", doc->record, *start ? ": " : "", start);
}

fnz_status fnzi_json_fail(const fnzi_json_doc *doc, fnz_class kind, const fnzi_json *at,
                          const char *format, ...) {
  char where[192], message[512];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  describe(doc, at, where);
  return fnzi_fail(doc->ctx, kind, where, "%s", message);
}

fnz_status fnzi_json_at(const fnzi_json_doc *doc, fnz_status status, const fnzi_json *at) {
  char where[192];
  if (status == FNZ_OK)
    return FNZ_OK;
  describe(doc, at, where);
  return fnzi_at(doc->ctx, status, "%s", where);
}

/* --- members ---------------------------------------------------------------------------------- */
static const fnzi_json *find_any(const fnzi_json *object, const char *key) {
  size_t size = strlen(key);
  const fnzi_json *m = object && object->kind == FNZI_JSON_OBJECT ? object->u.first : NULL;
  while (m && !(m->key_size == size && memcmp(m->key, key, size) == 0))
    m = m->next;
  return m;
}

const fnzi_json *fnzi_json_find(const fnzi_json *object, const char *key) {
  const fnzi_json *m = find_any(object, key);
  return m && m->kind != FNZI_JSON_NULL ? m : NULL;
}

const fnzi_json *fnzi_json_first_item(const fnzi_json *object, const char *key) {
  const fnzi_json *list = fnzi_json_find(object, key);
  return list && list->kind == FNZI_JSON_ARRAY ? list->u.first : NULL;
}

fnz_status fnzi_json_expect(const fnzi_json_doc *doc, const fnzi_json *node, fnzi_json_kind kind) {
  static const char *const names[] = {"null",     "true or false", "an integer", "a number",
                                      "a string", "an array",      "an object"};
  if (node->kind == kind)
    return FNZ_OK;
  return fnzi_json_fail(doc, FNZ_CLASS_TYPE, node, "is %s, but must be %s", names[node->kind],
                        names[kind]);
}

fnz_status fnzi_json_need(const fnzi_json_doc *doc, const fnzi_json *object, const char *key,
                          fnzi_json_kind kind, const fnzi_json **out) {
  FNZ_TRY(fnzi_json_expect(doc, object, FNZI_JSON_OBJECT));
  *out = find_any(object, key);
  if (!*out)
    return fnzi_json_fail(doc, FNZ_CLASS_TYPE, object, "the key \"%s\" is missing", key);
  return fnzi_json_expect(doc, *out, kind);
}

fnz_status fnzi_json_only(const fnzi_json_doc *doc, const fnzi_json *object,
                          const fnzi_json **out) {
  FNZ_TRY(fnzi_json_expect(doc, object, FNZI_JSON_OBJECT));
  if (object->count != 1)
    return fnzi_json_fail(doc, FNZ_CLASS_TYPE, object,
                          "a union must have exactly one key, this has %u", object->count);
  *out = object->u.first;
  return FNZ_OK;
}

/* --- values ----------------------------------------------------------------------------------- */
fnz_status fnzi_json_int(const fnzi_json_doc *doc, const fnzi_json *node, int64_t *out) {
  FNZ_TRY(fnzi_json_expect(doc, node, FNZI_JSON_INT));
  *out = node->u.i;
  return FNZ_OK;
}

fnz_status fnzi_json_float(const fnzi_json_doc *doc, const fnzi_json *node, double *out) {
  if (node->kind == FNZI_JSON_STRING) {
    const bool is_less = strcmp(node->u.s, "-Infinity") == 0;
    const bool is_nan = strcmp(node->u.s, "NaN") == 0;
    *out = is_nan ? (double)NAN : is_less ? -(double)INFINITY : (double)INFINITY;
    if (is_nan || is_less || strcmp(node->u.s, "Infinity") == 0)
      return FNZ_OK;
  }
  if (node->kind == FNZI_JSON_INT) {
    *out = (double)node->u.i;
    return FNZ_OK;
  }
  FNZ_TRY(fnzi_json_expect(doc, node, FNZI_JSON_FLOAT));
  *out = node->u.f;
  return FNZ_OK;
}

fnz_status fnzi_json_text(const fnzi_json_doc *doc, const fnzi_json *node, const char **out) {
  FNZ_TRY(fnzi_json_expect(doc, node, FNZI_JSON_STRING));
  if (memchr(node->u.s, 0, node->count))
    return fnzi_json_fail(doc, FNZ_CLASS_ENCODING, node, "the string contains a zero byte");
  *out = node->u.s;
  return FNZ_OK;
}

fnz_status fnzi_json_need_text(const fnzi_json_doc *doc, const fnzi_json *object, const char *key,
                               const char **out) {
  const fnzi_json *member;
  FNZ_TRY(fnzi_json_need(doc, object, key, FNZI_JSON_STRING, &member));
  return fnzi_json_text(doc, member, out);
}

fnz_status fnzi_json_flag(const fnzi_json_doc *doc, const fnzi_json *object, const char *key,
                          bool otherwise, bool *out) {
  const fnzi_json *member = fnzi_json_find(object, key);
  *out = otherwise;
  if (!member)
    return FNZ_OK;
  FNZ_TRY(fnzi_json_expect(doc, member, FNZI_JSON_BOOL));
  *out = member->u.i != 0;
  return FNZ_OK;
}
