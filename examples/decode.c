/* decode.c - a language model writes: compiled once, called once per token, with its key and value
 * caches in a state that stays where it is.
 *
 *   cc decode.c -o decode $(pkg-config --cflags --libs fnz)
 *   ./decode fixtures/decode/llama.pt2 */
#include "example.h"

enum { TOKENS = 24, FIRST = 7 };

static fnz_program *functional(fnz_context *ctx, const char *path) {
  fnz_program *traced, *program;
  check(ctx, fnz_program_load(ctx, path, FNZ_FORMAT_AUTO, &traced));
  check(ctx, fnz_functionalize(ctx, traced, NULL, &program));
  fnz_program_destroy(traced);
  return program;
}

/* Each call reads a token and gives the next one, in the same memory. */
static void decode(fnz_context *ctx, const fnz_executable *exe, fnz_executable_state *state,
                   fnz_workspace *workspace) {
  const int64_t sizes[] = {1, 1}, strides[] = {1, 1};
  const fnz_geometry one = {.dtype = FNZ_I64, .rank = 2, .sizes = sizes, .strides = strides};
  int64_t token = FIRST, next;
  const fnz_memory input = {&token, &one};
  for (int i = 0; i < TOKENS; i++) {
    fnz_memory outputs[16] = {{NULL, NULL}}; /* the caches are in the state, and not looked at */
    for (size_t k = 0; k < fnz_executable_count(exe, FNZ_SIDE_OUTPUT); k++)
      if (!fnz_executable_slot(exe, FNZ_SIDE_OUTPUT, k).in_state)
        outputs[k].data = &next;
    const fnz_execution run = {.size = sizeof run,
                               .inputs = &input,
                               .outputs = outputs,
                               .state = state,
                               .workspace = workspace};
    check(ctx, fnz_executable_run(ctx, exe, &run));
    token = next;
    printf("%lld%c", (long long)token, i == TOKENS - 1 ? '\n' : ' ');
  }
}

int main(int argc, char **argv) {
  fnz_context *ctx;
  fnz_executable *exe;
  fnz_executable_state *state;
  fnz_workspace *workspace;
  const char *path = named_program(argc, argv);
  if (fnz_context_create(NULL, &ctx) != FNZ_OK)
    return 1;
  fnz_program *program = functional(ctx, path);
  check(ctx, fnz_compile(ctx, program, NULL, &exe));
  check(ctx, fnz_executable_state_create(ctx, exe, &state));
  check(ctx, fnz_workspace_create(ctx, exe, &workspace));

  decode(ctx, exe, state, workspace);
  const fnz_memory position = fnz_executable_state_find(state, "pos");
  printf("the caches hold %lld tokens\n", (long long)*(const int64_t *)position.data);

  fnz_workspace_destroy(workspace);
  fnz_executable_state_destroy(state);
  fnz_executable_destroy(exe);
  fnz_program_destroy(program);
  fnz_context_destroy(ctx);
  return 0;
}
