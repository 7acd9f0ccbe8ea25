/* point_rest_f64.c - eager's scalar loops in double precision. */
#include "kernels/cpu/point_rest.h"

#define T    double
#define F(x) x

#define REST_WIDE REST
#include "kernels/cpu/point.def"
#undef REST_WIDE

const fnzi_rest fnzi_rest_f64[] = {
#define REST_WIDE REST_ENTRY
#include "kernels/cpu/point.def"
    {NULL, false, NULL}};
