/* fold.cu - words that kernels/folds.def uses: its rows become types with functions. */
VALUE float PLUS(float a, float x) {
  return a + x;
}
VALUE double PLUS(double a, double x) {
  return a + x;
}
VALUE int64_t PLUS(int64_t a, int64_t x) {
  return (int64_t)((uint64_t)a + (uint64_t)x);
}
VALUE float TIMES(float a, float x) {
  return a * x;
}
VALUE double TIMES(double a, double x) {
  return a * x;
}
VALUE int64_t TIMES(int64_t a, int64_t x) {
  return (int64_t)((uint64_t)a * (uint64_t)x);
}

template <class T> struct bounds_of {
  VALUE T least() {
    return -(T)INFINITY;
  }
  VALUE T most() {
    return (T)INFINITY;
  }
};
template <> struct bounds_of<int64_t> {
  VALUE int64_t least() {
    return INT64_MIN;
  }
  VALUE int64_t most() {
    return INT64_MAX;
  }
};
#define LEAST (bounds_of<T>::least())
#define MOST  (bounds_of<T>::most())

#define FOLD(name, start, step)                                                                    \
  template <class T> struct fold_##name {                                                          \
    VALUE T first() {                                                                              \
      return (T)(start);                                                                           \
    }                                                                                              \
    VALUE T take(T a, T x) {                                                                       \
      return (T)(step);                                                                            \
    }                                                                                              \
  };
#define TRUTH(name, start, step) FOLD(name, start, step)
#define PICK(name, better)                                                                         \
  template <class T> struct pick_##name {                                                          \
    VALUE bool is_better(T a, T x) {                                                               \
      return better;                                                                               \
    }                                                                                              \
  };
#define RUNNING(name, over)                                                                        \
  template <class T> struct running_##name {                                                       \
    VALUE bool takes_over(T a, T x) {                                                              \
      return over;                                                                                 \
    }                                                                                              \
  };

/* logcumsumexp's, which has no row. */
template <class T> struct fold_logs {
  VALUE T take(T a, T x) {
    return add_in_logs(x, a);
  }
};
