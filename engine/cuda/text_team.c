/* text_team.c - groups in which rows become numbers, as text: each row is taken by a team of
 * threads, one, a warp or a block. Element values are recomputed in each pass over the row: one
 * pass for all numbers that depend on the same earlier numbers, and one for stored elements.
 *
 * A thread takes vectors of elements, with a stride of the team's thread count (text_pass.c), and
 * the threads' results are joined in one order, so the text determines the bits, not the grid. */
#include "engine/cuda/text_team.h"

enum { THREADS = 256, WARP = 32, LONGEST_OF_WARP = 1024, LEAST_ROWS = 2048 };
/* If elements of rows interleave in memory, a block takes 32 rows of at least LEAST_ACROSS
 * elements. With more than MOST_ACROSS rows, a thread per row keeps a GPU busy; with fewer than
 * FEWEST_ACROSS adjacent rows, a warp along a row wastes little bandwidth. */
enum { LEAST_ACROSS = 64, FEWEST_ACROSS = 8, MOST_ACROSS = 1 << 17 };

typedef fnzi_cuda_team team;

static fnz_status find_levels(team *t) {
  for (uint32_t i = 0; i < t->g->nins; i++) {
    const fnzi_cuda_ins *ins = &t->g->ins[i];
    uint8_t level = 0; /* of its latest operand */
    for (uint32_t k = 0; k < ins->arity; k++)
      if (t->level[ins->in[k]] > level)
        level = t->level[ins->in[k]];
    if (level == UINT8_MAX)
      return fnzi_fail(t->w.ctx, FNZ_CLASS_INTERNAL, NULL, "a row is gone through too often");
    t->level[ins->out] = (uint8_t)(level + fnzi_cuda_reduces(ins));
    if (ins->kind == FNZI_CUDA_PICK)
      t->level[ins->index] = (uint8_t)(level + 1);
  }
  return FNZ_OK;
}

/* --- Who takes a row -------------------------------------------------------------------------- */
static bool count_rows(const fnzi_cuda_group *g, int64_t *rows, int64_t *length) {
  bool fits = true;
  *rows = *length = 1;
  for (uint32_t d = 0; d < g->rank; d++) {
    int64_t *extent = d < g->outer ? rows : length;
    fits = fits && fnzi_mul_i64(*extent, g->sizes[d], extent);
  }
  return fits;
}

bool fnzi_cuda_block_has_rows(const fnzi_cuda_group *g) {
  int64_t rows, length;
  return count_rows(g, &rows, &length) && fnzi_cuda_is_interleaved(g) && length >= LEAST_ACROSS &&
         rows >= FEWEST_ACROSS && rows < MOST_ACROSS;
}

static fnz_status find_team(team *t) {
  const fnzi_cuda_group *g = t->g;
  if (!count_rows(g, &t->rows, &t->all))
    return fnzi_no_memory(t->w.ctx);
  t->length = t->all;
  t->across = fnzi_cuda_block_has_rows(g);
  bool alone = t->length < 4 || (fnzi_cuda_is_interleaved(g) && t->rows >= LEAST_ROWS);
  if (g->pieces) {
    t->length = g->piece;
    if (!fnzi_mul_i64(t->rows, g->pieces, &t->rows))
      return fnzi_no_memory(t->w.ctx);
  }
  t->threads = t->across                      ? THREADS / WARP
               : alone                        ? 1
               : t->length <= LONGEST_OF_WARP ? WARP
                                              : THREADS;
  return FNZ_OK;
}

/* --- Statements ------------------------------------------------------------------------------- */
/* Writes instructions over rows whose operands are known after `level` passes. */
static fnz_status put_rows(team *t, uint8_t level) {
  for (uint32_t i = 0; i < t->g->nins; i++) {
    const fnzi_cuda_ins *ins = &t->g->ins[i];
    if (!fnzi_cuda_reduces(ins) && t->g->slots[ins->out].of_rows && t->level[ins->out] == level)
      FNZ_TRY(fnzi_cuda_put_ins(&t->w, t->text, ins));
  }
  return FNZ_OK;
}

