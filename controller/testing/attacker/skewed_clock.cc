// A library to preload: the wall clock of the process is RAILGAUGE_TEST_SKEW_SECONDS beside the
// host's. Other clocks stay. For tests only.
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

namespace {

time_t skew() {
  static const time_t seconds = [] {
    const char* text = ::getenv("RAILGAUGE_TEST_SKEW_SECONDS");
    return text == nullptr ? time_t{0} : static_cast<time_t>(std::strtol(text, nullptr, 10));
  }();
  return seconds;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const auto result = static_cast<int>(::syscall(SYS_clock_gettime, clock, now));
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    now->tv_sec += skew();
  return result;
}

int gettimeofday(timeval* now, void*) noexcept {
  timespec precise{};
  const int result = clock_gettime(CLOCK_REALTIME, &precise);
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1'000;
  return result;
}

time_t time(time_t* out) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"
