/* compare.c - compares two programs: their inputs, their outputs, and the final state of their
 * memory.
 *
 * needs   verified programs
 * gives   FNZ_OK, or FNZ_DIFFERENT with the first difference; signatures come before expressions */
#include "program/compare/compare.h"
#include "program/formats/formats.h"
#include "program/signature.h"

#include <stdio.h>

typedef struct comparison {
  fnz_context *ctx;
  fnzi_cmp_numbering n;
  fnzi_cmp_side sides[2];
  fnzi_signature signatures[2];
  fnz_difference **out;
} comparison;

static uint32_t count_user(const fnz_program *p) {
  uint32_t count = 0;
  for (uint32_t k = fnzi_next_user(p, 0); k < p->graphs.data[0].ninputs;
       k = fnzi_next_user(p, k + 1))
    count++;
  return count;
}

/* --- what they take --------------------------------------------------------------------------- */
static fnz_status compare_inputs(comparison *c, uint32_t i, uint32_t k, const char *where) {
  uint32_t a, b;
  FNZ_TRY(fnzi_cmp_number_input(&c->n, &c->sides[0], i, &a));
  FNZ_TRY(fnzi_cmp_number_input(&c->n, &c->sides[1], k, &b));
  return a == b ? FNZ_OK : fnzi_cmp_report_classes(&c->n, c->sides, where, a, b, c->out);
}

static fnz_status compare_user_inputs(comparison *c) {
  const fnz_program *a = c->sides[0].p, *b = c->sides[1].p;
  uint32_t i = fnzi_next_user(a, 0), k = fnzi_next_user(b, 0), count = 0;
  if (count_user(a) != count_user(b))
    return fnzi_cmp_report_plain(c->ctx, c->out, "inputs", "%u and %u user inputs", count_user(a),
                                 count_user(b));
  for (; i < a->graphs.data[0].ninputs;
       i = fnzi_next_user(a, i + 1), k = fnzi_next_user(b, k + 1)) {
    char where[32];
    snprintf(where, sizeof where, "input %u", count++);
    FNZ_TRY(compare_inputs(c, i, k, where));
  }
  return FNZ_OK;
}

static fnz_status compare_weight(comparison *c, uint32_t i, uint32_t k) {
  const fnz_program *a = c->sides[0].p, *b = c->sides[1].p;
  const fnz_input_spec *spec = &a->inputs[i];
  const fnzi_weight *x = fnzi_weight_find(a, spec->target), *y = fnzi_weight_find(b, spec->target);
  char where[192];
  snprintf(where, sizeof where, "%s %s", fnzi_input_kind_names[spec->kind], spec->target);
  FNZ_TRY(compare_inputs(c, i, k, where));
  if (spec->persistent != b->inputs[k].persistent)
    return fnzi_cmp_report_plain(c->ctx, c->out, where, "it is persistent in one program only");
  if (x && y && x->blob && y->blob && !fnzi_cmp_weights_equal(x, y))
    return fnzi_cmp_report_plain(c->ctx, c->out, where, "it has other numbers");
  return FNZ_OK;
}

static fnz_status compare_weights_of(comparison *c, uint32_t side) {
  const fnz_program *p = c->sides[side].p;
  for (uint32_t k = 0; k < p->graphs.data[0].ninputs; k++) {
    uint32_t other;
    if (!fnzi_is_weight(p, k))
      continue;
    const char *name = p->inputs[k].target;
    if (!fnzi_weight_input(&c->signatures[1 - side], name, &other) ||
        c->sides[1 - side].p->inputs[other].kind != p->inputs[k].kind)
      return fnzi_cmp_report_plain(c->ctx, c->out, "weights", "only the %s program has %s %s",
                                   side ? "second" : "first",
                                   fnzi_input_kind_names[p->inputs[k].kind], name);
    if (side == 0)
      FNZ_TRY(compare_weight(c, k, other));
  }
  return FNZ_OK;
}

static fnz_status compare_ranges(comparison *c) {
  for (int side = 0; side < 2; side++) {
    const fnz_program *p = c->sides[side].p;
    for (size_t i = 0; i < p->ranges.count; i++) {
      bool there;
      FNZ_TRY(fnzi_has_range(&c->signatures[1 - side], &p->ranges.data[i], &there));
      if (!there)
        return fnzi_cmp_report_plain(c->ctx, c->out, "ranges", "symbol %s has another range",
                                     p->ranges.data[i].symbol);
    }
  }
  return FNZ_OK;
}

static fnz_status compare_guards(comparison *c) {
  for (int side = 0; side < 2; side++) {
    const fnz_program *p = c->sides[side].p;
    for (size_t i = 0; i < p->guards.count; i++) {
      const fnz_guard *guard = &p->guards.data[i];
      bool there;
      FNZ_TRY(fnzi_has_guard(&c->signatures[1 - side], &c->signatures[side], guard, &there));
      if (!there)
        return fnzi_cmp_report_plain(
            c->ctx, c->out, "guards", "only the %s program has the guard %s",
            side ? "second" : "first", guard->text ? guard->text : "that inputs share no memory");
    }
  }
  return FNZ_OK;
}

