/* checks: 13
 * boundary_test.c - the boundary of a program: inputs that alias each other, what outputs are,
 * state that is written at the end, guards, denied operators. Situations have the numbers of the
 * list in which functionalization is known to be hard. */
#include "program/program.h"
#include "run/run.h"
#include "tests/help/context.h"
#include "tests/help/faults.h"
#include "tests/help/run_help.h"

/* `aliases` are separated by semicolons. Element i of the memory that inputs lie in holds i + 1.
 * `wants` names results and their numbers; `says` is a part of the result's text. */
typedef struct situation {
  const char *name, *inputs, *body, *aliases, *wants, *says;
} situation;

#define WRITE_BOTH "%a: f32[2] = add_.Scalar(%p, 1)\n%m: f32[2] = mul_.Scalar(%q, 2)\nreturn %p, %q"

static const situation situations[] = {
    {"178 f(a, a)", "%x: f32[3], %y: f32[3]",
     "%m: f32[3] = mul_.Scalar(%x, 2)\n%a: f32[3] = add_.Tensor(%y, %x)\nreturn %y", "y=x",
     "input.x 4 8 12; input.y 4 8 12; output.0 4 8 12",
     "return %add input_mutation \"x\", %add is %y"},
    {"179 f(b, b[1:])", "%b: f32[4], %v: f32[3]",
     "%a: f32[3] = add_.Scalar(%v, 1)\n%r: f32[4] = mul.Scalar(%b, 1)\nreturn %r", "v=b[1:]",
     "input.b 1 3 4 5; input.v 3 4 5; output.0 1 3 4 5",
     "return %slice_scatter input_mutation \"b\", %mul"},
    {"180 f(b, b.view(-1)), b.t_()", "%b: f32[2,3], %v: f32[6]",
     "%m: f32[6] = mul_.Scalar(%v, 2)\n%t: f32[3,2] stride(1,3) = t_(%b)\n%s: f32[] = "
     "sum(%v)\n%r: f32[3,2] stride(1,3) = add.Tensor(%b, %s)\nreturn %r",
     "v=b.view(-1)", "input.b 2 8 4 10 6 12; input.v 2 4 6 8 10 12; output.0 44 50 46 52 48 54",
     "input_mutation \"b\" metadata, %mul memory_mutation \"memory\""},
    {"181 disjoint parts", "%p: f32[2], %q: f32[2]", WRITE_BOTH, "q=p.as_strided((2,),(1,),2)",
     "input.p 2 3; input.q 6 8; output.0 2 3; output.1 6 8",
     "return %add input_mutation \"p\", %mul input_mutation \"q\", %add is %p, %mul is %q"},
    {"181 parts that overlap", "%p: f32[2], %q: f32[2]", WRITE_BOTH,
     "q = p.as_strided([2], [1], 1)", "input.p 2 6; input.q 6 6; output.0 2 6; output.1 6 6",
     "%memory: f32[3] memory shares %p"},
    {"181 memory with a gap", "%x: f32[2,2] stride(3,1), %y: f32[2]",
     "%a: f32[2] = add_.Scalar(%y, 1)\n%r: f32[2,2] = mul.Scalar(%x, 1)\nreturn %r", "y=x[0]",
     "input.y 2 3; output.0 2 3 4 5", "%memory: f32[5] memory shares %x"},
    {"181 a slice, then an index", "%x: f32[2,2], %y: f32[2] stride(2)",
     "%a: f32[2] stride(2) = add_.Scalar(%y, 1)\nreturn %x", "y=x[0:2, 1]",
     "input.y 3 5; output.0 1 3 3 5", "%y: f32[2] stride(2) offset(1) shares %x written"},
    {"182 nobody writes", "%p: f32[3], %q: f32[3]", "%r: f32[3] = add.Tensor(%p, %q)\nreturn %r",
     "q=p", "output.0 2 4 6", "add.Tensor(%p, %q)"},
    {"183 several dtypes", "%p: f32[4], %q: i32[4]",
     "%a: f32[4] = add_.Scalar(%p, 1)\n%r: i32[4] = mul.Scalar(%q, 1)\nreturn %r",
     "q=p.view(int32)", NULL, "%q: i32[4] shares %p written"},
    {"183 halves of elements", "%p: f32[4], %q: i16[3]",
     "%z: i16[3] = zero_(%q)\n%r: f32[4] = mul.Scalar(%p, 1)\nreturn %r", "q=p.view(i16)[2:5]",
     NULL, "input_mutation \"p\""},
    {"184 the input itself", "%x: f32[3]", "%a: f32[3] = add_.Scalar(%x, 1)\nreturn %a", "",
     "input.x 2 3 4; output.0 2 3 4", "return %add input_mutation \"x\", %add is %x"},
    {"185 a view of the input", "%x: f32[2,3]",
     "%a: f32[2,3] = add_.Scalar(%x, 1)\n%v: f32[6] = view(%x, [-1])\nreturn %v", "",
     "output.0 2 3 4 5 6 7", "in %x as f32[6] by view(size=[-1])"},
    {"186 outputs of one memory", "%x: f32[2,3]",
     "%y: f32[2,3] = add.Scalar(%x, 1)\n%r: f32[3] offset(3) = select.int(%y, 0, 1)\nreturn %r, "
     "%y, %r",
     "", "output.0 5 6 7; output.1 2 3 4 5 6 7; output.2 5 6 7",
     "in 1 as f32[3] offset(3), %add as f32[2,3], %select_copy is 0"},
    {"189 only sizes change", "%x: f32[3]", "%u: f32[1,3] stride(3,1) = unsqueeze_(%x, 0)\nreturn",
     "", "input.x 1 2 3", "input_mutation \"x\" metadata"},
    {"190 a buffer, written twice", "%b: f32[4] buffer \"b\"",
     "%a: f32[4] = add_.Scalar(%b, 1)\n%v: f32[4] = view(%b, [-1])\n%m: f32[4] = mul_.Scalar(%v, "
     "2)\nreturn",
     "", NULL, "return %mul buffer_mutation \"b\"\n"},
    {"192 nothing is returned", "%x: f32[2,2]",
     "%v: f32[4] = view(%x, [-1])\n%a: f32[4] = add_.Scalar(%v, 1)\nreturn", "", "input.x 2 3 4 5",
     "input_mutation \"x\""},
    {"193 the whole, not the slice", "%x: f32[3]",
     "%v: f32[2] offset(1) = slice.Tensor(%x, 0, 1)\n%z: f32[2] offset(1) = zero_(%v)\nreturn", "",
     "input.x 1 0 0", "return %slice_scatter input_mutation \"x\""},
    {"194 t_ and add_", "%x: f32[2,3]",
     "%t: f32[3,2] stride(1,3) = t_(%x)\n%a: f32[3,2] stride(1,3) = add_.Scalar(%x, 1)\nreturn", "",
     "input.x 2 5 3 6 4 7", "input_mutation \"x\" metadata"},
    {"196 set_ and mul_", "%x: f32[3], %y: f32[3]",
     "%m: f32[3] = mul_.Scalar(%x, 2)\n%s: f32[3] = set_.source_Tensor(%x, %y)\n%n: f32[3] = "
     "mul_.Scalar(%x, 3)\nreturn %x",
     "", "input.x 3 6 9; input.y 3 6 9; memory.x 2 4 6; output.0 3 6 9",
     "input_mutation \"x\" metadata set in %y as f32[3]"},
    {"196 set_ to new memory", "%x: f32[3]",
     "%n: f32[3] = mul.Scalar(%x, 3)\n%s: f32[3] = set_.source_Tensor(%x, %n)\nreturn", "",
     "input.x 3 6 9", "input_mutation \"x\" metadata set"},
    {"197 resized to nothing", "%x: f32[4]", "%r: f32[0] = resize_(%x, [0])\nreturn", "", "input.x",
     "input_mutation \"x\" metadata"},
    {"197 resized to nothing and back", "%x: f32[4]",
     "%r: f32[0] = resize_(%x, [0])\n%s: f32[4] = resize_(%x, [4])\n%a: f32[4] = add_.Scalar(%x, "
     "1)\nreturn",
     "", "input.x 2 3 4 5", "return %add input_mutation \"x\"\n"},
    {"197 resized beyond", "%x: f32[2]",
     "%r: f32[4] = resize_(%x, [4])\n%a: f32[4] = add_.Scalar(%x, 1)\nreturn", "",
     "input.x 2 3 1 1", "input_mutation \"x\" metadata"},
    {"198 expand", "%x: f32[2]", "%e: f32[3,2] stride(0,1) = expand(%x, [3, -1])\nreturn %e", "",
     "output.0 1 2 1 2 1 2", "in %x as f32[3,2] stride(0,1) by expand(size=[3, -1])"},
    {"a piece of a split", "%x: f32[4]",
     "[%a: f32[2], %b: f32[2] offset(2)] = split.Tensor(%x, 2)\n%c: f32[2] offset(2) = "
     "add_.Scalar(%b, 1)\nreturn %b",
     "", "output.0 4 5; input.x 1 2 4 5", "by split.Tensor(split_size=2)[1]"},
    {"a copy of an input", "%x: f32[3]", "%c: f32[3] = clone(%x)\nreturn %c", "", "output.0 1 2 3",
     "return %clone\n"},
    {"as_strided reaches from one input to the other", "%p: f32[2], %q: f32[2]",
     "%s: f32[4] = as_strided(%p, [4], [1])\n%z: f32[4] = add_.Scalar(%s, 1)\nreturn %q",
     "q=p.as_strided((2,),(1,),2)", "input.p 2 3; input.q 4 5; output.0 4 5",
     "%memory: f32[4] memory shares %p"},
    {"as_strided writes into a gap", "%p: f32[2] stride(3) offset(2), %q: f32[2] stride(3)",
     "%s: f32[1] offset(2) = as_strided(%q, [1], [1], 2)\n%f: f32[1] offset(2) = fill_.Scalar(%s, "
     "9)\nreturn",
     "q=p.as_strided((2,),(3,),0)", "input.p 9 6", "%memory: f32[6] memory shares %p"},
    {"nothing lies in one memory", "%p: f32[0], %q: f32[0,2], %x: f32[2]",
     "%a: f32[0] = add_.Scalar(%p, 1)\n%b: f32[2] = add_.Scalar(%x, 1)\nreturn %q",
     "q=p.as_strided((0,2),(2,1))", "input.x 2 3", "input_mutation \"x\""},
    {"three inputs, two views", "%b: f32[2,3], %r: f32[3], %t: f32[3,2] stride(1,3)",
     "%a: f32[3] = add_.Scalar(%r, 10)\n%m: f32[3,2] stride(1,3) = mul_.Scalar(%t, 2)\nreturn %b",
     "r=b[1];t=b.t()", "input.b 2 4 6 28 30 32; input.r 28 30 32; input.t 2 28 4 30 6 32",
     "%t: f32[3,2] stride(1,3) shares %b written"},
};

