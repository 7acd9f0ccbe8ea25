/* no_weight.h - a name that no weight of a program has. */
#ifndef FNZI_NO_WEIGHT_H
#define FNZI_NO_WEIGHT_H

#include "program/program.h"

/* REF, with names of weights that are near. */
fnz_status fnzi_no_weight(fnz_context *ctx, const fnz_program *p, const char *name);

#endif
