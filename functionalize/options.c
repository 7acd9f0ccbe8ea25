/* options.c - checks the options of functionalizing. */
#include "functionalize/api.h"

fnz_status fnzi_options_check(fnz_context *ctx, const fnz_functionalize_options *options) {
  if ((unsigned)options->views <= FNZ_VIEWS_STRIDED &&
      (unsigned)options->state <= FNZ_STATE_BUFFERS)
    return FNZ_OK;
  return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL,
                   "options: views is %d, which goes from 0 to %d; state is %d, from 0 to %d",
                   (int)options->views, FNZ_VIEWS_STRIDED, (int)options->state, FNZ_STATE_BUFFERS);
}
