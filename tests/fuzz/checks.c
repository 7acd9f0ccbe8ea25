/* checks.c - see checks.h. */
#include "tests/fuzz/checks.h"

/* libcbor is not built with MemorySanitizer, which takes what it wrote for unwritten. */
#ifdef __has_feature
#if __has_feature(memory_sanitizer)
#define IS_WITHOUT_CBOR
#endif
#endif

static fnz_status text_of(fnz_context *ctx, const fnz_program *p, fnz_buffer *out) {
  *out = (fnz_buffer){0};
  return fnz_program_write(ctx, p, FNZ_FORMAT_TEXT, out);
}

static void check_round_trip(fnz_context *ctx, const fnz_program *p, fnz_format through) {
  fnz_buffer written = {0}, before = {0}, after = {0};
  fnz_program *again = NULL;
#ifdef IS_WITHOUT_CBOR
  through = FNZ_FORMAT_TEXT;
#endif
  const fnz_buffer *sent = through == FNZ_FORMAT_TEXT ? &before : &written;
  fnz_status status = text_of(ctx, p, &before);
  if (status == FNZ_OK && sent == &written)
    status = fnz_program_write(ctx, p, through, &written);
  if (status == FNZ_OK) {
    status = fnz_program_read(ctx, sent->data, sent->size, through, &again);
    PROMISE(status == FNZ_OK || status == FNZ_NO_MEMORY, "what was written is refused: %s",
            fnz_last_error(ctx)->message);
  }
  if (status == FNZ_OK && text_of(ctx, again, &after) == FNZ_OK)
    PROMISE(strcmp(before.data, after.data) == 0, "read again, it is another program");
  fnz_program_destroy(again);
  fnz_buffer_free(ctx, &written);
  fnz_buffer_free(ctx, &before);
  fnz_buffer_free(ctx, &after);
}

void check_round_trips(fnz_context *ctx, const fnz_program *p, uint32_t hash) {
  static const fnz_format through[] = {FNZ_FORMAT_TEXT, FNZ_FORMAT_CBOR};
  for (size_t i = 0; i < 2; i++)
    if (fuzz_tries(hash, i, 2))
      check_round_trip(ctx, p, through[i]);
}

static void check_pass(fnz_context *ctx, const fnz_program *p, fnz_views views, fnz_state state) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_program *functional;
  options.views = views;
  options.state = state;
  fnz_status status = fnz_functionalize(ctx, p, &options, &functional);
  PROMISE(status != FNZ_INTERNAL, "functionalize: %s", fnz_last_error(ctx)->message);
  if (status != FNZ_OK)
    return;
  const fnz_verify_options once = {.size = sizeof once, .trials = 1, .allow_narrower = true};
  status = fnz_verify(ctx, p, functional, NULL, &once, NULL);
  PROMISE(status != FNZ_INTERNAL && status != FNZ_DIFFERENT, "verify: %s: %s",
          fnz_last_error(ctx)->where, fnz_last_error(ctx)->message);
  check_round_trip(ctx, functional, FNZ_FORMAT_CBOR);
  fnz_program_destroy(functional);
}

void check_dialects(fnz_context *ctx, const fnz_program *p, uint32_t hash) {
  static const struct {
    fnz_views views;
    fnz_state state;
  } dialects[] = {{FNZ_VIEWS_COPY, FNZ_STATE_OUTPUTS},    {FNZ_VIEWS_KEEP, FNZ_STATE_OUTPUTS},
                  {FNZ_VIEWS_STRIDED, FNZ_STATE_OUTPUTS}, {FNZ_VIEWS_COPY, FNZ_STATE_EPILOGUE},
                  {FNZ_VIEWS_COPY, FNZ_STATE_IO},         {FNZ_VIEWS_COPY, FNZ_STATE_BUFFERS}};
  for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++)
    if (fuzz_tries(hash / 2, i, sizeof dialects / sizeof *dialects))
      check_pass(ctx, p, dialects[i].views, dialects[i].state);
}
