/* text_index.c - kernels that load elements from places, or store them to places, given by index
 * tensors.
 *
 * Elements for one place are joined in sequence by one thread, in the order of the index, whatever
 * the grid is. For this the positions of the index are sorted by place, and the first position of
 * each place has the end of its run. */
#include "engine/cuda/text_parts.h"

typedef struct writer {
  fnz_context *ctx;
  fnz_buffer *out;
  fnzi_cuda_text *text;
  const fnzi_cuda_picking *p;
} writer;

enum { TO, FROM, INDICES };

static unsigned flag_of(const fnzi_cuda_picking *p) {
  return INDICES + p->npicks;
}

/* The operands after the flag are the positions of the index, sorted by place, and the ends of
 * runs. */
static unsigned order_of(const fnzi_cuda_picking *p) {
  return flag_of(p) + 1;
}

static unsigned ends_of(const fnzi_cuda_picking *p) {
  return order_of(p) + 1;
}

/* --- Places in order -------------------------------------------------------------------------- */
static bool is_ordered(const fnzi_cuda_picking *p, uint32_t d) {
  return d >= p->first && d < p->first + p->order;
}

/* Returns whether some index varies along the dimension. */
static bool is_lane(const fnzi_cuda_picking *p, uint32_t d) {
  bool moves = false;
  for (uint32_t k = 0; k < p->npicks; k++)
    moves = moves || p->picks[k].strides[d] != 0;
  return moves && !is_ordered(p, d);
}

void fnzi_cuda_picking_count(const fnzi_cuda_picking *p, int64_t *positions, int64_t *lanes) {
  *positions = *lanes = 1;
  for (uint32_t d = 0; d < p->rank; d++) {
    if (is_ordered(p, d))
      *positions *= p->sizes[d];
    else if (is_lane(p, d))
      *lanes *= p->sizes[d];
  }
}

static int64_t count_positions(const fnzi_cuda_picking *p) {
  int64_t positions, lanes;
  fnzi_cuda_picking_count(p, &positions, &lanes);
  return positions;
}

static bool has_order(const fnzi_cuda_picking *p) {
  return count_positions(p) > 1;
}

static int64_t index_count_of(const fnzi_cuda_picking *p) {
  int64_t count = 1;
  for (uint32_t d = 0; d < p->rank; d++)
    count *= p->sizes[d];
  return count;
}

/* Returns whether all counts of elements and of places fit 32 bits. */
static bool is_small(const fnzi_cuda_picking *p) {
  int64_t positions, lanes;
  fnzi_cuda_picking_count(p, &positions, &lanes);
  return index_count_of(p) <= INT32_MAX && positions <= INT32_MAX / lanes;
}

static fnzi_cuda_word digit_of(const writer *w, const char *name, int64_t inner, int64_t size) {
  return fnzi_cuda_word_digit(w->text, name, inner, size, is_small(w->p));
}

/* Writes the offset in bytes of row-major index `name` over the dimensions for which `is` holds. */
static fnz_status put_offset(const writer *w, const char *name,
                             bool (*is)(const fnzi_cuda_picking *, uint32_t),
                             const int64_t *strides) {
  int64_t inner = 1;
  for (uint32_t d = w->p->rank; d-- > 0;) {
    if (!is(w->p, d))
      continue;
    if (strides[d] != 0)
      PUT(w, " + (%s) * %s", digit_of(w, name, inner, w->p->sizes[d]).text,
          WORD(w->text, strides[d]));
    inner *= w->p->sizes[d];
  }
  return FNZ_OK;
}

/* The dimensions for which `is` holds, as one number. */
static fnz_status put_number_of(const writer *w, const char *name,
                                bool (*is)(const fnzi_cuda_picking *, uint32_t)) {
  int64_t inner = 1;
  PUT(w, "    const int64_t %s = 0", name);
  for (uint32_t d = w->p->rank; d-- > 0;) {
    if (!is(w->p, d))
      continue;
    PUT(w, " + i%u * %s", (unsigned)d, WORD(w->text, inner));
    inner *= w->p->sizes[d];
  }
  PUT(w, ";\n");
  return FNZ_OK;
}

