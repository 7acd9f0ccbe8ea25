/* base.h - errors, allocation, growing arrays and arithmetic on sizes, for every folder.
 *
 * Nothing here knows about tensors. All memory comes from the context's allocator; all products
 * and sums of sizes go through the checked functions below. */
#ifndef FNZI_BASE_H
#define FNZI_BASE_H

#include "base/limits.h"
#include "base/task.h"

#include <fnz/context.h>

#include <stdarg.h>
#include <string.h>

#if defined(__GNUC__)
#define FNZI_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#else
#define FNZI_PRINTF(text, first)
#endif

/* An internal function or table of libfnz that libfnz_cuda uses: libfnz shows it under a version
 * that promises nothing (docs/architecture.md, Libraries). */
#define FNZI_SHARED FNZ_API

#define FNZ_TRY(expr)                                                                              \
  do {                                                                                             \
    fnz_status try_status_ = (expr);                                                               \
    if (try_status_ != FNZ_OK)                                                                     \
      return try_status_;                                                                          \
  } while (0)

/* Kinds of data that are computed once per context and kept until it is destroyed: see
 * fnzi_kept(). */
typedef enum fnzi_shelf {
  FNZI_SHELF_ROUTES, /* how the wrapper handles an operator (functionalize/wrapper/wrapper.h) */
  FNZI_SHELVES
} fnzi_shelf;

/* Why something is refused, where that is more than the class of the error says. */
typedef enum fnzi_reason {
  FNZI_REASON_NONE,
  FNZI_REASON_NO_ROUTE, /* eager does it, and the pass has no operators that do, or does not know */
  FNZI_REASON_DIALECT,  /* another dialect of the result has an operator for it */
  FNZI_REASON_SIZES,    /* a range, guard or traced size of the program excludes these sizes */
} fnzi_reason;

struct fnz_backend;

struct fnz_context {
  fnz_allocator allocator;
  fnz_error error;
  fnzi_reason reason; /* of the error */
  size_t live_bytes, peak_bytes;
  fnzi_limits limits;
  uint64_t hash_key[2];         /* of this context alone */
  bool sync_files;              /* fnz_context_set_sync() */
  int reading;                  /* fnz_context_set_reading() */
  struct fnzi_scope *operators; /* declared for this context (schema/custom.c); NULL for none */
  void (*end_operators)(fnz_context *ctx);
  struct fnzi_cuda_retained *held; /* GPUs that stay in use (engine/cuda/retain.c); NULL for none */
  void (*end_held)(fnz_context *ctx);
  struct fnz_generator *generator; /* of random operators (base/random.h); NULL for none */
  const struct fnz_collectives *collectives; /* <fnz/collectives.h>; NULL for none */
  fnzi_tasks own_tasks;                      /* of fnz_context_set_progress() */
  fnzi_tasks *tasks; /* own_tasks, or of the context that this context works for; NULL for none */
  struct {
    void *data;
    size_t bytes;
  } shelves[FNZI_SHELVES];
};

/* --- Failing ----------------------------------------------------------------------------------
 * `where` names the node, line, record or file; NULL or "" when there is none. The message is
 * lower case and without a period. Bytes that are not printable come out as '?'. Returns the
 * status of the class, so that `return fnzi_fail(...)` reads well. */
FNZI_SHARED fnz_status fnzi_fail(fnz_context *ctx, fnz_class kind, const char *where,
                                 const char *format, ...) FNZI_PRINTF(4, 5);
/* The same, with a reason. */
fnz_status fnzi_fail_for(fnz_context *ctx, fnzi_reason reason, fnz_class kind, const char *where,
                         const char *format, ...) FNZI_PRINTF(5, 6);
FNZI_SHARED void fnzi_report_no_memory(fnz_context *ctx);
/* Here, so that the compiler sees that it is a failure. */
static inline fnz_status fnzi_no_memory(fnz_context *ctx) {
  fnzi_report_no_memory(ctx);
  return FNZ_NO_MEMORY;
}
/* Gives the pending error a place if it has none yet; returns `status` unchanged. */
FNZI_SHARED fnz_status fnzi_at(fnz_context *ctx, fnz_status status, const char *format, ...)
    FNZI_PRINTF(3, 4);

