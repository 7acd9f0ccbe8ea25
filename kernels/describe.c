/* describe.c - how a backend serves an operator, in words, for people who ask. */
#include "kernels/backends.h"

/* Operators that are parts of others are followed so far: a list of in-place forms of ... */
enum { MOST_LINKS = 4 };

/* The routes of eager.h, and last what a route of special.c is. */
typedef struct description {
  fnzi_serve_fn *serve;
  const char *words;
  bool is_window; /* nothing is computed */
} description;

static const description descriptions[] = {
    {fnzi_serve_compute, "computed", false},
    {fnzi_serve_view, "a window into its argument", true},
    {fnzi_serve_view_copy, "a window into its argument, copied", true},
    {fnzi_serve_review, "its argument becomes another window", true},
    {fnzi_serve_composite, "a view, its argument or a copy", true},
    {fnzi_serve_list, "element by element", false},
    {fnzi_serve_write, "computed into its argument", false},
    {fnzi_serve_write_any, "computed, then copied into its argument", false},
    {NULL, "by a rule of its own", false},
};

/* These leave the work to another operator. */
static bool is_link(const fnzi_mem_route *route) {
  return route->serve == fnzi_serve_review || route->serve == fnzi_serve_list ||
         route->serve == fnzi_serve_write_any;
}

fnz_status fnz_backend_get_kernel(fnz_context *ctx, fnz_backend *backend, const fnz_op *op,
                                  fnz_kernel_facts *out) {
  static const char *const accepts[] = {
      [FNZI_ACCEPTS_ANY] = "any",           [FNZI_ACCEPTS_STANDARD] = "standard",
      [FNZI_ACCEPTS_NUMBERS] = "numbers",   [FNZI_ACCEPTS_REAL] = "real",
      [FNZI_ACCEPTS_INTEGRAL] = "integral", [FNZI_ACCEPTS_FLOAT] = "float"};
  static const char *const memories[] = {[FNZI_MEMORY_NEW] = "new",
                                         [FNZI_MEMORY_POINT] = "point",
                                         [FNZI_MEMORY_BASE] = "base",
                                         [FNZI_MEMORY_VIEW] = "view"};
  const fnzi_mem_route *first;
  *out = (fnz_kernel_facts){.way = NULL};
  if (!FNZI_BACKEND_HAS(backend, apply) || backend->apply != fnzi_machine_apply)
    return FNZ_OK;
  fnzi_krn_machine *m = backend->self;
  const fnz_op *like = fnzi_machine_stand_in(m, op);
  op = like ? like : op;
  FNZ_TRY(fnzi_mem_route_find(m, op, &first));
  const fnzi_mem_route start =
      *first; /* a custom operator's route is overwritten by the next one */
  const fnzi_mem_route *last = &start;
  for (int i = 0; i < MOST_LINKS && is_link(last); i++)
    FNZ_TRY(fnzi_mem_route_find(m, last->via, &last));
  (void)ctx;
  if (is_link(last) || last->serve == fnzi_serve_refuse)
    return FNZ_OK;
  const description *cpu = descriptions;
  while (cpu->serve && cpu->serve != start.serve)
    cpu++;
  const fnz_op *computed = op->kind == FNZI_KIND_FUNCTIONAL ? op : last->via;
  out->way = m->stock.elsewhere ? m->stock.elsewhere->words(computed, cpu->is_window) : cpu->words;
  out->via = last->via;
  out->registered = last->registered != NULL;
  if (last->row) {
    out->accepts = accepts[(fnzi_krn_accepts)last->row->accepts];
    out->memory = memories[(fnzi_krn_result_memory)last->row->memory];
  }
  return FNZ_OK;
}
