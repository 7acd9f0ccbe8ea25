/* text.c - parts of groups as text: an instruction is a statement, an operand an address that is
 * read or stored; and the whole. */
#include "engine/cuda/text_parts.h"

#include <stdio.h>

/* A row that some kernel calls. */
typedef struct fnzi_cuda_used {
  const fnzi_cuda_row *row;
  uint8_t section;
} used;

void fnzi_cuda_text_begin(fnzi_arena *arena, fnzi_cuda_text *out) {
  *out = (fnzi_cuda_text){.arena = arena};
}

void fnzi_cuda_text_end(fnz_context *ctx, fnzi_cuda_text *text) {
  FNZI_VEC_FREE(ctx, &text->kernels);
  FNZI_VEC_FREE(ctx, &text->rows);
  FNZI_VEC_FREE(ctx, &text->helpers);
}

/* --- Types ------------------------------------------------------------------------------------ */

bool fnzi_cuda_text_converts(fnz_dtype dtype) {
  return fnzi_cuda_cells[fnzi_cuda_part_of(dtype)].name != NULL;
}

typedef fnzi_cuda_writer writer;

/* --- Conversions ------------------------------------------------------------------------------ */
/* A part of slot k: all of it, or ".re". */
static fnz_status put_converted(const writer *w, const fnzi_cuda_ins *ins, fnz_dtype to,
                                fnz_dtype from, const char *part) {
  bool is_half = from == FNZ_F16 || from == FNZ_BF16, to_half = to == FNZ_F16 || to == FNZ_BF16;
  unsigned k = ins->in[0];
  if (to == from)
    PUT(w, "s%u%s", k, part);
  else if (ins->kind == FNZI_CUDA_CAST && to == FNZ_BF16 && from == FNZ_F32)
    PUT(w, "cast_bf16(s%u%s)", k, part);
  else if (ins->kind == FNZI_CUDA_KEEP && to == FNZ_F32 && is_half)
    PUT(w, "kept_from_%s(s%u%s)", from == FNZ_F16 ? "f16" : "bf16", k, part);
  else if (ins->kind == FNZI_CUDA_KEEP && from == FNZ_F32 && to_half)
    PUT(w, "kept_to_%s(s%u%s)", to == FNZ_F16 ? "f16" : "bf16", k, part);
  else
    PUT(w, "%s_to_%s(read_%s(&s%u%s))", fnzi_cuda_cells[from].wide, fnzi_cuda_type_name(to),
        fnzi_cuda_type_name(from), k, part);
  return FNZ_OK;
}

static fnz_status put_conversion(const writer *w, const fnzi_cuda_ins *ins) {
  fnz_dtype to = (fnz_dtype)w->group->slots[ins->out].dtype,
            from = (fnz_dtype)w->group->slots[ins->in[0]].dtype;
  bool from_pair = fnzi_is_complex(from);
  if (to == from) {
    PUT(w, "s%u", (unsigned)ins->in[0]);
    return FNZ_OK;
  }
  if (!fnzi_cuda_text_converts(to) || !fnzi_cuda_text_converts(from))
    return fnzi_fail(w->ctx, FNZ_CLASS_INTERNAL, NULL, "no text converts %s to %s",
                     fnzi_dtype(from)->name, fnzi_dtype(to)->name);
  if (fnzi_is_complex(to))
    PUT(w, "{");
  FNZ_TRY(put_converted(w, ins, fnzi_cuda_part_of(to), fnzi_cuda_part_of(from),
                        from_pair ? ".re" : ""));
  if (to == FNZ_BOOL && from_pair) {
    PUT(w, " | ");
    FNZ_TRY(put_converted(w, ins, to, fnzi_cuda_part_of(from), ".im"));
  }
  if (fnzi_is_complex(to)) {
    PUT(w, ", ");
    if (from_pair)
      FNZ_TRY(put_converted(w, ins, fnzi_cuda_part_of(to), fnzi_cuda_part_of(from), ".im"));
    else
      PUT(w, "0");
    PUT(w, "}");
  }
  return FNZ_OK;
}

/* --- Instructions ----------------------------------------------------------------------------- */

