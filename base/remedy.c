/* remedy.c - remedies of failures that the system reports, for the end of a message. */
#include "base/remedy.h"

#include <errno.h>

const char *fnzi_errno_remedy(int error) {
  switch (error) {
  case ENOENT:
    return "; check the path";
  case EACCES:
  case EPERM:
    return "; change its permissions, or those of its folder";
  case ENOSPC:
  case EDQUOT:
    return "; free some space, or write elsewhere";
  case EROFS:
    return "; write elsewhere";
  default:
    return "";
  }
}
