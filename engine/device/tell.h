/* tell.h - a plan on a GPU as text and as JSON, for tell.c. */
#ifndef FNZI_DEV_TELL_H
#define FNZI_DEV_TELL_H

#include "base/json.h"
#include "engine/device/device.h"

/* Prints a line for each launch and each step of the CPU, and the sums. */
FNZ_MUST_CHECK fnz_status fnzi_dev_tell(fnz_context *ctx, const fnzi_stp_binding *b,
                                        fnz_buffer *out);
/* Members of the plan's object. */
void fnzi_dev_tell_json(fnzi_json_out *w, const fnzi_stp_binding *b);

#endif
