/* zip.c - the directory of an archive, and the bytes of its entries.
 *
 * `scan` walks the central directory itself and refuses everything that two programs could read
 * differently: a second end record, overlapping or unordered entries, odd names, local headers that
 * say something else. libzip would not be enough: it accepts overlapping entries and turns zero
 * bytes in names into spaces. Entries that are stored without compression, like PyTorch's, are
 * windows of the file; zlib inflates the others. */
#include "program/formats/zip.h"
#include "program/formats/crc.h"

#define ZLIB_CONST
#include <zlib.h>

enum {
  END_BYTES = 22,
  LOCATOR_BYTES = 20,
  END64_BYTES = 56,
  ENTRY_BYTES = 46,
  LOCAL_BYTES = 30,
  MAX_COMMENT = 65535,
  FLAG_ENCRYPTED = 1,
  FLAG_BEHIND = 8,
  METHOD_DEFLATE = 8,
  EXTRA_ZIP64 = 1,
  /* A deflated entry beyond FREE_BYTES may be MAX_RATIO times as large as its packed form. */
  MAX_RATIO = 200,
  FREE_BYTES = 1 << 24
};

#define SIGN_END     0x06054b50u
#define SIGN_LOCATOR 0x07064b50u
#define SIGN_END64   0x06064b50u
#define SIGN_ENTRY   0x02014b50u
#define SIGN_LOCAL   0x04034b50u

/* --- little-endian numbers -------------------------------------------------------------------- */
static uint64_t get(const char *p, int bytes) {
  uint64_t value = 0;
  while (bytes--)
    value = value << 8 | (unsigned char)p[bytes];
  return value;
}

static uint32_t get16(const char *p) {
  return (uint32_t)get(p, 2);
}

static uint32_t get32(const char *p) {
  return (uint32_t)get(p, 4);
}

/* --- the end of the archive ------------------------------------------------------------------- */
static fnz_status broken(fnz_context *ctx, const char *what) {
  return fnzi_fail(ctx, FNZ_CLASS_ARCHIVE, NULL, "the zip archive is damaged: %s", what);
}

/* The first place from `at` to `last` where a signature may be; last + 1 if there is none. */
static size_t next_sign(const char *bytes, size_t at, size_t last) {
  const char *p = at <= last ? memchr(bytes + at, SIGN_END & 0xff, last - at + 1) : NULL;
  return p ? (size_t)(p - bytes) : last + 1;
}

/* The end record is the signature whose comment reaches exactly to the end; there must be one. */
static fnz_status find_end(fnz_context *ctx, const char *bytes, size_t size, const char **out) {
  size_t last = size < END_BYTES ? 0 : size - END_BYTES;
  size_t first = last > MAX_COMMENT ? last - MAX_COMMENT : 0, found = 0, any = 0;
  if (size < END_BYTES)
    return broken(ctx, "it has no end record");
  for (size_t at = first; (at = next_sign(bytes, at, last)) <= last; at++) {
    if (get32(bytes + at) != SIGN_END)
      continue;
    any++;
    if (get16(bytes + at + 20) != last - at)
      continue;
    *out = bytes + at;
    found++;
  }
  if (found == 1)
    return FNZ_OK;
  if (found)
    return broken(ctx, "it has two end records");
  return broken(ctx, any ? "it is cut off, or bytes follow its end record"
                         : "it has no end record; it may be cut off, so copy it again");
}

static fnz_status read_end64(fnz_context *ctx, const char *locator, fnzi_zip_directory *d) {
  uint64_t at = get(locator + 8, 8), before = (uint64_t)(locator - d->bytes);
  d->is_further_up = at < d->start;
  if (d->is_further_up)
    return FNZ_OK;
  at -= d->start;
  if (before < END64_BYTES || at > before - END64_BYTES || get32(d->bytes + at) != SIGN_END64)
    return broken(ctx, "its zip64 end record is not where it should be");
  const char *end = d->bytes + at;
  if (get32(end + 16) || get32(end + 20) || get32(locator + 16) > 1)
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL, "the zip archive has several disks");
  d->count = get(end + 32, 8);
  d->length = get(end + 40, 8);
  d->offset = get(end + 48, 8);
  return FNZ_OK;
}

