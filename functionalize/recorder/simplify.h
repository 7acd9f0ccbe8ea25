/* simplify.h - a peephole optimizer over the tape, as its files share it.
 *
 * A *fact* is what is known of a value that a view or a scatter gave:
 *
 *   SAME          it equals its base, in elements and layout: its uses become uses of the base
 *   VIEW_OF       it shows a window of its base
 *   SCATTER_INTO  it equals its base outside of a window, which shows another value
 *
 * Windows are geometries in the *frame* of a value: its own dense, row-major memory or, for views
 * that share memory, its geometry as it is. */
#ifndef FNZI_SIMPLIFY_H
#define FNZI_SIMPLIFY_H

#include "functionalize/recorder/tape.h"
#include "views/views.h"
#include "views/views.h"

/* The most scatters in a row that are searched for a window. */
enum { FNZI_REC_SCATTER_HOPS = 16 };

typedef enum fnzi_rec_fact_kind {
  FNZI_FACT_SAME,
  FNZI_FACT_VIEW_OF,
  FNZI_FACT_SCATTER_INTO
} fnzi_rec_fact_kind;

/* From the first element to behind the last; not known if low > high. */
typedef struct fnzi_rec_span {
  int64_t low, high;
} fnzi_rec_span;
static inline bool fnzi_rec_span_is_known(fnzi_rec_span s) {
  return s.low <= s.high;
}

/* The span of a scatter's window, and of the windows of all scatters in a run, which leads from the
 * result of the scatter down to `start`. */
typedef struct fnzi_rec_reach {
  fnzi_rec_span span, run;
  uint32_t start; /* the base of the run's first scatter */
} fnzi_rec_reach;

typedef struct fnzi_rec_fact {
  const fnz_geometry *window;  /* of VIEW_OF in the base's frame; of SCATTER_INTO in the result's */
  const fnzi_rec_reach *reach; /* of SCATTER_INTO */
  uint32_t value, base;        /* values of the tape, as in its `values` */
  uint32_t source;             /* of SCATTER_INTO: the value in the window */
  uint32_t uses, rebasable;    /* uses that count, and how many of them another base would serve */
  uint32_t next;               /* of VIEW_OF: the next place + 1 in its bucket */
  uint8_t kind;
  bool real;         /* of VIEW_OF: it shares memory with its base */
  bool walked, dies; /* of SCATTER_INTO: inside of a run; of a run that becomes one node */
} fnzi_rec_fact;

/* A change of a node to another base, after which it does not use `from`. */
typedef struct fnzi_rec_rebase {
  uint32_t node, from, base;
  bool free; /* neither view costs anything: the node is changed in any case */
  const fnz_op *op;
  fnz_arg *args; /* the first is filled in later; NULL: only the base changes */
} fnzi_rec_rebase;

typedef enum fnzi_rec_op_class {
  FNZI_REC_OP_UNKNOWN,
  FNZI_REC_OP_OTHER,
  FNZI_REC_OP_VIEW,
  FNZI_REC_OP_SCATTER,
  FNZI_REC_OP_CLONE,
  FNZI_REC_OP_CAST
} fnzi_rec_op_class;

/* An operator as the optimizer sees it. */
typedef struct fnzi_rec_op {
  const fnz_op *op;
  const fnzi_view *view;   /* of a view; of a scatter that of `scattered` */
  const fnz_op *scattered; /* the view through which a scatter writes */
  fnzi_rec_op_class class;
} fnzi_rec_op;
/* Programs use few operators: each is at its place in a small table, or at one of the next few. */
enum { FNZI_REC_OPS = 64, FNZI_REC_OPS_NEAR = 8 };

/* One round of simplifying. */
typedef struct fnzi_rec_simplifier {
  fnzi_rec_tape *tape;
  fnzi_arena *arena;   /* for the round */
  fnzi_arena *scratch; /* for one node, one piece of a run */
  fnz_views views;
  fnzi_rec_op *ops;  /* FNZI_REC_OPS of them, by place in the table */
  uint32_t *fact_at; /* per value: the place + 1 of its fact in `facts`; 0 for none */
  uint32_t *buckets, nbuckets;
  struct {
    fnzi_rec_fact *data;
    size_t count, capacity;
  } facts;
  struct {
    fnzi_rec_rebase *data;
    size_t count, capacity;
  } rebases;
  const fnz_geometry *kept; /* the last window that was copied */
  fnzi_path *path;          /* reused for every search */
  bool changed;
} fnzi_rec_simplifier;

/* --- simplify.c ------------------------------------------------------------------------------- */
/* One round over the nodes that are marked as needed; `wanted` become the values that replace them.
 * When *changed, the caller marks again and may start another round. */
FNZ_MUST_CHECK fnz_status fnzi_rec_simplify(fnzi_rec_tape *tape, fnz_views views,
                                            fnz_handle *wanted, size_t count, bool *changed);

/* --- simplify_facts.c ------------------------------------------------------------------------- */
/* Borrowed until the next call. */
const fnzi_rec_op *fnzi_rec_op_of(fnzi_rec_simplifier *t, const fnz_op *op);
static inline uint32_t fnzi_rec_tape_index(const fnz_arg *arg) {
  return (uint32_t)(arg->u.value - 1);
}
static inline fnzi_rec_fact *fnzi_rec_fact_of(const fnzi_rec_simplifier *t, uint32_t value) {
  return t->fact_at[value] ? &t->facts.data[t->fact_at[value] - 1] : NULL;
}
/* Copies the window. */
FNZ_MUST_CHECK fnz_status fnzi_rec_fact_add(fnzi_rec_simplifier *t, const fnzi_rec_fact *fact);
/* The frame of a value. */
FNZ_MUST_CHECK fnz_status fnzi_rec_simplify_frame(fnzi_rec_simplifier *t, uint32_t value, bool real,
                                                  const fnz_geometry **out);
