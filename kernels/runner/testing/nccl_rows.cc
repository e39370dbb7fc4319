// Made-up collectives: ranks that meet and pretend figures. nccl.all_reduce reduces and can be in
// place, nccl.all_to_all cannot.
#include <array>
#include <csignal>
#include <string>

#include "kernels/core/stats/stats.h"
#include "kernels/runner/testing/rows.h"

namespace railgauge::testing_rows {
namespace {

constexpr double kExchangeSeconds = 10;

KernelInfo nccl_info(const char* name, bool reduces) {
  KernelInfo info;
  info.set_name(name);
  info.set_revision(1);
  info.set_summary("pretends");
  info.set_min_ranks(1);
  info.set_max_ranks(0);
  info.set_endpoint_kind("gpu");
  info.add_metrics("algbw_bytes_per_second");
  info.add_metrics("busbw_bytes_per_second");
  const auto add = [&info](const char* parameter, const char* type, const char* value) {
    ParameterInfo& made = *info.add_parameters();
    made.set_name(parameter);
    made.set_type(type);
    made.set_default_value(value);
  };
  add("sizes", "bytes_list", "8");
  add("iterations", "integer", "0");
  add("time_cap", "text", "5s");
  add("datatype", "text", "float32");
  add("mode", "text", "events");
  add("graph_calls", "integer", "20");
  add("registered", "text", "false");
  add("verify", "boolean", "true");
  add("act", "text", "none");
  if (!reduces) return info;
  add("reduction", "text", "sum");
  add("in_place", "boolean", "false");
  return info;
}

// Parameter `act`: "waive" on all ranks, "corrupt_R" and "kill_R" on rank R while it measures.
class NcclKernel final : public Kernel {
 public:
  Status prepare(Context& context) override {
    if (context.params.text("act") == "waive")
      return fail(Code::kNotFound, "libnccl.so.2: not found");
    context.reporter.fact("nccl", "2.99.0");
    return {};
  }
  Status connect(Context&, Group& group) override { return group.barrier(kExchangeSeconds); }
  Status measure(Context& context, Group& group) override {
    const std::string& act = context.params.text("act");
    const std::string rank = std::to_string(group.rank());
    if (act == "kill_" + rank) std::raise(SIGKILL);
    if (act == "corrupt_" + rank) return fail(Code::kDataLoss, "element 3 is 1, not 2");
    if (group.rank() == 0)
      for (const std::uint64_t size : context.params.bytes_list("sizes")) {
        report(context, size, "algbw_bytes_per_second", 100e9);
        if (group.size() > 1) report(context, size, "busbw_bytes_per_second", 150e9);
      }
    return group.barrier(kExchangeSeconds);
  }

 private:
  static void report(Context& context, std::uint64_t size, const char* metric, double value) {
    Point point;
    point.set_metric(metric);
    point.set_meaning("aggregate_wall");
    point.set_unit("bytes_per_second");
    point.set_larger_is_better(true);
    point.set_message_bytes(static_cast<double>(size));
    point.set_synthetic(true);
    point.set_verified(context.params.boolean("verify"));
    summarize(std::vector<double>(5, value), point);
    context.reporter.point(std::move(point));
  }
};

std::unique_ptr<Kernel> make() { return std::make_unique<NcclKernel>(); }

}  // namespace

std::span<const KernelRow> nccl_rows() {
  static constexpr std::array kRows{
      KernelRow{[] { return nccl_info("nccl.all_reduce", true); }, make},
      KernelRow{[] { return nccl_info("nccl.all_to_all", false); }, make}};
  return kRows;
}

}  // namespace railgauge::testing_rows
