/* check.h - the state of the plan checker: facts that some bytes hold a value, as if it were stored
 * at some location.
 *
 * It lives as long as fnzi_pln_check(). All memory is in c->p.scratch. Functions fail with NOMEM,
 * or with INTERNAL, step and value if the plan is wrong. */
#ifndef FNZI_PLN_CHECK_H
#define FNZI_PLN_CHECK_H

#include "engine/plan/planner.h"

typedef struct fnzi_pln_known {
  uint32_t value;
  uint32_t last;                         /* node that it may serve last */
  fnzi_pln_location location;            /* where all of the value would be */
  fnzi_pln_bytes bytes;                  /* of the memory; if none are left, the fact is dropped */
  struct fnzi_pln_known *next;           /* of the same value in the same buffer */
  struct fnzi_pln_known *next_in_bucket; /* the next one that has the same number in a table */
} fnzi_pln_known;

/* Facts of one value in one buffer. */
typedef struct fnzi_pln_home {
  uint32_t value, buffer;
  fnzi_pln_known *facts;
  struct fnzi_pln_home *next;           /* of the same value */
  struct fnzi_pln_home *next_in_bucket; /* the next one that has the same number in a table */
} fnzi_pln_home;

typedef struct fnzi_pln_memory fnzi_pln_memory; /* facts by their bytes */

/* For steps that run at once: the step that uses a memory, or several. */
typedef struct fnzi_pln_check_user {
  uint32_t sets, step; /* sets: 1 + the first of the steps; another value: not used by them */
  bool is_shared;
} fnzi_pln_check_user;

typedef struct fnzi_pln_checker {
  fnzi_pln_planner p; /* for the meaning of operators */
  const fnzi_pln_plan *plan;
  fnzi_pln_home **by_value; /* per value; NULL: nothing was ever known of it */
  fnzi_pln_home **homes;    /* by value and buffer, `mask` and 1 of them */
  fnzi_pln_known **facts;   /* by value, buffer and first element: as many */
  size_t mask;
  fnzi_pln_memory *memories; /* per buffer; temporary ones are all in the last one */
  uint32_t arena;            /* index of the last memory */
  uint32_t *last;            /* per value: node that reads it last */
  uint32_t *producer;        /* per value: 1 + the node of a group that makes it; 0 */
  uint32_t step, node;
  fnzi_pln_bytes *images; /* per value: bytes of its location in the plan, if has_image */
  bool *has_image;
  fnzi_pln_check_user *users; /* per memory */
  uint32_t *seen, *ordinals;  /* per value: 1 + the set in which it came up last; as which one */
} fnzi_pln_checker;

/* Allocates memory for facts. */
FNZ_MUST_CHECK fnz_status fnzi_pln_check_open(fnzi_pln_checker *c);
/* Fails with INTERNAL, step and value. */
fnz_status fnzi_pln_check_wrong(const fnzi_pln_checker *c, uint32_t value, const char *what);
uint32_t fnzi_pln_check_memory(const fnzi_pln_checker *c, uint32_t buffer);
/* Computes the bytes of a location in its memory; INTERNAL if it leaves its buffer. */
FNZ_MUST_CHECK fnz_status fnzi_pln_check_image(fnzi_pln_checker *c, uint32_t value,
                                               fnzi_pln_location location, fnzi_pln_bytes *out);
/* Drops all facts about bytes that are written. */
FNZ_MUST_CHECK fnz_status fnzi_pln_forget(fnzi_pln_checker *c, uint32_t memory,
                                          fnzi_pln_bytes written);
FNZ_MUST_CHECK fnz_status fnzi_pln_learn(fnzi_pln_checker *c, uint32_t value, uint32_t last,
                                         fnzi_pln_location location, fnzi_pln_bytes bytes);
/* Returns the facts about the value in this buffer, or NULL if it never was there. */
fnzi_pln_home *fnzi_pln_check_home(const fnzi_pln_checker *c, uint32_t value, uint32_t buffer);
/* Returns the first fact of the list that still holds, and removes dropped facts before it. */
fnzi_pln_known *fnzi_pln_check_first(fnzi_pln_known **list);
/* Computes the bytes of `location` that are known to hold the value. */
FNZ_MUST_CHECK fnz_status fnzi_pln_known_of(fnzi_pln_checker *c, uint32_t value,
                                            fnzi_pln_location location, fnzi_pln_bytes *out);
/* Checks that all of the value is at `location`. */
FNZ_MUST_CHECK fnz_status fnzi_pln_check_holds(fnzi_pln_checker *c, uint32_t value,
                                               fnzi_pln_location location);
FNZ_MUST_CHECK fnz_status fnzi_pln_check_writable(fnzi_pln_checker *c, uint32_t value,
                                                  fnzi_pln_location location);

/* check_kinds.c */
FNZ_MUST_CHECK fnz_status fnzi_pln_check_kinds(fnzi_pln_checker *c);
/* check_group.c */
FNZ_MUST_CHECK fnz_status fnzi_pln_check_group(fnzi_pln_checker *c, const fnzi_pln_step *s);
/* check_sets.c */
FNZ_MUST_CHECK fnz_status fnzi_pln_check_sets(fnzi_pln_checker *c, const fnzi_pln_step *s);

#endif
