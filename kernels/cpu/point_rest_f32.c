/* point_rest_f32.c - eager's scalar loops in single precision. */
#include "kernels/cpu/point_rest.h"

#define T    float
#define F(x) x##f

#define REST_WIDE REST
#include "kernels/cpu/point.def"
#undef REST_WIDE

const fnzi_rest fnzi_rest_f32[] = {
#define REST_WIDE REST_ENTRY
#include "kernels/cpu/point.def"
    {NULL, false, NULL}};
