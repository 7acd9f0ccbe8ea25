/* wrapper.h - functional tensors: values, storages with their trees of aliases, tensors, requests.
 *
 *   tensor --> alias --parent--> alias ... --parent--> root      one tree per storage
 *              (a view: geometry, cached value)
 *
 * A *value* is the backend's, counted here. An *alias* is a view of a storage; the root shows all
 * of it. A write through an alias stores the new value there and marks the alias dirty; nothing
 * else happens. A byte is right in the dirty alias that shows it, else in the pending writes, which
 * are older, else in the root's value. Dirty aliases of a storage share no byte.
 *
 *   value.c, emit.c      count values; call the backend
 *   storage.c            makes and ends aliases, storages, tensors
 *   pending.c            writes that wait to be committed together
 *   freshness.c          which cached values are up to date
 *   regenerate.c         derives the value of an alias from the value of an alias above it
 *   commit.c             writes; puts written values into the root
 *   sync.c               reads
 *   apply.c              a functional operator on tensors
 *   write_*.c            the rules for operators that write
 *   route.c, dispatch.c  choose the action for an operator, and run it
 *
 * Each file uses only files above it. */
#ifndef FNZI_WRAPPER_H
#define FNZI_WRAPPER_H

#include "program/provenance.h"
#include "program/shapes/int.h"
#include "views/views.h"
#include "mutations/mutations.h"
#include "schema/facts/outs.h"
#include "views/composites.h"
#include "views/views.h"

#include <fnz/functionalize.h>
#include <fnz/tensor.h>

/* --- values and aliases ----------------------------------------------------------------------- */
typedef struct fnzi_value_ref {
  fnz_handle handle;
  const fnz_geometry *geometry; /* the backend's */
  struct fnzi_value_ref *rows;  /* a copy in rows, held; NULL: none was made */
  bool is_slice;                /* eager gives a body a window that begins anywhere in its memory */
  uint32_t refs;
} fnzi_value_ref;

/* One call of a view operator, shared by all aliases that it opened (PyTorch: ViewMeta). */
typedef struct fnzi_wrap_view_call {
  const fnzi_view *view;
  fnzi_op_call call; /* args in this block */
  const char *source;
  size_t bytes;          /* of this block */
  const fnzi_node *node; /* of the source program; NULL for none */
  uint32_t refs, count;
  bool derived;                      /* the values of all its windows have been made at once */
  struct fnzi_wrap_alias *aliases[]; /* `count`; NULL where the alias has ended */
} fnzi_wrap_view_call;

typedef struct fnzi_wrap_alias {
  struct fnzi_wrap_storage *storage;
  struct fnzi_wrap_alias *parent; /* NULL for the root */
  fnzi_wrap_view_call *view_call; /* NULL for the root, and for windows of its memory by geometry */
  fnzi_value_ref *value;          /* cached; NULL: never made */
  uint64_t version;               /* of the storage, at which `value` was last known to be right */
  uint64_t written;               /* the version that the last write through this alias made */
  fnzi_int low, high;             /* bytes of the storage from the first element to the last */
  const char *source;             /* of the last write */
  const fnzi_node *writer;        /* the source program's node of the last write */
  const fnzi_node *unread;        /* the same, until the value is read */
  fnz_geometry geometry;          /* eager; arrays in this block */
  size_t bytes;                   /* of this block */
  uint32_t index;                 /* of this window among the windows of its view call */
  uint32_t refs;
  uint32_t input; /* 1 + the input that ends as this alias; 0 for none */
  uint8_t depth;  /* links up to the root, or to an alias whose parent is the root by geometry */
  bool dirty;     /* its value is newer than the root's */
  bool touched;   /* of a watched alias: some write has overlapped it */
  bool repeats;   /* shows some element in several places, or may */
  bool compact;   /* shows every byte from the first to the last once */
} fnzi_wrap_alias;

