/* autocast.c - what a functional twin would do under autocast that the operator that writes does
 * not.
 */
#include "mutations/mutations.h"

static const char *const names[] = {
#define AUTOCAST(name) name,
#include "mutations/autocast.def"
#undef AUTOCAST
};

bool fnzi_autocast_changes(const fnz_op *twin) {
  for (size_t i = 0; twin && i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i], twin->base) == 0)
      return true;
  return false;
}
