/* read.c - tags and entries of the two files: one row per key of an entry, and what follows
 * from all keys together.
 *
 * Keeps only the written values; the rules check whether they make sense. */
#include "schema/native/read.h"

#include "schema/table.h"

#include <stdio.h>
#include <stdlib.h>

/* As many entries as there are, each may be given two more; indices of operators have 16 bits. */
enum { MOST_ENTRIES = 20000, WITH_GENERATED = 3 };

/* --- Tags ------------------------------------------------------------------------------------- */

static const fnzi_yaml *member(const fnzi_yaml *map, const char *key) {
  for (const fnzi_yaml *n = map->first; n; n = n->next)
    if (strcmp(n->key, key) == 0)
      return n;
  return NULL;
}

static int find_text(const fnzi_native_texts *texts, const char *text) {
  for (size_t i = 0; i < texts->count; i++)
    if (strcmp(texts->data[i], text) == 0)
      return (int)i;
  return -1;
}

/* Tags are few: a bit for each must do. `tags` is a library that fails in the name of the tags
 * file. */
static fnz_status read_tag(fnz_library *library, const fnz_library *tags, const fnzi_yaml *item) {
  const char *name, *text;
  const fnzi_yaml *tag = item->kind == FNZI_YAML_MAP ? member(item, "tag") : NULL;
  if (!tag)
    return FNZI_BREAK(tags, item->line, tags_form, "%s without `tag`",
                      fnzi_yaml_kind_name(item->kind));
  FNZ_TRY(fnzi_native_value_word(tags, tag, "", &name));
  const fnzi_yaml *desc = member(item, "desc");
  if (!desc || desc->kind != FNZI_YAML_TEXT || !*desc->text)
    return FNZI_BREAK(tags, item->line, tag_described, "%s", name);
  for (const fnzi_yaml *n = item->first; n; n = n->next)
    if (n != tag && n != desc)
      return FNZI_BREAK(tags, n->line, key_known, "'%.80s'", n->key);
  if (find_text(&library->tags, name) >= 0)
    return FNZI_BREAK(tags, item->line, tag_once, "%s", name);
  if (library->tags.count == FNZI_MOST_TAGS)
    return fnzi_fail(library->ctx, FNZ_CLASS_LIMIT, tags->name, "more than %d tags are declared",
                     FNZI_MOST_TAGS);
  FNZ_TRY(fnzi_arena_string(&library->arena, name, strlen(name), &text));
  library->tags.data[library->tags.count++] = text;
  return FNZ_OK;
}

static fnz_status read_tags(fnz_library *library, const fnz_library_source *source) {
  static const char *const known[] = {
#define KNOWN_TAG_NAME(id, name) name,
      FNZI_KNOWN_TAG_ROWS(KNOWN_TAG_NAME)
#undef KNOWN_TAG_NAME
  };
  const fnz_library tags = {.ctx = library->ctx, .name = source->tags_name};
  fnzi_yaml *root;
  FNZ_TRY(fnzi_yaml_read(&library->arena, tags.name, source->tags, source->tags_size, &root));
  if (root->kind != FNZI_YAML_LIST)
    return FNZI_BREAK(&tags, root->line, tags_form, "a %s", fnzi_yaml_kind_name(root->kind));
  FNZI_NEW(&library->arena, FNZI_MOST_TAGS, &library->tags.data);
  for (const fnzi_yaml *item = root->first; item; item = item->next)
    FNZ_TRY(read_tag(library, &tags, item));
  for (int k = 0; k < FNZI_KNOWN_TAG_COUNT; k++) {
    int place = find_text(&library->tags, known[k]);
    library->known[k] = place < 0 ? 0 : UINT64_C(1) << place;
  }
  return FNZ_OK;
}

/* --- Single keys ------------------------------------------------------------------------------ */

static fnz_status set_func(fnzi_native_entry *entry, const fnzi_yaml *value) {
  (void)entry, (void)value; /* read before all others */
  return FNZ_OK;
}

