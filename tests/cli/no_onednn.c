/* no_onednn.c - what dlopen says where there is no oneDNN: loaded before the command's own. */
#include <stddef.h>

#pragma GCC visibility push(default)
void *dlopen(const char *name, int flags);
char *dlerror(void);
#pragma GCC visibility pop

void *dlopen(const char *name, int flags) {
  (void)name, (void)flags;
  return NULL;
}

char *dlerror(void) {
  static char said[] = "no such library";
  return said;
}
