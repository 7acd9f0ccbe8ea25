/* excerpt_try.c - are the excerpts of a program right wherever they are checked?
 *
 * needs   a program whose sizes depend on inputs alone, and a check
 * keeps   the program; an error of an excerpt says nothing about the program
 * gives   yes, and the program needs no check but at usual sizes; or no, and nothing is known */
#include "functionalize/dynamic/excerpt.h"
#include "functionalize/dynamic/sample.h"

/* Numbers that are read off data may be anything; what takes operators apart looks at nodes, not at
 * storages. */
static bool may_be_taken(const fnzi_general *g) {
  return g->options->asked.check && !g->options->expander && !g->sizes.bounds.count &&
         !fnzi_sizes_have_data(&g->sizes);
}

static fnz_status try_it(fnzi_general *g, const fnzi_excerpt *excerpt) {
  fnzi_general e = {.ctx = g->ctx,
                    .options = g->options,
                    .whole = g->program,
                    .program = excerpt->program,
                    .kinds = excerpt->kinds};
  fnz_status status = fnzi_general_start(&e);
  if (status == FNZ_OK)
    status = fnzi_general_make(&e);
  g->light = status == FNZ_OK && !fnzi_general_is_in_doubt(&e);
  fnzi_general_end(&e);
  return status;
}

fnz_status fnzi_excerpt_try(fnzi_general *g) {
  fnzi_excerpts excerpts = {NULL, 0, 0};
  if (!may_be_taken(g))
    return FNZ_OK;
  fnz_status status = fnzi_excerpts_make(g->ctx, &g->sizes, &excerpts);
  g->light = status == FNZ_OK && excerpts.count;
  for (size_t i = 0; i < excerpts.count && g->light && !fnzi_is_final(status); i++)
    status = try_it(g, &excerpts.data[i]);
  fnzi_excerpts_end(g->ctx, &excerpts);
  return fnzi_is_final(status) ? status : FNZ_OK;
}
