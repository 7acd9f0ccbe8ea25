/* cli.h - shared by the verbs of the command: one call with its options and everything that it
 * owns.
 *
 * Every function that can fail returns an exit code: 0, or the exit code of the process, after it
 * has printed one line on standard error. cli_call_end() destroys everything that a call owns, so
 * verbs return early and free nothing. */
#ifndef FNZ_CLI_CLI_H
#define FNZ_CLI_CLI_H

#include "base/json.h"

#include <fnz/fnz.h>
#include <fnz/library.h>

#include <stdio.h>

enum { CLI_DONE = 0, CLI_NEGATIVE = 1, CLI_REFUSED = 2, CLI_IO = 3, CLI_MEMORY = 4, CLI_BUG = 5 };
enum { CLI_USAGE = 64, CLI_CANCELLED = 130, CLI_DEFAULT_TRIALS = 2, CLI_MOST_WORDS = 64 };
enum {
  CLI_MOST_RANKS = 4096,
  CLI_MOST_RANKED = CLI_MOST_WORDS + 8,
  CLI_MOST_FILES = 1024,
  CLI_MOST_METHODS = FNZ_METHODS_MOST
};

#if defined(__GNUC__)
#define CLI_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#else
#define CLI_PRINTF(text, first)
#endif

#define CLI_TRY(expr)                                                                              \
  do {                                                                                             \
    int try_exit_ = (expr);                                                                        \
    if (try_exit_ != CLI_DONE)                                                                     \
      return try_exit_;                                                                            \
  } while (0)

