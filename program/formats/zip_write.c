/* zip_write.c - zip archives out of memory. Records are only stored, and each begins where PyTorch
 * wants it: libzip cannot place data, and takes two copies more.
 *
 * gives   local headers with sizes and CRC, no descriptors; zip64 where 32 bits are too few; the
 * same bytes for the same records. */
#include "program/formats/zip_out.h"
#include "program/formats/crc.h"

enum {
  LOCAL_BYTES = 30,
  ENTRY_BYTES = 46,
  END_BYTES = 22,
  END64_BYTES = 56,
  LOCATOR_BYTES = 20,
  ZIP64_LOCAL = 20, /* extra field with two sizes */
  ZIP64_ENTRY = 28, /* and the offset */
  ALIGN = 64,
  PADDING_ID = 0x4246, /* "FB", as PyTorch's writer calls it */
  UTF8 = 0x0800,
  PLAIN = 10, /* versions that are needed to read it */
  WITH_ZIP64 = 45
};

#define SIGN_LOCAL   0x04034b50u
#define SIGN_ENTRY   0x02014b50u
#define SIGN_END64   0x06064b50u
#define SIGN_LOCATOR 0x07064b50u
#define SIGN_END     0x06054b50u

/* --- little-endian numbers -------------------------------------------------------------------- */
static char *set(char *p, uint64_t value, int bytes) {
  while (bytes--) {
    *p++ = (char)(value & 0xff);
    value >>= 8;
  }
  return p;
}

static bool is_large(uint64_t value) {
  return value >= UINT32_MAX;
}

/* The 32-bit field of a number that may be in the zip64 field instead. */
static uint32_t narrow(uint64_t value) {
  return is_large(value) ? UINT32_MAX : (uint32_t)value;
}

/* --- records ---------------------------------------------------------------------------------- */
uint64_t fnzi_zip_most_bytes(const char *name, uint64_t size) {
  return size + 2 * strlen(name) + LOCAL_BYTES + ZIP64_LOCAL + 4 + ALIGN + ENTRY_BYTES +
         ZIP64_ENTRY;
}

/* The offset of the next byte in the archive. */
static uint64_t zip_write_place(const fnzi_zip_out *z) {
  return (uint64_t)z->out->size + (z->pieces ? z->pieces->bytes : 0);
}

/* The record without its bytes, which come next. */
static fnz_status open_record(fnzi_zip_out *z, const char *name, size_t size, uint32_t crc) {
  char head[LOCAL_BYTES], extra[ZIP64_LOCAL + 4 + ALIGN], *p = head, *e = extra;
  const fnzi_zip_record r = {name, zip_write_place(z), size, crc};
  size_t length = strlen(name), wide = is_large(size) ? ZIP64_LOCAL : 0;
  if (length > UINT16_MAX)
    return fnzi_fail(z->ctx, FNZ_CLASS_LIMIT, NULL, "a record has a name of %zu bytes", length);
  FNZI_PUSH(z->ctx, &z->records, r);
  /* Bytes of padding behind its own head, so that what follows `r.offset + LOCAL_BYTES + length +
   * wide` begins at a multiple. */
  size_t pad = (size_t)(ALIGN - (r.offset + LOCAL_BYTES + length + wide + 4) % ALIGN) % ALIGN;
  p = set(p, SIGN_LOCAL, 4);
  p = set(p, wide ? WITH_ZIP64 : PLAIN, 2);
  p = set(p, UTF8, 2);
  p = set(p, 0, 2); /* stored */
  p = set(p, 0, 4); /* no time */
  p = set(p, crc, 4);
  p = set(p, narrow(size), 4);
  p = set(p, narrow(size), 4);
  p = set(p, length, 2);
  set(p, wide + 4 + pad, 2);
  if (wide) {
    e = set(e, 1, 2);
    e = set(e, 16, 2);
    e = set(e, size, 8);
    e = set(e, size, 8);
  }
  e = set(e, PADDING_ID, 2);
  e = set(e, pad, 2);
  memset(e, 'Z', pad);
  FNZ_TRY(fnzi_put(z->ctx, z->out, head, sizeof head));
  FNZ_TRY(fnzi_put(z->ctx, z->out, name, length));
  return fnzi_put(z->ctx, z->out, extra, wide + 4 + pad);
}

