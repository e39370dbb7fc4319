#include <array>
#include <csignal>
#include <set>

#include <fmt/format.h>

#include "kernels/core/stats/stats.h"
#include "kernels/peers/tools.h"
#include "kernels/runner/testing/rows.h"

namespace railgauge::testing_rows {
namespace {

// The kernels that the tests run. For a profile, this build lacks all others.
constexpr std::array<std::string_view, 6> kKernels{"bar.read_bw",       "bar.read_lat",
                                                   "bar.write_bw",      "bar.write_lat",
                                                   "cuda.host_copy_bw", "cuda.peer_copy_bw"};

bool is_rate(std::string_view kernel) { return kernel.ends_with("_bw"); }
bool is_peer(std::string_view kernel) { return kernel == "cuda.peer_copy_bw"; }

// Declares the parameters of the table of peer tools, and `act` as in the other rows.
KernelInfo peer_info(std::string_view kernel) {
  KernelInfo info;
  info.set_name(std::string(kernel));
  info.set_revision(1);
  info.set_summary("pretends");
  info.set_min_ranks(1);
  info.set_max_ranks(1);
  info.set_endpoint_kind(is_peer(kernel) ? "none" : "gpu");
  info.add_metrics(is_rate(kernel) ? "bandwidth_bytes_per_second" : "latency_ns");
  const auto add = [&info](const std::string& name, const char* type, const char* value) {
    ParameterInfo& parameter = *info.add_parameters();
    parameter.set_name(name);
    parameter.set_type(type);
    parameter.set_default_value(value);
  };
  add("sizes", "bytes_list", "8");
  add("iterations", "integer", "0");
  add("act", "text", "none");
  add("time_cap", "text", "none");
  std::set<std::string> known{"sizes", "iterations", "act", "time_cap"};
  for (const PeerTest& row : peer_tests()) {
    if (row.kernel != kernel) continue;
    for (const auto* parameters : {&row.parameters, &row.exact})
      for (const auto& [name, value] : *parameters)
        if (known.insert(name).second) add(name, "text", "none");
  }
  return info;
}

class PeerKernel final : public Kernel {
 public:
  explicit PeerKernel(std::string_view kernel) : kernel_(kernel) {}
  Status prepare(Context& context) override {
    const std::string& act = context.params.text("act");
    if (act == "kill_" + context.endpoint) std::raise(SIGKILL);
    noisy_ = act == "noisy_" + context.endpoint || act == "noisy_kill_" + context.endpoint;
    if (noisy_) ++visits();
    if (act.starts_with("noisy_kill_") && noisy_ && visits() > 1) std::raise(SIGKILL);
    if (context.params.text("act") == "waive")
      return fail(Code::kNotFound, "no GPU here: not found");
    context.reporter.fact("device", is_peer(kernel_)           ? "gpu0,gpu1"
                                    : context.endpoint.empty() ? "gpu0"
                                                               : context.endpoint);
    return {};
  }
  Status connect(Context&, Group&) override { return {}; }
  Status measure(Context& context, Group&) override {
    for (const std::uint64_t size : context.params.bytes_list("sizes")) {
      if (!is_peer(kernel_)) {
        report(context, size, "host>" + context.endpoint, noisy_ ? 30 + 10 * visits() : 50);
      } else {
        report(context, size, "gpu0>gpu1", 100);
        report(context, size, "gpu1>gpu0", 200);
      }
    }
    return {};
  }

 private:
  // The number of noisy rows in this process.
  static int& visits() {
    static int count = 0;
    return count;
  }
  void report(Context& context, std::uint64_t size, std::string pair, double gigabytes) const {
    Point point;
    point.set_metric(is_rate(kernel_) ? "bandwidth_bytes_per_second" : "latency_ns");
    point.set_unit(is_rate(kernel_) ? "bytes_per_second" : "ns");
    point.set_larger_is_better(is_rate(kernel_));
    point.set_message_bytes(static_cast<double>(size));
    point.set_pair(std::move(pair));
    point.set_synthetic(true);
    point.set_verified(true);
    const double value = is_rate(kernel_) ? gigabytes * 1e9 : 1000 + static_cast<double>(size);
    summarize(std::vector<double>(10, value), point);
    if (noisy_) point.set_min(0.9 * value);
    point.set_stop_reason(noisy_ ? "time_cap" : "converged");
    point.set_converged(!noisy_);
    context.reporter.point(std::move(point));
  }
  const std::string_view kernel_;
  bool noisy_ = false;
};

template <std::size_t kIndex>
constexpr KernelRow row_at() {
  return {
      [] { return peer_info(kKernels[kIndex]); },
      []() -> std::unique_ptr<Kernel> { return std::make_unique<PeerKernel>(kKernels[kIndex]); }};
}

}  // namespace

std::span<const KernelRow> peer_rows() {
  static constexpr std::array kRows{row_at<0>(), row_at<1>(), row_at<2>(),
                                    row_at<3>(), row_at<4>(), row_at<5>()};
  return kRows;
}

}  // namespace railgauge::testing_rows
