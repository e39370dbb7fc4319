// metrics: the metrics that agents and controller export to Prometheus
#include <fmt/format.h>

#include "controller/cli/input/session.h"
#include "controller/cli/render/report.pb.h"
#include "controller/cli/render/table.h"
#include "controller/cli/verbs/commands.h"
#include "controller/metric/catalog.h"

namespace railgauge::cli {
namespace {

// The list that this program was built with; nothing is asked.
MetricList catalog_document() {
  MetricList list;
  list.set_schema_version(1);
  for (const metric::Info& info : metric::catalog()) {
    MetricDescription& description = *list.add_metrics();
    description.set_name(std::string(info.name));
    description.set_type(std::string(metric::word(info.type)));
    description.set_owner(std::string(metric::word(info.owner)));
    description.set_unit(std::string(info.unit));
    for (const std::string_view name : metric::label_names(info)) {
      MetricLabel& label = *description.add_labels();
      label.set_name(std::string(name));
      label.set_values(std::string(metric::label_values(name)));
    }
    description.set_typical_series(info.typical);
    description.set_most_series(info.most);
    description.set_help(std::string(info.help));
  }
  return list;
}

// One metric with its labels and the bounds of its number of series.
void describe(const Output& output, const MetricDescription& metric) {
  output.out << '\n'
             << render_list({{"metric", {metric.name(), Tone::kHeading}},
                             {"shown by", metric.owner()},
                             {"type", metric.type()},
                             {"unit", metric.unit() == "1" ? "" : metric.unit()},
                             {"series", fmt::format("{}, at most {}", metric.typical_series(),
                                                    metric.most_series())},
                             {"meaning", metric.help()}},
                            output.colour);
  const Rows labels = rows_of(metric.labels(), [](const MetricLabel& label) {
    return Row({"  " + label.name(), label.values()});
  });
  if (!labels.empty()) output.out << render_list(labels, output.colour);
}

}  // namespace

// Reads the catalog of this program; the controller is not asked.
Result<int> show_metrics(Session& session, const Arguments& arguments) {
  const Output& output = session.output;
  const MetricList list = catalog_document();
  if (print_document(output, list, "metrics")) return 0;
  // A typical node, to give an idea of the load on Prometheus.
  const metric::Budget one = metric::budget(1);
  output.out << wrapped_line(fmt::format(
      "{} metrics; an agent on a node of 8 NIC ports and 8 GPUs shows {} series (at most {}), the "
      "controller {} (at most {})",
      list.metrics_size(), one.agent_typical, one.agent_most, one.controller_typical,
      one.controller_most));
  if (!arguments.has("describe")) {
    const Rows rows = rows_of(list.metrics(), [](const MetricDescription& metric) {
      return Row({metric.name(), metric.type(), metric.owner(), metric.help()});
    });
    output.out << render_short_table("METRIC|TYPE|SHOWN BY|MEANING", rows, output.colour);
    return 0;
  }
  for (const MetricDescription& metric : list.metrics()) describe(output, metric);
  return 0;
}

}  // namespace railgauge::cli