enum { SITUATIONS = sizeof situations / sizeof *situations };

static fnz_program *source_of(const situation *s) {
  fnz_program *p = program_of(ctx, s->inputs, s->body);
  char aliases[128], *at = aliases;
  snprintf(aliases, sizeof aliases, "%s", s->aliases);
  while (*at) {
    size_t length = strcspn(at, ";");
    char next = at[length];
    at[length] = 0;
    OK(ctx, fnz_program_alias(ctx, p, at));
    at += length + (next != 0);
  }
  return p;
}

/* Element i of the memory is i + 1. */
static fnz_arrays *inputs_of(const fnz_program *p) {
  fnz_arrays *arrays;
  size_t count;
  const fnz_arg *inputs = fnz_graph_inputs(p, 0, &count);
  OK(ctx, fnz_arrays_create(ctx, &arrays));
  for (size_t i = 0; i < count; i++) {
    const fnz_geometry *g = fnz_value_geometry(p, 0, inputs[i].u.value);
    float memory[64];
    void *data;
    for (int k = 0; k < 64; k++)
      memory[k] = (float)k + 1;
    OK(ctx, fnz_arrays_add(arrays, fnz_value_name(p, 0, inputs[i].u.value), g->dtype, g->rank,
                           g->sizes, &data));
    if (g->dtype == FNZ_F32)
      fnzi_run_gather(g, (const unsigned char *)memory, sizeof *memory, data);
  }
  return arrays;
}

