// nodes diff
#include <fmt/format.h>

#include "controller/cli/render/table.h"
#include "controller/cli/report/fact_diff.h"
#include "controller/cli/report/node_facts.h"
#include "controller/cli/verbs/commands.h"

namespace railgauge::cli {
namespace {

constexpr int kMostValues = 3;

// "512 x3, 4096 x1", without counts for a set of one node.
std::string values_text(const google::protobuf::RepeatedPtrField<ValueCount>& values,
                        std::uint32_t unknown, int nodes) {
  std::string text;
  for (int i = 0; i < values.size() && i < kMostValues; ++i) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ",
                        values[i].has_value() ? values[i].value() : "none");
    if (nodes > 1) text += fmt::format(" x{}", values[i].nodes());
  }
  if (values.size() > kMostValues) text += fmt::format(", {} more", values.size() - kMostValues);
  if (unknown > 0) text += fmt::format(", unknown x{}", unknown);
  return text;
}

}  // namespace

Result<int> diff_node_sets(Session& session, const Arguments& arguments) {
  const auto a = RG_TRY(ask_nodes_with_facts(session, arguments.operand(0)));
  const auto b = RG_TRY(ask_nodes_with_facts(session, arguments.operand(1)));
  const NodesDiff diff = diff_nodes(a, b);
  const Output& output = session.output;
  if (print_document(output, diff, "differences")) return 0;
  if (diff.differences().empty()) {
    output.err << fmt::format("railgauge: no fact tells {} from {}\n", arguments.operand(0),
                              arguments.operand(1));
    return 0;
  }
  std::vector<std::vector<Cell>> rows;
  for (const FactDifference& row : diff.differences())
    rows.push_back({row.part(), row.name(),
                    values_text(row.a_values(), row.a_unknown(), diff.a_size()),
                    values_text(row.b_values(), row.b_unknown(), diff.b_size())});
  output.out << render_table({{"PART"}, {"NAME"}, {arguments.operand(0)}, {arguments.operand(1)}},
                             rows, output.colour);
  return 0;
}

}  // namespace railgauge::cli