/* Every option of every verb. Columns: name, its value as help shows it (NULL for a flag), help. */
#define CLI_OPTION_ROWS(ROW)                                                                       \
  ROW(OUTPUT, "-o", "FILE", "write to FILE, completely or not at all; - is standard output")       \
  ROW(SYNC, "--sync", NULL, "return only when what is written is on the disk (fsync)")             \
  ROW(TO, "--to", "FORMAT",                                                                        \
      "pt2, json, cbor, text, dot or mlir; without it FILE's extension decides")                   \
  ROW(EXTERNAL_WEIGHTS, "--external-weights", NULL,                                                \
      "CBOR with its weights in a safetensors file beside it: X.cbor and X.safetensors")           \
  ROW(TABLE, "--to", "FORMAT", "tsv: the table that fnz is built from; with --import")             \
  ROW(VIEWS, "--views", "KIND",                                                                    \
      "copy: views become copies; keep (default for .pt2): views stay; strided: one "              \
      "as_strided_copy each")                                                                      \
  ROW(STATE, "--state", "KIND",                                                                    \
      "where final values go: outputs; epilogue: copied into the inputs at the end; io: state "    \
      "becomes plain inputs and outputs; buffers: io without buffers; globals: globals of mlir")   \
  ROW(WEIGHTS, "--weights", "KIND",                                                                \
      "for mlir: external: in a safetensors file beside it; args: as arguments; inline: as text")  \
  ROW(FOR, "--for", "TARGET",                                                                      \
      "the converter that reads the result: onnx, coreml, executorch, openvino, tvm, torch-mlir, " \
      "iree; for lint also pt2, mlir, core, prims")                                                \
  ROW(DENY, "--deny", "OP,OP...",                                                                  \
      "refuse a result with these operators, and name the nodes that need them")                   \
  ROW(DECOMPOSE, "--decompose", "SET|OP,OP...",                                                    \
      "decompose to a set: core, prims, mlir ...; or decompose these operators")                   \
  ROW(KEEP, "--keep", "OP,OP...", "operators that --decompose keeps")                              \
  ROW(ALIAS, "--alias", "X=Y[1:]", "input X is passed as a view of input Y; may be given again")   \
  ROW(SHARE, "--share", "A=B",                                                                     \
      "for several INs: weight A of the first is weight B of the others; may be given again")      \
  ROW(METHOD, "--method", "NAME",                                                                  \
      "the program to take from a file of several; without it convert, show, stats and hash take " \
      "all")                                                                                       \
  ROW(VERIFY, "--verify", NULL, "write the result only if it is verified to equal the original")   \
  ROW(INPUTS, "--inputs", "FILE",                                                                  \
      "safetensors file with inputs by graph name, and state by name; may be given again")         \
  ROW(OUTPUTS, "--outputs", "FILE", "safetensors file to write; without it results are printed")   \
  ROW(ORIGINAL, "--original", NULL, "run the program as read, on real aliasing memory")            \
  ROW(ENGINE, "--engine", "NAME", "interpreter: run node by node, as the reference does")          \
  ROW(STATE_FILE, "--state", "FILE",                                                               \
      "safetensors file with initial values of buffers and parameters")                            \
  ROW(SAVE_STATE, "--save-state", "FILE",                                                          \
      "write final values of buffers and parameters; of convert --state io, initial values")       \
  ROW(STEPS, "--steps", "N",                                                                       \
      "run N times on the same inputs, each time with the state that the last run left")           \
  ROW(DEVICE, "--device", "DEVICE", "cpu, cuda or cuda:N")                                         \
  ROW(ARCH, "--arch", "KIND",                                                                      \
      "with --device cuda: plan for a kind of GPU such as sm_90, which need not be installed")     \
  ROW(THREADS, "--threads", "N", "threads to use; results do not depend on it")                    \
  ROW(COLLECTIVES, "--collectives", "NAME",                                                        \
      "mpi: run as one process of mpirun, and replace %r in file names by its rank; one: a "       \
      "single "                                                                                    \
      "process")                                                                                   \
  ROW(GROUP, "--group", "NAME=RANKS",                                                              \
      "ranks of the process group NAME: tp=0,1/2,3; may be given again")                           \
  ROW(TRIALS, "--trials", "N", "number of seeds to compare with (2)")                              \
  ROW(IGNORE_WEIGHTS, "--ignore-weights", NULL, "do not compare the numbers in weights")           \
  ROW(ALLOW_NARROWER, "--allow-narrower", NULL,                                                    \
      "do not report sizes that IN accepts and B refuses")                                         \
  ROW(IGNORE_MEMORY, "--ignore-memory", NULL, "do not compare memory and strides of outputs")      \
  ROW(STRUCTURE, "--structure", NULL,                                                              \
      "leave out the numbers in weights, which are not read then; text has none")                  \
  ROW(FUNCTIONAL, "--functional", NULL, "take the functional form instead of the program as read") \
  ROW(KIND, "--kind", "KIND",                                                                      \
      "only operators of this kind: functional, inplace, out, mutable ...")                        \
  ROW(TAG, "--tag", "TAG", "only operators that have this tag: core, pointwise, ...")              \
  ROW(COMPOSITE, "--composite", "CLASS", "only of this class: implicit, explicit, kernel ...")     \
  ROW(VIEW, "--view", NULL, "only operators whose result shares memory with an argument")          \
  ROW(NO_VIEW, "--no-view", NULL, "only operators whose results are new memory")                   \
  ROW(NO_RULE, "--refused", NULL, "only operators that functionalizing refuses, with the reason")  \
  ROW(KERNEL, "--kernel", "BACKEND", "only operators with a kernel for cpu, meta or cuda")         \
  ROW(NO_KERNEL, "--no-kernel", "BACKEND", "only operators without one")                           \
  ROW(IMPORT, "--import", "FILE", "read this native_functions.yaml instead of the built-in table") \
  ROW(TAGS, "--tags", "FILE", "the tags.yaml that --import needs (the filter is --tag)")           \
  ROW(OPS, "--ops", "FILE", "declare the custom operators in FILE, one schema per line")           \
  ROW(SEED, "--seed", "S", "the series of random programs (1)")                                    \
  ROW(DRAWS, "--seed", "S", "seed of the generator for random operators (0)")                      \
  ROW(GENERATOR, "--generator", "KIND",                                                            \
      "draw the random numbers of PyTorch on cpu, cuda or cuda:THREADS (default: the device)")     \
  ROW(COUNT, "--count", "N", "number of programs of the series (10000)")                           \
  ROW(FIRST, "--first", "K", "index of the first program in the series (0)")                       \
  ROW(AGAINST, "--against", "WHAT",                                                                \
      "compare only with keep, strided, engine or cpu; without it with all")                       \
  ROW(AGAINST_RUN, "--against", "WHAT", "interpreter: time it too, in turns with the engine")      \
  ROW(ROUNDS, "--rounds", "N", "number of runs to time (30)")                                      \
  ROW(BY_ENGINE, "--engine", NULL,                                                                 \
      "compare the engine with the interpreter, bit by bit; needs --inputs")                       \
  ROW(SYMBOLIC, "--symbolic", NULL, "programs with symbolic and data-dependent sizes")             \
  ROW(REGIONS, "--regions", NULL, "programs with bodies of branches and loops, and with state")    \
  ROW(PLANT, "--plant", NULL,                                                                      \
      "make mistakes in functional forms of IN or of random programs, and count those found")      \
  ROW(JOBS, "--jobs", "N", "number of threads that draw and compare programs (1)")                 \
  ROW(CHECK_SCHEMAS, "--check-schemas", NULL,                                                      \
      "fail if an operator writes or aliases other than its schema says")                          \
  ROW(SARIF, "--sarif", NULL, "print findings as SARIF 2.1.0")                                     \
  ROW(FAIL_ON, "--fail-on", "WHAT",                                                                \
      "findings that make the exit code 1: refused; copy: refusals and copies of a run; never")    \
  ROW(SIZES, "--sizes", "S=N,S=N...",                                                              \
      "values of symbolic sizes, s0=128,s1=4, instead of the recorded ones")                       \
  ROW(MIN_BYTES, "--min-bytes", "N", "only source lines whose copies sum up to N bytes or more")   \
  ROW(TEXT, "--text", NULL,                                                                        \
      "list the copies in the text of the functional form, for other compilers, not those of a "   \
      "run")                                                                                       \
  ROW(PLAN, "--plan", NULL,                                                                        \
      "print the engine's plan: where each step computes its results, and what it copies")         \
  ROW(STAGE, "--stage", "NAME",                                                                    \
      "print the program after a stage: tape, simplified, decomposed, arranged, groups or places") \
  ROW(JSON, "--json", NULL, "print the answer, or the failure, as JSON on standard output")        \
  ROW(COLOR, "--color", "WHEN",                                                                    \
      "auto: colours on a terminal, unless NO_COLOR is set or TERM is dumb; always; never")        \
  ROW(QUIET, "--quiet", NULL, "print nothing but results and failures")                            \
  ROW(VERBOSE, "--verbose", NULL,                                                                  \
      "print the summary even if standard error is no terminal; for fuzz all figures")             \
  ROW(HELP, "--help", NULL, "print this help")