static fnz_status read_func(fnzi_native_entry *entry, const fnzi_yaml *item) {
  const fnzi_yaml *value = item->kind == FNZI_YAML_MAP ? member(item, "func") : NULL;
  const char *text;
  if (!value)
    return FNZI_BREAK(entry->library, item->line, func_given, "a %s without it",
                      fnzi_yaml_kind_name(item->kind));
  FNZ_TRY(fnzi_native_value_text(entry->library, value, &text));
  size_t space = strcspn(text, ":("), dots = strcspn(text, ".(");
  if (text[space] == ':' && dots < space)
    return FNZI_BREAK(entry->library, value->line, namespace_once, "'%.80s'", text);
  fnz_status status = fnzi_schema_parse(&entry->library->arena, text, &entry->native->op);
  if (status != FNZ_OK) {
    /* The schema parser says where it stopped; the file and line go before that. */
    const fnz_error error = entry->library->ctx->error;
    if (status == FNZ_NO_MEMORY)
      return status;
    return FNZI_BREAK(entry->library, value->line, schema_form, "%s: %s", error.where,
                      error.message);
  }
  /* A parsed schema must print back exactly. */
  fnz_buffer printed = {0};
  const fnz_op *op = entry->native->op;
  status = fnzi_schema_print(entry->library->ctx, op, &printed);
  if (status == FNZ_OK && strcmp(printed.data, op->schema) != 0)
    status = FNZI_BREAK(entry->library, value->line, schema_form, "'%.160s' instead of '%.160s'",
                        op->schema, printed.data);
  fnz_buffer_free(entry->library->ctx, &printed);
  return status;
}

static fnz_status set_variants(fnzi_native_entry *entry, const fnzi_yaml *value) {
  const char *text;
  fnzi_native_piece piece;
  FNZ_TRY(fnzi_native_value_text(entry->library, value, &text));
  entry->function = entry->method = false;
  while (fnzi_native_next_piece(&text, &piece)) {
    bool function = piece.size == 8 && memcmp(piece.start, "function", 8) == 0;
    bool method = piece.size == 6 && memcmp(piece.start, "method", 6) == 0;
    if (!function && !method)
      return FNZI_BREAK(entry->library, value->line, variant_known, "'%.*s'", (int)piece.size,
                        piece.start);
    entry->function |= function;
    entry->method |= method;
  }
  return FNZ_OK;
}

/* A bool that stands for a flag: set when it is `yes`. */
static fnz_status flag(fnzi_native_entry *entry, const fnzi_yaml *value, bool yes, uint32_t bit) {
  bool given;
  FNZ_TRY(fnzi_native_value_bool(entry->library, value, &given));
  if (given == yes)
    entry->native->op->flags |= bit;
  return FNZ_OK;
}

static fnz_status set_structured(fnzi_native_entry *entry, const fnzi_yaml *value) {
  return flag(entry, value, true, FNZI_OP_STRUCTURED);
}

static fnz_status set_device_guard(fnzi_native_entry *entry, const fnzi_yaml *value) {
  return flag(entry, value, false, FNZI_OP_NO_DEVICE_GUARD);
}

static fnz_status set_manual_binding(fnzi_native_entry *entry, const fnzi_yaml *value) {
  return flag(entry, value, true, FNZI_OP_MANUAL_BINDING);
}

static fnz_status set_manual_registration(fnzi_native_entry *entry, const fnzi_yaml *value) {
  return flag(entry, value, true, FNZI_OP_MANUAL_REGISTRATION);
}

static fnz_status set_const_ref(fnzi_native_entry *entry, const fnzi_yaml *value) {
  return flag(entry, value, true, FNZI_OP_CONST_REF);
}

static fnz_status set_device_check(fnzi_native_entry *entry, const fnzi_yaml *value) {
  const char *text;
  FNZ_TRY(fnzi_native_value_text(entry->library, value, &text));
  if (strcmp(text, "NoCheck") == 0)
    entry->native->op->flags |= FNZI_OP_NO_DEVICE_CHECK;
  else if (strcmp(text, "ExactSame") != 0)
    return FNZI_BREAK(entry->library, value->line, device_check_known, "'%.80s'", text);
  return FNZ_OK;
}

