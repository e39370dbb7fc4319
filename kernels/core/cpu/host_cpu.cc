// Reads and subtracts the ticks of /proc/stat.
#include "kernels/core/cpu/host_cpu.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>

#include "kernels/core/base/clock.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge {
namespace {

// The columns of the line "cpu" (proc(5)). Guests' time is part of user and nice.
enum Column { kUser, kNice, kSystem, kIdle, kIoWait, kIrq, kSoftIrq, kColumns };

}  // namespace

Result<HostCpuTimes> parse_host_cpu(std::string_view proc_stat, double ticks_per_second) {
  const std::string_view line = proc_stat.substr(0, proc_stat.find('\n'));
  if (!line.starts_with("cpu ") || !(ticks_per_second > 0))
    return fail(Code::kInternal, "/proc/stat: its first line is {}", in_quotes(std::string(line)));
  std::array<double, kColumns> ns{};
  std::size_t column = 0;
  for (const std::string_view word : split(line.substr(4), ' ')) {
    if (word.empty() || column == ns.size()) continue;
    const auto ticks = parse_integer(word);
    if (!ticks || *ticks < 0)
      return fail(Code::kInternal, "/proc/stat: {} is no number of ticks",
                  in_quotes(std::string(word)));
    ns.at(column++) = static_cast<double>(*ticks) / ticks_per_second * 1e9;
  }
  if (column < ns.size())
    return fail(Code::kInternal, "/proc/stat: {} has fewer than {} columns",
                in_quotes(std::string(line)), ns.size());
  return HostCpuTimes{.busy_ns = ns[kUser] + ns[kNice] + ns[kSystem] + ns[kIrq] + ns[kSoftIrq],
                      .irq_ns = ns[kIrq],
                      .softirq_ns = ns[kSoftIrq],
                      .idle_ns = ns[kIdle] + ns[kIoWait]};
}

Result<HostCpuTimes> read_host_cpu() {
  std::ifstream file("/proc/stat");
  std::string line;
  if (!std::getline(file, line))
    return fail(Code::kUnavailable, "/proc/stat: read: {}", std::strerror(errno));
  return parse_host_cpu(line, static_cast<double>(::sysconf(_SC_CLK_TCK)));
}

// A counter that fell counts as one that did not grow: /proc/stat is not monotonic for idle CPUs.
HostCpuSlots slots_between(const std::vector<HostCpuTimes>& readings,
                           const std::vector<double>& at_ns) {
  RG_CHECK(readings.size() == at_ns.size());
  HostCpuSlots out;
  if (readings.size() < 2) return out;
  const auto grown = [](double before, double after) { return std::max(0.0, after - before); };
  for (std::size_t i = 1; i < readings.size(); ++i)
    out.busy.push_back(grown(readings[i - 1].busy_ns, readings[i].busy_ns) /
                       (at_ns[i] - at_ns[i - 1]));
  const double all_ns = at_ns.back() - at_ns.front();
  const HostCpuTimes& first = readings.front();
  const HostCpuTimes& last = readings.back();
  out.mean_busy = grown(first.busy_ns, last.busy_ns) / all_ns;
  out.mean_irq = grown(first.irq_ns, last.irq_ns) / all_ns;
  out.mean_softirq = grown(first.softirq_ns, last.softirq_ns) / all_ns;
  return out;
}

Result<std::unique_ptr<HostCpuRecorder>> HostCpuRecorder::start(double slot_ns) {
  std::unique_ptr<HostCpuRecorder> recorder(new HostCpuRecorder(slot_ns));
  RG_TRY_OK(recorder->read());
  recorder->thread_ = std::thread([self = recorder.get()] { self->run(); });
  return recorder;
}

HostCpuRecorder::~HostCpuRecorder() { stop(); }

HostCpuSlots HostCpuRecorder::stop() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  return slots_between(readings_, at_ns_);
}

Status HostCpuRecorder::read() {
  const HostCpuTimes now = RG_TRY(read_host_cpu());
  readings_.push_back(now);
  at_ns_.push_back(monotonic_now_ns());
  return {};
}

// A reading that fails ends the recording at the slot before.
void HostCpuRecorder::run() {
  std::unique_lock lock(mutex_);
  const std::chrono::duration<double, std::nano> slot(slot_ns_);
  while (!wake_.wait_for(lock, slot, [this] { return stopping_; }))
    if (!read()) return;
}

std::vector<double> cost_per_byte(const HostCpuSlots& slots, double busy_before,
                                  double bytes_per_second) {
  std::vector<double> out;
  if (!(bytes_per_second > 0)) return out;
  for (const double busy : slots.busy)
    out.push_back(std::max(0.0, busy - busy_before) * 1e9 / bytes_per_second);
  return out;
}

}  // namespace railgauge
