// Tables of kernels and parameters for people, and the same as a message.
#include "kernels/runner/kernel_list.h"

#include <vector>

#include <fmt/format.h>

#include "kernels/core/report/report.h"
#include "kernels/core/report/text_table.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge {
namespace {

using Column = TextTable::Column;
constexpr auto kLeft = TextTable::Align::kLeft;

// A bound in the parameter's own unit: durations and sizes are canonical.
std::string bound_text(const ParameterInfo& parameter, double value) {
  if (parameter.type() == "duration") return canonical_duration(value);
  const bool size = parameter.type() == "bytes" || parameter.type() == "bytes_list";
  if (size && value >= 0 && value <= static_cast<double>(kMaxBytes))
    return canonical_bytes(static_cast<std::uint64_t>(value));
  return fmt::format("{}", value);
}

// The parameter's choices or range, in words.
std::string allowed_text(const ParameterInfo& parameter) {
  if (parameter.choices_size() > 0) {
    const std::vector<std::string> choices(parameter.choices().begin(), parameter.choices().end());
    return one_of(choices);
  }
  if (parameter.type() == "boolean") return "true or false";
  if (!parameter.has_minimum() && !parameter.has_maximum()) return "any";
  if (!parameter.has_maximum()) return "from " + bound_text(parameter, parameter.minimum());
  if (!parameter.has_minimum()) return "up to " + bound_text(parameter, parameter.maximum());
  return fmt::format("{} to {}", bound_text(parameter, parameter.minimum()),
                     bound_text(parameter, parameter.maximum()));
}

// 0 as the upper bound means that there is none.
std::string ranks_text(const KernelInfo& kernel) {
  if (kernel.max_ranks() == 0) return fmt::format("{} or more", kernel.min_ranks());
  if (kernel.max_ranks() == kernel.min_ranks()) return fmt::format("{}", kernel.min_ranks());
  return fmt::format("{} to {}", kernel.min_ranks(), kernel.max_ranks());
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
