/* load.c - opens a library: the one file that loads code, by fixed names alone. */
#include "engine/load/load.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

/* Appends text, truncated to the capacity `room`. */
static void append(char *to, size_t capacity, const char *text) {
  size_t used = strlen(to), left = capacity - 1 - used, size = strlen(text);
  size = size < left ? size : left;
  memcpy(to + used, text, size);
  to[used + size] = 0;
}

/* Why a library cannot be used; the name may be in it. */
static void note(char *why, size_t capacity, const char *name, const char *error) {
  if (why[0])
    append(why, capacity, "; ");
  append(why, capacity, name);
  append(why, capacity, name[0] ? ": " : "");
  append(why, capacity, error);
}

/* A library to open, and why names that were tried cannot be used. */
typedef struct attempt {
  const fnzi_load_spec *spec;
  void *table, *library;
  char why[400];
} attempt;

/* Opens one library. t->library is NULL if it is missing, lacks functions or does not start. Fails
 * with NO_MEMORY if a later try may succeed. */
static fnz_status try_one(fnz_context *ctx, attempt *t, const char *name) {
  const fnz_error had = ctx->error;
  t->library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!t->library) {
    const char *error = dlerror();
    note(t->why, sizeof t->why, "", error ? error : "no reason is known");
    return FNZ_OK;
  }
  fnz_status status = FNZ_OK;
  for (size_t i = 0; i < t->spec->nsymbols && status == FNZ_OK; i++) {
    const char *symbol = t->spec->symbols[i].name;
    void *found = dlsym(t->library, symbol);
    if (found)
      memcpy((char *)t->table + t->spec->symbols[i].offset, &found, sizeof found);
    else
      status = fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                         "it has no function %s: a newer one of it is needed", symbol);
  }
  if (status == FNZ_OK && t->spec->start)
    status = t->spec->start(ctx, t->table);
  if (status == FNZ_OK)
    return FNZ_OK;
  dlclose(t->library);
  t->library = NULL;
  if (status == FNZ_NO_MEMORY)
    return status;
  note(t->why, sizeof t->why, name, ctx->error.message);
  ctx->error = had;
  return FNZ_OK;
}

/* NVIDIA's libraries do not support unloading, so all libraries stay in memory (RTLD_NODELETE). */
fnz_status fnzi_load_open(fnz_context *ctx, const fnzi_load_spec *w, void *table, void **library) {
  attempt t = {.spec = w, .table = table};
  *library = NULL;
  dlerror();
  for (const char *const *name = w->names; *name && !t.library; name++)
    FNZ_TRY(try_one(ctx, &t, *name));
  *library = t.library;
  return *library ? FNZ_OK
                  : fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL, "%s (%s)", w->advice, t.why);
}

void fnzi_load_close(void *library) {
  if (library)
    dlclose(library);
}

uint64_t fnzi_load_bytes(void *library) {
  struct link_map *map;
  struct stat s;
  return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && stat(map->l_name, &s) == 0
             ? (uint64_t)s.st_size
             : 0;
}

/* The path of a program is empty there. */
bool fnzi_load_beside(const char *name, char *out, size_t capacity) {
  static const char here = 0; /* lies in this library */
  void *map = NULL;
  Dl_info info;
  if (!dladdr1(&here, &info, &map, RTLD_DL_LINKMAP) || !map)
    return false;
  const char *path = ((const struct link_map *)map)->l_name, *slash = strrchr(path, '/');
  size_t folder = slash ? (size_t)(slash + 1 - path) : 0, size = strlen(name) + 1;
  if (!folder || folder >= capacity || size > capacity - folder)
    return false;
  memcpy(out, path, folder);
  memcpy(out + folder, name, size);
  return true;
}