typedef enum cli_option {
#define CLI_OPTION_ENUM(id, name, value, help) CLI_##id,
  CLI_OPTION_ROWS(CLI_OPTION_ENUM)
#undef CLI_OPTION_ENUM
      CLI_OPTION_COUNT
} cli_option;

/* Options that a verb has besides color, quiet, verbose and help, ended by CLI_OPTION_COUNT. */
#define CLI_TAKES(...) ((const cli_option[]){__VA_ARGS__, CLI_OPTION_COUNT})

/* Forms that --for of lint takes besides the targets of <fnz/targets.h>. Columns: the word, the
 * function that lists everything the form cannot hold as call->refusals, and the set of operators
 * that this function uses.
 */
#define CLI_TARGET_ROWS(ROW)                                                                       \
  ROW("pt2", cli_pt2_check, NULL)                                                                  \
  ROW("mlir", cli_mlir_check, "mlir")                                                              \
  ROW("core", cli_decompose_check, "core")                                                         \
  ROW("prims", cli_decompose_check, "prims")

/* The phases that are timed, in their order. */
#define CLI_PHASE_ROWS(ROW)                                                                        \
  ROW(READ, "read")                                                                                \
  ROW(FUNCTIONALIZE, "functionalize") ROW(VERIFYING, "verify") ROW(RUN, "run") ROW(WRITE, "write")

typedef enum cli_phase {
#define CLI_PHASE_ENUM(id, name) CLI_PHASE_##id,
  CLI_PHASE_ROWS(CLI_PHASE_ENUM)
#undef CLI_PHASE_ENUM
      CLI_PHASE_COUNT
} cli_phase;

typedef struct cli_call cli_call;

/* Columns of a line about a node: label, node, place; 100 characters in all. */
enum { CLI_WIDTH = 100, CLI_LABEL = 12, CLI_STATEMENT = 58, CLI_PLACE = 26, CLI_LINES = 64 };
enum { CLI_LONG = 1024 }; /* bytes of a node's text */

/* A node as a line shows it. */
typedef struct cli_line {
  const fnz_program *program;
  size_t graph, node;
  char text[CLI_STATEMENT + 4];
} cli_line;

typedef struct cli_verb {
  const char *name, *operands;
  int least, most;           /* how many operands */
  bool compares;             /* the second operand is a program as well */
  const cli_option *options; /* CLI_TAKES() */
  fnz_reading reading;       /* of programs; late for verbs that print structure, not weights */
  const char *summary, *examples;
  int (*run)(cli_call *call);
} cli_verb;

/* Every verb, one file each. Columns: name, operands, fewest and most of them, whether the second
 * one is a program that the first one is compared with, options besides color, quiet, verbose and
 * help, how programs are read, description, examples. */
