// Clocks, throttle reasons, temperature, power and PCIe link of GPUs, read by NVML while a point is
// measured, so that a figure taken with throttled clocks is marked.
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
  // The link as trained at the reading: an idle link trains down.
  Seen pcie_generation;
  Seen pcie_width;
  std::uint64_t reason_readings = 0;
  std::uint64_t throttled_readings = 0;
  // The reasons of all readings together (nvmlClocksEventReasons).
  unsigned long long reasons = 0;
  // From the counters; `interval_ns` is the time from their first reading to their last.
  Held held;
  double interval_ns = 0;
  // Processes with a context on the GPU at any look but the first, this process included; each
  // once.
  std::vector<ml::Process> processes;
};

// A point is not throttled when its counters grew by less than this share of the interval: fewer
// than one in a thousand of its many samples could be affected. The fact throttled_ns has the time.
inline constexpr double kLeastHeldShare = 0.001;

// Returns the bits of `reasons` that hold the clocks down: all but idle and chosen application
// clocks.
unsigned long long throttling(unsigned long long reasons);
// Formats throttling reasons: "power cap, thermal slowdown by software"; "none".
std::string throttle_words(unsigned long long reasons);

// Adds to `point` the readings of the GPUs that its pair names (of all GPUs when it names none):
// sm_clock_mhz (mean), sm_clock_mhz_min, memory_clock_mhz, temperature_c and power_w (highest),
// pcie_generation and pcie_width (highest: an idle link trains down), throttle_reasons,
// throttled_readings, throttled_ns (by NVML's counters), and `throttled`. With several GPUs the
// worst counts. Pure.
void add_health(std::span<const GpuHealth> seen, Point& point);

// Reads at begin(), on its own thread after 5, 10, 20, 40, 80 and then every 100 ms, and at end().
// Short intervals, the usual case, thus have readings too; NVML's counters cover the time between
// readings. A reading disturbs small copies that the CPU stamps (the first copy after one was
// slow), so the first pause is 5 ms, the pauses grow, and readings before the first 100 ms cover
// only clocks and reasons. Users of the GPUs are read once a second and at end(). Call begin()
// before the last copies that are not kept. Never fails: a value that NVML does not report is
// absent. A still watch reads at begin() and end() only: nothing of it runs beside the samples, and
// NVML's counters alone cover the time between. Not thread safe.
class HealthWatch {
 public:
  enum class Watching : std::uint8_t { kRunning, kStill };
  explicit HealthWatch(std::span<const Gpu> gpus, Watching watching = Watching::kRunning);
  HealthWatch(const HealthWatch&) = delete;
  HealthWatch& operator=(const HealthWatch&) = delete;
  ~HealthWatch() { stop(); }

  // Returns the reason why nothing is watched, or "" when the watch works.
  [[nodiscard]] const std::string& blind() const { return blind_; }

  // Starts an interval; ends an open one first.
  void begin();
  // Takes the last reading and ends the interval; does nothing without an open one.
  void end();
  // Adds the readings of the last ended interval to `point`; may be called for several points. Adds
  // nothing without begin().
  void add_to(Point& point) const;
  // Returns GpuHealth::processes of the last ended interval for the GPU `name`.
  [[nodiscard]] std::vector<ml::Process> processes(std::string_view name) const;

 private:
  void for_each(void (*read)(const Nvml&, ml::Device, GpuHealth&));
  void stop();

  std::string blind_;
  NvmlUse use_;
  // The GPUs that NVML shows, and their names.
  std::vector<NvmlGpu> gpus_;
  std::vector<std::string> names_;
  // Owned by the thread while it runs.
  std::vector<GpuHealth> seen_;
  std::vector<HeldTimes> held_before_;
  double begin_ns_ = 0;
  Watching watching_ = Watching::kRunning;
  bool open_ = false;  // between begin() and end()
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace railgauge::gpu