fnz_status fnzi_zip_find_directory(fnz_context *ctx, fnzi_zip_directory *d) {
  const char *end = NULL;
  FNZ_TRY(find_end(ctx, d->bytes, d->size, &end));
  if (get16(end + 4) || get16(end + 6))
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL, "the zip archive has several disks");
  d->count = get16(end + 10);
  d->length = get32(end + 12);
  d->offset = get32(end + 16);
  uint64_t at = (uint64_t)(end - d->bytes);
  if (at >= LOCATOR_BYTES && get32(end - LOCATOR_BYTES) == SIGN_LOCATOR)
    FNZ_TRY(read_end64(ctx, end - LOCATOR_BYTES, d));
  if (d->is_further_up)
    return FNZ_OK;
  at += d->start;
  if (d->offset > at || d->length > at - d->offset)
    return broken(ctx, "its directory is outside the file");
  if (d->count > d->length / ENTRY_BYTES)
    return broken(ctx, "its directory is too short for the number of entries");
  if (d->count > ctx->limits.entries)
    return fnzi_fail(ctx, FNZ_CLASS_LIMIT, NULL, "%llu entries; at most %zu are allowed",
                     (unsigned long long)d->count, ctx->limits.entries);
  return FNZ_OK;
}

/* --- entries ---------------------------------------------------------------------------------- */
typedef struct scan {
  fnzi_zip *zip;
  fnzi_zip_directory dir;
  uint64_t at;      /* in the directory */
  uint64_t covered; /* all local bytes before are taken */
} scan;

/* ".." as a whole part of a name. */
static bool climbs(const char *name) {
  for (const char *s = name; (s = strstr(s, "..")) != NULL; s++)
    if ((s == name || s[-1] == '/') && (s[2] == 0 || s[2] == '/'))
      return true;
  return false;
}

/* Replaces what the 32-bit fields could not hold by the entry's zip64 extra field. */
static bool read_zip64(const char *extra, size_t size, uint64_t *values[], size_t count) {
  while (size >= 4) {
    size_t length = get16(extra + 2);
    if (length > size - 4)
      return false;
    if (get16(extra) == EXTRA_ZIP64) {
      if (length < count * 8)
        return false;
      for (size_t i = 0; i < count; i++)
        *values[i] = get(extra + 4 + i * 8, 8);
      return true;
    }
    extra += 4 + length;
    size -= 4 + length;
  }
  return count == 0;
}

static fnz_status read_sizes(fnz_context *ctx, const char *p, fnzi_zip_entry *e, uint64_t *offset) {
  uint64_t *values[3];
  size_t count = 0;
  e->crc = get32(p + 16);
  e->packed = get32(p + 20);
  e->size = get32(p + 24);
  *offset = get32(p + 42);
  if (e->size == UINT32_MAX)
    values[count++] = &e->size;
  if (e->packed == UINT32_MAX)
    values[count++] = &e->packed;
  if (*offset == UINT32_MAX)
    values[count++] = offset;
  if (!read_zip64(p + ENTRY_BYTES + e->name_size, get16(p + 30), values, count))
    return fnzi_fail(ctx, FNZ_CLASS_ARCHIVE, e->name, "the extra fields are damaged");
  return FNZ_OK;
}

static fnz_status check_packing(fnz_context *ctx, const char *p, const fnzi_zip_entry *e) {
  uint32_t method = get16(p + 10);
  if (get16(p + 8) & FLAG_ENCRYPTED)
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, e->name, "the entry is encrypted");
  if (method != 0 && method != METHOD_DEFLATE)
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, e->name,
                     "compression method %u; only stored and deflate are read", method);
  if (method == 0 && e->size != e->packed)
    return fnzi_fail(ctx, FNZ_CLASS_ARCHIVE, e->name, "a stored entry has two sizes");
  if (e->size > FREE_BYTES && e->size / MAX_RATIO > e->packed)
    return fnzi_fail(ctx, FNZ_CLASS_LIMIT, e->name,
                     "%llu bytes would unpack to %llu; a ratio above %d is refused",
                     (unsigned long long)e->packed, (unsigned long long)e->size, MAX_RATIO);
  return FNZ_OK;
}

/* A field of a local header: equal to the directory's, or empty if the value is stored
 * elsewhere. */
static bool says(const char *p, uint64_t value, bool is_elsewhere) {
  uint32_t there = get32(p);
  return there == value || (is_elsewhere && !there) || there == UINT32_MAX;
}

/* Entries must follow each other, the first one at the start of the file: no bytes are used twice
 * and none are hidden in front. */
