// results
#include <fmt/format.h>

#include "controller/cli/input/archive_inputs.h"
#include "controller/cli/input/inputs.h"
#include "controller/cli/render/results_table.h"
#include "controller/cli/verbs/commands.h"

namespace railgauge::cli {
namespace {

constexpr std::uint32_t kDefaultLimit = 1000;

}  // namespace

Result<int> show_results(Session& session, const Arguments& arguments) {
  auto request = RG_TRY(points_request(arguments));
  request.set_limit(RG_TRY(count_of(arguments, "limit", kDefaultLimit)));
  const auto list = RG_TRY(call_archive(session, &Archive::StubInterface::FindPoints, request));
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
