// The cost of a transfer for the host at each end: the CPU time of threads, softirqs and interrupts
// together, by differences of /proc/stat on a host that is otherwise idle. A thread's own time,
// which busy polling makes a constant, is no cost.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "kernels/core/base/record.pb.h"
#include "kernels/core/cpu/host_cpu.h"
#include "kernels/core/info_builder.h"
#include "kernels/core/kernel.h"
#include "kernels/host_cost/host_cost.pb.h"

namespace railgauge {

inline constexpr const char* kHostCostMetric = "host_cpu_ns_per_byte";
inline constexpr const char* kHostCostParameter = "host_cpu";

// Declares `host_cpu`, false by default: not part of the identity, because it changes no other
// figure of the task.
void add_host_cost(InfoBuilder& builder);
// Returns `host_cpu`; false where it is not declared.
bool wants_host_cost(const Params& params);

// Measures one end of one transfer. Not thread safe.
class HostCostMeter {
 public:
  // A meter that measures only if `wanted`.
  explicit HostCostMeter(bool wanted) : wanted_(wanted) {}

  // Reads for a slot, in which neither end may work yet, how busy the host is without the transfer.
  void look_before();
  // Begins with the transfer.
  void start();
  // Ends with it; later calls return the same.
  HostCostWords stop();
  [[nodiscard]] bool is_wanted() const { return wanted_; }

 private:
  bool wanted_;
  HostCostWords words_;
  std::unique_ptr<HostCpuRecorder> recorder_;
};

// Makes the point of one end: the median over slots, with its interval, of CPU nanoseconds for each
// byte of a transfer of `bytes_per_second`. `end` is its meaning: "initiator", "target". Absent
// without a figure; `refusal` then has the reason.
std::optional<Point> host_cost_point(const HostCostWords& words, double bytes_per_second,
                                     const std::string& end, std::uint64_t message_bytes,
                                     std::string& refusal);

// The transfer that a cost is of.
struct CostlyTransfer {
  double bytes_per_second = 0;
  std::uint64_t message_bytes = 0;
  // No real one: its points say so.
  bool is_synthetic = false;
};
// Reports a point of each rank's end, or a note that says why there is none and begins with `who`.
// Where both ends are one host, each has the work of both, and the fact `hosts` says so.
void report_host_costs(Reporter& reporter, const std::string& who,
                       std::span<const HostCostWords> by_rank, const CostlyTransfer& transfer);

}  // namespace railgauge