/* Equal in dtype, sizes, offset, bits and the strides that matter. */
bool fnzi_rec_same_layout(const fnz_geometry *a, const fnz_geometry *b);
/* Replaces `value` by `other` where their layouts, and the program's results, allow it; *done says
 * whether. */
FNZ_MUST_CHECK fnz_status fnzi_rec_simplify_replace(fnzi_rec_simplifier *t, uint32_t node,
                                                    uint32_t value, uint32_t other, bool *done);
/* The value that shows this window of `base` already; FNZI_NO_NODE when there is none. */
uint32_t fnzi_rec_fact_find(const fnzi_rec_simplifier *t, uint32_t base, bool real,
                            const fnz_geometry *window, const fnz_geometry *layout);
/* The one view operator that leads from a frame to a window; NULL when it takes more. */
FNZ_MUST_CHECK fnz_status fnzi_rec_simplify_step(fnzi_rec_simplifier *t, const fnz_geometry *frame,
                                                 const fnz_geometry *window, bool real,
                                                 const fnz_op **op, fnz_arg **args);
/* Offers another base for a node. `args` NULL: its arguments stay, but for the base. */
FNZ_MUST_CHECK fnz_status fnzi_rec_rebase_offer(fnzi_rec_simplifier *t, uint32_t node,
                                                uint32_t from, uint32_t base, const fnz_op *op,
                                                fnz_arg *args);

/* --- simplify_scatters.c ---------------------------------------------------------------------- */
/* *ended: another value has replaced its result. */
FNZ_MUST_CHECK fnz_status fnzi_rec_simplify_scatter(fnzi_rec_simplifier *t, uint32_t node,
                                                    bool *ended);
/* Makes one node of each run of scatters that covers its base. */
FNZ_MUST_CHECK fnz_status fnzi_rec_simplify_runs(fnzi_rec_simplifier *t);

/* --- copies.c --------------------------------------------------------------------------------- */
/* How the copy of a view is expressed in the dialect that keeps views. */
typedef enum fnzi_rec_copy_form {
  FNZI_REC_COPY_STAYS,       /* as it is */
  FNZI_REC_COPY_IS_VIEW,     /* the view */
  FNZI_REC_COPY_CLONES_VIEW, /* the view, and clones of its windows */
  FNZI_REC_COPY_VIEWS_CLONE  /* a clone of the argument, and its view */
} fnzi_rec_copy_form;
typedef struct fnzi_rec_copy {
  fnzi_rec_copy_form form;
  const fnz_op *view;         /* NULL: the node is no copy of a view */
  const fnz_geometry *cloned; /* of VIEWS_CLONE: the clone */
  fnz_geometry *windows;      /* of the view, in the tape's arena */
  size_t count;
} fnzi_rec_copy;
/* The form of a node that is not emitted yet. */
FNZ_MUST_CHECK fnz_status fnzi_rec_copy_find(fnzi_rec_tape *tape, const fnzi_rec_tape_node *node,
                                             const uint8_t *layouts, fnzi_rec_copy *out);
/* The node becomes the view, with the windows of it as results. */
FNZ_MUST_CHECK fnz_status fnzi_rec_copy_become_view(fnzi_rec_tape *tape, fnzi_rec_tape_node *node,
                                                    const fnzi_rec_copy *copy);
/* Makes views of needed nodes that may be views. */
FNZ_MUST_CHECK fnz_status fnzi_rec_copies_become_views(fnzi_rec_tape *tape,
                                                       const fnz_handle *wanted, size_t count,
                                                       bool *changed);

/* --- layouts.c -------------------------------------------------------------------------------- */
typedef enum fnzi_rec_layout {
  FNZI_REC_LAYOUT_UNKNOWN,
  FNZI_REC_LAYOUT_RECORDED, /* in PyTorch the value has its recorded layout */
  FNZI_REC_LAYOUT_NEARLY,   /* but for the strides of dimensions of one element, perhaps */
  FNZI_REC_LAYOUT_OTHER     /* its layout there differs, or that of a value it was made from */
} fnzi_rec_layout;
/* As many windows of view `op` as the node has results, `count` 0 where `base` has none. An
 * operator that counts from the start of the storage needs the base there, in rows. Without
 * elements strides mean nothing. */
FNZ_MUST_CHECK fnz_status fnzi_rec_view_windows(fnzi_rec_tape *tape, const fnzi_rec_tape_node *node,
                                                const fnz_op *op, const fnz_geometry *base,
                                                fnzi_rec_copy *out);
/* Creates a fnzi_rec_layout per value, in the tape's arena, and sets the layouts of inputs. */
FNZ_MUST_CHECK fnz_status fnzi_rec_layouts_start(fnzi_rec_tape *tape, uint8_t **layouts);
/* Sets the layouts of a node's results; call for node after node, before it is emitted. */
FNZ_MUST_CHECK fnz_status fnzi_rec_layouts_add(fnzi_rec_tape *tape, const fnzi_rec_tape_node *node,
                                               uint8_t *layouts);
/* The view is possible for some strides only. */
bool fnzi_rec_goes_by_strides(const fnz_op *view);
/* It looks at the strides of dimensions of one element, too. */
bool fnzi_rec_sees_all_strides(const fnz_op *view);

#endif
