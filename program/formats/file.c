/* file.c - whole files into memory: read, or mapped.
 *
 * Only regular files are touched: a pipe, device or folder where a file should be is an error, and
 * so is a file whose length changes while it is read. */
#include "base/remedy.h"
#include "program/formats/foreign.h"
#include "program/mapping.h"
#include "program/program.h"

#include <fnz/formats.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

fnz_status fnzi_file_error(fnz_context *ctx, const char *path, const char *what) {
  const char *remedy = strstr(path, ":/"
                                    "/")
                           ? "; this is a URL: download it, and name the file"
                           : fnzi_errno_remedy(errno);
  return fnzi_fail(ctx, FNZ_CLASS_IO, path, "%s: %s%s", what, strerror(errno), remedy);
}

fnz_status fnzi_file_failed(fnz_context *ctx, const char *path, fnz_status status) {
  fnz_error *error = &ctx->error;
  if (status != FNZ_OK && !*error->where && strcmp(path, "-") != 0)
    snprintf(error->where, sizeof error->where, "%s", path);
  return status;
}

/* --- reading ---------------------------------------------------------------------------------- */
static fnz_status read_some(fnz_context *ctx, int fd, const char *path, char *out, size_t size,
                            size_t *got) {
  ssize_t n;
  do
    n = read(fd, out, size);
  while (n < 0 && errno == EINTR);
  *got = n > 0 ? (size_t)n : 0;
  return n < 0 ? fnzi_file_error(ctx, path, "cannot read") : FNZ_OK;
}

static fnz_status grow(fnz_context *ctx, fnz_buffer *out, size_t want) {
  void *data = out->data;
  FNZ_TRY(fnzi_grow(ctx, &data, &out->capacity, want, 1));
  out->data = data;
  return FNZ_OK;
}

static fnz_status read_stream(fnz_context *ctx, int fd, const char *path, fnzi_look *look,
                              fnz_buffer *out) {
  enum { STEP = 1 << 16 };
  bool seen = false;
  size_t got;
  do {
    FNZ_TRY(fnzi_task_look(ctx));
    FNZ_TRY(grow(ctx, out, out->size + STEP + 1));
    FNZ_TRY(read_some(ctx, fd, path, out->data + out->size, STEP, &got));
    out->size += got;
    if (!seen && (out->size >= FNZI_HEAD || !got)) {
      /* A stream has no end that is known before. */
      size_t size = out->size < FNZI_HEAD ? out->size : FNZI_HEAD;
      if (look)
        FNZ_TRY(look(ctx, &(fnzi_foreign_seen){out->data, size, out->size, -1}));
    }
    seen = seen || out->size >= FNZI_HEAD;
  } while (got);
  out->data[out->size] = 0;
  return FNZ_OK;
}

/* All pages at once cost less than one by one. A hint: nothing depends on what becomes of it. */
static void expect_to_fill(char *data, size_t size) {
#ifdef MADV_POPULATE_WRITE
  enum { PAGE = 4096, MANY = 1 << 18 };
  size_t skip = (PAGE - (uintptr_t)data % PAGE) % PAGE;
  size_t pages = size > skip ? (size - skip) / PAGE * PAGE : 0;
  if (size >= MANY)
    (void)madvise(data + skip, pages, MADV_POPULATE_WRITE);
#else
  (void)data, (void)size;
#endif
}

static fnz_status file_changed(fnz_context *ctx, const char *path) {
  return fnzi_fail(ctx, FNZ_CLASS_IO, path, "the file changed while it was read");
}

/* The zero byte's place first takes one byte too many, should the file have grown. */
static fnz_status read_exactly(fnz_context *ctx, int fd, const char *path, size_t size,
                               fnz_buffer *out) {
  size_t got;
  out->capacity = size + 1;
  out->data = fnzi_resize(ctx, NULL, 0, out->capacity);
  if (!out->data)
    return out->capacity = 0, fnzi_no_memory(ctx);
  expect_to_fill(out->data, size);
  do {
    const size_t left = out->capacity - out->size;
    FNZ_TRY(fnzi_task_at(ctx, out->size));
    FNZ_TRY(read_some(ctx, fd, path, out->data + out->size,
                      left < FNZI_TASK_BYTES ? left : FNZI_TASK_BYTES, &got));
    out->size += got;
  } while (got && out->size <= size);
  if (out->size != size)
    return file_changed(ctx, path);
  out->data[size] = 0;
  return FNZ_OK;
}

/* The first bytes, which are read once more with all of them. */
static fnz_status look_first(fnz_context *ctx, int fd, const char *path, fnzi_look *look,
                             uint64_t total) {
  char head[FNZI_HEAD];
  size_t got = 0;
  FNZ_TRY(read_some(ctx, fd, path, head, sizeof head, &got));
  if (lseek(fd, 0, SEEK_SET) != 0)
    return fnzi_file_error(ctx, path, "cannot read");
  if (got > total)
    return file_changed(ctx, path);
  return look(ctx, &(fnzi_foreign_seen){head, got, total, fd});
}

fnz_status fnzi_seen_read(fnz_context *ctx, const fnzi_foreign_seen *seen, uint64_t at, size_t size,
                          fnz_buffer *out) {
  ssize_t n = 1;
  out->size = 0;
  FNZ_TRY(grow(ctx, out, size));
  while (out->size < size && n) {
    n = pread(seen->fd, out->data + out->size, size - out->size, (off_t)(at + out->size));
    if (n < 0 && errno != EINTR)
      return FNZ_OK;
    out->size += n > 0 ? (size_t)n : 0;
  }
  return FNZ_OK;
}