/* --- storages --------------------------------------------------------------------------------- */
/* The most writes in a log, and dirty aliases of a storage. */
enum { FNZI_LOG = 32, FNZI_MAX_DIRTY = 32 };
/* Chains of views are followed for FNZI_LINKS links; longer ones go by geometry, and for at most
 * FNZI_MOST_LINKS where geometry knows no path. */
enum { FNZI_LINKS = 8, FNZI_MOST_LINKS = 512 };

/* The alias through which versions [first, last] were written. More than one version: through
 * windows of its view call, and each window knows when it was written. */
typedef struct fnzi_wrap_log_entry {
  fnzi_wrap_alias *alias; /* holds a reference */
  uint64_t first, last;
} fnzi_wrap_log_entry;

typedef struct fnzi_wrap_pending fnzi_wrap_pending; /* pending.c */

typedef struct fnzi_wrap_storage {
  struct fnz_wrapper *wrapper;
  fnzi_wrap_alias *root;
  uint64_t version;          /* number of writes */
  uint32_t input, output;    /* 1 + the pass's first that ends on this storage; 0 for none */
  fnzi_wrap_alias **watched; /* aliases whose `touched` writes set; borrowed */
  size_t nwatched;
  uint32_t tensors;        /* on this storage; without any its writes do not matter */
  uint32_t mark;           /* the pass's own */
  uint32_t tied;           /* the group of storages that are one memory at some sizes; 0 for none */
  bool is_slice;           /* of a body's input: in eager its memory begins before the root */
  bool in_gaps;            /* an as_strided shows bytes between the root's elements */
  bool is_loose;           /* at some sizes its elements lie in another order than its root says */
  bool regrouped;          /* a reshape() or the like took that order for granted */
  fnzi_ints_node loose_at; /* the node that decides the order */
  /* The operator of a node with regions, or NULL. */
  const char *maybe_aliased; /* it may be the memory of another storage: it is not written */
  const char *poisoned;      /* its content is not known: it is not read */
  struct {
    fnzi_wrap_alias **data;
    size_t count, capacity;
  } dirty;                    /* oldest first; each holds a reference */
  fnzi_wrap_pending *pending; /* older writes; NULL for none */
  struct {
    fnzi_wrap_log_entry *data;
    size_t count, capacity;
  } log;         /* a ring of at most FNZI_LOG entries */
  size_t newest; /* its place in the ring */
} fnzi_wrap_storage;

struct fnz_tensor {
  struct fnz_wrapper *wrapper;
  fnzi_wrap_alias *alias;
  uint32_t refs;
  uint32_t input, output;     /* 1 + the input, the output that is this tensor; 0 for none */
  fnz_tensor *before, *after; /* all tensors of the wrapper */
};

/* --- routes ----------------------------------------------------------------------------------- */
/* The action for an operator, found once per operator. */
typedef enum fnzi_wrap_action {
  FNZI_ACTION_UNKNOWN = 0,
  FNZI_ACTION_FUNCTIONAL,
  FNZI_ACTION_VIEW,
  FNZI_ACTION_COMPOSITE,
  FNZI_ACTION_INPLACE_VIEW,
  FNZI_ACTION_WRITE,
  FNZI_ACTION_REFUSED
} fnzi_wrap_action;

typedef struct fnzi_wrap_route {
  const fnz_op *op; /* NULL: not found yet */
  fnzi_wrap_action action;
  fnzi_mutation_kind mutation;
  const fnzi_view *view; /* NULL, or the row of views.def */
  const fnzi_composite_row *composite;
  const fnz_op *twin; /* of an operator that writes: fnzi_mutation_twin() */
  bool keeps_written; /* it writes arguments that are not among its results */
  bool same_indices; /* the twin's parameters have the same indices as the operator's of equal names
                      */
  bool uncast;       /* fnzi_op_uncast() of its twin, of itself without one */
  bool one_number;   /* it takes the one element of a tensor */
  bool by_memory;    /* it sees the memory of its argument, its functional form a value */
  fnzi_out_rule out_rule; /* fnzi_out_rule_of() its twin */
} fnzi_wrap_route;

