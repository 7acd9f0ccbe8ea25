/* special.cu - the rows of kernels/special_functions.def, which follow in the text, as formulas. */
#define OF_ONE(op, function)                                                                       \
  VALUE void formula_##op(int64_t at, const cells *w, const int64_t *n, const double *d) {         \
    fnzi_cpu_real_put(&w[2], at, function(fnzi_cpu_real_at(&w[0], at)));                           \
  }
#define OF_TWO(op, function)                                                                       \
  VALUE void formula_##op(int64_t at, const cells *w, const int64_t *n, const double *d) {         \
    fnzi_cpu_real_put(&w[2], at,                                                                   \
                      function(fnzi_cpu_real_at(&w[0], at), fnzi_cpu_real_at(&w[1], at)));         \
  }
