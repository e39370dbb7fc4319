// Time for measuring: the CPU's own counter (TSC, CNTVCT), calibrated and fenced, where it is
// invariant; else CLOCK_MONOTONIC_RAW. The calibration compares with CLOCK_MONOTONIC_RAW at both
// ends and never uses the frequency of /proc/cpuinfo.
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
  // Nanoseconds since any origin; never goes back.
  [[nodiscard]] virtual double now_ns() const = 0;
};

// CLOCK_MONOTONIC in ns: deadlines and phases, comparable between processes of one host.
double monotonic_now_ns();

// Reports whether the kernel's clocksource `name` reads the CPU's counter itself. Any other one
// (hpet, acpi_pm, jiffies) means that the kernel found the counter unstable. Pure.
bool clocksource_trusts_counter(std::string_view name);

// Ticks for stamps in the timed region: no virtual call, and no system call where the counter is
// invariant. Thread safe after construction.
class TickClock final : public Clock {
 public:
  // Settings of the calibration.
  struct Options {
    // Seconds of the calibration; clamped to 0.02 to 5.
    double calibration_seconds = 0.1;
    // False forces CLOCK_MONOTONIC_RAW.
    bool allow_counter = true;
  };
  // Calibrates for options.calibration_seconds. Never fails: it falls back to CLOCK_MONOTONIC_RAW
  // and gives the reason in `fallback_reason`.
  static TickClock calibrate(const Options& options);
  static TickClock calibrate() { return calibrate(Options{}); }

  // Returns the counter's present value, ordered against the surrounding loads and stores (lfence;
  // rdtsc; lfence / isb; cntvct). Nanoseconds in the fallback.
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
  // Converts a difference of ticks() to nanoseconds.
  [[nodiscard]] double to_ns(std::uint64_t ticks) const {
    return static_cast<double>(ticks) * ns_per_tick_;
  }
  [[nodiscard]] double now_ns() const override { return to_ns(ticks()); }

  // The counter of this architecture, as source() names it.
#if defined(__aarch64__)
  // The counter of this architecture, as source() names it.
  static constexpr const char* kCounterName = "cntvct";
#else
  static constexpr const char* kCounterName = "tsc";
#endif
  [[nodiscard]] const char* source() const { return counter_ ? kCounterName : "monotonic_raw"; }
  [[nodiscard]] double ns_per_tick() const { return ns_per_tick_; }
  // Returns the cost of one ticks() call in ns: the smallest difference of two successive calls.
  [[nodiscard]] double overhead_ns() const { return overhead_ns_; }
  // Returns the step in ns by which ticks() advances.
  [[nodiscard]] double granularity_ns() const { return granularity_ns_; }
  // Returns the reason why the counter is not used, or "" when it is.
  [[nodiscard]] const std::string& fallback_reason() const { return fallback_reason_; }
  // Returns the relative difference in parts per million between the calibrated rate and the rate
  // since then, less the uncertainty of both readings; 0 without the counter. A run with a drift
  // above kMaxDriftPpm is rejected.
  [[nodiscard]] double drift_ppm() const;
  static constexpr double kMaxDriftPpm = 50;

 private:
  // Calibrates the counter. Returns the reason when it cannot serve, else "".
  std::string adopt_counter(double calibration_seconds);
  void measure_own_cost();

  bool counter_ = false;
  double ns_per_tick_ = 1;
  double overhead_ns_ = 0;
  double granularity_ns_ = 0;
  std::string fallback_reason_;
  // The end of the calibration on both clocks; the drift counts from here.
  std::uint64_t origin_ticks_ = 0;
  double origin_raw_ns_ = 0;
  double origin_width_ns_ = 0;
};

}  // namespace railgauge
