// Tables of kernels and parameters for people, and the same as a message.
#include "kernels/runner/kernel_list.h"

#include <vector>

#include <fmt/format.h>

#include "kernels/core/report/kernel_reference.h"
#include "kernels/core/report/report.h"
#include "kernels/core/report/text_table.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge {
namespace {

using Column = TextTable::Column;
constexpr auto kLeft = TextTable::Align::kLeft;

// The parameter's choices or range, in words.
std::string allowed_text(const ParameterInfo& parameter) {
  if (parameter.choices_size() > 0) {
    const std::vector<std::string> choices(parameter.choices().begin(), parameter.choices().end());
    return one_of(choices);
  }
  if (parameter.type() == "boolean") return "true or false";
  if (!parameter.has_minimum() && !parameter.has_maximum()) return "any";
  if (!parameter.has_maximum()) return "from " + value_text(parameter, parameter.minimum());
  if (!parameter.has_minimum()) return "up to " + value_text(parameter, parameter.maximum());
  return fmt::format("{} to {}", value_text(parameter, parameter.minimum()),
                     value_text(parameter, parameter.maximum()));
}

}  // namespace

KernelList kernel_list(std::span<const KernelRow> rows) {
  // The version lets scripts see a change of the schema.
  KernelList list;
  list.set_schema_version(kReportSchemaVersion);
  for (const KernelRow& row : rows) *list.add_kernels() = row.info();
  return list;
}

std::string kernel_list_table(const KernelList& list) {
  TextTable table({{"KERNEL", kLeft}, {"SUMMARY", kLeft}});
  for (const KernelInfo& kernel : list.kernels()) table.add({kernel.name(), kernel.summary()});
  return table.text();
}

std::string kernel_description(const KernelInfo& kernel) {
  std::string metrics;
  for (const std::string& metric : kernel.metrics())
    metrics += (metrics.empty() ? "" : ", ") + metric;
  std::string out = fmt::format("{}: {}\nrevision {}; ranks {}; endpoint {}; metrics {}\n\n",
                                kernel.name(), kernel.summary(), kernel.revision(),
                                ranks_text(kernel), kernel.endpoint_kind(), metrics);
  TextTable table({{"PARAMETER", kLeft},
                   {"TYPE", kLeft},
                   {"UNIT", kLeft},
                   {"ALLOWED", kLeft},
                   {"DEFAULT", kLeft},
                   {"IDENTITY", kLeft},
                   {"SUMMARY", kLeft}});
  const auto or_dash = [](const std::string& text) { return text.empty() ? "-" : text; };
  for (const ParameterInfo& parameter : kernel.parameters())
    table.add({parameter.name(), parameter.type(), or_dash(parameter.unit()),
               allowed_text(parameter), or_dash(parameter.default_value()),
               parameter.identity() ? "yes" : "no", parameter.summary()});
  return out + table.text();
}

// A linear search, once a process.
Result<const KernelRow*> find_row(std::span<const KernelRow> rows, std::string_view name) {
  std::vector<std::string> names;
  for (const KernelRow& row : rows) {
    names.push_back(row.info().name());
    if (names.back() == name) return &row;
  }
  return invalid("kernel {} is unknown{}", in_quotes(name), did_you_mean(name, names));
}

}  // namespace railgauge
