/* sets.c - steps that run at once (engine/plan/sets.c) as one launch for all sets with the same
 * program. A table in device memory has their operands.
 *
 * A binding's tables have their own memory, so kernels and graphs find them at one address for as
 * long as the binding lives. Before each run, words that differ from the run's addresses are copied
 * anew. */
#include "engine/device/rows.h"

typedef struct set {
  uint32_t kernel, nnumbers;
  int64_t count, blocks;
  const int64_t *numbers; /* of the kernel's table */
} set;

/* Returns whether both can share a launch. */
static bool are_alike(const set *a, const set *b) {
  return a->kernel == b->kernel && a->nnumbers == b->nnumbers &&
         memcmp(a->numbers, b->numbers, a->nnumbers * sizeof *a->numbers) == 0;
}

static const fnzi_tile_program *tile_of(const fnzi_dev_builder *m, size_t step) {
  return m->b->thunks.data[step].u.tile;
}

/* --- Tables ----------------------------------------------------------------------------------- */
static void put_word(fnzi_dev_builder *m, fnzi_dev_tables *t, uint32_t buffer, int64_t at) {
  t->buffers[t->count] = buffer;
  t->offsets[t->count++] = at;
  if (buffer < m->b->plan.buffers.count)
    m->d->used[buffer] = true;
}

static void put_number(fnzi_dev_builder *m, fnzi_dev_tables *t, int64_t number) {
  put_word(m, t, FNZI_DEV_AT_NOTHING, number);
}

/* Writes the table of all sets that share the kernel of set `first`, and adds its launch. */
static fnz_status put_table(fnzi_dev_builder *m, size_t step, const set *sets, uint32_t count,
                            uint32_t first, fnzi_dev_work *out) {
  fnzi_dev_tables *t = &m->d->tables;
  const fnzi_dev_operand table = {FNZI_DEV_AT_TABLES, (int64_t)(t->count * sizeof *t->words)};
  int64_t blocks = 0, found = 0;
  for (uint32_t k = first; k < count; k++) {
    bool is = sets[k].count && are_alike(&sets[k], &sets[first]);
    blocks += is ? sets[k].blocks : 0;
    found += is;
  }
  put_number(m, t, found);
  put_number(m, t, blocks);
  blocks = 0;
  for (uint32_t k = first; k < count; k++)
    if (sets[k].count && are_alike(&sets[k], &sets[first])) {
      const fnzi_tile_program *tile = tile_of(m, step + k);
      put_number(m, t, blocks);
      put_number(m, t, sets[k].count);
      for (uint32_t l = 0; l < tile->nlanes; l++)
        put_word(m, t, fnzi_dev_memory_of(m->b, tile->lanes[l].storage), tile->lanes[l].offset);
      blocks += sets[k].blocks;
    }
  fnzi_cuda_text_numbers_set(&m->text, sets[first].numbers, sets[first].nnumbers);
  return fnzi_dev_work_launch(m, out, sets[first].kernel, blocks, &table, 1);
}

/* Grows the table for the most words that the sets of a step can need. */
static fnz_status grow(fnzi_dev_builder *m, size_t step, uint32_t count) {
  fnzi_dev_tables *t = &m->d->tables;
  size_t most = t->count;
  uint32_t *buffers;
  int64_t *offsets;
  for (uint32_t k = 0; k < count; k++)
    most += 2 + FNZI_CUDA_SET_WORDS + tile_of(m, step + k)->nlanes;
  FNZI_NEW(&m->b->arena, most, &buffers);
  FNZI_NEW(&m->b->arena, most, &offsets);
  FNZI_NEW(&m->b->arena, most, &t->words);
  if (t->count) {
    memcpy(buffers, t->buffers, t->count * sizeof *buffers);
    memcpy(offsets, t->offsets, t->count * sizeof *offsets);
  }
  t->buffers = buffers;
  t->offsets = offsets;
  return FNZ_OK;
}

/* --- Steps ------------------------------------------------------------------------------------ */
fnz_status fnzi_dev_work_sets(fnzi_dev_builder *m, size_t step, uint32_t count,
                              fnzi_dev_work *works) {
  const fnzi_tile_program *line = NULL; /* the first set that is a line of several elements */
  set *sets;
  for (uint32_t k = 0; k < count && !line; k++)
    if (tile_of(m, step + k)->rank == 1 && tile_of(m, step + k)->count > 1)
      line = tile_of(m, step + k);
  FNZI_NEW(&m->ws->scratch, count, &sets);
  FNZ_TRY(grow(m, step, count));
  for (uint32_t k = 0; k < count; k++) {
    const fnzi_tile_program *tile = tile_of(m, step + k);
    fnzi_cuda_group g;
    works[k] = (fnzi_dev_work){.on_device = true};
    FNZ_TRY(fnzi_dev_describe_tile(m, tile, &g));
    /* One element gets the strides of `line`, so that both get the same text. Its own are never
     * used, but would show in the text which operands repeat. */
    bool is_one = tile->count == 1 && tile->rank == 1 && line && line->nlanes == g.nlanes;
    for (uint32_t l = 0; is_one && l < g.nlanes; l++)
      g.lanes[l].strides[0] = line->lanes[l].strides[0];
    if (tile->count) {
      set *out = &sets[k];
      int64_t *numbers;
      FNZ_TRY(
          fnzi_cuda_text_sets(m->ws->ctx, &m->text, &g, &out->kernel, &out->count, &out->blocks));
      out->nnumbers = m->text.nnumbers;
      FNZI_NEW(&m->ws->scratch, out->nnumbers + 1, &numbers);
      memcpy(numbers, m->text.numbers, out->nnumbers * sizeof *numbers);
      out->numbers = numbers;
    }
  }
  for (uint32_t k = 0; k < count; k++) {
    bool is_first = sets[k].count != 0;
    for (uint32_t i = 0; i < k && is_first; i++)
      is_first = sets[i].count == 0 || !are_alike(&sets[i], &sets[k]);
    if (is_first)
      FNZ_TRY(put_table(m, step, sets, count, k, &works[0]));
  }
  return FNZ_OK;
}

/* --- Runs ------------------------------------------------------------------------------------- */
fnz_status fnzi_dev_tables_fill(fnz_workspace *ws, fnzi_stp_binding *b) {
  fnzi_dev_tables *t = &b->device->tables;
  size_t bytes = t->count * sizeof *t->words;
  bool differs = !t->is_current;
  if (t->count == 0)
    return FNZ_OK;
  if (!t->address)
    FNZ_TRY(fnzi_cuda_allocate(ws->ctx, ws->exe->device, bytes, &t->address));
  for (size_t k = 0; k < t->count; k++) {
    uint64_t word = fnzi_dev_address(ws, b, t->buffers[k], t->offsets[k]);
    differs = differs || word != t->words[k];
    t->words[k] = word;
  }
  if (!differs)
    return FNZ_OK;
  t->is_current = false;
  ws->is_async = false; /* the next run overwrites the words that are copied from */
  return fnzi_cuda_copy_in(ws->ctx, ws->exe->device, t->address, t->words, bytes, ws->stream);
}

void fnzi_dev_tables_end(fnzi_dev_binding *d) {
  fnzi_cuda_free(d->device, d->tables.address);
  d->tables.address = 0;
}
