/* file.c - whole files into memory, and out of it so that they appear whole or not at all.
 *
 * Only regular files are touched: a pipe, device or folder where a file should be is an error, and
 * so is a file whose length changes while it is read. Writing goes to a new file without a name in
 * the target's folder, which takes its place only after every byte is on the disk; whatever fails
 * before, or kills the process, leaves the target as it was and nothing beside it. Where there are
 * no files without names, the new file has one of its own. */
#include "program/formats/foreign.h"
#include "program/formats/out.h"

#include <fnz/formats.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#if defined __linux__ && !defined O_TMPFILE
#error "built without _GNU_SOURCE: files would have names before they are whole"
#endif

static fnz_status io_error(fnz_context *ctx, const char *path, const char *what) {
  return fnzi_fail(ctx, FNZ_CLASS_IO, path, "%s: %s", what, strerror(errno));
}

/* --- reading -----------------------------------------------------------------------------------
 */
static fnz_status read_some(fnz_context *ctx, int fd, const char *path, char *out, size_t size,
                            size_t *got) {
  ssize_t n;
  do
    n = read(fd, out, size);
  while (n < 0 && errno == EINTR);
  *got = n > 0 ? (size_t)n : 0;
  return n < 0 ? io_error(ctx, path, "cannot read") : FNZ_OK;
}

static fnz_status make_room(fnz_context *ctx, fnz_buffer *out, size_t want) {
  void *data = out->data;
  FNZ_TRY(fnzi_grow(ctx, &data, &out->capacity, want, 1));
  out->data = data;
  return FNZ_OK;
}

/* A stream has no end that is known before. */
static fnz_status look_at(fnz_context *ctx, fnzi_look *look, const fnz_buffer *seen) {
  size_t size = seen->size < FNZI_HEAD ? seen->size : FNZI_HEAD;
  return look ? look(ctx, &(fnzi_foreign_seen){seen->data, size, seen->size, -1}) : FNZ_OK;
}

static fnz_status read_stream(fnz_context *ctx, int fd, const char *path, fnzi_look *look,
                              fnz_buffer *out) {
  enum { STEP = 1 << 16 };
  bool seen = false;
  size_t got;
  do {
    FNZ_TRY(make_room(ctx, out, out->size + STEP + 1));
    FNZ_TRY(read_some(ctx, fd, path, out->data + out->size, STEP, &got));
    out->size += got;
    if (!seen && (out->size >= FNZI_HEAD || !got))
      FNZ_TRY(look_at(ctx, look, out));
    seen = seen || out->size >= FNZI_HEAD;
  } while (got);
  out->data[out->size] = 0;
  return FNZ_OK;
}

/* All pages at once cost less than one by one, and large ones less still. Hints: nothing depends on
 * what becomes of them. */
static void expect_to_fill(char *data, size_t size) {
#if defined MADV_HUGEPAGE && defined MADV_POPULATE_WRITE
  enum { PAGE = 4096, MANY = 1 << 18, LARGE = 1 << 22 };
  size_t skip = (PAGE - (uintptr_t)data % PAGE) % PAGE;
  size_t pages = size > skip ? (size - skip) / PAGE * PAGE : 0;
  if (size >= LARGE)
    (void)madvise(data + skip, pages, MADV_HUGEPAGE);
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
    FNZ_TRY(read_some(ctx, fd, path, out->data + out->size, out->capacity - out->size, &got));
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
    return io_error(ctx, path, "cannot read");
  if (got > total)
    return file_changed(ctx, path);
  return look(ctx, &(fnzi_foreign_seen){head, got, total, fd});
}

fnz_status fnzi_seen_read(fnz_context *ctx, const fnzi_foreign_seen *seen, uint64_t at, size_t size,
                          fnz_buffer *out) {
  ssize_t n = 1;
  out->size = 0;
  FNZ_TRY(make_room(ctx, out, size));
  while (out->size < size && n) {
    n = pread(seen->fd, out->data + out->size, size - out->size, (off_t)(at + out->size));
    if (n < 0 && errno != EINTR)
      return FNZ_OK;
    out->size += n > 0 ? (size_t)n : 0;
  }
  return FNZ_OK;
}

