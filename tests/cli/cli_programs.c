/* cli_programs.c - the command's reports on programs: figures, differences, findings, explanations,
 * plans. */
#include "program/formats/json.h"
#include "tests/cli/cli.h"

#include <fnz/engine.h>

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
      "recorded types not checked, because there is no shape rule: my::f 2\n");
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
  has(must_work("convert " PROGRAM " --state epilogue")->out, "copy_(%slice, %add)");
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
  must_fail("diff - -", 64, "fnz: ARGUMENT: diff: two files cannot both come");
  must_fail("diff a.cbor", 64, "fnz: ARGUMENT: diff: it needs A B");
  must_fail("diff a.cbor nowhere", 3, "fnz: IO: nowhere: ");
}
END_TEST

START_TEST(explains_nodes) {
  enter_folder();
  const char *run = must_work("explain " PROGRAM)->out;
  has(run, "a run copies 16 B in 1 copy; ");
  has(run, "\n16 B: one copy, model.py:4\n  node        %a = add_.Scalar(%s, 1)\n");
  const char *all = must_work("explain --text " PROGRAM)->out;
  has(all, "2 of 3 operators only move elements:\n       1 put writes back\n       1 read views\n");
  has(all, "\n  the write   %a = add_.Scalar(%s, 1)");
  has(all, "\n  needed by   output 0, input_mutation of x\n");
  const char *one = must_work("explain " PROGRAM " a")->out;
  has(one, "in the program as read:\n");
  has(one, "\n  computed    %add = add.Scalar(%slice_copy, 1)");
  has(must_work("explain " PROGRAM " %slice_scatter")->out, "in the functional form:\n");
  must_fail("explain " PROGRAM " nobody", 64,
            "fnz: ARGUMENT: explain: no input and no result is called");
}
END_TEST

static const char refused[] =
    "fnz 1 program(%x: f32[4]) { %e: f32[2,4] stride(0,1) = expand(%x, [2, 4]) at \"my net.py:1\" "
    "%r: f32[2,4] stride(0,1) = mul_.Scalar(%e, 2) at \"my net.py:2\" return %r }";

START_TEST(prepares_for_a_target) {
  enter_folder();
  spill("silu.fnz", "fnz 1 program(%x: f32[4]) { %y: f32[4] = silu(%x) at \"m.py:3\" return %y }");
  spill("poly.fnz", "fnz 1 program(%x: f32[2,2]) { %y: f32[2,2] = polygamma(2, %x) at \"m.py:3\" "
                    "%a: f32[] = trace(%y) at \"m.py:4\" return %a }");
  spill("frexp.fnz", "fnz 1 program(%x: f32[4]) { %m: f32[4], %e: i32[4] = frexp.Tensor(%x) "
                     "return %m, %e }");
  spill("loop.fnz",
        "fnz 1 program(%x: f32[4,2]) { [%y: f32[4,2]] = higher_order.map_impl(@f, [%x], "
        "[]) at \"m.py:5\" return %y }\n"
        "graph f(%x: f32[2]) { %y: f32[2] = neg(%x) return %y }");
  has(must_work("convert silu.fnz --for onnx --to text")->out, " = silu(");
  has(must_work("convert silu.fnz --for executorch --to text")->out, " = sigmoid(");
  has(must_work("convert silu.fnz --for executorch --keep silu --to text")->out, " = silu(");
  has(must_work("convert silu.fnz --for onnx --decompose silu --to text")->out, " = sigmoid(");
  has(must_work("convert " PROGRAM " --for onnx --to text")->out, " = slice.Tensor(");
  has(must_work("convert " PROGRAM " --for executorch --views copy --to text")->out,
      " = slice_copy.Tensor(");
  has(fnz("convert " PROGRAM " --for onnx -o o.pt2 --verify --verbose")->err,
      "for onnx: torch.onnx.export() of PyTorch; operators of torch ");
  has(must_work("convert silu.fnz --for iree")->out, "torch.aten.silu");
  has(fnz("convert poly.fnz --for tvm -o o.pt2")->err,
      "fnz: left: poly.fnz: polygamma, in 1 node: ");
  must_fail("convert silu.fnz --for onnx --decompose core -o o.pt2", 64,
            "fnz: ARGUMENT: convert: --for onnx has a set of operators of its own");
  must_fail("convert silu.fnz --for core -o o.pt2", 64,
            "fnz: ARGUMENT: convert: --for core is a question to fnz lint");
  must_fail("convert silu.fnz --for onnx -o o.mlir", 64,
            "fnz: ARGUMENT: convert: onnx reads pt2, not mlir");
  must_fail("convert silu.fnz --for iree -o o.pt2", 64,
            "fnz: ARGUMENT: convert: iree reads mlir, not pt2");
  must_fail("convert silu.fnz --for nobody -o o.pt2", 64, "fnz: ARGUMENT: convert: --for takes");
  ck_assert_str_eq(must_work("lint silu.fnz --for executorch")->out, "nothing found\n");
  outcome *o = fnz("lint poly.fnz --for tvm");
  ck_assert_int_eq(o->code, 1);
  has(o->out, "m.py:3: refused, UNSUPPORTED: tvm does not take polygamma (apache-tvm ");
  has(o->out,
      "to do       write it with operators that tvm takes, or give that a function for it\n");
  has(fnz("lint frexp.fnz --for coreml")->out,
      "--decompose frexp.Tensor takes it apart nevertheless; isinf would be left\n");
  o = fnz("lint loop.fnz --for tvm");
  ck_assert_int_eq(o->code, 1);
  has(o->out, "m.py:5: refused, UNSUPPORTED: tvm does not take higher_order.map_impl (apache-tvm ");
  has(fnz("lint loop.fnz --for openvino")->out, "openvino does not take higher_order.map_impl (");
  ck_assert_int_eq(fnz("lint loop.fnz --for executorch")->code, 0);
}
END_TEST