/* No other attempt can succeed: the failure ends the call. */
static inline bool fnzi_is_final(fnz_status status) {
  return status == FNZ_NO_MEMORY || status == FNZ_CANCELLED;
}

/* --- Structures that begin with their size ---------------------------------------------------- */
/* <fnz/api.h>. A new field must not be in padding that the structure had at its end: an older
 * caller leaves garbage there. */
/* ARGUMENT when `given` says that it has 0 bytes, or more than `bytes`. NULL is allowed. */
FNZ_MUST_CHECK fnz_status fnzi_sized_check(fnz_context *ctx, const void *given, size_t bytes);
/* Copies the options that are given over `out`, `bytes` bytes which have the defaults. NULL leaves
 * these. */
FNZ_MUST_CHECK fnz_status fnzi_options_take(fnz_context *ctx, const void *given, size_t bytes,
                                            void *out);
/* The same without a context: false for what fails there. */
bool fnzi_options_copy(const void *given, size_t bytes, void *out);
/* ARGUMENT for a caller's backend that ends before the functions which every header has had. */
FNZ_MUST_CHECK fnz_status fnzi_backend_check(fnz_context *ctx, const struct fnz_backend *backend);
/* A function that a backend may leave out, as one made for an older header does. */
#define FNZI_BACKEND_HAS(backend, function)                                                        \
  ((backend)->size > offsetof(fnz_backend, function) && (backend)->function != NULL)
/* Fills the fields that the caller's report has, if there is one, which fnzi_sized_check() took. */
void fnzi_report_give(const void *report, void *out);

/* --- Single blocks ------------------------------------------------------------------------------
 * NULL means out of memory; the caller reports it with fnzi_no_memory(). Sizes must be passed again
 * when freeing. */
FNZI_SHARED void *fnzi_resize(fnz_context *ctx, void *p, size_t old_bytes, size_t new_bytes);
FNZI_SHARED void fnzi_free(fnz_context *ctx, void *p, size_t bytes);

/* The same block on each call, zeroed before the first: for tables over operators that
 * are filled in as they are needed. It holds only what follows from constant tables. */
FNZ_MUST_CHECK fnz_status fnzi_kept(fnz_context *ctx, fnzi_shelf shelf, size_t bytes, void **out);

/* Makes room for at least `want` elements of `size` bytes in a vector that grows by half. */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_grow(fnz_context *ctx, void **data, size_t *capacity,
                                                size_t want, size_t size);
/* Makes room for exactly `want` elements, once it is known how many there will be. */
FNZ_MUST_CHECK fnz_status fnzi_reserve(fnz_context *ctx, void **data, size_t *capacity, size_t want,
                                       size_t size);
#define FNZI_RESERVE(ctx, vec, want)                                                               \
  do {                                                                                             \
    void *reserve_data_ = (vec)->data;                                                             \
    fnz_status reserve_status_ =                                                                   \
        fnzi_reserve(ctx, &reserve_data_, &(vec)->capacity, want, sizeof *(vec)->data);            \
    (vec)->data = reserve_data_;                                                                   \
    FNZ_TRY(reserve_status_);                                                                      \
  } while (0)
/* Gives back what lies behind `count`. */
FNZ_MUST_CHECK fnz_status fnzi_trim(fnz_context *ctx, void **data, size_t *capacity, size_t count,
                                    size_t size);
#define FNZI_TRIM(ctx, vec)                                                                        \
  do {                                                                                             \
    void *trim_data_ = (vec)->data;                                                                \
    fnz_status trim_status_ =                                                                      \
        fnzi_trim(ctx, &trim_data_, &(vec)->capacity, (vec)->count, sizeof *(vec)->data);          \
    (vec)->data = trim_data_;                                                                      \
    FNZ_TRY(trim_status_);                                                                         \
  } while (0)
/* FNZI_PUSH(ctx, vec, item) appends to any struct { T *data; size_t count, capacity; }. */
#define FNZI_PUSH(ctx, vec, item)                                                                  \
  do {                                                                                             \
    if ((vec)->count == (vec)->capacity) {                                                         \
      void *push_data_ = (vec)->data;                                                              \
      FNZ_TRY(                                                                                     \
          fnzi_grow(ctx, &push_data_, &(vec)->capacity, (vec)->count + 1, sizeof *(vec)->data));   \
      (vec)->data = push_data_;                                                                    \
    }                                                                                              \
    (vec)->data[(vec)->count++] = (item);                                                          \
  } while (0)