#define CLI_VERB_ROWS(ROW)                                                                         \
  ROW(convert, "IN...", 1, CLI_MOST_METHODS, false,                                                \
      CLI_TAKES(CLI_OUTPUT, CLI_SYNC, CLI_TO, CLI_VIEWS, CLI_STATE, CLI_DENY, CLI_ALIAS,           \
                CLI_VERIFY, CLI_OPS, CLI_JSON, CLI_DECOMPOSE, CLI_KEEP, CLI_WEIGHTS,               \
                CLI_EXTERNAL_WEIGHTS, CLI_SAVE_STATE, CLI_FOR, CLI_SHARE, CLI_METHOD),             \
      FNZ_READING_MAP, "functionalize a program and write it",                                     \
      "  fnz convert model.pt2 -o model.cbor --verify\n"                                           \
      "  fnz convert model.pt2 -o model.cbor --external-weights\n"                                 \
      "  fnz convert model.pt2 -o functional.pt2\n"                                                \
      "  fnz convert model.pt2 --decompose core -o core.pt2\n"                                     \
      "  fnz convert model.pt2 --for onnx -o for_onnx.pt2    # for torch.onnx.export()\n"          \
      "  fnz convert model.pt2 --to text | less\n"                                                 \
      "  fnz convert model.pt2 -o model.mlir --state globals    # for iree-compile\n"              \
      "  fnz convert prefill.pt2 decode.pt2 -o model.mlir       # two functions over one state\n"  \
      "  fnz convert prefill.pt2 decode.pt2 -o model.cbor       # the same as methods of one "     \
      "file\n"                                                                                     \
      "  fnz convert model.cbor --method decode -o decode.pt2\n"                                   \
      "  fnz convert model.pt2 --state io -o model.pt2 --save-state cache.safetensors\n"           \
      "  fnz convert model.pt2 --state epilogue --alias 'y=x[1:]' -o model.fnz\n"                  \
      "  fnz convert - -o model.fnz --json < model.pt2\n")                                         \
  ROW(run, "IN", 1, 1, false,                                                                      \
      CLI_TAKES(CLI_JSON, CLI_INPUTS, CLI_OUTPUTS, CLI_SYNC, CLI_ORIGINAL, CLI_DEVICE,             \
                CLI_THREADS, CLI_ALIAS, CLI_OPS, CLI_CHECK_SCHEMAS, CLI_ENGINE, CLI_STATE_FILE,    \
                CLI_SAVE_STATE, CLI_STEPS, CLI_DRAWS, CLI_GENERATOR, CLI_COLLECTIVES, CLI_GROUP,   \
                CLI_METHOD),                                                                       \
      FNZ_READING_MAP, "run the functional form of a program, or with --original the program",     \
      "  fnz run model.pt2 --inputs in.safetensors --outputs out.safetensors\n"                    \
      "  fnz run model.pt2 --inputs in.safetensors --original\n"                                   \
      "  fnz run model.pt2 --inputs next.safetensors --inputs out.safetensors    # goes on\n"      \
      "  fnz run decode.pt2 --inputs token.safetensors --steps 16 --save-state "                   \
      "cache.safetensors\n"                                                                        \
      "  fnz run decode.pt2 --inputs token.safetensors --state cache.safetensors\n"                \
      "  fnz run model.cbor --method prefill --inputs prompt.safetensors --save-state "            \
      "cache.safetensors\n"                                                                        \
      "  fnz run train.pt2 --inputs in.safetensors --seed 42    # dropout and the like\n"          \
      "  mpirun -n 4 fnz run model.pt2 --collectives mpi --inputs in.%r.safetensors "              \
      "--outputs out.%r.safetensors\n")                                                            \
  ROW(verify, "IN [B]", 1, 2, true,                                                                \
      CLI_TAKES(CLI_JSON, CLI_INPUTS, CLI_TRIALS, CLI_ALIAS, CLI_OPS, CLI_STATE,                   \
                CLI_IGNORE_WEIGHTS, CLI_ALLOW_NARROWER, CLI_IGNORE_MEMORY, CLI_BY_ENGINE,          \
                CLI_DRAWS, CLI_GENERATOR, CLI_COLLECTIVES, CLI_GROUP, CLI_METHOD),                 \
      FNZ_READING_MAP, "compare a program with its functional form, or with the program B",        \
      "  fnz verify model.pt2\n"                                                                   \
      "  fnz verify model.pt2 --state io\n"                                                        \
      "  fnz verify model.pt2 model.cbor --trials 20\n"                                            \
      "  fnz verify before.pt2 after.pt2 --ignore-weights\n"                                       \
      "  fnz verify model.pt2 --inputs in.safetensors\n"                                           \
      "  fnz verify model.pt2 --inputs in.safetensors --engine\n")                                 \
  ROW(bench, "IN", 1, 1, false,                                                                    \
      CLI_TAKES(CLI_INPUTS, CLI_AGAINST_RUN, CLI_ROUNDS, CLI_THREADS, CLI_OPS, CLI_DEVICE,         \
                CLI_JSON, CLI_DRAWS, CLI_GENERATOR, CLI_COLLECTIVES, CLI_GROUP, CLI_METHOD),       \
      FNZ_READING_MAP, "time runs of a program by the engine, and their steps",                    \
      "  fnz bench model.pt2 --inputs in.safetensors\n"                                            \
      "  fnz bench model.pt2 --inputs in.safetensors --against interpreter --rounds 200\n"         \
      "  fnz bench model.pt2 --inputs in.safetensors --json > times.json\n")                       \
  ROW(show, "IN", 1, 1, false,                                                                     \
      CLI_TAKES(CLI_JSON, CLI_FUNCTIONAL, CLI_ALIAS, CLI_OPS, CLI_METHOD), FNZ_READING_MAP_LATE,   \
      "print a program as text",                                                                   \
      "  fnz show model.pt2\n"                                                                     \
      "  fnz show model.pt2 --functional\n")                                                       \
  ROW(stats, "IN", 1, 1, false, CLI_TAKES(CLI_JSON, CLI_ALIAS, CLI_OPS, CLI_METHOD),               \
      FNZ_READING_MAP_LATE, "count operators, views and writes before and after",                  \
      "  fnz stats model.pt2\n"                                                                    \
      "  fnz stats model.pt2 --json\n")                                                            \
  ROW(view, "IN", 1, 1, false,                                                                     \
      CLI_TAKES(CLI_OUTPUT, CLI_SYNC, CLI_VERIFY, CLI_JSON, CLI_ALIAS, CLI_OPS, CLI_METHOD),       \
      FNZ_READING_MAP_LATE, "show a program before and after, as an HTML page",                    \
      "  fnz view model.pt2 -o model.html\n"                                                       \
      "  fnz view model.pt2 -o model.html --verify\n"                                              \
      "  fnz view model.pt2 --json > model.json\n")                                                \
  ROW(draw, "IN", 1, 1, false,                                                                     \
      CLI_TAKES(CLI_OUTPUT, CLI_SYNC, CLI_FUNCTIONAL, CLI_ALIAS, CLI_OPS, CLI_METHOD),             \
      FNZ_READING_MAP_LATE, "draw a program: .dot, or .svg with Graphviz",                         \
      "  fnz draw model.pt2 -o model.svg\n"                                                        \
      "  fnz draw model.pt2 --functional -o model.dot\n")                                          \
  ROW(lint, "IN", 1, 1, false,                                                                     \
      CLI_TAKES(CLI_VIEWS, CLI_ALIAS, CLI_OPS, CLI_JSON, CLI_SARIF, CLI_FOR, CLI_METHOD,           \
                CLI_FAIL_ON, CLI_MIN_BYTES, CLI_TEXT, CLI_INPUTS, CLI_SIZES),                      \
      FNZ_READING_MAP_LATE, "list everything that will be refused, and the copies of a run",       \
      "  fnz lint model.pt2\n"                                                                     \
      "  fnz lint model.pt2 --for pt2      # what convert -o model.pt2 will refuse\n"              \
      "  fnz lint model.pt2 --for onnx     # which operators it does not take\n"                   \
      "  fnz lint model.pt2 --fail-on refused    # for a script: copies do not count\n"            \
      "  fnz lint model.pt2 --sarif > model.sarif\n")                                              \
  ROW(explain, "IN [NODE]", 1, 2, false,                                                           \
      CLI_TAKES(CLI_VIEWS, CLI_ALIAS, CLI_OPS, CLI_PLAN, CLI_STAGE, CLI_DEVICE, CLI_ARCH,          \
                CLI_INPUTS, CLI_JSON, CLI_DECOMPOSE, CLI_KEEP, CLI_METHOD, CLI_MIN_BYTES,          \
                CLI_TEXT, CLI_SIZES),                                                              \
      FNZ_READING_MAP_LATE, "explain the copies of a run, or why a node of the result is there",   \
      "  fnz explain model.pt2\n"                                                                  \
      "  fnz explain model.pt2 --min-bytes 100000\n"                                               \
      "  fnz explain model.pt2 --sizes s0=128\n"                                                   \
      "  fnz explain model.pt2 --decompose core\n"                                                 \
      "  fnz explain model.pt2 --plan\n"                                                           \
      "  fnz explain model.pt2 --plan --inputs inputs.safetensors\n"                               \
      "  fnz explain model.pt2 --plan --device cuda --arch sm_90\n"                                \
      "  fnz explain model.pt2 --stage arranged\n"                                                 \
      "  fnz explain model.pt2 slice_scatter_1\n"                                                  \
      "  fnz explain model.pt2 --json\n")                                                          \
  ROW(diff, "A B", 2, 2, true, CLI_TAKES(CLI_OPS, CLI_JSON, CLI_METHOD), FNZ_READING_MAP,          \
      "compare two programs as expressions: names and order do not count",                         \
      "  fnz diff before.cbor after.cbor\n"                                                        \
      "  fnz diff model.fnz model.pt2 --json\n")                                                   \
  ROW(hash, "IN", 1, 1, false,                                                                     \
      CLI_TAKES(CLI_JSON, CLI_FUNCTIONAL, CLI_STRUCTURE, CLI_ALIAS, CLI_OPS, CLI_METHOD),          \
      FNZ_READING_MAP, "print a hash of a program's content, without the names of its values",     \
      "  fnz hash model.cbor\n"                                                                    \
      "  fnz hash model.pt2 --structure           # of any size at once: weights are not read\n")  \
  ROW(fuzz, "[IN...]", 0, CLI_MOST_FILES, false,                                                   \
      CLI_TAKES(CLI_JSON, CLI_SEED, CLI_COUNT, CLI_FIRST, CLI_AGAINST, CLI_JOBS, CLI_SYMBOLIC,     \
                CLI_REGIONS, CLI_PLANT, CLI_OPS),                                                  \
      FNZ_READING_MAP, "compare random programs with their functional forms",                      \
      "  fnz fuzz --seed 7 --count 1000000 --jobs 4\n"                                             \
      "  fnz fuzz --seed 7 --first 1234 --count 1 > wrong.fnz || fnz verify wrong.fnz\n"           \
      "  fnz fuzz --count 100000 --against strided\n"                                              \
      "  fnz fuzz --count 100000 --symbolic\n"                                                     \
      "  fnz fuzz --count 100000 --regions\n"                                                      \
      "  fnz fuzz --count 1000 --plant\n"                                                          \
      "  fnz fuzz --plant model.pt2 other.fnz --count 20\n")                                       \
  ROW(ops, "[NAME | PATTERN]", 0, 1, false,                                                        \
      CLI_TAKES(CLI_KIND, CLI_TAG, CLI_COMPOSITE, CLI_VIEW, CLI_NO_VIEW, CLI_NO_RULE, CLI_KERNEL,  \
                CLI_NO_KERNEL, CLI_OPS, CLI_IMPORT, CLI_TAGS, CLI_TABLE, CLI_OUTPUT, CLI_SYNC,     \
                CLI_JSON),                                                                         \
      FNZ_READING_MAP, "list operators, or print everything known about one",                      \
      "  fnz ops add_.Tensor\n"                                                                    \
      "  fnz ops 'add*' --kind inplace\n"                                                          \
      "  fnz ops --tag core --no-kernel cpu\n"                                                     \
      "  fnz ops --view --json\n"                                                                  \
      "  fnz ops --ops my_ops.txt 'mylib::*'\n"                                                    \
      "  fnz ops --import native_functions.yaml --tags tags.yaml\n"                                \
      "  fnz ops --import native_functions.yaml --tags tags.yaml --to tsv -o aten.tsv\n")