static void check_wants(const situation *s, const fnz_arrays *got) {
  for (const char *at = s->wants; *at;) {
    char name[32];
    int length;
    ck_assert_int_eq(sscanf(at, " %31[^ ;]%n", name, &length), 1);
    const fnz_array *a = fnz_arrays_find(got, name);
    ck_assert_msg(a != NULL, "%s: there is no %s", s->name, name);
    at += length;
    for (size_t i = 0; i < a->bytes / sizeof(float); i++) {
      char *next;
      double wanted = strtod(at, &next), is = ((const float *)a->data)[i];
      ck_assert_msg(next != at && wanted == is, "%s: %s[%zu] is %g, not %g", s->name, name, i, is,
                    wanted);
      at = next;
    }
    at += strspn(at, "; ");
  }
}

/* Runs it, and gives how many results there are. */
static size_t check_run(const situation *s, const fnz_run_options *how, const fnz_program *p,
                        const fnz_arrays *inputs) {
  fnz_arrays *got;
  fnz_backend *cpu;
  OK(ctx, fnz_arrays_create(ctx, &got));
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  OK(ctx, fnz_run(ctx, p, cpu, inputs, how, got));
  check_wants(s, got);
  size_t count = fnz_arrays_count(got);
  fnz_backend_destroy(cpu);
  fnz_arrays_destroy(got);
  return count;
}

static fnz_program *functional_of(const fnz_program *p, fnz_views views, fnz_state state) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_program *out;
  options.views = views;
  options.state = state;
  OK(ctx, fnz_functionalize(ctx, p, &options, &out));
  return out;
}