static fnz_status read_regular(fnz_context *ctx, int fd, const char *path, fnzi_look *look,
                               fnz_buffer *out) {
  struct stat st;
  if (fstat(fd, &st) != 0)
    return io_error(ctx, path, "cannot look at the file");
  if (!S_ISREG(st.st_mode))
    return fnzi_fail(ctx, FNZ_CLASS_IO, path, "not a regular file; %s",
                     S_ISDIR(st.st_mode) ? "it is a folder; name a file in it"
                                         : "use \"-\" for a pipe");
  if (look)
    FNZ_TRY(look_first(ctx, fd, path, look, (uint64_t)st.st_size));
  return read_exactly(ctx, fd, path, (size_t)st.st_size, out);
}

fnz_status fnzi_file_read(fnz_context *ctx, const char *path, fnzi_look *look, fnz_buffer *out) {
  *out = (fnz_buffer){NULL, 0, 0};
  bool is_stdin = strcmp(path, "-") == 0;
  /* O_NONBLOCK: opening a pipe that nobody writes must fail later, not hang here. */
  int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0)
    return io_error(ctx, path, "cannot open");
  fnz_status status = is_stdin ? read_stream(ctx, fd, "standard input", look, out)
                               : read_regular(ctx, fd, path, look, out);
  if (!is_stdin)
    close(fd);
  if (status != FNZ_OK)
    fnz_buffer_free(ctx, out);
  return status;
}

fnz_status fnz_file_read(fnz_context *ctx, const char *path, fnz_buffer *out) {
  return fnzi_file_read(ctx, path, NULL, out);
}

/* --- writing -----------------------------------------------------------------------------------
 */
/* What is written: `bytes`, and the pieces between them. */
typedef struct content {
  const char *bytes;
  size_t size;
  const fnzi_out_pieces *pieces; /* NULL: none */
} content;

static void advance(struct iovec *parts, int count, size_t written) {
  for (int i = 0; i < count; i++) {
    size_t n = written < parts[i].iov_len ? written : parts[i].iov_len;
    parts[i].iov_base = (char *)parts[i].iov_base + n;
    parts[i].iov_len -= n;
    written -= n;
  }
}

static fnz_status write_parts(fnz_context *ctx, int fd, const char *path, struct iovec *parts,
                              int count) {
  while (count) {
    if (!parts->iov_len) {
      parts++;
      count--;
      continue;
    }
    ssize_t n = writev(fd, parts, count);
    if (n < 0 && errno == EINTR)
      continue;
    if (n == 0) /* it would never end */
      return fnzi_fail(ctx, FNZ_CLASS_IO, path, "cannot write: nothing is taken");
    if (n < 0)
      return io_error(ctx, path, "cannot write");
    advance(parts, count, (size_t)n);
  }
  return FNZ_OK;
}

static struct iovec part(const void *bytes, size_t size) {
  return (struct iovec){(void *)(uintptr_t)bytes, size};
}

static fnz_status write_content(fnz_context *ctx, int fd, const char *path, const content *c) {
  enum { PARTS = 64 };
  struct iovec parts[PARTS];
  size_t at = 0, npieces = c->pieces ? c->pieces->count : 0;
  int count = 0;
  for (size_t i = 0; i < npieces; i++) {
    const fnzi_out_piece *piece = &c->pieces->data[i];
    parts[count++] = part(c->bytes + at, piece->at - at);
    parts[count++] = part(piece->data, piece->size);
    at = piece->at;
    if (count + 2 > PARTS) {
      FNZ_TRY(write_parts(ctx, fd, path, parts, count));
      count = 0;
    }
  }
  parts[count++] = part(c->bytes + at, c->size - at);
  return write_parts(ctx, fd, path, parts, count);
}

/* Where bytes go. */
typedef struct target {
  fnzi_arena *arena;
  const content *content;
  const char *path, *folder, *temp; /* temp: beside the path */
  const char *old;                  /* of several: a second name of what was there; NULL */
  bool is_beside, placed;           /* of several: how far it is */
  bool exists;
  mode_t mode; /* of what exists */
} target;

static fnz_status find_folder(target *t) {
  const char *slash = strrchr(t->path, '/');
  t->folder = ".";
  if (!slash)
    return FNZ_OK;
  size_t size = slash == t->path ? 1 : (size_t)(slash - t->path);
  return fnzi_arena_string(t->arena, t->path, size, &t->folder);
}

/* A file appears whole because another one takes its place: what is no file would be gone. */
static fnz_status refuse_target(const target *t, mode_t mode) {
  const char *why = S_ISLNK(mode)   ? "it is a symbolic link; name the file that it points to"
                    : S_ISDIR(mode) ? "it is a folder; name a file in it"
                                    : "it is no regular file; write to - and redirect that";
  return fnzi_fail(t->arena->ctx, FNZ_CLASS_IO, t->path, "%s", why);
}