/* Names within the namespace of the operator. */
static fnz_status plain_name(fnzi_native_entry *entry, const fnzi_yaml *value, const char **out) {
  FNZ_TRY(fnzi_native_value_word(entry->library, value, ".:", out));
  if (strchr(*out, ':'))
    return FNZI_BREAK(entry->library, value->line, namespace_once, "'%.80s'", *out);
  return FNZ_OK;
}

static fnz_status set_delegate(fnzi_native_entry *entry, const fnzi_yaml *value) {
  return plain_name(entry, value, &entry->native->op->delegate);
}

static fnz_status set_inherits(fnzi_native_entry *entry, const fnzi_yaml *value) {
  return plain_name(entry, value, &entry->native->inherits);
}

static fnz_status set_module(fnzi_native_entry *entry, const fnzi_yaml *value) {
  return fnzi_native_value_word(entry->library, value, ".", &entry->native->python_module);
}

static fnz_status set_category(fnzi_native_entry *entry, const fnzi_yaml *value) {
  return fnzi_native_value_word(entry->library, value, "", &entry->native->category);
}

static fnz_status set_autogen(fnzi_native_entry *entry, const fnzi_yaml *value) {
  const char *text;
  fnzi_native_piece piece;
  fnzi_native_texts *names = &entry->native->autogen;
  FNZ_TRY(fnzi_native_value_text(entry->library, value, &text));
  FNZI_NEW(&entry->library->arena, strlen(text) / 2 + 1, &names->data);
  while (fnzi_native_next_piece(&text, &piece)) {
    if (!fnzi_is_word(piece.start, piece.size, ".:"))
      return FNZI_BREAK(entry->library, value->line, word_form, "'%.*s'", (int)piece.size,
                        piece.start);
    FNZ_TRY(fnzi_arena_string(&entry->library->arena, piece.start, piece.size,
                              &names->data[names->count++]));
  }
  return FNZ_OK;
}

static fnz_status set_no_defaults(fnzi_native_entry *entry, const fnzi_yaml *value) {
  fnzi_native_texts *names = &entry->native->no_defaults;
  FNZ_TRY(fnzi_native_value_is(entry->library, value, FNZI_YAML_LIST));
  FNZI_NEW(&entry->library->arena, value->count, &names->data);
  for (const fnzi_yaml *item = value->first; item; item = item->next)
    FNZ_TRY(fnzi_native_value_word(entry->library, item, "", &names->data[names->count++]));
  if (names->count)
    entry->native->op->flags |= FNZI_OP_CPP_NO_DEFAULTS;
  return FNZ_OK;
}

static fnz_status add_tag(fnzi_native_entry *entry, const fnzi_yaml *value) {
  const char *name;
  FNZ_TRY(fnzi_native_value_text(entry->library, value, &name));
  int place = find_text(&entry->library->tags, name);
  if (place < 0)
    return FNZI_BREAK(entry->library, value->line, tag_known, "'%.80s'", name);
  entry->native->tags |= UINT64_C(1) << place;
  return FNZ_OK;
}

static fnz_status set_tags(fnzi_native_entry *entry, const fnzi_yaml *value) {
  if (value->kind != FNZI_YAML_LIST)
    return add_tag(entry, value);
  for (const fnzi_yaml *item = value->first; item; item = item->next)
    FNZ_TRY(add_tag(entry, item));
  return FNZ_OK;
}

static const struct {
  const char *key;
  fnz_status (*set)(fnzi_native_entry *entry, const fnzi_yaml *value);
} keys[] = {
    {"func", set_func},
    {"variants", set_variants},
    {"dispatch", fnzi_native_set_dispatch},
    {"structured", set_structured},
    {"structured_delegate", set_delegate},
    {"structured_inherits", set_inherits},
    {"precomputed", fnzi_native_set_precomputed},
    {"ufunc_inner_loop", fnzi_native_set_ufunc},
    {"autogen", set_autogen},
    {"tags", set_tags},
    {"device_check", set_device_check},
    {"device_guard", set_device_guard},
    {"cpp_no_default_args", set_no_defaults},
    {"category_override", set_category},
    {"python_module", set_module},
    {"manual_cpp_binding", set_manual_binding},
    {"manual_kernel_registration", set_manual_registration},
    {"use_const_ref_for_mutable_tensors", set_const_ref},
};