/* A node of the functional form that cannot be written as MLIR. */
typedef struct cli_refusal {
  fnz_finding finding;
  char where[192], what[512], remedy[512];
} cli_refusal;

#define CLI_VERB_DECLARE(name, operands, least, most, compares, options, reading, summary,         \
                         examples)                                                                 \
  int cli_##name(cli_call *call);
CLI_VERB_ROWS(CLI_VERB_DECLARE)
#undef CLI_VERB_DECLARE

/* An operator without a shape rule, and how many nodes of it there are. */
typedef struct cli_unruled {
  const char *op;
  size_t nodes;
} cli_unruled;

/* The value of an option, split at its commas. */
typedef struct cli_names {
  const char *data[CLI_MOST_WORDS];
  char *text;
  int count;
} cli_names;

/* The failure of a call. */
typedef struct cli_failure {
  bool is_set;
  fnz_class kind;
  char file[512], where[192], message[1024];
} cli_failure;

struct cli_call {
  const cli_verb *verb;
  const char *options[CLI_OPTION_COUNT]; /* the value, "" for a flag, NULL if it was not passed */
  const char *operands[CLI_MOST_FILES];
  /* Values of --alias, --share, --inputs and --group. */
  const char *aliases[CLI_MOST_WORDS], *shares[CLI_MOST_WORDS], *input_files[CLI_MOST_WORDS],
      *groups[CLI_MOST_WORDS];
  int naliases, nshares, ninput_files, ngroups;
  cli_names denied, apart, kept; /* of --deny, --decompose, --keep */
  int noperands;
  bool talks;          /* a summary is printed on standard error */
  bool shows_progress; /* a line of progress is printed there during long calls of the library */
  double opened, reported; /* milliseconds: the start of the call, the last line of progress */
  fnz_context *ctx;
  cli_failure *failure; /* the first one, for --json */
  fnzi_json_out json;
  fnz_buffer json_text; /* text of `json` that is not printed yet */
  bool has_printed;     /* some of it is on standard output already */
  fnz_program *program, *other, *functional;
  fnz_program *made_of;                   /* explain: the functional form, decomposed */
  fnz_program *methods[CLI_MOST_METHODS]; /* programs to be written as one file */
  int nmethods;
  fnz_methods *set; /* the file of the first operand if the verb uses its methods; else NULL */
  fnz_arrays *inputs, *more, *outputs;
  fnz_arrays *passed;                  /* arrays of --state that only other methods have */
  fnz_arrays *held;                    /* the state, between calls of an interpreter */
  fnz_origins *origins, *step_origins; /* of `functional`, of `made_of` */
  bool keeps_origins;                  /* cli_functionalize() makes `origins` */
  fnz_findings *findings;
  fnz_costs *costs; /* explain: copies of a run; NULL: the engine has no plan */
  char no_run[768]; /* why there is no plan */
  int min_bytes;    /* of --min-bytes */
  fnz_library *library;
  fnz_backend *backend;
  fnz_executable *executable;
  fnz_executable_state *state;
  fnz_workspace *workspace;
  fnz_generator *generator;
  const fnz_collectives *collectives;
  int64_t rank, nranks;          /* among all processes; 0 of 0 without --collectives */
  char *ranked[CLI_MOST_RANKED]; /* names of files that have the rank in them */
  int nranked;
  fnz_buffer in, out;
  /* Texts of the long nodes that were shown last, each at its index modulo CLI_LINES; a short one.
   */
  cli_line lines[CLI_LINES + 1];
  fnz_verify_report seen; /* filled in by the comparison */
  cli_unruled *unruled;
  size_t nunruled;
  cli_refusal *refusals;
  size_t nrefusals;
  bool lost;                  /* memory ran out for one of them */
  double ms[CLI_PHASE_COUNT]; /* below 0: did not happen */
  double began;
};

