/* simplify.h - what the files that make less of the tape share.
 *
 * A *sight* is what is known of a value that a view or a scatter gave:
 *
 *   SAME   it is its base, element by element and in the same layout: nobody needs it
 *   SEEN   a window of its base
 *   PUT    its base, but for a window that shows another value
 *
 * Windows are geometries in the *frame* of a value: the value as if it were a root of memory, dense
 * and row-major, or, for views that share memory, as it lies. */
#ifndef FNZI_SIMPLIFY_H
#define FNZI_SIMPLIFY_H

#include "views/oracle_log.h"
#include "functionalize/recorder/tape.h"
#include "views/views.h"

/* Scatters are looked through for so many links. */
enum { FNZI_TIDY_HOPS = 16 };

typedef enum fnzi_sight_kind { FNZI_SIGHT_SAME, FNZI_SIGHT_SEEN, FNZI_SIGHT_PUT } fnzi_sight_kind;

/* From the first element to behind the last; none is known if low > high. */
typedef struct fnzi_span {
  int64_t low, high;
} fnzi_span;
static inline bool fnzi_span_is_known(fnzi_span s) {
  return s.low <= s.high;
}

/* How far a scatter reaches. */
typedef struct fnzi_reach {
  fnzi_span span, run; /* its window's, and that of all from `start` to here */
  uint32_t start;      /* what the first scatter below whose span is known begins with */
} fnzi_reach;

typedef struct fnzi_sight {
  const fnz_geometry *window; /* of SEEN in the frame of the base; of PUT in that of the result */
  const fnzi_reach *reach;    /* of PUT */
  uint32_t value, base;       /* values of the tape, as in its `values` */
  uint32_t source;            /* of PUT: what the window shows */
  uint32_t uses, movable;     /* uses that count, and how many of them could do without it */
  uint32_t next;              /* of SEEN: in its bucket, + 1 */
  uint8_t kind;
  bool real;         /* of SEEN: it shares memory with its base */
  bool walked, dies; /* of PUT: inside of a run; of one that becomes one node */
} fnzi_sight;

/* A node that could be another one over another base, and then would not use `from`. */
typedef struct fnzi_move {
  uint32_t node, from, base;
  bool free; /* neither costs anything: the shorter way is taken, whoever has the other */
  const fnz_op *op;
  fnz_arg *args; /* the first is not written yet; NULL: only the base is another one */
} fnzi_move;

typedef enum fnzi_tidy_class {
  FNZI_TIDY_UNKNOWN,
  FNZI_TIDY_OTHER,
  FNZI_TIDY_VIEW,
  FNZI_TIDY_SCATTER,
  FNZI_TIDY_CLONE,
  FNZI_TIDY_CAST
} fnzi_tidy_class;

/* What is known of an operator. Programs have few of them. */
typedef struct fnzi_tidy_op {
  const fnz_op *op;
  const fnzi_view *view;   /* of a view; of a scatter that of `scattered` */
  const fnz_op *scattered; /* the view through which a scatter writes */
  fnzi_tidy_class class;
} fnzi_tidy_op;
/* Each stands at its place, or at one of the next few. */
enum { FNZI_TIDY_OPS = 64, FNZI_TIDY_NEAR = 8 };

typedef struct fnzi_tidy {
  fnzi_tape *tape;
  fnzi_arena *arena;   /* for the round */
  fnzi_arena *scratch; /* for one node, one piece of a run */
  fnz_views views;
  fnzi_tidy_op *ops; /* FNZI_TIDY_OPS of them, by place in the table */
  uint32_t *notes;   /* by value: its sight + 1 */
  uint32_t *buckets, nbuckets;
  struct {
    fnzi_sight *data;
    size_t count, capacity;
  } sights;
  struct {
    fnzi_move *data;
    size_t count, capacity;
  } moves;
  const fnz_geometry *kept; /* the last window that was copied */
  fnzi_path *path;          /* the one that is being looked for */
  bool changed;
} fnzi_tidy;

/* --- simplify.c ------------------------------------------------------------------------------- */
/* One round over the nodes that are marked as needed; `wanted` become the values they are now.
 * The caller marks again when *changed, and may ask for another round. */
FNZ_MUST_CHECK fnz_status fnzi_tape_tidy(fnzi_tape *tape, fnz_views views, fnz_handle *wanted,
                                         size_t count, bool *changed);

/* Borrowed until the next call. */
const fnzi_tidy_op *fnzi_tidy_op_of(fnzi_tidy *t, const fnz_op *op);

/* --- simplify_facts.c ------------------------------------------------------------------------- */
static inline uint32_t fnzi_tape_index(const fnz_arg *arg) {
  return (uint32_t)(arg->u.value - 1);
}
static inline fnzi_sight *fnzi_sight_of(const fnzi_tidy *t, uint32_t value) {
  return t->notes[value] ? &t->sights.data[t->notes[value] - 1] : NULL;
}
/* Passes at other sizes answer the same. */
static inline bool fnzi_tidy_agreed(const fnzi_tidy *t, uint32_t answer) {
  return fnzi_agreed(t->tape->program->decisions, answer);
}
/* Copies the window. */
FNZ_MUST_CHECK fnz_status fnzi_sight_add(fnzi_tidy *t, const fnzi_sight *sight);
/* The value in its own coordinates. */
FNZ_MUST_CHECK fnz_status fnzi_tidy_frame(fnzi_tidy *t, uint32_t value, bool real,
                                          const fnz_geometry **out);
/* Nobody can tell the two apart, but by who else has them. */
bool fnzi_same_layout(const fnz_geometry *a, const fnz_geometry *b);
/* `value` is `other` from now on, if nobody can tell; *done says whether. */
FNZ_MUST_CHECK fnz_status fnzi_tidy_replace(fnzi_tidy *t, uint32_t node, uint32_t value,
                                            uint32_t other, bool *done);
/* The value that shows this window of `base` already; FNZI_NO_NODE when there is none. */
uint32_t fnzi_tidy_known(const fnzi_tidy *t, uint32_t base, bool real, const fnz_geometry *window,
                         const fnz_geometry *layout);
/* The one view operator that leads from a frame to a window; NULL when it takes more. */
FNZ_MUST_CHECK fnz_status fnzi_tidy_one_step(fnzi_tidy *t, const fnz_geometry *frame,
                                             const fnz_geometry *window, bool real,
                                             const fnz_op **op, fnz_arg **args);
/* `args` NULL: those that it has, but for the base. */
FNZ_MUST_CHECK fnz_status fnzi_tidy_move(fnzi_tidy *t, uint32_t node, uint32_t from, uint32_t base,
                                         const fnz_op *op, fnz_arg *args);

/* --- simplify_scatters.c ---------------------------------------------------------------------- */
/* *ended: another value has taken the place of its result. */
FNZ_MUST_CHECK fnz_status fnzi_tidy_scatter(fnzi_tidy *t, uint32_t node, bool *ended);
/* Runs of scatters that cover their base become one node. */
FNZ_MUST_CHECK fnz_status fnzi_tidy_runs(fnzi_tidy *t);

#endif
