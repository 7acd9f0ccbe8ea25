/* core.h - the interface of libfnz_core: it reads programs, functionalizes, decomposes, verifies
 * over hashes and writes, and needs only zlib, simdjson and libcbor.
 *
 * libfnz has all of this too, and the additions of <fnz/fnz.h>. A program links one or the other.
 * Functions that are not declared here are missing from libfnz_core, so a program that calls them
 * does not link. As an exception, fnz_verify() links and refuses numbers when it runs. */
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
#include <fnz/lend.h>
#include <fnz/methods.h>
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
