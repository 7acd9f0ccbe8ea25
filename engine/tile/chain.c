/* chain.c - finds instructions of a group that run as chains, conversions of halves among them.
 *
 * A row here is a table row of kernels/point.def. A row that runs over a whole tile reads its
 * operands from the first-level cache and writes its result there. If the next row takes that
 * result, both can run over a block of elements instead, and the block stays in vector registers
 * between them. Bits are the same, because values are. Only the NaN of a sum of several NaNs may
 * differ. */
#include "engine/tile/tile.h"

enum {
  LEAST = 3,      /* instructions that are worth a chain */
  LARGE = 1 << 18 /* bytes of an operand that caches do not keep from run to run */
};

typedef struct chaining {
  const fnzi_meta_chains *chains;
  fnzi_meta_link *links;
  uint32_t nlinks, nslots;
  uint16_t *slots;
} chaining;

static void add_link(chaining *c, fnzi_meta_link_fn *run, const uint16_t *slots, uint32_t count) {
  fnzi_meta_link *link = &c->links[c->nlinks++];
  *link = (fnzi_meta_link){.run = run};
  for (uint32_t k = 0; k < count; k++) {
    uint32_t at = 0; /* in the table of the chain, which gets new slots */
    while (at < c->nslots && c->slots[at] != slots[k])
      at++;
    if (at == c->nslots)
      c->slots[c->nslots++] = slots[k];
    link->in[k] = (uint16_t)at;
  }
}

/* Says that the result of instruction `i` is read from memory. The next instruction does not, if it
 * is in the chain and reads the result once. */
static bool is_stored(const fnzi_tile_program *t, uint32_t i, uint32_t end) {
  uint16_t slot = t->ins[i].out;
  for (uint32_t k = 0; k < t->nlanes; k++)
    if (t->lanes[k].slot == slot)
      return true;
  uint32_t reads = 0; /* by the next instruction of the chain */
  for (uint32_t k = 0; i + 1 < end && k < t->ins[i + 1].arity; k++)
    reads += t->ins[i + 1].in[k] == slot;
  return (uint32_t)t->slots[slot].last > i + (reads == 1);
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
  uint16_t others[FNZI_POINT_OPERANDS]; /* which are in memory */
  uint32_t count = 0;
  for (uint32_t k = 0; k < ins->arity; k++)
    if (k != chained)
      others[count++] = ins->in[k];
  if (run)
    add_link(c, run, others, count);
  else
    add_link(c, conversion_link(chains, ins), widens ? &ins->in[0] : &ins->out, 1);
  return run || widens ? ins->out : ins->in[chained];
}

/* Large operands in memory that the chain reads as they are. */
static void read_ahead(chaining *c, const fnzi_tile_program *t, uint32_t first, uint32_t end) {
  const size_t cell = fnzi_dtype(c->chains->dtype)->bytes;
  for (uint32_t k = 0; k < t->nlanes; k++) {
    const fnzi_tile_lane *lane = &t->lanes[k];
    bool is_large = lane->cell == cell && fnz_geometry_numel(lane->map) >= (int64_t)(LARGE / cell);
    bool reads = false;
    for (uint32_t i = first; i < end; i++)
      for (uint32_t p = 0; p < t->ins[i].arity; p++)
        reads = reads || t->ins[i].in[p] == lane->slot;
    if (reads && is_large && !lane->stores)
      add_link(c, c->chains->ahead, &lane->slot, 1);
  }
}

/* Instructions `first` to before `end`. */
static fnz_status make_chain(fnzi_arena *arena, fnzi_tile_program *t, uint32_t first, uint32_t end,
                             const fnzi_meta_chains *chains) {
  chaining c = {.chains = chains};
  fnzi_tile_chain *chain;
  FNZI_NEW(arena, 1, &chain);
  FNZI_NEW(arena, 3 * (size_t)(end - first) + t->nlanes + 1, &c.links);
  FNZI_NEW(arena, FNZI_TILE_CHAIN_SLOTS, &c.slots);
  uint16_t in_registers = 0;
  read_ahead(&c, t, first, end);
  for (uint32_t i = first; i < end; i++) {
    const fnzi_tile_ins *ins = &t->ins[i];
    uint32_t chained = i > first ? 0 : ins->arity;
    while (chained < ins->arity && ins->in[chained] != in_registers)
      chained++;
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

fnz_status fnzi_tile_chains_make(fnzi_arena *arena, fnzi_tile_program *t) {
  for (uint32_t first = 0, end; first < t->nins; first = end) {
    /* The first table row has the chains, after conversions and choices at most. */
    uint32_t row = first, slots = 0;
    while (row < t->nins &&
           (is_conversion(&t->ins[row]) || t->ins[row].kind == FNZI_TILE_INS_CHOOSE))
      row++;
    const fnzi_meta_chains *chains =
        row < t->nins && t->ins[row].links ? t->ins[row].links->chains : NULL;
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
