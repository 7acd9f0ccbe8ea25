/* checks: 51
 * cli_test.c - the command from outside: exit codes, what it says and where, and that no output is
 * left behind when something failed. */
#include "program/formats/json.h"
#include "tests/command.h"

#include <fnz/formats.h>

#define FIXTURES FNZ_SOURCE_DIR "/fixtures/cli/"
#define PROGRAM  FIXTURES "slice_write.fnz"
#define OTHER    FIXTURES "slice_write_twice.fnz"
#define CUSTOM   FNZ_SOURCE_DIR "/fixtures/custom/"
#define PT2      FNZ_SOURCE_DIR "/fixtures/pt2/"
#define NATIVE   FNZ_SOURCE_DIR "/fixtures/native/"

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
  must_fail("convert a b", 64, "fnz: ARGUMENT: convert: b is one operand too many");
  must_fail("convert a --frob", 64, "fnz: ARGUMENT: convert: there is no option --frob");
  must_fail("convert a --trials 3", 64, "fnz: ARGUMENT: convert: there is no option --trials");
  must_fail("convert a -o", 64, "fnz: ARGUMENT: convert: -o needs a value");
  must_fail("convert a --verify=yes", 64, "fnz: ARGUMENT: convert: --verify takes no value");
  must_fail("convert a -o x.cbor -o y.cbor", 64, "fnz: ARGUMENT: convert: -o is given twice");
  must_fail("convert a --views some", 64,
            "fnz: ARGUMENT: convert: --views takes one of copy, keep");
  must_fail("run a --device cpu:99", 64,
            "fnz: ARGUMENT: run: --device takes one of cpu, cuda, cuda:N, not");
  must_fail("help convart", 64, "fnz: ARGUMENT: there is no verb convart");
  must_fail("verify a --trials 0", 64, "fnz: ARGUMENT: verify: --trials takes a number");
  must_fail("verify a --trials 3x", 64, "fnz: ARGUMENT: verify: --trials takes a number");
  must_fail("verify " PROGRAM " --engine", 64, "fnz: ARGUMENT: verify: --engine runs the program");
  must_fail("verify - -", 64, "fnz: ARGUMENT: verify: the two programs cannot both");
}
END_TEST

START_TEST(says_which_file_is_missing) {
  enter_folder();
  must_fail("show none.pt2", 3, "fnz: IO: none.pt2: ");
  must_fail("run " PROGRAM " --inputs none.safetensors", 3, "fnz: IO: none.safetensors: ");
  must_fail("verify " PROGRAM " none.cbor", 3, "fnz: IO: none.cbor: ");
  must_fail("show .", 3, "fnz: IO: .: ");
}
END_TEST

START_TEST(refuses_files_that_are_no_programs) {
  enter_folder();
  spill("empty", "");
  spill("garbage", "this is not a program\n");
  outcome *o = fnz("show empty");
  ck_assert_int_eq(o->code, 2);
  has(o->err, "empty");
  o = fnz("convert garbage -o out.cbor");
  ck_assert_int_eq(o->code, 2);
  has(o->err, "garbage");
  ck_assert(!exists("out.cbor"));
}
END_TEST

START_TEST(says_what_stands_where_inputs_should) {
  static const struct {
    const char *name, *bytes;
    size_t size;
    const char *says;
  } rows[] = {
      {"a.pt2", "PK\3\4\0\0\0\0\0\0", 10, "a zip archive, as .pt2, .pth and .npz files are"},
      {"a.pkl", "\x80\4\x95\0\0\0\0\0\0\0", 10, "a pickle"},
      {"a.npy", "\x93NUMPY\1\0v\0", 10, "an array of NumPy"},
      {"a.cbor", "\xd9\xd9\xf7\xa1 fnz 1", 10, "CBOR"},
      {"a.json", "{\"x\": [1, 2]}", 13, "JSON"},
      {"a.fnz", "fnz 1\nprogram(%x: f32[4])", 25, "a program as text"},
      {"a.bin", "0123456789abcdef", 16, "something else"}};
  enter_folder();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char words[512], begins[256];
    spill_bytes(rows[i].name, rows[i].bytes, rows[i].size);
    snprintf(words, sizeof words, "run " PROGRAM " --inputs %s", rows[i].name);
    snprintf(begins, sizeof begins, "fnz: SYNTAX: %s: expected a safetensors file, this is %s; ",
             rows[i].name, rows[i].says);
    must_fail(words, 2, begins);
  }
}
END_TEST

/* What PyTorch 2.15 has after the second step begins so. */
START_TEST(goes_on_from_the_state_that_a_run_wrote) {
  static const char *const ways[] = {"", " --original"};
  enter_folder();
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    char words[1024];
    snprintf(words, sizeof words, "run %s --inputs %s --outputs state.safetensors%s",
             PT2 "kv_cache.pt2", PT2 "kv_cache.step0.safetensors", ways[i]);
    must_work(words);
    snprintf(words, sizeof words, "run %s --inputs %s --inputs state.safetensors%s",
             PT2 "kv_cache.pt2", PT2 "kv_cache.step1.safetensors", ways[i]);
    has(must_work(words)->out, "output.0         f32[1, 1, 16]     -0.54685");
  }
  must_fail("run " PT2 "kv_cache.pt2 --inputs - --inputs -", 64,
            "fnz: ARGUMENT: run: two files cannot both come from standard input");
  must_fail("run " PT2 "kv_cache.pt2 --inputs state.safetensors --inputs state.safetensors", 2,
            "fnz: DUPLICATE: state.safetensors: ");
}
END_TEST

START_TEST(says_which_weights_differ) {
  static const char both[] = "verify " PT2 "weights_a.pt2 " PT2 "weights_b.pt2";
  enter_folder();
  must_fail(both, 1, "fnz: DIFFERENT: " PT2 "weights_a.pt2: 9 of 10 weights differ");
  has(must_work("verify " PT2 "weights_a.pt2 " PT2 "weights_b.pt2 --ignore-weights")->out,
      "equal for all values of these shapes (hash domain, 2 seeds)\n");
  must_work("convert " PT2 "weights_a.pt2 -o a.fnz");
  has(must_work("verify " PT2 "weights_a.pt2 a.fnz")->out,
      "(hash domain, 2 seeds; 10 weights have no data to compare)\n");
}
END_TEST

