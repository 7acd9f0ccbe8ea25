/* compare.h - are two programs the same, whatever their values are called? And a hash of that. */
#ifndef FNZ_COMPARE_H
#define FNZ_COMPARE_H

#include <fnz/program.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One program's side of a difference. Texts are never NULL. */
typedef struct fnz_difference_side {
  const char *text;   /* the node, input or weight in the text form; "" when there is none */
  const char *source; /* of the node, as fnz_node_info has it */
  size_t graph, node; /* the node; SIZE_MAX when the place is no node */
} fnz_difference_side;

/** The first difference of two programs, and the smallest part of them that shows it. */
typedef struct fnz_difference {
  const char *where; /* "output 1", "input 0", "weight fc.weight" */
  const char *what;  /* "argument `dim`: 0 and 1" */
  fnz_difference_side a, b;
} fnz_difference;

/** Compares what two programs compute, expression by expression. They are the same when
 *
 * - they have the same user inputs, in order, the same parameters and buffers by qualified name
 *   with the same bytes, the same ranges of symbols and guards. A weight without bytes, as the text
 *   form has it, is as good as any of its name,
 * - they have the same outputs, in order, of the same kinds, and each is the same expression: the
 *   same operators with the same arguments and geometries, down to inputs and constants,
 * - operators that write, draw random numbers or only have an effect come in the same order, as far
 *   as that can be observed: writes to separate memory may come in any order.
 *
 * Names of values, source lines, defaults that are spelled out, the order of independent nodes,
 * nodes that nothing needs and equal nodes that compute a thing twice do not count. No law of
 * arithmetic is assumed: a + b and b + a differ. So programs that mean the same may be reported as
 * different; two that are reported as equal mean the same. <fnz/verify.h> has fnz_verify() for
 * meanings.
 *
 * a, b  borrowed; may be shared with other threads during the call. Must be verified.
 * out   NULL is allowed. The first difference, NULL when there is none; ends with
 *       fnz_difference_destroy(), before the context does.
 *
 * FNZ_OK: the same. FNZ_DIFFERENT: not; the message has `where` and `what`. FNZ_NO_MEMORY. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_program_compare(fnz_context *ctx, const fnz_program *a,
                                                      const fnz_program *b, fnz_difference **out);
/** NULL is allowed. */
FNZ_API void fnz_difference_destroy(fnz_difference *difference);

enum { FNZ_HASH_BYTES = 32 };

/** A hash of everything that fnz_program_compare() compares. Programs with equal hashes are equal,
 * and equal programs have equal hashes, except for unneeded nodes that make views. It is defined by
 * docs/hash.md and stays the same in later releases: it depends neither on names of values, nor on
 * source lines, nor on the format that the program was read from.
 *
 * weights  include the elements of parameters, buffers and constants, which must all have data
 *          (REF); else they count by name and geometry only, as in the text form.
 * program  borrowed; may be shared with other threads during the call. Must be verified.
 * out      untouched on failure. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_program_hash(fnz_context *ctx, const fnz_program *program,
                                                   bool weights, unsigned char out[FNZ_HASH_BYTES]);

#ifdef __cplusplus
}
#endif
#endif
