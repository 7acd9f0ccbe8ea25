/* pt2.c - programs saved by torch.export: which record of the archive is what.
 *
 * Three containers hold the same model JSON: an archive with raw tensors (torch 2.9 and later, or
 * 2.8 with pickled ones), the older flat archive, and the JSON alone. Everything that is not needed
 * stays closed: pickles, sample inputs, compiled code, extra files. It is kept as it is, should the
 * program be written as .pt2 again. */
#include "program/formats/foreign.h"
#include "program/formats/pt2.h"

#include <stdio.h>
#include <stdlib.h>

enum { SCHEMA_MAJOR = 8 };

/* The remedy for a version that is not supported. */
static const char *version_remedy(int64_t major) {
  return major < SCHEMA_MAJOR ? "torch 2.5 or older wrote it: export again with torch 2.6 or newer"
                              : "a newer torch wrote it than this release knows";
}

/* --- the model -------------------------------------------------------------------------------- */
static fnz_status read_bound(fnzi_pt2 *r, const fnzi_json *range, const char *key, int64_t *out) {
  const fnzi_json *bound = fnzi_json_find(range, key);
  return bound ? fnzi_json_int(&r->doc, bound, out) : FNZ_OK;
}

static fnz_status read_model(fnzi_pt2 *r) {
  const fnzi_json *module;
  const fnzi_json *version, *major, *minor;
  FNZ_TRY(fnzi_json_need(&r->doc, r->doc.root, "schema_version", FNZI_JSON_OBJECT, &version));
  FNZ_TRY(fnzi_json_need(&r->doc, version, "major", FNZI_JSON_INT, &major));
  FNZ_TRY(fnzi_json_need(&r->doc, version, "minor", FNZI_JSON_INT, &minor));
  if (major->u.i != SCHEMA_MAJOR || minor->u.i < 0 || minor->u.i > FNZI_MOST_SCHEMA)
    return fnzi_json_fail(
        &r->doc, FNZ_CLASS_VERSION, version, "schema version %lld.%lld is not read, only %d.x; %s",
        (long long)major->u.i, (long long)minor->u.i, SCHEMA_MAJOR, version_remedy(major->u.i));
  r->p->schema_major = SCHEMA_MAJOR;
  r->p->schema_minor = (int)minor->u.i;
  const fnzi_json *node = fnzi_json_find(r->doc.root, "torch_version");
  const char *text = "<=2.4";
  if (node)
    FNZ_TRY(fnzi_json_text(&r->doc, node, &text));
  FNZ_TRY(fnzi_intern(r->p, text, strlen(text), &r->p->torch_version));
  const fnzi_json *all = fnzi_json_find(r->doc.root, "range_constraints");
  if (all) {
    FNZ_TRY(fnzi_json_expect(&r->doc, all, FNZI_JSON_OBJECT));
    for (const fnzi_json *range = all->u.first; range; range = range->next) {
      int64_t min = INT64_MIN, max = INT64_MAX;
      FNZ_TRY(fnzi_json_expect(&r->doc, range, FNZI_JSON_OBJECT));
      FNZ_TRY(read_bound(r, range, "min_val", &min));
      FNZ_TRY(read_bound(r, range, "max_val", &max));
      FNZ_TRY(fnzi_range_add(r->p, range->key, min, max));
    }
  }
  FNZ_TRY(fnzi_json_need(&r->doc, r->doc.root, "graph_module", FNZI_JSON_OBJECT, &module));
  FNZ_TRY(fnzi_extras_create(r->p->ctx, &r->p->extras));
  r->p->says_no_sharing = true;
  FNZ_TRY(fnzi_pt2_keep_members(r, module));
  FNZ_TRY(fnzi_pt2_graphs(r, module));
  return fnzi_pt2_guards(r);
}

typedef fnz_status container(fnzi_pt2 *r, const char *bytes, size_t size);

static fnz_status read_container(fnz_program *out, container *read, const char *bytes,
                                 size_t size) {
  fnzi_arena arena;
  fnzi_arena_init(&arena, out->ctx);
  fnzi_pt2 r = {.p = out, .arena = &arena};
  fnz_status status = read(&r, bytes, size);
  FNZI_VEC_FREE(out->ctx, &r.bodies);
  fnz_buffer_free(out->ctx, &r.text);
  fnzi_arena_free(&arena);
  return status;
}

