/* checks: 66
 * cli_test.c - the command from outside: exit codes, its messages and their streams. By subject in
 * cli_*.c. */
#include "tests/cli/cli.h"

START_TEST(tells_its_version) {
  enter_folder();
  ck_assert_str_eq(must_work("--version")->out, "fnz 0.1.0\n");
}
END_TEST

START_TEST(helps_with_examples) {
  enter_folder();
  static const char *const calls[] = {
      "--help",       "convert --help", "run --help",  "verify --help", "show --help",
      "stats --help", "draw --help",    "ops --help",  "fuzz --help",   "-h",
      "help",         "convert -h",     "help convert"};
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
    has(must_work(calls[i])->out, "examples:\n  fnz ");
  has(must_work("convert --help")->out, "--to FORMAT");
}
END_TEST

START_TEST(refuses_bad_usage) {
  enter_folder();
  must_fail("", 64, "fnz: ARGUMENT: a verb is missing");
  must_fail("convart x", 64, "fnz: ARGUMENT: there is no verb convart");
  must_fail("convert", 64, "fnz: ARGUMENT: convert: it needs IN");
  must_fail("stats a b", 64, "fnz: ARGUMENT: stats: b is one operand too many");
  must_fail(
      "convert a b", 64,
      "fnz: ARGUMENT: convert: several programs become methods of one CBOR file, or functions");
  must_fail("convert a --frob", 64, "fnz: ARGUMENT: convert: there is no option --frob");
  must_fail("convert a --trials 3", 64,
            "fnz: ARGUMENT: convert: there is no option --trials, "
            "which is one of fnz verify; see fnz convert --help");
  must_fail("convert a -o", 64, "fnz: ARGUMENT: convert: -o needs a value");
  must_fail("convert a --verify=yes", 64, "fnz: ARGUMENT: convert: --verify takes no value");
  must_fail("convert a -o x.cbor -o y.cbor", 64, "fnz: ARGUMENT: convert: -o is given twice");
  must_fail("convert a --views some", 64,
            "fnz: ARGUMENT: convert: --views takes one of copy, keep");
  must_fail("run a --device cpu:99", 64,
            "fnz: ARGUMENT: run: --device takes one of cpu, cuda, cuda:N, not");
  must_fail("run a --collectives some", 64,
            "fnz: ARGUMENT: run: --collectives takes one of mpi, one, not some");
  must_fail("run a --group tp=0,1", 64, "fnz: ARGUMENT: run: --group needs --collectives");
  must_fail("run a --collectives one --group tp=0,1", 64,
            "fnz: ARGUMENT: run: --group needs --collectives mpi");
  must_fail(
      "run a --collectives mpi --group tp=0,", 64,
      "fnz: ARGUMENT: run: --group takes NAME=RANKS below 4096, such as tp=0,1/2,3, not tp=0,;");
  must_fail("help convart", 64, "fnz: ARGUMENT: there is no verb convart");
  must_fail("verify a --trials 0", 64, "fnz: ARGUMENT: verify: --trials takes a number");
  must_fail("verify a --trials 3x", 64, "fnz: ARGUMENT: verify: --trials takes a number");
  must_fail("verify " PROGRAM " --engine", 64, "fnz: ARGUMENT: verify: --engine runs the program");
  must_fail("verify - -", 64, "fnz: ARGUMENT: verify: two files cannot both come");
}
END_TEST

