// Takes the place of pthread_create() in the programs that serve, controller and agent. gRPC 1.51
// counts a thread before it makes it and does not look whether that failed: its timers' threads are
// waited for without end at grpc_shutdown(), and work that was queued for its executor's is never
// done.
#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>
#include <ctime>

#include "kernels/core/base/exhaustion.h"

namespace {

using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

// The C library's, or that of a sanitizer before it.
Create next_create() {
  static const auto next = reinterpret_cast<Create>(::dlsym(RTLD_NEXT, "pthread_create"));
  return next;
}

}  // namespace

// A lack that passes within a second costs nothing but this second.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*body)(void*), void* argument) noexcept {
  constexpr int kTries = 20;
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 50'000'000};
  int error = next_create()(thread, attributes, body, argument);
  for (int i = 1; i < kTries && railgauge::ends_when_exhausted(); ++i) {
    if (error != EAGAIN && error != ENOMEM) return error;
    ::nanosleep(&kPause, nullptr);
    error = next_create()(thread, attributes, body, argument);
  }
  if ((error == EAGAIN || error == ENOMEM) && railgauge::ends_when_exhausted())
    railgauge::end_exhausted(
        "threads: none could be made for a second; the process ends, and what it has acknowledged "
        "is kept; raise its limits of memory and of tasks");
  return error;
}
