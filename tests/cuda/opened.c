/* opened.c - a program that uses public headers alone runs `y = x + 1` on a device, and says
 * whether libfnz_cuda is in its memory then.
 *
 *     opened cpu|cuda|... */
#include <fnz/fnz.h>

#include <stdio.h>
#include <string.h>

static const char text[] = "fnz 1\n"
                           "program(\n"
                           "  %x: f32[3])\n"
                           "{\n"
                           "  %y: f32[3] = add.Scalar(%x, 1)\n"
                           "  return %y\n"
                           "}\n";

static void say_loaded(void) {
  char line[4096];
  int loaded = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps))
    loaded = loaded || strstr(line, "libfnz_cuda.so");
  if (maps)
    fclose(maps);
  printf("libfnz_cuda is %s\n", loaded ? "loaded" : "not loaded");
}

static fnz_status run(fnz_context *ctx, const fnz_program *program, const char *device,
                      float *result) {
  const int64_t sizes[] = {3}, strides[] = {1};
  const fnz_geometry rows = {.dtype = FNZ_F32, .rank = 1, .sizes = sizes, .strides = strides};
  float given[] = {1, 2, 3};
  const fnz_memory input = {given, &rows};
  fnz_memory output = {result, &rows};
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_executable *exe;
  options.device = device;
  options.staging = true;
  fnz_status status = fnz_compile(ctx, program, &options, &exe);
  if (status != FNZ_OK)
    return status;
  const fnz_execution run = {.size = sizeof run, .inputs = &input, .outputs = &output};
  status = fnz_executable_run(ctx, exe, &run);
  fnz_executable_destroy(exe);
  return status;
}

int main(int argc, char **argv) {
  fnz_context *ctx;
  fnz_program *program;
  float y[3] = {0};
  if (argc != 2 || fnz_context_create(NULL, &ctx) != FNZ_OK)
    return 64;
  fnz_status status = fnz_program_read(ctx, text, sizeof text - 1, FNZ_FORMAT_TEXT, &program);
  if (status == FNZ_OK) {
    status = run(ctx, program, argv[1], y);
    fnz_program_destroy(program);
  }
  if (status == FNZ_OK)
    printf("%g %g %g\n", (double)y[0], (double)y[1], (double)y[2]);
  else
    printf("%s: %s\n", fnz_class_name(fnz_last_error(ctx)->kind), fnz_last_error(ctx)->message);
  say_loaded();
  fnz_context_destroy(ctx);
  return status != FNZ_OK;
}
