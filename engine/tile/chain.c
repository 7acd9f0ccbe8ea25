/* chain.c - finds instructions of a group that run as chains, conversions of halves among them.
 *
 * A row here is a table row of kernels/point.def. A row that runs over a whole tile reads its
 * operands from the first-level cache and writes its result there. If the next row takes that
 * result, both can run over a block of elements instead, and the block stays in vector registers
 * between them. Bits are the same, because values are. Only the NaN of a sum of several NaNs may
 * differ. */
#include "engine/tile/tile.h"

enum { LEAST = 3 }; /* instructions that are worth a chain */

typedef struct chaining {
  const fnzi_meta_chains *chains;
  fnzi_meta_link *links;
  uint32_t nlinks, nslots;
  uint16_t *slots;
} chaining;

/* Returns the index of a slot in the table of the chain, and adds it if it is new. */
static uint16_t index_of(chaining *c, uint16_t slot) {
  for (uint32_t k = 0; k < c->nslots; k++)
    if (c->slots[k] == slot)
      return (uint16_t)k;
  c->slots[c->nslots] = slot;
  return (uint16_t)c->nslots++;
}

static void add_link(chaining *c, fnzi_meta_link_fn *run, const uint16_t *slots, uint32_t count) {
  fnzi_meta_link *link = &c->links[c->nlinks++];
  *link = (fnzi_meta_link){.run = run};
  for (uint32_t k = 0; k < count; k++)
    link->in[k] = index_of(c, slots[k]);
}

/* Returns the first operand with this slot; arity if there is none. */
static uint32_t operand_in(const fnzi_tile_ins *ins, uint16_t slot) {
  uint32_t k = 0;
  while (k < ins->arity && ins->in[k] != slot)
    k++;
  return k;
}

static uint32_t count_reads(const fnzi_tile_ins *ins, uint16_t slot) {
  uint32_t count = 0;
  for (uint32_t k = 0; k < ins->arity; k++)
    count += ins->in[k] == slot;
  return count;
}

/* Says that the result of instruction `i` is read from memory. The next instruction does not, if it
 * is in the chain and reads the result once. */
static bool is_stored(const fnzi_tile_program *t, uint32_t i, uint32_t end) {
  uint16_t slot = t->ins[i].out;
  for (uint32_t k = 0; k < t->nlanes; k++)
    if (t->lanes[k].slot == slot)
      return true;
  uint32_t chained = i + 1 < end && count_reads(&t->ins[i + 1], slot) == 1;
  return (uint32_t)t->slots[slot].last > i + chained;
}

/* Registers hold a mask for it. */
static bool is_truth(const fnzi_tile_program *t, uint16_t slot) {
  return t->slots[slot].dtype == FNZ_BOOL;
}

static bool is_conversion(const fnzi_tile_ins *ins) {
  return ins->kind == FNZI_TILE_INS_CONVERT || ins->kind == FNZI_TILE_INS_KEEP ||
         ins->kind == FNZI_TILE_INS_CAST;
}

/* A number of the class for each truth. */
static bool counts_truths(const fnzi_meta_chains *chains, const fnzi_tile_ins *ins) {
  return is_conversion(ins) && ins->from == FNZ_BOOL && ins->to == chains->dtype;
}

static bool is_choice(const fnzi_meta_chains *chains, const fnzi_tile_program *t,
                      const fnzi_tile_ins *ins) {
  return ins->kind == FNZI_TILE_INS_CHOOSE &&
         t->slots[ins->out].cell == fnzi_dtype(chains->dtype)->bytes;
}

/* The link of a conversion between f32 and halves in `chains`; NULL if there is none. */
static fnzi_meta_link_fn *conversion_link(const fnzi_meta_chains *chains,
                                          const fnzi_tile_ins *ins) {
  bool keeps = ins->kind == FNZI_TILE_INS_KEEP, widens = ins->to == FNZ_F32;
  int half = widens ? ins->from : ins->to, other = widens ? ins->to : ins->from;
  bool casts_nan = ins->kind == FNZI_TILE_INS_CAST && half == FNZ_BF16 && !widens;
  if (!is_conversion(ins) || casts_nan || other != FNZ_F32 || (half != FNZ_F16 && half != FNZ_BF16))
    return NULL;
  return (widens ? chains->widen : chains->narrow)[half == FNZ_BF16][keeps];
}

