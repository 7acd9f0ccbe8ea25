/* no_weight.c - a name that no weight of a program has. */
#include "program/no_weight.h"

#include "base/near.h"

fnz_status fnzi_no_weight(fnz_context *ctx, const fnz_program *p, const char *name) {
  fnzi_near near = {.count = 0};
  fnz_buffer names = {NULL, 0, 0};
  for (size_t k = 0; k < p->weights.count; k++)
    fnzi_near_consider(&near, name, p->weights.data[k].name, strlen(p->weights.data[k].name));
  fnz_status status = near.count ? fnzi_near_put(ctx, &near, &names) : FNZ_OK;
  if (status == FNZ_OK)
    status = fnzi_fail(ctx, FNZ_CLASS_REF, name, "the program has no weight of this name%s%s%s",
                       near.count ? "; did you mean " : "", near.count ? names.data : "",
                       near.count ? "?" : "; its inputs name them");
  fnz_buffer_free(ctx, &names);
  return status;
}