static fnz_status check_size(fnz_context *ctx, const char *path, uint64_t size, uint64_t want) {
  if (want == FNZI_ANY_SIZE || size == want)
    return FNZ_OK;
  return fnzi_fail(ctx, size < want ? FNZ_CLASS_TRUNCATED : FNZ_CLASS_REF, path,
                   "a file of %llu bytes, and the program wants one of %llu",
                   (unsigned long long)size, (unsigned long long)want);
}

static fnz_status check_regular(fnz_context *ctx, int fd, const char *path, struct stat *st) {
  if (fstat(fd, st) != 0)
    return fnzi_file_error(ctx, path, "cannot look at the file");
  if (S_ISREG(st->st_mode))
    return FNZ_OK;
  return fnzi_fail(ctx, FNZ_CLASS_IO, path, "not a regular file; %s",
                   S_ISDIR(st->st_mode) ? "it is a folder; name a file in it"
                                        : "use \"-\" for a pipe");
}

static fnz_status read_regular(fnz_context *ctx, int fd, const char *path, fnzi_look *look,
                               uint64_t want, fnz_buffer *out) {
  struct stat st;
  FNZ_TRY(check_regular(ctx, fd, path, &st));
  FNZ_TRY(check_size(ctx, path, (uint64_t)st.st_size, want));
  if (look)
    FNZ_TRY(look_first(ctx, fd, path, look, (uint64_t)st.st_size));
  fnzi_task_begin(ctx, "read", "bytes", (uint64_t)st.st_size);
  return fnzi_task_end(ctx, read_exactly(ctx, fd, path, (size_t)st.st_size, out));
}

/* O_NONBLOCK: opening a pipe without a writer must fail later, not hang here. */
static int open_to_read(const char *path) {
  return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

static fnz_status read_path(fnz_context *ctx, const char *path, fnzi_look *look, uint64_t want,
                            fnz_buffer *out) {
  *out = (fnz_buffer){NULL, 0, 0};
  bool is_stdin = strcmp(path, "-") == 0;
  int fd = is_stdin ? STDIN_FILENO : open_to_read(path);
  if (fd < 0)
    return fnzi_file_error(ctx, path, "cannot open");
  fnz_status status = is_stdin ? read_stream(ctx, fd, "standard input", look, out)
                               : read_regular(ctx, fd, path, look, want, out);
  if (!is_stdin)
    close(fd);
  if (status != FNZ_OK)
    fnz_buffer_free(ctx, out);
  return status;
}

fnz_status fnzi_file_read(fnz_context *ctx, const char *path, fnzi_look *look, fnz_buffer *out) {
  return read_path(ctx, path, look, FNZI_ANY_SIZE, out);
}

/* --- mapping ---------------------------------------------------------------------------------- */
/* Reading a smaller file costs no more than mapping it, and a call of its program costs less
 * without a look at the file. */
enum { FNZI_LEAST_MAPPED = 1 << 20 };

/* *out stays NULL if the file must be read: it is small, or its file system has no mappings. The
 * mapping has the descriptor then. */
static fnz_status map_regular(fnz_context *ctx, int fd, const char *path, fnzi_look *look,
                              uint64_t want, fnzi_mapping **out) {
  struct stat st;
  FNZ_TRY(check_regular(ctx, fd, path, &st));
  FNZ_TRY(check_size(ctx, path, (uint64_t)st.st_size, want));
  size_t size = (size_t)st.st_size;
  if (size < FNZI_LEAST_MAPPED || size > SIZE_MAX / 2)
    return FNZ_OK;
  if (look)
    FNZ_TRY(look_first(ctx, fd, path, look, size));
  return fnzi_mapping_open(ctx, fd, path, &st, out);
}

fnz_status fnzi_file_blob(fnz_context *ctx, const char *path, fnzi_look *look, uint64_t want,
                          fnzi_blob **out) {
  fnz_buffer bytes;
  *out = NULL;
  if (ctx->reading != FNZ_READING_COPY && strcmp(path, "-") != 0) {
    int fd = open_to_read(path);
    if (fd < 0)
      return fnzi_file_error(ctx, path, "cannot open");
    fnzi_mapping *mapping = NULL;
    fnz_status status = map_regular(ctx, fd, path, look, want, &mapping);
    if (mapping)
      return fnzi_blob_take_mapping(ctx, mapping, out);
    close(fd);
    FNZ_TRY(status);
  }
  FNZ_TRY(read_path(ctx, path, look, want, &bytes));
  return fnzi_blob_take(ctx, &bytes, out);
}

fnz_status fnzi_file_look(fnz_context *ctx, const char *path, fnzi_look *look) {
  struct stat st;
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) /* the writer reports the error, unless the file does not exist */
    return FNZ_OK;
  fnz_status status = FNZ_OK;
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
    status = look_first(ctx, fd, path, look, (uint64_t)st.st_size);
  close(fd);
  return status;
}

fnz_status fnz_file_read(fnz_context *ctx, const char *path, fnz_buffer *out) {
  return fnzi_file_read(ctx, path, NULL, out);
}
