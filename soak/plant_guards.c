/* plant_guards.c - mistakes in the demands of a program on its inputs: guards, ranges, assertions.
 */
#include "soak/plant_edit.h"

#include <stdlib.h>

/* --- guards ---------------------------------------------------------------------------------- */
static void drop_guard(fnz_program *p, size_t k) {
  size_t behind = --p->guards.count - k;
  memmove(&p->guards.data[k], &p->guards.data[k + 1], behind * sizeof *p->guards.data);
}

/* Values whose elements some node or output takes, or whose final value is an output. A node that
 * reads a size does not read memory. */
static fnz_status find_used(fnzi_planting *t, bool **out) {
  const fnzi_graph *g = fnzi_graph_main(t->p);
  FNZI_NEW(&t->p->arena, g->values.count, out);
  for (size_t i = 0; i <= g->nodes.count; i++) {
    const fnzi_node *n = i < g->nodes.count ? &g->nodes.data[i] : NULL;
    if (n && fnzi_starts_with(fnzi_node_target(n), "sym_"))
      continue;
    FNZI_EACH_ARG(each, n ? n->args : g->outputs, n ? n->nargs : g->noutputs)
      if (each.arg->tag == FNZ_ARG_VALUE)
        (*out)[each.arg->u.value] = true;
  }
  for (uint32_t k = 0; k < g->noutputs; k++) {
    const fnz_output_spec *spec = &t->p->outputs[k];
    const char *target = spec->kind == FNZ_OUTPUT_INPUT_MUTATION ? spec->target : NULL;
    uint64_t value;
    if (target && fnzi_value_find(t->p, 0, target, strlen(target), &value))
      (*out)[value] = true;
  }
  return FNZ_OK;
}

static bool is_used(const fnz_program *p, const bool *used, const char *name) {
  uint64_t value;
  return fnzi_value_find(p, 0, name, strlen(name), &value) && used[value];
}

/* The final value of the input is one that a node has computed: not only sizes and strides, or the
 * memory, are others. */
static bool is_written(const fnz_program *p, const char *name) {
  for (uint32_t k = 0; k < fnzi_graph_main(p)->noutputs; k++) {
    const fnz_output_spec *spec = &p->outputs[k];
    if (spec->kind == FNZ_OUTPUT_INPUT_MUTATION && !spec->metadata && !spec->set &&
        strcmp(spec->target, name) == 0)
      return true;
  }
  return false;
}

/* The first of the inputs that lie in the same memory as the input of this name. */
static uint32_t memory_of(const fnz_program *p, const char *name) {
  const fnzi_graph *g = fnzi_graph_main(p);
  uint64_t value = 0;
  (void)fnzi_value_find(p, 0, name, strlen(name), &value);
  for (uint32_t k = 0; k < g->ninputs; k++)
    if (g->inputs[k].tag == FNZ_ARG_VALUE && g->inputs[k].u.value == value)
      return fnzi_memory_of(p, k);
  return UINT32_MAX;
}

/* A guard is there for inputs in two memories that are of use, and one is written: the others may
 * lie anywhere. */
static bool is_needed(const fnz_program *p, const bool *used, const fnz_guard *guard) {
  uint32_t first = UINT32_MAX;
  bool apart = false, written = false;
  for (uint32_t i = 0; guard->kind == FNZ_GUARD_DISJOINT && i < guard->count; i++) {
    if (!is_used(p, used, guard->names[i]))
      continue;
    const uint32_t memory = memory_of(p, guard->names[i]);
    apart = apart || (first != UINT32_MAX && first != memory);
    first = memory;
    written = written || is_written(p, guard->names[i]);
  }
  return apart && written;
}

fnz_status fnzi_plant_guard_disjoint(fnzi_planting *t) {
  bool *used;
  FNZ_TRY(find_used(t, &used));
  for (size_t k = 0; k < t->p->guards.count; k++) {
    if (!is_needed(t->p, used, &t->p->guards.data[k]) || !fnzi_plant_here(t))
      continue;
    drop_guard(t->p, k);
    return fnzi_plant_note(t, "guard disjoint is left out");
  }
  return FNZ_OK;
}

