/* checks: 1
 * mistakes_test.c - mistakes in C, and the words that each answer has; docs/mistakes.md counts
 * them. */
#include "tests/help/context.h"

#include <fnz/fnz.h>

#include <stdio.h>
#include <string.h>

static fnz_program *traced, *functional;
static fnz_executable *executable;
static fnz_arrays *arrays, *outputs;
static fnz_backend *cpu;
static const int64_t two = 2, three = 3, one = 1;

static const char *const text =
    "fnz 1\nweight \"w\": f32[2]\nprogram(%x: f32[2], %w: f32[2] parameter "
    "\"w\") {\n  %a: f32[2] = add_.Tensor(%x, %w)\n  return %a\n}\n";

/* --- the mistakes ----------------------------------------------------------------------------- */
static fnz_status no_such_file(void) {
  fnz_program *p;
  return fnz_program_load(ctx, "nowhere.pt2", FNZ_FORMAT_AUTO, &p);
}

static fnz_status another_kind_of_file(void) {
  fnz_program *p;
  return fnz_program_load(ctx, FNZ_SOURCE_DIR "/fixtures/cli/x.safetensors", FNZ_FORMAT_AUTO, &p);
}

static fnz_status a_program_as_arrays(void) {
  fnz_arrays *a;
  return fnz_arrays_load(ctx, FNZ_SOURCE_DIR "/fixtures/pt2/kv_cache.pt2", &a);
}

static fnz_status another_format(void) {
  fnz_program *p;
  return fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_CBOR, &p);
}

static fnz_status a_format_that_is_not_read(void) {
  fnz_program *p;
  return fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_DOT, &p);
}

static fnz_status options_without_a_size(void) {
  const fnz_functionalize_options options = {.views = FNZ_VIEWS_KEEP};
  fnz_program *p;
  return fnz_functionalize(ctx, traced, &options, &p);
}

static fnz_status a_misspelt_operator(void) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  static const char *const deny[] = {"slice_scater"};
  fnz_program *p;
  options.deny = deny;
  options.ndeny = 1;
  return fnz_functionalize(ctx, traced, &options, &p);
}

static fnz_status no_such_set(void) {
  fnz_decompose_options options = FNZ_DECOMPOSE_OPTIONS_INIT;
  fnz_program *p;
  options.set = "cores";
  return fnz_decompose(ctx, functional, &options, &p);
}

static fnz_status a_weight_without_data(void) {
  return fnz_run(ctx, functional, cpu, arrays, NULL, outputs);
}

static fnz_status a_program_that_writes(void) {
  fnz_executable *e;
  return fnz_compile(ctx, traced, NULL, &e);
}

static fnz_status no_such_device(void) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_executable *e;
  options.device = "gpu";
  return fnz_compile(ctx, functional, &options, &e);
}

static fnz_status a_donated_input_of_no_name(void) {
  static const char *const donated[] = {"y"};
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_executable *e;
  options.donated = donated;
  options.ndonated = 1;
  return fnz_compile(ctx, functional, &options, &e);
}

static fnz_status another_name_of_no_weight(void) {
  return fnz_program_rename_weight(ctx, traced, "ww", "v");
}

static fnz_status an_alias_of_no_input(void) {
  return fnz_program_alias(ctx, traced, "x=y[1:]");
}

static fnz_status no_methods(void) {
  fnz_methods *set;
  return fnz_methods_create(ctx, NULL, 0, &set);
}

static fnz_status an_unknown_format(void) {
  fnz_buffer out = {NULL, 0, 0};
  return fnz_program_write(ctx, traced, (fnz_format)99, &out);
}

static fnz_status lend(const char *name, const fnz_geometry *geometry, size_t bytes) {
  static const float data[3];
  const fnz_weight_loan loan = {name, geometry, data, bytes, NULL, NULL};
  return fnz_program_lend_weights(ctx, traced, &loan, 1);
}

static fnz_status a_loan_of_no_weight(void) {
  return lend("weight", fnz_program_weight(traced, "w").geometry, 8);
}

static fnz_status a_loan_of_other_sizes(void) {
  const fnz_geometry g = {.dtype = FNZ_F32, .rank = 1, .sizes = &three, .strides = &one};
  return lend("w", &g, 12);
}