START_TEST(lists_findings) {
  enter_folder();
  spill("bad.fnz", refused);
  spill("good.fnz", "fnz 1 program(%x: f32[4]) { %n: f32[4] = neg(%x) return %n }");
  ck_assert_str_eq(must_work("lint good.fnz")->out, "nothing found\n");
  ck_assert_str_eq(must_work("lint good.fnz --quiet")->out, "");
  has(must_work("lint good.fnz --json")->out, "\"findings\": []");
  outcome *o = fnz("lint bad.fnz");
  ck_assert_int_eq(o->code, 1);
  ck_assert_int_eq(strncmp(o->out, "my net.py:2: refused, OVERLAP: mul_.Scalar", 42), 0);
  has(o->out, "\n1 found, 1 of them refused\n");
  must_fail("lint bad.fnz --json --sarif", 64, "fnz: ARGUMENT: lint: --json and --sarif");
  must_fail("lint nowhere", 3, "fnz: IO: nowhere: ");
  ck_assert_int_eq(fnz("lint bad.fnz --fail-on refused")->code, 1);
  ck_assert_int_eq(fnz("lint bad.fnz --fail-on never")->code, 0);
  spill("copied.fnz", "fnz 1 program(%x: f32[4]) { %c: f32[4] = exp(%x) "
                      "%s: f32[2] = slice.Tensor(%c, 0, 0, 2) %a: f32[2] = add_.Scalar(%s, 1) "
                      "%n: f32[4] = neg(%c) return %n }");
  ck_assert_int_eq(fnz("lint copied.fnz --fail-on refused")->code, 0);
  ck_assert_int_eq(fnz("lint copied.fnz --fail-on copy")->code, 0); /* a run writes in place */
  ck_assert_str_eq(fnz("lint copied.fnz")->out, "nothing found\n");
  ck_assert_int_eq(fnz("lint copied.fnz --fail-on copy --text")->code, 1);
  has(fnz("lint copied.fnz --text --sarif")->out, "the view that it is written through");
  spill("gathered.fnz", "fnz 1 program(%x: f32[4,8]) { %t: f32[8,4] stride(1,8) = t(%x) "
                        "%r: f32[32] = reshape(%t, [-1]) %e: f32[32] = exp(%r) return %e }");
  ck_assert_int_eq(fnz("lint gathered.fnz --fail-on refused")->code, 0);
  ck_assert_int_eq(fnz("lint gathered.fnz --fail-on copy")->code, 1);
  ck_assert_int_eq(fnz("lint gathered.fnz --fail-on copy --min-bytes 128")->code, 1);
  ck_assert_int_eq(fnz("lint gathered.fnz --fail-on copy --min-bytes 129")->code, 0);
  has(fnz("explain gathered.fnz r")->out, "copies 128 B: no strides describe");
  must_fail("lint gathered.fnz --min-bytes x", 64,
            "fnz: ARGUMENT: lint: --min-bytes takes a number");
}
END_TEST

