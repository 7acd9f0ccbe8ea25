/* cli_files.c - what the command reads and writes: which files, in which formats, and that no
 * output is left behind when something failed. */
#include "tests/cli/cli.h"

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

/* The beginning of PyTorch 2.15's state after the second step. */
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
  must_fail("run - --inputs -", 64,
            "fnz: ARGUMENT: run: two files cannot both come from standard input");
  must_fail("run - --state -", 64,
            "fnz: ARGUMENT: run: two files cannot both come from standard input");
  ck_assert_int_eq(link("state.safetensors", "again.safetensors"), 0);
  must_fail("run " PT2 "kv_cache.pt2 --inputs state.safetensors --inputs ./again.safetensors", 64,
            "fnz: ARGUMENT: run: --inputs state.safetensors and --inputs ./again.safetensors are "
            "one file; name it once");
  must_fail("run " PT2 "kv_cache.pt2 --inputs state.safetensors --state again.safetensors", 64,
            "fnz: ARGUMENT: run: --inputs state.safetensors and --state again.safetensors are one");
}
END_TEST

static const char held[] = "fnz 1\nweight \"h\": f32[2]\nweight \"k\": f32[2]\nprogram(\n"
                           "%h: f32[2] buffer \"h\",\n%k: f32[2] buffer \"k\")\n{\n"
                           "%a: f32[2] = add_.Scalar(%h, 1)\n%b: f32[2] = mul_.Tensor(%k, %a)\n"
                           "%y: f32[2] = neg(%b)\nreturn %y\n}\n";

/* A safetensors file of two floats by each of the names. */
static void spill_floats(const char *path, const char *const *names, size_t count) {
  fnz_context *ctx;
  fnz_arrays *arrays;
  const int64_t sizes[1] = {2};
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnz_arrays_create(ctx, &arrays));
  for (size_t i = 0; i < count; i++) {
    void *data;
    OK(ctx, fnz_arrays_add(arrays, names[i], FNZ_F32, 1, sizes, &data));
    memcpy(data, (const float[]){1, 2}, 2 * sizeof(float));
  }
  OK(ctx, fnz_arrays_save(ctx, arrays, path));
  fnz_arrays_destroy(arrays);
  fnz_context_destroy(ctx);
}

static const char *const ways_to_run[] = {"", " --original", " --engine interpreter"};

/* Only a weight with the same elements can be another name of it. */
START_TEST(weights_are_declared_to_be_one) {
  must_fail("convert " FNZ_SOURCE_DIR "/fixtures/decode/llama.pt2 --to text "
            "--alias blocks.0.out.weight=embed.weight[:16]",
            2, "fnz: OVERLAP: ");
  must_fail("convert " PT2 "kv_cache.pt2 --to text --alias x=kc", 2, "fnz: UNSUPPORTED: ");
  must_fail("convert " PT2 "kv_cache.pt2 --to text --alias kc=nothing", 2, "fnz: REF: ");
  has(must_work("convert " PT2 "kv_cache.pt2 --to text --alias buffer.kc=vc")->out,
      "buffer \"vc\" persistent shares %");
}
END_TEST

START_TEST(verify_takes_each_alias_for_both_programs) {
  enter_folder();
  spill("two.fnz", "fnz 1\nprogram(%b: f32[4], %v: f32[3], %c: f32[4], %w: f32[3])\n{\n"
                   "  %a: f32[3] = add_.Scalar(%v, 1)\n  %d: f32[3] = add_.Scalar(%w, 2)\n"
                   "  %r: f32[4] = mul.Tensor(%b, %c)\n  return %r\n}\n");
  must_work("verify two.fnz two.fnz --alias v=b[1:] --alias w=c[1:]");
  must_work("convert two.fnz -o made.fnz --to text --alias v=b[1:] --alias w=c[1:]");
  must_work("verify two.fnz made.fnz --alias v=b[1:] --alias w=c[1:]");
}
END_TEST

START_TEST(a_name_of_the_state_is_given_once) {
  static const char *const both[] = {"h", "k", "buffer.h"}, *const none[] = {"h", "k", "x"};
  enter_folder();
  spill("held.fnz", held);
  spill_floats("both.safetensors", both, 3);
  spill_floats("none.safetensors", none, 3);
  spill_floats("h.safetensors", &both[2], 1);
  spill_floats("state.safetensors", both, 2);
  for (size_t i = 0; i < sizeof ways_to_run / sizeof *ways_to_run; i++) {
    char words[256];
    snprintf(words, sizeof words, "run held.fnz --state both.safetensors%s", ways_to_run[i]);
    must_fail(words, 2,
              "fnz: DUPLICATE: both.safetensors: buffer.h: this part of the state is given twice, "
              "as h and as buffer.h; leave one out");
    snprintf(words, sizeof words, "run held.fnz --state none.safetensors%s", ways_to_run[i]);
    must_fail(words, 2, "fnz: REF: none.safetensors: x: the state has nothing of this name");
    snprintf(words, sizeof words, "run held.fnz --state state.safetensors --inputs h.safetensors%s",
             ways_to_run[i]);
    must_fail(words, 2, "fnz: REF: held.fnz: buffer.h: the state has it");
  }
}
END_TEST

