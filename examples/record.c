/* record.c - the same calls as in compute.c over a backend that computes nothing and records
 * the calls that it gets: a program without views and writes. */
#include "example.h"

typedef struct setting {
  fnz_context *ctx;
  fnz_backend *shapes, *recorder;
  fnz_wrapper *wrapper;
} setting;

static void set_up(setting *s) {
  if (fnz_context_create(NULL, &s->ctx) != FNZ_OK)
    exit(1);
  check(s->ctx, fnz_meta_backend_create(s->ctx, &s->shapes));
  check(s->ctx, fnz_recorder_create(s->ctx, s->shapes, &s->recorder));
  check(s->ctx, fnz_wrapper_create(s->ctx, s->recorder, &s->wrapper));
}

static void take_down(setting *s) {
  fnz_wrapper_destroy(s->wrapper);
  fnz_backend_destroy(s->recorder);
  fnz_backend_destroy(s->shapes);
  fnz_context_destroy(s->ctx);
}

static fnz_tensor *make_input(setting *s) {
  const int64_t sizes[] = {2, 3}, strides[] = {3, 1};
  fnz_geometry geometry = {.dtype = FNZ_F32, .rank = 2, .sizes = sizes, .strides = strides};
  fnz_handle value;
  fnz_tensor *x;
  check(s->ctx, fnz_recorder_input(s->recorder, "x", &geometry, &value));
  check(s->ctx, fnz_tensor_wrap(s->wrapper, NULL, value, &x));
  return x;
}

/* The program that leaves `x` as it is now, and whose result is `y`. */
static void print_program(setting *s, fnz_tensor *x, fnz_tensor *y) {
  fnz_handle final, result;
  fnz_program *program;
  fnz_buffer text = {NULL, 0, 0};
  check(s->ctx, fnz_tensor_read(x, &final));
  check(s->ctx, fnz_tensor_read(y, &result));
  check(s->ctx, fnz_recorder_final(s->recorder, "x", final));
  check(s->ctx, fnz_recorder_finish(s->recorder, &result, 1, &program));
  check(s->ctx, fnz_program_write(s->ctx, program, FNZ_FORMAT_TEXT, &text));
  printf("%s", text.data);
  fnz_buffer_free(s->ctx, &text);
  fnz_program_destroy(program);
}

int main(void) {
  setting s;
  set_up(&s);
  fnz_tensor *x = make_input(&s);
  fnz_tensor *y =
      call(s.ctx, s.wrapper, "select.int", (fnz_arg[]){tensor(x), number(0), number(1)}, 3);
  fnz_tensor *z = call(s.ctx, s.wrapper, "add_.Scalar", (fnz_arg[]){tensor(y), number(1)}, 2);
  print_program(&s, x, y);
  fnz_tensor_release(z);
  fnz_tensor_release(y);
  fnz_tensor_release(x);
  take_down(&s);
  return 0;
}
