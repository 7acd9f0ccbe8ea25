/* planted_functions.c - a function that the gate refuses: functions.py. */
static int many(int a, int b, int c, int d, int e, int f, int (*g)(int, int)) {
  return a + b + c + d + e + f + g(a, b);
}

INLINE int also(int a, int b, int c, int d, int e, int f, int g) {
  return a + b + c + d + e + f + g;
}

int planted_functions(void) {
  return many(1, 2, 3, 4, 5, 6, 0);
}