/* `fnz show x | head`: no word, and the end by the signal that others end by. */
START_TEST(ends_in_silence_when_its_reader_goes_away) {
  enter_folder();
  static const char *const verbs[] = {"show", "convert"};
  for (size_t i = 0; i < 2; i++) {
    char text[512], words[512], *argv[ARGS], err[ROOM];
    posix_spawn_file_actions_t files;
    int ends[2], result;
    pid_t child;
    snprintf(words, sizeof words, "%s %s", verbs[i], PROGRAM);
    split(words, text, sizeof text, argv);
    ck_assert_int_eq(pipe(ends), 0);
    close(ends[0]);
    ck_assert_int_eq(posix_spawn_file_actions_init(&files), 0);
    posix_spawn_file_actions_adddup2(&files, ends[1], 1);
    open_stream(&files, 2, ".err");
    ck_assert_int_eq(posix_spawn(&child, command_path(), &files, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&files);
    close(ends[1]);
    ck_assert_int_eq(waitpid(child, &result, 0), child);
    ck_assert(WIFSIGNALED(result) && WTERMSIG(result) == SIGPIPE);
    slurp(".err", err);
    ck_assert_str_eq(err, "");
  }
}
END_TEST

START_TEST(says_what_may_have_been_meant) {
  enter_folder();
  must_fail("shw x", 64, "fnz: ARGUMENT: there is no verb shw; did you mean show? see fnz --help");
  must_fail("run x --input y", 64,
            "fnz: ARGUMENT: run: there is no option --input; did you mean --inputs? see fnz run");
  must_fail("run x --outputs out.npy", 64,
            "fnz: ARGUMENT: run: results are written as safetensors, not as .npy; name "
            "out.safetensors; see");
  must_fail("show x --ops=", 64, "fnz: ARGUMENT: show: --ops is given nothing; it takes FILE");
  spill("near.fnz", "fnz 1 program(%x: f32[2]) { %y: f32[2] = slect.int(%x, 0, 0) return %y }");
  must_fail(
      "show near.fnz", 2,
      "fnz: UNSUPPORTED: near.fnz: line 1, column 42: there is no operator slect.int; did you "
      "mean select.int? declare it");
  must_fail("show " PT2 "unknown_operator.json", 2,
            "fnz: UNSUPPORTED: " PT2 "unknown_operator.json: model.json: "
            "graph_module.graph.nodes[0].target: operator aten::ad_.Tensor is not in the table of "
            "this release; export the program with decompositions; did you mean ");
  must_fail(
      "show " PT2 "torch_2_5.json", 2,
      "fnz: VERSION: " PT2 "torch_2_5.json: model.json: schema_version: schema version 7.3 is "
      "not read, only 8.x; torch 2.5 or older wrote it: export again with torch 2.6 or newer");
}
END_TEST

START_TEST(operands_may_begin_with_a_dash) {
  enter_folder();
  must_work("convert " PROGRAM " -o -x.cbor");
  must_work("show -- -x.cbor");
  must_fail("show -x.cbor", 64, "fnz: ARGUMENT: show: there is no option -x.cbor");
}
END_TEST

START_TEST(summary_only_when_asked_for) {
  enter_folder();
  must_work("convert " PROGRAM " -o a.cbor");
  outcome *o = fnz("convert " PROGRAM " -o a.cbor --verify --verbose");
  ck_assert_int_eq(o->code, 0);
  has(o->err, "1 views, 1 writes");
  has(o->err, "0 views, 0 writes");
  has(o->err, "equal to the original for all values of these shapes (hash domain, 2 seeds)\n");
  has(o->err, "read ");
  must_work("convert " PROGRAM " -o a.cbor --verbose --quiet");
}
END_TEST

/* Quoted text in a message cannot end its line. */
START_TEST(failures_are_one_line) {
  enter_folder();
  must_fail("ops a\nb\033c", 2, "fnz: REF: a?b?c: there is no operator of that name");
  must_fail("show a\nb", 3, "fnz: IO: a?b: ");
  must_fail("convert a --frob\n", 64, "fnz: ARGUMENT: convert: there is no option --frob?; see");
}
END_TEST

/* By seed and index, in all runs. */
START_TEST(draws_random_programs) {
  enter_folder();
  char one[8000];
  snprintf(one, sizeof one, "%s", must_work("fuzz --seed 5 --count 200")->out);
  has(one, "200 programs of ");
  has(one, "           0  wrong\n");
  ck_assert_ptr_null(strstr(one, "dialect"));
  snprintf(one, sizeof one, "%s", must_work("fuzz --seed 5 --count 200 --verbose")->out);
  has(one, "drawn\n         200  programs\n");
  has(one, "         100  the same in dialect keep\n");
  has(one, "         125  the same in dialect strided\n");
  has(one, "          25  text, memory of outputs, epilogue\n");
  has(one, "           0  wrong\n");
  ck_assert_str_eq(must_work("fuzz --seed 5 --count 200 --jobs 3 --verbose")->out, one);
  ck_assert_str_ne(must_work("fuzz --seed 6 --count 200 --verbose")->out, one);
  ck_assert_str_eq(must_work("fuzz --first 7 --count 20 --quiet")->out, "");
  has(must_work("fuzz --count 30 --against keep --verbose")->out,
      "          30  the same in dialect keep\n");
  has(must_work("fuzz --count 30 --against cpu --verbose")->out,
      "           0  the same in dialect keep\n");
  has(must_work("fuzz --count 30 --symbolic --verbose")->out,
      "          30  programs of unknown sizes\n");
  has(must_work("fuzz --count 30 --symbolic --against strided --verbose")->out,
      "           0  the same in dialect keep\n          30  the same in dialect strided\n");
  has(must_work("fuzz --count 30 --regions --verbose")->out,
      "          30  programs with bodies\n");
  must_fail("fuzz --symbolic --regions", 64, "fnz: ARGUMENT: fuzz: --symbolic and --regions are");
  must_fail("fuzz --symbolic --against engine", 64,
            "fnz: ARGUMENT: fuzz: programs of unknown sizes are not run by the engine");
  must_fail("fuzz --against gpu", 64,
            "fnz: ARGUMENT: fuzz: --against takes one of keep, strided, engine, cpu");
  must_fail("fuzz --count 0", 64, "fnz: ARGUMENT: fuzz: --count takes a number");
  must_fail("fuzz x", 64,
            "fnz: ARGUMENT: fuzz: it draws its programs; with --plant it takes files");
}
END_TEST

/* Files that are no programs are left out; a call without any program is refused. */
START_TEST(plants_mistakes) {
  enter_folder();
  spill("sum.fnz", "fnz 1 program(%x: f32[4]) { %s: f32[] = sum(%x) "
                   "%t: f32[] = mul.Scalar(%s, 3) return %t }");
  spill("broken.fnz", "fnz 1 program(");
  has(must_work("fuzz --plant broken.fnz sum.fnz")->out, " mistakes planted: ");
  const char *out = must_work("fuzz --plant sum.fnz --verbose")->out;
  has(out, "4 programs, 0 of them left out\n");
  has(out, "an integer more or less by one                      4        4        0        0");
  has(must_work("fuzz --plant sum.fnz --count 1 --jobs 2")->out,
      "1 programs, 0 of them left out\n");
  ck_assert_str_eq(must_work("fuzz --plant sum.fnz --quiet")->out, "");
  must_fail("fuzz --plant broken.fnz", 2, "fnz: REF: fuzz: none of the files holds a program");
  must_fail("fuzz --plant nowhere.fnz", 3, "fnz: IO: nowhere.fnz: ");
  must_fail("fuzz --plant --against keep", 64, "fnz: ARGUMENT: fuzz: --plant compares by");
  must_fail("fuzz --plant sum.fnz --regions", 64, "fnz: ARGUMENT: fuzz: --symbolic and --regions");
}
END_TEST

SUITE_PART(cli_usage, tells_its_version, helps_with_examples, refuses_bad_usage,
           ends_in_silence_when_its_reader_goes_away, says_what_may_have_been_meant,
           operands_may_begin_with_a_dash, summary_only_when_asked_for, failures_are_one_line,
           draws_random_programs, plants_mistakes)

suite_part cli_files, cli_methods, cli_programs, cli_operators;
RUN_PARTS("cli", cli_usage, cli_files, cli_methods, cli_programs, cli_operators)
