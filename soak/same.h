/* same.h - are two programs the same, node by node and name by name? */
#ifndef FNZI_SOAK_SAME_H
#define FNZI_SOAK_SAME_H

#include "program/program.h"

/* One graph each, as random programs are. `where` gets the node that differs first, or the number
 * of nodes when what follows the nodes differs. */
bool fnzi_same_program(const fnz_program *a, const fnz_program *b, size_t *where);

#endif
