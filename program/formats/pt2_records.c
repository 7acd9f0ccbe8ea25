/* pt2_records.c - records of an archive: the JSON of one, its bytes, and all of them for a writer.
 */
#include "program/formats/pt2.h"
fnz_status fnzi_pt2_parse_record(fnzi_arena *arena, fnzi_zip *zip, const fnzi_zip_entry *entry,
                                 fnzi_json_doc *out) {
  fnz_context *ctx = arena->ctx;
  if (entry->size > ctx->limits.program_bytes)
    return fnzi_fail(ctx, FNZ_CLASS_LIMIT, entry->name, "%llu bytes of JSON; at most %zu are read",
                     (unsigned long long)entry->size, ctx->limits.program_bytes);
  enum { PACKED_MB = 64 };
  const char *there;
  if (entry->method != 0 && entry->size >> 20 >= PACKED_MB)
    return fnzi_fail(ctx, FNZ_CLASS_LIMIT, entry->name,
                     "%llu bytes of JSON in a packed record; beyond %d MB it must be stored",
                     (unsigned long long)entry->size, PACKED_MB);
  FNZ_TRY(fnzi_zip_look(zip, entry, true, &there));
  if (there)
    return fnzi_json_parse_in(arena, entry->name, there, entry->size,
                              zip->size - entry->data - entry->size, out);
  size_t capacity = entry->size + 1;
  char *bytes = fnzi_resize(ctx, NULL, 0, capacity);
  if (!bytes)
    return fnzi_no_memory(ctx);
  fnz_status status = fnzi_zip_read(zip, entry, bytes);
  if (status == FNZ_OK)
    status = fnzi_json_parse(arena, entry->name, bytes, entry->size, out);
  fnzi_free(ctx, bytes, capacity);
  return status;
}

fnz_status fnzi_pt2_record(fnz_program *p, fnzi_zip *zip, const fnzi_zip_entry *entry,
                           fnzi_blob **out) {
  const char *there;
  bool late = p->file && p->ctx->reading == FNZ_READING_MAP_LATE;
  *out = NULL;
  FNZ_TRY(fnzi_zip_look(zip, entry, !late, &there));
  if (there)
    return fnzi_blob_of(p, there, entry->size, out);
  FNZ_TRY(fnzi_blob_create(p->ctx, entry->size, out));
  fnz_status status = fnzi_zip_read(zip, entry, fnzi_blob_data(*out));
  if (status == FNZ_OK)
    return FNZ_OK;
  fnzi_blob_release(*out);
  *out = NULL;
  return status;
}

fnz_status fnzi_pt2_keep_records(fnzi_pt2 *r, fnzi_zip *zip, const fnzi_map *blobs,
                                 fnzi_blob *const *held) {
  for (size_t i = 0; i < zip->count; i++) {
    const fnzi_zip_entry *entry = &zip->entries[i];
    uint64_t there;
    bool is_blob = fnzi_map_get(blobs, entry->name, entry->name_size, &there);
    if (is_blob || entry == r->model)
      FNZ_TRY(fnzi_extras_add_record(r->doc.ctx, r->p->extras, entry->name,
                                     is_blob ? held[there] : NULL, entry->crc));
    else {
      /* A damaged record that only the writer needs is refused by the writer, not here. */
      fnzi_blob *blob;
      fnzi_extras *x = r->p->extras;
      fnz_status status = fnzi_pt2_record(r->p, zip, entry, &blob);
      if (status == FNZ_OK)
        status = fnzi_extras_add_record(r->doc.ctx, x, entry->name, blob, entry->crc);
      else if (!fnzi_is_final(status))
        status = fnzi_extras_keep(r->doc.ctx, x, entry->name, entry->name_size, &x->damaged);
      fnzi_blob_release(blob);
      FNZ_TRY(status);
    }
  }
  return FNZ_OK;
}
