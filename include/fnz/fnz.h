/* fnz.h - the whole public interface of libfnz but <fnz/ops.h>, which has a function for each
 * operator. <fnz/library.h> is that of libfnz_native. */
#ifndef FNZ_FNZ_H
#define FNZ_FNZ_H

#include <fnz/arrays.h>
#include <fnz/backend.h>
#include <fnz/call.h>
#include <fnz/compare.h>
#include <fnz/context.h>
#include <fnz/decompose.h>
#include <fnz/dlpack.h>
#include <fnz/engine.h>
#include <fnz/explain.h>
#include <fnz/formats.h>
#include <fnz/functionalize.h>
#include <fnz/kernel.h>
#include <fnz/library.h>
#include <fnz/mlir.h>
#include <fnz/operator.h>
#include <fnz/program.h>
#include <fnz/random.h>
#include <fnz/recorder.h>
#include <fnz/rules.h>
#include <fnz/run.h>
#include <fnz/status.h>
#include <fnz/tensor.h>
#include <fnz/types.h>
#include <fnz/verify.h>

#endif
