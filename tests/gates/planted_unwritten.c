/* planted_unwritten.c - decides by a byte that was never written: what MemorySanitizer must see. */
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  volatile char *room = malloc(16);
  if (!room || room[3] == 'x')
    puts("by chance");
  free((void *)room);
  return 0;
}