/* Programs have few operators: a route is stored at the place of its operator modulo FNZI_ROUTES,
 * or at one of the next FNZI_ROUTES_NEAR. */
enum { FNZI_ROUTES = 512, FNZI_ROUTES_NEAR = 8 };

/* --- the wrapper, and requests ---------------------------------------------------------------- */
/* Overlapping writes may make at most so many nodes for each of the program. */
enum { FNZI_NODES_FOR_ONE = 4 };

/* A copy and the tensor that it was made of, which is the copy itself at some sizes: reshape() and
 * contiguous() copy or do not. Roots, held. */
typedef struct fnzi_wrap_tie {
  fnzi_wrap_alias *copy, *of;
  fnzi_ints_node node; /* that made the copy */
} fnzi_wrap_tie;

struct fnz_wrapper {
  fnz_context *ctx;
  fnz_backend *backend;
  fnz_views views;
  fnzi_ints *ints;         /* NULL but for passes whose sizes may be expressions */
  fnzi_arena scratch;      /* emptied when a call of the public interface ends */
  fnzi_blocks blocks;      /* of values, aliases, storages, tensors */
  fnzi_wrap_route *routes; /* FNZI_ROUTES of them, kept by the context */
  fnzi_emitter emitter;
  const char *source; /* of the operator that is being called */
  int64_t *slack;     /* nodes that overlapping writes may still make; NULL: no bound */
  bool autocast;      /* the backend casts the arguments of functional operators */
  fnzi_why why;       /* why the next node is recorded */
  fnzi_notes *notes;  /* notes about the program that is made; NULL for none */
  struct {
    fnzi_value_ref **data;
    size_t count, capacity;
  } fresh; /* values that the wrapper holds until the call ends */
  fnz_tensor *tensors;
  struct {
    fnzi_wrap_tie *data;
    size_t count, capacity;
  } ties;
};

typedef struct fnzi_wrap_request fnzi_wrap_request;

typedef struct fnzi_wrap_tensors {
  fnz_tensor **data; /* each holds a reference */
  size_t count, capacity;
} fnzi_wrap_tensors;

/* Calls that a write rule leaves to the dispatcher, which runs them one after the other: `count`
 * calls of `op`; make() finds the arguments of the k-th. */
typedef struct fnzi_wrap_parts {
  size_t count;
  fnz_status (*make)(fnz_wrapper *wrapper, const fnzi_wrap_request *whole, size_t k,
                     fnzi_wrap_request *part);
  const fnz_op *op;
  const fnz_arg *args;        /* the source of the parts' arguments */
  const fnz_geometry *target; /* of slices along `dim` */
  uint32_t dim;
} fnzi_wrap_parts;

/* An operator call on its way through the wrapper. Arguments hold fnz_tensor pointers. */
struct fnzi_wrap_request {
  const fnz_op *op;
  const fnz_arg *args;                 /* op->nparams of them */
  const fnz_geometry *const *expected; /* per tensor result, lists flattened; NULL if not known */
  size_t nexpected;
  bool is_slice;          /* a slice of a call that eager has accepted as a whole */
  fnzi_wrap_parts parts;  /* run when the rule has returned */
  fnzi_wrap_tensors out;  /* results; in the wrapper's scratch */
  fnzi_wrap_tensors held; /* arguments made for this call; in the scratch */
};

/* --- value.c ---------------------------------------------------------------------------------- */
/* Moves `handle` into a counted value at the end of wrapper->fresh; NULL for handle 0. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_value_take(fnz_wrapper *wrapper, fnz_handle handle);
fnzi_value_ref *fnzi_wrap_value_hold(fnzi_value_ref *value);
void fnzi_wrap_value_drop(fnz_wrapper *wrapper, fnzi_value_ref *value);
/* Drops wrapper->fresh and empties the scratch; the public interface calls it when it returns. */
void fnzi_wrap_release(fnz_wrapper *wrapper);
/* The value becomes the alias's, right as of the storage's version. */
void fnzi_wrap_alias_set_value(fnzi_wrap_alias *alias, fnzi_value_ref *value);

