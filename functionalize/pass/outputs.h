/* outputs.h - the outputs of a graph: outputs.c collects them, output_aliases.c finds whose memory
 * they are in, epilogue.c makes writes of the final values. */
#ifndef FNZI_OUTPUTS_H
#define FNZI_OUTPUTS_H

#include "functionalize/pass/pass.h"

typedef struct fnzi_pass_output {
  fnz_output_spec spec;
  fnz_arg arg;
  fnz_handle handle;  /* of a tensor */
  fnz_tensor *tensor; /* the same, of the source program; NULL for memory that no tensor is */
  uint32_t input;     /* of a mutation: the input */
  bool written;       /* of a mutation: elements change, not only sizes and strides */
  /* The windows that change, of a mutation that an epilogue writes; none: all is written. */
  fnzi_rec_writes writes;
} fnzi_pass_output;

typedef struct fnzi_pass_output_list {
  fnzi_pass_output *data;
  size_t count, mutations; /* the first `mutations` are final values */
} fnzi_pass_output_list;

/* --- output_aliases.c ------------------------------------------------------------------------- */
/* Finds for every user output, and for every input that was moved to other memory, which input or
 * output it shares memory with. */
FNZ_MUST_CHECK fnz_status fnzi_pass_outputs_alias(fnzi_pass *p, fnzi_pass_output_list *out);
/* Adds the guards of the source, and a guard that written inputs do not share memory with other
 * inputs. After the graph is built. */
FNZ_MUST_CHECK fnz_status fnzi_pass_guards_add(fnzi_pass *p);

/* --- epilogue.c ------------------------------------------------------------------------------- */
/* Makes writes of the final values of inputs, at the end of the graph that is built, in place of
 * outputs. */
FNZ_MUST_CHECK fnz_status fnzi_pass_epilogue_add(fnzi_pass *p, const fnzi_pass_output_list *out);

#endif
