/* planted_functions.c - functions that the gate refuses: functions.py. */
static void *count(void *to) {
  return to;
}

static int many(int a, int b, int c, int d, int e, int f, int (*g)(int, int)) {
  return a + b + c + d + e + f + g(a, b);
}

INLINE int also(int a, int b, int c, int d, int e, int f, int g) {
  return a + b + c + d + e + f + g;
}

int planted_functions(void) {
  return count(0) ? 0 : many(1, 2, 3, 4, 5, 6, 0);
}