/* --- emit.c ----------------------------------------------------------------------------------- */
void fnzi_wrap_start_emitter(fnz_wrapper *wrapper);
/* Results of the functional operator as values: wrapper->fresh[*first ...], *count of them, NULL
 * for undefined ones. `args` hold handles. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_apply_values(fnz_wrapper *wrapper, fnzi_op_call call,
                                                 const fnz_geometry *const *expected,
                                                 size_t nexpected, size_t *first, size_t *count);
/* One of the operators of views/steps.h with one result. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_emit_one(fnz_wrapper *wrapper, fnzi_emit_op op,
                                             const fnz_arg *args, size_t nargs,
                                             const fnz_geometry *result, fnzi_value_ref **out);
/* A value of this geometry that has one number everywhere. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_emit_full(fnz_wrapper *wrapper, const fnz_geometry *result,
                                              fnz_arg number, fnzi_value_ref **out);
fnzi_emitted fnzi_wrap_emitted_of(const fnzi_value_ref *v);
/* The counted value of an emitted one: a fresh one, or `start` that it began with. */
fnzi_value_ref *fnzi_wrap_value_emitted(fnz_wrapper *wrapper, fnzi_emitted e,
                                        fnzi_value_ref *start);

/* --- storage.c -------------------------------------------------------------------------------- */
/* A tensor with a storage of its own. `geometry` NULL takes the value's. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_tensor_new(fnz_wrapper *wrapper, const fnz_geometry *geometry,
                                               fnzi_value_ref *value, fnz_tensor **out);
/* Another tensor on an alias. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_tensor_on(fnz_wrapper *wrapper, fnzi_wrap_alias *alias,
                                              fnz_tensor **out);
/* The tensor moves to another alias. */
void fnzi_wrap_tensor_move(fnz_tensor *tensor, fnzi_wrap_alias *alias);
/* Windows that a view operator opens on `base`: *count aliases, each with one reference for the
 * caller. A window of the same geometry as its base is the base itself. The parent of as_strided's
 * windows is the root, because they may show more than their base. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_alias_open(fnzi_wrap_alias *base, const fnzi_view *view,
                                               const fnzi_op_call *call, fnzi_wrap_alias ***out,
                                               size_t *count);
/* A window of the root's memory without a view call: its value is regenerated by geometry alone. It
 * shows no byte outside of the root (BOUNDS). The root itself when it is equal. One reference for
 * the caller. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_alias_window(fnz_wrapper *wrapper, fnzi_wrap_alias *root,
                                                 const fnz_geometry *window, fnzi_wrap_alias **out);
/* The storage gets a larger root; the old one becomes a window of it. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_storage_grow(fnzi_wrap_alias *old_root,
                                                 const fnz_geometry *geometry,
                                                 fnzi_value_ref *value);
fnzi_wrap_alias *fnzi_wrap_alias_retain(fnzi_wrap_alias *alias);
void fnzi_wrap_alias_release(fnzi_wrap_alias *alias);
/* Ties the storages of two tensors, and all that are tied to either. A write to one of them is
 * refused as long as another one can be read. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_tie_tensors(fnz_wrapper *wrapper, const fnz_tensor *copy,
                                                const fnz_tensor *of);
/* Refuses a change of the sizes in which such a tensor shows its elements. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_refuse_tied(const fnzi_wrap_alias *target);
/* Refuses a write to what another tensor may show, too, at some sizes. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_refuse_shared(const fnzi_wrap_alias *target);
/* At sizes at which `copy` is a view, its elements may lie in another order. Results of elementwise
 * operators on it have the same order. */
