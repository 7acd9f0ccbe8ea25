/* api.h - how public symbols are marked, the version of the interface, and what holds in all of it.
 *
 * The context comes first in every function that has one (in those of a backend behind its `self`),
 * what is made or filled comes last. What ..._create() and the like make ends with ..._destroy(), a
 * buffer with fnz_buffer_free(); ..._release() gives back one reference to something that may have
 * more.
 *
 * A structure that begins with `size` may get more fields, at its end and behind its padding.
 * Callers set `size` to its sizeof, as its ..._INIT does, so that programs that were compiled with
 * an older header go on: of options the fields that they lack have their defaults, of reports these
 * are not filled, functions that a backend lacks count as NULL. Of options and reports a `size` of
 * 0, which nobody has set, or beyond that of the library fails with FNZ_BAD_ARGUMENT. Options that
 * may be NULL are then all defaults, and a report that may be NULL is not wanted.
 *
 * A structure without `size` is complete: it gets no field before the library's SONAME changes.
 *
 * What can be read off something and cannot fail is returned, a number, a structure or a pointer
 * that is borrowed from it; beyond the last one of a kind that is 0, a structure of zeros, NULL.
 * What can fail returns a status, and fills `out`. */
#ifndef FNZ_API_H
#define FNZ_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FNZ_VERSION_MAJOR 0
#define FNZ_VERSION_MINOR 1
#define FNZ_VERSION_PATCH 0

#if defined(__GNUC__)
#define FNZ_API        __attribute__((visibility("default")))
#define FNZ_MUST_CHECK __attribute__((warn_unused_result))
#else
#define FNZ_API
#define FNZ_MUST_CHECK
#endif

#endif