/* --- Options (options.c) ----------------------------------------------------------------- */
int cli_parse(cli_call *call, int argc, char **argv);
const char *cli_option_name(cli_option option);
/* Splits the values of --deny, --decompose and --keep. */
int cli_split_names(cli_call *call);
void cli_print_options(const cli_verb *verb);
/* Print parts of the shell completion: names of verbs, options of each, words that values may be.
 */
void cli_print_verbs(const char *gap);
void cli_print_options_of_verbs(void);
void cli_print_choices(void);
bool cli_has(const cli_call *call, cli_option option);
bool cli_ends_with(const char *path, const char *end);
/* Creates the generator of --seed and --generator, and makes the context use it. */
int cli_seed(cli_call *call);
/* Sets *out to the value of an option, or to `fallback` without it. A value outside of [least,
 * most] is bad usage. */
int cli_number(const cli_call *call, cli_option option, int fallback, int least, int most,
               int *out);

/* --- Files (files.c) --------------------------------------------------------------------- */
/* Refuses two operands that are standard input, before anything is read. */
int cli_check_streams(const cli_call *call);
/* Refuses a file that is named twice, and an output that is a file which the call reads. */
int cli_check_files(const cli_call *call);

/* --- Failures (report.c) ----------------------------------------------------------------- */
/* Prints `fnz: CLASS: where: message`, returns the exit code of the class. `call`: NULL before
 * there is one. */
int cli_fail(const cli_call *call, fnz_class kind, const char *where, const char *format, ...)
    CLI_PRINTF(4, 5);
/* Reports bad usage with the verb and how to get its help; returns 64. */
int cli_usage(const cli_call *call, const char *format, ...) CLI_PRINTF(2, 3);
enum { CLI_NEAR = 192 };
/* Writes "; did you mean show?" for a word that is none of the names; "" if none is similar. */
void cli_near(const char *word, const char *const *names, size_t count, char out[CLI_NEAR]);
/* Prints the failure of a library call, if it failed, and returns the exit code. `file` comes first
 * in the message ("-": standard input); NULL: the library names the location. */
int cli_check(const cli_call *call, fnz_status status, const char *file);
/* Flushes standard output; CLI_IO if it cannot be written. */
int cli_flush(void);

