/* file_write.c - writes files from memory, so that they appear whole or not at all.
 *
 * The bytes go to a new file without a name in the target's folder. It takes the target's place
 * only after every byte is written. A failure or a signal before that leaves the target as it was,
 * and nothing beside it. If the file system has no files without names, the new file has a name of
 * its own. If the machine may lose power, fnz_context_set_sync() makes the bytes reach the disk
 * first. */
#include "program/formats/foreign.h"
#include "program/formats/out.h"

#include <fnz/formats.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#if defined __linux__ && !defined O_TMPFILE
#error "built without _GNU_SOURCE: files would have names before they are whole"
#endif

/* The content of a file: `bytes`, and the pieces between them. */
typedef struct content {
  const char *bytes;
  size_t size;
  const fnzi_out_pieces *pieces; /* NULL: none */
} content;

/* The destination of bytes, and how many it has. */
typedef struct sink {
  fnz_context *ctx;
  int fd;
  const char *path;
  uint64_t written;
} sink;

static fnz_status write_parts(sink *to, struct iovec *parts, int count) {
  while (count) {
    if (!parts->iov_len) {
      parts++;
      count--;
      continue;
    }
    FNZ_TRY(fnzi_task_at(to->ctx, to->written));
    /* One call does not take more than FNZI_TASK_BYTES of a long part, so that the caller hears of
     * each. */
    int taken = 0;
    while (taken < count && parts[taken].iov_len <= FNZI_TASK_BYTES)
      taken++;
    ssize_t n =
        taken ? writev(to->fd, parts, taken) : write(to->fd, parts->iov_base, FNZI_TASK_BYTES);
    if (n < 0 && errno == EINTR)
      continue;
    if (n == 0) /* it would never end */
      return fnzi_fail(to->ctx, FNZ_CLASS_IO, to->path, "cannot write: nothing is taken");
    if (n < 0)
      return fnzi_file_error(to->ctx, to->path, "cannot write");
    size_t left = (size_t)n;
    for (int i = 0; i < count; i++) {
      size_t part = left < parts[i].iov_len ? left : parts[i].iov_len;
      parts[i].iov_base = (char *)parts[i].iov_base + part;
      parts[i].iov_len -= part;
      left -= part;
    }
    to->written += (uint64_t)n;
  }
  return FNZ_OK;
}

static struct iovec part(const void *bytes, size_t size) {
  return (struct iovec){(void *)(uintptr_t)bytes, size};
}

static fnz_status write_all(sink *to, const content *c) {
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
      FNZ_TRY(write_parts(to, parts, count));
      count = 0;
    }
  }
  parts[count++] = part(c->bytes + at, c->size - at);
  return write_parts(to, parts, count);
}

static fnz_status write_content(fnz_context *ctx, int fd, const char *path, const content *c) {
  sink to = {.ctx = ctx, .fd = fd, .path = path};
  fnzi_task_begin(ctx, "write", "bytes", c->size + (c->pieces ? c->pieces->bytes : 0));
  return fnzi_task_end(ctx, write_all(&to, c));
}

/* The destination of a write. */
typedef struct target {
  fnzi_arena *arena;
  const content *content;
  const char *path, *folder, *temp; /* temp: beside the path */
  bool exists, is_private;          /* private: only the user may read or write it */
  mode_t mode;                      /* of what exists */
} target;

static mode_t first_mode(const target *t) {
  return t->is_private ? S_IRUSR | S_IWUSR : 0666;
}

static fnz_status file_write_fill(const target *t, int fd) {
  fnz_context *ctx = t->arena->ctx;
  FNZ_TRY(write_content(ctx, fd, t->path, t->content));
  if (t->exists && !t->is_private && fchmod(fd, t->mode) != 0)
    return fnzi_file_error(ctx, t->path, "cannot set the mode");
  return !ctx->sync_files || fsync(fd) == 0
             ? FNZ_OK
             : fnzi_file_error(ctx, t->path, "cannot bring the file to the disk");
}

/* Names are tried in turn: another process, or one that died, may have taken some. False with errno
 * when the name could not be taken. */
typedef bool taker(const target *t, int *fd);

static fnz_status take_name(target *t, taker *take, int *fd, bool *taken) {
  *taken = false;
  for (int attempt = 0; attempt < 100 && !*taken; attempt++) {
    FNZ_TRY(
        fnzi_arena_format(t->arena, &t->temp, "%s.%ld-%d.tmp", t->path, (long)getpid(), attempt));
    *taken = take(t, fd);
    if (!*taken && errno != EEXIST)
      break;
  }
  return FNZ_OK;
}

