/* alike.c - answers that hold for all nodes which ask the same. */
#include "engine/alike.h"

void fnzi_eng_alike_open(fnzi_eng_alike *a, fnz_context *ctx) {
  fnzi_map_init(&a->answers, ctx);
  fnzi_arena_init(&a->keys, ctx);
}

void fnzi_eng_alike_close(fnzi_eng_alike *a) {
  fnzi_map_free(&a->answers);
  fnzi_arena_free(&a->keys);
}

/* --- Keys ---------------------------------------------------------------------------------------
 */
static bool add_word(fnzi_eng_key *key, uint64_t word) {
  if (key->count == FNZI_ENG_KEY_WORDS)
    return false;
  key->words[key->count++] = word;
  return true;
}

static bool add_one(const fnzi_graph *g, const fnz_arg *arg, fnzi_eng_key *key) {
  uint64_t word = arg->u.value;
  if (arg->tag == FNZ_ARG_VALUE)
    word = (uint64_t)(uintptr_t)g->values.data[arg->u.value].geometry;
  return add_word(key, arg->tag | (uint64_t)arg->count << 32) && add_word(key, word);
}

/* What is in a list within a list is told by where it is. */
static bool add_args(const fnzi_graph *g, const fnz_arg *args, size_t nargs, fnzi_eng_key *key) {
  bool fits = true;
  for (size_t k = 0; fits && k < nargs; k++)
    if (args[k].tag == FNZ_ARG_LIST) {
      fits = add_word(key, args[k].tag | (uint64_t)args[k].count << 32);
      for (uint32_t i = 0; fits && i < args[k].count; i++)
        fits = add_one(g, &args[k].u.list[i], key);
    } else {
      fits = add_one(g, &args[k], key);
    }
  return fits;
}

void fnzi_eng_key_of(const fnzi_graph *g, const fnzi_node *node, fnzi_eng_key *out) {
  out->count = 0;
  bool fits = node->op && add_word(out, (uint64_t)(uintptr_t)node->op) &&
              add_word(out, node->nargs | (uint64_t)node->noutputs << 32) &&
              add_args(g, node->args, node->nargs, out) &&
              add_args(g, node->outputs, node->noutputs, out);
  out->count = fits ? out->count : 0;
}

/* --- Answers ------------------------------------------------------------------------------------
 */
static size_t bytes_of(const fnzi_eng_key *key) {
  return key->count * sizeof *key->words;
}

bool fnzi_eng_alike_get(const fnzi_eng_alike *a, const fnzi_eng_key *key, uint64_t *out) {
  return key->count && fnzi_map_get(&a->answers, key->words, bytes_of(key), out);
}

fnz_status fnzi_eng_alike_set(fnzi_eng_alike *a, const fnzi_eng_key *key, uint64_t answer) {
  uint64_t *kept;
  if (key->count == 0)
    return FNZ_OK;
  FNZI_NEW(&a->keys, key->count, &kept);
  memcpy(kept, key->words, bytes_of(key));
  return fnzi_map_set(&a->answers, kept, bytes_of(key), answer);
}