/* The CPU computes some rows on cells of halves. A GPU computes them in floats, which keep the bits
 * of NaN. NULL for a slot of another type. */
static const char *half_of(const writer *w, uint16_t slot) {
  const fnz_dtype dtype = (fnz_dtype)w->group->slots[slot].dtype;
  return dtype == FNZ_F16 ? "f16" : dtype == FNZ_BF16 ? "bf16" : NULL;
}

/* Operands that a row does not have are the first one. Rows of integers may give another number
 * than 1 for true. */
static fnz_status text_put_row(const writer *w, fnzi_cuda_text *text, const fnzi_cuda_ins *ins) {
  uint8_t section;
  const fnzi_cuda_row *row = fnzi_cuda_row_find((fnz_dtype)ins->compute, ins->row, &section);
  if (!row)
    return fnzi_fail(w->ctx, FNZ_CLASS_INTERNAL, NULL, "point.def has no row %s for %s", ins->row,
                     fnzi_dtype((fnz_dtype)ins->compute)->name);
  bool is_listed = false;
  for (size_t i = 0; i < text->rows.count && !is_listed; i++)
    is_listed = text->rows.data[i].row == row && text->rows.data[i].section == section;
  if (!is_listed) {
    used one = {row, section};
    FNZI_PUSH(w->ctx, &text->rows, one);
  }
  const char *half = half_of(w, ins->out);
  if (half)
    PUT(w, "kept_to_%s(", half);
  PUT(w, "%s::row_%s(", fnzi_cuda_sections[section].name, row->name);
  for (uint32_t k = 0; k < FNZI_CUDA_OPERANDS; k++) {
    PUT(w, "%s", k ? ", " : "");
    const uint16_t slot = ins->in[k < ins->arity ? k : 0];
    const char *from = half_of(w, slot);
    if (from)
      PUT(w, "kept_from_%s(s%u)", from, (unsigned)slot);
    else
      PUT(w, "s%u", (unsigned)slot);
  }
  bool is_truth = w->group->slots[ins->out].dtype == FNZ_BOOL && row->out == FNZI_CUDA_OUT_SAME;
  PUT(w, "%s", half ? "))" : is_truth ? ") != 0" : ")");
  return FNZ_OK;
}

fnz_status fnzi_cuda_put_ins(const writer *w, fnzi_cuda_text *text, const fnzi_cuda_ins *ins) {
  PUT(w,
      "    const cell_%s s%u = ", fnzi_cuda_type_name((fnz_dtype)w->group->slots[ins->out].dtype),
      (unsigned)ins->out);
  if (ins->kind == FNZI_CUDA_ROW)
    FNZ_TRY(text_put_row(w, text, ins));
  else if (ins->kind == FNZI_CUDA_CHOOSE)
    PUT(w, "s%u ? s%u : s%u", (unsigned)ins->in[0], (unsigned)ins->in[1], (unsigned)ins->in[2]);
  else
    FNZ_TRY(put_conversion(w, ins));
  PUT(w, ";\n");
  return FNZ_OK;
}

/* --- Elements --------------------------------------------------------------------------------- */
bool fnzi_cuda_is_small(const fnzi_cuda_group *g) {
  int64_t count = 1;
  for (uint32_t d = 0; d < g->rank; d++)
    if (!fnzi_mul_i64(count, g->sizes[d], &count))
      return false;
  if (count > INT32_MAX / 2)
    return false;
  for (uint32_t k = 0; k < g->nlanes; k++) {
    int64_t end = 0, part;
    for (uint32_t d = 0; d < g->rank; d++) {
      if (g->lanes[k].strides[d] < 0 || !fnzi_mul_i64(g->sizes[d], g->lanes[k].strides[d], &part) ||
          !fnzi_add_i64(end, part, &end) || end > INT32_MAX)
        return false;
    }
  }
  return true;
}

bool fnzi_cuda_is_interleaved(const fnzi_cuda_group *g) {
  for (uint32_t k = 0; k < g->nlanes; k++) {
    const fnzi_cuda_lane *lane = &g->lanes[k];
    int64_t cell = fnzi_cuda_lane_cell(g, k);
    if (g->slots[lane->slot].of_rows)
      continue;
    if (lane->strides[g->rank - 1] == cell)
      return false;
    if (g->outer && lane->strides[g->outer - 1] == cell)
      return true;
  }
  return false;
}

