/* cache.c - a file for each program that NVRTC compiled: a head with a magic number, the key, the
 * size and the digest of the code, then the code. If a check fails, the program is compiled
 * again. */
#include "engine/cuda/cache.h"

#include "program/formats/out.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_ROOM = 4096, MAGIC_BYTES = 8 };
static const char magic[MAGIC_BYTES] = "fnzcuda";

typedef struct head {
  char magic[MAGIC_BYTES];
  uint64_t size; /* of the code */
  unsigned char key[FNZI_DIGEST_BYTES], digest[FNZI_DIGEST_BYTES];
} head;

static void digest_of(const void *bytes, size_t size, unsigned char out[FNZI_DIGEST_BYTES]) {
  fnzi_digest d;
  fnzi_digest_start(&d);
  fnzi_digest_add(&d, bytes, size);
  fnzi_digest_end(&d, out);
}

/* FOLDER/<key>.cubin; false when that is too long. */
static bool path_of(const char *folder, const unsigned char key[FNZI_DIGEST_BYTES],
                    char path[PATH_ROOM]) {
  char name[2 * FNZI_DIGEST_BYTES + 1], *at = name;
  for (int i = 0; i < FNZI_DIGEST_BYTES; i++, at += 2)
    snprintf(at, 3, "%02x", key[i]);
  int size = snprintf(path, PATH_ROOM, "%s/%s.cubin", folder, name);
  return size > 0 && size < PATH_ROOM;
}

/* --- Reading ---------------------------------------------------------------------------------- */
static bool read_all(int fd, void *to, size_t bytes) {
  char *at = to;
  while (bytes > 0) {
    ssize_t got = read(fd, at, bytes);
    if (got <= 0)
      return false;
    at += got;
    bytes -= (size_t)got;
  }
  return true;
}

static bool take_file(fnz_context *ctx, int fd, const unsigned char key[FNZI_DIGEST_BYTES],
                      fnz_buffer *out) {
  size_t bytes;
  /* Whether only this user can write the file, and it is long enough for a head. */
  struct stat s;
  if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode) || s.st_uid != geteuid() ||
      (s.st_mode & (S_IWGRP | S_IWOTH)) || s.st_size < (off_t)sizeof(head))
    return false;
  bytes = (size_t)s.st_size;
  unsigned char *data = fnzi_resize(ctx, NULL, 0, bytes), digest[FNZI_DIGEST_BYTES];
  bool taken = data && read_all(fd, data, bytes);
  if (taken) {
    head h;
    memcpy(&h, data, sizeof h);
    digest_of(data + sizeof h, bytes - sizeof h, digest);
    taken = memcmp(h.magic, magic, sizeof h.magic) == 0 && h.size == bytes - sizeof h &&
            memcmp(h.key, key, sizeof h.key) == 0 && memcmp(h.digest, digest, sizeof digest) == 0 &&
            fnzi_put(ctx, out, data + sizeof h, bytes - sizeof h) == FNZ_OK;
  }
  fnzi_free(ctx, data, bytes);
  return taken;
}

/* O_NONBLOCK: opening a pipe must not block. */
#define READING (O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)

bool fnzi_cuda_cache_read(fnz_context *ctx, const char *folder,
                          const unsigned char key[FNZI_DIGEST_BYTES], fnz_buffer *out) {
  char path[PATH_ROOM];
  int fd = path_of(folder, key, path) ? open(path, READING) : -1;
  if (fd < 0)
    return false;
  bool taken = take_file(ctx, fd, key, out);
  close(fd);
  return taken;
}

/* --- Writing ---------------------------------------------------------------------------------- */
/* Makes the folder and its parents, unless they exist. */
static void make_folder(const char *folder) {
  char path[PATH_ROOM];
  size_t size = strlen(folder);
  if (size >= sizeof path)
    return;
  memcpy(path, folder, size + 1);
  for (size_t i = 1; i <= size; i++)
    if (path[i] == '/' || path[i] == 0) {
      path[i] = 0;
      (void)mkdir(path, S_IRWXU);
      path[i] = folder[i];
    }
}

void fnzi_cuda_cache_write(fnz_context *ctx, const char *folder,
                           const unsigned char key[FNZI_DIGEST_BYTES], const fnz_buffer *code) {
  const fnz_error had = ctx->error;
  fnz_buffer file = {.data = NULL};
  head h = {.size = code->size};
  char path[PATH_ROOM];
  make_folder(folder);
  memcpy(h.magic, magic, sizeof h.magic);
  memcpy(h.key, key, sizeof h.key);
  digest_of(code->data, code->size, h.digest);
  fnz_status status = fnzi_put(ctx, &file, &h, sizeof h);
  if (status == FNZ_OK)
    status = fnzi_put(ctx, &file, code->data, code->size);
  if (status == FNZ_OK && path_of(folder, key, path))
    status = fnzi_file_write_private(ctx, path, &file);
  (void)status; /* the next process compiles it again */
  fnz_buffer_free(ctx, &file);
  ctx->error = had;
}