/* --- Elements --------------------------------------------------------------------------------- */
static fnz_status put_index(const writer *w, uint32_t d, const char *of, int64_t inner) {
  PUT(w, "    const int64_t i%u = %s;\n", (unsigned)d, digit_of(w, of, inner, w->p->sizes[d]).text);
  return FNZ_OK;
}

/* Writes the run of positions for the element's place: from `begin` to before `end`. Only the first
 * position of a run goes on, for all of them. `m` is the position of the index that counts. */
static fnz_status put_run(const writer *w) {
  const fnzi_cuda_picking *p = w->p;
  int64_t positions = count_positions(p), inner = 1;
  for (uint32_t d = p->first + p->order; d < p->rank; d++)
    inner *= p->sizes[d];
  PUT(w, "    const int64_t begin = %s;\n", digit_of(w, "at", inner, positions).text);
  FNZ_TRY(put_number_of(w, "l", is_lane));
  PUT(w,
      "    const int64_t lane = l * %s, end = LOAD(int64_t, p.at[%u] + (lane + begin) * 8);\n"
      "    if (end == 0)\n      continue;\n"
      "    const char *const order = p.at[%u] + lane * 8;\n"
      "    const int64_t m = LOAD(int64_t, order + %s * 8);\n",
      WORD(w->text, positions), ends_of(p), order_of(p), p->joins ? "begin" : "(end - 1)");
  inner = 1;
  for (uint32_t d = p->first + p->order; d-- > p->first; inner *= p->sizes[d])
    FNZ_TRY(put_index(w, d, "m", inner));
  return FNZ_OK;
}

static fnz_status put_strides(const writer *w, const int64_t *strides) {
  for (uint32_t d = 0; d < w->p->rank; d++)
    if (strides[d] != 0)
      PUT(w, " + i%u * %s", (unsigned)d, WORD(w->text, strides[d]));
  return FNZ_OK;
}

/* A place k that was read, within bounds or not. */
static fnz_status put_checked(const writer *w, const fnzi_cuda_pick *pick) {
  if (pick->wraps)
    PUT(w, " k += k < 0 ? %s : 0;", WORD(w->text, pick->size));
  PUT(w, " ok = ok && k >= 0 && k < %s;", WORD(w->text, pick->size));
  return FNZ_OK;
}

static fnz_status index_put_piece(const writer *w, const fnzi_cuda_statements *piece) {
  return fnzi_cuda_text_statements(w->ctx, w->text, &piece->group, w->out);
}

static const char *read_cell(const writer *w) {
  return fnzi_cuda_type_name(w->p->read);
}

static const char *stored_cell(const writer *w) {
  return fnzi_cuda_type_name(w->p->stored);
}

/* The addresses of an element in both, places counted in: ok false, out of bounds. */
static fnz_status put_addresses(const writer *w) {
  const fnzi_cuda_picking *p = w->p;
  PUT(w, "    char *to = p.at[%d]", (int)TO);
  FNZ_TRY(put_strides(w, p->to));
  PUT(w, ";\n");
  if (!p->reads_number) {
    PUT(w, "    char *from = p.at[%d]", (int)FROM);
    FNZ_TRY(put_strides(w, p->from));
    PUT(w, ";\n");
  }
  PUT(w, "    bool ok = true;\n");
  for (uint32_t k = 0; k < p->npicks; k++) {
    PUT(w, "    { int64_t k = (int64_t)LOAD(cell_%s, p.at[%u]",
        fnzi_cuda_type_name((fnz_dtype)p->picks[k].dtype), (unsigned)(INDICES + k));
    FNZ_TRY(put_strides(w, p->picks[k].strides));
    PUT(w, ");");
    FNZ_TRY(put_checked(w, &p->picks[k]));
    PUT(w, " %s += ok ? k * %s : 0; }\n", p->into ? "to" : "from",
        WORD(w->text, p->picks[k].stride));
  }
  PUT(w, "    if (!ok)\n      STORE(uint32_t, p.at[%u], 1u);\n", flag_of(p));
  return FNZ_OK;
}

/* --- Bodies ----------------------------------------------------------------------------------- */

