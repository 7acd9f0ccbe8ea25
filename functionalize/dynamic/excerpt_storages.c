/* excerpt_storages.c - which values of a program share memory, and which storages are used alike.
 *
 * needs   a verified program with symbols
 * keeps   the order of nodes: uses are compared in it
 * gives   storages. Storages whose uses are equal, node by node, with equal symbolic sizes, form a
 *         class, and the first of each class is kept; storages that are used alike at all sizes
 *         are not kept */
#include "functionalize/dynamic/excerpt.h"
#include "functionalize/pass/aliased_inputs.h"
#include "functionalize/wrapper/wrapper.h"

enum { NONE = -1 };

/* --- roles ------------------------------------------------------------------------------------ */
static bool writes_in_place(const fnzi_wrap_route *route) {
  return route->mutation == FNZI_MUTATION_TWIN && route->op->kind == FNZI_KIND_INPLACE;
}

/* A normalization that leaves running statistics alone. */
static bool leaves_statistics(const fnzi_node *node, const fnzi_wrap_route *route) {
  enum { TRAINING = 5 };
  return (route->mutation == FNZI_MUTATION_BATCH_NORM ||
          route->mutation == FNZI_MUTATION_INSTANCE_NORM) &&
         node->args[TRAINING].tag == FNZ_ARG_BOOL && !node->args[TRAINING].u.i;
}

/* A copy does not count as computing but as a view, because the pass looks through copies of
 * copies. */
static bool is_computing(const fnzi_wrap_route *route) {
  const fnz_op *op = route->op;
  return route->action == FNZI_ACTION_FUNCTIONAL && !route->one_number && !route->by_memory &&
         !fnzi_op_is_copy(op) && !fnzi_view_find(op) && !fnzi_view_scattered(op);
}

static bool takes_tensors(const fnzi_node *node) {
  FNZI_EACH_ARG(each, node->args, node->nargs)
    if (each.arg->tag == FNZ_ARG_VALUE)
      return true;
  return false;
}

static bool gives_other_than_tensors(const fnzi_node *node) {
  FNZI_EACH_ARG(each, node->outputs, node->noutputs)
    if (fnzi_is_reference(each.arg) && each.arg->tag != FNZ_ARG_VALUE)
      return true;
  return false;
}

/* false: the role of the node is not known. In-place views change what other nodes see of a
 * value. */
static bool find_role(const fnzi_node *node, uint8_t *role) {
  *role = FNZI_NODE_NUMBERS;
  if (fnzi_is_size_node(node))
    return true;
  if (!node->op || node->op->view_of != FNZI_NO_OP || gives_other_than_tensors(node))
    return false;
  *role = FNZI_NODE_ASSERTS;
  if (node->noutputs == 0 && !takes_tensors(node))
    return true;
  const fnzi_wrap_route route = fnzi_wrap_route_find(node->op);
  if (route.action == FNZI_ACTION_REFUSED || route.action == FNZI_ACTION_UNKNOWN)
    return false;
  *role = FNZI_NODE_VIEWS;
  if (is_computing(&route) || leaves_statistics(node, &route))
    *role = FNZI_NODE_COMPUTES;
  else if (writes_in_place(&route))
    *role = FNZI_NODE_WRITES;
  return true;
}

static bool find_roles(fnzi_storages *s) {
  for (size_t n = 0; n < s->graph->nodes.count; n++)
    if (!find_role(&s->graph->nodes.data[n], &s->roles[n]))
      return false;
  return true;
}

/* --- storages --------------------------------------------------------------------------------- */
static uint32_t root_of(const fnzi_storages *s, uint64_t value) {
  uint32_t at = (uint32_t)value;
  while (s->of[at] != at) {
    s->of[at] = s->of[s->of[at]];
    at = s->of[at];
  }
  return at;
}

static void join(fnzi_storages *s, uint64_t a, uint64_t b) {
  uint32_t x = root_of(s, a), y = root_of(s, b);
  s->of[x > y ? x : y] = x > y ? y : x;
}

/* A stand-in can produce the tensor: it is contiguous, from the beginning of its memory on. */
static bool is_plain(const fnzi_storages *s, uint64_t value) {
  const fnz_geometry *g = s->graph->values.data[value].geometry;
  bool moved = g->offset != 0 || (g->symbols && g->symbols[2 * g->rank]);
  return !moved && !g->is_conj && !g->is_neg && fnzi_is_contiguous(g);
}

/* Joins the tensors of a list of arguments with that of `*first`, if there is one yet. */
static void join_tensors(fnzi_storages *s, const fnz_arg *args, size_t count, bool only_others,
                         int64_t *first) {
  FNZI_EACH_ARG(each, args, count) {
    if (each.arg->tag != FNZ_ARG_VALUE)
      continue;
    if (only_others && is_plain(s, each.arg->u.value))
      continue;
    if (*first != NONE)
      join(s, (uint64_t)*first, each.arg->u.value);
    *first = (int64_t)each.arg->u.value;
  }
}

