/* standin_graph.c - graphs of the stand-in for CUDA's driver: jobs of a captured stream, copies of
 * them that are launched as a whole, and kernels in copies that get other operands.
 *
 * A node is the job that was captured; its number says which one it is in a copy. */
#include "tests/cuda/standin_parts.h"

#include <stdlib.h>
#include <string.h>

static standin_graph *graphs; /* copies too, each in a `made`: */

typedef struct made {
  standin_graph graph;
  standin_graph *of; /* its nodes are named by */
} made;

static standin_graph *add(standin_graph *g) {
  if (!g)
    return NULL;
  g->last = &g->first;
  g->next = graphs;
  graphs = g;
  standin_counted.graphs_held++;
  return g;
}

static standin_graph **find(const void *graph) {
  standin_graph **g = &graphs;
  while (*g && *g != graph)
    g = &(*g)->next;
  if (!*g)
    standin_fail("a graph is used that is none");
  return g;
}

static int end(const void *graph) {
  standin_graph **at = find(graph), *g = *at;
  if (!g)
    return standin_enter();
  *at = g->next;
  standin_jobs_free(g->first);
  free(g);
  standin_counted.graphs_held--;
  return SUCCESS;
}

/* --- Capturing -------------------------------------------------------------------------------- */
int cuStreamBeginCapture_v2(void *on, int mode);
int cuStreamBeginCapture_v2(void *on, int mode) {
  STANDIN_LOCKED;
  (void)mode;
  if (standin_fault("cuStreamBeginCapture_v2"))
    return standin_last_fault;
  standin_stream *s = standin_stream_find(on);
  if (!s || s->captured || standin_enter() != SUCCESS)
    return standin_enter() != SUCCESS ? standin_enter() : INVALID_VALUE;
  s->captured = add(calloc(1, sizeof *s->captured));
  standin_counted.captures++;
  return s->captured ? SUCCESS : OUT_OF_MEMORY;
}

int cuStreamEndCapture(void *on, void **out);
int cuStreamEndCapture(void *on, void **out) {
  STANDIN_LOCKED;
  standin_stream *s = standin_stream_find(on);
  if (!s || !s->captured)
    return INVALID_VALUE;
  *out = s->captured;
  s->captured = NULL;
  if (!standin_fault("cuStreamEndCapture"))
    return standin_enter();
  end(*out);
  *out = NULL;
  return standin_last_fault;
}

int cuStreamGetCaptureInfo_v2(void *on, int *status, uint64_t *id, void **graph,
                              void *const **nodes, size_t *count);
int cuStreamGetCaptureInfo_v2(void *on, int *status, uint64_t *id, void **graph,
                              void *const **nodes, size_t *count) {
  STANDIN_LOCKED;
  static void *last;
  standin_stream *s = standin_stream_find(on);
  last = NULL;
  *status = s && s->captured;
  *id = 1;
  *graph = s ? s->captured : NULL;
  for (standin_job *j = *status ? s->captured->first : NULL; j; j = j->next)
    last = j;
  *nodes = &last;
  *count = last != NULL;
  return standin_enter();
}

/* --- Made graphs ------------------------------------------------------------------------------ */
static bool copy_jobs(const standin_job *from, standin_graph *to) {
  for (; from; from = from->next) {
    standin_job *j = standin_job_copy(from);
    if (!j)
      return false;
    *to->last = j;
    to->last = &j->next;
  }
  return true;
}

int cuGraphInstantiateWithFlags(void **out, void *graph, unsigned long long flags);
int cuGraphInstantiateWithFlags(void **out, void *graph, unsigned long long flags) {
  STANDIN_LOCKED;
  (void)flags;
  if (standin_fault("cuGraphInstantiateWithFlags"))
    return standin_last_fault;
  standin_graph *of = *find(graph);
  made *m = of ? calloc(1, sizeof *m) : NULL;
  if (!m)
    return of ? OUT_OF_MEMORY : standin_enter();
  add(&m->graph);
  m->of = of;
  *out = m;
  return copy_jobs(of->first, &m->graph) ? standin_enter() : OUT_OF_MEMORY;
}

typedef struct kernel_node {
  void *function;
  unsigned blocks[3], threads[3], shared_bytes;
  void **arguments, **extra;
} kernel_node;

int cuGraphExecKernelNodeSetParams(void *of, void *node, const kernel_node *params);
int cuGraphExecKernelNodeSetParams(void *of, void *node, const kernel_node *params) {
  STANDIN_LOCKED;
  made *m = (made *)*find(of);
  standin_graph *named = m ? *find(m->of) : NULL;
  standin_job *j = m ? m->graph.first : NULL;
  const standin_job *n = named ? named->first : NULL;
  while (j && n && n != node) {
    j = j->next;
    n = n->next;
  }
  if (!j || !n || j->kind != LAUNCH || params->function != j->kernel)
    return m && named ? INVALID_VALUE : standin_enter();
  standin_arguments_copy(j->kernel, params->arguments, j->held);
  j->blocks = params->blocks[0];
  j->threads = params->threads[0];
  standin_counted.nodes_set++;
  return standin_enter();
}

int cuGraphLaunch(void *of, void *on);
int cuGraphLaunch(void *of, void *on) {
  STANDIN_LOCKED;
  if (standin_fault("cuGraphLaunch"))
    return standin_last_fault;
  const standin_graph *g = *find(of);
  standin_stream *s = standin_stream_find(on);
  for (const standin_job *j = g && s ? g->first : NULL; j; j = j->next) {
    standin_job *copy = standin_job_copy(j);
    if (!copy)
      return OUT_OF_MEMORY;
    standin_put(s, copy);
  }
  standin_counted.graphs++;
  return standin_enter();
}

int cuGraphExecDestroy(void *of);
int cuGraphExecDestroy(void *of) {
  STANDIN_LOCKED;
  return end(of);
}

int cuGraphDestroy(void *of);
int cuGraphDestroy(void *of) {
  STANDIN_LOCKED;
  return end(of);
}
