/* sharing.h - the memory and strides of the inputs and outputs of a program at its end. Two
 * programs are compared by these.
 *
 * They are known from a run on aliasing memory, or from the signature of a functional program. The
 * signature of a .pt2 file has no field for memory, so from such a program only the strides of
 * outputs are known. */
#ifndef FNZI_VER_SHARING_H
#define FNZI_VER_SHARING_H

#include "run/run.h"

#include <fnz/verify.h>

/* Bytes of a report for the note on what is not compared. */
#define FNZI_VER_NOTE sizeof(((fnz_verify_report *)0)->not_compared)

/* One input or output. Equal pointers are one tensor, or one memory. */
typedef struct fnzi_ver_sight {
  const void *tensor, *memory;  /* NULL: it is no tensor */
  const fnz_geometry *g;        /* NULL: not known */
  const fnz_geometry *recorded; /* of an output that a run shows: that of its value */
  bool may_share;               /* a body gives it, which may hand out memory of its operands */
} fnzi_ver_sight;

typedef struct fnzi_ver_sights {
  const fnz_program *program;
  fnzi_ver_sight *inputs, *results; /* per input of graph 0; per output.K */
  uint32_t *numbers;                /* per output of graph 0: how many results come before it */
  size_t ninputs, nresults;
  bool on_memory;  /* a run shows where inputs lie */
  bool is_said;    /* the signature says where outputs lie; else the run shows it */
  bool is_unknown; /* neither does: only their strides are known */
} fnzi_ver_sights;

/* Some node writes an argument. */
bool fnzi_ver_writes(const fnz_program *program);
/* The signature of the program has state outputs, or says in which memory some output lies. */
bool fnzi_ver_sharing_is_said(const fnz_program *program);
/* Room for what follows. `on_memory`: the program runs on aliasing memory, which shows its inputs
 * and, unless its signature has them, its outputs. */
FNZ_MUST_CHECK fnz_status fnzi_ver_sights_open(fnzi_arena *arena, const fnz_program *program,
                                               bool on_memory, fnzi_ver_sights *out);
/* Takes what the run shows (fnzi_run_see_fn); geometries are copied into the arena. */
FNZ_MUST_CHECK fnz_status fnzi_ver_sights_see(fnzi_arena *arena, fnzi_ver_sights *sights,
                                              const fnzi_run_shown *shown);
/* After the run: fills in facts of the signature. */
FNZ_MUST_CHECK fnz_status fnzi_ver_sights_finish(fnzi_arena *arena, fnzi_ver_sights *sights);
/* For a functional program that was run on memory: outputs that bodies give may be views. */
void fnzi_ver_sights_doubt(fnzi_ver_sights *s);
/* DIFFERENT if an input or output of `b` lies elsewhere than in `a`, or has other strides. If this
 * is not known for one, and `not_compared` is empty, it gets the name and the reason. */
FNZ_MUST_CHECK fnz_status fnzi_ver_sights_compare(fnz_context *ctx, const fnzi_ver_sights *a,
                                                  const fnzi_ver_sights *b,
                                                  char not_compared[FNZI_VER_NOTE]);

#endif
