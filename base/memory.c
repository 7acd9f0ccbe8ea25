/* memory.c - blocks, vectors, the arena, and output buffers. */
#include "base/base.h"
#include "base/watched.h"

#include <stdio.h>

void *fnzi_resize(fnz_context *ctx, void *p, size_t old_bytes, size_t new_bytes) {
  void *q = ctx->allocator.resize(ctx->allocator.user, p, old_bytes, new_bytes);
  if (!q && new_bytes)
    return NULL;
  ctx->live_bytes += new_bytes - old_bytes;
  if (ctx->live_bytes > ctx->peak_bytes)
    ctx->peak_bytes = ctx->live_bytes;
  return q;
}

void fnzi_free(fnz_context *ctx, void *p, size_t bytes) {
  if (p)
    fnzi_resize(ctx, p, bytes, 0);
}

/* Part of the context itself: not among the bytes that are counted. */
fnz_status fnzi_kept(fnz_context *ctx, fnzi_shelf shelf, size_t bytes, void **out) {
  *out = ctx->shelves[shelf].data;
  if (*out)
    return FNZ_OK;
  *out = ctx->allocator.resize(ctx->allocator.user, NULL, 0, bytes);
  if (!*out)
    return fnzi_no_memory(ctx);
  memset(*out, 0, bytes);
  ctx->shelves[shelf].data = *out;
  ctx->shelves[shelf].bytes = bytes;
  return FNZ_OK;
}

fnz_status fnzi_reserve(fnz_context *ctx, void **data, size_t *capacity, size_t want, size_t size) {
  size_t bytes;
  if (want <= *capacity)
    return FNZ_OK;
  if (!fnzi_mul_size(want, size, &bytes))
    return fnzi_no_memory(ctx);
  void *p = fnzi_resize(ctx, *data, *capacity * size, bytes);
  if (!p)
    return fnzi_no_memory(ctx);
  *data = p;
  *capacity = want;
  return FNZ_OK;
}

fnz_status fnzi_grow(fnz_context *ctx, void **data, size_t *capacity, size_t want, size_t size) {
  size_t wider;
  if (want <= *capacity)
    return FNZ_OK;
  if (!fnzi_add_size(*capacity, *capacity / 2 + 4, &wider))
    return fnzi_no_memory(ctx);
  return fnzi_reserve(ctx, data, capacity, wider > want ? wider : want, size);
}

fnz_status fnzi_trim(fnz_context *ctx, void **data, size_t *capacity, size_t count, size_t size) {
  void *p = fnzi_resize(ctx, *data, *capacity * size, count * size);
  if (!p && count)
    return fnzi_no_memory(ctx);
  *data = p;
  *capacity = count;
  return FNZ_OK;
}

/* --- arena ------------------------------------------------------------------------------------ */
enum { ALIGN = 16, FIRST_CHUNK = 4096, LARGEST_CHUNK = 1 << 20, FIRST_BUFFER = 64 };

struct fnzi_chunk {
  struct fnzi_chunk *older;
  size_t bytes; /* with this header */
};

void fnzi_arena_init(fnzi_arena *arena, fnz_context *ctx) {
  *arena = (fnzi_arena){.ctx = ctx};
}

void fnzi_arena_free(fnzi_arena *arena) {
  for (struct fnzi_chunk *c = arena->chunks, *older; c; c = older) {
    older = c->older;
    fnzi_free(arena->ctx, c, c->bytes);
  }
  fnzi_arena_init(arena, arena->ctx);
}

void fnzi_arena_reset(fnzi_arena *arena) {
  if (!arena->chunks)
    return;
  while (arena->chunks->older) {
    struct fnzi_chunk *oldest = arena->chunks->older;
    arena->chunks->older = oldest->older;
    fnzi_free(arena->ctx, oldest, oldest->bytes);
  }
  arena->used = sizeof *arena->chunks;
}

/* SIZE_MAX stands for sizes beyond all memory. */
fnz_status fnzi_arena_more(fnzi_arena *arena, size_t want) {
  size_t bytes;
  if (!fnzi_add_size(want, sizeof(struct fnzi_chunk) + ALIGN, &bytes))
    return fnzi_no_memory(arena->ctx);
  size_t doubled = arena->chunks ? arena->chunks->bytes * 2 : FIRST_CHUNK;
  size_t usual = doubled < LARGEST_CHUNK ? doubled : LARGEST_CHUNK;
  if (bytes < usual)
    bytes = usual;
  struct fnzi_chunk *c = fnzi_resize(arena->ctx, NULL, 0, bytes);
  if (!c)
    return fnzi_no_memory(arena->ctx);
  *c = (struct fnzi_chunk){arena->chunks, bytes};
  arena->chunks = c;
  arena->used = sizeof *c;
  arena->size = bytes;
  return FNZ_OK;
}

