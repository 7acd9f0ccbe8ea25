/* records.c - see records.h. */
#include "tests/fuzz/records.h"
#include "program/formats/crc.h"

#include <string.h>

enum {
  LOCAL = 30,
  ENTRY = 46,
  END = 22,
  FLAG_UTF8 = 1 << 11,
  VERSION = 20,
  SIGN_LOCAL = 0x04034b50,
  SIGN_ENTRY = 0x02014b50,
  SIGN_END = 0x06054b50
};

static uint32_t get(const char *p, int bytes) {
  uint32_t value = 0;
  while (bytes--)
    value = value << 8 | (unsigned char)p[bytes];
  return value;
}

static bool is_within(uint64_t from, uint64_t count, uint64_t size) {
  return from <= size && count <= size - from;
}

static bool read_entry(records *out, const char *bytes, size_t size, uint32_t *at) {
  if (!is_within(*at, ENTRY, size) || get(bytes + *at, 4) != SIGN_ENTRY)
    return false;
  const char *e = bytes + *at;
  uint32_t stored = get(e + 24, 4), name = get(e + 28, 2), local = get(e + 42, 4);
  if (get(e + 10, 2) || get(e + 20, 4) != stored || !is_within(*at + ENTRY, name, size) ||
      !is_within(local, LOCAL, size))
    return false;
  uint32_t data = local + LOCAL + get(bytes + local + 26, 2) + get(bytes + local + 28, 2);
  if (!is_within(data, stored, size))
    return false;
  out->all[out->count].name = (tree_text){e + ENTRY, name};
  out->all[out->count++].data = (tree_text){bytes + data, stored};
  *at += ENTRY + name + get(e + 30, 2) + get(e + 32, 2);
  return true;
}

bool records_read(records *out, const char *bytes, size_t size) {
  out->count = 0;
  if (size < END || get(bytes + size - END, 4) != SIGN_END)
    return false;
  const char *end = bytes + size - END;
  uint32_t count = get(end + 10, 2), at = get(end + 16, 4);
  if (!count || count > RECORDS_MOST)
    return false;
  while (count--)
    if (!read_entry(out, bytes, size, &at))
      return false;
  return true;
}

/* --- writing ------------------------------------------------------------------------------ */
typedef struct writer {
  char *start, *at, *end;
} writer;

static void put(writer *w, uint32_t value, int bytes) {
  for (; bytes--; value >>= 8)
    *w->at++ = (char)value;
}

static void put_text(writer *w, tree_text text) {
  if (text.size)
    memcpy(w->at, text.at, text.size);
  w->at += text.size;
}

/* The common part of both headers of an entry. */
static void put_common(writer *w, tree_text name, tree_text data, uint32_t crc) {
  put(w, FLAG_UTF8, 2);
  put(w, 0, 2); /* stored */
  put(w, 0, 4); /* no time */
  put(w, crc, 4);
  put(w, data.size, 4);
  put(w, data.size, 4);
  put(w, name.size, 2);
}

static bool is_json(tree_text name) {
  return name.size > 5 && memcmp(name.at + name.size - 5, ".json", 5) == 0;
}

/* An extra field has four bytes at least. */
static uint32_t padding(const writer *w, tree_text name) {
  uint32_t data = (uint32_t)(w->at - w->start) + LOCAL + name.size;
  uint32_t pad = is_json(name) ? 0 : (64 - data % 64) % 64;
  return pad && pad < 4 ? pad + 64 : pad;
}

static void put_local(writer *w, tree_text name, tree_text data, uint32_t crc, uint32_t pad) {
  put(w, SIGN_LOCAL, 4);
  put(w, VERSION, 2);
  put_common(w, name, data, crc);
  put(w, pad, 2);
  put_text(w, name);
  if (pad) {
    put(w, 'F' | 'B' << 8, 2);
    put(w, pad - 4, 2);
    memset(w->at, 'Z', pad - 4);
    w->at += pad - 4;
  }
  put_text(w, data);
}

static void put_entry(writer *w, tree_text name, tree_text data, uint32_t crc, uint32_t local) {
  put(w, SIGN_ENTRY, 4);
  put(w, VERSION, 2);
  put(w, VERSION, 2);
  put_common(w, name, data, crc);
  memset(w->at, 0, 12); /* no extra field, comment, disk, attributes */
  w->at += 12;
  put(w, local, 4);
  put_text(w, name);
}

static void put_end(writer *w, uint32_t count, uint32_t directory) {
  uint32_t size = (uint32_t)(w->at - w->start) - directory;
  put(w, SIGN_END, 4);
  put(w, 0, 4);
  put(w, count, 2);
  put(w, count, 2);
  put(w, size, 4);
  put(w, directory, 4);
  put(w, 0, 2);
}

size_t records_write(const records *from, char *out, size_t capacity) {
  uint32_t crc[RECORDS_MOST], local[RECORDS_MOST];
  writer w = {out, out, out + capacity};
  size_t needed = END;
  for (uint32_t i = 0; i < from->count; i++)
    needed += LOCAL + ENTRY + 68 + 2 * (size_t)from->all[i].name.size + from->all[i].data.size;
  if (needed > capacity)
    return 0;
  for (uint32_t i = 0; i < from->count; i++) {
    tree_text name = from->all[i].name, data = from->all[i].data;
    crc[i] = fnzi_crc32(0, data.at, data.size);
    local[i] = (uint32_t)(w.at - w.start);
    put_local(&w, name, data, crc[i], padding(&w, name));
  }
  uint32_t directory = (uint32_t)(w.at - w.start);
  for (uint32_t i = 0; i < from->count; i++)
    put_entry(&w, from->all[i].name, from->all[i].data, crc[i], local[i]);
  put_end(&w, from->count, directory);
  return (size_t)(w.at - w.start);
}
