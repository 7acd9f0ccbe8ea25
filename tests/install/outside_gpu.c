/* outside_gpu.c - prints a plan for a kind of GPU. */
#include <fnz/fnz.h>

#include <stdio.h>

static const char text[] = "fnz 1\n"
                           "program(\n"
                           "  %x: f32[3])\n"
                           "{\n"
                           "  %y: f32[3] = add.Scalar(%x, 1)\n"
                           "  return %y\n"
                           "}\n";

int main(void) {
  fnz_plan_options options = FNZ_PLAN_OPTIONS_INIT;
  fnz_buffer plan = {0};
  fnz_context *ctx;
  fnz_program *program = NULL;
  options.device = "sm_90";
  if (fnz_context_create(NULL, &ctx) != FNZ_OK)
    return 64;
  fnz_status status = fnz_program_read(ctx, text, sizeof text - 1, FNZ_FORMAT_TEXT, &program);
  if (status == FNZ_OK)
    status = fnz_plan_write(ctx, program, &options, &plan);
  if (status == FNZ_OK)
    fwrite(plan.data, 1, plan.size, stdout);
  else
    fprintf(stderr, "%s\n", fnz_last_error(ctx)->message);
  fnz_buffer_free(ctx, &plan);
  fnz_program_destroy(program);
  fnz_context_destroy(ctx);
  return status != FNZ_OK;
}
