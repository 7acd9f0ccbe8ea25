/* branches.h - decides the predicates of two programs that run over hashes.
 *
 * A bit of the hash decides each predicate, so two programs take the same branches if their
 * predicates are equal. But one bit of two different hashes is equal by chance in half of all
 * cases. So each predicate is flipped once in both programs: a program that decides by another
 * predicate then takes another branch than the original. */
#ifndef FNZI_VER_BRANCHES_H
#define FNZI_VER_BRANCHES_H

#include "run/run.h"

/* A predicate that a run has met. It is flipped in one of the next runs, together with the
 * predicates that were flipped in the run that met it. */
typedef struct fnzi_ver_branch {
  size_t flipped_with; /* an earlier entry of the list; 0 for none */
  const fnz_program *program;
  uint32_t graph, node;
} fnzi_ver_branch;

typedef struct fnzi_ver_branches {
  fnz_context *ctx;
  struct {
    fnzi_ver_branch *data; /* [0]: no predicate is flipped */
    size_t count, capacity;
  } list;
  fnzi_arena arena;
  fnzi_map known; /* predicate -> its entry; 0 if no run is left for it */
  size_t current; /* the entry that is flipped in this run */
  size_t met;     /* count of predicates */
} fnzi_ver_branches;

/* Call fnzi_ver_branches_close() afterwards, also after a failure. */
FNZ_MUST_CHECK fnz_status fnzi_ver_branches_open(fnzi_ver_branches *branches, fnz_context *ctx);
void fnzi_ver_branches_close(fnzi_ver_branches *branches);
/* Goes to the next entry; false after the last one. Run both programs for each entry. */
bool fnzi_ver_branches_next(fnzi_ver_branches *branches);
/* A fnzi_run_decide_fn of `branches`. */
fnzi_run_decide_fn fnzi_ver_branches_decide;
/* Writes ", if the predicate of node 3 (cond ...) is flipped"; "" for the first entry. */
void fnzi_ver_branches_text(const fnzi_ver_branches *branches, char out[240]);

#endif