/* Writes the load of the run's next element. */
static fnz_status put_next(const writer *w) {
  const fnzi_cuda_picking *p = w->p;
  if (p->reads_number)
    return FNZ_OK;
  if (!has_order(p)) {
    PUT(w, "    const cell_%s s1 = LOAD(cell_%s, from);\n", read_cell(w), read_cell(w));
    return FNZ_OK;
  }
  PUT(w,
      "    const int64_t next = LOAD(int64_t, order + j * 8);\n"
      "    const cell_%s s1 = LOAD(cell_%s, row",
      read_cell(w), read_cell(w));
  FNZ_TRY(put_offset(w, "next", is_ordered, p->from));
  PUT(w, ");\n");
  return FNZ_OK;
}

static fnz_status index_put_joined(const writer *w) {
  const fnzi_cuda_picking *p = w->p;
  const char *kept = fnzi_cuda_type_name((fnz_dtype)p->open.group.slots[p->open.result].dtype);
  PUT(w, "    if (!ok)\n      continue;\n    cell_%s kept;\n    {\n", kept);
  if (!p->starts_anew)
    PUT(w, "    const cell_%s s0 = LOAD(cell_%s, to);\n", stored_cell(w), stored_cell(w));
  FNZ_TRY(index_put_piece(w, &p->open));
  PUT(w, "    kept = s%u;\n    }\n    int64_t there = %d;\n", (unsigned)p->open.result,
      p->counts_self);
  if (has_order(p) && !p->reads_number) {
    PUT(w, "    char *const row = from - (0");
    FNZ_TRY(put_offset(w, "m", is_ordered, p->from));
    PUT(w, ");\n");
  }
  if (has_order(p))
    PUT(w, "#pragma unroll 4\n    for (int64_t j = begin; j < end; j++) {\n");
  else
    PUT(w, "    {\n");
  PUT(w, "    const cell_%s s0 = kept;\n", kept);
  FNZ_TRY(put_next(w));
  FNZ_TRY(index_put_piece(w, &p->join));
  PUT(w,
      "    kept = s%u;\n    there++;\n    }\n"
      "    const cell_%s s0 = kept;\n    const int64_t s1 = there;\n    (void)s1;\n",
      (unsigned)p->join.result, kept);
  FNZ_TRY(index_put_piece(w, &p->close));
  PUT(w, "    STORE(cell_%s, to, s%u);\n", stored_cell(w), (unsigned)p->close.result);
  return FNZ_OK;
}

static fnz_status index_put_body(const writer *w) {
  PUT(w, "  for (int64_t at = FIRST; at < %s; at += STEP) {\n",
      WORD(w->text, index_count_of(w->p)));
  int64_t inner = 1;
  for (uint32_t d = w->p->rank; d-- > 0; inner *= w->p->sizes[d])
    if (!has_order(w->p) || !is_ordered(w->p, d))
      FNZ_TRY(put_index(w, d, "at", inner));
  if (has_order(w->p))
    FNZ_TRY(put_run(w));
  FNZ_TRY(put_addresses(w));
  if (w->p->into && w->p->joins)
    FNZ_TRY(index_put_joined(w));
  else {
    if (w->p->into)
      PUT(w, "    if (!ok)\n      continue;\n");
    else /* an index out of bounds loads zero, because results of a failed run are written too */
      PUT(w, "    cell_%s s0 = {};\n    if (ok)\n      s0 = LOAD(cell_%s, from);\n", read_cell(w),
          read_cell(w));
    if (w->p->into && !w->p->reads_number)
      PUT(w, "    const cell_%s s0 = LOAD(cell_%s, from);\n", read_cell(w), read_cell(w));
    FNZ_TRY(index_put_piece(w, &w->p->move));
    PUT(w, "    STORE(cell_%s, to, s%u);\n", stored_cell(w), (unsigned)w->p->move.result);
  }
  PUT(w, "  }\n");
  return FNZ_OK;
}

/* --- Before anything is brought --------------------------------------------------------------- */
/* Opens the loop over all positions of the index. `own` is the place at position m, -1 if it is out
 * of bounds; place(j) is the place at position j of the same lane. */