static const fnzi_json *json_at(const fnzi_json *object, const char *key) {
  ck_assert_ptr_nonnull(object);
  const fnzi_json *member = fnzi_json_find(object, key);
  ck_assert_msg(member != NULL, "there is no %s", key);
  return member;
}

/* The requirements of the SARIF 2.1.0 schema: version and runs; a driver with a name; rules with an
 * id; results with a message that has a text; and valid references between them. */
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

START_TEST(explains_inputs) {
  enter_folder();
  const char *text = must_work("explain " PROGRAM " x")->out;
  has(text, "input 0 of the program as read: user %x, f32[");
  has(text, "  shown by    ");
  has(text, "in the functional form its final value is output 0:\n  made by     %slice_scatter");
  spill("kept.fnz", "fnz 1 program(%x: f32[4], %y: f32[4]) { %n: f32[4] = neg(%x) return %n }");
  has(must_work("explain kept.fnz y")->out, "  no node takes it\nit keeps its value: ");
  has(must_work("explain kept.fnz %x")->out, "  read by     %n = neg(%x)");
  must_fail("explain kept.fnz y --json", 64, "fnz: ARGUMENT: explain: y is an input, and --json");
  spill("named.fnz", "fnz 1 weight \"n\": f32[4] program(%w: f32[4] buffer \"n\", %x: f32[4]) "
                     "{ %n: f32[4] = neg(%x) return %n, %w }");
  has(must_work("explain named.fnz n")->out, "in the program as read:\n%n: f32[4] = neg(%x)");
  must_fail("explain " PROGRAM " slice_scater", 64,
            "fnz: ARGUMENT: explain: no input and no result");
  has(fnz("explain " PROGRAM " slice_scater")->err, "did you mean slice_scatter?");
}
END_TEST

START_TEST(words_may_stand_anywhere) {
  enter_folder();
  has(must_work("--functional show " PROGRAM)->out, "slice_scatter");
  must_work("convert " PROGRAM " -oa.cbor");
  ck_assert(exists("a.cbor"));
  must_fail("convert " PROGRAM " --out b.cbor", 64,
            "fnz: ARGUMENT: convert: there is no option --out; did you mean -o?");
  char version[64];
  snprintf(version, sizeof version, "%.60s", must_work("--version")->out);
  ck_assert_str_eq(must_work("version")->out, version);
  ck_assert_str_eq(must_work("-V")->out, version);
  has(must_work("--completion")->out, "complete -o default -F _fnz fnz\n");
  spill("headless.fnz", "program(%x: f32[4]) { %n: f32[4] = neg(%x) return %n }");
  must_fail("show headless.fnz", 2,
            "fnz: SYNTAX: headless.fnz: this is fnz text without its first");
}
END_TEST

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
  must_fail("explain " PROGRAM " nobody --json", 64,
            "fnz: ARGUMENT: explain: no input and no result is called");
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
  const fnzi_json *findings = json_at(doc.root, "findings");
  ck_assert_uint_eq(findings->count, 1);
  ck_assert_str_eq(json_at(findings->u.first, "class")->u.s, "OVERLAP");
  ck_assert_str_eq(json_at(findings->u.first, "source_file")->u.s, "my net.py");
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