static fnz_status put_row_lanes(const team *t, bool stores) {
  for (uint32_t k = 0; k < t->g->nlanes; k++) {
    const fnzi_cuda_lane *lane = &t->g->lanes[k];
    if (lane->stores == stores && t->g->slots[lane->slot].of_rows)
      FNZ_TRY(fnzi_cuda_put_lane(&t->w, k));
  }
  return FNZ_OK;
}

/* --- Numbers ---------------------------------------------------------------------------------- */
static const char *in_of(const team *t, const fnzi_cuda_ins *ins) {
  return fnzi_cuda_type_name((fnz_dtype)t->g->slots[ins->in[0]].dtype);
}

static fnz_status put_update(const team *t, const fnzi_cuda_ins *ins) {
  unsigned out = ins->out, in = ins->in[0];
  if (ins->kind == FNZI_CUDA_FOLD) {
    PUT(&t->w, "    m%u = fold_%s<cell_%s>::take(m%u, s%u);\n", out, ins->fold, in_of(t, ins), out,
        in);
    return FNZ_OK;
  }
  PUT(&t->w, "    const picked<cell_%s> x%u = {s%u, ", in_of(t, ins), out, in);
  if (ins->arity > 1)
    PUT(&t->w, "s%u", (unsigned)ins->in[1]);
  else
    PUT(&t->w, "c");
  PUT(&t->w, "};\n    m%u = take<pick_%s<cell_%s>, cell_%s>(m%u, x%u);\n", out, ins->fold,
      in_of(t, ins), in_of(t, ins), out, out);
  return FNZ_OK;
}

static fnz_status team_put_joined(const team *t, const fnzi_cuda_ins *ins) {
  unsigned out = ins->out;
  bool picks = ins->kind == FNZI_CUDA_PICK;
  const char *type = in_of(t, ins);
  if (t->threads > 1)
    PUT(&t->w, "    m%u = join%s_%s<%s_%s<cell_%s>, cell_%s>(m%u);\n", out, picks ? "_picked" : "",
        t->across            ? "across"
        : t->threads == WARP ? "warp"
                             : "block",
        picks ? "pick" : "fold", ins->fold, type, type, out);
  PUT(&t->w, "    const cell_%s s%u = m%u%s;\n", type, out, out, picks ? ".value" : "");
  if (picks)
    PUT(&t->w, "    const int64_t s%u = m%u.at;\n", (unsigned)ins->index, out);
  return FNZ_OK;
}

/* Writes a part of each number that pass `level` + 1 computes: its initial value, its update, or
 * the join over the team. */
typedef enum part { FIRST, TAKEN, JOINED } part;

static fnz_status put_numbers(const team *t, uint8_t level, part step) {
  for (uint32_t i = 0; i < t->g->nins; i++) {
    const fnzi_cuda_ins *ins = &t->g->ins[i];
    if (!fnzi_cuda_reduces(ins) || t->level[ins->out] != level + 1)
      continue;
    if (step != FIRST)
      FNZ_TRY(step == TAKEN ? put_update(t, ins) : team_put_joined(t, ins));
    else if (ins->kind == FNZI_CUDA_PICK)
      PUT(&t->w, "    picked<cell_%s> m%u = {0, -1};\n", in_of(t, ins), (unsigned)ins->out);
    else
      PUT(&t->w, "    cell_%s m%u = fold_%s<cell_%s>::first();\n", in_of(t, ins),
          (unsigned)ins->out, ins->fold, in_of(t, ins));
  }
  return FNZ_OK;
}

static bool find_numbers(team *t, uint8_t level) {
  bool any = false;
  memset(t->needed, 0, sizeof t->needed);
  for (uint32_t i = 0; i < t->g->nins; i++) {
    const fnzi_cuda_ins *ins = &t->g->ins[i];
    if (!fnzi_cuda_reduces(ins) || t->level[ins->out] != level + 1)
      continue;
    any = true;
    for (uint32_t k = 0; k < ins->arity; k++)
      t->needed[ins->in[k]] = !t->g->slots[ins->in[k]].of_rows;
  }
  return any;
}

static bool find_stored(team *t) {
  bool any = false;
  memset(t->needed, 0, sizeof t->needed);
  for (uint32_t k = 0; k < t->g->nlanes; k++)
    if (t->g->lanes[k].stores && !t->g->slots[t->g->lanes[k].slot].of_rows)
      any = t->needed[t->g->lanes[k].slot] = true;
  return any;
}

