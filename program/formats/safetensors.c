/* safetensors.c - arrays from and to safetensors files: a length, a JSON header, the data.
 *
 * Reading refuses holes, overlaps and bytes behind the data. Writing puts wide element types first,
 * so that every tensor lies at a multiple of its element size; the same arrays give the same bytes.
 */
#include "program/formats/safetensors.h"
#include "base/json.h"
#include "program/formats/formats.h"
#include "program/formats/foreign.h"
#include "program/formats/json.h"

#include <fnz/arrays.h>

#include <stdlib.h>

enum { LENGTH_BYTES = 8 };

static const char record[] = "safetensors header";

/* --- reading ---------------------------------------------------------------------------------- */
typedef struct reader {
  fnzi_json_doc doc;
  const char *data;
  size_t data_size;
  fnzi_safetensor_visit *visit;
  void *user;
} reader;

typedef struct range {
  uint64_t begin, end;
  const fnzi_json *owner;
} range;

static int by_begin(const void *a, const void *b) {
  const range *x = a, *y = b;
  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  return (x->end > y->end) - (x->end < y->end);
}

static fnz_status safetensors_read_range(reader *r, const fnzi_json *entry, range *out) {
  const fnzi_json *offsets;
  int64_t begin, end;
  FNZ_TRY(fnzi_json_need(&r->doc, entry, "data_offsets", FNZI_JSON_ARRAY, &offsets));
  if (offsets->count != 2)
    return fnzi_json_fail(&r->doc, FNZ_CLASS_TYPE, offsets, "must be two offsets, not %u",
                          offsets->count);
  FNZ_TRY(fnzi_json_int(&r->doc, offsets->u.first, &begin));
  FNZ_TRY(fnzi_json_int(&r->doc, offsets->u.first->next, &end));
  if (begin < 0 || end < begin)
    return fnzi_json_fail(&r->doc, FNZ_CLASS_BOUNDS, offsets, "%lld to %lld is no range",
                          (long long)begin, (long long)end);
  if ((uint64_t)end > r->data_size)
    return fnzi_json_fail(&r->doc, FNZ_CLASS_TRUNCATED, offsets,
                          "data up to byte %lld, but the file has only %zu", (long long)end,
                          r->data_size);
  *out = (range){(uint64_t)begin, (uint64_t)end, entry};
  return FNZ_OK;
}

static fnz_status read_array(reader *r, const fnzi_json *entry) {
  range where;
  int64_t sizes[FNZ_MAX_RANK];
  fnz_array t = {.name = entry->key, .sizes = sizes};
  const char *dtype;
  FNZ_TRY(fnzi_json_need_text(&r->doc, entry, "dtype", &dtype));
  while (t.dtype < FNZ_DTYPE_COUNT &&
         (!*dtype || strcmp(fnz_dtype_get_info(t.dtype)->safetensors, dtype) != 0))
    t.dtype++;
  if (t.dtype == FNZ_DTYPE_COUNT)
    return fnzi_json_fail(&r->doc, FNZ_CLASS_UNSUPPORTED, entry,
                          "element type %s is not one that fnz knows", dtype);
  const fnzi_json *shape;
  FNZ_TRY(fnzi_json_need(&r->doc, entry, "shape", FNZI_JSON_ARRAY, &shape));
  t.rank = 0;
  if (shape->count > FNZ_MAX_RANK)
    return fnzi_json_fail(&r->doc, FNZ_CLASS_LIMIT, shape, "%u dimensions; at most %d are allowed",
                          shape->count, FNZ_MAX_RANK);
  for (const fnzi_json *size = shape->u.first; size; size = size->next)
    FNZ_TRY(fnzi_json_int(&r->doc, size, &sizes[t.rank++]));
  FNZ_TRY(safetensors_read_range(r, entry, &where));
  /* Bytes of the tensor must be the bytes of its range, before memory is taken for it. */
  int64_t bytes = (int64_t)fnz_dtype_get_info(t.dtype)->bytes;
  for (uint32_t i = 0; i < t.rank; i++)
    if (!fnzi_mul_i64(bytes, sizes[i], &bytes))
      return fnzi_json_fail(&r->doc, FNZ_CLASS_OVERFLOW, where.owner,
                            "the size in bytes leaves 63 bits");
  if (bytes < 0 || (uint64_t)bytes != where.end - where.begin)
    return fnzi_json_fail(&r->doc, FNZ_CLASS_BOUNDS, where.owner,
                          "the shape takes %lld bytes, data_offsets give %llu", (long long)bytes,
                          (unsigned long long)(where.end - where.begin));
  if (strlen(entry->key) != entry->key_size)
    return fnzi_json_fail(&r->doc, FNZ_CLASS_ENCODING, entry, "the name contains a zero byte");
  t.data = r->data + where.begin;
  t.bytes = where.end - where.begin;
  return r->visit(r->user, &t);
}