/* --- JSON (json.c) ----------------------------------------------------------------------- */
/* Returns a writer of JSON (base/json.h) into call->json_text. */
fnzi_json_out *cli_json(cli_call *call);
/* The same, with the object of --json opened and its first members written. */
fnzi_json_out *cli_json_begin(cli_call *call);
/* Prints the text so far on standard output. */
void cli_json_spill(cli_call *call);
/* Closes the object and prints it. */
int cli_json_end(cli_call *call);
/* Prints the object of a failure with this exit code, unless part of another one is printed. */
void cli_json_failure(cli_call *call, int code);
/* Writes the time of each phase as members of the open object. */
void cli_json_times(cli_call *call);
/* Prints the figures of the program as read and of its functional form. */
int cli_print_json(cli_call *call);

/* --- Printing (report.c) ----------------------------------------------------------------- */
/* Prints text of a file without control characters, which a terminal would obey. */
void cli_put_clean(FILE *to, const char *text, size_t size);
/* Prints "model.py:7" for a node's source text; nothing if it names no line. */
void cli_print_place(FILE *to, const char *source);
/* The same as two members of an object, "source_file" and "source_line". */
void cli_json_place(fnzi_json_out *w, const char *source);
/* The same as cli_print_json(), as text. */
void cli_print_summary(const cli_call *call, FILE *to, const char *out_name);
void cli_print_times(const cli_call *call, FILE *to);
/* Prints the result of a comparison without a difference. */
void cli_print_equal(const cli_call *call, FILE *to);
/* Prints a line for each array: name, dtype, sizes and the first elements. */
void cli_print_arrays(const fnz_arrays *arrays);
/* Writes an array without its elements: name, dtype, sizes, bytes. */
void cli_json_array(fnzi_json_out *w, const fnz_array *array);
/* Adds a copy of `a`, called `name`, to `to`. */
fnz_status cli_array_copy(const fnz_array *a, const char *name, fnz_arrays *to);

/* --- Operators of other releases of PyTorch (ops_import.c) ------------------------------- */
/* Returns whether the call has --import or options that need it. */
bool cli_wants_import(const cli_call *call);
int cli_ops_import(cli_call *call);

/* --- MLIR (mlir.c) ----------------------------------------------------------------------- */
/* Fills `out` from the options of the call. Removes --state, because the MLIR writer is what moves
 * the state: the program itself keeps it in outputs. */
void cli_mlir_take_options(cli_call *call, fnz_mlir_options *out);
/* Decomposes operators of call->functional that the dialect does not have. */
int cli_mlir_prepare(cli_call *call, const char *path);
/* Lists everything that cannot be written as call->refusals. Lists nothing if the program cannot be
 * functionalized, which is reported elsewhere. */
int cli_mlir_check(cli_call *call, const char *set, const char *path);
/* Writes call->functional as MLIR, and its weights to a second file if `options` do. */
int cli_mlir_save(cli_call *call, const fnz_mlir_options *options, const char *path);

/* --- Several programs in one file (methods.c) ----------------------------------------------- */
/* Converts all operands, or all methods of the one operand, into one file. */
int cli_methods_convert(cli_call *call, fnz_format format, const char *path);

/* --- One of several programs in a file (method.c) -------------------------------------------- */
/* Reads the methods of the first operand into call->set. */
int cli_method_open(cli_call *call);
/* Returns whether call->set has several methods and the call has no --method. */
bool cli_method_is_missing(const cli_call *call);
/* Reads the program of a file, or its method --method. */
int cli_method_take(cli_call *call, const char *path, fnz_program **out);
/* Calls `one` if the file has one program or --method names one. Otherwise calls `each` for every
 * method, with --method set to its name. */
int cli_method_each(cli_call *call, int (*one)(cli_call *call), int (*each)(cli_call *call));
/* Prints the name of the method and ends the line. */
void cli_method_print(const cli_call *call);
enum { CLI_MOST_HELD = 4096 };
/* Sets options->held to the state of all methods, which this method may only read. The
 * names are in `room`, an array of CLI_MOST_HELD. */
void cli_method_hold(const cli_call *call, fnz_compile_options *options, const char **room);
/* Moves arrays that only other methods have from call->more to call->passed. */
int cli_method_split_state(cli_call *call);
/* Appends call->passed to the state that is saved. */
int cli_method_add_passed(cli_call *call, fnz_arrays *to);

/* --- State that the caller holds (pairs.c) ------------------------------------------------- */
/* Stores the initial state of call->functional in call->more, or prints a note about its names. */
int cli_pairs_begin(cli_call *call);
/* Saves call->more to the file of --save-state. */
int cli_pairs_save(cli_call *call);
/* Adds new values of state among the results of the last run, by the names of their inputs. */
int cli_pairs_add(cli_call *call, const fnz_program *program, fnz_arrays *to);
/* Makes these values inputs of the next run. */
int cli_pairs_hand_on(cli_call *call, const fnz_program *program);

/* --- State from run to run (held.c) ------------------------------------------------------- */
/* Reads the arrays of --state into call->more. With an executable, creates call->state from them.
 */
int cli_state_open(cli_call *call);
/* The same for the interpreters: creates call->held. */
int cli_held_open(cli_call *call);
/* Runs the program once by an interpreter: results into call->outputs, state into call->held. */
int cli_held_step(cli_call *call, const fnz_program *program, const fnz_run_options *options);

