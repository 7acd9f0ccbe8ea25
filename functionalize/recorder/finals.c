/* finals.c - takes the final value of an input apart into writes of windows of the input.
 *
 * A final value may be the old one except in some windows. Then it need not be copied as a whole,
 * and the scatters that make it are not needed for it.
 *
 * needs   a tape that is simplified
 * keeps   the elements: the writes, one after the other, turn the old value into the final one
 * gives   per write the window and its value; no writes where they would move as many bytes as a
 *         copy of all */
#include "base/series.h"
#include "functionalize/recorder/simplify.h"

/* The most views, and scatters below a view, that are looked through, and the most writes that are
 * compared with a window of the old value. */
enum { MOST_VIEWS = 16, MOST_SCATTERS = 16, MOST_COMPARED = 16 };

/* A value that a window is to have. `before` is the value that the memory of `before_at` has when
 * the writes of this item begin; FNZI_NO_NODE: no such value is known. */
typedef struct item {
  uint32_t value, before;
  const fnzi_rec_path *at, *before_at;
  uint32_t by; /* the scatter that writes it; FNZI_NO_NODE for the final value */
} item;

typedef struct finder {
  const fnzi_rec_tape *tape;
  fnzi_arena *arena;
  uint32_t input; /* of the graph */
  const fnzi_rec_path *root;
  struct {
    item *data;
    size_t count, capacity;
  } items; /* a stack: the first to be written is on top */
  struct {
    fnzi_rec_write *data;
    size_t count, capacity;
  } writes;
} finder;

/* --- nodes of the tape ------------------------------------------------------------------------ */
/* The node that makes the value, if that is its only result, in no list, and its base a tensor. */
static const fnzi_rec_tape_node *node_of(const finder *f, uint32_t value) {
  const uint32_t at = f->tape->values.data[value].node;
  const fnzi_rec_tape_node *n = at == FNZI_NO_NODE ? NULL : &f->tape->nodes.data[at];
  if (!n || n->count != 1 || !n->op || fnzi_op_is_custom(n->op) || n->op->returns[0].is_list)
    return NULL;
  return n->op->nparams && n->args[0].tag == FNZ_ARG_VALUE && n->args[0].u.value ? n : NULL;
}

/* The view that the node is, or is a copy of; NULL for other nodes, and for none. */
static const fnz_op *view_of(const fnzi_rec_tape_node *n) {
  if (!n || fnz_op_is_mutating(n->op) || fnzi_view_scattered(n->op))
    return NULL;
  if (fnz_op_is_view(n->op))
    return fnzi_view_find(n->op) ? n->op : NULL;
  return n->op->tags & FNZI_TAG_VIEW_COPY ? fnz_op_member(n->op, FNZ_MEMBER_VIEW) : NULL;
}

/* The view through which the node scatters a tensor; NULL for other nodes, and for none. */
static const fnz_op *scattered_by(const fnzi_rec_tape_node *n) {
  const fnz_op *view = n ? fnzi_view_scattered(n->op) : NULL;
  return view && n->args[1].tag == FNZ_ARG_VALUE && n->args[1].u.value ? view : NULL;
}

/* --- windows ---------------------------------------------------------------------------------- */
/* It shows all of the input's memory in its order, so that places in memory are places in it. */
static bool is_all_in_rows(const finder *f, const fnz_geometry *g) {
  const fnz_geometry *all = f->root->window;
  fnzi_ints *s = f->tape->program->ints;
  return g->dtype == all->dtype && !g->is_conj && !g->is_neg && fnzi_int_lies_in_rows(s, g) &&
         fnzi_int_lies_in_rows(s, all) &&
         fnzi_int_same(fnzi_int_numel(s, g), fnzi_int_numel(s, all));
}

/* The window that a view of `above` opens, in the memory of the input. `args` are the view's from
 * the second on. NULL when it is not known, or shows an element twice. */
static fnz_status enter(finder *f, const fnzi_rec_path *above, const fnz_op *view,
                        const fnz_arg *args, const fnzi_rec_path **out) {
  const fnzi_view *row = fnzi_view_find(view);
  fnzi_rec_path *path;
  fnz_geometry *opened;
  size_t count;
  *out = NULL;
  FNZI_EACH_ARG(each, args, view->nparams - 1u)
    if (fnzi_is_reference(each.arg))
      return FNZ_OK;
  if (!row || (fnzi_view_counts_from_storage(row) && !is_all_in_rows(f, above->window)))
    return FNZ_OK;
  FNZI_NEW(f->arena, 1, &path);
  *path = (fnzi_rec_path){.above = above, .op = view, .length = above->length + 1};
  FNZI_NEW(f->arena, view->nparams, &path->args);
  for (size_t i = 1; i < view->nparams; i++) /* one form, whether a default is written out or not */
    path->args[i] =
        args[i - 1].tag == FNZ_ARG_DEFAULT ? view->params[i].default_value : args[i - 1];
  const fnzi_op_call call = {view, path->args, view->nparams};
  const fnz_status status = fnzi_view_forward((fnzi_int_space){f->tape->program->ints, f->arena},
                                              row, &call, above->window, &opened, &count);
  if (fnzi_is_final(status))
    return status;
  path->window = opened;
  if (status == FNZ_OK && count == 1 && !opened->symbols &&
      fnzi_oracle_relate_self(f->tape->program->ints, opened, FNZI_LITTLE_WORK) == FNZI_DISJOINT)
    *out = path;
  return FNZ_OK;
}

