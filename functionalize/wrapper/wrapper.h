/* wrapper.h - the wrapper's inside: values, storages with their trees of views, tensors.
 *
 *   tensor --> alias --parent--> alias ... --parent--> root      one tree per storage
 *              (one window: geometry, cached value)
 *
 * A *value* is the backend's, counted here. An *alias* is a window of a storage; the root is the
 * whole. A write through an alias stores the new value there and marks it dirty; nothing else
 * happens. The truth about a byte is in the dirty alias that has it, else in what has been gathered
 * of older ones, else in the root's value. Dirty aliases of a storage never share a byte.
 *
 * storage.c makes and ends these things; sync.c reads, commit.c and pending.c write through them,
 * by what freshness.c and regenerate.c know; replay.c asks the backend for what a view shows;
 * dispatch.c sends an operator to the rule that applies; write_twin.c, write_foreach.c and
 * write_rules.c have the rules for operators that write. */
#ifndef FNZI_WRAPPER_H
#define FNZI_WRAPPER_H

#include "functionalize/recorder/provenance.h"
#include "views/oracle_log.h"
#include "mutations/mutations.h"
#include "schema/facts/outs.h"
#include "views/composites.h"
#include "views/views.h"

#include <fnz/functionalize.h>
#include <fnz/tensor.h>

typedef struct fnzi_held {
  fnz_handle handle;
  const fnz_geometry *geometry; /* the backend's */
  uint32_t refs;
} fnzi_held;

/* One call of a view operator; all aliases it opened share it. */
typedef struct fnzi_opening {
  const fnzi_view *view;
  const fnz_op *op;
  fnz_arg *args; /* in this block */
  const char *source;
  size_t bytes;
  const fnzi_node *node; /* of the source program, that makes the call; NULL for none */
  uint32_t nargs, refs, count;
  bool derived;               /* the values of all windows were asked for once */
  struct fnzi_alias *nodes[]; /* `count`; NULL where the alias has ended */
} fnzi_opening;

typedef struct fnzi_alias {
  struct fnzi_storage *storage;
  struct fnzi_alias *parent; /* NULL for the root */
  fnzi_opening *opening;     /* NULL for the root, and for windows of the flat memory */
  fnzi_held *value;          /* NULL: never derived */
  uint64_t version;          /* of the storage, when `value` was last known to be right */
  uint64_t written;          /* the version that the last write through this alias made */
  int64_t low, high;         /* bytes of the storage from the first element to the last */
  const char *source;        /* of the last write */
  const fnzi_node *writer;   /* of the source program, that wrote last */
  const fnzi_node *unread;   /* the same, until somebody reads it */
  fnz_geometry geometry;     /* eager; arrays in this block */
  size_t bytes;
  uint32_t index, refs;
  uint32_t input; /* 1 + the input that is there in the end; 0 for none */
  uint8_t depth;  /* links up to the root, or to an alias that hangs at the root by geometry */
  bool dirty;
  bool touched; /* of a watched one: some write has met it */
  bool repeats; /* shows some element in several places, or may */
  bool compact; /* shows every byte from the first to the last once */
} fnzi_alias;

enum { FNZI_LOG = 32, FNZI_MAX_DIRTY = 32 };
/* Chains of views are followed for so many links; longer ones go by geometry, and for more links
 * only where geometry knows no way. */
enum { FNZI_LINKS = 8, FNZI_MOST_LINKS = 512 };

/* Who wrote versions [first, last]. More than one version: windows of `who`'s opening, each of
 * which says itself when it was written. */
typedef struct fnzi_entry {
  fnzi_alias *who; /* holds a reference */
  uint64_t first, last;
} fnzi_entry;

typedef struct fnzi_gathered fnzi_gathered; /* pending.c */

typedef struct fnzi_storage {
  struct fnz_world *world;
  fnzi_alias *root;
  uint64_t version;       /* number of writes */
  uint32_t input, output; /* 1 + the first of the pass that looks at it in the end; 0 for none */
  fnzi_alias **watched;   /* windows that want to know of writes; borrowed */
  size_t nwatched;
  uint32_t tensors; /* that see this storage; the storage's writes matter while there are some */
  uint32_t mark;    /* the pass's own */
  bool in_gaps;     /* as_strided has looked at what lies between the root's elements */
  /* Names of nodes with regions, or NULL. */
  const char *entangled; /* nobody knows what other memory this is: it may not be written */
  const char *unknown;   /* nobody knows what this holds: it may not be read */
  struct {
    fnzi_alias **data;
    size_t count, capacity;
  } dirty;                 /* oldest first; each holds a ref */
  fnzi_gathered *gathered; /* what was dirty before; NULL for nothing */
  struct {
    fnzi_entry *data;
    size_t count, capacity;
  } log;         /* a ring of at most FNZI_LOG entries */
  size_t newest; /* place in the ring */
} fnzi_storage;