/* The first bytes of files as they are at hand. */
static const struct {
  const char *bytes;
  size_t size;
  const char *says;
} foreign[] = {
    {"\x93NUMPY\1\0v\0", 10, "an array of NumPy; arrays go to fnz run --inputs"},
    {"\x80\4\x95\0\0\0\0\0\0\0", 10, "a pickle; export the program in Python"},
    {"\x80\2\x8a\nl\xfc\x9c"
     "F\xf9 j\xa8P\x19.",
     15, "a pickle, as torch.save wrote it before"},
    {"\x10\0\0\0\0\0\0\0{\"x\":1}", 15, "a safetensors file; arrays go to"},
    {"PK\3\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x0c\0\0\0new/data.pkl", 42,
     "a file of torch.save or torch.jit.save; export"},
    {"PK\3\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0x.npy", 35,
     "arrays of NumPy; arrays go to"},
    {"\x7f"
     "ELF\2\1\1",
     7, "a program or library of this system"},
    {"\x08\x08\x12\7pytorch", 11, "an ONNX model"},
    {"\x1f\x8b\x08\0", 4, "a gzip file; unpack it first"},
};

START_TEST(says_what_stands_where_a_program_should) {
  enter_folder();
  for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
    char begins[256];
    spill_bytes("given", foreign[i].bytes, foreign[i].size);
    snprintf(begins, sizeof begins, "fnz: UNSUPPORTED: given: expected a program, this is %s",
             foreign[i].says);
    must_fail("show given", 2, begins);
    outcome *o = fnz_with("show -", "given", ".out", environ);
    ck_assert_int_eq(o->code, 2);
    has(o->err, foreign[i].says);
  }
}
END_TEST

/* More than there is memory for: what is no program is refused by its beginning. */
START_TEST(reads_no_more_of_a_foreign_file_than_its_beginning) {
  enter_folder();
  for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
    spill_bytes("large", foreign[i].bytes, foreign[i].size);
    if (truncate("large", (off_t)1 << 42) != 0 && truncate("large", (off_t)1 << 40) != 0)
      continue; /* a file system without such files */
    must_fail("show large", 2, "fnz: UNSUPPORTED: large: expected a program, this is ");
    if (i != 3) /* which is one of arrays */
      must_fail("run " PROGRAM " --inputs large", 2,
                "fnz: SYNTAX: large: expected a safetensors file, this is ");
  }
  spill("large", "fnz 1 program(");
  if (truncate("large", (off_t)1 << 40) == 0)
    must_fail("show large", 2, "fnz: LIMIT: large: 1099511627776 bytes of text; at most ");
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
    ck_assert_int_eq(posix_spawn(&child, FNZ_EXE, &files, NULL, argv, environ), 0);
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

START_TEST(leaves_what_was_there_when_it_fails) {
  enter_folder();
  spill("garbage", "this is not a program\n");
  spill("out.cbor", "precious");
  ck_assert_int_eq(fnz("convert garbage -o out.cbor --verify")->code, 2);
  char text[ROOM];
  slurp("out.cbor", text);
  ck_assert_str_eq(text, "precious");
}
END_TEST

static void copy_file(const char *from, const char *to) {
  char text[ROOM];
  slurp(from, text);
  spill(to, text);
}

START_TEST(writes_over_nothing_that_it_reads) {
  static const char *const calls[] = {"convert p.fnz -o p.fnz",
                                      "convert p.fnz -o ./p.fnz --verify",
                                      "convert p.fnz -o q.fnz",
                                      "draw p.fnz -o q.fnz",
                                      "convert " PROGRAM " --ops p.fnz -o q.fnz",
                                      "run " PROGRAM " --inputs p.fnz --outputs p.fnz"};
  enter_folder();
  char text[ROOM], want[ROOM];
  copy_file(PROGRAM, "p.fnz");
  ck_assert_int_eq(link("p.fnz", "q.fnz"), 0);
  slurp("p.fnz", want);
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    outcome *o = fnz(calls[i]);
    ck_assert_int_eq(o->code, 64);
    has(o->err, "name another file");
    slurp("p.fnz", text);
    ck_assert_str_eq(text, want);
  }
  outcome *o = fnz_with("convert - -o p.fnz", "q.fnz", ".out", environ);
  ck_assert_int_eq(o->code, 64);
  must_work("convert p.fnz -o other.fnz");
  must_work("convert p.fnz -o other.fnz");
}
END_TEST

START_TEST(cannot_write_where_there_is_no_folder) {
  enter_folder();
  must_fail("convert " PROGRAM " -o nowhere/out.cbor", 3,
            "fnz: IO: nowhere/out.cbor: there is no folder nowhere; make it first");
  must_fail("run " PROGRAM " --inputs " FIXTURES "x.safetensors --outputs nowhere/o.safetensors", 3,
            "fnz: IO: nowhere/o.safetensors: ");
  ck_assert(!exists("nowhere"));
  spill("a.cbor", "precious");
  ck_assert_int_eq(symlink("a.cbor", "link.cbor"), 0);
  must_fail("convert " PROGRAM " -o link.cbor", 3,
            "fnz: IO: link.cbor: it is a symbolic link; name the file that it points to");
  must_fail("convert " PROGRAM " -o a.cbor/b.cbor", 3,
            "fnz: IO: a.cbor/b.cbor: a.cbor is no folder");
  must_fail("convert " PROGRAM " --to cbor -o .", 3, "fnz: IO: .: it is a folder; name a file");
  must_fail("convert " PROGRAM " --to cbor -o /dev/null", 3,
            "fnz: IO: /dev/null: it is no regular file; write to - and redirect that");
}
END_TEST

START_TEST(notices_a_full_disk) {
  enter_folder();
  static const char *const calls[] = {"--version", "ops", "show " PROGRAM, "stats " PROGRAM};
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    outcome *o = fnz_with(calls[i], "/dev/null", "/dev/full", environ);
    ck_assert_int_eq(o->code, 3);
    has(o->err, "fnz: IO: standard output: ");
  }
}
END_TEST

