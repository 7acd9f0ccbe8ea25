/* api.h - how public symbols are marked, and the version of the interface. */
#ifndef FNZ_API_H
#define FNZ_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FNZ_VERSION_MAJOR 0
#define FNZ_VERSION_MINOR 1
#define FNZ_VERSION_PATCH 0

#if defined(__GNUC__)
#define FNZ_API                 __attribute__((visibility("default")))
#define FNZ_MUST_CHECK          __attribute__((warn_unused_result))
#define FNZ_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#else
#define FNZ_API
#define FNZ_MUST_CHECK
#define FNZ_PRINTF(text, first)
#endif

#endif