static bool is_metadata(const fnzi_json *entry) {
  return strcmp(entry->key, "__metadata__") == 0;
}

static fnz_status check_tiling(reader *r, range *ranges, size_t count) {
  uint64_t end = 0;
  qsort(ranges, count, sizeof *ranges, by_begin);
  for (size_t i = 0; i < count; i++) {
    if (ranges[i].begin != end)
      return fnzi_json_fail(&r->doc, FNZ_CLASS_BOUNDS, ranges[i].owner,
                            "data begins at byte %llu, but must begin at %llu: no holes, no "
                            "overlaps",
                            (unsigned long long)ranges[i].begin, (unsigned long long)end);
    end = ranges[i].end;
  }
  if (end != r->data_size)
    return fnzi_json_fail(&r->doc, FNZ_CLASS_BOUNDS, NULL,
                          "%zu bytes of data, of which the tensors take %llu", r->data_size,
                          (unsigned long long)end);
  return FNZ_OK;
}

/* After the length, a safetensors file has the header, a JSON object. */
static fnz_status check_kind(fnz_context *ctx, const char *bytes, size_t size) {
  if (size <= LENGTH_BYTES || bytes[LENGTH_BYTES] == '{')
    return FNZ_OK;
  const char *what = fnzi_kind_of(bytes, size);
  return fnzi_fail(ctx, FNZ_CLASS_SYNTAX, NULL,
                   "expected a safetensors file, this is %s; write arrays by their names with "
                   "safetensors.torch.save_file",
                   what ? what : "something else");
}

static fnz_status look_for_arrays(fnz_context *ctx, const fnzi_foreign_seen *seen) {
  return check_kind(ctx, seen->head, seen->size);
}

static fnz_status split(fnz_context *ctx, const char *bytes, size_t size, uint64_t *length) {
  if (size < LENGTH_BYTES)
    return fnzi_fail(
        ctx, FNZ_CLASS_TRUNCATED, record,
        "%zu bytes are no safetensors file; write arrays with safetensors.torch.save_file", size);
  FNZ_TRY(check_kind(ctx, bytes, size));
  *length = 0;
  for (int i = LENGTH_BYTES - 1; i >= 0; i--)
    *length = *length << 8 | (unsigned char)bytes[i];
  if (*length > ctx->limits.tensor_header)
    return fnzi_fail(ctx, FNZ_CLASS_LIMIT, record,
                     "a header of %llu bytes; at most %zu are allowed", (unsigned long long)*length,
                     ctx->limits.tensor_header);
  if (*length > size - LENGTH_BYTES)
    return fnzi_fail(
        ctx, FNZ_CLASS_TRUNCATED, record,
        "a header of %llu bytes in a file of %zu bytes; it is cut off, so copy it again",
        (unsigned long long)*length, size);
  if (*length == 0)
    return fnzi_fail(ctx, FNZ_CLASS_SYNTAX, record, "must begin with {");
  return FNZ_OK;
}

