/* lend.h - a blob over memory of a caller: see <fnz/lend.h>. */
#ifndef FNZI_LEND_H
#define FNZI_LEND_H

#include <fnz/lend.h>

#include "program/program.h"

/* The loan's `release` is called when the blob ends, and not after a failure. */
FNZ_MUST_CHECK fnz_status fnzi_blob_lend(fnz_context *ctx, const fnz_weight_loan *loan,
                                         fnzi_blob **out);

#endif
