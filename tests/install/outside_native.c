/* outside_native.c - an outside program that reads operators with libfnz_native. */
#include <fnz/fnz.h>
#include <fnz/library.h>

#include <string.h>

int main(void) {
  static const char functions[] = "- func: f(Tensor self) -> Tensor\n",
                    tags[] = "- tag: core\n  desc: c\n";
  const fnz_library_source source = {"functions.yaml", functions, sizeof functions - 1,
                                     "tags.yaml",      tags,      sizeof tags - 1};
  fnz_context *ctx;
  fnz_library *library;
  if (fnz_context_create(NULL, &ctx) != FNZ_OK)
    return 1;
  bool read = fnz_library_read(ctx, &source, &library) == FNZ_OK && fnz_library_count(library) == 1;
  bool named = read && strcmp(fnz_op_name(fnz_library_op(library, 0)), "f") == 0;
  fnz_library_destroy(library);
  bool refused =
      fnz_library_read(ctx, &(fnz_library_source){.functions_name = "f", .tags_name = "t"},
                       &library) == FNZ_BAD_INPUT &&
      *fnz_last_error(ctx)->message;
  fnz_context_destroy(ctx);
  return named && refused ? 0 : 1;
}