START_TEST(converts_to_standard_output) {
  enter_folder();
  outcome *o = must_work("convert " PROGRAM);
  has(o->out, "slice_scatter");
  ck_assert_ptr_null(strstr(o->out, "add_"));
}
END_TEST

START_TEST(reads_standard_input) {
  enter_folder();
  char want[ROOM];
  memcpy(want, must_work("show " PROGRAM)->out, ROOM);
  outcome *o = fnz_with("show -", PROGRAM, ".out", environ);
  ck_assert_int_eq(o->code, 0);
  ck_assert_str_eq(o->out, want);
  o = fnz_with("show -", "/dev/null", ".out", environ);
  ck_assert_int_eq(o->code, 2);
  has(o->err, "fnz: ");
}
END_TEST

START_TEST(takes_the_format_from_the_extension) {
  enter_folder();
  must_work("convert " PROGRAM " -o a.cbor");
  must_work("convert " PROGRAM " -o a.fnz");
  must_work("convert " PROGRAM " -o a.dot");
  must_work("convert " PROGRAM " -o a.bin --to=cbor");
  char a[ROOM], b[ROOM];
  slurp("a.cbor", a);
  slurp("a.bin", b);
  ck_assert_mem_eq(a, b, 16);
  slurp("a.dot", a);
  has(a, "digraph");
  must_fail("convert " PROGRAM " -o a.xyz", 64, "fnz: ARGUMENT: convert: the extension of a.xyz");
  must_work("convert " PROGRAM " -o a.json --to json");
  must_fail("convert " PROGRAM " -o b.pt2 --to cbor", 64,
            "fnz: ARGUMENT: convert: --to cbor contradicts the extension of b.pt2; leave --to out");
}
END_TEST

static void same_files(const char *a, const char *b) {
  fnz_context *ctx;
  fnz_buffer x, y;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnz_file_read(ctx, a, &x));
  OK(ctx, fnz_file_read(ctx, b, &y));
  ck_assert_uint_eq(x.size, y.size);
  ck_assert_mem_eq(x.data, y.data, x.size);
  fnz_buffer_free(ctx, &x);
  fnz_buffer_free(ctx, &y);
  fnz_context_destroy(ctx);
}

/* What the archive says beside the program is kept, so a second conversion changes nothing. */
START_TEST(writes_archives) {
  enter_folder();
  const char *source = FNZ_SOURCE_DIR "/fixtures/pt2/batchnorm_train.pt2";
  char words[1024];
  snprintf(words, sizeof words, "convert %s -o a.pt2", source);
  must_work(words);
  must_work("convert a.pt2 -o b.pt2");
  same_files("a.pt2", "b.pt2");
  snprintf(words, sizeof words, "verify %s a.pt2", source);
  has(must_work(words)->out, "equal");
  snprintf(words, sizeof words, "convert %s --to json", source);
  has(must_work(words)->out, "{\"graph_module\": {\"graph\": {\"inputs\": [{\"as_tensor\": ");
  snprintf(words, sizeof words, "convert %s -o a.json", source);
  must_work(words);
  must_work("show a.json");
  must_work("convert " PROGRAM " -o c.pt2");
  must_work("verify " PROGRAM " c.pt2");
}
END_TEST

/* torch.export calls a tensor constant that no module has registered, also where it is written. */
START_TEST(written_constants_are_state) {
  enter_folder();
  const char *source = FNZ_SOURCE_DIR "/fixtures/pt2/written_constant.pt2";
  char words[1024], listed[ROOM];
  snprintf(words, sizeof words, "run %s --inputs " FIXTURES "x.safetensors", source);
  strcpy(listed, must_work(words)->out);
  has(listed, "buffer.c");
  ck_assert_ptr_null(strstr(listed, "buffer.d"));
  strcat(words, " --original");
  ck_assert_str_eq(must_work(words)->out, listed);
  snprintf(words, sizeof words, "convert %s -o c.pt2", source);
  must_work(words);
  has(must_work("show c.pt2")->out, "%c_c: f32[4] buffer \"c\",");
  snprintf(words, sizeof words, "verify %s c.pt2", source);
  has(must_work(words)->out, "equal");
}
END_TEST

/* A write that changes the sizes of an input has no place in such a file. */
START_TEST(leaves_no_archive_behind) {
  enter_folder();
  spill("t.fnz", "fnz 1\nprogram(\n  %x: f32[2,3])\n{\n"
                 "  %y: f32[3,2] stride(1,3) = t_(%x)\n  return %y\n}\n");
  must_fail("convert t.fnz -o t.pt2", 2, "fnz: UNSUPPORTED: ");
  ck_assert(!exists("t.pt2"));
}
END_TEST