fnz_status fnzi_safetensors_visit(fnzi_arena *arena, const char *bytes, size_t size,
                                  fnzi_safetensor_visit *visit, void *user) {
  uint64_t length = 0;
  reader r = {.visit = visit, .user = user};
  FNZ_TRY(split(arena->ctx, bytes, size, &length));
  r.data = bytes + LENGTH_BYTES + length;
  r.data_size = size - LENGTH_BYTES - length;
  FNZ_TRY(fnzi_json_parse(arena, record, bytes + LENGTH_BYTES, length, &r.doc));
  FNZ_TRY(fnzi_json_expect(&r.doc, r.doc.root, FNZI_JSON_OBJECT));
  /* All ranges are checked before any tensor is allocated: overlapping ones could name the same
   * bytes many times. */
  range *ranges;
  size_t count = 0;
  FNZI_NEW(arena, r.doc.root->count, &ranges);
  for (const fnzi_json *e = r.doc.root->u.first; e; e = e->next) {
    if (is_metadata(e)) {
      FNZ_TRY(fnzi_json_expect(&r.doc, e, FNZI_JSON_OBJECT));
      for (const fnzi_json *m = e->u.first; m; m = m->next)
        FNZ_TRY(fnzi_json_expect(&r.doc, m, FNZI_JSON_STRING));
    } else
      FNZ_TRY(safetensors_read_range(&r, e, &ranges[count++]));
  }
  FNZ_TRY(check_tiling(&r, ranges, count));
  for (const fnzi_json *e = r.doc.root->u.first; e; e = e->next)
    if (!is_metadata(e))
      FNZ_TRY(read_array(&r, e));
  return FNZ_OK;
}

static fnz_status add_array(void *user, const fnz_array *t) {
  void *data;
  FNZ_TRY(fnzi_arrays_add_unfilled(user, t->name, t->dtype, t->rank, t->sizes, &data));
  if (t->bytes)
    memcpy(data, t->data, t->bytes);
  return FNZ_OK;
}

fnz_status fnz_arrays_read_safetensors(fnz_context *ctx, const void *bytes, size_t size,
                                       fnz_arrays **out) {
  fnzi_arena arena;
  fnzi_arena_init(&arena, ctx);
  fnz_status status = fnz_arrays_create(ctx, out);
  if (status == FNZ_OK)
    status = fnzi_safetensors_visit(&arena, bytes, size, add_array, *out);
  fnzi_arena_free(&arena);
  if (status != FNZ_OK) {
    fnz_arrays_destroy(*out);
    *out = NULL;
  }
  return status;
}

fnz_status fnz_arrays_load(fnz_context *ctx, const char *path, fnz_arrays **out) {
  fnz_buffer file = {NULL, 0, 0};
  *out = NULL;
  fnz_status status = fnzi_file_read(ctx, path, look_for_arrays, &file);
  if (status == FNZ_OK)
    status = fnz_arrays_read_safetensors(ctx, file.data, file.size, out);
  fnz_buffer_free(ctx, &file);
  return fnzi_file_failed(ctx, path, status);
}

/* --- writing ---------------------------------------------------------------------------------- */
typedef struct place {
  const fnz_array *array;
  size_t index;
} place;

static int by_width(const void *a, const void *b) {
  const place *x = a, *y = b;
  size_t wx = fnz_dtype_get_info(x->array->dtype)->bytes;
  size_t wy = fnz_dtype_get_info(y->array->dtype)->bytes;
  if (wx != wy)
    return wx > wy ? -1 : 1;
  return x->index < y->index ? -1 : 1;
}

fnz_status fnzi_safetensors_put(fnz_context *ctx, const fnz_array *t, size_t offset,
                                fnz_buffer *out) {
  const char *dtype = fnz_dtype_get_info(t->dtype)->safetensors;
  if (!*dtype)
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, t->name,
                     "safetensors files have no element type %s",
                     fnz_dtype_get_info(t->dtype)->name);
  FNZ_TRY(fnzi_put_text(ctx, out, out->size == LENGTH_BYTES + 1 ? "" : ","));
  FNZ_TRY(fnzi_json_put_string(ctx, out, t->name, strlen(t->name)));
  FNZ_TRY(fnzi_printf(ctx, out, ":{\"dtype\":\"%s\",\"shape\":[", dtype));
  for (uint32_t i = 0; i < t->rank; i++)
    FNZ_TRY(fnzi_printf(ctx, out, "%s%lld", i ? "," : "", (long long)t->sizes[i]));
  return fnzi_printf(ctx, out, "],\"data_offsets\":[%zu,%zu]}", offset, offset + t->bytes);
}