static fnz_status open_places(const writer *w) {
  const fnzi_cuda_picking *p = w->p;
  int64_t positions, lanes;
  fnzi_cuda_picking_count(p, &positions, &lanes);
  PUT(w, "  for (int64_t at = FIRST; at < %s; at += STEP) {\n", WORD(w->text, positions * lanes));
  PUT(w, "    const int64_t l = %s, m = at - l * %s;\n",
      fnzi_cuda_word_over(w->text, "at", positions, is_small(p)).text, WORD(w->text, positions));
  PUT(w, "    auto place = [&](int64_t j) {\n      bool ok = true;\n      uint64_t all = 0;\n"
         "      int64_t k;\n");
  for (uint32_t k = 0; k < p->npicks; k++) {
    PUT(w, "      k = (int64_t)LOAD(cell_%s, p.at[%u]",
        fnzi_cuda_type_name((fnz_dtype)p->picks[k].dtype), (unsigned)(INDICES + k));
    FNZ_TRY(put_offset(w, "l", is_lane, p->picks[k].strides));
    FNZ_TRY(put_offset(w, "j", is_ordered, p->picks[k].strides));
    PUT(w, ");");
    FNZ_TRY(put_checked(w, &p->picks[k]));
    PUT(w, " all = all * (uint64_t)%s + (uint64_t)k;\n", WORD(w->text, p->picks[k].size));
  }
  PUT(w,
      "      return ok ? (int64_t)all : (int64_t)-1;\n    };\n"
      "    const int64_t own = place(m);\n    if (own < 0)\n      STORE(uint32_t, p.at[%u], 1u);\n",
      flag_of(p));
  return FNZ_OK;
}

static fnz_status put_keys(const writer *w) {
  FNZ_TRY(open_places(w));
  PUT(w, "    STORE(int64_t, p.at[%u] + at * 8, own);\n  }\n", order_of(w->p));
  return FNZ_OK;
}

/* Writes the order of positions: each counts the positions that come before it. */
static fnz_status put_order(const writer *w) {
  FNZ_TRY(open_places(w));
  if (has_order(w->p))
    PUT(w,
        "    int64_t before = 0, same = 0, earlier = 0;\n"
        "    for (int64_t j = 0; j < %s; j++) {\n"
        "      const int64_t other = place(j);\n"
        "      before += other < own;\n      same += other == own;\n"
        "      earlier += other == own && j < m;\n    }\n"
        "    const int64_t to = at - m + before + earlier;\n"
        "    STORE(int64_t, p.at[%u] + to * 8, m);\n"
        "    STORE(int64_t, p.at[%u] + to * 8, earlier ? (int64_t)0 : before + same);\n",
        WORD(w->text, count_positions(w->p)), order_of(w->p), ends_of(w->p));
  PUT(w, "  }\n");
  return FNZ_OK;
}

/* --- Kernels ---------------------------------------------------------------------------------- */
/* Adds the kernel. `more`: operands after the flag. */
static fnz_status index_add(fnz_context *ctx, fnzi_cuda_text *text,
                            const fnzi_cuda_picking *picking, fnz_status (*put)(const writer *w),
                            uint32_t more, uint32_t *kernel) {
  fnz_buffer body = {.data = NULL};
  const writer w = {ctx, &body, text, picking};
  const fnzi_cuda_kernel shape = {NULL, flag_of(picking) + 1 + more, 256, FNZI_CUDA_GRID_FLAT, 0};
  fnz_status status = put(&w);
  if (status == FNZ_OK)
    status = fnzi_cuda_text_kernel(ctx, text, &body, &shape, kernel);
  fnz_buffer_free(ctx, &body);
  return status;
}

fnz_status fnzi_cuda_text_pick(fnz_context *ctx, fnzi_cuda_text *text,
                               const fnzi_cuda_picking *picking, uint32_t *kernel) {
  return index_add(ctx, text, picking, index_put_body, has_order(picking) ? 2 : 0, kernel);
}

fnz_status fnzi_cuda_text_in_order(fnz_context *ctx, fnzi_cuda_text *text,
                                   const fnzi_cuda_picking *picking, uint32_t *kernel) {
  return index_add(ctx, text, picking, put_order, has_order(picking) ? 2 : 0, kernel);
}

fnz_status fnzi_cuda_text_keys(fnz_context *ctx, fnzi_cuda_text *text,
                               const fnzi_cuda_picking *picking, uint32_t *kernel) {
  return index_add(ctx, text, picking, put_keys, 1, kernel);
}