/* Neither of two results is lost, nor what is read; only a state goes on in its own file. */
START_TEST(a_file_is_written_once) {
  static const char *const names[] = {"h", "k"};
  enter_folder();
  spill("held.fnz", held);
  spill_floats("s.safetensors", names, 2);
  ck_assert_int_eq(symlink(".", "here"), 0);
  must_fail("run held.fnz --state s.safetensors --outputs f.safetensors --save-state "
            "./here/f.safetensors",
            64,
            "fnz: ARGUMENT: run: --outputs f.safetensors and --save-state ./here/f.safetensors are "
            "one file, which can hold only one of them");
  ck_assert(!exists("f.safetensors"));
  must_fail("run held.fnz --state s.safetensors --outputs - --save-state -", 64,
            "fnz: ARGUMENT: run: two files cannot both go to standard output");
  must_fail("run held.fnz --state s.safetensors --save-state -", 64,
            "fnz: ARGUMENT: run: the state and the list of results cannot both go to");
  must_fail("run held.fnz --state s.safetensors --outputs s.safetensors", 64,
            "fnz: ARGUMENT: run: --outputs s.safetensors is what is read from s.safetensors");
  must_fail("run held.fnz --inputs s.safetensors --save-state here/s.safetensors", 64,
            "fnz: ARGUMENT: run: --save-state here/s.safetensors is what is read from");
  must_fail("run held.fnz --save-state held.fnz", 64,
            "fnz: ARGUMENT: run: --save-state held.fnz is what is read from held.fnz");
  must_work("run held.fnz --state s.safetensors --save-state s.safetensors");
  has(must_work("run held.fnz --state s.safetensors")->out, "output.0         f32[2]  -6, -24");
}
END_TEST

/* The engine writes its state in place; the interpreters are given arrays, and give them anew. */
START_TEST(all_go_on_alike) {
  static const struct {
    const char *program, *inputs, *state;
  } rows[] = {{"held.fnz", "", " --state s.safetensors"},
              {PT2 "kv_cache.pt2", " --inputs " PT2 "kv_cache.step0.safetensors", ""},
              {"once.fnz", "", " --state s.safetensors"}};
  static const char *const names[] = {"buffer.h", "k"};
  enter_folder();
  spill("held.fnz", held);
  spill_floats("s.safetensors", names, 2);
  /* A branch that is not taken writes a buffer. */
  spill("once.fnz",
        "fnz 1\nweight \"h\": f32[2]\nweight \"k\": f32[2]\nprogram(\n"
        "%h: f32[2] buffer \"h\",\n%k: f32[2] buffer \"k\")\n{\n"
        "%a: f32[2] = add_.Scalar(%h, 1)\n%s: f32[] = sum(%a)\n%p: bool[] = lt.Scalar(%s, 0)\n"
        "%y: f32[2] = higher_order.cond(%p, @yes, @no, [%k])\nreturn %y\n}\n"
        "graph yes(%k: f32[2]) {\n%b: f32[2] = add_.Scalar(%k, 1)\n%c: f32[2] = neg(%b)\n"
        "return %c\n}\ngraph no(%k: f32[2]) {\n%c: f32[2] = neg(%k)\nreturn %c\n}\n");
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
    for (size_t i = 0; i < sizeof ways_to_run / sizeof *ways_to_run; i++) {
      char words[1024];
      snprintf(
          words, sizeof words,
          "run %s%s%s --steps 3 --outputs out%zu.safetensors --save-state end%zu.safetensors%s",
          rows[r].program, rows[r].inputs, rows[r].state, i, i, ways_to_run[i]);
      must_work(words);
      char out[64], end[64];
      snprintf(out, sizeof out, "out%zu.safetensors", i);
      snprintf(end, sizeof end, "end%zu.safetensors", i);
      same_files(out, "out0.safetensors");
      same_files(end, "end0.safetensors");
    }
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

/* Larger than memory: a file that is no program is refused by its beginning. */
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
                                      "view p.fnz -o q.fnz",
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

/* Readers of .pt2 and its model.json know plain views; other formats have none unless asked. */
START_TEST(archives_keep_views) {
  enter_folder();
  spill("v.fnz", "fnz 1 program(%x: f32[2,3]) { %t: f32[3,2] stride(1,3) = t(%x) "
                 "%m: f32[2,2] = mm(%x, %t) return %m }");
  must_work("convert v.fnz -o v.pt2");
  has(must_work("show v.pt2")->out, " = t(%x)");
  must_work("convert v.fnz -o v.json");
  has(must_work("show v.json")->out, " = t(%x)");
  must_work("convert v.fnz -o w.pt2 --views copy");
  has(must_work("show w.pt2")->out, " = t_copy(%x)");
  must_work("convert v.fnz -o v.cbor");
  has(must_work("show v.cbor")->out, " = t_copy(%x)");
  must_work("convert v.fnz -o c.pt2 --decompose core");
  has(must_work("show c.pt2")->out, " = permute(%x, [1, 0])");
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
  has(fnz(words)->err, "the constant \"c\" is written");
  strcat(words, " --quiet");
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

SUITE_PART(cli_files, says_which_file_is_missing, refuses_files_that_are_no_programs,
           says_what_stands_where_inputs_should, goes_on_from_the_state_that_a_run_wrote,
           weights_are_declared_to_be_one, verify_takes_each_alias_for_both_programs,
           a_name_of_the_state_is_given_once, a_file_is_written_once, all_go_on_alike,
           says_what_stands_where_a_program_should,
           reads_no_more_of_a_foreign_file_than_its_beginning, leaves_what_was_there_when_it_fails,
           cannot_write_where_there_is_no_folder, writes_over_nothing_that_it_reads,
           notices_a_full_disk, converts_to_standard_output, reads_standard_input,
           takes_the_format_from_the_extension, writes_archives, archives_keep_views,
           written_constants_are_state, leaves_no_archive_behind, cbor_and_text_say_the_same)
