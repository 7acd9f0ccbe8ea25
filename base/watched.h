/* watched.h - whether AddressSanitizer watches this build: blocks are then the allocator's one by
 * one, frames are larger and everything is slower. */
#ifndef FNZI_WATCHED_H
#define FNZI_WATCHED_H

#if defined(__SANITIZE_ADDRESS__)
#define FNZI_WATCHED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FNZI_WATCHED 1
#endif
#endif
#ifndef FNZI_WATCHED
#define FNZI_WATCHED 0
#endif

#endif
