// A library to preload: the wall clock of the process is RAILGAUGE_TEST_SKEW_SECONDS beside the
// host's, or so many seconds as the 64-bit number in the file RAILGAUGE_TEST_SKEW_FILE says at the
// moment. Other clocks stay. For tests only.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace {

// The number in the file, which may change at any time; null without such a file. The file is
// mapped at the first look, before a runner's confinement could forbid it.
const volatile std::int64_t* jumps() {
  static const volatile std::int64_t* const page = []() -> const volatile std::int64_t* {
    const char* path = ::getenv("RAILGAUGE_TEST_SKEW_FILE");
    const int fd = path == nullptr ? -1 : ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return nullptr;
    void* const mapped = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, fd, 0);
    ::close(fd);
    return mapped == MAP_FAILED ? nullptr : static_cast<const volatile std::int64_t*>(mapped);
  }
  ();
  return page;
}

time_t skew() {
  if (const volatile std::int64_t* const now = jumps()) return static_cast<time_t>(*now);
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