/* The views from the first of `nodes` to the last, the outermost first. */
static fnz_status enter_all(finder *f, const fnzi_rec_path *above,
                            const fnzi_rec_tape_node *const *nodes, size_t count,
                            const fnzi_rec_path **out) {
  *out = above;
  while (count-- > 0 && *out)
    FNZ_TRY(enter(f, *out, view_of(nodes[count]), nodes[count]->args + 1, out));
  return FNZ_OK;
}

/* Walks down views from *value on, to `until` or a value that is no view. */
static size_t walk_views(const finder *f, uint32_t *value, uint32_t until,
                         const fnzi_rec_tape_node *nodes[MOST_VIEWS]) {
  const fnzi_rec_tape_node *n;
  size_t count = 0;
  while (*value != until && count < MOST_VIEWS && view_of(n = node_of(f, *value))) {
    nodes[count++] = n;
    *value = fnzi_rec_tape_index(&n->args[0]);
  }
  return count;
}

/* No write so far reaches the window. */
static bool is_untouched(const finder *f, const fnz_geometry *window) {
  if (f->writes.count > MOST_COMPARED)
    return false;
  for (size_t i = 0; i < f->writes.count; i++) {
    const fnz_geometry *written = f->writes.data[i].path->window;
    const fnzi_relation r = fnzi_oracle_relate(f->tape->program->ints, window, written,
                                               f->root->window, FNZI_LITTLE_WORK);
    if (r != FNZI_DISJOINT)
      return false;
  }
  return true;
}

/* The window has this value when the writes of the item begin: the value is a view of one that the
 * memory is known to have. */
static fnz_status is_there(finder *f, const item *i, bool *out) {
  const fnzi_rec_tape_node *nodes[MOST_VIEWS];
  const fnzi_rec_path *path;
  uint32_t value = i->value;
  const size_t count = walk_views(f, &value, i->before, nodes);
  const fnzi_rec_tape_value *v = &f->tape->values.data[value];
  const bool known = value == i->before;
  *out = false;
  if (!known && !(v->node == FNZI_NO_NODE && v->value == f->input))
    return FNZ_OK;
  FNZ_TRY(enter_all(f, known ? i->before_at : f->root, nodes, count, &path));
  *out = path && fnzi_rec_same_layout(path->window, i->at->window) &&
         (known || is_untouched(f, i->at->window));
  return FNZ_OK;
}

/* --- taking apart ----------------------------------------------------------------------------- */
/* The value may be all that the window shows. */
static bool fits_into(const finder *f, uint32_t value, const fnzi_rec_path *at) {
  const fnz_geometry *g = f->tape->values.data[value].geometry;
  return g && !g->symbols && g->dtype == at->window->dtype && fnzi_same_sizes(g, at->window);
}

/* The item that the scatter which makes `value` writes to its window. *fits: the window is known.
 */
static fnz_status find_written(finder *f, uint32_t value, const fnzi_rec_path *at, item *out,
                               bool *fits) {
  const fnzi_rec_tape_node *n = node_of(f, value);
  *out = (item){.value = fnzi_rec_tape_index(&n->args[1]),
                .before = fnzi_rec_tape_index(&n->args[0]),
                .before_at = at,
                .by = f->tape->values.data[value].node};
  FNZ_TRY(enter(f, at, scattered_by(n), n->args + 2, &out->at));
  *fits = out->at && fits_into(f, out->value, out->at);
  return FNZ_OK;
}

/* Scatters below a view of all elements, into another view of them: x.view(-1)[3] = y. The views
 * above them, *count of them in `nodes`, undo the views below. *at: the window in which they
 * scatter; NULL when there are none. `below`: the value under all of them. */
static fnz_status find_reshaped(finder *f, const item *i, uint32_t scatters[MOST_SCATTERS],
                                size_t *count, const fnzi_rec_path **at, uint32_t *below) {
  const fnzi_rec_tape_node *up[MOST_VIEWS], *down[MOST_VIEWS];
  const fnzi_rec_path *back;
  const size_t nup = walk_views(f, below, FNZI_NO_NODE, up);
  *at = NULL;
  for (*count = 0; *count < MOST_SCATTERS && scattered_by(node_of(f, *below)); ++*count) {
    scatters[*count] = *below;
    *below = fnzi_rec_tape_index(&node_of(f, *below)->args[0]);
  }
  if (!nup || !*count)
    return FNZ_OK;
  const size_t ndown = walk_views(f, below, i->before, down);
  FNZ_TRY(enter_all(f, i->at, down, ndown, at));
  if (!*at)
    return FNZ_OK;
  FNZ_TRY(enter_all(f, *at, up, nup, &back));
  if (!fits_into(f, scatters[0], *at) || !fits_into(f, *below, i->at) || !back ||
      !fnzi_rec_same_layout(back->window, i->at->window))
    *at = NULL;
  return FNZ_OK;
}