/* --- JSON alone ------------------------------------------------------------------------------- */
static fnz_status read_alone(fnzi_pt2 *r, const char *bytes, size_t size) {
  if (size > r->p->ctx->limits.program_bytes)
    return fnzi_fail(r->p->ctx, FNZ_CLASS_LIMIT, "model.json",
                     "%zu bytes of JSON; at most %zu are read", size,
                     r->p->ctx->limits.program_bytes);
  FNZ_TRY(fnzi_json_parse(r->arena, "model.json", bytes, size, &r->doc));
  FNZ_TRY(read_model(r));
  return fnzi_pt2_no_weights(r);
}

fnz_status fnzi_read_json(fnz_context *ctx, const char *bytes, size_t size, fnz_program *out) {
  (void)ctx; /* it is the program's */
  return read_container(out, read_alone, bytes, size);
}

/* --- archives --------------------------------------------------------------------------------- */
static const fnzi_zip_entry *pt2_find(fnzi_zip *zip, const char *prefix, const char *name) {
  char path[2048];
  int size = snprintf(path, sizeof path, "%s%s", prefix, name);
  return size > 0 && (size_t)size < sizeof path ? fnzi_zip_find(zip, path) : NULL;
}

/* A record of a few bytes as text without white space at its end; "" when there is none. */
static fnz_status read_small(fnzi_zip *zip, const char *prefix, const char *name, char out[32]) {
  const fnzi_zip_entry *entry = pt2_find(zip, prefix, name);
  memset(out, 0, 32);
  if (!entry)
    return FNZ_OK;
  if (entry->size >= 32)
    return fnzi_fail(zip->ctx, FNZ_CLASS_LIMIT, entry->name, "%llu bytes where a word should be",
                     (unsigned long long)entry->size);
  FNZ_TRY(fnzi_zip_read(zip, entry, out));
  for (size_t n = strlen(out); n && strchr(" \r\n\t", out[n - 1]); n--)
    out[n - 1] = 0;
  return FNZ_OK;
}

/* "models/NAME.json"; anything else in that folder is skipped. */
static bool is_model(const fnzi_zip_entry *entry, const char *prefix, const char **name,
                     size_t *size) {
  if (!fnzi_starts_with(entry->name, prefix) ||
      !fnzi_starts_with(entry->name + strlen(prefix), "models/"))
    return false;
  *name = entry->name + strlen(prefix) + strlen("models/");
  *size = strlen(*name);
  if (*size <= strlen(".json") || !fnzi_ends_with(*name, ".json") || strchr(*name, '/'))
    return false;
  *size -= strlen(".json");
  return true;
}

static fnz_status find_model(fnzi_zip *zip, const char *prefix, const fnzi_zip_entry **out) {
  const char *name;
  size_t size;
  *out = NULL;
  for (size_t i = 0; i < zip->count; i++) {
    if (!is_model(&zip->entries[i], prefix, &name, &size))
      continue;
    if (*out)
      return fnzi_fail(zip->ctx, FNZ_CLASS_UNSUPPORTED, zip->entries[i].name,
                       "the archive has several models, %s too; save one program per file",
                       (*out)->name);
    *out = &zip->entries[i];
  }
  if (*out)
    return FNZ_OK;
  /* Does any entry begin like this? */
  size_t skip = strlen(prefix);
  for (size_t i = 0; i < zip->count; i++)
    if (fnzi_starts_with(zip->entries[i].name, prefix) &&
        fnzi_starts_with(zip->entries[i].name + skip, "data/aotinductor/"))
      return fnzi_fail(zip->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                       "the archive has compiled code only and no program");
  return fnzi_fail(zip->ctx, FNZ_CLASS_ARCHIVE, NULL, "the archive has no models/*.json");
}

