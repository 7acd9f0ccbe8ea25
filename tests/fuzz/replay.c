/* replay.c - a fuzz target over the bytes in the files named: each must keep the promises still. */
#include "tests/fuzz/fuzz.h"

static void replay(const char *path) {
  fnz_context *ctx;
  fnz_buffer bytes;
  if (fnz_context_create(NULL, &ctx) != FNZ_OK || fnz_file_read(ctx, path, &bytes) != FNZ_OK) {
    fprintf(stderr, "%s cannot be read\n", path);
    exit(EXIT_FAILURE);
  }
  /* A copy of the very size, so that a read behind its end is seen. */
  uint8_t *copy = malloc(bytes.size ? bytes.size : 1);
  if (!copy)
    abort();
  if (bytes.size)
    memcpy(copy, bytes.data, bytes.size);
  fprintf(stderr, "%s\n", path);
  LLVMFuzzerTestOneInput(copy, bytes.size);
  free(copy);
  fnz_buffer_free(ctx, &bytes);
  fnz_context_destroy(ctx);
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++)
    replay(argv[i]);
  printf("%d inputs\n", argc - 1);
  return argc > 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