/* Tensors that a write only reads stay apart, unless no stand-in can produce them. */
static void join_node(fnzi_storages *s, size_t n) {
  const fnzi_node *node = &s->graph->nodes.data[n];
  int64_t first = NONE;
  for (uint32_t i = 0; i < node->nargs; i++)
    join_tensors(s, &node->args[i], 1,
                 s->roles[n] == FNZI_NODE_WRITES && !node->op->params[i].is_write, &first);
  join_tensors(s, node->outputs, node->noutputs, false, &first);
  s->node_of[n] = first == NONE ? UINT32_MAX : (uint32_t)first;
}

static bool is_used_by(const fnzi_storages *s, size_t n) {
  return s->roles[n] == FNZI_NODE_VIEWS || s->roles[n] == FNZI_NODE_WRITES;
}

/* Inputs over the same memory are one. */
static fnz_status join_inputs(fnzi_storages *s) {
  fnzi_pass_alias_sets sets;
  FNZ_TRY(fnzi_pass_alias_sets_find(s->arena, s->program, &sets));
  for (uint32_t k = 0; k < s->graph->ninputs; k++)
    if (s->graph->inputs[k].tag == FNZ_ARG_VALUE && sets.first[k] != k)
      join(s, s->graph->inputs[k].u.value, s->graph->inputs[sets.first[k]].u.value);
  return FNZ_OK;
}

static fnz_status join_all(fnzi_storages *s) {
  const size_t values = s->graph->values.count, nodes = s->graph->nodes.count;
  FNZI_NEW(s->arena, values, &s->of);
  FNZI_NEW(s->arena, values, &s->kept);
  FNZI_NEW(s->arena, nodes, &s->node_of);
  for (uint32_t v = 0; v < values; v++)
    s->of[v] = v;
  FNZ_TRY(join_inputs(s));
  for (size_t n = 0; n < nodes; n++)
    if (is_used_by(s, n))
      join_node(s, n);
  for (uint32_t v = 0; v < values; v++)
    s->of[v] = root_of(s, v);
  for (size_t n = 0; n < nodes; n++)
    if (is_used_by(s, n) && s->node_of[n] != UINT32_MAX) {
      s->node_of[n] = s->of[s->node_of[n]];
      s->kept[s->node_of[n]] = true;
    }
  return FNZ_OK;
}

/* --- uses ------------------------------------------------------------------------------------- */
/* A node that takes or gives a value of a storage; behind all nodes, an output of the graph. */
typedef struct use {
  uint32_t storage, node;
} use;

typedef struct uses {
  fnzi_storages *s;
  struct {
    use *data;
    size_t count, capacity;
  } list;                 /* in the order of nodes */
  use *sorted;            /* by storage */
  uint32_t *numbers;      /* per value: 1 + its index within its storage, in the order of uses */
  const uint32_t *inputs; /* per value: 1 + the input that it is */
  uint32_t *ninputs;      /* per storage */
  uint32_t count;         /* of the values of the storage in hand */
  fnz_buffer text;        /* its uses */
  bool symbolic;          /* and something in it depends on sizes */
} uses;

static fnz_status see_use(uses *u, const fnz_arg *args, size_t count, uint32_t node, size_t from) {
  FNZI_EACH_ARG(each, args, count) {
    if (each.arg->tag != FNZ_ARG_VALUE || !fnzi_storage_is_kept(u->s, each.arg->u.value))
      continue;
    const use one = {u->s->of[each.arg->u.value], node};
    bool known = false;
    for (size_t i = from; i < u->list.count; i++)
      known = known || u->list.data[i].storage == one.storage;
    if (!known)
      FNZI_PUSH(u->s->ctx, &u->list, one);
  }
  return FNZ_OK;
}

static fnz_status see_uses(uses *u) {
  const fnzi_graph *g = u->s->graph;
  for (uint32_t n = 0; n < g->nodes.count; n++) {
    const size_t from = u->list.count;
    FNZ_TRY(see_use(u, g->nodes.data[n].args, g->nodes.data[n].nargs, n, from));
    FNZ_TRY(see_use(u, g->nodes.data[n].outputs, g->nodes.data[n].noutputs, n, from));
  }
  for (uint32_t k = 0; k < g->noutputs; k++)
    FNZ_TRY(see_use(u, &g->outputs[k], 1, (uint32_t)g->nodes.count + k, u->list.count));
  return FNZ_OK;
}

