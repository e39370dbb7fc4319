// Clocks, throttle reasons, temperature, power and PCIe link of GPUs, watched by NVML while a point
// is measured: a figure that was taken with the clocks held down says so.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "kernels/core/base/record.pb.h"
#include "kernels/dl/nvml_devices.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/session/health_counters.h"

namespace railgauge::gpu {

// Lowest, highest and mean of one figure's readings. mean() needs at least one reading.
class Seen {
 public:
  void add(double value);
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] double lowest() const { return lowest_; }
  [[nodiscard]] double highest() const { return highest_; }
  [[nodiscard]] double mean() const { return sum_ / static_cast<double>(count_); }

 private:
  std::uint64_t count_ = 0;
  double sum_ = 0;
  double lowest_ = 0;
  double highest_ = 0;
};

// The readings of one GPU in an interval; a figure that NVML does not report has no reading.
struct GpuHealth {
  std::string name;  // "gpu0"
  Seen sm_clock_mhz;
  Seen memory_clock_mhz;
  Seen temperature_c;
  Seen power_w;
  // The link as it is trained: an idle link trains down.
  Seen pcie_generation;
  Seen pcie_width;
  std::uint64_t reason_readings = 0;
  std::uint64_t throttled_readings = 0;
  // The reasons of all readings together (nvmlClocksEventReasons).
  unsigned long long reasons = 0;
  // By the counters, from their first reading to their last: `interval_ns`.
  Held held;
  double interval_ns = 0;
  // With a context on it at one of the looks but the first, this process too; each once.
  std::vector<ml::Process> processes;
};

// Counters that grew by less than this share of the interval make no figure throttled: samples are
// many, and fewer than one in a thousand could have met it. The fact throttled_ns has the time.
inline constexpr double kLeastHeldShare = 0.001;

// The bits of `reasons` that hold the clocks down: all but idle and a chosen application clock.
unsigned long long throttling(unsigned long long reasons);
// The same in words: "power cap, thermal slowdown by software"; "none".
std::string throttle_words(unsigned long long reasons);

// Adds to `point` the readings of the GPUs that its pair names (of all where it names none):
// sm_clock_mhz (mean), sm_clock_mhz_min, memory_clock_mhz, temperature_c and power_w (highest),
// pcie_generation and pcie_width (highest: an idle link trains down), throttle_reasons,
// throttled_readings, throttled_ns (by NVML's counters), and `throttled`. With several GPUs the
// worst counts. Pure.
void add_health(std::span<const GpuHealth> seen, Point& point);

// Reads at begin(), from a thread of its own after 5, 10, 20, 40, 80 and then every 100 ms, and at
// end(). So short intervals, as most are, have readings too; NVML's counters cover the time between
// two. A reading disturbs small copies that the CPU stamps (the first one after it was slow), so it
// waits until after the first ms, its pauses grow, and those before the first 100 ms read clocks
// and reasons alone. The users of the GPUs are read once a second and at end(). Call begin() before
// the last copies that are not kept. Never fails: a value that NVML does not report is absent.
// Not thread safe.
class HealthWatch {
 public:
  explicit HealthWatch(std::span<const Gpu> gpus);
  HealthWatch(const HealthWatch&) = delete;
  HealthWatch& operator=(const HealthWatch&) = delete;
  ~HealthWatch() { stop(); }

  // Why nothing is watched; empty when it is.
  [[nodiscard]] const std::string& blind() const { return blind_; }

  // Starts an interval; ends one that is still open.
  void begin();
  // The last reading of the interval; nothing where none is under way.
  void end();
  // Adds what was seen in the interval that ended last, to one point or to several. Without begin()
  // there is nothing to add.
  void add_to(Point& point) const;
  // The processes of the interval that ended last, on the GPU `name`: GpuHealth::processes.
  [[nodiscard]] std::vector<ml::Process> processes(std::string_view name) const;

 private:
  void for_each(void (*read)(const Nvml&, ml::Device, GpuHealth&));
  void stop();

  std::string blind_;
  NvmlUse use_;
  // Those that NVML shows, and their names.
  std::vector<NvmlGpu> gpus_;
  std::vector<std::string> names_;
  // Owned by the thread while it runs.
  std::vector<GpuHealth> seen_;
  std::vector<HeldTimes> held_before_;
  double begin_ns_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace railgauge::gpu
