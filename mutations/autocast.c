/* autocast.c - functional operators that cast under autocast although their writing variants do
 * not.
 *
 * needs   autocast.def
 * gives   whether the twin of an operator that writes is such an operator */
#include "mutations/mutations.h"

enum { PLAIN, LOWER, SINGLE, WIDEST };

static const struct {
  const char *name;
  bool casts;
} rows[] = {
#define AUTOCAST_CPU(cast, name) {name, cast != PLAIN},
#define AUTOCAST_OTHER(base)     {base, true},
#include "schema/facts/autocast.def"
#undef AUTOCAST_OTHER
#undef AUTOCAST_CPU
};

bool fnzi_autocast_changes(const fnz_op *twin) {
  const char *base = twin ? fnzi_op_canonical(twin)->base : "";
  size_t length = strlen(base);
  for (size_t i = 0; twin && i < sizeof rows / sizeof *rows; i++)
    if (rows[i].casts && strncmp(rows[i].name, base, length) == 0 &&
        (rows[i].name[length] == '.' || rows[i].name[length] == '\0'))
      return true;
  return false;
}
