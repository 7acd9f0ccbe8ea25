/* library.c - opens a library of CUDA: the one file that loads code, by fixed names alone. */
#include "engine/cuda/driver.h"

#include <dlfcn.h>
#include <stdio.h>

static fnz_status take_symbols(fnz_context *ctx, const fnzi_cuda_symbol *symbols, size_t count,
                               const char *name, void *table, void *library) {
  for (size_t i = 0; i < count; i++) {
    void *found = dlsym(library, symbols[i].name);
    if (!found)
      return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, name,
                       "it has no function %s: a newer one of it is needed", symbols[i].name);
    memcpy((char *)table + symbols[i].offset, &found, sizeof found);
  }
  return FNZ_OK;
}

/* Appends why a library could not be opened, as far as there is room. */
static void note(char *why, size_t room) {
  const char *said = dlerror();
  size_t used = strlen(why);
  snprintf(why + used, room - used, "%s%s", used ? "; " : "", said ? said : "no reason is known");
}

/* None of them likes to be unloaded: once in memory, they stay. */
fnz_status fnzi_cuda_library_open(fnz_context *ctx, const char *const *names, const char *advice,
                                  const fnzi_cuda_symbol *symbols, size_t count, void *table,
                                  void **library) {
  const char *name = *names;
  char why[400] = "";
  *library = NULL;
  dlerror();
  for (; *names && !*library; names++) {
    name = *names;
    *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!*library)
      note(why, sizeof why);
  }
  if (!*library)
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL, "%s (%s)", advice, why);
  fnz_status status = take_symbols(ctx, symbols, count, name, table, *library);
  if (status != FNZ_OK) {
    dlclose(*library);
    *library = NULL;
  }
  return status;
}

void fnzi_cuda_library_close(void *library) {
  if (library)
    dlclose(library);
}
