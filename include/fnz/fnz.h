/* fnz.h - the whole interface of libfnz but <fnz/ops.h>, which has a function for each operator:
 * that of libfnz_core, and what computes numbers. */
#ifndef FNZ_FNZ_H
#define FNZ_FNZ_H

#include <fnz/core.h>
#include <fnz/engine.h>
#include <fnz/numbers.h>
#include <fnz/page.h>

#endif
