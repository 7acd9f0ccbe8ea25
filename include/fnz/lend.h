/* lend.h - weights in memory of the caller, which are not copied. */
#ifndef FNZ_LEND_H
#define FNZ_LEND_H

#include <fnz/program.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Memory of the caller for a weight. */
typedef struct fnz_weight_loan {
  const char *name;             /* the qualified name */
  const fnz_geometry *geometry; /* a window of the storage, with the program's dtype and sizes */
  const void *data;             /* the storage: `bytes` of little-endian elements */
  size_t bytes;
  void (*release)(void *owner); /* NULL: no call at the end */
  void *owner;
} fnz_weight_loan;

/** Gives weights without data memory of the caller. Programs from text and from the JSON of a .pt2
 * file have such weights. For programs that no other thread uses yet.
 *
 * loans  borrowed, with names and geometries. The memory must last until `release` is called, once
 *        for each loan, also after a failure: during the call, or when the last program that has
 *        the storage has ended, in whatever thread. It must not change while anything reads it, and
 *        is never written. Loans of the same `data` are one storage, so that weights may share
 *        memory; it lasts until the first of these loans is released.
 *
 * All weights get their memory or, after a failure, none: REF (no such weight), DUPLICATE (it has
 * data, or is lent twice), TYPE (another dtype, other sizes), BOUNDS (the window reaches beyond the
 * storage, or loans of one storage have different sizes), NO_MEMORY. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_program_lend_weights(fnz_context *ctx, fnz_program *program,
                                                           const fnz_weight_loan *loans,
                                                           size_t count);

#ifdef __cplusplus
}
#endif
#endif
