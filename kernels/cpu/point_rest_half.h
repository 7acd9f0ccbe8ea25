/* point_rest_half.h - what f16 and bf16 share. The includer defines NAME (of the table), TO and
 * FROM, which round a float to the bits of the type and back, and the REST_ macros of its own rows.
 */
#include "kernels/core/half.h"
#include "kernels/cpu/point_rest.h"

#define T     float
#define VALUE static

static float R(float x) {
  return FROM(TO(x));
}

#include "kernels/cpu/point_rest_values.h"