START_TEST(situations_mean_what_eager_gives) {
  begin();
  for (size_t i = 0; i < SITUATIONS; i++) {
    fnz_program *p = source_of(&situations[i]);
    fnz_program *f = functional_of(p, FNZ_VIEWS_COPY, FNZ_STATE_OUTPUTS);
    fnz_program *kept = functional_of(p, FNZ_VIEWS_KEEP, FNZ_STATE_OUTPUTS);
    OK(ctx, fnz_verify(ctx, p, f, NULL, WITH_TRIALS(3), NULL));
    OK(ctx, fnz_verify(ctx, p, kept, NULL, WITH_TRIALS(3), NULL));
    if (situations[i].wants) {
      fnz_arrays *inputs = inputs_of(p);
      size_t eager = check_run(&situations[i], AS_ORIGINAL, p, inputs);
      size_t count = check_run(&situations[i], NULL, f, inputs);
      ck_assert_msg(eager == count, "%s: %zu results, the original has %zu", situations[i].name,
                    count, eager);
      fnz_arrays_destroy(inputs);
    }
    fnz_program_destroy(kept);
    fnz_program_destroy(f);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

static void text_of(const fnz_program *p, fnz_buffer *out) {
  *out = (fnz_buffer){0};
  OK(ctx, fnz_program_write(ctx, p, FNZ_FORMAT_TEXT, out));
}

/* The same again after text and CBOR. */
static void check_forms(const char *name, const fnz_program *p) {
  fnz_buffer text, again, cbor = {0}, cbor_again = {0};
  fnz_program *from_text, *from_cbor;
  text_of(p, &text);
  OK(ctx, fnz_program_read(ctx, text.data, text.size, FNZ_FORMAT_TEXT, &from_text));
  text_of(from_text, &again);
  ck_assert_msg(strcmp(text.data, again.data) == 0, "%s: as text\n%s", name, again.data);
  fnz_buffer_free(ctx, &again);
  OK(ctx, fnz_program_write(ctx, p, FNZ_FORMAT_CBOR, &cbor));
  OK(ctx, fnz_program_read(ctx, cbor.data, cbor.size, FNZ_FORMAT_CBOR, &from_cbor));
  text_of(from_cbor, &again);
  ck_assert_msg(strcmp(text.data, again.data) == 0, "%s: as CBOR\n%s", name, again.data);
  OK(ctx, fnz_program_write(ctx, from_cbor, FNZ_FORMAT_CBOR, &cbor_again));
  ck_assert(cbor.size == cbor_again.size && !memcmp(cbor.data, cbor_again.data, cbor.size));
  fnz_buffer_free(ctx, &again);
  fnz_buffer_free(ctx, &text);
  fnz_buffer_free(ctx, &cbor);
  fnz_buffer_free(ctx, &cbor_again);
  fnz_program_destroy(from_text);
  fnz_program_destroy(from_cbor);
}

START_TEST(signatures_say_it_in_every_form) {
  begin();
  for (size_t i = 0; i < SITUATIONS; i++) {
    fnz_program *p = source_of(&situations[i]), *again;
    fnz_program *f = functional_of(p, FNZ_VIEWS_COPY, FNZ_STATE_OUTPUTS);
    fnz_buffer text, second;
    text_of(f, &text);
    ck_assert_msg(strstr(text.data, situations[i].says) != NULL, "%s: it does not say\n%s\nbut\n%s",
                  situations[i].name, situations[i].says, text.data);
    check_forms(situations[i].name, p);
    check_forms(situations[i].name, f);
    again = functional_of(f, FNZ_VIEWS_COPY, FNZ_STATE_OUTPUTS);
    text_of(again, &second);
    ck_assert_msg(strcmp(text.data, second.data) == 0, "%s: functionalized again\n%s",
                  situations[i].name, second.data);
    fnz_buffer_free(ctx, &text);
    fnz_buffer_free(ctx, &second);
    fnz_program_destroy(again);
    fnz_program_destroy(f);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

START_TEST(what_is_said_of_memory_is_true) {
  begin();
  for (size_t i = 0; i < SITUATIONS; i++) {
    fnz_program *p = source_of(&situations[i]);
    fnz_program *f = functional_of(p, FNZ_VIEWS_COPY, FNZ_STATE_OUTPUTS);
    fnz_status status = fnz_verify(ctx, p, f, NULL, NULL, NULL);
    ck_assert_msg(status == FNZ_OK, "%s: %s", situations[i].name, fnz_last_error(ctx)->message);
    fnz_program_destroy(f);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

/* --- state at the end ------------------------------------------------------------------------ */
/* Only the last nodes write, and they write inputs. */
static void check_epilogue(const fnz_program *p) {
  uint32_t start = fnzi_epilogue_start(p);
  for (uint32_t n = 0; n < start; n++)
    ck_assert(!fnz_op_is_mutating(fnzi_node_at(p, 0, n)->op));
}

START_TEST(state_is_written_at_the_end) {
  begin();
  size_t refused = 0;
  for (size_t i = 0; i < SITUATIONS; i++) {
    fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
    fnz_program *p = source_of(&situations[i]), *f = NULL;
    options.state = FNZ_STATE_EPILOGUE;
    if (fnz_functionalize(ctx, p, &options, &f) == FNZ_OK) {
      check_epilogue(f);
      ck_assert_uint_eq(fnzi_graph_main(f)->noutputs, fnzi_graph_main(p)->noutputs);
      check_forms(situations[i].name, f);
      OK(ctx, fnz_verify(ctx, p, f, NULL, WITH_TRIALS(3), NULL));
    } else {
      ck_assert_msg(strstr(fnz_last_error(ctx)->message, "--state outputs") != NULL, "%s",
                    fnz_last_error(ctx)->message);
      refused++;
    }
    fnz_program_destroy(f);
    fnz_program_destroy(p);
  }
  ck_assert_uint_eq(refused, 3);
  end();
}
END_TEST

static fnz_program *epilogue_of(const char *inputs, const char *body, const char *wanted) {
  fnz_program *p = program_of(ctx, inputs, body);
  fnz_program *f = functional_of(p, FNZ_VIEWS_COPY, FNZ_STATE_EPILOGUE);
  fnz_program *kept = functional_of(p, FNZ_VIEWS_KEEP, FNZ_STATE_EPILOGUE);
  fnz_buffer text;
  OK(ctx, fnz_verify(ctx, p, f, NULL, WITH_TRIALS(3), NULL));
  OK(ctx, fnz_verify(ctx, p, kept, NULL, WITH_TRIALS(3), NULL));
  text_of(f, &text);
  ck_assert_msg(strstr(text.data, wanted) != NULL, "%s", text.data);
  fnz_buffer_free(ctx, &text);
  fnz_program_destroy(kept);
  fnz_program_destroy(p);
  return f;
}

/* 224: both values are there before one of them is overwritten. */
START_TEST(swapped_inputs_are_saved_first) {
  begin();
  fnz_program *f = epilogue_of("%x: f32[3], %y: f32[3]",
                               "%t: f32[3] = clone(%x)\n%a: f32[3] = copy_(%x, %y)\n%b: f32[3] = "
                               "copy_(%y, %t)\nreturn",
                               "= clone(");
  fnz_program_destroy(f);
  f = epilogue_of("%x: f32[3]",
                  "%v: f32[2] = slice.Tensor(%x, 0, 0, 2)\n%c: f32[2] = clone(%v)\n%a: f32[3] = "
                  "add_.Scalar(%x, 1)\nreturn %c",
                  "copy_(%x, %add)");
  /* A program with such an end runs as one that writes. */
  fnz_arrays *inputs = inputs_of(f), *got;
  fnz_backend *cpu;
  OK(ctx, fnz_arrays_create(ctx, &got));
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  OK(ctx, fnz_run(ctx, f, cpu, inputs, NULL, got));
  ck_assert_ptr_nonnull(fnz_arrays_find(got, "input.x"));
  fnz_backend_destroy(cpu);
  fnz_arrays_destroy(got);
  fnz_arrays_destroy(inputs);
  fnz_program_destroy(f);
  end();
}
END_TEST

/* --- guards ----------------------------------------------------------------------------------- */
START_TEST(guards_are_there_where_they_matter) {
  begin();
  static const struct {
    const char *inputs, *body, *alias;
    size_t guards;
  } rows[] = {
      {"%x: f32[3], %y: f32[3]", "%a: f32[3] = add_.Tensor(%x, %y)\nreturn", NULL, 1},
      {"%x: f32[3], %y: f32[3]", "%a: f32[3] = add_.Tensor(%x, %y)\nreturn", "y=x", 0},
      {"%x: f32[3], %y: f32[3]", "%a: f32[3] = add_.Scalar(%x, 1)\nreturn", NULL, 0},
      {"%x: f32[3], %y: f32[3]", "%a: f32[3] = add.Tensor(%x, %y)\nreturn %a", NULL, 0},
      {"%x: f32[3], %y: f32[0]", "%a: f32[3] = add_.Scalar(%x, 1)\nreturn %y", NULL, 0},
      {"%x: f32[3], %y: f32[3], %z: f32[3]", "%a: f32[3] = add_.Tensor(%x, %y)\nreturn %z", "y=x",
       1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fnz_program *p = program_of(ctx, rows[i].inputs, rows[i].body);
    if (rows[i].alias)
      OK(ctx, fnz_program_alias(ctx, p, rows[i].alias));
    fnz_program *f = functional_of(p, FNZ_VIEWS_COPY, FNZ_STATE_OUTPUTS);
    ck_assert_msg(fnz_program_guard_count(f) == rows[i].guards, "row %zu: %zu guards", i,
                  fnz_program_guard_count(f));
    if (rows[i].guards) {
      ck_assert_int_eq(fnz_program_guard(f, 0).kind, FNZ_GUARD_DISJOINT);
      ck_assert_str_eq(fnz_program_guard(f, 0).names[0], "x");
      check_forms("a guard", f);
    }
    fnz_program_destroy(f);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

/* --- refusals --------------------------------------------------------------------------------- */
START_TEST(bad_aliases_are_refused_with_a_place) {
  begin();
  static const struct {
    const char *alias, *where, *message;
    fnz_class kind;
  } rows[] = {
      {"", "alias, column 1", "expected a name", FNZ_CLASS_SYNTAX},
      {"v", "alias, column 2", "expected '='", FNZ_CLASS_SYNTAX},
      {"v=b[1", "alias, column 6", "expected ']'", FNZ_CLASS_SYNTAX},
      {"v=b[]", "alias, column 5", "expected an index", FNZ_CLASS_SYNTAX},
      {"v=b[1:]x", "alias, column 8", "expected '[', '.'", FNZ_CLASS_SYNTAX},
      {"v=b.foo()", "alias, column 5", "no view of this name", FNZ_CLASS_SYNTAX},
      {"v=b.view(f77)", "alias, column 13", "element type", FNZ_CLASS_SYNTAX},
      {"v=b[99999999999999999999]", "", "64 bits", FNZ_CLASS_SYNTAX},
      {"v=b[9223372036854775808]", "", "64 bits", FNZ_CLASS_SYNTAX},
      {"v=b[--3]", "alias, column 5", "expected an index", FNZ_CLASS_SYNTAX},
      {"v=b.as_strided((3,),(1,),--1)", "", "expected an integer", FNZ_CLASS_SYNTAX},
      {"v=b.as_strided((3,),(1,),x)", "", "expected an integer", FNZ_CLASS_SYNTAX},
      {"v=b.unsqueeze()", "alias, column 15", "expected one dimension", FNZ_CLASS_SYNTAX},
      {"v=b.transpose(0)", "alias, column 16", "expected two dimensions", FNZ_CLASS_SYNTAX},
      {"v=b.view(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
       "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)",
       "", "more numbers than a tensor has dimensions", FNZ_CLASS_SYNTAX},
      {"v=n[1:]", "n", "no tensor input", FNZ_CLASS_REF},
      {"v=c[1:]", "c", "no tensor input", FNZ_CLASS_REF},
      {"v=b.view(torch.int32)[1:]", "v", "takes f32", FNZ_CLASS_TYPE},
      {"v=b.view((2,2))", "v", "other sizes", FNZ_CLASS_TYPE},
      {"v=b.view([2, 2])", "v", "other sizes", FNZ_CLASS_TYPE},
      {"v=d[1:]", "d", "no tensor input", FNZ_CLASS_REF},
      {"w=b[1:]", "w", "no tensor input", FNZ_CLASS_REF},
      {"b=b", "b", "itself", FNZ_CLASS_DUPLICATE},
      {"v=b", "v", "other sizes", FNZ_CLASS_TYPE},
      {"v=b[::2]", "v", "other sizes", FNZ_CLASS_TYPE},
      {"v=b.as_strided((3,),(2,))", "v", "other strides", FNZ_CLASS_TYPE},
      {"v=b.view(i32)[1:]", "v", "takes f32", FNZ_CLASS_TYPE},
      {"v=b[9]", "alias, column 5", "", FNZ_CLASS_BOUNDS},
      {"v=b.view(3)", "alias, column 10", "", FNZ_CLASS_BOUNDS},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fnz_program *p =
        program_of(ctx, "%b: f32[4], %v: f32[3], %n: sym", "%c: f32[4] = neg(%b)\nreturn %b");
    ck_assert_msg(fnz_program_alias(ctx, p, rows[i].alias) != FNZ_OK, "%s", rows[i].alias);
    const fnz_error *e = fnz_last_error(ctx);
    ck_assert_msg(e->kind == rows[i].kind && strstr(e->message, rows[i].message) &&
                      (!*rows[i].where || !strcmp(e->where, rows[i].where)),
                  "%s: %s: %s: %s", rows[i].alias, fnz_class_name(e->kind), e->where, e->message);
    fnz_program_destroy(p);
  }
  fnz_program *p = program_of(ctx, "%b: f32[4], %v: f32[3]", "return %b");
  OK(ctx, fnz_program_alias(ctx, p, "v=b[1:]"));
  ck_assert_int_eq(fnz_program_alias(ctx, p, "v=b[:3]"), FNZ_BAD_INPUT);
  ck_assert_int_eq(fnz_last_error(ctx)->kind, FNZ_CLASS_DUPLICATE);
  fnz_program_destroy(p);
  p = program_of(ctx, "%b: f32[{s0: 4}], %v: f32[3]", "return %b");
  FAILS(ctx, "UNSUPPORTED", fnz_program_alias(ctx, p, "v=b[1:]"));
  fnz_program_destroy(p);
  end();
}
END_TEST

START_TEST(denied_operators_are_refused_with_what_needs_them) {
  begin();
  static const char *const denied[] = {"slice_scatter", "select_scatter"};
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_program *p = program_of(ctx, "%x: f32[4]",
                              "%v: f32[2] offset(1) = slice.Tensor(%x, 0, 1, 3)  at "
                              "\"m.py:3\"\n%a: f32[2] offset(1) = add_.Scalar(%v, 1)  at "
                              "\"m.py:4\"\nreturn %x");
  fnz_program *f;
  options.deny = denied;
  options.ndeny = 2;
  ck_assert_int_eq(fnz_functionalize(ctx, p, &options, &f), FNZ_UNSUPPORTED);
  ck_assert_ptr_null(f);
  const fnz_error *e = fnz_last_error(ctx);
  ck_assert_msg(strstr(e->where, "add_.Scalar at m.py:4") && strstr(e->message, "slice_scatter"),
                "%s: %s", e->where, e->message);
  options.deny = denied + 1;
  options.ndeny = 1;
  OK(ctx, fnz_functionalize(ctx, p, &options, &f));
  fnz_program_destroy(f);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* "" where the program is functionalized, else how it is refused. */
static const char *denying(const fnz_program *p, const char *name) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_program *f;
  options.deny = &name;
  options.ndeny = 1;
  fnz_status status = fnz_functionalize(ctx, p, &options, &f);
  fnz_program_destroy(f);
  return status == FNZ_OK ? "" : fnz_class_name(fnz_last_error(ctx)->kind);
}

START_TEST(denied_names_must_exist) {
  static const struct {
    const char *name, *want;
  } cases[] = {{"slice_scatter", "UNSUPPORTED"},
               {"slice_scatter.default", "UNSUPPORTED"},
               {"aten::slice_scatter", "UNSUPPORTED"},
               {"aten.slice_scatter.default", "UNSUPPORTED"},
               {"add.Tensor", ""},
               {"add.Scalar", "UNSUPPORTED"},
               {"add.default", "REF"},
               {"add", "UNSUPPORTED"},
               {"higher_order.cond", ""},
               {"my::op", "UNSUPPORTED"},
               {"my::op.default", "UNSUPPORTED"},
               {"my::other", "REF"},
               {"slice_scater", "REF"},
               {"aten::", "REF"},
               {"", "REF"}};
  begin();
  fnz_program *p;
  const char text[] = "fnz 1\noperator \"my::op(Tensor x) -> Tensor\"\n"
                      "program(%x: f32[4]) {\n%o: f32[4] = my::op(%x)\n"
                      "%v: f32[2] offset(1) = slice.Tensor(%o, 0, 1, 3)\n"
                      "%a: f32[2] offset(1) = add_.Scalar(%v, 1)\nreturn %o, %a\n}\n";
  OK(ctx, fnz_program_read(ctx, text, sizeof text - 1, FNZ_FORMAT_TEXT, &p));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    ck_assert_str_eq(denying(p, cases[i].name), cases[i].want);
  (void)denying(p, "slice_scater");
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, "did you mean slice_scatter"));
  fnz_program_destroy(p);
  end();
}
END_TEST

START_TEST(options_that_do_not_exist) {
  begin();
  fnz_program *p = program_of(ctx, "%x: f32[4]", "return %x"), *f;
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  options.views = (fnz_views)9;
  ck_assert_int_eq(fnz_functionalize(ctx, p, &options, &f), FNZ_BAD_ARGUMENT);
  ck_assert_ptr_null(f);
  options.views = FNZ_VIEWS_COPY;
  options.state = (fnz_state)9;
  ck_assert_int_eq(fnz_functionalize(ctx, p, &options, &f), FNZ_BAD_ARGUMENT);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* --- damaged files ---------------------------------------------------------------------------- */
/* A program that is read after a byte has changed is written as it was read, and goes through the
 * pass. */
static bool try_damaged(const fnz_buffer *bytes) {
  fnz_program *p, *f;
  fnz_buffer out = {0};
  if (fnz_program_read(ctx, bytes->data, bytes->size, FNZ_FORMAT_CBOR, &p) != FNZ_OK)
    return false;
  OK(ctx, fnz_program_write(ctx, p, FNZ_FORMAT_CBOR, &out));
  ck_assert(out.size == bytes->size && memcmp(out.data, bytes->data, out.size) == 0);
  fnz_buffer_free(ctx, &out);
  if (fnz_functionalize(ctx, p, NULL, &f) == FNZ_OK) {
    fnz_status ignored = fnz_verify(ctx, p, f, NULL, WITH_TRIALS(1), NULL);
    (void)ignored;
    fnz_program_destroy(f);
  }
  fnz_program_destroy(p);
  return true;
}

START_TEST(damaged_signatures_are_refused_or_mean_something) {
  begin();
  size_t accepted = 0;
  for (size_t i = 0; i < SITUATIONS; i++) {
    fnz_program *p = source_of(&situations[i]);
    fnz_program *f = functional_of(p, FNZ_VIEWS_COPY, FNZ_STATE_OUTPUTS);
    fnz_buffer bytes = {0};
    OK(ctx, fnz_program_write(ctx, f, FNZ_FORMAT_CBOR, &bytes));
    for (size_t k = 0; k < bytes.size; k++) {
      unsigned char *byte = (unsigned char *)bytes.data + k, kept = *byte;
      for (int change = 1; change < 4; change++) {
        *byte = (unsigned char)(kept + (change < 3 ? change : -1));
        accepted += try_damaged(&bytes);
      }
      *byte = kept;
    }
    fnz_buffer_free(ctx, &bytes);
    fnz_program_destroy(f);
    fnz_program_destroy(p);
  }
  ck_assert_uint_gt(accepted, 100);
  end();
}
END_TEST

/* --- no memory -------------------------------------------------------------------------------- */
/* Windows over memory, as a caller of the library gives them. */
START_TEST(declared_windows) {
  static const char text[] =
      "fnz 1\nsymbol s0 = 4\nprogram(%x: f32[4], %y: f32[4], %z: f32[2], %n: f32[{s0}], "
      "%i: sym{s0}, %p: f32[4] parameter \"w\", 3 literal \"k\", %one: f32[1])\n{\n  return "
      "%x\n}\n";
  static const struct {
    const char *input, *base;
    fnz_dtype dtype;
    int64_t size, stride, offset;
    const char *class_name, *says; /* NULL: fine */
  } rows[] = {
      {"q", "x", FNZ_F32, 4, 1, 0, "REF", "no tensor input of this name"},
      {"i", "x", FNZ_F32, 4, 1, 0, "REF", "no tensor input of this name"},
      {"k", "x", FNZ_F32, 4, 1, 0, "REF", "no tensor input of this name"},
      {"p", "x", FNZ_F32, 4, 1, 0, "UNSUPPORTED", "an input that the caller passes cannot"},
      {"x", "p", FNZ_F32, 4, 1, 0, "UNSUPPORTED", "an input that the caller passes cannot"},
      {"x", "x", FNZ_F32, 4, 1, 0, "DUPLICATE", "aliases itself in any case"},
      {"n", "x", FNZ_F32, 4, 1, 0, "UNSUPPORTED", "export the program with fixed sizes"},
      {"y", "n", FNZ_F32, 4, 1, 0, "UNSUPPORTED", "export the program with fixed sizes"},
      {"y", "x", FNZ_F64, 4, 1, 0, "TYPE", "the program takes f32, the alias is f64"},
      {"y", "x", FNZ_F32, 3, 1, 0, "TYPE", "than the program was traced with, [3] instead of [4];"},
      {"y", "x", FNZ_F32, 4, 2, 0, "TYPE", "other strides than the program was traced with"},
      {"y", "x", FNZ_F32, 4, 1, -1, "BOUNDS", "begins before its memory"},
      {"y", "x", FNZ_F32, 4, 1, INT64_MAX, "BOUNDS", "begins before its memory"},
      {"one", "y", FNZ_F32, 1, 7, 3, NULL, ""}, /* no walk goes along it */
      {"z", "y", FNZ_F32, 2, 1, 1, NULL, ""},
      {"x", "y", FNZ_F32, 4, 1, 0, NULL, ""}, /* now all of them lie in x */
      {"y", "x", FNZ_F32, 4, 1, 0, "DUPLICATE", "shares memory with another one already"},
      {"x", "z", FNZ_F32, 4, 1, 0, "DUPLICATE", "declare the others as aliases of x instead"},
  };
  fnz_program *p;
  begin();
  OK(ctx, fnz_program_read(ctx, text, sizeof text - 1, FNZ_FORMAT_TEXT, &p));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const fnz_geometry window = {.dtype = rows[i].dtype,
                                 .rank = 1,
                                 .sizes = &rows[i].size,
                                 .strides = &rows[i].stride,
                                 .offset = rows[i].offset};
    fnz_status status = fnz_program_declare_alias(ctx, p, rows[i].input, rows[i].base, &window);
    const fnz_error *e = fnz_last_error(ctx);
    if (rows[i].class_name)
      ck_assert_msg(status != FNZ_OK && strstr(e->message, rows[i].says) &&
                        strcmp(fnz_class_name(e->kind), rows[i].class_name) == 0,
                    "row %zu: %s: %s", i, fnz_class_name(e->kind), e->message);
    else
      OK(ctx, status);
  }
  static const uint32_t shares[] = {0, 1, 1, 0, 0, 0, 0, 1};
  for (size_t k = 0; k < sizeof shares / sizeof *shares; k++)
    ck_assert_uint_eq(fnz_program_input(p, k).shares, shares[k]);
  OK(ctx, fnz_program_verify(ctx, p));
  fnz_program_destroy(p);
  end();
}
END_TEST

static fnz_status declare_and_write(fnz_context *c, const void *user) {
  static const char text[] = "fnz 1\nprogram(%b: f32[2,3], %v: f32[6], %w: i32[2], %y: f32[3])\n{\n"
                             "%m: f32[6] = mul_.Scalar(%v, 2)\n%t: f32[3,2] stride(1,3) = t_(%b)\n"
                             "%z: i32[2] = zero_(%w)\n%u: f32[3] = add_.Scalar(%y, 1)\n"
                             "%r: f32[3] = select.int(%b, 1, 0)\nreturn %r, %y\n}\n";
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_program *p = NULL, *f = NULL;
  fnz_buffer cbor = {0};
  options.state = *(const fnz_state *)user;
  fnz_status status = fnz_program_read(c, text, sizeof text - 1, FNZ_FORMAT_TEXT, &p);
  if (status == FNZ_OK)
    status = fnz_program_alias(c, p, "v=b.view(-1)");
  if (status == FNZ_OK)
    status = fnz_program_alias(c, p, "w=b.view(i32)[0,1:]");
  if (status == FNZ_OK)
    status = fnz_functionalize(c, p, &options, &f);
  if (status == FNZ_OK)
    status = fnz_verify(c, p, f, NULL, WITH_TRIALS(1), NULL);
  if (status == FNZ_OK)
    status = fnz_program_write(c, f, FNZ_FORMAT_CBOR, &cbor);
  fnz_program_destroy(f);
  f = NULL;
  if (status == FNZ_OK)
    status = fnz_program_read(c, cbor.data, cbor.size, FNZ_FORMAT_CBOR, &f);
  fnz_buffer_free(c, &cbor);
  fnz_program_destroy(f);
  fnz_program_destroy(p);
  return status;
}

START_TEST(out_of_memory) {
  static const fnz_state states[] = {FNZ_STATE_OUTPUTS, FNZ_STATE_EPILOGUE};
  for (size_t i = 0; i < 2; i++)
    ck_assert_uint_gt(each_fault(declare_and_write, &states[i]), 50);
}
END_TEST

RUN_SUITE("boundary", situations_mean_what_eager_gives, signatures_say_it_in_every_form,
          what_is_said_of_memory_is_true, state_is_written_at_the_end,
          swapped_inputs_are_saved_first, guards_are_there_where_they_matter,
          bad_aliases_are_refused_with_a_place, denied_operators_are_refused_with_what_needs_them,
          denied_names_must_exist, options_that_do_not_exist,
          damaged_signatures_are_refused_or_mean_something, declared_windows, out_of_memory)