static fnz_status check_folder(const target *t) {
  fnz_context *ctx = t->arena->ctx;
  struct stat st;
  if (stat(t->folder, &st) == 0)
    return S_ISDIR(st.st_mode)
               ? FNZ_OK
               : fnzi_fail(ctx, FNZ_CLASS_IO, t->path, "%s is no folder", t->folder);
  return errno == ENOENT ? fnzi_fail(ctx, FNZ_CLASS_IO, t->path,
                                     "there is no folder %s; make it first", t->folder)
                         : io_error(ctx, t->folder, "cannot look at the folder");
}

/* What is there must be a file, whose mode is kept, or nothing. */
static fnz_status check_target(target *t) {
  fnz_context *ctx = t->arena->ctx;
  struct stat st;
  t->exists = lstat(t->path, &st) == 0;
  t->mode = t->exists ? st.st_mode & 07777 : 0;
  if (!t->exists)
    return errno == ENOENT ? FNZ_OK : io_error(ctx, t->path, "cannot look at the file");
  return S_ISREG(st.st_mode) ? FNZ_OK : refuse_target(t, st.st_mode);
}

static fnz_status fill(const target *t, int fd) {
  fnz_context *ctx = t->arena->ctx;
  FNZ_TRY(write_content(ctx, fd, t->path, t->content));
  if (t->exists && fchmod(fd, t->mode) != 0)
    return io_error(ctx, t->path, "cannot set the mode");
  return fsync(fd) == 0 ? FNZ_OK : io_error(ctx, t->path, "cannot bring the file to the disk");
}

/* Names are tried in turn: another process, or one that died, may have taken some. False with errno
 * when the name could not be taken. */
typedef bool taker(const char *name, int *fd);

static fnz_status take_name(target *t, taker *take, int *fd, bool *taken) {
  *taken = false;
  for (int attempt = 0; attempt < 100 && !*taken; attempt++) {
    FNZ_TRY(
        fnzi_arena_format(t->arena, &t->temp, "%s.%ld-%d.tmp", t->path, (long)getpid(), attempt));
    *taken = take(t->temp, fd);
    if (!*taken && errno != EEXIST)
      break;
  }
  return FNZ_OK;
}

/* The file beside the target becomes the target. */
static fnz_status move_over(const target *t) {
  if (rename(t->temp, t->path) == 0)
    return FNZ_OK;
  fnz_status status = io_error(t->arena->ctx, t->path, "cannot put the file in place");
  unlink(t->temp);
  return status;
}

/* --- without a name ------------------------------------------------------------------------------
 */
/* Below 0 where this system, or the folder's, has no such files. */
static int open_unnamed(const char *folder) {
#ifdef O_TMPFILE
  return open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
#else
  (void)folder;
  return -1;
#endif
}

