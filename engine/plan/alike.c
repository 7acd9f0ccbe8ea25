/* alike.c - answers that hold for all nodes which ask the same. */
#include "engine/plan/alike.h"

void fnzi_eng_alike_open(fnzi_eng_alike *a, fnz_context *ctx) {
  fnzi_map_init(&a->answers, ctx);
  fnzi_arena_init(&a->arena, ctx);
  a->words = 0;
}

void fnzi_eng_alike_close(fnzi_eng_alike *a) {
  fnzi_map_free(&a->answers);
  fnzi_arena_free(&a->arena);
}

/* --- Keys ---------------------------------------------------------------------------------------
 */
static bool add_word(fnzi_eng_alike *to, uint64_t word) {
  if (to->words == FNZI_ENG_KEY_WORDS)
    return false;
  to->key[to->words++] = word;
  return true;
}

enum { TAG_BITS = 8, TAGS = 64 / TAG_BITS }; /* of a word */

/* Tags stand together, before the words that they are of. */
static bool add_tagged(fnzi_eng_alike *to, uint8_t tag, uint64_t word) {
  if (to->tags % TAGS == 0) {
    to->tags_at = to->words;
    if (!add_word(to, 0))
      return false;
  }
  to->key[to->tags_at] |= (uint64_t)tag << TAG_BITS * (to->tags++ % TAGS);
  return add_word(to, word);
}

static bool add_one(fnzi_eng_alike *to, const fnzi_graph *g, const fnz_arg *arg) {
  uint64_t word = arg->u.value;
  if (arg->tag == FNZ_ARG_VALUE)
    word = (uint64_t)(uintptr_t)g->values.data[arg->u.value].geometry;
  return arg->tag != FNZ_ARG_LIST && add_tagged(to, arg->tag, word);
}

/* Lists within lists are not told; what only has a pointer is told by where it points. */
static bool add_args(fnzi_eng_alike *to, const fnzi_graph *g, const fnz_arg *args, size_t nargs) {
  bool fits = true;
  for (size_t k = 0; fits && k < nargs; k++) {
    bool is_list = args[k].tag == FNZ_ARG_LIST;
    fits = is_list ? add_tagged(to, FNZ_ARG_LIST, args[k].count) : add_one(to, g, &args[k]);
    for (uint32_t i = 0; fits && is_list && i < args[k].count; i++)
      fits = add_one(to, g, &args[k].u.list[i]);
  }
  return fits;
}

static bool make_key(fnzi_eng_alike *to, const fnzi_graph *g, const fnzi_node *node) {
  to->words = to->tags = 0;
  return node->op && add_word(to, (uint64_t)(uintptr_t)node->op) &&
         add_word(to, node->nargs | (uint64_t)node->noutputs << 32) &&
         add_args(to, g, node->args, node->nargs) && add_args(to, g, node->outputs, node->noutputs);
}

/* --- Answers ------------------------------------------------------------------------------------
 */
static size_t bytes_of_key(const fnzi_eng_alike *a) {
  return a->words * sizeof *a->key;
}

bool fnzi_eng_alike_ask(fnzi_eng_alike *a, const fnzi_graph *g, const fnzi_node *node,
                        uint64_t *out) {
  if (make_key(a, g, node))
    return fnzi_map_get(&a->answers, a->key, bytes_of_key(a), out);
  a->words = 0;
  return false;
}

fnz_status fnzi_eng_alike_answer(fnzi_eng_alike *a, uint64_t answer) {
  uint64_t *kept;
  if (a->words == 0)
    return FNZ_OK;
  FNZI_NEW(&a->arena, a->words, &kept);
  memcpy(kept, a->key, bytes_of_key(a));
  return fnzi_map_set(&a->answers, kept, bytes_of_key(a), answer);
}