struct fnz_tensor {
  struct fnz_world *world;
  fnzi_alias *node;
  uint32_t refs;
  uint32_t input, output;     /* 1 + the input, the output that it is; 0 for none */
  bool metadata_changed;      /* an in-place view, set_ or resize_ moved it to another alias */
  fnz_tensor *before, *after; /* all tensors of the world */
};

/* What to do with an operator, found once per operator. */
typedef enum fnzi_action {
  FNZI_ACTION_UNKNOWN = 0,
  FNZI_ACTION_FUNCTIONAL,
  FNZI_ACTION_VIEW,
  FNZI_ACTION_COMPOSITE,
  FNZI_ACTION_INPLACE_VIEW,
  FNZI_ACTION_WRITE,
  FNZI_ACTION_REFUSED
} fnzi_action;

typedef struct fnzi_route {
  const fnz_op *op; /* NULL: nobody asked yet */
  fnzi_action action;
  fnzi_mutation_kind mutation;
  const fnzi_view *view; /* NULL, or the row of views.def */
  const fnzi_composite_row *composite;
  const fnz_op *twin; /* of an operator that writes: fnzi_mutation_twin() */
  bool same_places;   /* the twin's parameters stand where the operator's of those names do */
  bool idempotent;    /* fnzi_is_idempotent() of its twin */
  bool flat;          /* fnzi_op_is_flat() */
  bool uncast;        /* fnzi_op_uncast() of its twin, of itself without one */
  bool one_number;    /* it takes the one element of a tensor */
  bool by_memory;     /* it sees the memory of its argument, its functional form a value */
  fnzi_out_way way;   /* fnzi_out_way_of() its twin */
} fnzi_route;

/* A program becomes at most so many nodes for each of its own. */
enum { FNZI_NODES_FOR_ONE = 4 };

/* Programs have few operators: a route stands at the place of its operator, modulo this, or at one
 * of the next few. */
enum { FNZI_ROUTES = 512, FNZI_ROUTES_NEAR = 8 };

struct fnz_world {
  fnz_context *ctx;
  fnz_backend *backend;
  fnz_views views;
  fnzi_decisions *decisions; /* NULL but for passes over symbolic programs */
  fnzi_arena scratch;        /* emptied when a call of the public interface ends */
  fnzi_blocks blocks;        /* of what storage.c makes and ends */
  fnzi_route *routes;        /* FNZI_ROUTES of them, kept by the context */
  fnzi_emitter emitter;
  const char *source; /* of the operator that is being called */
  int64_t *slack;     /* nodes left to what overlaps itself; NULL for as many as it takes */
  bool autocast;      /* casts what functional operators get */
  fnzi_why why;       /* of what is being recorded */
  fnzi_asked *asked;  /* notes about the program that is made; NULL for none */
  void (*note_unread)(fnz_context *ctx, fnzi_asked *notes, const fnzi_node *write);
  struct {
    fnzi_held **data;
    size_t count, capacity;
  } fresh; /* values nobody owns yet */
  fnz_tensor *tensors;
};

typedef struct fnzi_request fnzi_request;

typedef struct fnzi_tensors {
  fnz_tensor **data; /* each holds a reference */
  size_t count, capacity;
} fnzi_tensors;

/* Calls that a write rule leaves to the dispatcher, which runs them one after the other: `count`
 * calls of `op`; make() says what arguments the k-th has. */
typedef struct fnzi_parts {
  size_t count;
  fnz_status (*make)(fnz_world *world, const fnzi_request *whole, size_t k, fnzi_request *part);
  const fnz_op *op;
  const fnz_arg *args;        /* what the parts' arguments are made of */
  const fnz_geometry *target; /* of slices along `dim` */
  uint32_t dim;
} fnzi_parts;

/* The value that `write` (NULL for none) wrote was not read, and will not be. */
static inline void fnzi_note_unread(const fnz_world *world, const fnzi_node *write) {
  if (write && world->asked)
    world->note_unread(world->ctx, world->asked, write);
}

