/* device_tell.h - a plan on a GPU as text and as JSON, for tell.c. */
#ifndef FNZI_ENG_DEVICE_TELL_H
#define FNZI_ENG_DEVICE_TELL_H

#include "engine/device.h"

FNZ_MUST_CHECK fnz_status fnzi_eng_device_route(fnzi_arena *arena, const fnzi_eng_plan *plan,
                                                fnzi_eng_route *out);
/* A line for each step of the CPU, and the sums. */
FNZ_MUST_CHECK fnz_status fnzi_eng_device_tell(fnz_context *ctx, const fnzi_eng_plan *plan,
                                               const fnzi_eng_route *route, fnz_buffer *out);
/* A member of the plan's object. */
FNZ_MUST_CHECK fnz_status fnzi_eng_device_tell_json(fnz_context *ctx, const fnzi_eng_plan *plan,
                                                    const fnzi_eng_route *route, fnz_buffer *out);

#endif
