// The watching thread, and the facts that its readings become.
#include "kernels/gpu/session/health.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/dl/nvml.h"
#include "kernels/gpu/session/usage.h"

namespace railgauge::gpu {
namespace {

// The first pause between two readings; each next one is twice as long.
constexpr auto kFirstPause = std::chrono::milliseconds(5);
// The longest pause.
constexpr auto kPeriod = std::chrono::milliseconds(100);
// Full pauses between two lists of processes, which take NVML a while.
constexpr int kPeriodsBetweenUsers = 10;

// One bit of nvmlClocksEventReasons, in the words of the fact.
struct ReasonWords {
  unsigned long long bit;
  const char* words;
};
constexpr std::array kReasons{
    ReasonWords{ml::kReasonPowerCap, "power cap"},
    ReasonWords{ml::kReasonHardwareSlowdown, "hardware slowdown"},
    ReasonWords{ml::kReasonSyncBoost, "sync boost"},
    ReasonWords{ml::kReasonThermal, "thermal slowdown by software"},
    ReasonWords{ml::kReasonHardwareThermal, "thermal slowdown by hardware"},
    ReasonWords{ml::kReasonPowerBrake, "power brake"},
    ReasonWords{ml::kReasonDisplayClocks, "display clock setting"}};

// Keeps a value that NVML returned; a failed query leaves no reading.
void add(Seen& into, ml::Return returned, double value) {
  if (returned == ml::kSuccess) into.add(value);
}

// Reads clocks and reasons alone: the short reading, for the first pauses.
void read_clocks(const Nvml& nvml, ml::Device device, GpuHealth& seen) {
  unsigned value = 0;
  const auto clock_into = [&](Seen& into, int which) {
    const ml::Return returned = nvml.device_get_clock_info(device, which, &value);
    add(into, returned, value);
  };
  clock_into(seen.sm_clock_mhz, ml::kClockSm);
  clock_into(seen.memory_clock_mhz, ml::kClockMemory);
  const auto get_reasons = nvml.device_get_clock_reasons != nullptr
                               ? nvml.device_get_clock_reasons
                               : nvml.device_get_throttle_reasons;
  unsigned long long reasons = 0;
  if (get_reasons == nullptr || get_reasons(device, &reasons) != ml::kSuccess) return;
  ++seen.reason_readings;
  seen.reasons |= reasons;
  if (throttling(reasons) != 0) ++seen.throttled_readings;
}

// Reads every figure. NVML reports power in mW.
void read_all_of(const Nvml& nvml, ml::Device device, GpuHealth& seen) {
  read_clocks(nvml, device, seen);
  unsigned value = 0;
  const auto read_into = [&](Seen& into, ml::Return (*call)(ml::Device, unsigned*)) {
    const ml::Return returned = call(device, &value);
    add(into, returned, value);
  };
  const ml::Return warm = nvml.device_get_temperature(device, ml::kSensorGpu, &value);
  add(seen.temperature_c, warm, value);
  const ml::Return drawn = nvml.device_get_power_usage(device, &value);
  add(seen.power_w, drawn, value / 1e3);
  read_into(seen.pcie_generation, nvml.device_get_pcie_generation);
  read_into(seen.pcie_width, nvml.device_get_pcie_width);
}

// Adds the processes that are new; one that ended stays in the list.
void read_processes(const Nvml& nvml, ml::Device device, GpuHealth& seen) {
  const auto now = processes_on(nvml, device);
  if (!now) return;
  for (const ml::Process& process : *now)
    if (std::ranges::count(seen.processes, process.pid, &ml::Process::pid) == 0)
      seen.processes.push_back(process);
}

// Whether `gpu` ("gpu0") is among the words of `pair` ("gpu0>gpu1"). "gpu1" is not in "gpu10".
bool names(std::string_view pair, std::string_view gpu) {
  const auto part_of_name = [](char c) { return c >= '0' && c <= '9'; };
  for (std::size_t at = pair.find(gpu); at != std::string_view::npos; at = pair.find(gpu, at + 1)) {
    const std::size_t after = at + gpu.size();
    if (after == pair.size() || !part_of_name(pair[after])) return true;
  }
  return false;
}

// The GPUs that a point's pair names; all of them where it names none.
std::vector<const GpuHealth*> concerned(std::span<const GpuHealth> seen, const Point& point) {
  std::vector<const GpuHealth*> out;
  const bool all = names(point.pair(), "all");  // "all>gpu0": each of them copies
  for (const GpuHealth& gpu : seen)
    if (all || names(point.pair(), gpu.name)) out.push_back(&gpu);
  if (out.empty())
    for (const GpuHealth& gpu : seen) out.push_back(&gpu);
  return out;
}

// Joins readings and counters. A point is throttled by one reading, or by counters that grew for at
// least kLeastHeldShare of the interval.
void add_throttling(const std::vector<const GpuHealth*>& gpus, Point& point) {
  auto& facts = *point.mutable_facts();
  bool known = false;
  std::uint64_t readings = 0;
  std::uint64_t throttled = 0;
  unsigned long long reasons = 0;
  double longest_ns = 0;
  bool held_long = false;
  for (const GpuHealth* gpu : gpus) {
    known = known || gpu->reason_readings > 0 || gpu->held.known;
    readings += gpu->reason_readings;
    throttled += gpu->throttled_readings;
    reasons |= gpu->reasons | gpu->held.reasons;
    longest_ns = std::max(longest_ns, gpu->held.longest_ns);
    held_long = held_long || (gpu->held.longest_ns > 0 &&
                              gpu->held.longest_ns >= kLeastHeldShare * gpu->interval_ns);
  }
  facts["throttle_reasons"] = known ? throttle_words(reasons) : "unknown";
  if (longest_ns > 0) facts["throttled_ns"] = fmt::format("{:.0f}", longest_ns);
  if (throttled > 0) facts["throttled_readings"] = fmt::format("{} of {}", throttled, readings);
  if (throttled > 0 || held_long) point.set_throttled(true);
}

}  // namespace

void Seen::add(double value) {
  lowest_ = count_ == 0 ? value : std::min(lowest_, value);
  highest_ = count_ == 0 ? value : std::max(highest_, value);
  sum_ += value;
  ++count_;
}

// An idle GPU and a chosen application clock are states that a person wants.
unsigned long long throttling(unsigned long long reasons) {
  return reasons & ~(ml::kReasonIdle | ml::kReasonApplicationClocks);
}

// A bit without words appears as a number.
std::string throttle_words(unsigned long long reasons) {
  unsigned long long rest = throttling(reasons);
  std::string words;
  const auto append = [&words](std::string_view more) {
    words += words.empty() ? "" : ", ";
    words += more;
  };
  for (const ReasonWords& reason : kReasons) {
    if ((rest & reason.bit) == 0) continue;
    append(reason.words);
    rest &= ~reason.bit;
  }
  if (rest != 0) append(fmt::format("reason {:#x}", rest));
  return words.empty() ? "none" : words;
}

// Writes only facts that have a reading.
void add_health(std::span<const GpuHealth> seen, Point& point) {
  const auto gpus = concerned(seen, point);
  auto& facts = *point.mutable_facts();
  // The worst of the GPUs, where any has readings.
  const auto worst = [&](const char* fact, Seen GpuHealth::*figure, double (Seen::*value)() const,
                         bool highest) {
    std::optional<double> most;
    for (const GpuHealth* gpu : gpus) {
      const Seen& of = gpu->*figure;
      if (of.count() == 0) continue;
      const double one = (of.*value)();
      most = !most ? one : highest ? std::max(*most, one) : std::min(*most, one);
    }
    if (most) facts[fact] = fmt::format("{:.0f}", *most);
  };
  worst("sm_clock_mhz", &GpuHealth::sm_clock_mhz, &Seen::mean, false);
  worst("sm_clock_mhz_min", &GpuHealth::sm_clock_mhz, &Seen::lowest, false);
  worst("memory_clock_mhz", &GpuHealth::memory_clock_mhz, &Seen::mean, false);
  worst("temperature_c", &GpuHealth::temperature_c, &Seen::highest, true);
  worst("power_w", &GpuHealth::power_w, &Seen::highest, true);
  worst("pcie_generation", &GpuHealth::pcie_generation, &Seen::highest, false);
  worst("pcie_width", &GpuHealth::pcie_width, &Seen::highest, false);
  add_throttling(gpus, point);
}

// A GPU that NVML does not show is left out; `blind_` names it.
HealthWatch::HealthWatch(std::span<const Gpu> gpus, Watching watching) : watching_(watching) {
  auto use = use_nvml();
  if (!use) {
    blind_ = use.error().message;
    return;
  }
  const auto all = nvml_gpus(loaded_nvml());
  if (!all) {
    blind_ = all.error().message;
    return;
  }
  for (const Gpu& gpu : gpus) {
    const auto same = std::ranges::find(*all, gpu.pci_address(), &NvmlGpu::pci_address);
    if (same == all->end()) {
      blind_ = fmt::format("NVML: it does not show {} ({})", gpu.name(), gpu.pci_address());
      continue;
    }
    gpus_.push_back(*same);
    names_.push_back(gpu.name());
  }
  if (!gpus_.empty()) use_ = std::move(*use);
}

// A thread reads between begin() and end(); the owner reads before and after it. The counters are
// read last, right before the interval.
void HealthWatch::begin() {
  stop();
  if (gpus_.empty()) return;
  seen_.clear();
  for (const std::string& name : names_) seen_.emplace_back().name = name;
  for_each(read_all_of);
  held_before_.clear();
  for (const NvmlGpu& gpu : gpus_)
    held_before_.push_back(read_held_times(loaded_nvml(), gpu.device));
  begin_ns_ = monotonic_now_ns();
  open_ = true;
  if (watching_ == Watching::kStill) return;
  stopping_ = false;
  thread_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    auto pause = kFirstPause;
    int full_pauses = 0;
    while (!wake_.wait_for(lock, pause, [this] { return stopping_; })) {
      for_each(pause < kPeriod ? read_clocks : read_all_of);
      full_pauses += pause < kPeriod ? 0 : 1;
      if (full_pauses == kPeriodsBetweenUsers) for_each(read_processes);
      full_pauses %= kPeriodsBetweenUsers;
      pause = std::min(2 * pause, kPeriod);
    }
  });
}

// The interval ends before the thread is joined, which may take a reading's time.
void HealthWatch::end() {
  if (!open_) return;
  open_ = false;
  const double interval_ns = monotonic_now_ns() - begin_ns_;
  stop();
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    seen_[i].interval_ns = interval_ns;
    seen_[i].held = held_between(held_before_[i], read_held_times(loaded_nvml(), gpus_[i].device));
  }
  for_each(read_all_of);
  for_each(read_processes);
}

void HealthWatch::add_to(Point& point) const {
  if (!seen_.empty()) add_health(seen_, point);
}

std::vector<ml::Process> HealthWatch::processes(std::string_view name) const {
  const auto gpu = std::ranges::find(seen_, name, &GpuHealth::name);
  return gpu == seen_.end() ? std::vector<ml::Process>() : gpu->processes;
}

void HealthWatch::for_each(void (*read)(const Nvml&, ml::Device, GpuHealth&)) {
  for (std::size_t i = 0; i < gpus_.size(); ++i) read(loaded_nvml(), gpus_[i].device, seen_[i]);
}

void HealthWatch::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

}  // namespace railgauge::gpu