/* Strings are packed: they need no alignment. */
fnz_status fnzi_arena_string(fnzi_arena *arena, const char *s, size_t size, const char **out) {
  void *room;
  size_t bytes;
  if (!fnzi_add_size(size, 1, &bytes))
    return fnzi_no_memory(arena->ctx);
  FNZ_TRY(fnzi_arena_cut(arena, bytes, 1, &room));
  char *text = room;
  if (size)
    memcpy(text, s, size);
  text[size] = 0;
  *out = text;
  return FNZ_OK;
}

fnz_status fnzi_arena_dotted(fnzi_arena *arena, const char *a, const char *b, const char **out) {
  size_t first = strlen(a), second = strlen(b);
  void *room;
  FNZ_TRY(fnzi_arena_cut(arena, first + second + 2, 1, &room));
  char *text = room;
  memcpy(text, a, first);
  text[first] = '.';
  memcpy(text + first + 1, b, second + 1);
  *out = text;
  return FNZ_OK;
}

fnz_status fnzi_arena_format(fnzi_arena *arena, const char **out, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  void *room;
  fnz_status status = fnzi_arena_cut(arena, (size_t)n + 1, 1, &room);
  if (status == FNZ_OK)
    vsnprintf(room, (size_t)n + 1, format, again);
  va_end(again);
  *out = room;
  return status;
}

/* --- blocks ----------------------------------------------------------------------------------- */
enum { LARGEST_POOLED = FNZI_WATCHED ? 0 : FNZI_BLOCK_SIZES * ALIGN };

void fnzi_blocks_init(fnzi_blocks *blocks, fnz_context *ctx) {
  *blocks = (fnzi_blocks){.freed = {NULL}};
  fnzi_arena_init(&blocks->arena, ctx);
}

void fnzi_blocks_end(fnzi_blocks *blocks) {
  fnzi_arena_free(&blocks->arena);
  fnzi_blocks_init(blocks, blocks->arena.ctx);
}

void *fnzi_blocks_take(fnzi_blocks *blocks, size_t bytes) {
  void *p;
  if (bytes == 0 || bytes > LARGEST_POOLED)
    return fnzi_resize(blocks->arena.ctx, NULL, 0, bytes);
  void **freed = &blocks->freed[(bytes - 1) / ALIGN];
  if (!*freed)
    return fnzi_arena_alloc(&blocks->arena, (bytes - 1) / ALIGN + 1, ALIGN, &p) == FNZ_OK ? p
                                                                                          : NULL;
  p = *freed;
  memcpy(freed, p, sizeof *freed);
  return p;
}

void fnzi_blocks_give(fnzi_blocks *blocks, void *p, size_t bytes) {
  if (!p || bytes == 0 || bytes > LARGEST_POOLED) {
    fnzi_free(blocks->arena.ctx, p, bytes);
    return;
  }
  void **freed = &blocks->freed[(bytes - 1) / ALIGN];
  memcpy(p, freed, sizeof *freed);
  *freed = p;
}

/* --- output buffers --------------------------------------------------------------------------- */
void fnz_buffer_free(fnz_context *ctx, fnz_buffer *b) {
  fnzi_free(ctx, b->data, b->capacity);
  *b = (fnz_buffer){NULL, 0, 0};
}

static fnz_status reserve(fnz_context *ctx, fnz_buffer *b, size_t more) {
  size_t want;
  if (!fnzi_add_size(b->size, more, &want) || !fnzi_add_size(want, 1, &want))
    return fnzi_no_memory(ctx);
  void *data = b->data;
  FNZ_TRY(fnzi_grow(ctx, &data, &b->capacity, want > FIRST_BUFFER ? want : FIRST_BUFFER, 1));
  b->data = data;
  return FNZ_OK;
}

fnz_status fnzi_put(fnz_context *ctx, fnz_buffer *b, const void *data, size_t size) {
  FNZ_TRY(reserve(ctx, b, size));
  if (size)
    memcpy(b->data + b->size, data, size);
  b->size += size;
  b->data[b->size] = 0;
  return FNZ_OK;
}

fnz_status fnzi_put_text(fnz_context *ctx, fnz_buffer *b, const char *text) {
  return fnzi_put(ctx, b, text, strlen(text));
}

fnz_status fnzi_put_int(fnz_context *ctx, fnz_buffer *b, int64_t value) {
  char text[FNZI_INT_TEXT];
  return fnzi_put(ctx, b, text, fnzi_int_text(value, text));
}

fnz_status fnzi_printf(fnz_context *ctx, fnz_buffer *b, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  fnz_status status = reserve(ctx, b, (size_t)n);
  if (status == FNZ_OK) {
    vsnprintf(b->data + b->size, (size_t)n + 1, format, again);
    b->size += (size_t)n;
  }
  va_end(again);
  return status;
}