void fnzi_wrap_loosen(fnz_tensor *copy, fnzi_ints_node at);
void fnzi_wrap_ties_end(fnz_wrapper *wrapper);
/* *out: a tie of a group in which two storages end as memory of the caller, as inputs or results of
 * the program do; NULL for none. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_ties_leave(fnz_wrapper *wrapper, const fnzi_wrap_tie **out);

/* --- sync.c, commit.c ------------------------------------------------------------------------- */
/* The value of an alias as of now; borrowed from it. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_read(fnzi_wrap_alias *alias, fnzi_value_ref **out);
/* The value of a dense root as one dimension in memory order, whose geometry is `flat`. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_read_flat(fnzi_wrap_alias *root, const fnz_geometry *flat,
                                              fnzi_value_ref **out);
/* The alias gets a new value. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_write(fnzi_wrap_alias *alias, fnzi_value_ref *value);

static inline fnz_status fnzi_wrap_read_tensor(fnz_tensor *t, fnzi_value_ref **out) {
  return fnzi_wrap_read(t->alias, out);
}
static inline const fnz_geometry *fnzi_wrap_root_geometry(const fnz_tensor *t) {
  return &t->alias->storage->root->geometry;
}

/* --- apply.c ---------------------------------------------------------------------------------- */
/* The functional operator applied to the values of tensors; results are new tensors. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_apply_functional(fnz_wrapper *wrapper,
                                                     fnzi_wrap_request *request);
/* The arguments with current values in place of tensors. In the wrapper's scratch. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_read_args(fnz_wrapper *wrapper, const fnz_arg *args,
                                              size_t nargs, fnz_arg **out);
/* The tensors among the arguments, in order; `args` may hold lists. In the wrapper's scratch. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_tensor_args(fnz_wrapper *wrapper, const fnz_arg *args,
                                                size_t nargs, fnz_tensor ***out, size_t *count);
/* Appends a result: a tensor (NULL, undefined), a new one on an alias, a new one around a value. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_give(fnz_wrapper *wrapper, fnzi_wrap_request *request,
                                         fnz_tensor *tensor);
FNZ_MUST_CHECK fnz_status fnzi_wrap_give_alias(fnz_wrapper *wrapper, fnzi_wrap_request *request,
                                               fnzi_wrap_alias *alias);
FNZ_MUST_CHECK fnz_status fnzi_wrap_give_fresh(fnz_wrapper *wrapper, fnzi_wrap_request *request,
                                               fnzi_value_ref *value);
/* The request holds a tensor, whose reference it takes over, until it ends. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_hold_tensor(fnz_wrapper *wrapper, fnzi_wrap_request *request,
                                                fnz_tensor *tensor);
/* The same for a new tensor around a value. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_hold_fresh(fnz_wrapper *wrapper, fnzi_wrap_request *request,
                                               fnzi_value_ref *value, fnz_tensor **out);
/* Releases the results and the held values. */
void fnzi_wrap_request_end(fnzi_wrap_request *request);

/* --- route.c, rules.c ------------------------------------------------------------------------- */
/* Finds the route of an operator in the tables. */
fnzi_wrap_route fnzi_wrap_route_find(const fnz_op *op);
/* It addresses memory by strides of its own, as as_strided_copy does. */
bool fnzi_wrap_is_by_memory(const fnz_op *op);
/* Like fnzi_wrap_route_find(), but cached in the context. */
fnzi_wrap_route fnzi_wrap_route_of(fnz_wrapper *wrapper, const fnz_op *op);
/* Fails with why the operator is refused, and what to do instead (refused.def). */
FNZ_MUST_CHECK fnz_status fnzi_wrap_refuse_op(const fnz_wrapper *wrapper, const fnz_op *op);

/* --- dispatch.c, write_rules.c ---------------------------------------------------------------- */
/* Runs a request; results are in request->out, and fnzi_wrap_request_end() releases them. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_dispatch(fnz_wrapper *wrapper, fnzi_wrap_request *request);
/* Applies the rule for an operator that writes, which may leave parts to the dispatcher. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_write_request(fnz_wrapper *wrapper, fnzi_wrap_request *request,
                                                  const fnzi_wrap_route *route);
/* TYPE where tensors that must have one element type (facts.def) have not (write_target.c). */
FNZ_MUST_CHECK fnz_status fnzi_wrap_check_tensors_alike(fnz_wrapper *wrapper, const fnz_op *op,
                                                        const fnz_arg *args);

#endif