/* The first name goes. */
fnz_status fnzi_plant_guard_name(fnzi_planting *t) {
  bool *used;
  FNZ_TRY(find_used(t, &used));
  for (size_t k = 0; k < t->p->guards.count; k++) {
    fnz_guard *guard = &t->p->guards.data[k];
    if (!is_needed(t->p, used, guard) || guard->count < 3 ||
        !is_used(t->p, used, guard->names[0]) || !fnzi_plant_here(t))
      continue;
    fnzi_plant_note(t, "guard disjoint is without %s", guard->names[0]);
    guard->names++;
    guard->count--;
    return FNZ_OK;
  }
  return FNZ_OK;
}

/* A condition on sizes that the source does not have. */
static bool guards_is_condition(const fnzi_planting *t, const fnz_guard *guard) {
  bool is = guard->kind == FNZ_GUARD_CONDITION;
  for (size_t k = 0; is && t->source && k < t->source->guards.count; k++) {
    const fnz_guard *own = &t->source->guards.data[k];
    is = own->kind != FNZ_GUARD_CONDITION || strcmp(own->text, guard->text) != 0;
  }
  return is;
}

fnz_status fnzi_plant_guard_dropped(fnzi_planting *t) {
  for (size_t k = 0; k < t->p->guards.count; k++) {
    const fnz_guard *guard = &t->p->guards.data[k];
    if (!guards_is_condition(t, guard) || !fnzi_plant_here(t))
      continue;
    fnzi_plant_note(t, "guard %s is left out", guard->text);
    drop_guard(t->p, k);
    return FNZ_OK;
  }
  return FNZ_OK;
}

/* The first number in the text that is no part of a name. */
static const char *number_in(const char *text) {
  for (const char *c = text; *c; c++)
    if (fnzi_is_digit(*c) && (c == text || !(fnzi_is_letter(c[-1]) || fnzi_is_digit(c[-1]) ||
                                             c[-1] == '_' || c[-1] == '.')))
      return c;
  return NULL;
}

fnz_status fnzi_plant_guard_bound(fnzi_planting *t) {
  for (size_t k = 0; k < t->p->guards.count; k++) {
    fnz_guard *guard = &t->p->guards.data[k];
    const char *at = guards_is_condition(t, guard) ? number_in(guard->text) : NULL;
    char *rest;
    if (!at || !fnzi_plant_here(t))
      continue;
    const char *was = guard->text;
    long long number = strtoll(at, &rest, 10);
    number += number > 0 && fnzi_plant_choose(t, 2) ? -1 : 1;
    FNZ_TRY(fnzi_arena_format(&t->p->arena, &guard->text, "%.*s%lld%s", (int)(at - was), was,
                              number, rest));
    return fnzi_plant_note(t, "guard %s becomes %s", was, guard->text);
  }
  return FNZ_OK;
}

/* --- arguments ------------------------------------------------------------------------------- */
enum { SMALL = 20 };