/* Writes the indices in sequence: each needs one division, whose quotient is the input of the
 * next. */
static fnz_status put_indices_apart(const writer *w, uint32_t first, uint32_t end, const char *of) {
  char left[32];
  snprintf(left, sizeof left, "%s", of);
  for (uint32_t d = end; d-- > first + 1;) {
    int64_t size = w->group->sizes[d];
    PUT(w, "    const index of_%s%u = %s, ", of, (unsigned)d,
        fnzi_cuda_word_over(w->text, left, size, w->is_small).text);
    PUT(w, "i%u = %s - of_%s%u * %s;\n", (unsigned)d, left, of, (unsigned)d, INDEX(w->text, size));
    snprintf(left, sizeof left, "of_%s%u", of, (unsigned)d);
  }
  if (end > first)
    PUT(w, "    const index i%u = %s;\n", (unsigned)first, left);
  return FNZ_OK;
}

fnz_status fnzi_cuda_put_indices(const writer *w, uint32_t first, uint32_t end, const char *of) {
  const fnzi_cuda_group *g = w->group;
  int64_t inner = 1;
  if (w->text->is_general)
    return put_indices_apart(w, first, end, of);
  for (uint32_t d = end; d-- > first;) {
    PUT(w, "    const index i%u = %s", (unsigned)d, of);
    if (inner != 1)
      PUT(w, " / %lld", (long long)inner);
    if (d > first)
      PUT(w, " %% %lld", (long long)g->sizes[d]);
    PUT(w, ";\n");
    if (!fnzi_mul_i64(inner, g->sizes[d], &inner))
      return fnzi_fail(w->ctx, FNZ_CLASS_INTERNAL, NULL, "a group has too many elements");
  }
  return FNZ_OK;
}

fnz_status fnzi_cuda_put_address(const writer *w, uint32_t k) {
  int64_t cell = fnzi_cuda_lane_cell(w->group, k);
  PUT(w, "p.at[%u]", (unsigned)k);
  for (uint32_t d = 0; d < w->group->rank; d++) {
    int64_t stride = w->group->lanes[k].strides[d];
    int width = d + 1 == w->group->rank && w->width ? w->width : 1;
    if (stride == cell * width) /* dense, for all sizes */
      PUT(w, " + i%u * %lld", (unsigned)d, (long long)stride);
    else if (stride != 0)
      PUT(w, " + i%u * %s", (unsigned)d, INDEX(w->text, stride));
  }
  if (w->group->lanes[k].piece != 0)
    PUT(w, " + piece * %lld", (long long)w->group->lanes[k].piece);
  return FNZ_OK;
}

fnz_status fnzi_cuda_put_lane(const writer *w, uint32_t k) {
  const fnzi_cuda_lane *lane = &w->group->lanes[k];
  const char *type = fnzi_cuda_type_name((fnz_dtype)w->group->slots[lane->slot].dtype);
  if (lane->stores)
    PUT(w, "    STORE(cell_%s, ", type);
  else
    PUT(w, "    const cell_%s s%u = LOAD(cell_%s, ", type, (unsigned)lane->slot, type);
  FNZ_TRY(fnzi_cuda_put_address(w, k));
  if (lane->stores)
    PUT(w, ", s%u", (unsigned)lane->slot);
  PUT(w, ");\n");
  return FNZ_OK;
}

fnz_status fnzi_cuda_put_vector(const writer *w, uint32_t k) {
  PUT(w, "      STORE(lane%u, ", (unsigned)k);
  FNZ_TRY(fnzi_cuda_put_address(w, k));
  PUT(w, ", r%u);\n", (unsigned)k);
  return FNZ_OK;
}

fnz_status fnzi_cuda_put_vectors(const writer *w) {
  for (uint32_t k = 0; k < w->group->nlanes; k++)
    if (w->group->lanes[k].stores)
      FNZ_TRY(fnzi_cuda_put_vector(w, k));
  return FNZ_OK;
}