static fnz_status check_place(scan *s, fnzi_zip_entry *e, uint64_t offset) {
  fnz_context *ctx = s->zip->ctx;
  uint64_t end = s->dir.offset;
  if (offset > end || end - offset < LOCAL_BYTES || get32(s->dir.bytes + offset) != SIGN_LOCAL)
    return fnzi_fail(ctx, FNZ_CLASS_ARCHIVE, e->name, "there is no entry at byte %llu",
                     (unsigned long long)offset);
  if (offset < s->covered || (e->index == 0 && offset != 0))
    return fnzi_fail(ctx, FNZ_CLASS_ARCHIVE, e->name,
                     "the entry begins at byte %llu, where the one before ends at %llu",
                     (unsigned long long)offset, (unsigned long long)s->covered);
  const char *local = s->dir.bytes + offset;
  uint64_t data = offset + LOCAL_BYTES + get16(local + 26) + get16(local + 28);
  if (data > end || e->packed > end - data)
    return fnzi_fail(ctx, FNZ_CLASS_ARCHIVE, e->name,
                     "the entry reaches into the directory, or beyond");
  s->covered = data + e->packed;
  e->data = data;
  const char *p = s->dir.bytes + offset;
  /* FLAG_BEHIND: checksum and sizes follow the data, and may be 0 here. */
  bool behind = get16(p + 6) & FLAG_BEHIND;
  if (get16(p + 26) != e->name_size || memcmp(p + LOCAL_BYTES, e->name, e->name_size) != 0)
    return fnzi_fail(s->zip->ctx, FNZ_CLASS_ARCHIVE, e->name,
                     "the entry has another name than the directory says");
  if (get16(p + 8) != e->method || (get16(p + 6) & FLAG_ENCRYPTED) ||
      !says(p + 14, e->crc, behind) || !says(p + 18, e->packed, behind) ||
      !says(p + 22, e->size, behind))
    return fnzi_fail(s->zip->ctx, FNZ_CLASS_ARCHIVE, e->name,
                     "the entry is not what the directory says");
  return FNZ_OK;
}

/* How many bytes of the directory the entry at `p` takes; 0 when these are none. */
static uint64_t entry_bytes(const char *p, uint64_t left) {
  if (left < ENTRY_BYTES || get32(p) != SIGN_ENTRY)
    return 0;
  return (uint64_t)ENTRY_BYTES + get16(p + 28) + get16(p + 30) + get16(p + 32);
}

const char *fnzi_zip_next_name(const char *directory, size_t size, size_t *at, size_t *name_size) {
  const char *p = directory + *at;
  uint64_t whole = entry_bytes(p, size - *at);
  if (!whole || whole > size - *at)
    return NULL;
  *at += (size_t)whole;
  *name_size = get16(p + 28);
  return p + ENTRY_BYTES;
}

static fnz_status scan_entry(scan *s, fnzi_zip_entry *e) {
  fnzi_zip *zip = s->zip;
  uint64_t left = s->dir.length - s->at, offset = 0;
  const char *p = s->dir.bytes + s->dir.offset + s->at;
  uint64_t whole = entry_bytes(p, left);
  if (!whole)
    return broken(zip->ctx, "its directory ends early");
  if (whole > left)
    return broken(zip->ctx, "its directory ends inside an entry");
  e->name_size = get16(p + 28);
  uint64_t there;
  FNZ_TRY(fnzi_arena_string(&zip->arena, p + ENTRY_BYTES, e->name_size, &e->name));
  if (e->name_size > zip->ctx->limits.entry_name)
    return fnzi_fail(zip->ctx, FNZ_CLASS_LIMIT, NULL,
                     "an entry has a name of %zu bytes; at most %zu are allowed", e->name_size,
                     zip->ctx->limits.entry_name);
  if (memchr(e->name, 0, e->name_size) || !fnzi_is_utf8(e->name, e->name_size))
    return fnzi_fail(zip->ctx, FNZ_CLASS_ENCODING, e->name,
                     "the name of the entry is not UTF-8 text");
  if (!e->name_size || e->name[0] == '/' || strchr(e->name, '\\') || climbs(e->name))
    return fnzi_fail(zip->ctx, FNZ_CLASS_ARCHIVE, e->name,
                     "the name of the entry is empty, absolute, or has \"..\" or a backslash");
  if (fnzi_map_get(&zip->names, e->name, e->name_size, &there))
    return fnzi_fail(zip->ctx, FNZ_CLASS_DUPLICATE, e->name, "two entries have this name");
  FNZ_TRY(fnzi_map_set(&zip->names, e->name, e->name_size, e->index));
  FNZ_TRY(read_sizes(zip->ctx, p, e, &offset));
  FNZ_TRY(check_packing(zip->ctx, p, e));
  e->method = (uint16_t)get16(p + 10);
  s->at += whole;
  return check_place(s, e, offset);
}