fnz_status fnzi_safetensors_begin(fnz_context *ctx, fnz_buffer *out) {
  return fnzi_put(ctx, out, "\0\0\0\0\0\0\0\0{", LENGTH_BYTES + 1);
}

fnz_status fnzi_safetensors_end(fnz_context *ctx, size_t align, fnz_buffer *out) {
  FNZ_TRY(fnzi_put_text(ctx, out, "}"));
  while (out->size % align)
    FNZ_TRY(fnzi_put_text(ctx, out, " "));
  for (int i = 0; i < LENGTH_BYTES; i++)
    out->data[i] = (char)((uint64_t)(out->size - LENGTH_BYTES) >> 8 * i & 0xff);
  return FNZ_OK;
}

fnz_status fnzi_safetensors_put_all(fnzi_arena *arena, const fnz_array *const *arrays, size_t count,
                                    fnzi_safetensors_header header, fnz_buffer *out,
                                    fnzi_out_pieces *pieces) {
  place *places;
  FNZI_NEW(arena, count, &places);
  for (size_t i = 0; i < count; i++)
    places[i] = (place){arrays[i], i};
  qsort(places, count, sizeof *places, by_width);
  size_t offset = 0;
  FNZ_TRY(fnzi_safetensors_begin(arena->ctx, out));
  FNZ_TRY(fnzi_put_text(arena->ctx, out, header.member));
  for (size_t i = 0; i < count; i++) {
    const fnz_array *a = places[i].array;
    FNZ_TRY(fnzi_safetensors_put(arena->ctx, a, offset, out));
    offset += a->bytes;
  }
  FNZ_TRY(fnzi_safetensors_end(arena->ctx, header.align, out));
  for (size_t i = 0; i < count; i++)
    if (places[i].array->bytes)
      FNZ_TRY(
          fnzi_put_piece(arena->ctx, out, pieces, places[i].array->data, places[i].array->bytes));
  return FNZ_OK;
}

static fnz_status put_file(fnzi_arena *arena, const fnz_arrays *arrays, fnz_buffer *out,
                           fnzi_out_pieces *pieces) {
  size_t count = fnz_arrays_count(arrays);
  const fnz_array **list;
  FNZI_NEW(arena, count, &list);
  for (size_t i = 0; i < count; i++)
    list[i] = fnz_arrays_at(arrays, i);
  return fnzi_safetensors_put_all(arena, list, count, (fnzi_safetensors_header){LENGTH_BYTES, ""},
                                  out, pieces);
}

fnz_status fnz_arrays_write_safetensors(fnz_context *ctx, const fnz_arrays *arrays,
                                        fnz_buffer *out) {
  fnzi_arena arena;
  fnzi_arena_init(&arena, ctx);
  *out = (fnz_buffer){NULL, 0, 0};
  fnz_status status = put_file(&arena, arrays, out, NULL);
  fnzi_arena_free(&arena);
  return status;
}

fnz_status fnz_arrays_save(fnz_context *ctx, const fnz_arrays *arrays, const char *path) {
  fnzi_arena arena;
  fnz_buffer header = {0};
  fnzi_out_pieces data = {0};
  fnzi_arena_init(&arena, ctx);
  fnz_status status = put_file(&arena, arrays, &header, &data);
  if (status == FNZ_OK)
    status = fnzi_file_write(ctx, path, &header, &data);
  FNZI_VEC_FREE(ctx, &data);
  fnz_buffer_free(ctx, &header);
  fnzi_arena_free(&arena);
  return status;
}