/* Counts per lane the passes that load it. */
static fnz_status count_uses(team *t, uint8_t **uses) {
  bool more = true;
  FNZI_NEW(t->text->arena, t->g->nlanes, uses);
  for (uint8_t level = 0; more; level++) {
    more = find_numbers(t, level);
    if (!more)
      (void)find_stored(t);
    fnzi_cuda_team_find_needed(t);
    for (uint32_t k = 0; k < t->g->nlanes; k++)
      (*uses)[k] =
          (uint8_t)((*uses)[k] + (!t->g->lanes[k].stores && t->needed[t->g->lanes[k].slot]));
  }
  return FNZ_OK;
}

/* --- A row ------------------------------------------------------------------------------------ */
static fnz_status team_put_stores(team *t) {
  PUT(&t->w, t->across ? "    if (is) {\n" : "    {\n");
  if (find_stored(t)) {
    FNZ_TRY(fnzi_cuda_team_open_pass(t, true));
    FNZ_TRY(fnzi_cuda_team_close_pass(t, true));
  }
  bool any = false;
  for (uint32_t k = 0; k < t->g->nlanes; k++)
    any = any || (t->g->lanes[k].stores && t->g->slots[t->g->lanes[k].slot].of_rows);
  if (any) {
    PUT(&t->w, "    if (me == 0) {\n");
    FNZ_TRY(put_row_lanes(t, true));
    PUT(&t->w, "    }\n");
  }
  PUT(&t->w, "    }\n");
  return FNZ_OK;
}

static fnz_status team_put_row(team *t) {
  uint8_t level = 0;
  FNZ_TRY(put_row_lanes(t, false));
  for (uint32_t k = 0; k < t->g->nslots; k++)
    if (t->g->slots[k].number)
      FNZ_TRY(fnzi_cuda_put_number(&t->w, k));
  FNZ_TRY(put_rows(t, 0));
  FNZ_TRY(fnzi_cuda_team_put_kept(t));
  for (; find_numbers(t, level); level++) {
    FNZ_TRY(put_numbers(t, level, FIRST));
    FNZ_TRY(fnzi_cuda_team_open_pass(t, false));
    FNZ_TRY(put_numbers(t, level, TAKEN));
    FNZ_TRY(fnzi_cuda_team_close_pass(t, false));
    FNZ_TRY(put_numbers(t, level, JOINED));
    FNZ_TRY(put_rows(t, (uint8_t)(level + 1)));
  }
  /* All threads must have read the row's memory before one of them stores values there. Joining a
   * warp's numbers orders no memory accesses, and only a test on a GPU would find that the barrier
   * is missing. */
  if (t->threads == WARP)
    PUT(&t->w, "    __syncwarp();\n");
  else if (level == 0 && t->threads > 1)
    PUT(&t->w, "    __syncthreads();\n");
  return team_put_stores(t);
}

/* Writes the indices of the row and of its piece. Rows of one block are adjacent. */
static fnz_status team_put_piece(const team *t) {
  int64_t side = t->across ? t->rows / t->g->pieces : t->g->pieces;
  const fnzi_cuda_word over = fnzi_cuda_word_over(t->text, "at", side, t->w.is_small),
                       beside = fnzi_cuda_word_of(t->text, side),
                       all = fnzi_cuda_word_of(t->text, t->all);
  const char *first = t->across ? "piece" : "i", *then = t->across ? "i" : "piece";
  PUT(&t->w,
      "    const index %s = (index)(%s), %s = (index)(at - (int64_t)%s * %s);\n"
      "    const int64_t begin = (int64_t)piece * %lld, end = begin + %lld < %s ? begin + %lld : "
      "%s;\n"
      "    const index from = (index)(begin / %d), till = (index)(end / %d);\n",
      first, over.text, then, first, beside.text, (long long)t->length, (long long)t->length,
      all.text, (long long)t->length, all.text, t->width, t->width);
  return FNZ_OK;
}