static fnz_status read_archive(fnzi_pt2 *r, fnzi_zip *zip, const char *prefix) {
  const fnzi_zip_entry *entry = NULL;
  const char *name = "", *model;
  char format[32], version[32], order[32];
  size_t size = 0;
  FNZ_TRY(read_small(zip, prefix, "archive_format", format));
  FNZ_TRY(read_small(zip, prefix, "archive_version", version));
  FNZ_TRY(read_small(zip, prefix, "byteorder", order));
  if (strcmp(format, "pt2") != 0)
    return fnzi_fail(zip->ctx, FNZ_CLASS_VERSION, "archive_format",
                     "archive format \"%s\" is not read, only \"pt2\"", format);
  if (*version && strcmp(version, "0") != 0)
    return fnzi_fail(zip->ctx, FNZ_CLASS_VERSION, "archive_version",
                     "archive version %s is not read, only 0", version);
  if (*order && strcmp(order, "little") != 0)
    return fnzi_fail(zip->ctx, FNZ_CLASS_UNSUPPORTED, "byteorder",
                     "byte order \"%s\" is not read, only \"little\"", order);
  FNZ_TRY(find_model(zip, prefix, &entry));
  if (is_model(entry, prefix, &name, &size))
    FNZ_TRY(fnzi_arena_string(r->arena, name, size, &model));
  else
    model = "model";
  r->model = entry;
  FNZ_TRY(fnzi_pt2_parse_record(r->arena, zip, entry, &r->doc));
  FNZ_TRY(read_model(r));
  FNZ_TRY(fnzi_pt2_weights(r, zip, prefix, model));
  return fnzi_share_finals(r->p);
}

static fnz_status read_zip(fnzi_pt2 *r, fnzi_zip *zip) {
  const fnzi_zip_entry *flat = fnzi_zip_find(zip, "serialized_exported_program.json");
  const bool is_bare = flat || !zip->count || fnzi_zip_find(zip, "archive_format");
  const char *first = zip->count ? zip->entries[0].name : "", *prefix = "";
  const char *slash = is_bare ? NULL : strchr(first, '/');
  /* The folder of the first entry, which all others must be in. */
  if (slash)
    FNZ_TRY(fnzi_arena_string(r->arena, first, (size_t)(slash - first) + 1, &prefix));
  for (size_t i = 0; i < zip->count; i++)
    if (!fnzi_starts_with(zip->entries[i].name, prefix))
      return fnzi_fail(zip->ctx, FNZ_CLASS_ARCHIVE, zip->entries[i].name,
                       "the entry is not in the folder of all others, %s", prefix);
  if (flat) {
    /* The flat archive of torch 2.7 and before; all its tensors are pickled. */
    char version[32];
    FNZ_TRY(read_small(zip, "", "version", version));
    if (!fnzi_starts_with(version, "8.") && strcmp(version, "8") != 0)
      return fnzi_fail(zip->ctx, FNZ_CLASS_VERSION, "version",
                       "schema version \"%s\" is not read, only %d.x; %s", version, SCHEMA_MAJOR,
                       version_remedy(strtoll(version, NULL, 10)));
    r->model = flat;
    FNZ_TRY(fnzi_pt2_parse_record(r->arena, zip, flat, &r->doc));
    FNZ_TRY(read_model(r));
    FNZ_TRY(fnzi_pt2_no_weights(r));
    fnzi_map none;
    fnzi_map_init(&none, r->doc.ctx);
    return fnzi_pt2_keep_records(r, zip, &none, NULL);
  }
  if (pt2_find(zip, prefix, "archive_format"))
    return read_archive(r, zip, prefix);
  fnzi_zip_names names = {false, false, false, false};
  for (size_t i = 0; i < zip->count; i++)
    fnzi_note_name(&names, zip->entries[i].name, zip->entries[i].name_size);
  return fnzi_refuse_names(zip->ctx, &names);
}

/* --- any of them ------------------------------------------------------------------------------ */
static fnz_status open_and_read(fnzi_pt2 *r, const char *bytes, size_t size) {
  fnz_context *ctx = r->p->ctx;
  fnzi_zip zip;
  if (size >= 8 && memcmp(bytes, "PYTORCH1", 8) == 0)
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "a file from before torch 1.0; save the program with torch.export.save");
  fnz_status status = fnzi_zip_open(ctx, bytes, size, &zip);
  fnzi_task_begin(ctx, "read", "bytes", size);
  if (status == FNZ_OK)
    status = read_zip(r, &zip);
  fnzi_zip_close(&zip);
  return fnzi_task_end(ctx, status);
}

fnz_status fnzi_read_pt2(fnz_context *ctx, const char *bytes, size_t size, fnz_program *out) {
  (void)ctx;
  size_t i = 0;
  while (i < size && strchr(" \t\r\n", bytes[i]) && bytes[i])
    i++;
  bool is_json = i < size && bytes[i] == '{';
  return read_container(out, is_json ? read_alone : open_and_read, bytes, size);
}
