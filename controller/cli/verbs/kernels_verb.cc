// kernels, kernels show
#include <fmt/format.h>

#include "controller/cli/input/session.h"
#include "controller/cli/render/table.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/text/json.h"

namespace railgauge::cli {
namespace {

using api::ListKernelsRequest;

constexpr std::size_t kLinesOfParameters = 48;

// "2", "2 to 8", "2 or more".
std::string ranks_text(const KernelInfo& kernel) {
  if (kernel.max_ranks() == 0) return fmt::format("{} or more", kernel.min_ranks());
  if (kernel.max_ranks() == kernel.min_ranks()) return std::to_string(kernel.min_ranks());
  return fmt::format("{} to {}", kernel.min_ranks(), kernel.max_ranks());
}

// Choices, or the bounds that the parameter has; "" for any value.
std::string range_text(const ParameterInfo& parameter) {
  if (parameter.choices_size() > 0) return fmt::format("{}", fmt::join(parameter.choices(), ", "));
  const bool low = parameter.has_minimum();
  const bool high = parameter.has_maximum();
  if (low && high)
    return fmt::format("{} to {}", json_number(parameter.minimum()),
                       json_number(parameter.maximum()));
  if (low) return fmt::format("from {}", json_number(parameter.minimum()));
  if (high) return fmt::format("to {}", json_number(parameter.maximum()));
  return "";
}

std::string metrics_text(const KernelInfo& kernel) {
  return fmt::format("{}", fmt::join(kernel.metrics(), ", "));
}

}  // namespace

// The list is empty before the first node has attached, which stderr says.
Result<int> list_kernels(Session& session, const Arguments&) {
  const auto list = RG_TRY(call(session, rpc::kListKernels, ListKernelsRequest()));
  return print_list(session.output, list, "kernels", "KERNEL|REVISION>|RANKS|METRICS|SUMMARY",
                    rows_of(list.kernels(),
                            [](const KernelInfo& kernel) {
                              return Row({kernel.name(), kernel.revision(), ranks_text(kernel),
                                          metrics_text(kernel), kernel.summary()});
                            }),
                    "no kernel is known, since no node has attached; see railgauge nodes");
}

// Asks for one kernel by name. No attached node with it is wrong use.
Result<int> show_kernel(Session& session, const Arguments& arguments) {
  const auto list = RG_TRY(
      call(session, rpc::kListKernels, request_for<ListKernelsRequest>(arguments.operand(0))));
  if (list.kernels().empty())
    return fail(Code::kNotFound,
                fmt::format("kernel {}: no attached node has it; railgauge kernels lists those "
                            "there are",
                            arguments.operand(0)));
  const Output& output = session.output;
  if (print_document(output, list, "kernels")) return 0;
  const KernelInfo& kernel = list.kernels(0);
  output.out << render_list({{"kernel", {kernel.name(), Tone::kHeading}},
                             {"revision", kernel.revision()},
                             {"summary", kernel.summary()},
                             {"ranks", ranks_text(kernel)},
                             {"endpoints", kernel.endpoint_kind()},
                             {"metrics", metrics_text(kernel)}},
                            output.colour);
  const Rows rows = rows_of(kernel.parameters(), [](const ParameterInfo& parameter) {
    return Row({parameter.name(), parameter.type(), range_text(parameter),
                parameter.unit() == "1" ? "" : parameter.unit(), parameter.default_value(),
                parameter.identity() ? "yes" : "no", parameter.summary()});
  });
  output.out << render_short_section("PARAMETER|TYPE|ALLOWED|UNIT|DEFAULT|IDENTITY|SUMMARY", rows,
                                     output.colour, {.lines = kLinesOfParameters});
  return 0;
}

}  // namespace railgauge::cli
