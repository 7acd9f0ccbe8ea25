/* autocast.c - functional operators that cast under autocast although their writing variants do
 * not.
 *
 * needs   AUTOCAST of facts.def
 * gives   whether the twin of an operator that writes is such an operator */
#include "mutations/mutations.h"
#include "schema/facts/facts.h"

bool fnzi_autocast_changes(const fnz_op *twin) {
  const char *base = twin ? fnzi_op_canonical(twin)->base : "";
  size_t length = strlen(base);
  for (size_t i = 1; twin && i < fnzi_facts_count; i++) {
    const fnzi_fact *f = &fnzi_facts[i];
    if ((f->autocast > FNZI_AUTOCAST_PLAIN || f->autocast_elsewhere) &&
        strncmp(f->name, base, length) == 0 && (f->name[length] == '.' || f->name[length] == '\0'))
      return true;
  }
  return false;
}
