/* alike.c - finds nodes of the same kind. Most are like the last node of their operator, which is
 * compared first; others are found by a key of everything that matters. */
#include "engine/plan/alike.h"

enum { KEY_WORDS = 64, TAG_BITS = 8, TAGS = 64 / TAG_BITS /* of a word */ };

typedef struct finding {
  const fnzi_graph *graph;
  fnzi_arena *arena;
  fnzi_map kinds;   /* by key */
  uint32_t *latest; /* per operator of the table: 1 + the last node of it; 0 */
  uint64_t key[KEY_WORDS];
  uint32_t words;
  uint32_t tags, tags_at; /* of arguments; the word that has the last ones */
} finding;

/* --- Compared --------------------------------------------------------------------------------- */
static const fnz_geometry *alike_geometry_of(const finding *f, const fnz_arg *arg) {
  return f->graph->values.data[arg->u.value].geometry;
}

static bool alike_same_one(const finding *f, const fnz_arg *a, const fnz_arg *b) {
  if (a->tag != b->tag || a->tag == FNZ_ARG_LIST)
    return false;
  return a->tag == FNZ_ARG_VALUE ? alike_geometry_of(f, a) == alike_geometry_of(f, b)
                                 : a->u.value == b->u.value;
}

static bool same_args(const finding *f, const fnz_arg *a, const fnz_arg *b, uint32_t count) {
  bool same = true;
  for (uint32_t k = 0; same && k < count; k++) {
    bool is_list = a[k].tag == FNZ_ARG_LIST;
    same = is_list ? b[k].tag == FNZ_ARG_LIST && a[k].count == b[k].count
                   : alike_same_one(f, &a[k], &b[k]);
    for (uint32_t i = 0; same && is_list && i < a[k].count; i++)
      same = alike_same_one(f, &a[k].u.list[i], &b[k].u.list[i]);
  }
  return same;
}

/* --- Keys ------------------------------------------------------------------------------------- */
static bool add_word(finding *f, uint64_t word) {
  if (f->words == KEY_WORDS)
    return false;
  f->key[f->words++] = word;
  return true;
}

/* Adds a word with its tag. One word of tags comes before the words that it describes. */
static bool add_tagged(finding *f, uint8_t tag, uint64_t word) {
  if (f->tags % TAGS == 0) {
    f->tags_at = f->words;
    if (!add_word(f, 0))
      return false;
  }
  f->key[f->tags_at] |= (uint64_t)tag << TAG_BITS * (f->tags++ % TAGS);
  return add_word(f, word);
}

static bool add_one(finding *f, const fnz_arg *arg) {
  uint64_t word = arg->u.value;
  if (arg->tag == FNZ_ARG_VALUE)
    word = (uint64_t)(uintptr_t)alike_geometry_of(f, arg);
  return arg->tag != FNZ_ARG_LIST && add_tagged(f, arg->tag, word);
}

/* Adds arguments to the key. Lists within lists have no key; a pointer is a key by its address. */
static bool add_args(finding *f, const fnz_arg *args, size_t nargs) {
  bool fits = true;
  for (size_t k = 0; fits && k < nargs; k++) {
    bool is_list = args[k].tag == FNZ_ARG_LIST;
    fits = is_list ? add_tagged(f, FNZ_ARG_LIST, args[k].count) : add_one(f, &args[k]);
    for (uint32_t i = 0; fits && is_list && i < args[k].count; i++)
      fits = add_one(f, &args[k].u.list[i]);
  }
  return fits;
}

/* --- Kinds ------------------------------------------------------------------------------------ */
static fnz_status find_kind(finding *f, uint32_t n, fnzi_pln_kinds *out) {
  const fnzi_node *nodes = f->graph->nodes.data, *node = &nodes[n];
  uint16_t op_index = node->op ? fnzi_op_place(node->op) : FNZI_NO_OP;
  uint32_t like = op_index == FNZI_NO_OP ? 0 : f->latest[op_index];
  uint64_t kind = out->count;
  if (op_index != FNZI_NO_OP)
    f->latest[op_index] = n + 1;
  const fnzi_node *last = like ? &nodes[like - 1] : NULL;
  if (last && node->op == last->op && node->nargs == last->nargs &&
      node->noutputs == last->noutputs && same_args(f, node->args, last->args, node->nargs) &&
      same_args(f, node->outputs, last->outputs, node->noutputs)) {
    out->by_node[n] = out->by_node[like - 1];
    return FNZ_OK;
  }
  if (node->op == NULL) {
    out->by_node[n] = out->count++;
    return FNZ_OK;
  }
  f->words = f->tags = 0;
  bool has_key = add_word(f, (uint64_t)(uintptr_t)node->op) &&
                 add_word(f, node->nargs | (uint64_t)node->noutputs << 32) &&
                 add_args(f, node->args, node->nargs) && add_args(f, node->outputs, node->noutputs);
  size_t bytes = f->words * sizeof *f->key;
  if (!has_key)
    out->count++; /* like no other one */
  else if (!fnzi_map_get(&f->kinds, f->key, bytes, &kind)) {
    uint64_t *kept;
    FNZI_NEW(f->arena, f->words, &kept);
    memcpy(kept, f->key, bytes);
    FNZ_TRY(fnzi_map_set(&f->kinds, kept, bytes, out->count++));
  }
  out->by_node[n] = (uint32_t)kind;
  return FNZ_OK;
}

fnz_status fnzi_pln_kinds_find(fnz_context *ctx, fnzi_arena *arena, const fnzi_graph *graph,
                               fnzi_pln_kinds *out) {
  finding f = {.graph = graph, .arena = arena};
  *out = (fnzi_pln_kinds){NULL, 0};
  FNZI_NEW(arena, graph->nodes.count, &out->by_node);
  FNZI_NEW(arena, fnzi_ops_count, &f.latest);
  fnz_status status = FNZ_OK;
  fnzi_map_init(&f.kinds, ctx);
  for (uint32_t n = 0; status == FNZ_OK && n < graph->nodes.count; n++)
    status = find_kind(&f, n, out);
  fnzi_map_free(&f.kinds);
  return status;
}
