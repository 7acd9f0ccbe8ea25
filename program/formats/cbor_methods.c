/* cbor_methods.c - reads and writes several programs as one CBOR item, with common blobs. */
#include "program/formats/cbor_methods.h"
#include "program/formats/cbor_read.h"
#include "program/formats/cbor_write.h"

#include <stdio.h>

/* --- names ------------------------------------------------------------------------------------ */
static const char head[] = "\x83\x6b" FNZI_CBOR_METHODS_MAGIC;

bool fnzi_cbor_is_methods(const char *bytes, size_t size) {
  return size >= sizeof head - 1 && memcmp(bytes, head, sizeof head - 1) == 0;
}

/* Refuses control characters, because a name may be printed on a terminal or be part of a path. */
static bool is_name(const char *name, size_t size) {
  bool is = size > 0 && size <= FNZI_CBOR_METHOD_NAME;
  for (size_t i = 0; i < size; i++)
    is = is && (unsigned char)name[i] >= 0x20 && name[i] != 0x7f;
  return is;
}

fnz_status fnzi_cbor_check_method(fnz_context *ctx, const char *name, size_t size) {
  if (is_name(name, size) && fnzi_is_utf8(name, size))
    return FNZ_OK;
  return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL,
                   "the name \"%.64s\" of a method; it must be UTF-8 of 1 to %d bytes, without "
                   "control characters",
                   name, FNZI_CBOR_METHOD_NAME);
}

static fnz_status cbor_methods_read_name(fnzi_decoder *d, fnzi_arena *arena, fnzi_map *seen,
                                         const char **out) {
  uint64_t there;
  FNZ_TRY(fnzi_decode_kind(d, FNZI_CBOR_TEXT));
  if (!is_name(d->item.data, d->item.n))
    return fnzi_decode_fail(d, FNZ_CLASS_ENCODING,
                            "a method's name is empty, longer than %d bytes, or has a control "
                            "character",
                            FNZI_CBOR_METHOD_NAME);
  FNZ_TRY(fnzi_arena_format(arena, out, "%.*s", (int)d->item.n, d->item.data));
  if (fnzi_map_get(seen, *out, strlen(*out), &there))
    return fnzi_decode_fail(d, FNZ_CLASS_DUPLICATE, "two methods are called %s", *out);
  return fnzi_map_set(seen, *out, strlen(*out), 1);
}

static fnz_status cbor_methods_read_key(fnzi_decoder *d, uint64_t wanted) {
  FNZ_TRY(fnzi_decode_kind(d, FNZI_CBOR_UINT));
  if (d->item.n == wanted)
    return FNZ_OK;
  if (d->item.n > FNZI_CBOR_METHODS_BLOBS)
    return fnzi_decode_fail(d, FNZ_CLASS_VERSION, "the unknown key %llu",
                            (unsigned long long)d->item.n);
  return fnzi_decode_fail(d, FNZ_CLASS_ENCODING, "key %llu where %llu should be",
                          (unsigned long long)d->item.n, (unsigned long long)wanted);
}

static fnz_status cbor_methods_read_names(fnzi_decoder *d, fnzi_arena *arena, const char ***names,
                                          size_t *count) {
  fnzi_map seen;
  FNZ_TRY(fnzi_cbor_head(d, FNZI_CBOR_METHODS_MAGIC, FNZI_CBOR_METHODS_VERSION));
  FNZ_TRY(fnzi_decode_kind(d, FNZI_CBOR_MAP));
  if (d->item.n != FNZI_CBOR_METHODS_BLOBS + 1)
    return fnzi_decode_fail(d, FNZ_CLASS_TYPE, "%llu fields, expected %d",
                            (unsigned long long)d->item.n, FNZI_CBOR_METHODS_BLOBS + 1);
  FNZ_TRY(cbor_methods_read_key(d, FNZI_CBOR_METHODS_NAMES));
  FNZ_TRY(fnzi_decode_array(d, count));
  if (!*count)
    return fnzi_decode_fail(d, FNZ_CLASS_TYPE, "no method");
  if (*count > FNZ_METHODS_MOST)
    return fnzi_decode_fail(d, FNZ_CLASS_LIMIT, "%zu methods; at most %d are read", *count,
                            FNZ_METHODS_MOST);
  FNZI_NEW(arena, *count, names);
  fnzi_map_init(&seen, d->ctx);
  fnz_status status = FNZ_OK;
  for (size_t i = 0; i < *count && status == FNZ_OK; i++)
    status = cbor_methods_read_name(d, arena, &seen, &(*names)[i]);
  fnzi_map_free(&seen);
  return status;
}

static fnzi_decoder cbor_methods_begin(fnz_context *ctx, const char *bytes, size_t size) {
  return (fnzi_decoder){.ctx = ctx, .start = bytes, .at = bytes, .end = bytes + size};
}

fnz_status fnzi_cbor_refuse_methods(fnz_context *ctx, const char *bytes, size_t size) {
  fnzi_arena arena;
  fnzi_decoder d = cbor_methods_begin(ctx, bytes, size);
  const char **names;
  size_t count, used = 0;
  char list[200] = "";
  fnzi_arena_init(&arena, ctx);
  fnz_status status = cbor_methods_read_names(&d, &arena, &names, &count);
  if (status == FNZ_OK) {
    /* The names of the methods, as many as fit in the message. */
    for (size_t i = 0; i < count && used < sizeof list; i++)
      used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
    status = fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL,
                       "the file has %zu method%s: %s%s; read it with fnz_methods_load() or "
                       "fnz_methods_read(), and take one of its programs",
                       count, count > 1 ? "s" : "", list, used < sizeof list ? "" : "...");
  }
  fnzi_arena_free(&arena);
  return status;
}