fnz_status fnzi_cuda_text_statements(fnz_context *ctx, fnzi_cuda_text *text,
                                     const fnzi_cuda_group *group, fnz_buffer *out) {
  const writer w = {.ctx = ctx, .out = out, .group = group, .text = text};
  for (uint32_t k = 0; k < group->nslots; k++)
    if (group->slots[k].number)
      FNZ_TRY(fnzi_cuda_put_number(&w, k));
  for (uint32_t i = 0; i < group->nins; i++)
    FNZ_TRY(fnzi_cuda_put_ins(&w, text, &group->ins[i]));
  return FNZ_OK;
}

const char *fnzi_cuda_lane_type(const fnzi_cuda_group *g, uint32_t lane) {
  return fnzi_cuda_type_name((fnz_dtype)g->slots[g->lanes[lane].slot].dtype);
}

/* Slots that are loaded are arguments, lanes that store are results. */
fnz_status fnzi_cuda_put_element(const fnzi_cuda_writer *w, fnzi_cuda_text *text) {
  const fnzi_cuda_group *g = w->group;
  PUT(w, "  const auto element = [%s](", text->is_general ? "&" : "");
  for (uint32_t k = 0; k < g->nlanes; k++) {
    const fnzi_cuda_lane *l = &g->lanes[k];
    PUT(w, l->stores ? "%scell_%s &r%u" : "%sconst cell_%s s%u", k ? ", " : "",
        fnzi_cuda_lane_type(g, k), l->stores ? (unsigned)k : (unsigned)l->slot);
  }
  PUT(w, ") {\n");
  FNZ_TRY(fnzi_cuda_text_statements(w->ctx, text, g, w->out));
  for (uint32_t k = 0; k < g->nlanes; k++)
    if (g->lanes[k].stores)
      PUT(w, "    r%u = s%u;\n", (unsigned)k, (unsigned)g->lanes[k].slot);
  PUT(w, "  };\n");
  return FNZ_OK;
}

fnz_status fnzi_cuda_put_use(const fnzi_cuda_writer *w) {
  const fnzi_cuda_group *g = w->group;
  PUT(w, "    element(");
  for (uint32_t k = 0; k < g->nlanes; k++)
    PUT(w, "%s%s%u", k ? ", " : "", g->lanes[k].stores ? "r" : "s",
        g->lanes[k].stores ? (unsigned)k : (unsigned)g->lanes[k].slot);
  PUT(w, ");\n");
  for (uint32_t k = 0; k < g->nlanes; k++) {
    if (!g->lanes[k].stores)
      continue;
    PUT(w, "    STORE(cell_%s, ", fnzi_cuda_lane_type(g, k));
    FNZ_TRY(fnzi_cuda_put_address(w, k));
    PUT(w, ", r%u);\n", (unsigned)k);
  }
  return FNZ_OK;
}

bool fnzi_cuda_kernel_is_same(const fnzi_cuda_kernel *a, const fnzi_cuda_kernel *b) {
  return a->lanes == b->lanes && a->numbers == b->numbers && a->threads == b->threads &&
         a->grid == b->grid && strcmp(a->body, b->body) == 0;
}

/* The body of `added` may be another's memory. */
static fnz_status add_kernel(fnz_context *ctx, fnzi_cuda_text *text, fnzi_cuda_kernel added,
                             uint32_t *kernel) {
  for (size_t k = 0; k < text->kernels.count; k++)
    if (fnzi_cuda_kernel_is_same(&text->kernels.data[k], &added)) {
      *kernel = (uint32_t)k;
      return FNZ_OK;
    }
  FNZ_TRY(fnzi_arena_string(text->arena, added.body, strlen(added.body), &added.body));
  *kernel = (uint32_t)text->kernels.count;
  FNZI_PUSH(ctx, &text->kernels, added);
  return FNZ_OK;
}

/* The numbers that were asked for since the last kernel are its own. */
fnz_status fnzi_cuda_text_kernel(fnz_context *ctx, fnzi_cuda_text *text, const fnz_buffer *body,
                                 const fnzi_cuda_kernel *shape, uint32_t *kernel) {
  fnzi_cuda_kernel with = *shape;
  fnz_buffer own = {.data = NULL};
  fnz_status status = fnzi_cuda_tables_apply(ctx, text, body, &own);
  with.numbers = text->nnumbers = text->pending;
  text->pending = 0;
  with.body = (const char *)own.data;
  if (status == FNZ_OK)
    status = add_kernel(ctx, text, with, kernel);
  fnz_buffer_free(ctx, &own);
  return status;
}

