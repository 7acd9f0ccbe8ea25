/* limits.h - how much a file may hold, and how often a run may turn round. More is refused with
 * LIMIT, before memory is taken for it.
 *
 * A context has its own limits, so that a test can reach each of them; these are the usual ones.
 * Nesting and rank are no numbers of a context: arrays have their sizes. */
#ifndef FNZI_LIMITS_H
#define FNZI_LIMITS_H

#include <stddef.h>

enum {
  FNZI_MAX_NESTING = 64,         /* lists in lists */
  FNZI_EXPR_MAX_TEXT = 64 * 1024 /* bytes of a symbolic expression, read or printed */
};

/* Columns: name, the usual limit. */
#define FNZI_LIMIT_ROWS(ROW)                                                                       \
  ROW(nodes, 10000000)          /* of a program; 10 million are about 1 GB of text */              \
  ROW(program_bytes, 1 << 30)   /* of text, JSON, or CBOR without its tensors */                   \
  ROW(graphs, 65536)            /* of a program, itself among them */                              \
  ROW(operators, 8192)          /* declared and derived, of a program or a context */              \
  ROW(args, 65536)              /* inputs of a node; also its outputs */                           \
  ROW(results, 65536)           /* of a node that cuts a tensor into a list of pieces */           \
  ROW(string, 256 * 1024)       /* bytes */                                                        \
  ROW(line, 1 << 20)            /* bytes of a line of text */                                      \
  ROW(op_name, 256)             /* bytes */                                                        \
  ROW(entries, 1000000)         /* of an archive */                                                \
  ROW(entry_name, 1024)         /* bytes */                                                        \
  ROW(tensor_header, 100000000) /* bytes of a safetensors header, as its makers have it */         \
  ROW(slice_nodes, 4096)        /* beyond 4 for each node, where a write goes slice after slice */ \
  ROW(turns, 10000000)          /* bodies that a run enters: loops that never end must end */

typedef struct fnzi_limits {
#define FNZI_LIMIT_FIELD(name, usual) size_t name;
  FNZI_LIMIT_ROWS(FNZI_LIMIT_FIELD)
#undef FNZI_LIMIT_FIELD
} fnzi_limits;

#endif
