/* checks: 19
 * formulas_test.c - operators whose elements or rows are formulas on a GPU, by the stand-in for
 * one: all of them run there, and have the interpreter's bits. */
#include "engine/device/device.h"
#include "soak/programs.h"
#include "tests/cuda/help.h"

static const struct {
  const char *inputs, *body;
  size_t items; /* steps of the CPU, which make numbers */
} programs[] = {
    {"%x: f32[6]", "  %c: f32[20, 3] = combinations(%x, 3)\n"
                   "  %d: f32[56, 3] = combinations(%x, 3, True)\n"
                   "  %e: f32[15, 2] = combinations(%x)\n  %f: f32[1, 6] = combinations(%x, 6)\n"
                   "  %g: f32[6, 1] = combinations(%x, 1, True)\n  return %c, %d, %e, %f, %g"},
    {"%x: f32[2]", "  %a: f32[7] = logspace(0.5, 3, 7)\n  %b: f64[1] = logspace(2, 3, 1, 2.0, "
                   "dtype=f64)\n  %c: bf16[8] = logspace(-1, 1, 8, dtype=bf16)\n"
                   "  %d: i64[3] = logspace(0, 2, 3, dtype=i64)\n  return %a, %b, %c, %d"},
    {"%x: f32[2]", "  %t: i64[2, 14] = tril_indices(4, 6, 1)\n"
                   "  %u: i64[2, 18] = triu_indices(4, 7, 1)\n"
                   "  %v: i64[2, 27] = triu_indices(5, 6, -2)\n"
                   "  %w: i32[2, 3] = tril_indices(5, 2, -3, dtype=i32)\n"
                   "  %e: i64[2, 0] = triu_indices(3, 3, 4)\n  return %t, %u, %v, %w, %e"},
    {"%x: f32[700], %h: f16[300]",
     "  %a: f32[5] = histc(%x, 5)\n  %b: f32[100] = histc(%x, 100, -1, 1)\n"
     "  %c: f16[7] = histc(%h, 7)\n  %d: f64[700] = _to_copy(%x, dtype=f64)\n"
     "  %e: f64[33] = histc(%d, 33)\n  return %a, %b, %c, %e"},
    {"%x: f32[9]", "  %g: bool[9] = eq.Tensor(%x, %x)\n  %t: bool[] = all(%g)\n"
                   "  _assert_async(%t)\n  %y: f32[9] = neg(%x)\n  return %y"},
    {"%x: f32[40, 50], %y: f32[40, 50], %i: i64[3, 3]",
     "  %a: f32[] = trace(%x)\n  %t: f32[50, 40] = t(%x)\n  %b: f32[] = trace(%t)\n"
     "  %c: i64[] = trace(%i)\n  %m: f32[40, 3] = slice.Tensor(%x, 1, 0, 3)\n"
     "  %n: f32[30, 3] = slice.Tensor(%m, 0, 5, 35)\n  %d: f32[40, 30] = cdist(%m, %n)\n"
     "  %e: f32[40, 30] = cdist(%m, %n, 1.0)\n  %f: f32[780] = pdist(%m, inf)\n"
     "  return %a, %b, %c, %d, %e, %f"},
    {"%x: f32[1, 9, 4], %y: f32[5, 1, 7, 4]", "  %d: f32[5, 1, 9, 7] = cdist(%x, %y, 0.0)\n"
                                              "  %e: f32[5, 1, 9, 7] = cdist(%x, %y, 3.0)\n"
                                              "  return %d, %e"},
    {"%x: f32[70, 60], %b: bool[60], %s: f32[5000]",
     "  %y: f32[70, 60] = masked_scatter(%x, %b, %s)\n  %t: f32[60, 70] = t(%x)\n"
     "  %c: bool[60, 70] = gt.Scalar(%t, 0)\n  %z: f32[60, 70] = masked_scatter(%t, %c, %s)\n"
     "  return %y, %z"},
    {"%x: f32[30, 11], %b: bf16[2, 6, 5]",
     "  %y: f32[30, 11] = renorm(%x, 2.0, 0, 1.5)\n  %z: f32[30, 11] = renorm(%x, 1.0, -1, 3.0)\n"
     "  %u: bf16[2, 6, 5] = renorm(%b, 2.0, 1, 0.5)\n"
     "  %v: f32[30, 11] = renorm(%x, 3.0, 1, 2.0)\n  return %y, %z, %u, %v"},
    {"%x: f32[8, 4, 6], %h: f16[3, 10]",
     "  %a: f32[8, 4, 3] = glu(%x)\n  %b: f32[4, 4, 6] = glu(%x, 0)\n  %c: f16[3, 5] = glu(%h)\n"
     "  return %a, %b, %c"},
    {"%x: f32[50], %h: f16[20], %d: f64[9]",
     "  %a: f32[50], %b: i32[50] = frexp.Tensor(%x)\n  %c: f16[20], %e: i32[20] = "
     "frexp.Tensor(%h)\n  %f: f64[9], %g: i32[9] = frexp.Tensor(%d)\n"
     "  %t: f64[9] = mul.Scalar(%d, 1e-310)\n  %k: f64[9], %l: i32[9] = frexp.Tensor(%t)\n"
     "  return %a, %b, %c, %e, %f, %g, %k, %l"},
    {"%x: f32[7, 5, 3], %w: f32[5], %p: f32[7, 5, 3]",
     "  %q: i64[7, 3] = argmax(%x, 1)\n  %a: f32[] = cross_entropy_loss(%x, %q)\n"
     "  %b: f32[7, 3] = cross_entropy_loss(%x, %q, %w, 0, 2, 0.1)\n"
     "  %c: f32[] = cross_entropy_loss(%x, %p, %w, 2, -100, 0.3)\n"
     "  %d: f32[] = cross_entropy_loss(%x, %q, None, 1, 3)\n"
     "  %e: f32[7, 3] = cross_entropy_loss(%x, %p, None, 0)\n  return %a, %b, %c, %d, %e"},
    {"%x: f32[37, 300], %w: f32[300], %p: f32[37, 300], %h: bf16[3, 900]",
     "  %q: i64[37] = argmax(%x, 1)\n  %a: f32[] = cross_entropy_loss(%x, %q)\n"
     "  %b: f32[37] = cross_entropy_loss(%x, %q, %w, 0, 2, 0.1)\n"
     "  %c: f32[] = cross_entropy_loss(%x, %p, %w, 2, -100, 0.3)\n"
     "  %d: f32[37] = cross_entropy_loss(%x, %p, None, 0)\n  %r: i64[3] = argmin(%h, 1)\n"
     "  %e: bf16[] = cross_entropy_loss(%h, %r)\n  return %a, %b, %c, %d, %e"},
    {"%x: f32[70, 60], %y: f32[70, 60], %d: f64[300, 3], %w: f64[3]",
     "  %a: f32[] = mse_loss(%x, %y)\n  %b: f32[] = l1_loss(%x, %y, 2)\n"
     "  %c: f32[70, 60] = huber_loss(%x, %y, 0)\n  %q: i64[300] = argmax(%d, 1)\n"
     "  %e: f64[], %f: f64[] = nll_loss_forward(%d, %q, %w, 1, -100)\n"
     "  %g: f64[], %h: f64[] = nll_loss_forward(%d, %q, None, 2, 1)\n"
     "  %i: f64[300], %j: f64[] = nll_loss_forward(%d, %q, %w, 0, 2)\n"
     "  return %a, %b, %c, %e, %f, %g, %h, %i, %j"},
    {"%x: f32[20, 6], %y: f32[9]", "  %a: f32[20, 6] = mvlgamma(%x, 1)\n  return %a"},
    {"%x: f32[300, 3]", "  %y: f32[300, 3], %i: i64[300, 3] = sort.stable(%x, stable=True, dim=0)\n"
                        "  %z: f32[300, 3] = msort(%x)\n  return %y, %i, %z"},
    /* many places in order, some of them again and again */
    {"%x: f32[64, 3], %i: i64[1100], %v: f32[1100, 3], %y: f32[64, 4], %j: i64[200, 4], "
     "%u: f32[200, 4], %h: f16[32, 64]",
     "  %k: i64[1100] = bitwise_and.Scalar(%i, 63)\n  %l: i64[200, 4] = bitwise_and.Scalar(%j, "
     "63)\n"
     "  %a: f32[64, 3] = index_put(%x, [%k], %v, True)\n  %b: f32[64, 3] = index_put(%x, [%k], "
     "%v)\n"
     "  %c: f32[64, 4] = scatter_add(%y, 0, %l, %u)\n"
     "  %d: f32[64, 4] = scatter_reduce.two(%y, 0, %l, %u, \"mean\", include_self=False)\n"
     "  %e: f32[64, 4] = scatter.value(%y, 0, %l, 2.5)\n"
     "  %m: i64[200, 4] = bitwise_and.Scalar(%j, 31)\n  %w: f16[200, 4] = _to_copy(%u, dtype=f16)\n"
     "  %f: f16[32, 64] = index_put(%h, [%m, %l], %w, True)\n  return %a, %b, %c, %d, %e, %f"},
    {"%x: f32[4, 5], %s: f32[], %k: i64[]",
     "  %n: sym{zuf0} = item(%s)\n  %m: sym{u1} = item(%k)\n  %i: i64[2] = arange(2)\n"
     "  %a: f32[4, 5] = full_like(%x, %n)\n  %b: f32[3] = full([3], %n)\n"
     "  %c: f32[6, 7] = constant_pad_nd(%x, [1, 1, 1, 1], %n)\n"
     "  %d: f32[4, 5] = index_fill.int_Scalar(%x, 0, %i, %n)\n"
     "  %e: f32[4, 5] = fill.Scalar(%x, %m)\n  %j: i64[2, 1] = unsqueeze(%i, 1)\n"
     "  %f: f32[4, 5] = scatter.value(%x, 1, %j, %n)\n  %l: sym{u1+2} = _operator.add(%m, 2)\n"
     "  %g: i64[3] = full([3], %l)\n  return %a, %b, %c, %d, %e, %f, %g",
     3},
    {"%x: i64[3, 4, 5], %y: i64[5, 4, 2], %z: i64[4, 4], %u: i64[2, 3]",
     "  %a: i64[3, 2] = einsum(\"abc,cbd->ad\", [%x, %y])\n"
     "  %b: i64[3, 5] = einsum(\"abc->ac\", [%x])\n  %c: i64[4] = einsum(\"ij->j\", [%z])\n"
     "  %d: i64[5, 4] = einsum(\"abc,cbd,da->cb\", [%x, %y, %u])\n"
     "  %e: i64[4, 3, 5, 2] = einsum(\"abc,cbd->bacd\", [%x, %y])\n"
     "  %f: i64[3, 2] = tensordot(%x, %y, [2, 1], [0, 1])\n  return %a, %b, %c, %d, %e, %f"},
};
enum { PROGRAMS = sizeof programs / sizeof *programs };