/* --- what they give --------------------------------------------------------------------------- */
static fnz_status compare_spec(comparison *c, uint32_t k, const char *where) {
  const fnz_output_spec *a = &c->sides[0].p->outputs[k], *b = &c->sides[1].p->outputs[k];
  const char *x, *y;
  FNZ_TRY(fnzi_target_name(&c->signatures[0], a->target, &x));
  FNZ_TRY(fnzi_target_name(&c->signatures[1], b->target, &y));
  if (a->kind != b->kind)
    return fnzi_cmp_report_plain(c->ctx, c->out, where, "kinds: %s and %s",
                                 fnzi_output_kind_names[a->kind], fnzi_output_kind_names[b->kind]);
  if (strcmp(x, y) != 0)
    return fnzi_cmp_report_plain(c->ctx, c->out, where, "%s of `%s` and of `%s`",
                                 fnzi_output_kind_names[a->kind], x, y);
  if (a->set != b->set || a->sharing != b->sharing || a->of != b->of || !a->window != !b->window ||
      (a->window && !fnzi_geometry_equal(a->window, b->window)))
    return fnzi_cmp_report_plain(c->ctx, c->out, where, "it lies in other memory of the original");
  if (a->metadata != b->metadata)
    return fnzi_cmp_report_plain(c->ctx, c->out, where,
                                 "only the %s program changes sizes or strides of `%s`",
                                 a->metadata ? "first" : "second", x);
  return FNZ_OK;
}

static const fnz_arg *output_at(const comparison *c, uint32_t side, uint32_t k) {
  return &c->sides[side].p->graphs.data[0].outputs[k];
}

/* Both programs have lists or literals of the same form there, with values in the same positions.
 */
static fnz_status compare_values(comparison *c, uint32_t k, const char *where) {
  const fnzi_cmp_place spot = {0, k, true, false};
  fnzi_each a = fnzi_each_of(output_at(c, 0, k), 1), b = fnzi_each_of(output_at(c, 1, k), 1);
  fnzi_each_lists in_a, in_b;
  fnzi_each_start(&in_a), fnzi_each_start(&in_b);
  for (; fnzi_each_is_there(&in_a, &a) && fnzi_each_is_there(&in_b, &b); a.arg++, b.arg++) {
    uint32_t x, y;
    if (!fnzi_is_reference(a.arg))
      continue;
    FNZ_TRY(fnzi_cmp_number_read(&c->n, &c->sides[0], a.arg->u.value, spot, &x));
    FNZ_TRY(fnzi_cmp_number_read(&c->n, &c->sides[1], b.arg->u.value, spot, &y));
    if (x != y)
      FNZ_TRY(fnzi_cmp_report_classes(&c->n, c->sides, where, x, y, c->out));
  }
  return FNZ_OK;
}

static fnz_status report_outputs(comparison *c, uint32_t k, const char *where) {
  fnz_buffer text = {0};
  fnz_status status = fnzi_write_use(c->ctx, c->sides[0].p, 0, output_at(c, 0, k), &text);
  if (status == FNZ_OK)
    status = fnzi_put_text(c->ctx, &text, " and ");
  if (status == FNZ_OK)
    status = fnzi_write_use(c->ctx, c->sides[1].p, 0, output_at(c, 1, k), &text);
  if (status == FNZ_OK)
    status = fnzi_cmp_report_plain(c->ctx, c->out, where, "%s", text.data);
  fnz_buffer_free(c->ctx, &text);
  return status;
}

static fnz_status compare_outputs(comparison *c) {
  uint32_t count = c->sides[0].p->graphs.data[0].noutputs;
  uint32_t other = c->sides[1].p->graphs.data[0].noutputs;
  if (count != other)
    return fnzi_cmp_report_plain(c->ctx, c->out, "outputs", "%u and %u outputs", count, other);
  for (uint32_t k = 0; k < count; k++) {
    char where[32];
    bool differ;
    snprintf(where, sizeof where, "output %u", k);
    FNZ_TRY(compare_spec(c, k, where));
    FNZ_TRY(fnzi_cmp_args_differ(&c->n, output_at(c, 0, k), output_at(c, 1, k), &differ));
    FNZ_TRY(differ ? report_outputs(c, k, where) : compare_values(c, k, where));
  }
  return FNZ_OK;
}

/* --- what they leave behind ------------------------------------------------------------------- */
static fnz_status compare_state(comparison *c, uint32_t i, uint32_t k, const char *name) {
  uint32_t a = fnzi_cmp_state_of(&c->sides[0], i), b = fnzi_cmp_state_of(&c->sides[1], k);
  char where[192];
  snprintf(where, sizeof where, "what is written to %s", name);
  return a == b ? FNZ_OK : fnzi_cmp_report_classes(&c->n, c->sides, where, a, b, c->out);
}