#define FNZI_VEC_FREE(ctx, vec)                                                                    \
  (fnzi_free(ctx, (vec)->data, (vec)->capacity * sizeof *(vec)->data), (vec)->data = NULL,         \
   (vec)->count = (vec)->capacity = 0)

/* --- Sizes: false when the result leaves the type --------------------------------------------- */
static inline bool fnzi_mul_size(size_t a, size_t b, size_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}
static inline bool fnzi_add_size(size_t a, size_t b, size_t *out) {
  return !__builtin_add_overflow(a, b, out);
}
static inline bool fnzi_mul_i64(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}
static inline bool fnzi_add_i64(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_add_overflow(a, b, out);
}

/* --- Arena: many small things that end together --------------------------------------------------
 * Blocks are aligned to 16 bytes. Zero bytes give a valid pointer. */
typedef struct fnzi_arena {
  fnz_context *ctx;
  struct fnzi_chunk *chunks; /* newest first */
  size_t used, size;         /* of the newest chunk */
} fnzi_arena;

FNZI_SHARED void fnzi_arena_init(fnzi_arena *arena, fnz_context *ctx);
FNZI_SHARED void fnzi_arena_free(fnzi_arena *arena);
/* Forgets everything in it, but keeps one block for later requests. */
FNZI_SHARED void fnzi_arena_reset(fnzi_arena *arena);
/* Room for `bytes` at a multiple of 16 in the newest chunk, which is a new one. */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_arena_more(fnzi_arena *arena, size_t bytes);

/* So many bytes at a multiple of `align`, a power of 2 up to 16. */
FNZ_MUST_CHECK static inline fnz_status fnzi_arena_cut(fnzi_arena *arena, size_t bytes,
                                                       size_t align, void **out) {
  size_t start = (arena->used + align - 1) & ~(align - 1);
  *out = NULL;
  if (!arena->chunks || start > arena->size || bytes > arena->size - start) {
    FNZ_TRY(fnzi_arena_more(arena, bytes));
    start = arena->used;
  }
  *out = (char *)arena->chunks + start;
  arena->used = start + bytes;
  return FNZ_OK;
}
/* count * size bytes at a multiple of 16, not initialised: bytes may be elements of any type. */
FNZ_MUST_CHECK static inline fnz_status fnzi_arena_take(fnzi_arena *arena, size_t count,
                                                        size_t size, void **out) {
  size_t bytes;
  return fnzi_arena_cut(arena, fnzi_mul_size(count, size, &bytes) ? bytes : SIZE_MAX, 16, out);
}
/* The same, zeroed. */
FNZ_MUST_CHECK static inline fnz_status fnzi_arena_alloc(fnzi_arena *arena, size_t count,
                                                         size_t size, void **out) {
  FNZ_TRY(fnzi_arena_take(arena, count, size, out));
  if (count && size)
    memset(*out, 0, count * size);
  return FNZ_OK;
}
/* FNZI_NEW(arena, n, &p): p = n zeroed things of p's type. */
#define FNZI_NEW(arena, count, out)                                                                \
  do {                                                                                             \
    void *new_p_;                                                                                  \
    FNZ_TRY(fnzi_arena_alloc(arena, (size_t)(count), sizeof **(out), &new_p_));                    \
    *(out) = new_p_;                                                                               \
  } while (0)
/* A copy of `size` bytes with a zero byte behind. */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_arena_string(fnzi_arena *arena, const char *s,
                                                        size_t size, const char **out);
/* "a.b" */
FNZ_MUST_CHECK fnz_status fnzi_arena_dotted(fnzi_arena *arena, const char *a, const char *b,
                                            const char **out);
FNZ_MUST_CHECK fnz_status fnzi_arena_format(fnzi_arena *arena, const char **out, const char *format,
                                            ...) FNZI_PRINTF(3, 4);

