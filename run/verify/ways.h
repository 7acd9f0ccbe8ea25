/* ways.h - which ways the predicates of two programs go, over hashes.
 *
 * A hash decides each predicate, so two programs go the same ways if their predicates are equal.
 * One bit of a hash is also equal by chance. So each predicate is turned once in both programs: a
 * program that decides by another predicate then goes another way than the original. */
#ifndef FNZI_VER_WAYS_H
#define FNZI_VER_WAYS_H

#include "run/run.h"

/* A predicate that a run has met: it is turned in one of the next runs, with all that were turned
 * in the run that met it. */
typedef struct fnzi_ver_way {
  size_t turned_with; /* an earlier entry of the list; 0 for none */
  const fnz_program *program;
  uint32_t graph, node;
} fnzi_ver_way;

typedef struct fnzi_ver_ways {
  fnz_context *ctx;
  struct {
    fnzi_ver_way *data; /* [0]: no predicate is turned */
    size_t count, capacity;
  } list;
  fnzi_arena arena;
  fnzi_map known; /* predicate -> entry, 0 for those for which there is no run left */
  size_t current; /* the entry that is turned */
  size_t met;     /* predicates */
} fnzi_ver_ways;

/* fnzi_ver_ways_close() must follow, also after a failure. */
FNZ_MUST_CHECK fnz_status fnzi_ver_ways_open(fnzi_ver_ways *ways, fnz_context *ctx);
void fnzi_ver_ways_close(fnzi_ver_ways *ways);
/* Both programs run with the first entry, then with the next one, until this returns false. */
bool fnzi_ver_ways_next(fnzi_ver_ways *ways);
/* A fnzi_run_decide_fn of `ways`. */
fnzi_run_decide_fn fnzi_ver_ways_decide;
/* " when the predicate of node 3 (cond ...) is turned"; "" for the first entry. */
void fnzi_ver_ways_text(const fnzi_ver_ways *ways, char out[240]);

#endif