/* *done: the scatters below the value, a view, are taken apart. */
static fnz_status take_reshaped(finder *f, const item *i, bool *done) {
  uint32_t scatters[MOST_SCATTERS], below = i->value;
  item written[MOST_SCATTERS];
  const fnzi_rec_path *at;
  size_t count;
  *done = false;
  FNZ_TRY(find_reshaped(f, i, scatters, &count, &at, &below));
  bool fits = at != NULL;
  for (size_t k = 0; k < count && fits; k++)
    FNZ_TRY(find_written(f, scatters[k], at, &written[k], &fits));
  if (!fits)
    return FNZ_OK;
  for (size_t k = 0; k < count; k++)
    FNZI_PUSH(f->tape->ctx, &f->items, written[k]);
  const item rest = {below, i->before, i->at, i->before_at, i->by};
  FNZI_PUSH(f->tape->ctx, &f->items, rest);
  *done = true;
  return FNZ_OK;
}

static fnz_status take_apart(finder *f, const item *i) {
  bool done;
  FNZ_TRY(is_there(f, i, &done));
  if (done)
    return FNZ_OK;
  if (scattered_by(node_of(f, i->value))) {
    item written;
    FNZ_TRY(find_written(f, i->value, i->at, &written, &done));
    if (done) { /* the scatter is taken apart, into its base and its source */
      const item base = {written.before, i->before, i->at, i->before_at, i->by};
      FNZI_PUSH(f->tape->ctx, &f->items, written);
      FNZI_PUSH(f->tape->ctx, &f->items, base);
    }
  } else
    FNZ_TRY(take_reshaped(f, i, &done));
  if (done)
    return FNZ_OK;
  fnzi_rec_write w = {.value = (fnz_handle)i->value + 1, .path = i->at, .source = ""};
  if (i->by != FNZI_NO_NODE) {
    w.source = f->tape->nodes.data[i->by].source;
    w.why = f->tape->program->notes ? &f->tape->whys.data[i->by] : NULL;
  }
  FNZI_PUSH(f->tape->ctx, &f->writes, w);
  return FNZ_OK;
}

/* --- is it worth it? -------------------------------------------------------------------------- */
static fnzi_int bytes_of(const finder *f, const fnz_geometry *g) {
  fnzi_ints *s = f->tape->program->ints;
  return fnzi_int_mul(s, fnzi_int_numel(s, g), fnzi_int_of((int64_t)fnzi_dtype(g->dtype)->bytes));
}

static fnz_status find(finder *f, fnz_handle final, fnzi_rec_writes *out) {
  const fnz_geometry *g = f->root->window;
  if (!g || g->symbols ||
      fnzi_oracle_relate_self(f->tape->program->ints, g, FNZI_LITTLE_WORK) != FNZI_DISJOINT)
    return FNZ_OK;
  const uint32_t value = (uint32_t)(final - 1);
  if (fits_into(f, value, f->root)) {
    const item whole = {.value = value,
                        .before = FNZI_NO_NODE,
                        .at = f->root,
                        .before_at = f->root,
                        .by = FNZI_NO_NODE};
    FNZI_PUSH(f->tape->ctx, &f->items, whole);
    while (f->items.count) {
      const item next = f->items.data[--f->items.count];
      FNZ_TRY(take_apart(f, &next));
      if (f->writes.count && !f->writes.data[0].path->above) /* all of it is written, at first */
        break;
    }
  }
  /* The writes move less than a copy of all does. */
  fnzi_ints *s = f->tape->program->ints;
  fnzi_int sum = {0};
  for (size_t i = 0; i < f->writes.count; i++)
    sum = fnzi_int_add(s, sum, bytes_of(f, f->writes.data[i].path->window));
  if (!f->writes.count || !fnzi_int_is_less(s, sum, bytes_of(f, f->root->window)))
    return FNZ_OK;
  FNZI_NEW(f->arena, f->writes.count, &out->data);
  memcpy(out->data, f->writes.data, f->writes.count * sizeof *out->data);
  out->count = f->writes.count;
  return FNZ_OK;
}

fnz_status fnzi_rec_final_find(const fnz_backend *recorder, uint32_t input, fnz_handle final,
                               fnzi_arena *arena, fnzi_rec_writes *out) {
  const fnzi_rec_tape *r = recorder->self;
  fnzi_rec_path *root;
  *out = (fnzi_rec_writes){NULL, 0};
  FNZI_NEW(arena, 1, &root);
  root->window = fnzi_value_at(r->program, r->graph, input)->geometry;
  finder f = {.tape = r, .arena = arena, .input = input, .root = root};
  const fnz_status status = find(&f, final, out);
  FNZI_VEC_FREE(r->ctx, &f.items);
  FNZI_VEC_FREE(r->ctx, &f.writes);
  return status;
}
