// results
#include <fmt/format.h>

#include "controller/cli/commands.h"
#include "controller/cli/inputs.h"
#include "controller/cli/results_table.h"
#include "kernels/core/units.h"

namespace railgauge::cli {
namespace {

constexpr std::uint32_t kDefaultLimit = 1000;

Result<railgauge::api::ResultsRequest> request_of(const Arguments& arguments) {
  railgauge::api::ResultsRequest request;
  request.set_run_id(arguments.operand(0));
  request.set_kernel(arguments.value("kernel"));
  request.set_metric(arguments.value("metric"));
  request.set_node_set(arguments.value("nodes"));
  if (arguments.has("size")) {
    const auto bytes = parse_bytes(arguments.value("size"));
    if (!bytes) return fail(bytes.error().code, "--size: " + bytes.error().message);
    request.set_message_bytes(static_cast<double>(*bytes));
  }
  request.set_limit(RG_TRY(count_of(arguments, "limit", kDefaultLimit)));
  return request;
}

}  // namespace

Result<int> show_results(Session& session, const Arguments& arguments) {
  const auto request = RG_TRY(request_of(arguments));
  const auto list = RG_TRY(call(session, &Control::StubInterface::QueryResults, request));
  const Output& output = session.output;
  if (list.points_size() >= static_cast<int>(request.limit())) {
    output.err << fmt::format(
        "railgauge: only the first {} points are shown; --limit N shows more\n", request.limit());
  }
  if (print_document(output, list, "points")) return 0;
  if (list.points().empty()) {
    output.err << "railgauge: no point matches; railgauge runs lists the runs\n";
    return 0;
  }
  output.out << results_tables(list.points(), output.units, output.colour);
  return 0;
}

}  // namespace railgauge::cli