/* All threads of a block return, or none, because only earlier kernels set the flag. */
fnz_status fnzi_cuda_text_guard(fnz_context *ctx, fnzi_cuda_text *text, uint32_t kernel,
                                uint32_t *guarded) {
  fnzi_cuda_kernel shape = text->kernels.data[kernel];
  fnz_buffer body = {.data = NULL};
  fnz_status status = fnzi_printf(ctx, &body, "  if (LOAD(uint32_t, p.at[%u]) != 0)\n    return;\n",
                                  (unsigned)shape.lanes);
  if (status == FNZ_OK)
    status = fnzi_put_text(ctx, &body, shape.body);
  shape.body = (const char *)body.data;
  shape.lanes++;
  if (status == FNZ_OK)
    status = add_kernel(ctx, text, shape, guarded);
  fnz_buffer_free(ctx, &body);
  return status;
}

fnz_status fnzi_cuda_text_use(fnz_context *ctx, fnzi_cuda_text *text, const char *const *lines) {
  for (size_t k = 0; k < text->helpers.count; k++)
    if (text->helpers.data[k] == lines)
      return FNZ_OK;
  FNZI_PUSH(ctx, &text->helpers, lines);
  return FNZ_OK;
}

/* --- The whole -------------------------------------------------------------------------------- */
static fnz_status put_lines(const writer *w, const char *const *lines) {
  for (; *lines; lines++)
    FNZ_TRY(fnzi_put_text(w->ctx, w->out, *lines));
  return FNZ_OK;
}

/* Elements of each dtype, as convert.def has them. */
static fnz_status put_cells(const writer *w) {
  PUT(w, "#define VALUE static __device__\n#define inline __device__\n");
  FNZ_TRY(put_lines(w, fnzi_cuda_text_half));
  PUT(w, "#undef inline\n");
  for (int d = 0; d < FNZ_DTYPE_COUNT; d++) {
    const fnzi_cuda_cell *c = &fnzi_cuda_cells[d];
    if (c->name)
      PUT(w,
          "typedef %s cell_%s;\n"
          "VALUE %s read_%s(const cell_%s *p) {\n  return %s;\n}\n"
          "VALUE cell_%s int64_t_to_%s(int64_t v) {\n  return (cell_%s)(%s);\n}\n"
          "VALUE cell_%s uint64_t_to_%s(uint64_t v) {\n  return (cell_%s)(%s);\n}\n"
          "VALUE cell_%s double_to_%s(double v) {\n  return (cell_%s)(%s);\n}\n",
          c->type, c->name, c->wide, c->name, c->name, c->read, c->name, c->name, c->name,
          c->from_integer, c->name, c->name, c->name, c->from_integer, c->name, c->name, c->name,
          c->from_double);
  }
  return FNZ_OK;
}

/* NaN that keeps its bits, and eager's own of a cast. */
static fnz_status text_put_kept(const writer *w) {
  static const char *const names[] = {"f16", "bf16"};
  for (int k = 0; k < 2; k++)
    PUT(w,
        "VALUE float kept_from_%s(uint16_t v) {\n"
        "  uint32_t nan = fnzi_krn_widened_nan(%s, v);\n"
        "  return nan ? fnzi_krn_bits_float(nan) : fnzi_krn_from_%s(v);\n}\n"
        "VALUE uint16_t kept_to_%s(float v) {\n"
        "  uint16_t nan = fnzi_krn_narrowed_nan(%s, fnzi_krn_float_bits(v));\n"
        "  return nan ? nan : fnzi_krn_to_%s(v);\n}\n",
        names[k], k ? "true" : "false", names[k], names[k], k ? "true" : "false", names[k]);
  PUT(w, "VALUE uint16_t cast_bf16(float v) {\n"
         "  return v != v ? (uint16_t)0xffff : fnzi_krn_to_bf16(v);\n}\n");
  return FNZ_OK;
}

