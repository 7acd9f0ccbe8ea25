/* json_write.c - a tree of JSON, written as it was read. */
#include "program/formats/json_out.h"

/* Opens or writes the node; its children come next. */
static fnz_status json_write_begin(fnzi_json_out *w, const fnzi_json *node, bool has_key) {
  if (has_key && node->key)
    FNZ_TRY(fnzi_json_out_name(w, node->key, node->key_size));
  if (node->kind == FNZI_JSON_ARRAY || node->kind == FNZI_JSON_OBJECT)
    return fnzi_json_open(w, node->kind == FNZI_JSON_ARRAY ? '[' : '{');
  switch (node->kind) {
  case FNZI_JSON_BOOL:
    return fnzi_json_out_bool(w, node->u.i != 0);
  case FNZI_JSON_INT:
    return fnzi_json_out_int(w, node->u.i);
  case FNZI_JSON_FLOAT:
    return fnzi_json_out_float(w, node->u.f);
  case FNZI_JSON_STRING:
    return fnzi_json_out_string(w, node->u.s, node->count);
  case FNZI_JSON_NULL:
  case FNZI_JSON_ARRAY:
  case FNZI_JSON_OBJECT:
    break;
  }
  return fnzi_json_out_null(w);
}

fnz_status fnzi_json_out_tree(fnzi_json_out *w, const fnzi_json *root) {
  const fnzi_json *at = root;
  FNZ_TRY(json_write_begin(w, root, false));
  for (;;) {
    bool has_children = at->kind == FNZI_JSON_ARRAY || at->kind == FNZI_JSON_OBJECT;
    const fnzi_json *child = has_children ? at->u.first : NULL;
    if (child) {
      at = child;
      FNZ_TRY(json_write_begin(w, at, true));
      continue;
    }
    /* Up to the next container that has something left. */
    for (;; at = at->parent) {
      if (at->kind == FNZI_JSON_ARRAY || at->kind == FNZI_JSON_OBJECT)
        FNZ_TRY(fnzi_json_close(w, at->kind == FNZI_JSON_ARRAY ? ']' : '}'));
      if (at == root)
        return FNZ_OK;
      if (at->next)
        break;
    }
    at = at->next;
    FNZ_TRY(json_write_begin(w, at, true));
  }
}
