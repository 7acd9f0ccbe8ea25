/* external.c - weights in a safetensors file beside the CBOR: docs/cbor-format.md.
 *
 * Arrays begin at multiples of 64 bytes of the file, so that a program that maps it may use them
 * where they lie; a safetensors file has no holes, so arrays of zeros fill what is between them.
 * Our own readers read the file and do not map it: another process could truncate a mapped file,
 * which kills this process, or change it after its digest was checked. Blobs are windows of the
 * bytes that were read. */
#include "program/formats/external.h"
#include "program/formats/safetensors.h"

#include <stdio.h>

static const char mark[] = FNZI_EXTERNAL_MARK(FNZI_EXTERNAL_KIND);
static const char padding[] = "__fnz_padding_";

static bool external_is_reserved(const char *name) {
  return strcmp(name, "__metadata__") == 0 || strncmp(name, padding, sizeof padding - 1) == 0;
}

/* --- names ------------------------------------------------------------------------------------ */
fnz_status fnzi_external_check_name(fnz_context *ctx, const char *name) {
  static const char end[] = ".safetensors";
  size_t size = strlen(name), tail = sizeof end - 1;
  bool plain = size > tail && size <= FNZI_EXTERNAL_NAME && name[0] != '.' &&
               strcmp(name + size - tail, end) == 0 && !strpbrk(name, "/\\:");
  for (size_t i = 0; i < size; i++)
    plain = plain && (unsigned char)name[i] >= 0x20 && name[i] != 0x7f;
  if (plain)
    return FNZ_OK;
  return fnzi_fail(ctx, FNZ_CLASS_REF, NULL,
                   "weights in a file of the name \"%.64s\"; it must be a plain name that ends in "
                   ".safetensors, of a file beside this one",
                   name);
}

bool fnzi_external_has_mark(const fnzi_foreign_seen *seen, const char *of) {
  enum { BEFORE = 9 }; /* a length and a brace */
  return seen->size >= BEFORE + strlen(of) && memcmp(seen->head + BEFORE, of, strlen(of)) == 0;
}

fnz_status fnzi_external_check_place(fnz_context *ctx, const char *path, fnzi_look *look) {
  if (fnzi_file_look(ctx, path, look) == FNZ_OK)
    return FNZ_OK;
  return fnzi_fail(ctx, FNZ_CLASS_IO, path,
                   "the weights belong into this file, and there is one that fnz has not written, "
                   "or not for this format; move it away, or choose another name for the program");
}

/* --- which array is which blob ---------------------------------------------------------------- */
void fnzi_external_add(fnzi_external_blob *blob, const fnzi_weight *weight) {
  const fnz_geometry *g = weight->geometry;
  const fnz_dtype_info *dtype = fnz_dtype_get_info(g->dtype);
  bool whole =
      !blob->whole && *dtype->safetensors && !g->offset && fnzi_is_contiguous(g) &&
      (uint64_t)fnz_geometry_numel(g) * dtype->bytes == blob->bytes; /* which fits 63 bits */
  if (blob->weight && !whole)
    return;
  blob->weight = weight;
  blob->whole = whole;
}

/* The array that a blob is in the file. `bytes`: room for the size of one that is not whole. */
static fnz_array array_of(const fnzi_external_blob *b, int64_t *bytes) {
  const fnz_geometry *g = b->weight->geometry;
  *bytes = (int64_t)b->bytes;
  if (!b->whole)
    return (fnz_array){b->weight->name, FNZ_U8, 1, bytes, NULL, b->bytes};
  return (fnz_array){b->weight->name, g->dtype, g->rank, g->sizes, NULL, b->bytes};
}

/* --- writing ---------------------------------------------------------------------------------- */
static size_t gap_behind(uint64_t bytes) {
  return (FNZI_EXTERNAL_ALIGN - bytes % FNZI_EXTERNAL_ALIGN) % FNZI_EXTERNAL_ALIGN;
}

