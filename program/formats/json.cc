/* json.cc - JSON bytes to nodes, over simdjson.
 *
 * simdjson validates the whole text and lays it on a tape of its own memory; `copy` walks the tape
 * with an explicit stack and builds nodes in the caller's arena. No exception leaves this file:
 * what simdjson cannot allocate is FNZ_NO_MEMORY.
 *
 * Keeps: integers as integers, strings with their exact bytes.
 * simdjson says what is wrong but neither where nor whether more text would have helped:
 * json_refuse.c scans the text again, after a failure only, to tell these apart. */
#include <algorithm>
#include <cstring>
#include <new>

#include <simdjson.h>

extern "C" {
#include "program/formats/json.h"
}

namespace {

namespace dom = simdjson::dom;

/* --- what is wrong with a text that simdjson refused ---------------------------------------- */
fnz_status diagnose(fnz_context *ctx, const char *record, const char *bytes, size_t size,
                    simdjson::error_code error) {
  switch (static_cast<int>(error)) {
  case simdjson::MEMALLOC:
    return fnzi_no_memory(ctx);
  case simdjson::CAPACITY:
    return fnzi_fail(ctx, FNZ_CLASS_LIMIT, record, "%zu bytes of JSON; at most 4 GiB are read",
                     size);
  case simdjson::DEPTH_ERROR:
    return fnzi_json_refuse_depth(ctx, record);
  case simdjson::UTF8_ERROR:
    return fnzi_fail(ctx, FNZ_CLASS_ENCODING, record, "is not valid UTF-8");
  case simdjson::STRING_ERROR:
    return fnzi_fail(ctx, FNZ_CLASS_ENCODING, record,
                     "a string has an escape that names no character, such as a lone surrogate");
  case simdjson::EMPTY:
    return fnzi_fail(ctx, FNZ_CLASS_TRUNCATED, record, "there is no JSON value");
  case simdjson::UNESCAPED_CHARS:
    return fnzi_fail(ctx, FNZ_CLASS_SYNTAX, record, "a string contains a control character");
  case simdjson::NUMBER_ERROR:
    return fnzi_json_refuse_number(ctx, record, bytes, size);
  default:
    return fnzi_json_refuse_text(ctx, record, bytes, size);
  }
}

/* --- from the tape to nodes ------------------------------------------------------------------ */
/* A container that is being copied: where its next child is, and the last one that was copied. */
struct Frame {
  bool is_object;
  dom::array::iterator item, item_end;
  dom::object::iterator member, member_end;
  fnzi_json *node, *last;
};

/* Nodes are larger than the text of short values, such as the items of [0,0,0]. Programs have 15
 * bytes of text or more for each value; a text with far fewer would only take memory. */
enum { BYTES_PER_VALUE = 6, FREE_VALUES = 1 << 18, BLOCK = 64 };

struct Copy {
  fnzi_json_doc *doc;
  fnzi_arena *arena;
  char *text;       /* room for all strings of the document, each with a zero byte */
  size_t allowed;   /* values that may still come */
  fnzi_json *nodes; /* of a block: zeroed ones */
  size_t nnodes;
  Frame stack[FNZI_JSON_MAX_DEPTH];
  int depth;
};

const char *keep_text(Copy *c, const char *s, size_t size) {
  char *start = c->text;
  if (size)
    std::memcpy(start, s, size);
  start[size] = 0;
  c->text += size + 1;
  return start;
}

void open_frame(Copy *c, fnzi_json *node, dom::element e) {
  Frame *f = &c->stack[c->depth++];
  dom::array array;
  dom::object object;
  f->is_object = node->kind == FNZI_JSON_OBJECT;
  f->node = node;
  f->last = nullptr;
  if (!f->is_object && e.get(array) == simdjson::SUCCESS) {
    f->item = array.begin();
    f->item_end = array.end();
  } else if (e.get(object) == simdjson::SUCCESS) {
    f->member = object.begin();
    f->member_end = object.end();
  }
}

fnz_status set_string(Copy *c, fnzi_json *node, dom::element e) {
  std::string_view s;
  if (e.get(s) != simdjson::SUCCESS || s.size() > UINT32_MAX)
    return fnzi_json_fail(c->doc, FNZ_CLASS_LIMIT, node, "a string of 4 GiB or more");
  node->kind = FNZI_JSON_STRING;
  node->count = static_cast<uint32_t>(s.size());
  node->u.s = keep_text(c, s.data(), s.size());
  return FNZ_OK;
}

fnz_status set_number(Copy *c, fnzi_json *node, dom::element e) {
  if (e.type() == dom::element_type::UINT64)
    return fnzi_json_fail(c->doc, FNZ_CLASS_OVERFLOW, node, "integer %llu does not fit 64 bits",
                          static_cast<unsigned long long>(e.get_uint64().value_unsafe()));
  bool is_int = e.type() == dom::element_type::INT64;
  node->kind = is_int ? FNZI_JSON_INT : FNZI_JSON_FLOAT;
  if (is_int)
    node->u.i = e.get_int64().value_unsafe();
  else
    node->u.f = e.get_double().value_unsafe();
  return FNZ_OK;
}

/* Fills a node; containers are opened and filled later. */
fnz_status set_value(Copy *c, fnzi_json *node, dom::element e) {
  switch (e.type()) {
  case dom::element_type::ARRAY:
  case dom::element_type::OBJECT:
    node->kind = e.type() == dom::element_type::ARRAY ? FNZI_JSON_ARRAY : FNZI_JSON_OBJECT;
    open_frame(c, node, e);
    return FNZ_OK;
  case dom::element_type::STRING:
    return set_string(c, node, e);
  case dom::element_type::BOOL:
    node->kind = FNZI_JSON_BOOL;
    node->u.i = e.get_bool().value_unsafe();
    return FNZ_OK;
  case dom::element_type::NULL_VALUE:
    node->kind = FNZI_JSON_NULL;
    return FNZ_OK;
  case dom::element_type::INT64:
  case dom::element_type::UINT64:
  case dom::element_type::DOUBLE:
    break;
  }
  return set_number(c, node, e);
}

/* --- keys ------------------------------------------------------------------------------------ */
bool key_less(const fnzi_json *a, const fnzi_json *b) {
  return std::string_view(a->key, a->key_size) < std::string_view(b->key, b->key_size);
}

bool key_equal(const fnzi_json *a, const fnzi_json *b) {
  return a->key_size == b->key_size && std::memcmp(a->key, b->key, a->key_size) == 0;
}

fnz_status duplicate(Copy *c, const fnzi_json *member) {
  return fnzi_json_fail(c->doc, FNZ_CLASS_DUPLICATE, member, "the object has this key twice");
}

fnz_status check_few_keys(Copy *c, const fnzi_json *object) {
  for (const fnzi_json *a = object->u.first; a; a = a->next)
    for (const fnzi_json *b = object->u.first; b != a; b = b->next)
      if (key_equal(a, b))
        return duplicate(c, a);
  return FNZ_OK;
}

/* Sorting, and not a hash table: its time does not depend on keys that an attacker chose. */
fnz_status check_many_keys(Copy *c, const fnzi_json *object) {
  size_t bytes = object->count * sizeof(fnzi_json *), n = 0;
  void *block = fnzi_resize(c->doc->ctx, nullptr, 0, bytes);
  if (!block)
    return fnzi_no_memory(c->doc->ctx);
  const fnzi_json **members = static_cast<const fnzi_json **>(block);
  for (const fnzi_json *m = object->u.first; m; m = m->next)
    members[n++] = m;
  std::sort(members, members + n, key_less);
  const fnzi_json **twice = std::adjacent_find(members, members + n, key_equal);
  fnz_status status = twice == members + n ? FNZ_OK : duplicate(c, *twice);
  fnzi_free(c->doc->ctx, block, bytes);
  return status;
}

fnz_status check_keys(Copy *c, const fnzi_json *object) {
  return object->count <= 16 ? check_few_keys(c, object) : check_many_keys(c, object);
}

/* --- the walk -------------------------------------------------------------------------------- */
/* So many at a time, which are counted at once. */
fnz_status more_nodes(Copy *c, fnzi_json *parent) {
  void *p;
  c->nnodes = std::min<size_t>(c->allowed, BLOCK);
  c->allowed -= c->nnodes;
  if (!c->nnodes)
    return fnzi_json_fail(c->doc, FNZ_CLASS_LIMIT, parent,
                          "more values than one for each %d bytes of JSON",
                          static_cast<int>(BYTES_PER_VALUE));
  FNZ_TRY(fnzi_arena_alloc(c->arena, BLOCK, sizeof *c->nodes, &p));
  c->nodes = static_cast<fnzi_json *>(p);
  return FNZ_OK;
}

fnz_status new_node(Copy *c, fnzi_json *parent, fnzi_json **out) {
  *out = nullptr;
  if (!c->nnodes)
    FNZ_TRY(more_nodes(c, parent));
  *out = c->nodes++;
  c->nnodes--;
  (*out)->parent = parent;
  return FNZ_OK;
}

void append(Frame *f, fnzi_json *child) {
  if (f->last)
    f->last->next = child;
  else
    f->node->u.first = child;
  f->last = child;
  f->node->count++;
}

/* Takes the next child of the top container out of the tape; false at its end. */
bool next_child(Frame *f, std::string_view *key, dom::element *out) {
  if (f->is_object) {
    if (!(f->member != f->member_end))
      return false;
    *key = f->member.key();
    *out = f->member.value();
    ++f->member;
    return true;
  }
  if (!(f->item != f->item_end))
    return false;
  *out = *f->item;
  ++f->item;
  return true;
}

/* `key` is ignored for the root and for items of a list. */
fnz_status add_value(Copy *c, std::string_view key, dom::element e) {
  Frame *f = c->depth ? &c->stack[c->depth - 1] : nullptr;
  fnzi_json *node;
  FNZ_TRY(new_node(c, f ? f->node : nullptr, &node));
  if (f && f->is_object) {
    node->key = keep_text(c, key.data(), key.size());
    node->key_size = static_cast<uint32_t>(key.size());
  }
  if (f)
    append(f, node);
  else
    c->doc->root = node;
  return set_value(c, node, e);
}

/* Finds the value after the last one, and closes containers that have ended. */
fnz_status next_value(Copy *c, std::string_view *key, dom::element *out, bool *more) {
  for (*more = true; c->depth; c->depth--) {
    Frame *f = &c->stack[c->depth - 1];
    if (next_child(f, key, out))
      return FNZ_OK;
    if (f->is_object)
      FNZ_TRY(check_keys(c, f->node));
  }
  *more = false;
  return FNZ_OK;
}

/* Each of these functions is called in one place, where it becomes part of the loop. */
fnz_status copy_tree(Copy *c, dom::element root) {
  std::string_view key;
  dom::element e = root;
  for (bool more = true; more;) {
    FNZ_TRY(add_value(c, key, e));
    FNZ_TRY(next_value(c, &key, &e, &more));
  }
  return FNZ_OK;
}

/* simdjson reads somewhat beyond the end; with fewer bytes `behind` than that it needs a copy. */
fnz_status parse(fnzi_arena *arena, const char *bytes, size_t size, size_t behind,
                 fnzi_json_doc *out) {
  dom::parser parser;
  dom::element root;
  if (size > UINT32_MAX)
    return diagnose(out->ctx, out->record, bytes, size, simdjson::CAPACITY);
  simdjson::error_code error = parser.allocate(size, FNZI_JSON_MAX_DEPTH);
  if (error == simdjson::SUCCESS)
    error = parser.parse(bytes, size, behind < simdjson::SIMDJSON_PADDING).get(root);
  if (error != simdjson::SUCCESS)
    return diagnose(out->ctx, out->record, bytes, size, error);
  parser.implementation.reset(); /* several bytes for each of the text, in which nodes have room */
  void *text;
  /* A string takes two quotes in the file and one zero byte here. */
  FNZ_TRY(fnzi_arena_take(arena, size + 1, 1, &text));
  Copy c = {};
  c.doc = out;
  c.arena = arena;
  c.text = static_cast<char *>(text);
  c.allowed = size / BYTES_PER_VALUE + FREE_VALUES;
  return copy_tree(&c, root);
}

} // namespace

fnz_status fnzi_json_parse_in(fnzi_arena *arena, const char *record, const char *bytes, size_t size,
                              size_t behind, fnzi_json_doc *out) {
  *out = {arena->ctx, record, nullptr};
  try {
    return parse(arena, bytes, size, behind, out);
  } catch (...) { /* only std::bad_alloc is thrown below */
    return fnzi_no_memory(arena->ctx);
  }
}

fnz_status fnzi_json_parse(fnzi_arena *arena, const char *record, const char *bytes, size_t size,
                           fnzi_json_doc *out) {
  return fnzi_json_parse_in(arena, record, bytes, size, 0, out);
}
