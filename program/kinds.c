/* kinds.c - names of the kinds of inputs and outputs, and the purpose of each kind of output. */
#include "program/program.h"

const char *const fnzi_input_kind_names[FNZ_INPUT_KIND_COUNT] = {
#define INPUT_NAME(id, name) name,
    FNZ_INPUT_KIND_ROWS(INPUT_NAME)
#undef INPUT_NAME
};

const char *const fnzi_output_kind_names[FNZ_OUTPUT_KIND_COUNT] = {
#define OUTPUT_NAME(id, name) name,
    FNZ_OUTPUT_KIND_ROWS(OUTPUT_NAME)
#undef OUTPUT_NAME
};

const char *fnz_input_kind_name(fnz_input_kind kind) {
  return (unsigned)kind < FNZ_INPUT_KIND_COUNT ? fnzi_input_kind_names[kind] : "";
}

const char *fnz_output_kind_name(fnz_output_kind kind) {
  return (unsigned)kind < FNZ_OUTPUT_KIND_COUNT ? fnzi_output_kind_names[kind] : "";
}

enum { NONE = FNZI_NO_INPUT_KIND };

/* Columns: kind; its consumer; the kind of input that it belongs to; the prefix of its name before
 * that input's name, NULL if it has another name. */
static const fnzi_output_kind kinds[FNZ_OUTPUT_KIND_COUNT] = {
    [FNZ_OUTPUT_USER] = {FNZI_TAKEN_BY_USER, NONE, NULL},
    [FNZ_OUTPUT_LOSS] = {FNZI_TAKEN_BY_USER, NONE, NULL},
    [FNZ_OUTPUT_BUFFER_MUTATION] = {FNZI_TAKEN_AS_FINAL, FNZ_INPUT_BUFFER, "buffer"},
    [FNZ_OUTPUT_PARAMETER_MUTATION] = {FNZI_TAKEN_AS_FINAL, FNZ_INPUT_PARAMETER, "parameter"},
    [FNZ_OUTPUT_INPUT_MUTATION] = {FNZI_TAKEN_AS_FINAL, FNZ_INPUT_USER, "input"},
    [FNZ_OUTPUT_PARAMETER_GRADIENT] = {FNZI_TAKEN_BY_TRAINING, FNZ_INPUT_PARAMETER, NULL},
    [FNZ_OUTPUT_INPUT_GRADIENT] = {FNZI_TAKEN_BY_TRAINING, FNZ_INPUT_USER, NULL},
    [FNZ_OUTPUT_TOKEN] = {FNZI_TAKEN_BY_NOBODY, NONE, NULL},
    [FNZ_OUTPUT_MEMORY_MUTATION] = {FNZI_TAKEN_AS_FINAL, FNZ_INPUT_MEMORY, NULL},
};

const fnzi_output_kind *fnzi_output_kind_of(const fnz_output_spec *spec) {
  return &kinds[spec->kind];
}
