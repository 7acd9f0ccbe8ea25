/* outside.c - uses every part of the library that an outside program can link against. */
#include <fnz/fnz.h>

#include <stdio.h>
#include <string.h>

int main(void) {
  fnz_context *ctx;
  fnz_program *program;
  if (fnz_context_create(NULL, &ctx) != FNZ_OK)
    return 1;
  bool refused = fnz_program_read(ctx, "PK", 2, FNZ_FORMAT_AUTO, &program) == FNZ_BAD_INPUT;
  bool knows = fnz_op_find(NULL, "add_.Tensor") && fnz_op_count() > 3000;
  printf("fnz %s\n", fnz_version());
  fnz_context_destroy(ctx);
  bool fits = fnz_abi_version() == FNZ_ABI_VERSION && strcmp(fnz_version(), "0.1.0") == 0;
  return refused && knows && fits ? 0 : 1;
}
