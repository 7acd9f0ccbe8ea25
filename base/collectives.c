/* collectives.c - what the context knows of other processes. */
#include "base/base.h"

#include <fnz/collectives.h>

void fnz_context_set_collectives(fnz_context *ctx, const fnz_collectives *collectives) {
  ctx->collectives = collectives;
}
