/* team.h - threads that share loops (team.c).
 *
 * A team belongs to a machine: one thread at a time uses it. Its helpers start with the first loop
 * and end with the team. If the system refuses a thread there are fewer of them; a process that
 * forked starts its own. NULL is a team of the caller's thread alone. */
#ifndef FNZI_KRN_TEAM_H
#define FNZI_KRN_TEAM_H

#include "base/base.h"

typedef struct fnzi_krn_team fnzi_krn_team;

/* Element `i` of a loop. Lanes are numbered from 0; no two elements have one lane at one time. */
typedef void fnzi_share_fn(const void *user, int64_t i, int lane);
/* Elements `start` to before `end`. */
typedef void fnzi_share_range_fn(const void *user, int64_t start, int64_t end, int lane);

/* NULL for one thread. Fails with NOMEM. */
FNZ_MUST_CHECK fnz_status fnzi_krn_team_create(fnz_context *ctx, int threads, fnzi_krn_team **out);
void fnzi_krn_team_destroy(fnzi_krn_team *team);
/* How many lanes there are, at least 1. */
FNZI_SHARED int fnzi_krn_team_lanes(const fnzi_krn_team *team);
/* Calls body(user, i, lane) once for each i below `count`, in any order, and returns when all calls
 * have. A loop that a body shares runs on the body's thread, with lane 0. */
void fnzi_krn_share(fnzi_krn_team *team, int64_t count, fnzi_share_fn *body, const void *user);
/* The same by ranges of elements, for bodies that cost something to begin with: few for a lane. */
void fnzi_krn_share_ranges(fnzi_krn_team *team, int64_t count, fnzi_share_range_fn *body,
                           const void *user);

#endif
