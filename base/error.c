/* error.c - contexts, and the one place where an error message is written. */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(__has_include)
#if __has_include(<sys/random.h>)
#include <sys/random.h>
#endif
#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif
#endif
#ifdef GRND_NONBLOCK
#define FNZI_HAS_GETRANDOM 1
#else
#define FNZI_HAS_GETRANDOM 0
#endif

static const struct {
  const char *name;
  fnz_status status;
} classes[FNZ_CLASS_COUNT] = {
#define FNZ_CLASS_TABLE(name, status) {#name, status},
    FNZ_CLASS_ROWS(FNZ_CLASS_TABLE)
#undef FNZ_CLASS_TABLE
};

const char *fnz_class_name(fnz_class c) {
  return (unsigned)c < FNZ_CLASS_COUNT ? classes[c].name : "?";
}

#define TEXT(number)                 #number
#define VERSION(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

const char *fnz_version(void) {
  return VERSION(FNZ_VERSION_MAJOR, FNZ_VERSION_MINOR, FNZ_VERSION_PATCH);
}

/* The SONAME has the major and the minor version. */
_Static_assert(FNZ_ABI_VERSION / 1000 == 1000 * FNZ_VERSION_MAJOR + FNZ_VERSION_MINOR,
               "FNZ_ABI_VERSION names another SONAME than the version");

unsigned fnz_abi_version(void) {
  return FNZ_ABI_VERSION;
}

/* Weights and values that are read in each run miss fewer addresses in large pages. A hint, for all
 * pages that have a part of the block: they exist. */
static void ask_for_large_pages(void *p, size_t bytes) {
#ifdef MADV_HUGEPAGE
  enum { PAGE = 4096, LARGE = 1 << 22 };
  const size_t before = (uintptr_t)p % PAGE;
  if (bytes >= LARGE)
    (void)madvise((char *)p - before, (before + bytes + PAGE - 1) / PAGE * PAGE, MADV_HUGEPAGE);
#else
  (void)p, (void)bytes;
#endif
}

static void *libc_resize(void *user, void *p, size_t old_bytes, size_t new_bytes) {
  (void)user;
  (void)old_bytes;
  if (new_bytes) {
    p = p ? realloc(p, new_bytes) : malloc(new_bytes); /* realloc of nothing takes longer */
    if (p)
      ask_for_large_pages(p, new_bytes);
    return p;
  }
  free(p);
  return NULL;
}

/* Bytes that cannot be guessed; false where the system gives none. It is not waited for. */
static bool draw_bytes(void *out, size_t size) {
#if FNZI_HAS_GETRANDOM
  return getrandom(out, size, GRND_NONBLOCK) == (ssize_t)size;
#else
  (void)out;
  (void)size;
  return false;
#endif
}

fnz_status fnz_context_create(const fnz_allocator *allocator, fnz_context **out) {
  fnz_allocator a = allocator ? *allocator : (fnz_allocator){libc_resize, NULL};
  fnz_context *ctx = a.resize(a.user, NULL, 0, sizeof *ctx);
  *out = ctx;
  if (!ctx)
    return FNZ_NO_MEMORY;
  *ctx = (fnz_context){.allocator = a,
#define LIMIT_USUAL(name, usual) .limits.name = usual,
                       FNZI_LIMIT_ROWS(LIMIT_USUAL)
#undef LIMIT_USUAL
  };
  /* Files choose names, and must not be able to choose such that all fall into one place of a map.
   * Nothing that is written depends on the key. */
  if (!draw_bytes(ctx->hash_key, sizeof ctx->hash_key)) {
    /* A process may be forbidden to ask, a system may be just starting: then a clock and where
     * things lie must do, which no file can know either. */
    struct timespec now = {0};
    (void)timespec_get(&now, TIME_UTC);
    uint64_t h = (uint64_t)(uintptr_t)ctx ^ (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec;
    for (int i = 0; i < 2; i++) {
      h = (h ^ h >> 31) * 0x9e3779b97f4a7c15u;
      h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
      ctx->hash_key[i] = h ^ h >> 32;
    }
  }
  return FNZ_OK;
}

void fnz_context_destroy(fnz_context *ctx) {
  if (!ctx)
    return;
  if (ctx->operators)
    ctx->end_operators(ctx);
  if (ctx->held)
    ctx->end_held(ctx);
  fnz_allocator a = ctx->allocator;
  for (size_t i = 0; i < FNZI_SHELVES; i++)
    if (ctx->shelves[i].data)
      a.resize(a.user, ctx->shelves[i].data, ctx->shelves[i].bytes, 0);
  a.resize(a.user, ctx, sizeof *ctx, 0);
}

const fnz_error *fnz_last_error(const fnz_context *ctx) {
  return &ctx->error;
}

void fnz_context_set_sync(fnz_context *ctx, bool sync) {
  ctx->sync_files = sync;
}

size_t fnz_context_peak_bytes(const fnz_context *ctx) {
  return ctx->peak_bytes;
}

/* Files decide what names are in a message; a terminal must not have to trust them. */
static void make_printable(char *s) {
  for (; *s; s++)
    if ((unsigned char)*s < 0x20 || *s == 0x7f)
      *s = '?';
}

static void set_where(fnz_error *e, const char *where) {
  snprintf(e->where, sizeof e->where, "%s", where ? where : "");
  make_printable(e->where);
}

static fnz_status fail(fnz_context *ctx, fnz_class kind, const char *where, const char *format,
                       va_list args) FNZI_PRINTF(4, 0);
static fnz_status fail(fnz_context *ctx, fnz_class kind, const char *where, const char *format,
                       va_list args) {
  fnz_error *e = &ctx->error;
  e->kind = kind;
  e->status = classes[kind].status;
  set_where(e, where);
  vsnprintf(e->message, sizeof e->message, format, args);
  make_printable(e->message);
  ctx->reason = FNZI_REASON_NONE;
  return e->status;
}

fnz_status fnzi_fail(fnz_context *ctx, fnz_class kind, const char *where, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fnz_status status = fail(ctx, kind, where, format, args);
  va_end(args);
  return status;
}

fnz_status fnzi_fail_for(fnz_context *ctx, fnzi_reason reason, fnz_class kind, const char *where,
                         const char *format, ...) {
  va_list args;
  va_start(args, format);
  fnz_status status = fail(ctx, kind, where, format, args);
  va_end(args);
  ctx->reason = reason;
  return status;
}

void fnzi_report_no_memory(fnz_context *ctx) {
  fnzi_fail(ctx, FNZ_CLASS_NOMEM, NULL, "out of memory");
}

fnz_status fnzi_at(fnz_context *ctx, fnz_status status, const char *format, ...) {
  if (status == FNZ_OK || ctx->error.where[0])
    return status;
  char where[sizeof ctx->error.where];
  va_list args;
  va_start(args, format);
  vsnprintf(where, sizeof where, format, args);
  va_end(args);
  set_where(&ctx->error, where);
  return status;
}