static fnz_status put_used(const writer *w, const used *u) {
  static const char *const types[] = {"T", "T", "uint8_t", "PART"};
  const fnzi_cuda_section *s = &fnzi_cuda_sections[u->section];
  const char *out = types[u->row->out];
  PUT(w, "VALUE %s row_%s(T a, T b, T c, T d) {\n  (void)a, (void)b, (void)c, (void)d;\n", out,
      u->row->name);
  if (u->row->before)
    PUT(w, "  T t = F(%s)(%s);\n", u->row->function, u->row->before);
  if (fnzi_is_complex(s->dtype))
    PUT(w, "  return %s;\n}\n", u->row->value);
  else
    PUT(w, "  return (%s)(%s);\n}\n", out, u->row->value);
  return FNZ_OK;
}

/* Returns whether some kernel of the text calls the row. Rows are noted before a kernel is
 * finished, and some kernels are dropped. */
static bool is_called(const fnzi_cuda_text *text, const used *u) {
  char call[80];
  snprintf(call, sizeof call, "%s::row_%s(", fnzi_cuda_sections[u->section].name, u->row->name);
  for (size_t k = 0; k < text->kernels.count; k++)
    if (strstr(text->kernels.data[k].body, call))
      return true;
  return false;
}

static fnz_status put_section(const writer *w, const fnzi_cuda_text *text, uint8_t section) {
  static const char *const words[] = {"T",       "N",      "F",     "V",    "W",      "PART", "TO",
                                      "FROM",    "CHOOSE", "AND",   "OR",   "TRUTH",  "EACH", "FMA",
                                      "GREATER", "LESSER", "BOUND", "WRAP", "through"};
  const fnzi_cuda_section *s = &fnzi_cuda_sections[section];
  bool any = false;
  for (size_t i = 0; i < text->rows.count && !any; i++)
    any = text->rows.data[i].section == section && is_called(text, &text->rows.data[i]);
  if (!any)
    return FNZ_OK;
  PUT(w, "namespace %s {\n%s", s->name, s->opens);
  for (int h = 0; s->helpers[h]; h++)
    FNZ_TRY(put_lines(w, s->helpers[h]));
  for (size_t i = 0; i < text->rows.count; i++)
    if (text->rows.data[i].section == section && is_called(text, &text->rows.data[i]))
      FNZ_TRY(put_used(w, &text->rows.data[i]));
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    PUT(w, "#undef %s\n", words[i]);
  PUT(w, "} // namespace %s\n\n", s->name);
  return FNZ_OK;
}

static fnz_status put_all(const writer *w, const fnzi_cuda_text *text) {
  FNZ_TRY(put_lines(w, fnzi_cuda_text_prelude));
  FNZ_TRY(put_cells(w));
  FNZ_TRY(text_put_kept(w));
  for (uint8_t s = 0; s < FNZI_CUDA_SECTIONS; s++)
    FNZ_TRY(put_section(w, text, s));
  PUT(w, "#define inline __device__\n");
  for (size_t k = 0; k < text->helpers.count; k++)
    FNZ_TRY(put_lines(w, text->helpers.data[k]));
  PUT(w, "#undef inline\n");
  for (size_t k = 0; k < text->kernels.count; k++) {
    const fnzi_cuda_kernel *kernel = &text->kernels.data[k];
    PUT(w, "%s(k%zu, %u, const places<%u> p",
        kernel->grid == FNZI_CUDA_GRID_FLAT ? "KERNEL" : "BLOCKS", k, (unsigned)kernel->threads,
        (unsigned)kernel->lanes);
    if (kernel->numbers)
      PUT(w, ", const numbers<%u> n", (unsigned)kernel->numbers);
    PUT(w, ") {\n");
    FNZ_TRY(fnzi_put_text(w->ctx, w->out, kernel->body));
    PUT(w, "}\n\n");
  }
  return FNZ_OK;
}

fnz_status fnzi_cuda_text_write(fnz_context *ctx, const fnzi_cuda_text *text, fnz_buffer *out) {
  const writer w = {.ctx = ctx, .out = out};
  FNZ_TRY(put_all(&w, text));
  return fnzi_put(ctx, out, "", 1);
}