static fnz_status put_header(fnz_context *ctx, const fnzi_external *e, fnz_buffer *out) {
  size_t at = 0;
  FNZ_TRY(fnzi_safetensors_begin(ctx, out));
  FNZ_TRY(fnzi_put_text(ctx, out, mark));
  for (size_t i = 0; i < e->count; i++) {
    int64_t bytes;
    fnz_array t = array_of(&e->blobs[i], &bytes);
    size_t gap = i + 1 < e->count ? gap_behind(t.bytes) : 0;
    if (external_is_reserved(t.name))
      return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, t.name,
                       "a weight of this name cannot lie in a file of its own");
    FNZ_TRY(fnzi_safetensors_put(ctx, &t, at, out));
    at += t.bytes;
    if (gap) {
      char name[48];
      const int64_t size = (int64_t)gap;
      snprintf(name, sizeof name, "%s%zu", padding, i);
      FNZ_TRY(fnzi_safetensors_put(ctx, &(fnz_array){name, FNZ_U8, 1, &size, NULL, gap}, at, out));
    }
    at += gap;
  }
  return fnzi_safetensors_end(ctx, FNZI_EXTERNAL_ALIGN, out);
}

static fnz_status digest_all(fnz_context *ctx, const fnz_buffer *out, const fnzi_out_pieces *pieces,
                             fnzi_external *e) {
  fnzi_digest d;
  size_t at = 0;
  fnzi_digest_start(&d);
  for (size_t i = 0; pieces && i < pieces->count; i++) {
    const fnzi_out_piece *piece = &pieces->data[i];
    FNZ_TRY(fnzi_digest_add_all(ctx, &d, out->data + at, piece->at - at));
    FNZ_TRY(fnzi_digest_add_all(ctx, &d, piece->data, piece->size));
    at = piece->at;
  }
  FNZ_TRY(fnzi_digest_add_all(ctx, &d, out->data + at, out->size - at));
  fnzi_digest_end(&d, e->digest);
  return FNZ_OK;
}

fnz_status fnzi_external_write(fnzi_arena *arena, const fnz_program *p, fnzi_external *e,
                               fnz_buffer *out, fnzi_out_pieces *pieces) {
  fnzi_map seen;
  fnz_status status = FNZ_OK;
  e->count = 0;
  FNZI_NEW(arena, p->weights.count, &e->blobs);
  fnzi_map_init(&seen, arena->ctx);
  for (size_t i = 0; i < p->weights.count && status == FNZ_OK; i++) {
    const fnzi_weight *w = &p->weights.data[i];
    uint64_t index = e->count;
    if (!w->blob)
      continue;
    if (!fnzi_map_get(&seen, &w->blob, sizeof w->blob, &index)) {
      e->blobs[e->count++] =
          (fnzi_external_blob){.bytes = fnzi_blob_bytes(w->blob), .blob = w->blob};
      status = fnzi_map_set(&seen, &w->blob, sizeof w->blob, index);
    }
    fnzi_external_add(&e->blobs[index], w);
  }
  fnzi_map_free(&seen);
  FNZ_TRY(status);
  FNZ_TRY(put_header(arena->ctx, e, out));
  static const char zeros[FNZI_EXTERNAL_ALIGN];
  for (size_t i = 0; i < e->count; i++) {
    const fnzi_external_blob *b = &e->blobs[i];
    FNZ_TRY(fnzi_blob_check(arena->ctx, b->blob));
    FNZ_TRY(fnzi_put_piece(arena->ctx, out, pieces, fnzi_blob_data(b->blob), b->bytes));
    if (i + 1 < e->count)
      FNZ_TRY(fnzi_put(arena->ctx, out, zeros, gap_behind(b->bytes)));
  }
  e->bytes = out->size + (pieces ? pieces->bytes : 0);
  fnzi_task_begin(arena->ctx, "write", "bytes", e->bytes);
  return fnzi_task_end(arena->ctx, digest_all(arena->ctx, out, pieces, e));
}

/* --- reading ---------------------------------------------------------------------------------- */
typedef struct finding {
  fnzi_arena *arena;
  fnzi_external *e;
  fnzi_map names; /* of arrays that are wanted -> blob */
  fnzi_blob *file;
} finding;

