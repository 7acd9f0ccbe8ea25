/* dot.h - what a picture of a program shows beside its nodes. */
#ifndef FNZI_DOT_H
#define FNZI_DOT_H

#include "program/program.h"

/* A node of a graph reads elements that an earlier node of it has written, by another value than
 * the result of that node. */
typedef struct fnzi_dot_sight {
  uint32_t writer, reader; /* `reader` FNZI_NO_NODE: output number `output` of the graph */
  uint32_t output;
} fnzi_dot_sight;

typedef struct fnzi_dot_sights {
  fnzi_dot_sight *data;
  size_t count, capacity;
} fnzi_dot_sights;

enum {
  FNZI_DOT_USES = 1024, /* later uses of a memory that are looked at for a writer */
  FNZI_DOT_SIGHTS = 16  /* the most sights of a writer: more would be unreadable */
};
/* Appends the sights of a graph, writer after writer. */
FNZ_MUST_CHECK fnz_status fnzi_dot_sights_find(fnz_context *ctx, const fnz_program *p,
                                               uint32_t graph, fnzi_dot_sights *out);

#endif
