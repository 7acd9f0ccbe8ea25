/* mapping.c - a file in memory, with what tells whether it is still the file that was mapped.
 *
 * A file that is written over in place becomes shorter first, and then has other bytes. The first
 * would end the process by SIGBUS, the second would give other numbers. rename() puts another file
 * in its place, and changes nothing here. */
#include "program/mapping.h"

#include <stdalign.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct fnzi_mapping {
  fnz_allocator allocator;
  void *data;
  size_t bytes, mapped;
  int fd;
  struct stat seen;
  size_t path_bytes;
  char path[];
};

/* Maps the file over the beginning of zeroed pages, so that a zero byte follows it even if it ends
 * with its last page. */
static void *map_whole(int fd, size_t size, size_t mapped) {
  void *data = mmap(NULL, mapped, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED)
    return NULL;
  if (mmap(data, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == data)
    return data;
  munmap(data, mapped);
  return NULL;
}

fnz_status fnzi_mapping_open(fnz_context *ctx, int fd, const char *path, const struct stat *seen,
                             fnzi_mapping **out) {
  const size_t bytes = (size_t)seen->st_size, path_bytes = strlen(path) + 1;
  *out = NULL;
  fnzi_mapping *m = ctx->allocator.resize(ctx->allocator.user, NULL, 0, sizeof *m + path_bytes);
  if (!m)
    return fnzi_no_memory(ctx);
  *m = (fnzi_mapping){.allocator = ctx->allocator,
                      .data = map_whole(fd, bytes, bytes + 1),
                      .bytes = bytes,
                      .mapped = bytes + 1,
                      .fd = fd,
                      .seen = *seen,
                      .path_bytes = path_bytes};
  memcpy(m->path, path, path_bytes);
  if (m->data)
    *out = m;
  else
    ctx->allocator.resize(ctx->allocator.user, m, sizeof *m + path_bytes, 0);
  return FNZ_OK;
}

/* A process that becomes a daemon closes all descriptors, and another file may get the number. */
static bool look(const fnzi_mapping *m, struct stat *now) {
  return fstat(m->fd, now) == 0 && now->st_dev == m->seen.st_dev && now->st_ino == m->seen.st_ino;
}

void fnzi_mapping_close(fnzi_mapping *m) {
  if (!m)
    return;
  fnz_allocator a = m->allocator;
  struct stat now;
  munmap(m->data, m->mapped);
  if (look(m, &now))
    close(m->fd);
  a.resize(a.user, m, sizeof *m + m->path_bytes, 0);
}

void *fnzi_mapping_data(const fnzi_mapping *m) {
  return m->data;
}

size_t fnzi_mapping_bytes(const fnzi_mapping *m) {
  return m->bytes;
}

fnz_status fnzi_mapping_check(fnz_context *ctx, const fnzi_mapping *m) {
  struct stat now;
  if (!m || !look(m, &now))
    return FNZ_OK;
  const struct timespec *before = &m->seen.st_mtim, *after = &now.st_mtim;
  if (now.st_size == m->seen.st_size && after->tv_sec == before->tv_sec &&
      after->tv_nsec == before->tv_nsec)
    return FNZ_OK;
  return fnzi_fail(ctx, FNZ_CLASS_IO, m->path,
                   "the file was written over after it was loaded, and its weights are gone; load "
                   "it again; a file that is written over must be read by FNZ_READING_COPY, in "
                   "Python reading=\"copy\"");
}