static bool give_name(const char *name, int *fd) {
  char own[40];
  snprintf(own, sizeof own, "/proc/self/fd/%d", *fd);
  return linkat(AT_FDCWD, own, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
}

/* *placed is false when the file cannot be given a name, as without /proc. */
static fnz_status place_unnamed(target *t, int fd, bool *placed) {
  FNZ_TRY(fill(t, fd));
  *placed = !t->exists && give_name(t->path, &fd);
  if (*placed)
    return FNZ_OK;
  FNZ_TRY(take_name(t, give_name, &fd, placed));
  return *placed ? move_over(t) : FNZ_OK;
}

static fnz_status write_unnamed(target *t, bool *placed) {
  int fd = open_unnamed(t->folder);
  *placed = false;
  if (fd < 0)
    return FNZ_OK;
  fnz_status status = place_unnamed(t, fd, placed);
  close(fd); /* what it could say fsync has said */
  return status;
}

/* --- with one ------------------------------------------------------------------------------------
 */
static bool open_temporary(const char *name, int *fd) {
  *fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  return *fd >= 0;
}

/* The file beside the target, whole and on the disk; nothing is left after a failure. */
static fnz_status write_beside(target *t, bool *taken) {
  int fd = -1;
  FNZ_TRY(take_name(t, open_temporary, &fd, taken));
  if (!*taken)
    return io_error(t->arena->ctx, t->path, "cannot make a file beside it");
  fnz_status status = fill(t, fd);
  if (close(fd) != 0 && status == FNZ_OK)
    status = io_error(t->arena->ctx, t->path, "cannot write");
  if (status != FNZ_OK)
    unlink(t->temp);
  *taken = status == FNZ_OK;
  return status;
}

static fnz_status write_named(target *t) {
  bool taken;
  FNZ_TRY(write_beside(t, &taken));
  return move_over(t);
}

/* A new name lasts only when the folder is on the disk too. */
static fnz_status sync_folder(const target *t) {
  int fd = open(t->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return io_error(t->arena->ctx, t->folder, "cannot open the folder");
  int result = fsync(fd);
  int error = errno;
  close(fd);
  errno = error;
  /* EINVAL: a file system that has nothing to sync. */
  return result == 0 || error == EINVAL
             ? FNZ_OK
             : io_error(t->arena->ctx, t->folder, "cannot sync the folder");
}

static fnz_status find_target(target *t) {
  FNZ_TRY(find_folder(t));
  FNZ_TRY(check_folder(t));
  return check_target(t);
}

static fnz_status replace(target *t) {
  bool placed;
  FNZ_TRY(find_target(t));
  FNZ_TRY(write_unnamed(t, &placed));
  if (!placed)
    FNZ_TRY(write_named(t));
  return sync_folder(t);
}

static fnz_status write_file(fnz_context *ctx, const char *path, const content *c) {
  if (strcmp(path, "-") == 0)
    return write_content(ctx, STDOUT_FILENO, "standard output", c);
  fnzi_arena arena;
  fnzi_arena_init(&arena, ctx);
  target t = {.arena = &arena, .content = c, .path = path};
  fnz_status status = replace(&t);
  fnzi_arena_free(&arena);
  return status;
}

fnz_status fnz_file_write(fnz_context *ctx, const char *path, const void *bytes, size_t size) {
  return write_file(ctx, path, &(content){bytes, size, NULL});
}

fnz_status fnzi_file_write(fnz_context *ctx, const char *path, const fnz_buffer *bytes,
                           const fnzi_out_pieces *pieces) {
  return write_file(ctx, path, &(content){bytes->data, bytes->size, pieces});
}

/* --- several files -------------------------------------------------------------------------------
 */
/* What is there keeps a second name, until all files are in place. */
static fnz_status keep_old(target *t) {
  bool kept = false;
  for (int attempt = 0; attempt < 100 && !kept; attempt++) {
    FNZ_TRY(
        fnzi_arena_format(t->arena, &t->old, "%s.%ld-%d.old", t->path, (long)getpid(), attempt));
    kept = link(t->path, t->old) == 0;
    if (!kept && errno != EEXIST)
      break;
  }
  if (kept)
    return FNZ_OK;
  t->old = NULL;
  return io_error(t->arena->ctx, t->path, "cannot keep what is there until all files are written");
}

static void put_back(const target *t) {
  if (!t->placed)
    return;
  if (t->old)
    (void)rename(t->old, t->path);
  else
    unlink(t->path);
}

static fnz_status place_all(target *targets, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (targets[i].exists)
      FNZ_TRY(keep_old(&targets[i]));
    targets[i].is_beside = false; /* move_over() takes it away also when it fails */
    FNZ_TRY(move_over(&targets[i]));
    targets[i].placed = true;
  }
  return FNZ_OK;
}

static fnz_status replace_all(target *targets, size_t count) {
  for (size_t i = 0; i < count; i++) {
    FNZ_TRY(find_target(&targets[i]));
    FNZ_TRY(write_beside(&targets[i], &targets[i].is_beside));
  }
  fnz_status status = place_all(targets, count);
  for (size_t i = 0; i < count; i++) {
    if (status != FNZ_OK)
      put_back(&targets[i]);
    if (targets[i].old)
      unlink(targets[i].old);
  }
  for (size_t i = 0; i < count && status == FNZ_OK; i++)
    status = sync_folder(&targets[i]);
  return status;
}

fnz_status fnzi_files_write(fnz_context *ctx, const fnzi_out_file *files, size_t count) {
  fnzi_arena arena;
  content contents[FNZI_MOST_FILES];
  target targets[FNZI_MOST_FILES];
  fnzi_arena_init(&arena, ctx);
  for (size_t i = 0; i < count; i++) {
    contents[i] = (content){files[i].bytes.data, files[i].bytes.size, &files[i].pieces};
    targets[i] = (target){.arena = &arena, .content = &contents[i], .path = files[i].path};
  }
  fnz_status status = replace_all(targets, count);
  for (size_t i = 0; i < count; i++)
    if (targets[i].is_beside)
      unlink(targets[i].temp);
  fnzi_arena_free(&arena);
  return status;
}
