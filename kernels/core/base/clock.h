// Time for measuring: the CPU's own counter (TSC, CNTVCT), calibrated and fenced, where it is
// invariant, else CLOCK_MONOTONIC_RAW. Never the frequency of /proc/cpuinfo: calibration is against
// CLOCK_MONOTONIC_RAW, before and after.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

#include "kernels/core/base/result.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace railgauge {

// Coarse time, for decisions between batches. A test's own clock moves only on command.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual double now_ns() const = 0;  // monotonic, any origin
};

// CLOCK_MONOTONIC in ns: deadlines and phases, comparable between processes of one host.
double monotonic_now_ns();

// Whether this clocksource of the kernel reads the CPU's counter itself. Another one (hpet,
// acpi_pm, jiffies) means that the kernel found the counter unstable.
bool clocksource_trusts_counter(std::string_view name);

// Ticks for stamps in the timed region: no virtual call, no system call where the counter is
// invariant.
// Thread safe after construction.
class TickClock final : public Clock {
 public:
  struct Options {
    double calibration_seconds = 0.1;
    bool allow_counter = true;  // false forces CLOCK_MONOTONIC_RAW
  };
  // Calibrates for options.calibration_seconds. Never fails: falls back to CLOCK_MONOTONIC_RAW and
  // says why in `fallback_reason`.
  static TickClock calibrate(const Options& options);
  static TickClock calibrate() { return calibrate(Options{}); }

  // Ordered against the surrounding loads and stores (lfence; rdtsc; lfence / isb; cntvct).
  [[nodiscard]] std::uint64_t ticks() const {
#if defined(__x86_64__)
    if (counter_) [[likely]] {
      _mm_lfence();
      const std::uint64_t now = __rdtsc();
      _mm_lfence();
      return now;
    }
#elif defined(__aarch64__)
    if (counter_) [[likely]] {
      std::uint64_t now;
      asm volatile("isb; mrs %0, cntvct_el0; isb" : "=r"(now)::"memory");
      return now;
    }
#endif
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(t.tv_nsec);
  }
  [[nodiscard]] double to_ns(std::uint64_t ticks) const {
    return static_cast<double>(ticks) * ns_per_tick_;
  }
  [[nodiscard]] double now_ns() const override { return to_ns(ticks()); }

  // The counter of this architecture: what source() says where it serves.
#if defined(__aarch64__)
  static constexpr const char* kCounterName = "cntvct";
#else
  static constexpr const char* kCounterName = "tsc";
#endif
  [[nodiscard]] const char* source() const { return counter_ ? kCounterName : "monotonic_raw"; }
  [[nodiscard]] double ns_per_tick() const { return ns_per_tick_; }
  // Cost of one ticks() call: the smallest difference of two successive ones.
  [[nodiscard]] double overhead_ns() const { return overhead_ns_; }
  // The step in which ticks() advances.
  [[nodiscard]] double granularity_ns() const { return granularity_ns_; }
  [[nodiscard]] const std::string& fallback_reason() const { return fallback_reason_; }
  // Relative difference between the calibration and the rate since then, in parts per million,
  // less what the two readings themselves leave unsure; 0 without the counter. A run whose clock
  // drifted by more than kMaxDriftPpm is rejected.
  [[nodiscard]] double drift_ppm() const;
  static constexpr double kMaxDriftPpm = 50;

 private:
  // Gives the reason when the counter cannot serve.
  std::string adopt_counter(double calibration_seconds);
  void measure_own_cost();

  bool counter_ = false;
  double ns_per_tick_ = 1;
  double overhead_ns_ = 0;
  double granularity_ns_ = 0;
  std::string fallback_reason_;
  std::uint64_t origin_ticks_ = 0;
  double origin_raw_ns_ = 0;
  double origin_width_ns_ = 0;
};

}  // namespace railgauge