/* --- A whole entry ---------------------------------------------------------------------------- */

/* torchgen does not look whether self is written. */
static fnzi_kind kind_of(const fnz_op *op) {
  bool behind_self = fnzi_op_param(op, "self") < 0;
  if (op->kind != FNZI_KIND_MUTABLE)
    return op->kind;
  for (size_t i = 0; i < op->nparams; i++) {
    bool is_self = strcmp(op->params[i].name, "self") == 0;
    if (behind_self && op->params[i].is_write)
      return FNZI_KIND_MUTABLE;
    behind_self |= is_self;
  }
  return FNZI_KIND_FUNCTIONAL;
}

static fnz_status finish(fnzi_native_entry *entry) {
  fnzi_native *n = entry->native;
  uint64_t place;
  if (!entry->function)
    n->op->flags |= FNZI_OP_NO_FUNCTION;
  if (entry->method)
    n->op->flags |= FNZI_OP_METHOD;
  /* Tags that are there without being written down. */
  uint64_t tags = strstr(n->op->name, "::") ? 0 : entry->library->known[FNZI_KNOWN_PT2];
  for (size_t i = 0; i < n->op->nparams; i++)
    if (n->op->params[i].is_out)
      tags |= entry->library->known[FNZI_KNOWN_OUT];
  n->tags |=
      n->op->kind == FNZI_KIND_INPLACE ? tags | entry->library->known[FNZI_KNOWN_INPLACE] : tags;
  /* A function without dispatch table has one kernel, which decomposes. */
  n->keys = n->nufunc ? n->keys | FNZI_DISPATCH_BIT(CPU) | FNZI_DISPATCH_BIT(CUDA)
            : n->has_dispatch || fnzi_native_is_structured(n)
                ? n->keys
                : FNZI_DISPATCH_BIT(CompositeImplicitAutograd);
  n->kind = kind_of(n->op);
  if (fnzi_map_get(&entry->library->by_name, n->op->name, strlen(n->op->name), &place))
    return FNZI_BREAK(entry->library, n->line, name_once, "%s, which line %u has too", n->op->name,
                      entry->library->natives[place].line);
  return fnzi_native_publish(entry->library);
}

fnz_status fnzi_native_read(fnz_library *library, const fnz_library_source *source) {
  fnzi_yaml *root;
  FNZ_TRY(read_tags(library, source));
  FNZ_TRY(fnzi_yaml_read(&library->arena, library->name, source->functions, source->functions_size,
                         &root));
  if (root->kind != FNZI_YAML_LIST)
    return FNZI_BREAK(library, root->line, file_form, "a %s", fnzi_yaml_kind_name(root->kind));
  if (root->count > MOST_ENTRIES)
    return fnzi_fail(library->ctx, FNZ_CLASS_LIMIT, library->name,
                     "%u entries, but %d are the most", root->count, MOST_ENTRIES);
  FNZI_NEW(&library->arena, (size_t)root->count * WITH_GENERATED, &library->natives);
  for (const fnzi_yaml *item = root->first; item; item = item->next) {
    fnzi_native_entry entry = {
        .library = library, .native = &library->natives[library->count], .function = true};
    entry.native->line = item->line;
    FNZ_TRY(read_func(&entry, item));
    for (const fnzi_yaml *value = item->first; value; value = value->next) {
      size_t i = 0, count = sizeof keys / sizeof *keys;
      while (i < count && strcmp(keys[i].key, value->key) != 0)
        i++;
      if (i == count)
        return FNZI_BREAK(library, value->line, key_known, "'%.80s'", value->key);
      FNZ_TRY(keys[i].set(&entry, value));
    }
    FNZ_TRY(finish(&entry));
  }
  library->nentries = library->count;
  return FNZ_OK;
}