/* An operator call on its way through the wrapper. Arguments hold fnz_tensor pointers. */
struct fnzi_request {
  const fnz_op *op;
  const fnz_arg *args;                 /* op->nparams of them */
  const fnz_geometry *const *expected; /* per tensor result, lists flattened; NULL if not known */
  size_t nexpected;
  bool is_slice;     /* a part of a call that eager has accepted as a whole */
  fnzi_parts parts;  /* left to do when the rule has returned */
  fnzi_tensors out;  /* results; in the world's scratch */
  fnzi_tensors held; /* what arguments stand on until the request ends; in the scratch */
};

/* --- dispatch.c ------------------------------------------------------------------------------- */
/* From the tables alone. */
fnzi_route fnzi_route_find(const fnz_op *op);
/* The same, remembered in the context. */
fnzi_route fnzi_route_of(fnz_world *world, const fnz_op *op);
/* Why an operator is refused, and what to do about it (rules.c, refused.def). */
void fnzi_refused(const fnz_op *op, const char **why, const char **remedy);
/* TYPE where tensors that must have one element type (uncast.def) have not. */
FNZ_MUST_CHECK fnz_status fnzi_check_tensors_alike(fnz_world *world, const fnz_op *op,
                                                   const fnz_arg *args);
/* Runs a request; results are in request->out, to be released with fnzi_request_end(). */
FNZ_MUST_CHECK fnz_status fnzi_dispatch(fnz_world *world, fnzi_request *request);
void fnzi_request_end(fnzi_request *request);
/* The functional operator applied to tensors that are read first; results are fresh tensors. */
FNZ_MUST_CHECK fnz_status fnzi_apply_functional(fnz_world *world, fnzi_request *request);
/* Results of the functional operator as values: world->fresh[*first ...], *count of them, NULL for
 * undefined ones. `args` hold handles. */
FNZ_MUST_CHECK fnz_status fnzi_apply_values(fnz_world *world, const fnz_op *op, const fnz_arg *args,
                                            size_t nargs, const fnz_geometry *const *expected,
                                            size_t nexpected, size_t *first, size_t *count);
/* One of the helpers of views/emit.h, applied to handles. */
FNZ_MUST_CHECK fnz_status fnzi_emit_one(fnz_world *world, fnzi_emit_op op, const fnz_arg *args,
                                        size_t nargs, const fnz_geometry *result, fnzi_held **out);
/* The arguments with current values in place of tensors. In the world's scratch. */
FNZ_MUST_CHECK fnz_status fnzi_read_args(fnz_world *world, const fnz_arg *args, size_t nargs,
                                         fnz_arg **out);
/* The tensors among the arguments, in order; `args` may hold lists. In the world's scratch. */
FNZ_MUST_CHECK fnz_status fnzi_tensor_args(fnz_world *world, const fnz_arg *args, size_t nargs,
                                           fnz_tensor ***out, size_t *count);
FNZ_MUST_CHECK fnz_status fnzi_give_alias(fnz_world *world, fnzi_request *request,
                                          fnzi_alias *alias);
/* Appends a result: an existing tensor (or NULL, undefined), or a new one around a value. */
FNZ_MUST_CHECK fnz_status fnzi_give(fnz_world *world, fnzi_request *request, fnz_tensor *tensor);
FNZ_MUST_CHECK fnz_status fnzi_give_fresh(fnz_world *world, fnzi_request *request,
                                          fnzi_held *value);
/* The request holds the tensor, whose reference it takes over, until it ends. */
FNZ_MUST_CHECK fnz_status fnzi_hold_tensor(fnz_world *world, fnzi_request *request,
                                           fnz_tensor *tensor);
/* The same for a new tensor around a value. */
FNZ_MUST_CHECK fnz_status fnzi_hold_fresh(fnz_world *world, fnzi_request *request, fnzi_held *value,
                                          fnz_tensor **out);

/* --- write_rules.c ---------------------------------------------------------------------------- */
FNZ_MUST_CHECK fnz_status fnzi_write_request(fnz_world *world, fnzi_request *request,
                                             const fnzi_route *route);

/* --- storage.c -------------------------------------------------------------------------------- */
/* Moves `handle` into a counted value at the end of world->fresh, which owns it until somebody
 * holds it; NULL for handle 0. */
