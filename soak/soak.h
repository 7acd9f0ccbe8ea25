/* soak.h - many random programs, by as many threads as wanted: each is named by a seed and its
 * index, which draw it again on every machine. */
#ifndef FNZI_SOAK_H
#define FNZI_SOAK_H

#include "soak/counts.h"
#include "soak/plant.h"
#include "soak/verdicts.h"

#include <fnz/status.h>

#include <stdio.h>

/* One of so many programs is checked thoroughly, and one by the engine; its index decides which. */
enum { FNZI_SOAK_THOROUGH = 8, FNZI_SOAK_ENGINE = 4 };

/* A program that is wrong. Borrowed for the call. `mistake`: of a functional form with a mistake
 * that verification has missed, its text; else NULL. */
typedef struct fnzi_finding {
  uint64_t index;
  const char *kind, *reason, *text, *mistake;
} fnzi_finding;

/* Each has a series of its own, so a seed and an index mean another program. */
typedef enum fnzi_soak_kind {
  FNZI_SOAK_PLAIN,    /* views and writes (soak/programs.h) */
  FNZI_SOAK_SYMBOLIC, /* of unknown sizes (soak/symbolic.h); of checks only dialects */
  FNZI_SOAK_REGIONS,  /* bodies, and state (soak/regions.h) */
  FNZI_SOAK_GIVEN     /* the programs of the options, one after the other, again and again */
} fnzi_soak_kind;

typedef struct fnzi_soak_options {
  uint64_t seed, first, count; /* programs first ... first + count - 1 */
  unsigned checks;             /* one program in eight gets all; others no FNZI_CHECK_THOROUGH and,
                                  of two dialects, one; one plain program in four gets the engine,
                                  which takes as long as all other checks, unless it is the only
                                  check */
  size_t jobs;                 /* threads; 0 and 1: only the caller's */
  size_t most_wrong;           /* to stop after; 0 is 1 */
  bool keep_size;              /* a wrong program is not made smaller */
  fnzi_soak_kind kind;         /* of programs */
  bool plants; /* plants mistakes in functional forms (soak/plant.h), and checks nothing else;
                  reports the first missed mistake of each kind, and none ends the run */
  const fnz_program *const *given; /* `ngiven` of them, of FNZI_SOAK_GIVEN */
  size_t ngiven;
  /* NULL, or called for a wrong program, by one thread at a time. */
  void (*found)(void *user, const fnzi_finding *finding);
  /* NULL, or called after each program with how many are done, by one thread at a time; false ends
   * the run. */
  bool (*progress)(void *user, uint64_t done);
  void *user;
} fnzi_soak_options;

typedef struct fnzi_soak_report {
  fnzi_random_counts drawn;
  uint64_t verdicts[FNZI_VERDICTS];
  uint64_t refusals[FNZ_CLASS_COUNT];       /* of programs that are refused */
  uint64_t keep, strided, thorough, engine; /* programs that got these checks */
  fnzi_soak_kind kind;
  uint64_t draws[FNZI_VERDICTS]; /* of symbolic programs at choices of sizes */
  fnzi_plant_counts plants;
} fnzi_soak_report;

/* Programs from which on every bucket must have something in it. */
enum { FNZI_SOAK_ENOUGH = 20000 };

/* A bucket that is empty, of a run with these checks that was large enough; NULL when there is
 * none. Static. */
const char *fnzi_soak_gap(const fnzi_soak_report *report, unsigned checks);
/* The verdicts that there were, for a person; `prefix` begins each line. */
void fnzi_soak_summary(FILE *to, const char *prefix, const fnzi_soak_report *report);
/* All figures. */
void fnzi_soak_print(FILE *to, const char *prefix, const fnzi_soak_report *report);

/* Fills all of `out`. A program that is wrong is no failure. Fails with NO_MEMORY, IO when no
 * threads can be started, or CANCELLED. */
FNZ_MUST_CHECK fnz_status fnzi_soak_run(const fnzi_soak_options *options, fnzi_soak_report *out);

#endif
