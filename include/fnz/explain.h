/* explain.h - reasons of a functional program: the origin of each of its nodes, and the parts of a
 * program that will be refused or cost a copy. */
#ifndef FNZ_EXPLAIN_H
#define FNZ_EXPLAIN_H

#include <fnz/functionalize.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why there is a node. Columns: name, in words. Order is ABI. */
#define FNZ_REASON_ROWS(ROW)                                                                       \
  ROW(COMPUTED, "computed", "the operator, or its form that writes nothing")                       \
  ROW(VIEW_READ, "view_read", "what a view shows, for a node that reads it")                       \
  ROW(WRITE_BACK, "write_back", "what was written through a view, put back into its base")         \
  ROW(CAST, "cast", "what is written, in the dtype of what it is written to")                      \
  ROW(BROADCAST, "broadcast", "what is written, in the sizes of what it is written to")            \
  ROW(FILL, "fill", "the number that is written, as a tensor")                                     \
  ROW(COPY, "copy", "a copy that eager PyTorch makes too, because no view has the elements")       \
  ROW(PART, "part", "a part of what the operator does")                                            \
  ROW(OWN, "own", "a copy or a view, because a result is a value of its own")                      \
  ROW(STEP, "step", "a step of an operator that was taken apart")

typedef enum fnz_reason {
#define FNZ_REASON_ENUM(id, name, words) FNZ_REASON_##id,
  FNZ_REASON_ROWS(FNZ_REASON_ENUM)
#undef FNZ_REASON_ENUM
      FNZ_REASON_COUNT
} fnz_reason;

/** The name and the words. Static. */
FNZ_API const char *fnz_reason_name(fnz_reason reason);
FNZ_API const char *fnz_reason_words(fnz_reason reason);

/** The origin of a node of the result: nodes of the program that was functionalized, SIZE_MAX for
 * none, each with its graph. The graphs differ if a region became part of the program, such as a
 * region that only switches off recording of gradients. */
typedef struct fnz_origin {
  fnz_reason reason;
  size_t graph; /* of `node` */
  size_t node;  /* whose work it is, or part of it: the operator, the write, the view; SIZE_MAX only
                   when no node was needed for it, as for a window that an input has by itself */
  size_t reader; /* at which node it became necessary, the same one for COMPUTED */
  size_t output; /* or at the end, for this output of the result's graph */
  size_t view;   /* of VIEW_READ and WRITE_BACK: the node that opened the window */
  size_t reader_graph, view_graph;
} fnz_origin;

/** Destroys the origins of all nodes of a result, which fnz_functionalize() and fnz_decompose()
 * return if their options have a pointer for them. They are plain data that needs neither program.
 *
 *   fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
 *   fnz_origins *origins;
 *   options.origins = &origins;
 *   status = fnz_functionalize(ctx, program, &options, &functional);
 *   ...
 *   fnz_origins_destroy(origins); // NULL is allowed
 */
FNZ_API void fnz_origins_destroy(fnz_origins *origins);
/** The origin of node `node` of graph `graph` of the result; NULL beyond the last one. */
FNZ_API const fnz_origin *fnz_origins_at(const fnz_origins *origins, size_t graph, size_t node);

/** Why the result of fnz_functionalize() has a guard. */
typedef struct fnz_guard_origin {
  const char *why;    /* static, in words: "a dimension of one element would be dropped" */
  size_t graph, node; /* the node of the source that needs it; SIZE_MAX where none is known */
} fnz_guard_origin;

/** The origin of guard `k` of the result, see fnz_program_guard(). `why` is NULL if there are not
 * so many, and in origins that fnz_decompose() made. */
FNZ_API fnz_guard_origin fnz_origins_guard(const fnz_origins *origins, size_t k);

/* Kinds of costs of a run. Columns: name, in words. Order is ABI. */
#define FNZ_COST_ROWS(ROW)                                                                         \
  ROW(COPY, "copy", "elements are copied, because a rule forbids to read or write them in place")  \
  ROW(JOIN, "join", "the pieces of a cat or stack are moved into one memory")

typedef enum fnz_cost_kind {
#define FNZ_COST_ENUM(id, name, words) FNZ_COST_##id,
  FNZ_COST_ROWS(FNZ_COST_ENUM)
#undef FNZ_COST_ENUM
      FNZ_COST_KIND_COUNT
} fnz_cost_kind;

/** The bytes that a run moves for one reason in one line of the model, over all repeated layers
 * (fnz_costs_find() of <fnz/engine.h>). If a line is not known, layers are repeated if the paths of
 * their modules differ in numbers only. Texts are never NULL. */
