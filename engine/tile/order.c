/* order.c - orders the instructions of a group with rows, so that those on elements follow one
 * another and are chains. */
#include "engine/tile/tile.h"

/* Instructions `first` to before `end`, none over the scalars of rows. */
typedef struct ordering {
  fnzi_tile_program *tile;
  uint32_t first, end, count; /* count: how many are in order */
  fnzi_tile_ins *ins;
  bool *done;
} ordering;

/* Says that all operands of instruction `i` are computed. */
static bool is_ready(const ordering *o, uint32_t i) {
  const fnzi_tile_ins *ins = &o->tile->ins[i];
  for (uint32_t k = 0; k < ins->arity; k++) {
    int32_t made = o->tile->slots[ins->in[k]].first;
    if (made >= (int32_t)o->first && !o->done[made])
      return false;
  }
  return true;
}

/* Takes all instructions of a kind that are ready; FNZI_TILE_INS_RUN stands for those on elements.
 */
static void take_ready(ordering *o, fnzi_tile_ins_kind kind) {
  for (uint32_t i = o->first; i < o->end; i++) {
    uint8_t own = o->tile->ins[i].kind;
    bool is_of_kind = own == FNZI_TILE_INS_ROW || own == FNZI_TILE_INS_SPREAD
                          ? own == kind
                          : kind == FNZI_TILE_INS_RUN;
    if (o->done[i] || !is_of_kind || !is_ready(o, i))
      continue;
    o->done[i] = true;
    o->ins[o->count++] = o->tile->ins[i];
  }
}

/* Orders the instructions between two on the scalars of rows. */
static void order_some(ordering *o) {
  for (o->count = 0; o->count < o->end - o->first;) {
    take_ready(o, FNZI_TILE_INS_SPREAD);
    take_ready(o, FNZI_TILE_INS_RUN);
    take_ready(o, FNZI_TILE_INS_ROW);
  }
  memcpy(&o->tile->ins[o->first], o->ins, o->count * sizeof *o->ins);
}

fnz_status fnzi_tile_order(fnzi_arena *scratch, fnzi_tile_program *t) {
  ordering o = {.tile = t};
  if (!t->dims)
    return FNZ_OK;
  FNZI_NEW(scratch, t->nins, &o.ins);
  FNZI_NEW(scratch, t->nins, &o.done);
  for (o.first = 0; o.first < t->nins; o.first = o.end + 1) {
    for (o.end = o.first; o.end < t->nins && !t->ins[o.end].of_rows;)
      o.end++;
    order_some(&o);
  }
  for (uint32_t k = 0; k < t->nslots; k++)
    t->slots[k].first = t->slots[k].last = -1;
  for (uint32_t i = 0; i < t->nins; i++)
    fnzi_tile_ins_note(t, i);
  return FNZ_OK;
}
