/* mutate.c - see mutate.h: which part of a file is changed, how often, and how it is put together
 * again. */
#include "tests/fuzz/mutate.h"

#include <string.h>

static const char model[] = "models/model.json";

static bool one_in(mutator *m, uint32_t n) {
  return mutate_below(m, n) == 0;
}

static bool ends_with(tree_text name, const char *tail) {
  size_t size = strlen(tail);
  return name.size >= size && memcmp(name.at + name.size - size, tail, size) == 0;
}

/* A record whose name ends like this; archive.count when there is none. */
static uint32_t find_record(mutator *m, const records *of, const char *tail) {
  uint32_t from = mutate_below(m, of->count);
  for (uint32_t n = 0; n < of->count; n++)
    if (ends_with(of->all[(from + n) % of->count].name, tail))
      return (from + n) % of->count;
  return of->count;
}

/* --- trees --------------------------------------------------------------------------------- */
static bool read_tree(tree *t, bool is_cbor, const void *bytes, size_t size) {
  return size && (is_cbor ? tree_read_cbor(t, bytes, size) : tree_read_json(t, bytes, size));
}

static size_t write_tree(const mutator *m, char *out, size_t capacity) {
  return m->is_cbor ? tree_write_cbor(&m->own, out, capacity)
                    : tree_write_json(&m->own, out, capacity);
}

/* One change, and fewer and fewer others: a file that is wrong in several places is refused for the
 * first. */
static void change_tree(mutator *m) {
  do {
    tree_find_roles(&m->own);
    mutate_tree(m);
  } while (one_in(m, 3));
}

/* The text of a record, or of a whole file, with a part of m->second where `is_cross`. */
static size_t change_text(mutator *m, tree_text text, bool is_cross, char *out, size_t capacity) {
  if (!read_tree(&m->own, m->is_cbor, text.at, text.size))
    return 0;
  m->donor = is_cross ? &m->second : &m->own;
  change_tree(m);
  return write_tree(m, out, capacity);
}

/* --- archives ------------------------------------------------------------------------------ */
/* A payload has other bytes, and another length. */
static bool change_record_bytes(mutator *m, uint32_t at) {
  tree_text *data = &m->archive.all[at].data;
  uint32_t most = data->size < 4096 ? data->size + 64 : 0;
  if (!most || most > sizeof m->texts - m->used)
    return false;
  char *bytes = m->texts + m->used;
  if (data->size)
    memcpy(bytes, data->at, data->size);
  *data = (tree_text){bytes, (uint32_t)m->change_bytes((uint8_t *)bytes, data->size, most)};
  m->used += data->size;
  return true;
}

/* Records themselves: shorter, gone, under another name, exchanged, with other bytes. */
static void change_records(mutator *m) {
  records *a = &m->archive;
  uint32_t at = mutate_below(m, a->count), other = mutate_below(m, a->count);
  tree_text data = a->all[at].data;
  m->last = "records";
  switch (mutate_below(m, 5)) {
  case 0:
    a->all[at].data.size = mutate_below(m, data.size);
    break;
  case 1:
    a->all[at] = a->all[--a->count];
    break;
  case 2:
    a->all[at].name = a->all[other].name;
    break;
  case 3:
    a->all[at].data = a->all[other].data;
    a->all[other].data = data;
    break;
  default:
    change_record_bytes(m, at);
  }
}

/* A record of the second archive, in place of one or as another one. */
static void cross_records(mutator *m) {
  records *a = &m->archive;
  uint32_t from = mutate_below(m, m->donors.count), at = mutate_below(m, a->count + 1);
  m->last = "a record of another archive";
  if (at == a->count && a->count < RECORDS_MOST)
    a->all[a->count++] = m->donors.all[from];
  else if (at < a->count)
    a->all[at].data = m->donors.all[from].data;
}

/* The model most often; else another record of JSON, if there is one. */
static size_t change_json_record(mutator *m, bool is_cross, char *out, size_t capacity) {
  uint32_t at = find_record(m, &m->archive, one_in(m, 12) ? ".json" : model);
  if (at == m->archive.count)
    return 0;
  tree_text *data = &m->archive.all[at].data;
  size_t size = change_text(m, *data, is_cross, out, capacity);
  if (size)
    *data = (tree_text){out, (uint32_t)size};
  return size;
}

/* Records that PyTorch keeps beside a program and no reader needs are left out for good sooner or
 * later. */
static size_t change_archive(mutator *m, bool is_cross, size_t most) {
  size_t half = sizeof m->out / 2;
  if (one_in(m, 24))
    is_cross ? cross_records(m) : change_records(m);
  else if (!change_json_record(m, is_cross, m->out + half, half))
    return 0;
  return records_write(&m->archive, m->out, most < half ? most : half);
}

/* --- files --------------------------------------------------------------------------------- */
static void begin(mutator *m, mutate_format format, unsigned seed) {
  m->random = (seed + 1u) * 0x9e3779b97f4a7c15u;
  m->is_cbor = format == MUTATE_CBOR;
  m->used = 0;
  m->last = "bytes of the file";
}

/* Into m->out; 0 when nothing came of it. */
static size_t change_file(mutator *m, mutate_format format, tree_text file, bool is_cross,
                          size_t most) {
  if (format != MUTATE_PT2)
    return change_text(m, file, is_cross, m->out, most < sizeof m->out ? most : sizeof m->out);
  if (!records_read(&m->archive, file.at, file.size))
    return 0;
  return change_archive(m, is_cross, most);
}

static bool read_second(mutator *m, mutate_format format, const uint8_t *bytes, size_t size) {
  tree_text text = {(const char *)bytes, (uint32_t)size};
  if (format == MUTATE_PT2) {
    if (!records_read(&m->donors, text.at, text.size))
      return false;
    uint32_t at = find_record(m, &m->donors, model);
    if (at == m->donors.count)
      return false;
    text = m->donors.all[at].data;
  }
  if (!read_tree(&m->second, m->is_cbor, text.at, text.size))
    return false;
  tree_find_roles(&m->second);
  return true;
}

size_t mutate(mutator *m, mutate_format format, uint8_t *data, size_t size, size_t most,
              unsigned seed) {
  begin(m, format, seed);
  tree_text file = {(const char *)data, (uint32_t)size};
  size_t changed = one_in(m, 50) ? 0 : change_file(m, format, file, false, most);
  if (!changed) {
    m->last = "bytes of the file";
    return m->change_bytes(data, size, most);
  }
  memcpy(data, m->out, changed);
  return changed;
}

size_t mutate_cross(mutator *m, mutate_format format, const uint8_t *data, size_t size,
                    const uint8_t *second, size_t second_size, uint8_t *out, size_t most,
                    unsigned seed) {
  begin(m, format, seed);
  tree_text file = {(const char *)data, (uint32_t)size};
  if (!read_second(m, format, second, second_size))
    return 0;
  size_t changed = change_file(m, format, file, true, most);
  if (changed)
    memcpy(out, m->out, changed);
  return changed;
}