fnz_status fnzi_zip_add(fnzi_zip_out *z, const char *name, const void *bytes, size_t size) {
  FNZ_TRY(open_record(z, name, size, fnzi_crc32(0, bytes, size)));
  return fnzi_put(z->ctx, z->out, bytes, size);
}

fnz_status fnzi_zip_add_piece(fnzi_zip_out *z, const char *name, const void *bytes, size_t size,
                              uint32_t crc) {
  FNZ_TRY(open_record(z, name, size, crc));
  return fnzi_put_piece(z->ctx, z->out, z->pieces, bytes, size);
}

/* --- the directory ---------------------------------------------------------------------------- */
static fnz_status put_entry(fnzi_zip_out *z, const fnzi_zip_record *r) {
  char head[ENTRY_BYTES], extra[ZIP64_ENTRY], *p = head, *e = extra;
  size_t name = strlen(r->name), wide = is_large(r->size) || is_large(r->offset) ? ZIP64_ENTRY : 0;
  p = set(p, SIGN_ENTRY, 4);
  p = set(p, wide ? WITH_ZIP64 : PLAIN, 2);
  p = set(p, wide ? WITH_ZIP64 : PLAIN, 2);
  p = set(p, UTF8, 2);
  p = set(p, 0, 2);
  p = set(p, 0, 4);
  p = set(p, r->crc, 4);
  p = set(p, wide ? UINT32_MAX : r->size, 4);
  p = set(p, wide ? UINT32_MAX : r->size, 4);
  p = set(p, name, 2);
  p = set(p, wide, 2);
  p = set(p, 0, 2 + 2 + 2 + 4); /* comment, disk, attributes */
  set(p, wide ? UINT32_MAX : r->offset, 4);
  e = set(e, 1, 2);
  e = set(e, ZIP64_ENTRY - 4, 2);
  e = set(e, r->size, 8);
  e = set(e, r->size, 8);
  set(e, r->offset, 8);
  FNZ_TRY(fnzi_put(z->ctx, z->out, head, sizeof head));
  FNZ_TRY(fnzi_put(z->ctx, z->out, r->name, name));
  return fnzi_put(z->ctx, z->out, extra, wide);
}

static fnz_status put_end64(fnzi_zip_out *z, uint64_t offset, uint64_t length) {
  char end[END64_BYTES + LOCATOR_BYTES], *p = end;
  uint64_t at = zip_write_place(z);
  p = set(p, SIGN_END64, 4);
  p = set(p, END64_BYTES - 12, 8);
  p = set(p, WITH_ZIP64, 2);
  p = set(p, WITH_ZIP64, 2);
  p = set(p, 0, 8); /* disks */
  p = set(p, z->records.count, 8);
  p = set(p, z->records.count, 8);
  p = set(p, length, 8);
  p = set(p, offset, 8);
  p = set(p, SIGN_LOCATOR, 4);
  p = set(p, 0, 4);
  p = set(p, at, 8);
  set(p, 1, 4);
  return fnzi_put(z->ctx, z->out, end, sizeof end);
}

fnz_status fnzi_zip_finish(fnzi_zip_out *z) {
  char end[END_BYTES], *p = end;
  uint64_t offset = zip_write_place(z), count = z->records.count;
  for (size_t i = 0; i < z->records.count; i++)
    FNZ_TRY(put_entry(z, &z->records.data[i]));
  uint64_t length = zip_write_place(z) - offset;
  if (is_large(offset) || is_large(length) || count >= UINT16_MAX)
    FNZ_TRY(put_end64(z, offset, length));
  count = count >= UINT16_MAX ? UINT16_MAX : count;
  p = set(p, SIGN_END, 4);
  p = set(p, 0, 4);
  p = set(p, count, 2);
  p = set(p, count, 2);
  p = set(p, narrow(length), 4);
  p = set(p, narrow(offset), 4);
  set(p, 0, 2);
  return fnzi_put(z->ctx, z->out, end, sizeof end);
}

void fnzi_zip_out_free(fnzi_zip_out *z) {
  FNZI_VEC_FREE(z->ctx, &z->records);
}