/* The file beside the target becomes the target. */
static fnz_status move_over(const target *t) {
  if (rename(t->temp, t->path) == 0)
    return FNZ_OK;
  fnz_status status = fnzi_file_error(t->arena->ctx, t->path, "cannot put the file in place");
  unlink(t->temp);
  return status;
}

/* --- without a name --------------------------------------------------------------------------- */
/* Below 0 where this system, or the folder's, has no such files. */
static int open_unnamed(const target *t) {
#ifdef O_TMPFILE
  return open(t->folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, first_mode(t));
#else
  (void)t;
  return -1;
#endif
}

static bool link_to(const char *name, int fd) {
  char own[40];
  snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
  return linkat(AT_FDCWD, own, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
}

static bool give_name(const target *t, int *fd) {
  return link_to(t->temp, *fd);
}

/* *placed is false when the file cannot be given a name, as without /proc. */
static fnz_status place_unnamed(target *t, int fd, bool *placed) {
  FNZ_TRY(file_write_fill(t, fd));
  *placed = !t->exists && link_to(t->path, fd);
  if (*placed)
    return FNZ_OK;
  FNZ_TRY(take_name(t, give_name, &fd, placed));
  return *placed ? move_over(t) : FNZ_OK;
}

/* --- with one --------------------------------------------------------------------------------- */
static bool open_temporary(const target *t, int *fd) {
  *fd = open(t->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, first_mode(t));
  return *fd >= 0;
}

/* The file beside the target. */
static fnz_status fill_named(target *t) {
  fnz_context *ctx = t->arena->ctx;
  bool taken;
  int fd = -1;
  FNZ_TRY(take_name(t, open_temporary, &fd, &taken));
  if (!taken)
    return fnzi_file_error(ctx, t->path, "cannot make a file beside it");
  fnz_status status = file_write_fill(t, fd);
  if (close(fd) != 0 && status == FNZ_OK)
    status = fnzi_file_error(ctx, t->path, "cannot write");
  if (status != FNZ_OK)
    unlink(t->temp);
  return status;
}

/* A new name lasts only when the folder is on the disk too. */
static fnz_status sync_folder(const target *t) {
  if (!t->arena->ctx->sync_files)
    return FNZ_OK;
  int fd = open(t->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return fnzi_file_error(t->arena->ctx, t->folder, "cannot open the folder");
  int result = fsync(fd);
  int error = errno;
  close(fd);
  errno = error;
  /* EINVAL: a file system that has nothing to sync. */
  return result == 0 || error == EINVAL
             ? FNZ_OK
             : fnzi_file_error(t->arena->ctx, t->folder, "cannot sync the folder");
}

static fnz_status look_around(target *t) {
  const char *slash = strrchr(t->path, '/');
  t->folder = ".";
  if (slash) {
    size_t size = slash == t->path ? 1 : (size_t)(slash - t->path);
    FNZ_TRY(fnzi_arena_string(t->arena, t->path, size, &t->folder));
  }
  fnz_context *ctx = t->arena->ctx;
  struct stat st;
  if (stat(t->folder, &st) == 0) {
    if (!S_ISDIR(st.st_mode))
      return fnzi_fail(ctx, FNZ_CLASS_IO, t->path, "%s is no folder", t->folder);
  } else {
    FNZ_TRY(errno == ENOENT ? fnzi_fail(ctx, FNZ_CLASS_IO, t->path,
                                        "there is no folder %s; make it first", t->folder)
                            : fnzi_file_error(ctx, t->folder, "cannot look at the folder"));
  }
  /* The path must name a regular file, whose mode is kept, or nothing. */
  t->exists = lstat(t->path, &st) == 0;
  t->mode = t->exists ? st.st_mode & 07777 : 0;
  if (!t->exists)
    return errno == ENOENT ? FNZ_OK : fnzi_file_error(ctx, t->path, "cannot look at the file");
  if (S_ISREG(st.st_mode))
    return FNZ_OK;
  /* A file is written whole and then replaces the old one. This would destroy anything that is not
   * a regular file, such as a link. */
  const char *why = S_ISLNK(st.st_mode)   ? "it is a symbolic link; name the file that it points to"
                    : S_ISDIR(st.st_mode) ? "it is a folder; name a file in it"
                                          : "it is no regular file; write to - and redirect that";
  return fnzi_fail(ctx, FNZ_CLASS_IO, t->path, "%s", why);
}

static fnz_status replace(target *t) {
  bool placed;
  FNZ_TRY(look_around(t));
  int fd = open_unnamed(t);
  placed = false;
  if (fd >= 0) {
    fnz_status status = place_unnamed(t, fd, &placed);
    close(fd); /* file systems that fail only here, such as NFS, have no files without names */
    FNZ_TRY(status);
  }
  if (!placed) {
    FNZ_TRY(fill_named(t));
    FNZ_TRY(move_over(t));
  }
  return sync_folder(t);
}

static fnz_status write_file(fnz_context *ctx, const char *path, const content *c,
                             bool is_private) {
  if (strcmp(path, "-") == 0)
    return write_content(ctx, STDOUT_FILENO, "standard output", c);
  fnzi_arena arena;
  fnzi_arena_init(&arena, ctx);
  target t = {.arena = &arena, .content = c, .path = path, .is_private = is_private};
  fnz_status status = replace(&t);
  fnzi_arena_free(&arena);
  return status;
}

fnz_status fnz_file_write(fnz_context *ctx, const char *path, const void *bytes, size_t size) {
  return write_file(ctx, path, &(content){bytes, size, NULL}, false);
}

fnz_status fnzi_file_write_private(fnz_context *ctx, const char *path, const fnz_buffer *bytes) {
  return write_file(ctx, path, &(content){bytes->data, bytes->size, NULL}, true);
}

fnz_status fnzi_file_write(fnz_context *ctx, const char *path, const fnz_buffer *bytes,
                           const fnzi_out_pieces *pieces) {
  return write_file(ctx, path, &(content){bytes->data, bytes->size, pieces}, false);
}

/* --- two files -------------------------------------------------------------------------------- */
/* A file that is about to be replaced gets a second name, until both writes have succeeded. */
typedef struct pair {
  target first, second;
  const char *kept; /* the second name of what `first` replaces; NULL: it replaces nothing */
} pair;

static fnz_status keep_first(pair *p) {
  target *t = &p->first;
  p->kept = NULL;
  if (!t->exists)
    return FNZ_OK;
  FNZ_TRY(fnzi_arena_format(t->arena, &p->kept, "%s.old", t->temp));
  if (link(t->path, p->kept) == 0)
    return FNZ_OK;
  return fnzi_file_error(t->arena->ctx, t->path, "cannot keep the old file; remove it first");
}

/* The file next to the target. If the system can, it has no name until it is whole. */
static fnz_status fill_beside(target *t) {
  int fd = open_unnamed(t);
  bool taken = false;
  if (fd < 0)
    return fill_named(t);
  fnz_status status = file_write_fill(t, fd);
  if (status == FNZ_OK)
    status = take_name(t, give_name, &fd, &taken);
  close(fd);
  return status == FNZ_OK && !taken ? fill_named(t) : status;
}

static fnz_status place_pair(pair *p) {
  fnz_status status = keep_first(p);
  if (status == FNZ_OK)
    status = move_over(&p->first);
  else
    unlink(p->first.temp);
  if (status != FNZ_OK) {
    unlink(p->second.temp);
    if (p->kept)
      unlink(p->kept);
    return status;
  }
  status = move_over(&p->second);
  if (status != FNZ_OK) {
    /* The first file comes back, or goes if it is new. */
    if (p->kept)
      (void)rename(p->kept, p->first.path);
    else
      unlink(p->first.path);
  } else if (p->kept)
    unlink(p->kept);
  return status;
}

static fnz_status replace_pair(pair *p) {
  FNZ_TRY(look_around(&p->first));
  FNZ_TRY(look_around(&p->second));
  FNZ_TRY(fill_beside(&p->first));
  fnz_status status = fill_beside(&p->second);
  if (status != FNZ_OK) {
    unlink(p->first.temp);
    return status;
  }
  FNZ_TRY(place_pair(p));
  return sync_folder(&p->second);
}

fnz_status fnzi_file_write_pair(fnz_context *ctx, const fnzi_out_file *first,
                                const fnzi_out_file *second) {
  fnzi_arena arena;
  content a = {first->bytes->data, first->bytes->size, first->pieces};
  content b = {second->bytes->data, second->bytes->size, second->pieces};
  fnzi_arena_init(&arena, ctx);
  pair p = {.first = {.arena = &arena, .content = &a, .path = first->path},
            .second = {.arena = &arena, .content = &b, .path = second->path}};
  fnz_status status = replace_pair(&p);
  fnzi_arena_free(&arena);
  return status;
}
