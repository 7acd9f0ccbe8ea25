/* cli_operators.c - fnz ops, and operators that --ops declares. */
#include "program/formats/json.h"
#include "tests/cli/cli.h"

START_TEST(knows_operators) {
  enter_folder();
  outcome *o = must_work("ops add_.Tensor");
  has(o->out, "kind        inplace, writes\n");
  has(o->out, "functional   add.Tensor\n");
  has(o->out, "becomes add.Tensor\n");
  has(o->out, "example     add_.Tensor(%self, %other)\n");
  has(must_work("ops --json aten::select.int")->out, "\"view\": true");
  has(must_work("ops")->out, "functional add.Tensor\n");
  o = must_work("ops _c10d_functional::all_reduce_"); /* which no list has */
  has(o->out, "cpu, meta: computed into its argument");
  has(o->out, "cuda: by the CPU");
  must_fail("ops no_such_operator", 2,
            "fnz: REF: no_such_operator: there is no operator of that name; fnz ops lists all of "
            "the table\n");
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
  has(must_work("ops add* --view --json")->out, "\"operators\": []");
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
  has(o->out, "\"operators\": []");
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
  const fnzi_json *operators = fnzi_json_find(doc.root, "operators");
  ck_assert_uint_gt(operators->count, 5);
  for (const fnzi_json *op = operators->u.first; op; op = op->next) {
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
  has(must_work(words)->out, "\"entries\": 15,\n  \"functional\": 9,");
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
  must_fail("ops --import - --tags -", 64, "fnz: ARGUMENT: ops: two files cannot both come");
  must_fail("convert a --to tsv", 64, "fnz: ARGUMENT: convert: --to takes one of pt2, json, cbor");
  must_fail("ops --import a.yaml --tags " NATIVE "tags.yaml", 3, "fnz: IO: a.yaml: ");
  spill("a.yaml", "- func: f(Tensor self) -> Tensor\n  varaints: method\n");
  must_fail("ops --import a.yaml --tags " NATIVE "tags.yaml -o x.tsv", 2,
            "fnz: REF: a.yaml:2: rule key_known: ");
  ck_assert(!exists("x.tsv"));
}
END_TEST

/* Declared operators and their functional forms are found like operators of the table. */
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

SUITE_PART(cli_operators, knows_operators, guesses_which_operator_was_meant, filters_operators,
           says_that_no_operator_matches, describes_operators_as_json, imports_operators,
           takes_custom_operators, lists_custom_operators)
