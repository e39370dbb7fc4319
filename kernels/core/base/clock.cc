// Calibration of the CPU's counter, and the tests that decide whether it may serve.
#include "kernels/core/base/clock.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
#include <optional>
#include <thread>

#include <fmt/format.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace railgauge {
namespace {
// Bounds of the calibration in seconds. Below the least the brackets' own width is above 50 ppm.
constexpr double kMinCalibrationSeconds = 0.02;
constexpr double kMaxCalibrationSeconds = 5;
// Brackets of which the tightest is kept.
constexpr int kBracketReads = 64;
// Readings in a row that give the cost of one.
constexpr int kOverheadReads = 2000;
// CPUs that are visited at most: on a host of hundreds every n-th one.
constexpr int kMaxCpusVisited = 64;
// The kernel's own choice; it leaves the counter where the watchdog finds it unstable.
constexpr const char* kClocksourceFile =
    "/sys/devices/system/clocksource/clocksource0/current_clocksource";

// CLOCK_MONOTONIC_RAW in ns: NTP does not bend it.
double raw_now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

// One moment on both clocks. `width_ns` bounds how far apart the two readings can be.
struct Moment {
  std::uint64_t ticks = 0;
  double raw_ns = 0;
  double width_ns = std::numeric_limits<double>::infinity();
};

// The tightest of several (raw, ticks, raw) brackets: an interrupt inside one makes it wide.
Moment moment(const TickClock& clock) {
  Moment best;
  for (int i = 0; i < kBracketReads; ++i) {
    const double before = raw_now_ns();
    const std::uint64_t ticks = clock.ticks();
    const double after = raw_now_ns();
    if (after - before < best.width_ns)
      best = {ticks, before + (after - before) / 2, after - before};
  }
  return best;
}

// Nanoseconds of one tick between two moments. NaN where the ticks did not advance.
double ns_per_tick_between(const Moment& a, const Moment& b) {
  if (b.ticks <= a.ticks || b.raw_ns <= a.raw_ns) return std::numeric_limits<double>::quiet_NaN();
  return (b.raw_ns - a.raw_ns) / static_cast<double>(b.ticks - a.ticks);
}

void sleep_seconds(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

// CPUID leaf 0x80000007, bit 8 of EDX (Intel SDM, AMD APM): the counter runs at one rate in all
// power states.
bool counter_is_invariant() {
#if defined(__x86_64__)
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(0x80000007U, &eax, &ebx, &ecx, &edx) != 0 && (edx & (1U << 8U)) != 0;
#elif defined(__aarch64__)
  return true;  // the architected counter has one frequency by definition
#else
  return false;
#endif
}

// Visits the CPUs that this thread may use and reads the counter on each. A counter that is behind
// by more than one migration shows. Returns the CPU where that happened, and restores the thread's
// affinity.
std::optional<int> cpu_that_went_back(const TickClock& clock) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return std::nullopt;
  const int stride = std::max(1, CPU_COUNT(&allowed) / kMaxCpusVisited);
  std::optional<int> guilty;
  std::uint64_t last = 0;
  for (int round = 0; round < 2 && !guilty; ++round) {
    int index = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE && !guilty; ++cpu) {
      if (!CPU_ISSET(cpu, &allowed) || index++ % stride != 0) continue;
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      if (sched_setaffinity(0, sizeof(one), &one) != 0) continue;
      const std::uint64_t now = clock.ticks();
      if (now < last) guilty = cpu;
      last = now;
    }
  }
  sched_setaffinity(0, sizeof(allowed), &allowed);
  return guilty;
}

}  // namespace

double monotonic_now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

// The names of Linux, of its guests under KVM, Hyper-V and Xen, and of Arm's counter.
bool clocksource_trusts_counter(std::string_view name) {
  constexpr std::string_view kBuiltOnTheCounter[] = {
      "tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "xen", "arch_sys_counter"};
  return std::ranges::find(kBuiltOnTheCounter, name) != std::end(kBuiltOnTheCounter);
}

// Calibrates in two halves: a counter whose rate changes gives two different rates.
std::string TickClock::adopt_counter(double calibration_seconds) {
  if (!counter_is_invariant())
    return fmt::format("the CPU does not state an invariant {}", kCounterName);
  std::string clocksource;
  if (std::ifstream file(kClocksourceFile); std::getline(file, clocksource))
    if (!clocksource_trusts_counter(clocksource))
      return fmt::format("the kernel's clocksource is {}, not built on {}", clocksource,
                         kCounterName);
  counter_ = true;
  if (const auto cpu = cpu_that_went_back(*this))
    return fmt::format("{} of CPU {} is behind another CPU's", kCounterName, *cpu);

  const double half =
      std::clamp(calibration_seconds, kMinCalibrationSeconds, kMaxCalibrationSeconds) / 2;
  const Moment begin = moment(*this);
  sleep_seconds(half);
  const Moment middle = moment(*this);
  sleep_seconds(half);
  const Moment end = moment(*this);
  const double first = ns_per_tick_between(begin, middle);
  const double second = ns_per_tick_between(middle, end);
  const double apart_ppm = std::abs(first / second - 1) * 1e6;
  if (!(apart_ppm <= kMaxDriftPpm))
    return fmt::format("two calibrations of {} differ by {:.0f} ppm", kCounterName, apart_ppm);
  ns_per_tick_ = ns_per_tick_between(begin, end);
  origin_ticks_ = end.ticks;
  origin_raw_ns_ = end.raw_ns;
  origin_width_ns_ = end.width_ns;
  return {};
}

// The step of ticks() is the greatest common divisor of all differences.
void TickClock::measure_own_cost() {
  std::uint64_t smallest = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t step = 0;  // greatest common divisor of all differences
  std::uint64_t last = ticks();
  for (int i = 0; i < kOverheadReads; ++i) {
    const std::uint64_t now = ticks();
    smallest = std::min(smallest, now - last);
    step = std::gcd(step, now - last);
    last = now;
  }
  overhead_ns_ = to_ns(smallest);
  granularity_ns_ = to_ns(std::max<std::uint64_t>(step, 1));
}

TickClock TickClock::calibrate(const Options& options) {
  TickClock clock;
  clock.fallback_reason_ = options.allow_counter ? clock.adopt_counter(options.calibration_seconds)
                                                 : fmt::format("{} was not allowed", kCounterName);
  if (!clock.fallback_reason_.empty()) {
    clock.counter_ = false;
    clock.ns_per_tick_ = 1;
  }
  clock.measure_own_cost();
  return clock;
}

// The uncertainty of both readings is taken off, so that a short run is not rejected for its
// brackets.
double TickClock::drift_ppm() const {
  if (!counter_) return 0;
  const Moment now = moment(*this);
  const double raw_ns = now.raw_ns - origin_raw_ns_;
  if (raw_ns <= 0) return 0;
  const double ahead_ns = to_ns(now.ticks - origin_ticks_) - raw_ns;
  const double unsure_ns = (now.width_ns + origin_width_ns_) / 2;
  const double sure_ns = std::copysign(std::max(0.0, std::abs(ahead_ns) - unsure_ns), ahead_ns);
  return sure_ns / raw_ns * 1e6;
}

}  // namespace railgauge
