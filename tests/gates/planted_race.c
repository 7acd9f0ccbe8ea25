/* planted_race.c - two threads that write one number: what ThreadSanitizer must see. */
#include <pthread.h>
#include <stddef.h>

static int shared;

static void *count(void *user) {
  for (int i = 0; i < 1000; i++)
    shared += user == NULL;
  return NULL;
}

int main(void) {
  pthread_t other;
  if (pthread_create(&other, NULL, count, NULL))
    return 0;
  count(NULL);
  pthread_join(other, NULL);
  return shared == 1;
}