typedef struct fnz_cost {
  fnz_cost_kind kind;
  uint64_t bytes;   /* written by all `times` copies together */
  uint64_t largest; /* by the largest of them */
  size_t times; /* copies; one in a body of a region counts once, although each iteration has it */
  size_t graph, node; /* of the functional program, of the first copy; node SIZE_MAX: none computes
                         what is copied */
  size_t output;      /* of a copy at the end of `graph`: its output that it is made for; else
                         SIZE_MAX */
  const char *source; /* of that node, as fnz_node_info has it */
  const char *module, *last_module; /* "layers.0.mlp": the modules of the first and the last copy;
                                       "" if the program does not say */
  size_t modules;                   /* how many there are */
  const char *rule;                 /* "R1": docs/engine.md explains it */
  const char *why;                  /* the reason, in words */
  const char *remedy;               /* what to change */
} fnz_cost;

/** The name and the words. Static. */
FNZ_API const char *fnz_cost_kind_name(fnz_cost_kind kind);
FNZ_API const char *fnz_cost_kind_words(fnz_cost_kind kind);

/* Kinds of findings in a program. Columns: name, whether functionalizing refuses it, in words.
 * ALIAS also names inputs if the program writes one of them: the result is right as long as they
 * share no memory. Order is ABI. */
#define FNZ_FINDING_ROWS(ROW)                                                                      \
  ROW(REFUSED, "refused", "it cannot be functionalized")                                           \
  ROW(SCATTER, "scatter", "in the text, a write through a view whose base is needed later")        \
  ROW(COPY, "copy", "elements that a run copies; in the text, a view that has to copy")            \
  ROW(DEAD_WRITE, "dead-write", "a write that nothing reads")                                      \
  ROW(ALIAS, "alias", "an output that shares memory with an input or another output")              \
  ROW(LOST, "lost-assignment", "an assignment to .data, which the exporter has left out")          \
  ROW(CONSTANT, "written-constant", "a write to a constant, which may be a buffer as well")        \
  ROW(SIZES, "sizes", "sizes that the result is not for, although the program may be")

typedef enum fnz_finding_kind {
#define FNZ_FINDING_ENUM(id, name, words) FNZ_FINDING_##id,
  FNZ_FINDING_ROWS(FNZ_FINDING_ENUM)
#undef FNZ_FINDING_ENUM
      FNZ_FINDING_KIND_COUNT
} fnz_finding_kind;

/** The name and the words. Static. */
FNZ_API const char *fnz_finding_kind_name(fnz_finding_kind kind);
FNZ_API const char *fnz_finding_kind_words(fnz_finding_kind kind);

/** One finding. Texts are never NULL. */
typedef struct fnz_finding {
  fnz_finding_kind kind;
  fnz_class error;     /* of REFUSED: the class that fnz_functionalize() fails with, else NONE */
  size_t graph, node;  /* the node it is about, SIZE_MAX when it is about the whole graph */
  size_t view, reader; /* of SCATTER: the node that opened the window, the node that needs the base;
                          SIZE_MAX: none */
  size_t output;       /* of SCATTER: the output of the result's graph that needs it, or SIZE_MAX */
  const char *where;   /* "node 3 (add_.Tensor at model.py:7)" */
  const char *what;    /* the fault, or the cost */
  const char *remedy;  /* what to change, "" when not known */
  size_t view_graph, reader_graph; /* of `view` and `reader` */
  const fnz_cost *cost; /* of COPY, by fnz_lint_run(): the copies; NULL: the text has them */
} fnz_finding;

typedef struct fnz_findings fnz_findings;

/** NULL is allowed. */
FNZ_API void fnz_findings_destroy(fnz_findings *findings);
FNZ_API size_t fnz_findings_count(const fnz_findings *findings);
/** NULL beyond the last one. Refused ones come first, then what a run copies, the most bytes first,
 * then the others in the order of nodes. */
FNZ_API const fnz_finding *fnz_findings_at(const fnz_findings *findings, size_t index);
/** Why SCATTER and COPY are about the text of the functional program and not about a run, in words;
 * NULL: they are about a run. */
FNZ_API const char *fnz_findings_no_run(const fnz_findings *findings);

/** Everything that fnz_functionalize() would refuse, found by the pass itself, which goes on behind
 * each failure with unknown values in place of the results; and which writes and views are copies
 * in the text of the functional program. fnz_lint_run() of <fnz/engine.h> says instead what a run
 * copies. The first
 * REFUSED finding is what fnz_functionalize() fails with; there is none exactly when it does not
 * fail.
 *
 * program  borrowed, unchanged; may be shared with other threads during the call.
 * options  NULL for defaults.
 * out      new; ends with fnz_findings_destroy(). NULL on failure (FNZ_NO_MEMORY, FNZ_INTERNAL). */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_lint(fnz_context *ctx, const fnz_program *program,
                                           const fnz_functionalize_options *options,
                                           fnz_findings **out);

#ifdef __cplusplus
}
#endif
#endif