/* Teams beyond the last row go along it, too, for they meet with the others, and store nothing. */
static fnz_status team_open_rows(const team *t, int64_t beside) {
  const fnzi_cuda_word rows = fnzi_cuda_word_of(t->text, t->rows);
  if (t->threads == 1)
    PUT(&t->w, "  for (int64_t at = FIRST; at < %s; at += STEP) {\n", rows.text);
  else if (t->across)
    PUT(&t->w,
        "  for (int64_t base = (int64_t)blockIdx.x * %lld; base < %s;\n"
        "       base += (int64_t)gridDim.x * %lld) {\n"
        "    const int64_t at = base + threadIdx.x %% 32 < %s ? base + threadIdx.x %% 32 : %s - "
        "1;\n"
        "    const bool is = at == base + threadIdx.x %% 32;\n",
        (long long)beside, rows.text, (long long)beside, rows.text, rows.text);
  else
    PUT(&t->w,
        "  for (int64_t at = (int64_t)blockIdx.x * %lld + threadIdx.x / %lld; at < %s;\n"
        "       at += (int64_t)gridDim.x * %lld) {\n",
        (long long)beside, (long long)t->threads, rows.text, (long long)beside);
  return FNZ_OK;
}

static fnz_status team_put_body(team *t) {
  const fnzi_cuda_group *g = t->g;
  int64_t beside = THREADS / t->threads;
  PUT(&t->w, "  typedef %s index;\n  const int me = %s;\n", t->w.is_small ? "int32_t" : "int64_t",
      t->across            ? "threadIdx.x / 32"
      : t->threads == 1    ? "0"
      : t->threads == WARP ? "threadIdx.x % 32"
                           : "threadIdx.x");
  FNZ_TRY(fnzi_cuda_team_put_types(t));
  FNZ_TRY(team_open_rows(t, beside));
  if (g->pieces) {
    FNZ_TRY(team_put_piece(t));
  } else {
    PUT(&t->w, "    const index i = (index)at;\n");
  }
  FNZ_TRY(fnzi_cuda_put_indices(&t->w, 0, g->outer, "i"));
  FNZ_TRY(team_put_row(t));
  PUT(&t->w, "  }\n");
  return FNZ_OK;
}

fnz_status fnzi_cuda_use_folds(fnz_context *ctx, fnzi_cuda_text *text) {
  static const char *const *const files[] = {fnzi_cuda_text_running_values, fnzi_cuda_text_fold,
                                             fnzi_cuda_text_folds, fnzi_cuda_text_join};
  for (size_t k = 0; k < sizeof files / sizeof *files; k++)
    FNZ_TRY(fnzi_cuda_text_use(ctx, text, files[k]));
  return FNZ_OK;
}

static fnz_status team_add(team *t, uint32_t *kernel, int64_t *count) {
  uint8_t *uses;
  FNZ_TRY(find_team(t));
  FNZ_TRY(find_levels(t));
  FNZ_TRY(count_uses(t, &uses));
  FNZ_TRY(fnzi_cuda_team_measure(t, uses));
  FNZ_TRY(team_put_body(t));
  FNZ_TRY(fnzi_cuda_use_folds(t->w.ctx, t->text));
  int64_t beside = THREADS / t->threads;
  *count = t->threads == 1 ? t->rows : t->rows / beside + (t->rows % beside != 0);
  const fnzi_cuda_kernel shape = {NULL, t->g->nlanes, THREADS,
                                  t->threads == 1 ? FNZI_CUDA_GRID_FLAT : FNZI_CUDA_GRID_BLOCKS, 0};
  return fnzi_cuda_text_kernel(t->w.ctx, t->text, t->w.out, &shape, kernel);
}

fnz_status fnzi_cuda_text_team(fnz_context *ctx, fnzi_cuda_text *text, const fnzi_cuda_group *group,
                               uint32_t *kernel, int64_t *count) {
  fnz_buffer body = {.data = NULL};
  team t = {
      .w = {.ctx = ctx, .out = &body, .group = group, .text = text}, .text = text, .g = group};
  t.w.is_small = fnzi_cuda_is_small(group);
  if (group->nslots > FNZI_CUDA_TEAM_SLOTS)
    return fnzi_fail(ctx, FNZ_CLASS_INTERNAL, NULL, "a group has too many values");
  fnz_status status = team_add(&t, kernel, count);
  fnz_buffer_free(ctx, &body);
  return status;
}
