/* cli_methods.c - several programs in one file, by the command: written, told of, run. */
#include "tests/cli/cli.h"

#define METHODS FNZ_SOURCE_DIR "/fixtures/methods/"
#define PAIR    METHODS "prefill.pt2 " METHODS "decode.pt2 --share embedding=words "
#define ALL     METHODS "prefill.pt2 " METHODS "decode.pt2 " METHODS "look.pt2 --share embedding=words "

static void lacks(const char *text, const char *part) {
  ck_assert_msg(strstr(text, part) == NULL, "%s in %s", part, text);
}

START_TEST(writes_methods_of_one_file) {
  enter_folder();
  has(fnz("convert " PAIR "-o m.cbor --verify --verbose")->err,
      "m.cbor  2 methods: prefill, decode; 5 weights, 5 of more than one method, 3 of these "
      "state\n");
  must_work("convert m.cbor -o again.cbor");
  same_files("m.cbor", "again.cbor");
  must_work("convert m.cbor --method decode -o decode.cbor");
  must_work("verify decode.cbor m.cbor --method decode");
  must_work("diff m.cbor decode.cbor --method decode");
  ck_assert_int_eq(fnz("diff m.cbor decode.cbor --method prefill")->code, 1);
  must_work("convert m.cbor --method decode -o decode.pt2");
  must_work("verify decode.pt2 decode.cbor");
  must_work("convert m.cbor -o m.mlir");
  must_work("convert " PAIR "-o direct.mlir");
  must_work("lint m.cbor --method decode --for onnx");
  must_fail("convert m.cbor -o m.pt2", 64,
            "fnz: ARGUMENT: convert: m.cbor has 2 methods: prefill, decode; add --method NAME");
  must_fail("convert " PAIR "-o m.pt2", 64, "fnz: ARGUMENT: convert: several programs become");
  must_fail("convert " PAIR "-o m.cbor --external-weights", 64,
            "fnz: ARGUMENT: convert: --external-weights is for one program");
  must_fail("convert " METHODS "prefill.pt2 " METHODS "prefill.pt2 -o m.cbor", 64,
            "fnz: ARGUMENT: convert: two methods are called prefill");
  must_fail("convert m.cbor --method look -o d.cbor", 2,
            "fnz: REF: m.cbor: there is no method look; there are: prefill, decode\n");
}
END_TEST

START_TEST(tells_of_all_methods_or_of_one) {
  enter_folder();
  must_work("convert " PAIR "-o m.cbor");
  must_work("convert m.cbor --method decode -o decode.cbor");
  const char *out = must_work("show m.cbor")->out;
  has(out, "# method prefill\nfnz 1");
  has(out, "# method decode\nfnz 1");
  lacks(must_work("show m.cbor --method decode")->out, "# method");
  out = must_work("stats m.cbor")->out;
  has(out, "method prefill\nm.cbor");
  has(out, "method decode\nm.cbor");
  has(must_work("stats m.cbor --method decode --json")->out, "\"nodes_in\": ");
  must_fail("stats m.cbor --json", 64, "fnz: ARGUMENT: stats: m.cbor has 2 methods");
  out = must_work("hash m.cbor")->out;
  has(out, "  prefill\n");
  has(out, "  decode\n");
  char hash[80];
  snprintf(hash, sizeof hash, "%s", must_work("hash m.cbor --method decode")->out);
  ck_assert_uint_eq(strlen(hash), 65);
  ck_assert_str_eq(must_work("hash decode.cbor")->out, hash);
  has(must_work("explain m.cbor --method decode --plan")->out, "index_copy");
  must_work("draw m.cbor --method decode -o d.dot");
  must_fail("lint m.cbor", 64, "fnz: ARGUMENT: lint: m.cbor has 2 methods");
  must_fail("explain m.cbor", 64, "fnz: ARGUMENT: explain: m.cbor has 2 methods");
  must_fail("show decode.cbor --method decode", 2, "fnz: REF: decode.cbor: there is no method");
}
END_TEST

