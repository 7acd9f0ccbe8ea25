/* planted.c - what each gate must fail on: tests build a library with it and demand that they do.
 */
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

API int fnz_planted_even(unsigned n);
API int fnz_planted_deep(const char *text);
API int fnz_planted_pointer(int (*compute)(int), int x);
API int fnz_planted_system(const char *text);
API size_t fnz_planted_bytes(size_t rows, size_t columns);
int odd(unsigned n);

/* A type whose name is another one's in base/base.h. */
typedef struct fnzi_map {
  int unlike;
} fnzi_map;

/* Two that call each other, so that no compiler makes a loop of them at once. */
__attribute__((noinline)) int odd(unsigned n) {
  volatile unsigned less = n - 1;
  return n ? fnz_planted_even(less) + 1 : 0;
}

__attribute__((noinline)) int fnz_planted_even(unsigned n) {
  volatile unsigned less = n - 1;
  return n ? odd(less) + 2 : 1;
}

int fnz_planted_deep(const char *text) {
  volatile char room[100000];
  memcpy((char *)room, text, sizeof room);
  return room[text[0] & 1];
}

int fnz_planted_pointer(int (*compute)(int), int x) {
  return compute(x) + 1;
}

int fnz_planted_system(const char *text) {
  return system(text);
}

size_t fnz_planted_bytes(size_t rows, size_t columns) {
  return rows * columns;
}
