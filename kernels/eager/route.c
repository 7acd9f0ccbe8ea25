/* route.c - how an operator is served on memory: made once for each operator of a backend, from the
 * tables alone. */
#include "kernels/eager/eager.h"
#include "schema/facts/facts.h"

static void route_row(fnzi_mem_route *route, const fnzi_kernel *row, fnzi_serve_fn *serve) {
  route->row = row;
  route->serve = serve;
  route->is_pointwise = row->memory == FNZI_MEMORY_POINT;
}

/* In-place views call their view, and keep its result. */
static bool route_inplace_view(const fnz_op *op, fnzi_mem_route *route) {
  const fnz_op *view = fnzi_op_by_index(op->view_of);
  if (!view)
    return false;
  route->via = view;
  route->serve = fnzi_serve_review;
  return true;
}

/* A view, or what depends on geometry. */
static bool route_window(const fnz_op *op, fnzi_mem_route *route) {
  if (op->kind != FNZI_KIND_FUNCTIONAL)
    return false;
  route->composite = fnzi_composite_find(op);
  route->view = route->composite ? NULL : fnzi_view_find(op);
  if (route->composite)
    route->serve = fnzi_serve_composite;
  else if (route->view && op->is_view)
    route->serve = fnzi_serve_view;
  else if (route->view && (!route->row || route->row->run == FNZI_RUN_view))
    route->serve = fnzi_serve_view_copy;
  return route->serve != NULL;
}

static bool route_list(const fnz_op *op, fnzi_mem_route *route) {
  const fnz_op *element = fnzi_foreach_element(op);
  if (!element)
    return false;
  route->via = element;
  route->serve = fnzi_serve_list;
  return true;
}

/* A functional operator has a route, even if not a row. */
static bool is_served(const fnzi_krn_machine *m, const fnz_op *op) {
  fnzi_mem_route route = {.via = op};
  return route_window(op, &route) || route_list(op, &route) || fnzi_mem_route_donor(m, op, &route);
}

/* On memory the functional operator itself does something else than its row. */
static bool is_odd(const fnz_op *twin, const fnzi_kernel *row) {
  fnzi_mem_route route = {.row = row};
  return fnzi_mem_route_special(twin, &route) || row->run == FNZI_RUN_view;
}

/* From the table of kernels. */
static bool route_kernel(const fnzi_krn_machine *m, const fnz_op *op, fnzi_mem_route *route) {
  if (op->kind == FNZI_KIND_FUNCTIONAL && route->row) {
    route_row(route, route->row, fnzi_serve_compute);
    return true;
  }
  const fnz_op *twin = op->kind == FNZI_KIND_FUNCTIONAL ? NULL : fnzi_mutation_twin(op);
  if (!twin)
    return false;
  const fnzi_kernel *row = fnzi_meta_row_find(m, twin);
  if (!row && !is_served(m, twin))
    return false;
  route->via = twin;
  /* The row may compute into what is written. */
  if (row && !fnzi_composite_find(twin) && (op->kind != FNZI_KIND_OUT || !is_odd(twin, row)))
    route_row(route, row, fnzi_serve_write);
  else
    route->serve = fnzi_serve_write_any;
  return true;
}

static void choose(const fnzi_krn_machine *m, const fnz_op *op, fnzi_mem_route *route) {
  route->via = op;
  route->row = fnzi_meta_row_find(m, op);
  bool found = fnzi_mem_route_registered(m, op, route) || fnzi_mem_route_special(op, route) ||
               route_inplace_view(op, route) || route_window(op, route) || route_list(op, route) ||
               route_kernel(m, op, route) || fnzi_mem_route_donor(m, op, route);
  if (!found)
    route->serve = fnzi_serve_refuse;
  /* via's parameters are the first ones of op: no argument must be looked up by its name. */
  route->same_args = route->via->nparams <= op->nparams;
  for (size_t i = 0; route->same_args && i < route->via->nparams; i++)
    route->same_args = strcmp(op->params[i].name, route->via->params[i].name) == 0;
  route->may_write = fnzi_mutation_find(op) != FNZI_MUTATION_NONE;
  if (!route->registered) {
    /* The flags of the functional operator in facts.def. */
    const fnz_op *whole = fnzi_op_canonical(route->via);
    if (whole->kind == FNZI_KIND_FUNCTIONAL) {
      route->alike = fnzi_op_uncast(whole);
      for (size_t k = 0; k < FNZI_FACT_ROWS; k++) {
        const fnzi_fact *f = fnzi_fact_of(whole, k);
        route->strictness |=
            (f->exact ? FNZI_ROUTE_EXACT : 0u) | (f->casts ? FNZI_ROUTE_CASTS : 0u) |
            (f->apart ? FNZI_ROUTE_APART : 0u) | (f->rigid ? FNZI_ROUTE_RIGID : 0u) |
            (f->quiet ? FNZI_ROUTE_QUIET : 0u);
        route->not_bool |= fnzi_fact_bits(whole, f->not_bool);
        route->floats |= fnzi_fact_bits(whole, f->floats);
      }
    }
  }
}

/* The route of a custom operator lasts for one call: the operator may end before the backend. */
static fnz_status make_route(fnzi_krn_machine *m, const fnz_op *op, const fnzi_mem_route **out) {
  size_t i;
  bool lasts = fnzi_meta_op_index(op, &i);
  fnzi_mem_route *route = lasts ? NULL : m->passing;
  if (!m->routes) {
    size_t bytes = fnz_op_count() * sizeof *m->routes;
    fnzi_mem_route **routes = fnzi_resize(m->ctx, NULL, 0, bytes);
    if (!routes)
      return fnzi_no_memory(m->ctx);
    memset(routes, 0, bytes);
    m->routes = routes;
  }
  if (!route)
    FNZI_NEW(&m->lasting, 1, &route);
  *route = (fnzi_mem_route){.generation = m->generation};
  choose(m, op, route);
  if (lasts)
    m->routes[i] = route;
  else
    m->passing = route;
  *out = route;
  return FNZ_OK;
}

fnz_status fnzi_mem_route_find(fnzi_krn_machine *m, const fnz_op *op, const fnzi_mem_route **out) {
  *out = fnzi_mem_route_known(m, op);
  return *out ? FNZ_OK : make_route(m, op, out);
}
