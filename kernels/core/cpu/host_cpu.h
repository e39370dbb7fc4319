// The CPU time of the whole host in slots: of threads, softirqs, interrupts and the Linux kernel's
// own threads. A thread's own time (thread_cpu.h) leaves the last three out, which flatters TCP and
// staged copies. The figure is the transfer's only on a host that is otherwise idle.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge {

// Since the boot, of all CPUs together, in ns. Time that another guest took (steal) is in neither.
struct HostCpuTimes {
  double busy_ns = 0;
  // The parts of busy_ns in interrupts and softirqs.
  double irq_ns = 0;
  double softirq_ns = 0;
  double idle_ns = 0;
};
// Parses the first line of /proc/stat (proc(5)), whose unit is a tick. Waiting for I/O is idle. A
// line of another form is kInternal.
Result<HostCpuTimes> parse_host_cpu(std::string_view proc_stat, double ticks_per_second);
// Reads /proc/stat. kUnavailable where it cannot be read.
Result<HostCpuTimes> read_host_cpu();

// Busy CPUs in slots of time, in time order: 1.5 means one and a half.
struct HostCpuSlots {
  std::vector<double> busy;
  // Their mean, and its parts in interrupts and softirqs.
  double mean_busy = 0;
  double mean_irq = 0;
  double mean_softirq = 0;
};
// Makes the slots between readings, of which each but the first ends one. Pure.
HostCpuSlots slots_between(const std::vector<HostCpuTimes>& readings,
                           const std::vector<double>& at_ns);

// Long against a tick of 10 ms, in which the Linux kernel counts.
inline constexpr double kHostCpuSlotNs = 250e6;

// Reads the host's times once a slot, on a thread of its own that sleeps in between. Not thread
// safe.
class HostCpuRecorder {
 public:
  // kUnavailable where /proc/stat cannot be read.
  static Result<std::unique_ptr<HostCpuRecorder>> start(double slot_ns = kHostCpuSlotNs);
  ~HostCpuRecorder();
  HostCpuRecorder(const HostCpuRecorder&) = delete;
  HostCpuRecorder& operator=(const HostCpuRecorder&) = delete;

  // Ends the recording and returns its whole slots; empty where it was shorter than one.
  HostCpuSlots stop();

 private:
  explicit HostCpuRecorder(double slot_ns) : slot_ns_(slot_ns) {}
  Status read();
  void run();

  const double slot_ns_;
  // The thread's while it runs.
  std::vector<HostCpuTimes> readings_;
  std::vector<double> at_ns_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

// A host with more busy CPUs before the transfer than this is not idle: its own work would be
// counted as the transfer's.
inline constexpr double kMostBusyBefore = 0.2;

// CPU time in ns for each byte in each slot: the busy CPUs less those before the transfer, over the
// rate. Not below 0. Pure.
std::vector<double> cost_per_byte(const HostCpuSlots& slots, double busy_before,
                                  double bytes_per_second);

}  // namespace railgauge