static fnz_status compare_states(comparison *c) {
  const fnz_program *a = c->sides[0].p, *b = c->sides[1].p;
  uint32_t i = fnzi_next_user(a, 0), k = fnzi_next_user(b, 0);
  if (!c->sides[0].memory.is_tracked && !c->sides[1].memory.is_tracked)
    return FNZ_OK;
  for (; i < a->graphs.data[0].ninputs; i = fnzi_next_user(a, i + 1), k = fnzi_next_user(b, k + 1))
    FNZ_TRY(compare_state(c, i, k, a->inputs[i].target));
  for (i = 0; i < a->graphs.data[0].ninputs; i++)
    if (fnzi_is_weight(a, i) && fnzi_weight_input(&c->signatures[1], a->inputs[i].target, &k))
      FNZ_TRY(compare_state(c, i, k, a->inputs[i].target));
  /* Constants that are written are state, too. Constants of the same name belong together. */
  fnzi_map places;
  fnz_status status = FNZ_OK;
  fnzi_map_init(&places, c->ctx);
  for (k = 0; status == FNZ_OK && k < b->graphs.data[0].ninputs; k++)
    if (b->inputs[k].kind == FNZ_INPUT_CONSTANT)
      status = fnzi_map_set(&places, b->inputs[k].target, strlen(b->inputs[k].target), k);
  for (i = 0; status == FNZ_OK && i < a->graphs.data[0].ninputs; i++) {
    uint64_t other;
    if (a->inputs[i].kind == FNZ_INPUT_CONSTANT &&
        fnzi_map_get(&places, a->inputs[i].target, strlen(a->inputs[i].target), &other))
      status = compare_state(c, i, (uint32_t)other, a->inputs[i].target);
  }
  fnzi_map_free(&places);
  return status;
}

static fnz_status compare_sharing(comparison *c) {
  uint32_t *a, *b;
  if (!c->sides[0].memory.is_tracked || !c->sides[1].memory.is_tracked)
    return FNZ_OK;
  FNZ_TRY(fnzi_cmp_sharing(&c->n.arena, &c->sides[0], &a));
  FNZ_TRY(fnzi_cmp_sharing(&c->n.arena, &c->sides[1], &b));
  for (uint32_t k = 0; k < c->sides[0].p->graphs.data[0].noutputs; k++) {
    char where[32];
    snprintf(where, sizeof where, "output %u", k);
    if (a[k] != b[k])
      return fnzi_cmp_report_plain(
          c->ctx, c->out, where,
          "it shares memory with another output or input than in the other "
          "program");
  }
  return FNZ_OK;
}

static fnz_status compare(comparison *c) {
  FNZ_TRY(fnzi_signature_of(c->ctx, c->sides[0].p, &c->signatures[0]));
  FNZ_TRY(fnzi_signature_of(c->ctx, c->sides[1].p, &c->signatures[1]));
  FNZ_TRY(compare_user_inputs(c));
  FNZ_TRY(compare_weights_of(c, 0));
  FNZ_TRY(compare_weights_of(c, 1));
  FNZ_TRY(compare_ranges(c));
  FNZ_TRY(compare_guards(c));
  FNZ_TRY(fnzi_cmp_number_program(&c->n, &c->sides[0]));
  FNZ_TRY(fnzi_cmp_number_program(&c->n, &c->sides[1]));
  FNZ_TRY(compare_outputs(c));
  FNZ_TRY(compare_states(c));
  FNZ_TRY(compare_sharing(c));
  const fnzi_cmp_side *a = &c->sides[0], *b = &c->sides[1];
  if (a->random_now != b->random_now)
    return fnzi_cmp_report_classes(&c->n, a, "random numbers", a->random_now, b->random_now,
                                   c->out);
  if (a->effects_now != b->effects_now)
    return fnzi_cmp_report_classes(&c->n, a, "nodes without results", a->effects_now,
                                   b->effects_now, c->out);
  return FNZ_OK;
}

fnz_status fnz_program_compare(fnz_context *ctx, const fnz_program *a, const fnz_program *b,
                               fnz_difference **out) {
  comparison c = {.ctx = ctx, .sides = {{.p = a, .which = 0}, {.p = b, .which = 1}}, .out = out};
  if (out)
    *out = NULL;
  FNZ_TRY(fnzi_program_check_files(ctx, a));
  FNZ_TRY(fnzi_program_check_files(ctx, b));
  fnz_status status = fnzi_cmp_numbering_init(ctx, &c.n);
  c.n.programs[0] = a;
  c.n.programs[1] = b;
  if (status == FNZ_OK)
    status = compare(&c);
  fnzi_cmp_numbering_free(&c.n);
  fnzi_signature_end(&c.signatures[0]);
  fnzi_signature_end(&c.signatures[1]);
  return status;
}