/* An input of one call of the fixture, as a file of its own. */
static void give(fnz_context *ctx, const char *step, const char *input, const char *path) {
  fnz_arrays *all, *one;
  char name[64];
  void *to;
  snprintf(name, sizeof name, "%s.input.%s", step, input);
  OK(ctx, fnz_arrays_load(ctx, METHODS "steps.safetensors", &all));
  OK(ctx, fnz_arrays_create(ctx, &one));
  const fnz_array *a = fnz_arrays_find(all, name);
  OK(ctx, fnz_arrays_add(one, input, a->dtype, a->rank, a->sizes, &to));
  memcpy(to, a->data, a->bytes);
  OK(ctx, fnz_arrays_save(ctx, one, path));
  fnz_arrays_destroy(one);
  fnz_arrays_destroy(all);
}

static void near(fnz_context *ctx, const char *file, const char *name, const char *recorded) {
  fnz_arrays *all, *got;
  OK(ctx, fnz_arrays_load(ctx, METHODS "steps.safetensors", &all));
  OK(ctx, fnz_arrays_load(ctx, file, &got));
  const fnz_array *a = fnz_arrays_find(got, name), *b = fnz_arrays_find(all, recorded);
  ck_assert(a && a->dtype == b->dtype && a->bytes == b->bytes);
  for (size_t i = 0; b->dtype == FNZ_F32 && i < a->bytes / 4; i++) {
    float difference = ((const float *)a->data)[i] - ((const float *)b->data)[i];
    ck_assert_msg(difference < 1e-5F && difference > -1e-5F, "%s[%zu]", name, i);
  }
  if (b->dtype != FNZ_F32)
    ck_assert_mem_eq(a->data, b->data, a->bytes);
  fnz_arrays_destroy(got);
  fnz_arrays_destroy(all);
}

static void run_on(fnz_context *ctx, const char *engine) {
  char words[256];
  give(ctx, "0", "tokens", "in.safetensors");
  snprintf(words, sizeof words,
           "run all.cbor --method prefill --inputs in.safetensors --save-state s.safetensors "
           "--outputs o.safetensors%s",
           engine);
  must_work(words);
  near(ctx, "o.safetensors", "output.0", "0.output.0");
  for (int k = 1; k < 5; k++) {
    char step[8], result[32];
    snprintf(step, sizeof step, "%d", k);
    snprintf(result, sizeof result, "%d.output.0", k);
    give(ctx, step, "tokens", "in.safetensors");
    snprintf(words, sizeof words,
             "run all.cbor --method decode --inputs in.safetensors --state s.safetensors "
             "--save-state s.safetensors --outputs o.safetensors%s",
             engine);
    must_work(words);
    near(ctx, "o.safetensors", "output.0", result);
  }
  give(ctx, "look", "scale", "in.safetensors");
  snprintf(words, sizeof words,
           "run all.cbor --method look --inputs in.safetensors --state s.safetensors --save-state "
           "s.safetensors --outputs o.safetensors%s",
           engine);
  must_work(words);
  near(ctx, "o.safetensors", "output.0", "look.output.0");
  near(ctx, "s.safetensors", "buffer.values", "buffer.values");
  near(ctx, "s.safetensors", "buffer.position", "buffer.position");
}

START_TEST(goes_on_with_the_state_of_another_method) {
  fnz_context *ctx;
  enter_folder();
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  must_work("convert " ALL "-o all.cbor");
  run_on(ctx, "");
  run_on(ctx, " --engine interpreter");
  must_fail("run all.cbor --inputs in.safetensors", 64,
            "fnz: ARGUMENT: run: all.cbor has 3 methods");
  fnz_context_destroy(ctx);
}
END_TEST

SUITE_PART(cli_methods, writes_methods_of_one_file, tells_of_all_methods_or_of_one,
           goes_on_with_the_state_of_another_method)