static fnz_status a_loan_of_another_dtype(void) {
  const fnz_geometry g = {.dtype = FNZ_I32, .rank = 1, .sizes = &two, .strides = &one};
  return lend("w", &g, 8);
}

static fnz_status a_loan_that_is_too_small(void) {
  return lend("w", fnz_program_weight(traced, "w").geometry, 4);
}

static fnz_status run(fnz_memory input) {
  fnz_memory out[2] = {{NULL, NULL}};
  const fnz_execution e = {.size = sizeof e, .inputs = &input, .outputs = out};
  return fnz_executable_run(ctx, executable, &e);
}

static fnz_status no_memory_for_an_input(void) {
  const fnz_geometry g = {.dtype = FNZ_F32, .rank = 1, .sizes = &two, .strides = &one};
  return run((fnz_memory){NULL, &g});
}

static fnz_status an_input_of_another_dtype(void) {
  const fnz_geometry g = {.dtype = FNZ_F64, .rank = 1, .sizes = &two, .strides = &one};
  double x[2] = {0, 0};
  return run((fnz_memory){x, &g});
}

static fnz_status an_input_of_other_sizes(void) {
  const fnz_geometry g = {.dtype = FNZ_F32, .rank = 1, .sizes = &three, .strides = &one};
  float x[3] = {0, 0, 0};
  return run((fnz_memory){x, &g});
}

static fnz_status an_array_twice(void) {
  void *data;
  OK(ctx, fnz_arrays_add(arrays, "twice", FNZ_F32, 1, &two, &data));
  return fnz_arrays_add(arrays, "twice", FNZ_F32, 1, &two, &data);
}

static fnz_status an_array_of_a_negative_size(void) {
  const int64_t size = -2;
  void *data;
  return fnz_arrays_add(arrays, "negative", FNZ_F32, 1, &size, &data);
}

static fnz_status a_schema_with_a_mistake(void) {
  const fnz_op *op;
  return fnz_op_declare(ctx, "mine::f(Tenso x) -> Tensor", &op);
}

static fnz_status call(const char *op, const char *argument) {
  fnz_stack *stack;
  OK(ctx, fnz_stack_create(ctx, cpu, &stack));
  if (argument)
    fnz_push_string(stack, argument);
  fnz_status status = fnz_call_name(ctx, op, stack);
  fnz_stack_destroy(stack);
  return status;
}

static fnz_status a_call_of_no_operator(void) {
  return call("ad.Tensor", NULL);
}

static fnz_status a_call_of_null(void) {
  fnz_stack *stack;
  OK(ctx, fnz_stack_create(ctx, cpu, &stack));
  fnz_status status = fnz_call(ctx, fnz_op_find(ctx, "ad.Tensor"), stack);
  fnz_stack_destroy(stack);
  return status;
}

static fnz_status a_call_without_arguments(void) {
  return call("add.Tensor", NULL);
}

static fnz_status an_argument_of_no_name(void) {
  fnz_stack *stack;
  OK(ctx, fnz_stack_create(ctx, cpu, &stack));
  fnz_push_int(stack, 3);
  fnz_push_name(stack, "alpah");
  fnz_status status = fnz_call_name(ctx, "arange", stack);
  fnz_stack_destroy(stack);
  return status;
}

static fnz_status a_text_for_a_tensor(void) {
  return call("neg", "one");
}