/* A size as an argument of an operator, but a constant at larger sizes than are tried usually. */
fnz_status fnzi_plant_size_bounded(fnzi_planting *t) {
  for (fnzi_plant_at at = {0}; fnzi_plant_next_item(t, &at);) {
    static const fnzi_node_other min = {.target = "torch.sym_min"};
    fnzi_node *n;
    uint32_t value;
    const char *text;
    /* It is a symbol: verification tries constants of the other program for symbols, but not for
     * expressions such as s0//3, and takes sizes that data tell as recorded. */
    const fnzi_value *v =
        at.n->op && at.arg->tag == FNZ_ARG_SYMBOL ? &at.g->values.data[at.arg->u.value] : NULL;
    const char *name = v && v->symbol ? t->p->symbols.data[v->symbol].text : "";
    bool is_size = name[0] && !name[strspn(name, "s0123456789")];
    if (!is_size || !fnzi_plant_here(t))
      continue;
    const uint64_t size = at.arg->u.value;
    const char *was = t->p->symbols.data[at.g->values.data[size].symbol].text;
    FNZ_TRY(fnzi_arena_format(&t->p->arena, &text, "Min(%s, %d)", was, SMALL));
    FNZ_TRY(fnzi_plant_insert(t, at.graph, at.node, &n));
    FNZ_TRY(fnzi_value_add_fresh(t->p, at.graph, "bounded", NULL, at.node, &value));
    FNZ_TRY(fnzi_symbol_add(t->p, text, false, 0, &at.g->values.data[value].symbol));
    *n = (fnzi_node){.source = "", .u.other = &min, .nargs = 2, .noutputs = 1};
    FNZI_NEW(&t->p->arena, 2, &n->args);
    FNZI_NEW(&t->p->arena, 1, &n->outputs);
    n->args[0] = *at.arg;
    n->args[1] = fnzi_arg_int(SMALL);
    n->outputs[0] = (fnz_arg){.tag = FNZ_ARG_SYMBOL, .u.value = value};
    at.arg->u.value = value;
    return fnzi_plant_note_node(t, at.graph, at.node + 1, "takes at most %d of %s", SMALL, was);
  }
  return FNZ_OK;
}

/* --- ranges ---------------------------------------------------------------------------------- */
/* Either end of a range, by one; of an open end nothing is known to be within reach. */
static fnz_status change_range(fnzi_planting *t, int64_t inwards) {
  for (size_t k = 0; k < t->p->ranges.count; k++) {
    fnzi_range *r = &t->p->ranges.data[k];
    /* A guard says which number the symbol is, so its range says nothing. */
    bool is_fixed = false;
    for (size_t i = 0; !is_fixed && i < t->p->guards.count; i++)
      is_fixed = t->p->guards.data[i].kind == FNZ_GUARD_CONDITION &&
                 fnzi_starts_with(t->p->guards.data[i].text, "Eq(") &&
                 strstr(t->p->guards.data[i].text, r->symbol);
    if (is_fixed)
      continue;
    if (r->min != INT64_MIN && (inwards > 0 ? r->min < r->max : r->min > 0) && fnzi_plant_here(t)) {
      r->min += inwards;
      return fnzi_plant_note(t, "range of %s begins at %lld", r->symbol, (long long)r->min);
    }
    if (r->max != INT64_MAX && r->max > 0 && (inwards < 0 || r->min < r->max) &&
        fnzi_plant_here(t)) {
      r->max -= inwards;
      return fnzi_plant_note(t, "range of %s ends at %lld", r->symbol, (long long)r->max);
    }
  }
  return FNZ_OK;
}

fnz_status fnzi_plant_range_narrowed(fnzi_planting *t) {
  return change_range(t, 1);
}

fnz_status fnzi_plant_range_widened(fnzi_planting *t) {
  return change_range(t, -1);
}

/* --- assertions ------------------------------------------------------------------------------ */
/* The claims of _assert_tensor_metadata were checked when the program was read. A range or a guard
 * may say what is asserted of a number. */
static fnz_status drop_assertion(fnzi_planting *t, bool of_numbers) {
  for (fnzi_plant_at at = {0}; fnzi_plant_next_node(t, &at);) {
    const char *name = fnzi_node_target(at.n);
    bool is_async = strstr(name, "assert_async");
    if (!fnzi_plant_is_assertion(at.n) || strstr(name, "_assert_tensor_metadata") ||
        is_async == of_numbers)
      continue;
    if (fnzi_plant_is_used(at.g, at.n) || !fnzi_plant_here(t))
      continue;
    fnzi_plant_note_node(t, at.graph, at.node, "left out");
    fnzi_plant_remove(at.g, at.node);
  }
  return FNZ_OK;
}

fnz_status fnzi_plant_assert_dropped(fnzi_planting *t) {
  return drop_assertion(t, false);
}

fnz_status fnzi_plant_assert_scalar(fnzi_planting *t) {
  return drop_assertion(t, true);
}