/* Sorts uses by storage; the uses of a storage keep the order of nodes. */
static fnz_status sort_uses(uses *u) {
  uint32_t *starts;
  const size_t values = u->s->graph->values.count;
  FNZI_NEW(u->s->arena, values + 1, &starts);
  FNZI_NEW(u->s->arena, u->list.count, &u->sorted);
  for (size_t i = 0; i < u->list.count; i++)
    starts[u->list.data[i].storage + 1]++;
  for (size_t v = 0; v < values; v++)
    starts[v + 1] += starts[v];
  for (size_t i = 0; i < u->list.count; i++)
    u->sorted[starts[u->list.data[i].storage]++] = u->list.data[i];
  return FNZ_OK;
}

/* --- their text ------------------------------------------------------------------------------- */
static fnz_status put(uses *u, uint64_t number) {
  return fnzi_put(u->s->ctx, &u->text, &number, sizeof number);
}

static fnz_status put_input(uses *u, uint32_t k) {
  const fnz_input_spec *spec = &u->s->program->inputs[k];
  return put(u, (uint64_t)spec->kind * 2 + spec->written + 1);
}

/* A tensor: its index within its storage, with its type on the first use. */
static fnz_status put_tensor(uses *u, uint32_t storage, uint64_t value) {
  const fnz_geometry *g = u->s->graph->values.data[value].geometry;
  const uint64_t type = (uint64_t)(uintptr_t)g;
  u->symbolic = u->symbolic || g->symbols;
  if (u->s->of[value] != storage) {
    FNZ_TRY(put(u, 0));
    return put(u, type);
  }
  if (u->numbers[value])
    return put(u, u->numbers[value]);
  u->numbers[value] = ++u->count;
  FNZ_TRY(put(u, u->count));
  FNZ_TRY(put(u, type));
  return u->inputs[value] ? put_input(u, u->inputs[value] - 1) : put(u, 0);
}

static fnz_status put_item(uses *u, uint32_t storage, const fnz_arg *arg) {
  FNZ_TRY(put(u, arg->tag));
  u->symbolic = u->symbolic || arg->tag == FNZ_ARG_SYMBOL;
  if (arg->tag == FNZ_ARG_VALUE)
    return put_tensor(u, storage, arg->u.value);
  if (arg->tag == FNZ_ARG_SYMBOL)
    return put(u, u->s->graph->values.data[arg->u.value].symbol);
  if (arg->tag == FNZ_ARG_COMPLEX) {
    FNZ_TRY(put(u, (uint64_t)arg->u.list[0].u.i));
    return put(u, (uint64_t)arg->u.list[1].u.i);
  }
  return put(u, (uint64_t)arg->u.i); /* texts are interned */
}

/* All arguments, or the storage's own. */
static fnz_status put_args(uses *u, uint32_t storage, const fnz_arg *args, size_t count, bool all) {
  fnzi_walk walk;
  fnzi_walk_start(&walk, args, count);
  for (fnzi_step step; (step = fnzi_walk_next(&walk)) != FNZI_STEP_END;) {
    bool own = step == FNZI_STEP_ITEM && walk.arg->tag == FNZ_ARG_VALUE &&
               u->s->of[walk.arg->u.value] == storage;
    if (!all && !own)
      continue;
    FNZ_TRY(put(u, step));
    if (step == FNZI_STEP_ITEM)
      FNZ_TRY(put_item(u, storage, walk.arg));
  }
  return FNZ_OK;
}

static fnz_status put_use(uses *u, const use *one) {
  const fnzi_graph *g = u->s->graph;
  if (one->node >= g->nodes.count) {
    uint32_t k = one->node - (uint32_t)g->nodes.count;
    FNZ_TRY(put(u, UINT64_MAX - u->s->program->outputs[k].kind));
    return put_args(u, one->storage, &g->outputs[k], 1, true);
  }
  const fnzi_node *node = &g->nodes.data[one->node];
  bool own = is_used_by(u->s, one->node) && u->s->node_of[one->node] == one->storage;
  FNZ_TRY(put(u, own ? (uint64_t)(uintptr_t)node->op : 0));
  FNZ_TRY(put_args(u, one->storage, node->args, node->nargs, own));
  FNZ_TRY(put(u, UINT64_MAX));
  return put_args(u, one->storage, node->outputs, node->noutputs, own);
}

/* --- which are the same at all sizes ---------------------------------------------------------- */
/* Tensors of the storage among arguments, all of one type, which is that of `*g` if there is one
 * yet; *count: of all tensors. */
static bool are_of_type(const uses *u, uint32_t storage, const fnz_arg *args, size_t nargs,
                        const fnz_geometry **g, size_t *count) {
  FNZI_EACH_ARG(each, args, nargs) {
    if (each.arg->tag != FNZ_ARG_VALUE)
      continue;
    const uint64_t value = each.arg->u.value;
    const fnz_geometry *own = u->s->graph->values.data[value].geometry;
    *count += 1;
    if (u->s->of[value] != storage)
      continue;
    *g = *g ? *g : own;
    if (own != *g || !is_plain(u->s, value))
      return false;
  }
  return true;
}

