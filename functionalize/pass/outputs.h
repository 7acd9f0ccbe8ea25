/* outputs.h - the outputs of a graph on their way into the signature: outputs.c collects them,
 * output_aliases.c says whose memory they lie in, epilogue.c makes writes of the final values. */
#ifndef FNZI_OUTPUTS_H
#define FNZI_OUTPUTS_H

#include "functionalize/pass/pass.h"

typedef struct fnzi_output {
  fnz_output_spec spec;
  fnz_arg arg;
  fnz_handle handle;  /* of a tensor */
  fnz_tensor *tensor; /* the same, of the source program; NULL for all of a memory */
  uint32_t input;     /* of a mutation: whose */
  bool written;       /* of a mutation: elements have changed, not only sizes and strides */
} fnzi_output;

typedef struct fnzi_outputs {
  fnzi_output *data;
  size_t count, mutations; /* the first `mutations` are final values */
} fnzi_outputs;

/* --- output_aliases.c ------------------------------------------------------------------------- */
/* Says of every user output, and of every input that was moved to other memory, whose memory it
 * lies in. */
FNZ_MUST_CHECK fnz_status fnzi_share_outputs(fnzi_pass *p, fnzi_outputs *out);
/* The guards of the source, and that inputs that are written lie in nobody else's memory. After the
 * graph is built. */
FNZ_MUST_CHECK fnz_status fnzi_add_guards(fnzi_pass *p, const fnzi_outputs *out);

/* --- epilogue.c ------------------------------------------------------------------------------- */
/* Makes the final values of inputs writes at the end of the graph, which is built: they are no
 * outputs any more. */
FNZ_MUST_CHECK fnz_status fnzi_add_epilogue(fnzi_pass *p, const fnzi_outputs *out);

#endif
