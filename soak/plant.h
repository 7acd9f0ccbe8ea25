/* plant.h - does verification find mistakes? A mistake of a named kind is made in the functional
 * form of a program, and fnz_verify(), which compares the two as the command does, must say that
 * they differ. A mistake that it does not see must be excused by something that it has no part in:
 * the two functional forms are the same expressions, or no run over numbers tells them apart. */
#ifndef FNZI_SOAK_PLANT_H
#define FNZI_SOAK_PLANT_H

#include <fnz/fnz.h>

#include <stdio.h>

typedef enum fnzi_plant_kind {
#define PLANT(id, name, plant, excuse) FNZI_PLANT_##id,
#include "soak/plants.def"
#undef PLANT
  FNZI_PLANTS
} fnzi_plant_kind;

/* "two draws became one". Static. */
const char *fnzi_plant_name(size_t kind);

/* The fate of a mistake. Columns: enum, how a table calls it. */
#define FNZI_FATE_ROWS(ROW)                                                                        \
  ROW(DIFFERENT, "found")                                                                          \
  ROW(REFUSED, "refused") /* by name, as no program that works: that is found, too */              \
  ROW(SAME, "same")       /* the same expressions, without nodes that nothing needs, */            \
                          /* also after both were functionalized again */                          \
  ROW(ALIKE, "alike")     /* FNZI_PLANT_RUNS runs over numbers and draws tell nothing apart */     \
  ROW(UNRUN, "unrun")     /* none of them came to an end: nothing is known */                      \
  ROW(OPEN, "open")       /* the report says that verification has not compared such a thing */    \
  ROW(MISSED, "missed")

typedef enum fnzi_fate {
#define FNZI_FATE_ENUM(id, name) FNZI_FATE_##id,
  FNZI_FATE_ROWS(FNZI_FATE_ENUM)
#undef FNZI_FATE_ENUM
      FNZI_FATES
} fnzi_fate;

enum { FNZI_PLANT_RUNS = 24, FNZI_PLANT_MOST_NODES = 2000, FNZI_PLANT_MOST_ELEMENTS = 1 << 20 };

/* The fates of all mistakes of each kind. */
typedef struct fnzi_plant_counts {
  uint64_t fates[FNZI_PLANTS][FNZI_FATES];
  uint64_t programs, left_out; /* left out: not functionalized, not equal by itself, or too long */
} fnzi_plant_counts;
void fnzi_plant_counts_add(fnzi_plant_counts *to, const fnzi_plant_counts *from);
/* The fates of all mistakes together; `prefix` begins each line. */
void fnzi_plant_summary(FILE *to, const char *prefix, const fnzi_plant_counts *counts);
/* The fates of each kind of mistake. */
void fnzi_plant_print(FILE *to, const char *prefix, const fnzi_plant_counts *counts);

/* Makes mistakes; one per thread. */
typedef struct fnzi_planter {
  fnz_context *ctx;
  fnz_backend *cpu;
  fnz_generator *draws;
  int only;                 /* a kind, at all of its places; -1: each kind, at one place */
  fnzi_plant_counts counts; /* the caller may empty them */
  /* These are of the program at hand. */
  const fnz_program *original, *against; /* against: what its functional form is compared with */
  fnz_program *functional;
  fnz_program *copy;   /* of the functional form, as it is read from its text */
  fnz_program *same;   /* such a copy, where it is `against` */
  fnz_program *simple; /* functionalized once more; NULL: not yet, or that fails */
  fnz_buffer text;     /* of the functional form */
  /* The first mistake of the program that was missed. */
  fnzi_plant_kind missed;
  char what[256];   /* the change */
  fnz_buffer wrong; /* the functional form with the mistake, as text */
} fnzi_planter;

/* fnzi_planter_destroy() must follow, also after a failure. */
FNZ_MUST_CHECK fnz_status fnzi_planter_create(fnz_context *ctx, fnzi_planter **out);
void fnzi_planter_destroy(fnzi_planter *planter);

/* Makes one mistake of each kind for which the functional form of `p` has a place. `seed` decides
 * which of several places it is, and whatever the place leaves open. *missed: verification has
 * missed one. A program that cannot be functionalized is no failure. */
FNZ_MUST_CHECK fnz_status fnzi_planter_try(fnzi_planter *planter, const fnz_program *p,
                                           uint64_t seed, bool *missed);

#endif
