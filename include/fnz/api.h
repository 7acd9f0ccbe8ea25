/* api.h - marks of public symbols, the version of the interface, and conventions of all functions.
 *
 * The context is the first parameter of every function that has one (after `self` in functions of a
 * backend), the created or filled object the last. Objects of ..._create() and the like are
 * destroyed by ..._destroy(), a buffer by fnz_buffer_free(); ..._release() drops one reference to
 * an object that may have more.
 *
 * A structure that begins with `size` may get more fields, at its end and behind its padding.
 * Callers set `size` to its sizeof, as its ..._INIT does, so that programs that were compiled with
 * an older header still work: missing fields of options have their defaults, missing fields of
 * reports are not filled, and missing functions of a backend count as NULL. Options and reports
 * with a `size` of 0, or larger than the library's, fail with FNZ_BAD_ARGUMENT. Options that may be
 * NULL are then all defaults; a report that may be NULL is not wanted.
 *
 * A structure without `size` is complete: it gets no field before the library's SONAME changes.
 *
 * A function that cannot fail returns its result: a number, a structure, or a pointer borrowed from
 * its argument. For an index beyond the last one this is 0, a structure of zeros, or NULL. A
 * function that can fail returns a status and fills `out`. */
#ifndef FNZ_API_H
#define FNZ_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FNZ_VERSION_MAJOR 0
#define FNZ_VERSION_MINOR 1
#define FNZ_VERSION_PATCH 0

/* The binary interface: 1000 * S + A. S names the SONAME, libfnz.so.MAJOR.MINOR, and is
 * 1000 * MAJOR + MINOR. A counts the releases with that SONAME that added a function, an enumerator
 * or a field. A program that was compiled with FNZ_ABI_VERSION works with each library of the same
 * S and the same or a greater A; fnz_abi_version() in <fnz/context.h> returns the library's.
 * The loader compares S by the SONAME and functions by name. Callers that open the library
 * themselves, such as ctypes, compare the numbers. */
#define FNZ_ABI_VERSION 1000

#if defined(__GNUC__)
#define FNZ_API        __attribute__((visibility("default")))
#define FNZ_MUST_CHECK __attribute__((warn_unused_result))
#else
#define FNZ_API
#define FNZ_MUST_CHECK
#endif

#endif
