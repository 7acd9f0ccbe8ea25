/* load.c - opens a library: the one file that loads code, by fixed names alone. */
#include "engine/load/load.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

static fnz_status take_symbols(fnz_context *ctx, const fnzi_load_wanted *w, void *table,
                               void *library) {
  for (size_t i = 0; i < w->nsymbols; i++) {
    void *found = dlsym(library, w->symbols[i].name);
    if (!found)
      return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                       "it has no function %s: a newer one of it is needed", w->symbols[i].name);
    memcpy((char *)table + w->symbols[i].offset, &found, sizeof found);
  }
  return FNZ_OK;
}

/* Appends text, truncated to the capacity `room`. */
static void append(char *to, size_t room, const char *text) {
  size_t used = strlen(to), left = room - 1 - used, size = strlen(text);
  size = size < left ? size : left;
  memcpy(to + used, text, size);
  to[used + size] = 0;
}

/* Why a library cannot be used; the name may be in it. */
static void note(char *why, size_t room, const char *name, const char *said) {
  if (why[0])
    append(why, room, "; ");
  append(why, room, name);
  append(why, room, name[0] ? ": " : "");
  append(why, room, said);
}

/* Opens one library. *library is NULL if it is missing, lacks functions or does not start. Fails
 * with NO_MEMORY if a later try may succeed. */
static fnz_status try_one(fnz_context *ctx, const fnzi_load_wanted *w, const char *name,
                          void *table, void **library, char *why, size_t room) {
  const fnz_error had = ctx->error;
  *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!*library) {
    const char *said = dlerror();
    note(why, room, "", said ? said : "no reason is known");
    return FNZ_OK;
  }
  fnz_status status = take_symbols(ctx, w, table, *library);
  if (status == FNZ_OK && w->start)
    status = w->start(ctx, table);
  if (status == FNZ_OK)
    return FNZ_OK;
  dlclose(*library);
  *library = NULL;
  if (status == FNZ_NO_MEMORY)
    return status;
  note(why, room, name, ctx->error.message);
  ctx->error = had;
  return FNZ_OK;
}

/* NVIDIA's libraries do not support unloading, so they stay in memory (RTLD_NODELETE). */
fnz_status fnzi_load_open(fnz_context *ctx, const fnzi_load_wanted *w, void *table,
                          void **library) {
  char why[400] = "";
  *library = NULL;
  dlerror();
  for (const char *const *name = w->names; *name && !*library; name++)
    FNZ_TRY(try_one(ctx, w, *name, table, library, why, sizeof why));
  return *library ? FNZ_OK : fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL, "%s (%s)", w->advice, why);
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