static bool is_link(const fnzi_meta_chains *chains, const fnzi_tile_program *t,
                    const fnzi_tile_ins *ins) {
  return ins->links ? ins->links->chains == chains
                    : is_choice(chains, t, ins) || counts_truths(chains, ins) ||
                          conversion_link(chains, ins) != NULL;
}

/* Adds a link whose operand `chained` is in registers and whose others are in memory. */
static void add_others(chaining *c, fnzi_meta_link_fn *run, const fnzi_tile_ins *ins,
                       uint32_t chained) {
  uint16_t others[FNZI_POINT_OPERANDS];
  uint32_t count = 0;
  for (uint32_t k = 0; k < ins->arity; k++)
    if (k != chained)
      others[count++] = ins->in[k];
  add_link(c, run, others, count);
}

/* Adds one instruction. Operand `chained` is loaded, unless the link before left it in a register.
 * Returns the slot that is in registers then. */
static uint16_t add_instruction(chaining *c, const fnzi_tile_program *t, const fnzi_tile_ins *ins,
                                uint32_t chained, bool is_chained) {
  const fnzi_meta_chains *chains = c->chains;
  fnzi_meta_link_fn *run = ins->links                   ? ins->links->at[chained]
                           : counts_truths(chains, ins) ? chains->count_truths
                           : is_choice(chains, t, ins)  ? chains->choose[chained]
                                                        : NULL;
  bool widens = !run && ins->to == FNZ_F32;
  if (!is_chained && !widens)
    add_link(c, is_truth(t, ins->in[chained]) ? chains->load_truths : chains->load,
             &ins->in[chained], 1);
  if (run)
    add_others(c, run, ins, chained);
  else
    add_link(c, conversion_link(chains, ins), widens ? &ins->in[0] : &ins->out, 1);
  return run || widens ? ins->out : ins->in[chained];
}

/* Instructions `first` to before `end`. */
static fnz_status make_chain(fnzi_arena *arena, fnzi_tile_program *t, uint32_t first, uint32_t end,
                             const fnzi_meta_chains *chains) {
  chaining c = {.chains = chains};
  fnzi_tile_chain *chain;
  FNZI_NEW(arena, 1, &chain);
  FNZI_NEW(arena, 3 * (size_t)(end - first) + 1, &c.links);
  FNZI_NEW(arena, FNZI_TILE_CHAIN_SLOTS, &c.slots);
  uint16_t in_registers = 0;
  for (uint32_t i = first; i < end; i++) {
    const fnzi_tile_ins *ins = &t->ins[i];
    uint32_t chained = i > first ? operand_in(ins, in_registers) : ins->arity;
    bool takes = chained < ins->arity;
    in_registers = add_instruction(&c, t, ins, takes ? chained : 0, takes);
    if (in_registers == ins->out && is_stored(t, i, end))
      add_link(&c, is_truth(t, ins->out) ? chains->store_truths : chains->store, &ins->out, 1);
  }
  add_link(&c, chains->end, NULL, 0);
  *chain = (fnzi_tile_chain){.count = end - first,
                             .chains = chains,
                             .links = c.links,
                             .slots = c.slots,
                             .nslots = c.nslots};
  t->ins[first].chain = chain;
  return FNZ_OK;
}

/* The chains of the first table row from instruction `first` on, after conversions and choices at
 * most; NULL if it is in none. */
static const fnzi_meta_chains *find_chains(const fnzi_tile_program *t, uint32_t first) {
  while (first < t->nins &&
         (is_conversion(&t->ins[first]) || t->ins[first].kind == FNZI_TILE_INS_CHOOSE))
    first++;
  return first < t->nins && t->ins[first].links ? t->ins[first].links->chains : NULL;
}

fnz_status fnzi_tile_chains_make(fnzi_arena *arena, fnzi_tile_program *t) {
  for (uint32_t first = 0, end; first < t->nins; first = end) {
    const fnzi_meta_chains *chains = find_chains(t, first);
    uint32_t slots = 0;
    for (end = first; chains && end < t->nins && is_link(chains, t, &t->ins[end]) &&
                      t->ins[end].of_rows == t->ins[first].of_rows;
         end++) {
      slots += t->ins[end].arity + 1u;
      if (slots > FNZI_TILE_CHAIN_SLOTS)
        break;
    }
    if (end - first >= LEAST)
      FNZ_TRY(make_chain(arena, t, first, end, chains));
    end += end == first;
  }
  return FNZ_OK;
}