FNZ_MUST_CHECK fnz_status fnzi_take(fnz_world *world, fnz_handle handle);
fnzi_held *fnzi_hold(fnzi_held *value);
void fnzi_drop(fnz_world *world, fnzi_held *value);
/* Ends what is in world->fresh and the scratch; the public interface calls it when it returns. */
void fnzi_settle(fnz_world *world);

/* A tensor with a storage of its own. `geometry` NULL takes the value's. */
FNZ_MUST_CHECK fnz_status fnzi_tensor_new(fnz_world *world, const fnz_geometry *geometry,
                                          fnzi_held *value, fnz_tensor **out);
/* Another tensor on a node. */
FNZ_MUST_CHECK fnz_status fnzi_tensor_on(fnz_world *world, fnzi_alias *node, fnz_tensor **out);
/* The tensor becomes a window on another node. */
void fnzi_tensor_move(fnz_tensor *tensor, fnzi_alias *node);
/* Windows that a view operator opens on `base`: *count aliases, each with one reference for the
 * caller. A window that shows what its base shows, in the same way, is the base itself. Windows of
 * as_strided hang below the root, because they may show more than their base. */
FNZ_MUST_CHECK fnz_status fnzi_alias_open(fnz_world *world, fnzi_alias *base, const fnzi_view *view,
                                          const fnz_op *op, const fnz_arg *args, size_t nargs,
                                          fnzi_alias ***out, size_t *count);
/* A window of the root's memory that no operator opened: it is derived by geometry alone. It shows
 * no byte outside of the root (BOUNDS). The root itself when it is equal. One reference for the
 * caller. */
FNZ_MUST_CHECK fnz_status fnzi_alias_window(fnz_world *world, fnzi_alias *root,
                                            const fnz_geometry *window, fnzi_alias **out);
/* The storage gets a larger root; the old one becomes a window of it. */
FNZ_MUST_CHECK fnz_status fnzi_storage_grow(fnzi_alias *old_root, const fnz_geometry *geometry,
                                            fnzi_held *value);
fnzi_alias *fnzi_alias_retain(fnzi_alias *node);
void fnzi_alias_release(fnzi_alias *node);
void fnzi_alias_set_value(fnzi_alias *node, fnzi_held *value);

/* What waits is not needed any more (pending.c). */
void fnzi_gathered_forget(fnzi_storage *s);

/* --- replay.c --------------------------------------------------------------------------------- */
void fnzi_world_start_emitter(fnz_world *world);
fnzi_emitted fnzi_emitted_of(const fnzi_held *v);
/* The counted value behind something emitted: made lately, or the one it started from. */
fnzi_held *fnzi_held_of(fnz_world *world, fnzi_emitted e, fnzi_held *start);
/* Asks for all windows of a view call; the values are world->fresh[*first ...]. */
FNZ_MUST_CHECK fnz_status fnzi_replay(fnz_world *world, const fnz_op *op, const fnz_arg *args,
                                      size_t nargs, fnzi_held *base,
                                      const fnz_geometry *const *windows, size_t nwindows,
                                      size_t *first);
FNZ_MUST_CHECK fnz_status fnzi_replay_step(fnz_world *world, const fnzi_view_step *step,
                                           fnzi_held *base, fnzi_held **out);
/* Along the path, without keeping what lies between. */
FNZ_MUST_CHECK fnz_status fnzi_replay_path(fnz_world *world, const fnzi_path *path, fnzi_held *from,
                                           fnzi_held **out);

/* --- sync.c, commit.c ------------------------------------------------------------------------- */
/* The value of a window as of now; borrowed from the node. */
FNZ_MUST_CHECK fnz_status fnzi_read(fnzi_alias *node, fnzi_held **out);
/* The value of a dense root as one dimension in memory order, whose geometry is `flat`. */
FNZ_MUST_CHECK fnz_status fnzi_read_flat(fnzi_alias *root, const fnz_geometry *flat,
                                         fnzi_held **out);
/* The window gets a new value. */
FNZ_MUST_CHECK fnz_status fnzi_write(fnzi_alias *node, fnzi_held *value);

static inline fnz_status fnzi_read_tensor(fnz_tensor *t, fnzi_held **out) {
  return fnzi_read(t->node, out);
}
static inline const fnz_geometry *fnzi_root_geometry(const fnz_tensor *t) {
  return &t->node->storage->root->geometry;
}

#endif
