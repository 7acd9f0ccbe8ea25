/* core.h - the interface of libfnz_core: it reads programs, functionalizes, takes apart, verifies
 * over hashes and writes, and needs zlib, simdjson and libcbor alone.
 *
 * libfnz has all of this too, and what <fnz/fnz.h> adds. A program links one or the other. What is
 * not declared here is not in libfnz_core, so that who calls it is not linked; only numbers that
 * are given to fnz_verify() are refused when it runs. */
#ifndef FNZ_CORE_H
#define FNZ_CORE_H

#include <fnz/arrays.h>
#include <fnz/backend.h>
#include <fnz/call.h>
#include <fnz/collectives.h>
#include <fnz/compare.h>
#include <fnz/context.h>
#include <fnz/decompose.h>
#include <fnz/dlpack.h>
#include <fnz/explain.h>
#include <fnz/formats.h>
#include <fnz/functionalize.h>
#include <fnz/kernel.h>
#include <fnz/mlir.h>
#include <fnz/operator.h>
#include <fnz/program.h>
#include <fnz/random.h>
#include <fnz/recorder.h>
#include <fnz/rules.h>
#include <fnz/run.h>
#include <fnz/status.h>
#include <fnz/targets.h>
#include <fnz/tensor.h>
#include <fnz/types.h>
#include <fnz/verify.h>

#endif