/* --- Nodes that are not taken (refusals.c) ------------------------------------------------ */
/* Lists everything that the .pt2 file of `fnz convert` could not hold. Lists nothing if the program
 * cannot be functionalized, which is reported elsewhere. */
int cli_pt2_check(cli_call *call, const char *set, const char *path);
/* The same for call->functional, as it is. */
int cli_pt2_check_made(cli_call *call, const char *path);
/* Adds to call->refusals; sets call->lost if memory runs out. */
void cli_refuse_node(cli_call *call, size_t graph, size_t node, fnz_class kind, const char *where,
                     const char *what);
/* Call after the last refusal was added: before, its texts may still move. */
int cli_refusals_finish(cli_call *call, const char *path);

/* --- Several processes (collectives.c) ----------------------------------------------------- */
/* Opens the collectives of --collectives and --group; puts the rank into names of files. */
int cli_collectives_open(cli_call *call);
void cli_collectives_end(cli_call *call);

/* --- Completion (complete.c) --------------------------------------------------------------- */
int cli_print_completion(void);

/* --- Progress and Ctrl-C (progress.c) ------------------------------------------------------- */
/* After this, long calls of the library show a line of progress on a terminal, and Ctrl-C cancels
 * them. */
void cli_progress_open(cli_call *call);
/* Updates the line if the last update is long enough ago. Returns false after Ctrl-C. */
bool cli_progress(cli_call *call, const fnz_progress *progress);
/* Erases the line. Call before anything else is printed. */
void cli_progress_clear(void);
double cli_now_ms(void); /* of a clock that only goes on */
/* Returns whether Ctrl-C was pressed. */
bool cli_is_cancelled(void);
/* Ends the process by the signal of Ctrl-C, if there was one. */
void cli_end_cancelled(void);

/* --- Colours (color.c) ----------------------------------------------------------------------- */
typedef enum cli_hue {
  CLI_HUE_BAD,
  CLI_HUE_GOOD,
  CLI_HUE_WARNING,
  CLI_HUE_BOLD,
  CLI_HUE_FIRST, /* sides of a difference */
  CLI_HUE_SECOND,
  CLI_HUE_NONE /* ends each of the others */
} cli_hue;
/* Returns whether it is a terminal that understands escape sequences. */
bool cli_is_terminal(FILE *to);
/* Sets the value of --color; NULL without the option. */
void cli_color_choose(const char *when);
/* Returns the text that begins a hue on a stream: "" if it has no colours. */
const char *cli_color(FILE *to, cli_hue hue);

/* --- Before main (main.c) ------------------------------------------------------------------ */
void cli_start_blas(void);

/* --- Warnings (warn.c) --------------------------------------------------------------------- */
/* Warns of each constant of call->program that call->functional writes; `path` has the program. */
void cli_warn_constants(const cli_call *call, const char *path);

/* --- A call (call.c) ----------------------------------------------------------------------- */
void cli_call_end(cli_call *call);
/* Destroys the forms of one program before the next program is read. */
void cli_call_next(cli_call *call);
/* Measure the time of a phase. */
void cli_phase_begin(cli_call *call);
void cli_phase_end(cli_call *call, cli_phase phase);

/* --- Steps that verbs share (steps.c) ---------------------------------------------------- */
/* Declares the custom operators of --ops. */
int cli_declare_ops(cli_call *call);
/* Reads a program, which the call owns. */
int cli_read_program(cli_call *call, const char *path, fnz_program **out);
/* Makes options for fnz_functionalize() from the options of the call. */
int cli_functionalize_options(const cli_call *call, fnz_functionalize_options *out);
/* Functionalizes into call->functional; `path` is the file of the program, for messages. */
int cli_functionalize(cli_call *call, const fnz_program *program, const char *path);
/* Returns the target of --for; NULL without one, and for words of CLI_TARGET_ROWS. */
const fnz_target *cli_target(const cli_call *call);
/* Converts --decompose, --keep and --for to options. */
fnz_decompose_options cli_decompose_options(const cli_call *call);
/* Decomposes call->functional by these options. */
int cli_decompose(cli_call *call, const char *path);
/* Lists nodes as call->refusals whose operators are not in the set, and stay. */
int cli_decompose_check(cli_call *call, const char *set, const char *path);
/* Lists nodes as call->refusals that a target does not accept (targets.c). */
int cli_target_check(cli_call *call, const fnz_target *target, const char *path);
/* The same as cli_decompose(), into call->made_of, with the origin of each node. */
int cli_decompose_explained(cli_call *call, const char *path);
/* Reads the arrays of --inputs into call->inputs. */
int cli_read_inputs(cli_call *call);
/* Returns the folder for compiled kernels of a GPU, in `room`; NULL: there is none. */
const char *cli_cache_folder(char *room, size_t size);
/* Compares call->program with `functional` over hashes, and over numbers if there are inputs. */
int cli_compare(cli_call *call, const fnz_program *functional, int trials);
/* Writes a program in a format to call->out. */
int cli_serialize(cli_call *call, const fnz_program *program, fnz_format format);
/* Writes call->out to a file or, for "-", to standard output. */
int cli_deliver(cli_call *call, const char *path);
/* Serializes and delivers a program without a copy of its weights. */
int cli_save(cli_call *call, const fnz_program *program, fnz_format format, const char *path);
/* Reads the program of the first operand; with --functional, returns its functional form. */
int cli_chosen(cli_call *call, const fnz_program **out);

#endif
