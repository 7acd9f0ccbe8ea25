/* backend.c - ending a backend of any kind. */
#include <fnz/backend.h>

void fnz_backend_destroy(fnz_backend *backend) {
  if (backend)
    backend->destroy(backend->self);
}
