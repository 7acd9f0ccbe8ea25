/* causes.c - why a plan moves elements, and what to do about it: all that is printed about a copy
 * comes from here. */
#include "engine/steps/steps.h"
#include "engine/listing/listing.h"

static const fnzi_listing_cause causes[FNZI_PLN_RULES] = {
    [FNZI_PLN_UPDATE] = {"update", "R2", "it is written into its base", ""},
    [FNZI_PLN_JOIN] = {"join", "R7", "cat or an operator like it joins the pieces in one memory",
                       "if it grows by cat, as a cache does: keep one of the full size, and write "
                       "the new part into it"},
    [FNZI_PLN_GATHER] = {"gather", "R1", "no strides describe this view of its memory",
                         "reshape before transposing, or accept the copy"},
    [FNZI_PLN_BASE_CONST] = {"base_const", "R2a",
                             "base %s may not be written, so the write goes into a copy of it",
                             "donate the input, or make it a buffer of the module"},
    [FNZI_PLN_BASE_ALIVE] = {"base_alive", "R2b",
                             "%s still needs the elements that the write replaces",
                             "read the old value before the write"},
    [FNZI_PLN_SOURCE_MEETS] = {"source_meets", "R2c",
                               "the write takes %s from memory that it replaces",
                               "compute the source from other memory"},
    [FNZI_PLN_BASE_SELF] = {"base_self", "R2d", "elements of the base or the region share bytes",
                            "do not write through expand or overlapping as_strided"},
    [FNZI_PLN_FINAL] = {"final", "R4", "the final value is not computed in its state",
                        "compute the final value from its own state last"},
    [FNZI_PLN_OUTPUT] = {"output", "R6", "the output needs memory of its own",
                         "return a computed value instead of an input or a state"},
    [FNZI_PLN_PARALLEL] = {"parallel", "R4", "another final value overwrites it first",
                           "compute the final value from its own state last"}};

/* A gather of elements that the view repeats: reshaping earlier would not help. */
static const fnzi_listing_cause repeated = {
    "gather", "R1",
    "it repeats elements of an expanded tensor, and no strides describe their order",
    "keep the dimension at size 1, so that operators broadcast it; for heads of attention, "
    "scaled_dot_product_attention(enable_gqa=True)"};

/* An output that shows the value of another output. */
static const fnzi_listing_cause returned = {
    "output", "R6", "another output has this value, and each output has memory of its own",
    "return the value once"};

const fnzi_listing_cause *fnzi_listing_cause_of(const fnzi_pln_plan *plan,
                                                const fnzi_pln_step *move) {
  const fnz_geometry *map = move->from.map;
  for (uint32_t d = 0; move->rule == FNZI_PLN_GATHER && d < map->rank; d++)
    if (map->sizes[d] > 1 && map->strides[d] == 0)
      return &repeated;
  const uint32_t from = move->from.buffer;
  if (move->rule == FNZI_PLN_OUTPUT && from != FNZI_PLN_NONE &&
      plan->buffers.data[from].kind == FNZI_PLN_OUT)
    return &returned;
  return &causes[move->rule];
}

fnz_status fnzi_listing_because(fnz_context *ctx, const fnzi_pln_plan *plan,
                                const fnzi_pln_step *move, fnz_buffer *out) {
  const char *text = fnzi_listing_cause_of(plan, move)->text, *at = strstr(text, "%s");
  if (at == NULL)
    return fnzi_put_text(ctx, out, text);
  FNZ_TRY(fnzi_put(ctx, out, text, (size_t)(at - text)));
  FNZ_TRY(
      move->because == FNZI_PLN_NONE
          ? fnzi_put_text(ctx, out, "something")
          : fnzi_printf(ctx, out, "%%%s", fnzi_value_at(plan->program, 0, move->because)->name));
  return fnzi_put_text(ctx, out, at + 2);
}

uint32_t fnzi_listing_given_node(const fnzi_pln_plan *plan, uint32_t node) {
  return plan->origins ? plan->origins[node] : node;
}

uint32_t fnzi_listing_whole_node(const fnzi_pln_plan *plan, uint32_t node) {
  return fnzi_stp_part_of(plan->parts, plan->graph, fnzi_listing_given_node(plan, node));
}