START_TEST(cbor_and_text_say_the_same) {
  enter_folder();
  must_work("convert " PROGRAM " -o a.cbor");
  must_work("convert " PROGRAM " -o a.fnz");
  char text[ROOM];
  slurp("a.fnz", text);
  ck_assert_str_eq(must_work("show a.cbor")->out, text);
  ck_assert_str_eq(must_work("show a.fnz")->out, text);
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

START_TEST(figures_have_all_their_names) {
  enter_folder();
  static const char *const names[] = {
      "\"nodes_in\": 2",  "\"nodes_out\": ",  "\"views_in\": 1",       "\"mutations_in\": 1",
      "\"views_out\": 0", "\"copies\": ",     "\"mutations_out\": 0",  "\"read_ms\": ",
      "\"write_ms\": ",   "\"peak_bytes\": ", "\"functionalize_ms\": "};
  outcome *o = must_work("stats --json " PROGRAM);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    has(o->out, names[i]);
  o = must_work("convert --json " PROGRAM " -o a.cbor");
  has(o->out, "\"nodes_in\": 2");
  has(must_work("stats " PROGRAM)->out, "2 operators, 1 views, 1 writes");
  must_fail("convert --json " PROGRAM, 64, "fnz: ARGUMENT: convert: --json and the program");
}
END_TEST

START_TEST(figures_name_what_no_rule_tells) {
  static const char text[] =
      "fnz 1\noperator \"my::f(Tensor x) -> Tensor\"\nprogram(%x: f32[2])\n{\n"
      "%a: f32[7] = my::f(%x)\n%b: f32[7] = my::f(%a)\n%c: f32[7] = neg(%b)\n"
      "return %c\n}\n";
  enter_folder();
  FILE *to = fopen("unruled.fnz", "w");
  ck_assert(to && fputs(text, to) >= 0 && fclose(to) == 0);
  has(must_work("stats --json unruled.fnz")->out, "\"unruled\": {\"my::f\": 2},");
  has(must_work("stats unruled.fnz")->out,
      "taken at its word, for want of a shape rule: my::f 2\n");
  has(must_work("stats --json " PROGRAM)->out, "\"unruled\": {},");
}
END_TEST

START_TEST(figures_of_a_functional_program_agree) {
  enter_folder();
  must_work("convert " PROGRAM " -o a.cbor");
  outcome *o = must_work("stats --json a.cbor");
  const char *in = strstr(o->out, "\"nodes_in\": "), *out = strstr(o->out, "\"nodes_out\": ");
  ck_assert(in && out);
  ck_assert_int_eq(atoi(in + 12), atoi(out + 13));
  has(o->out, "\"mutations_in\": 0");
}
END_TEST

START_TEST(verifies) {
  enter_folder();
  has(must_work("verify " PROGRAM)->out, "equal for all values of these shapes");
  must_work("convert " PROGRAM " -o a.cbor");
  must_work("verify " PROGRAM " a.cbor --trials 5");
  ck_assert_str_eq(must_work("verify --quiet " PROGRAM)->out, "");
  has(must_work("verify " PROGRAM " --inputs " FIXTURES "x.safetensors")->out,
      "2 seeds; and on these inputs)");
  spill("poisson.fnz", "fnz 1\nprogram(%x: f32[4]) {\n%r: f32[4] = poisson(%x)\n"
                       "%y: f32[4] = add_.Tensor(%x, %r)\nreturn %y\n}\n");
  has(must_work("verify poisson.fnz --inputs " FIXTURES "x.safetensors")->out,
      "2 seeds; not on these inputs: no CPU kernel for poisson)");
  spill("sizes.fnz", "fnz 1\nprogram(%x: f32[4]) {\n_assert_tensor_metadata(%x, dtype=f32)\n"
                     "%y: f32[4] = add_.Scalar(%x, 1)\nreturn %y\n}\n");
  has(must_work("verify sizes.fnz --inputs " FIXTURES "x.safetensors")->out,
      "2 seeds; and on these inputs)");
}
END_TEST

START_TEST(draws_by_a_seed) {
  enter_folder();
  spill("draws.fnz", "fnz 1\nprogram(%x: f32[4]) {\n%r: f32[4] = rand_like(%x)\n"
                     "%y: f32[4] = add_.Tensor(%x, %r)\nreturn %y\n}\n");
  has(must_work("verify draws.fnz --inputs " FIXTURES "x.safetensors --seed 3 --engine")->out,
      "2 seeds; and on these inputs)");
  must_work("run draws.fnz --inputs " FIXTURES "x.safetensors --seed 18446744073709551615");
  must_fail("run draws.fnz --inputs " FIXTURES "x.safetensors --seed 18446744073709551616", 64,
            "fnz: ARGUMENT: run: --seed takes a number from 0 to 2^64 - 1");
  must_fail("run draws.fnz --inputs " FIXTURES "x.safetensors --seed -1", 64,
            "fnz: ARGUMENT: run: --seed takes a number from 0 to 2^64 - 1");
}
END_TEST

START_TEST(finds_a_difference) {
  enter_folder();
  must_work("convert " OTHER " -o b.cbor");
  must_fail("verify " PROGRAM " b.cbor", 1, "fnz: DIFFERENT: ");
}
END_TEST

#define BOUNDARY FNZ_SOURCE_DIR "/fixtures/boundary/"

START_TEST(takes_aliases_of_inputs) {
  enter_folder();
  const char *overlap = "--alias q=p.as_strided((2,),(1,),1) ";
  char words[512];
  snprintf(words, sizeof words, "convert " BOUNDARY "alias_overlap.fnz %s-o a.cbor --verify",
           overlap);
  must_work(words);
  snprintf(words, sizeof words, "verify " BOUNDARY "alias_overlap.fnz a.cbor %s", overlap);
  must_work(words);
  snprintf(words, sizeof words, "show " BOUNDARY "alias_overlap.fnz %s--functional", overlap);
  has(must_work(words)->out, "%memory: f32[3] memory shares %p)");
  has(must_work("show a.cbor")->out, "%memory: f32[3] memory shares %p)");
  must_fail("verify " BOUNDARY "alias_overlap.fnz a.cbor", 1, "fnz: DIFFERENT: ");
  must_fail("convert " PROGRAM " --alias x", 2, "fnz: SYNTAX: " PROGRAM ": alias, column 2: ");
  must_fail("convert " PROGRAM " --deny slice_scatter", 2,
            "fnz: UNSUPPORTED: " PROGRAM ": node 1 (add_.Scalar at model.py:4): ");
  must_fail("convert " PROGRAM " --deny slice_scater", 2,
            "fnz: REF: " PROGRAM ": deny: there is no operator \"slice_scater\"; did you mean ");
  must_fail("convert " PROGRAM " --deny add.Tensor,,mul", 64,
            "fnz: ARGUMENT: convert: --deny has an empty name");
  must_fail("convert " PROGRAM " --deny=", 64, "fnz: ARGUMENT: convert: --deny has an empty name");
  must_fail("run " BOUNDARY "run_alias_disagrees.fnz --alias v=b[1:] --inputs " BOUNDARY
            "disagree.safetensors",
            2, "fnz: OVERLAP: ");
  has(must_work("convert " PROGRAM " --state epilogue")->out, "copy_(%x, %slice_scatter)");
  must_work("convert " PROGRAM " --state epilogue -o e.cbor --verify");
  must_work("run e.cbor --inputs " FIXTURES "x.safetensors --outputs e.safetensors");
  must_work("run " PROGRAM " --inputs " FIXTURES "x.safetensors --outputs o.safetensors");
  same_files("e.safetensors", "o.safetensors");
}
END_TEST

START_TEST(says_where_programs_part) {
  enter_folder();
  must_work("convert " PROGRAM " -o a.cbor");
  must_work("convert a.cbor -o b.fnz");
  ck_assert_str_eq(must_work("diff a.cbor b.fnz")->out, "the same, but for names and order\n");
  ck_assert_str_eq(must_work("diff a.cbor b.fnz --quiet")->out, "");
  has(must_work("diff a.cbor b.fnz --json")->out, "\"same\": true");
  outcome *o = fnz("diff " PROGRAM " " OTHER);
  ck_assert_int_eq(o->code, 1);
  has(o->out, "different: output 0\n");
  has(o->out, "at model.py:3");
  ck_assert_str_eq(o->err, "");
  must_fail("diff - -", 64, "fnz: ARGUMENT: diff: the two programs cannot both");
  must_fail("diff a.cbor", 64, "fnz: ARGUMENT: diff: it needs A B");
  must_fail("diff a.cbor nowhere", 3, "fnz: IO: nowhere: ");
}
END_TEST

START_TEST(explains_nodes) {
  enter_folder();
  const char *all = must_work("explain " PROGRAM)->out;
  has(all, "2 of 3 operators only move elements:\n       1 put writes back\n       1 read views\n");
  has(all, "\n  the write   %a = add_.Scalar(%s, 1)");
  has(all, "\n  needed by   output 0, input_mutation of x\n");
  const char *one = must_work("explain " PROGRAM " a")->out;
  has(one, "in the program as read:\n");
  has(one, "\n  computed    %add = add.Scalar(%slice_copy, 1)");
  has(must_work("explain " PROGRAM " %slice_scatter")->out, "in the functional form:\n");
  must_fail("explain " PROGRAM " nobody", 64, "fnz: ARGUMENT: explain: no result is called");
}
END_TEST

static const char refused[] =
    "fnz 1 program(%x: f32[4]) { %e: f32[2,4] stride(0,1) = expand(%x, [2, 4]) at \"my net.py:1\" "
    "%r: f32[2,4] stride(0,1) = mul_.Scalar(%e, 2) at \"my net.py:2\" return %r }";

START_TEST(lists_findings) {
  enter_folder();
  spill("bad.fnz", refused);
  spill("good.fnz", "fnz 1 program(%x: f32[4]) { %n: f32[4] = neg(%x) return %n }");
  ck_assert_str_eq(must_work("lint good.fnz")->out, "nothing to say\n");
  ck_assert_str_eq(must_work("lint good.fnz --quiet")->out, "");
  ck_assert_str_eq(must_work("lint good.fnz --json")->out, "[]\n");
  outcome *o = fnz("lint bad.fnz");
  ck_assert_int_eq(o->code, 1);
  ck_assert_int_eq(strncmp(o->out, "my net.py:2: refused, OVERLAP: mul_.Scalar", 42), 0);
  has(o->out, "\n1 found, 1 of them refused\n");
  must_fail("lint bad.fnz --json --sarif", 64, "fnz: ARGUMENT: lint: --json and --sarif");
  must_fail("lint nowhere", 3, "fnz: IO: nowhere: ");
}
END_TEST

static const fnzi_json *json_at(const fnzi_json *object, const char *key) {
  ck_assert_ptr_nonnull(object);
  const fnzi_json *member = fnzi_json_find(object, key);
  ck_assert_msg(member != NULL, "there is no %s", key);
  return member;
}

/* What the SARIF 2.1.0 schema requires: version and runs; a driver with a name; rules with an id;
 * results with a message that has a text; and references between them that hold. */
static void check_sarif(const fnzi_json *root, size_t results) {
  ck_assert_str_eq(json_at(root, "version")->u.s, "2.1.0");
  const fnzi_json *run = json_at(root, "runs")->u.first;
  const fnzi_json *driver = json_at(json_at(run, "tool"), "driver");
  ck_assert_str_eq(json_at(driver, "name")->u.s, "fnz");
  const fnzi_json *rules = json_at(driver, "rules"), *list = json_at(run, "results");
  for (const fnzi_json *r = rules->u.first; r; r = r->next)
    ck_assert(*json_at(r, "id")->u.s && *json_at(json_at(r, "shortDescription"), "text")->u.s);
  ck_assert_uint_eq(list->count, results);
  for (const fnzi_json *r = list->u.first; r; r = r->next) {
    const fnzi_json *rule = rules->u.first;
    for (int64_t k = json_at(r, "ruleIndex")->u.i; k > 0; k--)
      rule = rule->next;
    ck_assert_str_eq(json_at(rule, "id")->u.s, json_at(r, "ruleId")->u.s);
    ck_assert(*json_at(json_at(r, "message"), "text")->u.s);
    const fnzi_json *place = json_at(json_at(r, "locations")->u.first, "physicalLocation");
    ck_assert_str_eq(json_at(json_at(place, "artifactLocation"), "uri")->u.s, "my%20net.py");
    ck_assert_int_eq(json_at(json_at(place, "region"), "startLine")->u.i, 2);
  }
}

START_TEST(explains_in_json) {
  enter_folder();
  fnz_context *ctx;
  fnzi_arena arena;
  fnzi_json_doc doc;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnzi_arena_init(&arena, ctx);
  const char *text = must_work("explain " PROGRAM " --json")->out;
  OK(ctx, fnzi_json_parse(&arena, "all", text, strlen(text), &doc));
  const fnzi_json *nodes = json_at(doc.root, "nodes"), *last = nodes->u.first->next->next;
  ck_assert_uint_eq(nodes->count, 3);
  ck_assert_uint_eq(json_at(doc.root, "guards")->count, 0);
  ck_assert_str_eq(json_at(last, "operator")->u.s, "slice_scatter");
  ck_assert_str_eq(json_at(last, "reason")->u.s, "write_back");
  ck_assert_int_eq(json_at(last, "needed_by_output")->u.i, 0);
  ck_assert_str_eq(json_at(json_at(last, "from"), "result")->u.s, "a");
  ck_assert_str_eq(json_at(json_at(last, "through"), "operator")->u.s, "slice.Tensor");
  ck_assert_int_eq(json_at(json_at(last, "through"), "source_line")->u.i, 3);
  text = must_work("explain " PROGRAM " slice_scatter --json")->out;
  OK(ctx, fnzi_json_parse(&arena, "one", text, strlen(text), &doc));
  ck_assert_uint_eq(json_at(doc.root, "nodes")->count, 1);
  spill("two.fnz", "fnz 1 program(%x: f32[4], %y: f32[4]) { %a: f32[4] = add_.Tensor(%x, %y) "
                   "return %a }");
  text = must_work("explain two.fnz --json")->out;
  OK(ctx, fnzi_json_parse(&arena, "two", text, strlen(text), &doc));
  ck_assert_uint_eq(json_at(json_at(doc.root, "guards")->u.first, "disjoint")->count, 2);
  must_fail("explain " PROGRAM " nobody --json", 64, "fnz: ARGUMENT: explain: no result is called");
  fnzi_arena_free(&arena);
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(findings_are_json_and_sarif) {
  enter_folder();
  spill("bad.fnz", refused);
  fnz_context *ctx;
  fnzi_arena arena;
  fnzi_json_doc doc;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnzi_arena_init(&arena, ctx);
  const char *text = fnz("lint bad.fnz --sarif")->out;
  OK(ctx, fnzi_json_parse(&arena, "sarif", text, strlen(text), &doc));
  check_sarif(doc.root, 1);
  text = fnz("lint bad.fnz --json")->out;
  OK(ctx, fnzi_json_parse(&arena, "json", text, strlen(text), &doc));
  ck_assert_uint_eq(doc.root->count, 1);
  ck_assert_str_eq(json_at(doc.root->u.first, "class")->u.s, "OVERLAP");
  ck_assert_str_eq(json_at(doc.root->u.first, "source_file")->u.s, "my net.py");
  fnzi_arena_free(&arena);
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(runs_and_lists_both_forms_alike) {
  enter_folder();
  must_work("run " PROGRAM " --inputs " FIXTURES "x.safetensors --outputs a.safetensors");
  must_work("run " PROGRAM " --inputs " FIXTURES
            "x.safetensors --original --outputs b.safetensors --threads 2 --device cpu");
  ck_assert(exists("a.safetensors") && exists("b.safetensors"));
  static const char *const calls[] = {"run " PROGRAM " --inputs " FIXTURES "x.safetensors",
                                      "run --original " PROGRAM " --inputs " FIXTURES
                                      "x.safetensors"};
  for (size_t i = 0; i < 2; i++) {
    outcome *o = must_work(calls[i]);
    has(o->out, "output.0         f32[4]  0, 2, 3, 3\n");
    has(o->out, "input.x          f32[4]  0, 2, 3, 3\n");
  }
}
END_TEST

START_TEST(draws) {
  enter_folder();
  must_work("draw " PROGRAM " -o a.dot");
  must_work("draw " PROGRAM " --functional -o a.svg");
  char text[ROOM];
  slurp("a.svg", text);
  has(text, "<svg");
  must_fail("draw " PROGRAM " -o a.png", 64, "fnz: ARGUMENT: draw: a picture goes to");
}
END_TEST

START_TEST(says_that_graphviz_is_missing) {
  enter_folder();
  char path[] = "PATH=/nowhere", *env[] = {path, NULL};
  outcome *o = fnz_with("draw " PROGRAM " -o a.svg", "/dev/null", ".out", env);
  ck_assert_int_eq(o->code, 3);
  has(o->err, "fnz: IO: dot: Graphviz is not installed");
  ck_assert(!exists("a.svg"));
}
END_TEST

START_TEST(knows_operators) {
  enter_folder();
  outcome *o = must_work("ops add_.Tensor");
  has(o->out, "kind        inplace, writes\n");
  has(o->out, "functional   add.Tensor\n");
  has(o->out, "becomes add.Tensor\n");
  has(o->out, "example     add_.Tensor(%self, %other)\n");
  has(must_work("ops --json aten::select.int")->out, "\"view\": true");
  has(must_work("ops")->out, "functional add.Tensor\n");
  must_fail("ops no_such_operator", 2,
            "fnz: REF: no_such_operator: there is no operator of that name; fnz ops lists all\n");
}
END_TEST

START_TEST(guesses_which_operator_was_meant) {
  enter_folder();
  must_fail("ops add_.Tensr", 2,
            "fnz: REF: add_.Tensr: there is no operator of that name; did you mean add_.Tensor");
  must_fail("ops slect.int", 2,
            "fnz: REF: slect.int: there is no operator of that name; did you mean select.int?\n");
  ck_assert_str_eq(must_work("ops unbind")->out, "functional unbind.int\n");
}
END_TEST

/* Each filter keeps what it says, and they combine. */
START_TEST(filters_operators) {
  static const struct {
    const char *words, *has, *lacks;
  } rows[] = {
      {"ops --kind inplace", " add_.Tensor\n", "functional"},
      {"ops add*", " addmm.out\n", " sub.Tensor\n"},
      {"ops add* --kind out", " add.out\n", " add.Tensor\n"},
      {"ops --tag core --view", " select.int\n", " add.Tensor\n"},
      {"ops add --no-view", " add.Tensor\n", " addmm\n"},
      {"ops --refused", " pin_memory: whether it copies depends on devices", " add.Tensor"},
      {"ops --view --composite implicit", " reshape\n", " view\n"},
      {"ops add* --kernel cpu", " add_.Tensor\n", " _add_batch_dim\n"},
      {"ops linalg_* --no-kernel meta", " linalg_eig\n", " add.Tensor\n"},
      {"ops aten::add", " add.Tensor\n", " add_.Tensor\n"},
      {"ops aten::add* --kind out", " addmm.out\n", " addmm\n"},
      {"ops add.Tensor --kernel cpu", "functional add.Tensor\n", "Scalar"},
  };
  enter_folder();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    outcome *o = must_work(rows[i].words);
    has(o->out, rows[i].has);
    ck_assert_msg(!strstr(o->out, rows[i].lacks), "%s gave %s", rows[i].words, rows[i].lacks);
  }
  ck_assert_str_eq(must_work("ops add* --view")->out, "");
  ck_assert_str_eq(must_work("ops add* --view --json")->out, "[]\n");
  must_fail("ops --kernel tpu", 64, "fnz: ARGUMENT: ops: --kernel takes one of cpu, meta");
  must_fail("ops --kernel cpu:1", 64, "fnz: ARGUMENT: ops: --kernel takes one of cpu, meta");
  must_fail("ops --tag coer", 64, "fnz: ARGUMENT: ops: no operator has the tag coer;");
  must_fail("ops --view --no-view", 64, "fnz: ARGUMENT: ops: --view and --no-view leave none");
  has(fnz("ops add --verbose")->err, "4 operators: 2 functional, 0 views, 2 that write\n");
}
END_TEST

/* As many objects as lines, each with the same keys. */
START_TEST(says_that_no_operator_matches) {
  enter_folder();
  must_fail("ops zzz*", 1, "fnz: REF: zzz*: no operator matches");
  outcome *o = fnz("ops zzz* --json");
  ck_assert_int_eq(o->code, 1);
  ck_assert_str_eq(o->out, "[]\n");
}
END_TEST

START_TEST(describes_operators_as_json) {
  static const char *const keys[] = {
      "name",       "schema",    "kind",  "functional", "canonical",  "view",    "writes",
      "cpu_kernel", "composite", "tags",  "promotion",  "parameters", "returns", "group",
      "rule",       "kernels",   "model", "dispatch",   "example"};
  fnz_context *ctx;
  fnzi_arena arena;
  fnzi_json_doc doc;
  enter_folder();
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnzi_arena_init(&arena, ctx);
  outcome *o = must_work("ops select* --json");
  OK(ctx, fnzi_json_parse(&arena, "ops", o->out, strlen(o->out), &doc));
  ck_assert_int_eq(doc.root->kind, FNZI_JSON_ARRAY);
  ck_assert_uint_gt(doc.root->count, 5);
  for (const fnzi_json *op = doc.root->u.first; op; op = op->next) {
    size_t count = 0;
    for (const fnzi_json *member = op->u.first; member; member = member->next, count++) {
      ck_assert_uint_lt(count, sizeof keys / sizeof *keys);
      ck_assert_str_eq(member->key, keys[count]);
    }
    ck_assert_uint_eq(count, sizeof keys / sizeof *keys);
  }
  fnzi_arena_free(&arena);
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(imports_operators) {
  enter_folder();
  static const char import[] = "ops --import " NATIVE "functions.yaml --tags " NATIVE "tags.yaml";
  char words[512], text[ROOM], want[ROOM];
  has(must_work(import)->out, "entries in the file                                15\n");
  snprintf(words, sizeof words, "%s --json", import);
  has(must_work(words)->out, "{\"entries\": 15, \"functional\": 9, ");
  snprintf(words, sizeof words, "%s --to tsv -o table.tsv", import);
  ck_assert_str_eq(must_work(words)->out, "");
  slurp("table.tsv", text);
  slurp(NATIVE "table.tsv", want);
  ck_assert_str_eq(text, want);
  snprintf(words, sizeof words, "%s --to tsv", import);
  ck_assert_str_eq(must_work(words)->out, want);
  must_fail("ops --import a.yaml", 64, "fnz: ARGUMENT: ops: --import needs --tags FILE");
  must_fail("ops --to tsv", 64, "fnz: ARGUMENT: ops: --tags, --to and -o go with --import");
  must_fail("ops --import a --tags b --to cbor", 64, "fnz: ARGUMENT: ops: --to takes tsv, not");
  must_fail("ops --import a --tags b --kind out", 64, "fnz: ARGUMENT: ops: --import takes all");
  must_fail("ops add --import a --tags b", 64, "fnz: ARGUMENT: ops: --import takes no operator");
  must_fail("ops --import - --tags -", 64, "fnz: ARGUMENT: ops: only one of the two files");
  must_fail("convert a --to tsv", 64, "fnz: ARGUMENT: convert: --to takes one of pt2, json, cbor");
  must_fail("ops --import a.yaml --tags " NATIVE "tags.yaml", 3, "fnz: IO: a.yaml: ");
  spill("a.yaml", "- func: f(Tensor self) -> Tensor\n  varaints: method\n");
  must_fail("ops --import a.yaml --tags " NATIVE "tags.yaml -o x.tsv", 2,
            "fnz: REF: a.yaml:2: rule key_known: ");
  ck_assert(!exists("x.tsv"));
}
END_TEST

/* Declared operators and their functional forms are found as those of the table are. */
START_TEST(lists_custom_operators) {
  static const char none[] = "there is no operator of that name; did you mean mine::scale";
  enter_folder();
  spill("ops.txt", "mine::scale(Tensor x, str how=\"#\") -> Tensor  # new\n"
                   "mine::scale_(Tensor(a!) x, str how=\"#\") -> Tensor(a!)\n"
                   "mine::log.two(Tensor(a!) x) -> ()\n");
  ck_assert_str_eq(must_work("ops mine::* --ops ops.txt")->out,
                   "functional mine::scale\ninplace    mine::scale_\n"
                   "functional mine::log_functional.two\nmutable    mine::log.two\n");
  ck_assert_str_eq(must_work("ops --ops ops.txt --kind mutable mine::log")->out,
                   "mutable    mine::log.two\n");
  has(must_work("ops --ops ops.txt --kind inplace")->out, " mine::scale_\n");
  has(must_work("ops --ops ops.txt mine::scale")->out, "group       inplace      mine::scale_\n");
  has(fnz("ops mine::scal --ops ops.txt")->err, none);
  must_fail("ops --ops ops.txt --import a --tags b", 64, "fnz: ARGUMENT: ops: --import takes all");
}
END_TEST

/* What a message quotes cannot end its line. */
START_TEST(failures_are_one_line) {
  enter_folder();
  must_fail("ops a\nb\033c", 2, "fnz: REF: a?b?c: there is no operator of that name");
  must_fail("show a\nb", 3, "fnz: IO: a?b: ");
  must_fail("convert a --frob\n", 64, "fnz: ARGUMENT: convert: there is no option --frob?; see");
}
END_TEST

START_TEST(takes_custom_operators) {
  static const char direct[] = CUSTOM "direct.pt2", ops[] = " --ops " CUSTOM "ops.txt";
  char words[1024];
  enter_folder();
  snprintf(words, sizeof words, "verify %s", direct);
  must_fail(words, 2, "fnz: UNSUPPORTED: " CUSTOM "direct.pt2: ");
  snprintf(words, sizeof words, "verify %s " CUSTOM "wrapped_v2.pt2%s", direct, ops);
  has(must_work(words)->out, "equal for all values");
  snprintf(words, sizeof words, "convert %s%s -o out.cbor --verify", direct, ops);
  must_work(words);
  has(must_work("show out.cbor")->out, "= fixture::scale_rows_functional(");
  snprintf(words, sizeof words, "ops fixture::swap%s", ops);
  has(must_work(words)->out, "fixture::swap_functional");
  snprintf(words, sizeof words, "run %s%s --inputs " CUSTOM "inputs.safetensors --check-schemas",
           direct, ops);
  must_fail(words, 2, "fnz: UNSUPPORTED: ");
  spill("bad.txt", "# one\nns::f(Tensr x) -> ()\n");
  must_fail("show " PROGRAM " --ops bad.txt", 2, "fnz: SYNTAX: bad.txt:2: schema column 7: ");
  must_fail("show " PROGRAM " --ops none.txt", 3, "fnz: IO: none.txt: ");
  must_work("run " PROGRAM " --inputs " FIXTURES "x.safetensors --check-schemas");
}
END_TEST

/* By seed and index, in all runs. */
START_TEST(draws_random_programs) {
  enter_folder();
  char one[8000];
  snprintf(one, sizeof one, "%s", must_work("fuzz --seed 5 --count 200")->out);
  has(one, "drawn\n         200  programs\n");
  has(one, "         100  the same in dialect keep\n");
  has(one, "         125  the same in dialect strided\n");
  has(one, "          25  text, memory of outputs, epilogue\n");
  has(one, "           0  wrong\n");
  ck_assert_str_eq(must_work("fuzz --seed 5 --count 200 --jobs 3")->out, one);
  ck_assert_str_ne(must_work("fuzz --seed 6 --count 200")->out, one);
  ck_assert_str_eq(must_work("fuzz --first 7 --count 20 --quiet")->out, "");
  has(must_work("fuzz --count 30 --against keep")->out, "          30  the same in dialect keep\n");
  has(must_work("fuzz --count 30 --against cpu")->out, "           0  the same in dialect keep\n");
  has(must_work("fuzz --count 30 --symbolic")->out, "          30  programs of unknown sizes\n");
  has(must_work("fuzz --count 30 --symbolic --against strided")->out,
      "           0  the same in dialect keep\n          30  the same in dialect strided\n");
  has(must_work("fuzz --count 30 --regions")->out, "          30  programs with bodies\n");
  must_fail("fuzz --symbolic --regions", 64, "fnz: ARGUMENT: fuzz: --symbolic and --regions are");
  must_fail("fuzz --symbolic --against engine", 64,
            "fnz: ARGUMENT: fuzz: programs of unknown sizes are not run by the engine");
  must_fail("fuzz --against gpu", 64,
            "fnz: ARGUMENT: fuzz: --against takes one of keep, strided, engine, cpu");
  must_fail("fuzz --count 0", 64, "fnz: ARGUMENT: fuzz: --count takes a number");
  must_fail("fuzz x", 64, "fnz: ARGUMENT: fuzz: x is one operand too many");
}
END_TEST

START_TEST(plans_what_is_taken_apart) {
  enter_folder();
  spill("silu.fnz", "fnz 1 program(%x: f32[4]) { %y: f32[4] = silu(%x) return %y }");
  has(must_work("explain silu.fnz --plan")->out, "call    silu -> %silu in output 0");
  has(must_work("explain silu.fnz --plan --decompose core")->out, "sigmoid, mul.Tensor -> ");
  spill("grows.fnz", "fnz 1 symbol s0 = 6 program(%x: f32[{s0}]) { %y: f32[{s0}] = silu(%x) "
                     "return %y }");
  has(must_work("explain grows.fnz --plan")->out, "at sizes with s0 = 6\n");
  must_fail("explain silu.fnz --inputs silu.fnz", 64,
            "fnz: ARGUMENT: explain: --inputs is of a plan, which is told for their sizes: add "
            "--plan");
  must_fail("explain silu.fnz --decompose cores", 64,
            "fnz: ARGUMENT: explain: --decompose: cores is neither a set nor an operator; did you "
            "mean core?");
}
END_TEST

RUN_SUITE("cli", tells_its_version, helps_with_examples, refuses_bad_usage,
          says_which_file_is_missing, refuses_files_that_are_no_programs,
          says_what_stands_where_inputs_should, goes_on_from_the_state_that_a_run_wrote,
          says_which_weights_differ, says_what_stands_where_a_program_should,
          reads_no_more_of_a_foreign_file_than_its_beginning,
          ends_in_silence_when_its_reader_goes_away, says_what_may_have_been_meant,
          leaves_what_was_there_when_it_fails, cannot_write_where_there_is_no_folder,
          writes_over_nothing_that_it_reads, notices_a_full_disk, converts_to_standard_output,
          reads_standard_input, takes_the_format_from_the_extension, writes_archives,
          written_constants_are_state, leaves_no_archive_behind, cbor_and_text_say_the_same,
          operands_may_begin_with_a_dash, summary_only_when_asked_for, figures_have_all_their_names,
          figures_name_what_no_rule_tells, figures_of_a_functional_program_agree, verifies,
          draws_by_a_seed, finds_a_difference, takes_aliases_of_inputs, says_where_programs_part,
          explains_nodes, plans_what_is_taken_apart, explains_in_json, lists_findings,
          findings_are_json_and_sarif, runs_and_lists_both_forms_alike, draws,
          says_that_graphviz_is_missing, knows_operators, guesses_which_operator_was_meant,
          filters_operators, says_that_no_operator_matches, describes_operators_as_json,
          imports_operators, takes_custom_operators, lists_custom_operators, failures_are_one_line,
          draws_random_programs)