/* No other step of the program is the CPU's; how many there are. */
static size_t count_steps(const fnzi_stp_binding *b, size_t items) {
  size_t found = 0;
  for (size_t s = 0; b->is_open && s < b->thunks.count; s++)
    if (!b->device->works[s].on_device && ++found > items)
      ck_abort_msg("step %zu is the CPU's: %s", s,
                   b->device->works[s].why ? b->device->works[s].why : "no way");
  return b->is_open ? b->thunks.count : 0;
}

static void all_ran_there(const fnz_executable *exe, size_t items) {
  size_t steps = 0;
  for (size_t k = 0; k < FNZI_STP_IDLE; k++) {
    const fnz_workspace *ws = atomic_load(&exe->idle[k]);
    for (size_t i = 0; ws && i < ws->bindings.count; i++)
      steps += count_steps(ws->bindings.data[i], items);
  }
  ck_assert_uint_gt(steps, items);
}

START_TEST(formulas_have_the_interpreters_bits) {
  fnz_context *ctx = open_context();
  fnz_program *p = functional_of(ctx, program_of(ctx, programs[_i].inputs, programs[_i].body));
  fnz_executable *exe;
  fnz_arrays *inputs;
  OK(ctx, compile(ctx, p, "cuda", &exe));
  OK(ctx, fnzi_random_inputs(ctx, p, 3, &inputs));
  OK(ctx, fnz_executable_verify(ctx, exe, inputs));
  all_ran_there(exe, programs[_i].items);
  fnz_arrays_destroy(inputs);
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

int main(void) {
  TCase *c = tcase_create("formulas");
  tcase_set_timeout(c, 1200);
  tcase_add_loop_test(c, formulas_have_the_interpreters_bits, 0, PROGRAMS);
  return run_one_case("formulas", c);
}