/* --- reading ---------------------------------------------------------------------------------- */
typedef struct reading {
  fnz_context *ctx;
  fnzi_decoder d;
  fnzi_cbor_set *set;
  fnzi_cbor_reader *readers; /* per program; has its weights until the blobs are read */
  fnzi_external_blob *blobs;
  size_t nblobs, used_blobs;
} reading;

static fnz_status cbor_methods_read_blobs(reading *all) {
  fnz_program *p = all->set->programs[0];
  size_t count;
  FNZ_TRY(cbor_methods_read_key(&all->d, FNZI_CBOR_METHODS_BLOBS));
  FNZ_TRY(fnzi_cbor_check_bytes(&all->d));
  FNZ_TRY(fnzi_decode_array(&all->d, &count));
  FNZ_TRY(fnzi_cbor_check_used(&all->d, "blobs", all->used_blobs, count));
  FNZI_NEW(all->set->arena, count, &all->blobs);
  p->file = all->set->file;
  fnz_status status = FNZ_OK;
  for (size_t i = 0; i < count && status == FNZ_OK; i++) {
    status = fnzi_decode_kind(&all->d, FNZI_CBOR_BYTES);
    if (status == FNZ_OK)
      status = fnzi_blob_of(p, all->d.item.data, all->d.item.n, &all->blobs[i].blob);
    all->nblobs += status == FNZ_OK;
  }
  p->file = NULL;
  return status;
}

static fnz_status cbor_methods_read_all(reading *all) {
  FNZ_TRY(cbor_methods_read_names(&all->d, all->set->arena, &all->set->names, &all->set->count));
  FNZ_TRY(cbor_methods_read_key(&all->d, FNZI_CBOR_METHODS_PROGRAMS));
  FNZ_TRY(fnzi_decode_fixed(&all->d, all->set->count));
  FNZI_NEW(all->set->arena, all->set->count, &all->readers);
  FNZI_NEW(all->set->arena, all->set->count, &all->set->programs);
  for (size_t k = 0; k < all->set->count; k++) {
    fnzi_cbor_reader *r = &all->readers[k];
    fnz_program **p = &all->set->programs[k];
    FNZ_TRY(fnzi_program_create(all->ctx, p));
    *r = (fnzi_cbor_reader){.ctx = all->ctx, .p = *p, .d = all->d, .is_method = true};
    r->used_blobs = all->used_blobs;
    fnz_status status = fnzi_cbor_fields(r);
    all->d = r->d;
    all->used_blobs = r->used_blobs;
    FNZ_TRY(status);
  }
  FNZ_TRY(cbor_methods_read_blobs(all));
  FNZ_TRY(fnzi_cbor_tail(&all->d));
  for (size_t k = 0; k < all->set->count; k++) {
    fnzi_cbor_reader *r = &all->readers[k];
    r->external.blobs = all->blobs;
    FNZ_TRY(fnzi_cbor_add_weights(r));
  }
  return FNZ_OK;
}

fnz_status fnzi_cbor_read_methods(fnz_context *ctx, const char *bytes, size_t size,
                                  fnzi_cbor_set *set) {
  reading all = {.ctx = ctx, .d = cbor_methods_begin(ctx, bytes, size), .set = set};
  fnz_status status = cbor_methods_read_all(&all);
  for (size_t i = 0; i < all.nblobs; i++)
    fnzi_blob_release(all.blobs[i].blob);
  for (size_t k = 0; all.readers && k < set->count; k++)
    if (all.readers[k].ctx)
      fnzi_cbor_reader_end(&all.readers[k]);
  return status;
}

/* --- writing ---------------------------------------------------------------------------------- */
static fnz_status put_all(fnzi_cbor_writer *w, const fnz_method *methods, size_t count) {
  fnzi_encoder e = {w->ctx, w->out};
  FNZ_TRY(fnzi_cbor_put_head(e, FNZI_CBOR_METHODS_MAGIC, FNZI_CBOR_METHODS_VERSION));
  FNZ_TRY(fnzi_encode_map(e, FNZI_CBOR_METHODS_BLOBS + 1));
  FNZ_TRY(fnzi_encode_uint(e, FNZI_CBOR_METHODS_NAMES));
  FNZ_TRY(fnzi_encode_array(e, count));
  for (size_t k = 0; k < count; k++)
    FNZ_TRY(fnzi_encode_text(e, methods[k].name, strlen(methods[k].name)));
  FNZ_TRY(fnzi_encode_uint(e, FNZI_CBOR_METHODS_PROGRAMS));
  FNZ_TRY(fnzi_encode_array(e, count));
  for (size_t k = 0; k < count; k++) {
    fnzi_cbor_writer_next(w, methods[k].program);
    FNZ_TRY(fnzi_cbor_put_fields(w));
  }
  FNZ_TRY(fnzi_encode_uint(e, FNZI_CBOR_METHODS_BLOBS));
  return fnzi_cbor_put_blobs(w, e);
}

fnz_status fnzi_cbor_write_methods(fnz_context *ctx, const fnz_method *methods, size_t count,
                                   fnz_buffer *out, fnzi_out_pieces *pieces) {
  fnzi_cbor_writer w = {.ctx = ctx, .out = out, .pieces = pieces, .is_method = true};
  fnzi_cbor_writer_begin(&w);
  fnz_status status = put_all(&w, methods, count);
  fnzi_cbor_writer_end(&w);
  return status;
}