/* --- their answers ---------------------------------------------------------------------------- */
static const struct {
  const char *name;
  fnz_status (*make)(void);
  const char *words[4];
} mistakes[] = {
#define MISTAKE(name, ...)                                                                         \
  {                                                                                                \
#name, name, {                                                                                 \
      __VA_ARGS__                                                                                  \
    }                                                                                              \
  }
    MISTAKE(no_such_file, "nowhere.pt2", "No such file", "check the path"),
    MISTAKE(another_kind_of_file, "x.safetensors", "this is a safetensors file", "arrays go to"),
    MISTAKE(a_program_as_arrays, "kv_cache.pt2", "this is a zip archive", "save_file"),
    MISTAKE(another_format, "expected an array, found a text", "read as cbor", "begins like text",
            "name that format"),
    MISTAKE(a_format_that_is_not_read, "dot", "pt2, json, cbor and text can"),
    MISTAKE(options_without_a_size, "has size 0", "set its size to its sizeof"),
    MISTAKE(a_misspelt_operator, "slice_scater", "did you mean slice_scatter"),
    MISTAKE(no_such_set, "cores", "there are inference, core"),
    MISTAKE(a_weight_without_data, "w: ", "no data", "give it among the inputs"),
    MISTAKE(a_program_that_writes, "add_.Tensor", "functionalize the program first"),
    MISTAKE(no_such_device, "gpu", "cpu, cuda or cuda:N"),
    MISTAKE(a_donated_input_of_no_name, "y: ", "no user input", "they are x"),
    MISTAKE(another_name_of_no_weight, "ww: ", "no weight of this name", "did you mean w"),
    MISTAKE(an_alias_of_no_input, "y: ", "no tensor input of this name"),
    MISTAKE(no_methods, "0 methods", "there are 1 to 256"),
    MISTAKE(an_unknown_format, "programs cannot be written as"),
    MISTAKE(an_argument_of_no_name, "no argument alpah", "arange(Scalar end"),
    MISTAKE(a_loan_of_no_weight, "weight: ", "no weight of this name", "its inputs name them"),
    MISTAKE(a_loan_of_other_sizes, "w: ", "f32[2]", "f32[3]", "lend the program's type"),
    MISTAKE(a_loan_of_another_dtype, "w: ", "f32[2]", "i32[2]", "lend the program's type"),
    MISTAKE(a_loan_that_is_too_small, "w: ", "byte 8", "4 bytes", "lend all"),
    MISTAKE(no_memory_for_an_input, "x: ", "no memory was given", "give its `data`"),
    MISTAKE(an_input_of_another_dtype, "x: ", "f32", "f64", "cast it before"),
    MISTAKE(an_input_of_other_sizes, "x: ", "size 2 of dimension 0", "has 3", "give that size"),
    MISTAKE(an_array_twice, "twice: ", "two arrays of this name", "leave one out"),
    MISTAKE(an_array_of_a_negative_size, "negative: ", "dimension 0", "-2"),
    MISTAKE(a_schema_with_a_mistake, "column 9", "expected a type", "'Tenso x)"),
    MISTAKE(a_call_of_no_operator, "ad.Tensor: ", "no operator of that name", "did you mean",
            "add.Tensor"),
    MISTAKE(a_call_of_null, "without an operator", "fnz_call_name() takes its name"),
    MISTAKE(a_call_without_arguments, "argument self is missing", "Tensor self, Tensor other"),
    MISTAKE(a_text_for_a_tensor, "wants Tensor", "the str 'one'", "neg(Tensor self)"),
#undef MISTAKE
};

static void set_up(void) {
  void *data;
  traced = read_text(text);
  OK(ctx, fnz_functionalize(ctx, traced, NULL, &functional));
  OK(ctx, fnz_compile(ctx, functional, NULL, &executable));
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  OK(ctx, fnz_arrays_create(ctx, &arrays));
  OK(ctx, fnz_arrays_create(ctx, &outputs));
  OK(ctx, fnz_arrays_add(arrays, "x", FNZ_F32, 1, &two, &data));
}

static void tear_down(void) {
  fnz_arrays_destroy(outputs);
  fnz_arrays_destroy(arrays);
  fnz_backend_destroy(cpu);
  fnz_executable_destroy(executable);
  fnz_program_destroy(functional);
  fnz_program_destroy(traced);
}

START_TEST(answers_name_what_is_wrong_and_what_to_do) {
  char answer[1024];
  size_t wrong = 0;
  begin();
  set_up();
  for (size_t k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
    const fnz_status status = mistakes[k].make();
    const fnz_error *e = fnz_last_error(ctx);
    snprintf(answer, sizeof answer, "%s: %s: %s", fnz_class_name(e->kind), e->where, e->message);
    bool has_all = status != FNZ_OK;
    for (size_t w = 0; w < 4 && mistakes[k].words[w]; w++)
      has_all = has_all && strstr(answer, mistakes[k].words[w]);
    if (!has_all)
      fprintf(stderr, "%s: %s\n", mistakes[k].name, status == FNZ_OK ? "no failure" : answer);
    wrong += !has_all;
  }
  tear_down();
  fnz_context_destroy(ctx); /* which has a declared operator, or part of one, until then */
  ck_assert_uint_eq(wrong, 0);
}
END_TEST

RUN_SUITE("mistakes", answers_name_what_is_wrong_and_what_to_do)