START_TEST(shows_a_page) {
  enter_folder();
  must_work("view " PROGRAM " -o a.html --verify");
  ck_assert(exists("a.html"));
  outcome *o = must_work("view " PROGRAM " --json");
  has(o->out, "{\"version\": 1, \"title\": \"slice_write.fnz\"");
  spill("twice.fnz", "fnz 1 program(%x: f32[2]) { %e: f32[2,2] stride(0,1) = expand(%x, [2, 2]) "
                     "%w: f32[2,2] stride(0,1) = add_.Scalar(%e, 1) return %w }");
  must_fail("view twice.fnz -o b.html", 2, "fnz: OVERLAP: twice.fnz: ");
  ck_assert(!exists("b.html"));
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

START_TEST(shows_stages) {
  enter_folder();
  spill("silu.fnz", "fnz 1 program(%x: f32[4]) { %y: f32[4] = silu(%x) return %y }");
  for (size_t k = 0; fnz_stage_name(k); k++) {
    char line[64];
    snprintf(line, sizeof line, "explain silu.fnz --stage %s", fnz_stage_name(k));
    has(must_work(line)->out, "silu");
    has(must_work("explain --help")->out, fnz_stage_name(k));
  }
  char *shown = strdup(must_work("show silu.fnz --functional")->out);
  ck_assert_str_eq(must_work("explain silu.fnz --stage simplified")->out, shown);
  free(shown);
  must_fail("explain silu.fnz --stage group", 64,
            "fnz: ARGUMENT: explain: --stage takes one of tape, simplified, decomposed, arranged, "
            "groups, places, not group");
  must_fail("explain silu.fnz --stage tape --json", 64,
            "fnz: ARGUMENT: explain: --stage prints one program; leave --json out");
  must_fail("explain silu.fnz silu --stage tape", 64,
            "fnz: ARGUMENT: explain: --stage is about the whole program; leave silu out");
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
  must_fail("explain silu.fnz --inputs silu.fnz", 2, "fnz: ");
  spill("sized.fnz", "fnz 1 symbol s0 = 6 range s0 2..9 program(%x: f32[{s0},8]) { "
                     "%t: f32[8,{s0}] stride(1,8) = t(%x) %r: f32[{8*s0}] = reshape(%t, [-1]) "
                     "%e: f32[{8*s0}] = exp(%r) return %e }");
  has(must_work("explain sized.fnz")->out, "192 B: one copy");
  has(must_work("explain sized.fnz --sizes s0=3")->out, "96 B: one copy");
  has(must_work("explain sized.fnz --plan --sizes s0=3")->out, "at sizes with s0 = 3\n");
  has(fnz("lint sized.fnz --sizes s0=3")->out, "a run copies 96 B: ");
  must_fail("lint sized.fnz --sizes s0=10", 2, "fnz: BOUNDS: sized.fnz: sizes: ");
  must_fail("explain sized.fnz --sizes s1=3", 2, "fnz: REF: sized.fnz: sizes: no size");
  must_fail("explain sized.fnz --sizes s0=", 2, "fnz: SYNTAX: sized.fnz: sizes: s0 takes");
  must_fail("explain sized.fnz --plan --min-bytes 1", 64,
            "fnz: ARGUMENT: explain: --plan lists no copies of a run; leave --min-bytes out");
  must_fail("explain silu.fnz --sizes s0=3", 2, "fnz: REF: silu.fnz: sizes: the program has");
  must_fail("explain silu.fnz --decompose cores", 64,
            "fnz: ARGUMENT: explain: --decompose: cores is neither a set nor an operator; did you "
            "mean core or coreml?");
}
END_TEST

SUITE_PART(cli_programs, says_which_weights_differ, figures_have_all_their_names,
           figures_name_what_no_rule_tells, figures_of_a_functional_program_agree, verifies,
           draws_by_a_seed, finds_a_difference, takes_aliases_of_inputs, says_where_programs_part,
           explains_nodes, shows_stages, plans_what_is_taken_apart, explains_in_json,
           explains_inputs, words_may_stand_anywhere, prepares_for_a_target, lists_findings,
           findings_are_json_and_sarif, runs_and_lists_both_forms_alike, draws, shows_a_page,
           says_that_graphviz_is_missing)