static fnz_status find_blob(void *user, const fnz_array *t) {
  finding *f = user;
  uint64_t index;
  int64_t bytes;
  if (external_is_reserved(t->name))
    return FNZ_OK;
  if (!fnzi_map_get(&f->names, t->name, strlen(t->name), &index))
    return fnzi_fail(f->arena->ctx, FNZ_CLASS_REF, f->e->file,
                     "array %s is none that the program has", t->name);
  fnzi_external_blob *b = &f->e->blobs[index];
  fnz_array want = array_of(b, &bytes);
  bool same = want.dtype == t->dtype && want.rank == t->rank;
  for (uint32_t i = 0; same && i < want.rank; i++)
    same = want.sizes[i] == t->sizes[i];
  if (!same)
    return fnzi_fail(f->arena->ctx, FNZ_CLASS_TYPE, f->e->file,
                     "array %s has another element type, or other sizes, than the program says",
                     t->name);
  return fnzi_blob_window(f->arena->ctx, f->file, t->data, t->bytes, &b->blob);
}

/* FNZ_READING_MAP_LATE compares no digest, because that reads all bytes. */
static fnz_status check_file(fnz_context *ctx, const fnzi_external *e, const fnzi_blob *file) {
  unsigned char seen[FNZI_DIGEST_BYTES];
  fnzi_digest d;
  const size_t size = fnzi_blob_bytes(file);
  if (size != e->bytes)
    return fnzi_fail(ctx, size < e->bytes ? FNZ_CLASS_TRUNCATED : FNZ_CLASS_REF, e->file,
                     "%zu bytes of weights, and the program wants %llu", size,
                     (unsigned long long)e->bytes);
  if (ctx->reading == FNZ_READING_MAP_LATE)
    return FNZ_OK;
  fnzi_digest_start(&d);
  fnzi_task_begin(ctx, "read", "bytes", size);
  fnz_status status = fnzi_digest_add_all(ctx, &d, fnzi_blob_data(file), size);
  FNZ_TRY(fnzi_task_end(ctx, status));
  fnzi_digest_end(&d, seen);
  if (memcmp(seen, e->digest, sizeof seen) == 0)
    return FNZ_OK;
  return fnzi_fail(ctx, FNZ_CLASS_REF, e->file,
                   "it is not the file that was written with this program: other bytes");
}

static fnz_status find_blobs(finding *f) {
  fnz_context *ctx = f->arena->ctx;
  for (size_t i = 0; i < f->e->count; i++) {
    const fnzi_weight *w = f->e->blobs[i].weight;
    FNZ_TRY(fnzi_map_set(&f->names, w->name, strlen(w->name), i));
  }
  FNZ_TRY(fnzi_safetensors_visit(f->arena, fnzi_blob_data(f->file), fnzi_blob_bytes(f->file),
                                 find_blob, f));
  for (size_t i = 0; i < f->e->count; i++)
    if (!f->e->blobs[i].blob)
      return fnzi_fail(ctx, FNZ_CLASS_REF, f->e->file, "there is no array %s",
                       f->e->blobs[i].weight->name);
  return FNZ_OK;
}

fnz_status fnzi_external_read(fnzi_arena *arena, const fnzi_weights_source *source,
                              fnzi_external *e) {
  fnz_context *ctx = arena->ctx;
  finding f = {.arena = arena, .e = e};
  if (!source || !source->open)
    return fnzi_fail(ctx, FNZ_CLASS_REF, NULL,
                     "the weights lie in %s; name the program's file, which it must lie beside, or "
                     "call fnz_program_read_external()",
                     e->file);
  FNZ_TRY(source->open(ctx, source, e->file, e->bytes, &f.file));
  fnzi_map_init(&f.names, ctx);
  fnz_status status = check_file(ctx, e, f.file);
  if (status == FNZ_OK)
    status = find_blobs(&f);
  fnzi_map_free(&f.names);
  fnzi_blob_release(f.file);
  return status;
}