/* --- Blocks: small ones that come and go ---------------------------------------------------------
 * A freed block is kept for the next one of its size; the memory ends with all of them. Large
 * blocks, and all of them under AddressSanitizer, which then sees who uses one too late, are the
 * allocator's. */
enum { FNZI_BLOCK_SIZES = 32 };

typedef struct fnzi_blocks {
  fnzi_arena arena;
  void *freed[FNZI_BLOCK_SIZES]; /* by size, 16 bytes apart; each has the next one in front */
} fnzi_blocks;

void fnzi_blocks_init(fnzi_blocks *blocks, fnz_context *ctx);
void fnzi_blocks_end(fnzi_blocks *blocks);
/* Not zeroed; NULL means out of memory, as with fnzi_resize(). */
void *fnzi_blocks_take(fnzi_blocks *blocks, size_t bytes);
void fnzi_blocks_give(fnzi_blocks *blocks, void *p, size_t bytes);

/* Files choose names, so what a name is hashed to is nothing that they can know: every context has
 * a key of its own. */
FNZI_SHARED uint64_t fnzi_hash(const fnz_context *ctx, const void *key, size_t size);

/* --- Map from a byte string to a number (uthash inside) ------------------------------------------
 * Keys are borrowed and must outlive the map: keep them in an arena. */
typedef struct fnzi_map {
  fnz_context *ctx;
  struct fnzi_map_entry *head;
} fnzi_map;

void fnzi_map_init(fnzi_map *map, fnz_context *ctx);
void fnzi_map_free(fnzi_map *map);
bool fnzi_map_get(const fnzi_map *map, const void *key, size_t size, uint64_t *out);
/* Sets or replaces. */
FNZ_MUST_CHECK fnz_status fnzi_map_set(fnzi_map *map, const void *key, size_t size, uint64_t value);

/* For a key that is looked up and then added: its hash, which is the same in all maps of a context,
 * is computed once. */
uint32_t fnzi_map_hash(const fnzi_map *map, const void *key, size_t size);
bool fnzi_map_find(const fnzi_map *map, uint32_t hash, const void *key, size_t size, uint64_t *out);
/* The key must not be in the map. */
FNZ_MUST_CHECK fnz_status fnzi_map_add(fnzi_map *map, uint32_t hash, const void *key, size_t size,
                                       uint64_t value);

/* --- Output buffer ---------------------------------------------------------------------------- */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_put(fnz_context *ctx, fnz_buffer *b, const void *data,
                                               size_t size);
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_put_text(fnz_context *ctx, fnz_buffer *b,
                                                    const char *text);
FNZ_MUST_CHECK fnz_status fnzi_put_int(fnz_context *ctx, fnz_buffer *b, int64_t value);
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_printf(fnz_context *ctx, fnz_buffer *b,
                                                  const char *format, ...) FNZI_PRINTF(3, 4);

/* --- Text -------------------------------------------------------------------------------------
 * Of ASCII, whatever the locale. */
static inline bool fnzi_is_digit(char c) {
  return c >= '0' && c <= '9';
}
static inline bool fnzi_is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
static inline bool fnzi_starts_with(const char *text, const char *start) {
  return strncmp(text, start, strlen(start)) == 0;
}
static inline bool fnzi_ends_with(const char *text, const char *end) {
  size_t size = strlen(text), tail = strlen(end);
  return size >= tail && strcmp(text + size - tail, end) == 0;
}
/* Either may be NULL. */
static inline bool fnzi_same_text(const char *a, const char *b) {
  return a == b || (a && b && strcmp(a, b) == 0);
}

/* Valid UTF-8 without surrogates and beyond-range code points (RFC 3629)? */
bool fnzi_is_utf8(const char *s, size_t size);
/* Decimal digits, with a minus in front of them, and a zero byte behind; how many without it. Many
 * times faster than printing. */
enum { FNZI_INT_TEXT = 21 };
size_t fnzi_int_text(int64_t value, char out[FNZI_INT_TEXT]);
/* The shortest decimal text that reads back as the same double; "inf", "-inf", "nan" for those.
 * Always differs from the text of an integer ("1.0"). `out` has room for 32 bytes. */
void fnzi_double_text(double value, char out[32]);

#endif