fnz_status fnzi_zip_open(fnz_context *ctx, const char *bytes, size_t size, fnzi_zip *out) {
  *out = (fnzi_zip){.ctx = ctx};
  fnzi_arena_init(&out->arena, ctx);
  fnzi_map_init(&out->names, ctx);
  if (size < END_BYTES)
    return fnzi_fail(ctx, FNZ_CLASS_TRUNCATED, NULL, "%zu bytes are no zip archive", size);
  scan s = {.zip = out, .dir = {.bytes = bytes, .size = size}};
  FNZ_TRY(fnzi_zip_find_directory(out->ctx, &s.dir));
  out->count = s.dir.count;
  FNZI_NEW(&out->arena, out->count, &out->entries);
  for (size_t i = 0; i < out->count; i++) {
    out->entries[i].index = i;
    FNZ_TRY(scan_entry(&s, &out->entries[i]));
  }
  if (s.at != s.dir.length)
    FNZ_TRY(broken(out->ctx, "its directory has bytes left over"));
  out->bytes = bytes;
  out->size = size;
  return FNZ_OK;
}

void fnzi_zip_close(fnzi_zip *zip) {
  fnzi_map_free(&zip->names);
  fnzi_arena_free(&zip->arena);
}

const fnzi_zip_entry *fnzi_zip_find(const fnzi_zip *zip, const char *name) {
  uint64_t index;
  return fnzi_map_get(&zip->names, name, strlen(name), &index) ? &zip->entries[index] : NULL;
}

/* --- bytes ------------------------------------------------------------------------------------ */
static fnz_status check_sum(const fnzi_zip *zip, const fnzi_zip_entry *e, const void *bytes) {
  uint32_t crc;
  FNZ_TRY(fnzi_crc32_all(zip->ctx, bytes, e->size, &crc));
  if (crc == e->crc)
    return FNZ_OK;
  return fnzi_fail(zip->ctx, FNZ_CLASS_ARCHIVE, e->name,
                   "the zip archive is damaged: the entry's checksum is %08x instead of %08x", crc,
                   e->crc);
}

fnz_status fnzi_zip_look(const fnzi_zip *zip, const fnzi_zip_entry *e, bool checks,
                         const char **out) {
  *out = NULL;
  if (e->method != 0)
    return FNZ_OK;
  if (checks)
    FNZ_TRY(check_sum(zip, e, zip->bytes + e->data));
  *out = zip->bytes + e->data;
  return FNZ_OK;
}

/* zlib gives memory back without its size, and ends what it has taken when a stream ends: it takes
 * all of it from an arena. */
static void *zip_take(void *arena, unsigned count, unsigned size) {
  void *p;
  return fnzi_arena_take(arena, count, size, &p) == FNZ_OK ? p : NULL;
}

static void give(void *arena, void *p) {
  (void)arena, (void)p;
}

/* Takes as many of the remaining bytes as zlib's counter can hold. */
static void refill(unsigned *available, uint64_t *left) {
  enum { MOST = 1 << 30 };
  if (*available)
    return;
  *available = *left < MOST ? (unsigned)*left : MOST;
  *left -= *available;
}

/* Both must come out even: neither bytes may be left over nor room. */
static fnz_status unpack(fnz_context *ctx, const fnzi_zip_entry *e, z_stream *z) {
  uint64_t packed = e->packed, size = e->size;
  int result;
  do {
    refill(&z->avail_in, &packed);
    refill(&z->avail_out, &size);
    result = inflate(z, Z_NO_FLUSH);
  } while (result == Z_OK);
  if (result == Z_MEM_ERROR)
    return fnzi_no_memory(ctx);
  if (result == Z_STREAM_END && !z->avail_in && !packed && !z->avail_out && !size)
    return FNZ_OK;
  return fnzi_fail(ctx, FNZ_CLASS_ARCHIVE, e->name,
                   "the zip archive is damaged: %llu bytes do not unpack to %llu",
                   (unsigned long long)e->packed, (unsigned long long)e->size);
}

static fnz_status read_packed(fnzi_zip *zip, const fnzi_zip_entry *e, fnzi_arena *arena,
                              void *out) {
  char none;
  z_stream z = {.zalloc = zip_take, .zfree = give, .opaque = arena};
  z.next_in = (const Bytef *)zip->bytes + e->data;
  z.next_out = e->size ? out : (void *)&none;
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
    return fnzi_no_memory(zip->ctx);
  fnz_status status = unpack(zip->ctx, e, &z);
  inflateEnd(&z);
  return status == FNZ_OK ? check_sum(zip, e, out) : status;
}

fnz_status fnzi_zip_read(fnzi_zip *zip, const fnzi_zip_entry *entry, void *out) {
  const char *stored;
  fnzi_arena arena;
  FNZ_TRY(fnzi_zip_look(zip, entry, true, &stored));
  if (stored) {
    if (entry->size)
      memcpy(out, stored, entry->size);
    return FNZ_OK;
  }
  fnzi_arena_init(&arena, zip->ctx);
  fnz_status status = read_packed(zip, entry, &arena, out);
  fnzi_arena_free(&arena);
  return status;
}