/* Whether one use reads or writes all of a tensor of type *g. */
static bool is_uniform_at(const uses *u, const use *one, const fnz_geometry **g) {
  const fnzi_graph *graph = u->s->graph;
  size_t taken = 0, given = 0;
  if (one->node >= graph->nodes.count)
    return are_of_type(u, one->storage, &graph->outputs[one->node - graph->nodes.count], 1, g,
                       &taken);
  const fnzi_node *node = &graph->nodes.data[one->node];
  if (!are_of_type(u, one->storage, node->args, node->nargs, g, &taken) ||
      !are_of_type(u, one->storage, node->outputs, node->noutputs, g, &given))
    return false;
  const bool own = is_used_by(u->s, one->node) && u->s->node_of[one->node] == one->storage;
  return !own || u->s->roles[one->node] == FNZI_NODE_WRITES || (taken == 1 && given <= 1);
}

/* All tensors of the storage cover the same contiguous memory, so every read and write concerns all
 * of it. No window has to be found, at any sizes. */
static bool is_uniform(const uses *u, const use *list, size_t count) {
  const fnz_geometry *g = NULL;
  for (size_t i = 0; i < count; i++)
    if (!is_uniform_at(u, &list[i], &g))
      return false;
  return u->ninputs[list->storage] <= 1;
}

/* --- which are alike -------------------------------------------------------------------------- */
/* A storage without symbolic sizes is used alike at all sizes. */
static fnz_status compare_storage(uses *u, fnzi_map *known, size_t from, size_t count) {
  uint64_t unused;
  void *key;
  u->text.size = 0;
  u->count = 0;
  u->symbolic = false;
  if (is_uniform(u, &u->sorted[from], count)) {
    u->s->kept[u->sorted[from].storage] = false;
    return FNZ_OK;
  }
  for (size_t i = 0; i < count; i++)
    FNZ_TRY(put_use(u, &u->sorted[from + i]));
  if (!u->symbolic || fnzi_map_get(known, u->text.data, u->text.size, &unused)) {
    u->s->kept[u->sorted[from].storage] = false;
    return FNZ_OK;
  }
  FNZ_TRY(fnzi_arena_alloc(u->s->arena, u->text.size, 1, &key));
  memcpy(key, u->text.data, u->text.size);
  return fnzi_map_set(known, key, u->text.size, 1);
}

static fnz_status compare_all(uses *u, fnzi_map *known) {
  for (size_t i = 0, next; i < u->list.count; i = next) {
    for (next = i + 1; next < u->list.count && u->sorted[next].storage == u->sorted[i].storage;)
      next++;
    FNZ_TRY(compare_storage(u, known, i, next - i));
  }
  return FNZ_OK;
}

static fnz_status prepare(uses *u) {
  uint32_t *inputs;
  const fnzi_graph *g = u->s->graph;
  FNZI_NEW(u->s->arena, g->values.count, &u->numbers);
  FNZI_NEW(u->s->arena, g->values.count, &inputs);
  FNZI_NEW(u->s->arena, g->values.count, &u->ninputs);
  for (uint32_t k = 0; k < g->ninputs; k++)
    if (g->inputs[k].tag == FNZ_ARG_VALUE) {
      inputs[g->inputs[k].u.value] = k + 1;
      u->ninputs[u->s->of[g->inputs[k].u.value]]++;
    }
  u->inputs = inputs;
  FNZ_TRY(see_uses(u));
  return sort_uses(u);
}

static fnz_status find_alike(fnzi_storages *s) {
  uses u = {.s = s};
  fnzi_map known;
  fnzi_map_init(&known, s->ctx);
  fnz_status status = prepare(&u);
  if (status == FNZ_OK)
    status = compare_all(&u, &known);
  fnzi_map_free(&known);
  fnz_buffer_free(s->ctx, &u.text);
  FNZI_VEC_FREE(s->ctx, &u.list);
  return status;
}

fnz_status fnzi_storages_find(fnzi_storages *s, fnz_context *ctx, fnzi_arena *arena,
                              const fnz_program *program, bool *done) {
  *s = (fnzi_storages){
      .ctx = ctx, .arena = arena, .program = program, .graph = fnzi_graph_at(program, 0)};
  *done = false;
  FNZI_NEW(arena, s->graph->nodes.count, &s->roles);
  if (program->graphs.count != 1 || !find_roles(s))
    return FNZ_OK;
  *done = true;
  FNZ_TRY(join_all(s));
  return find_alike(s);
}
