// The reference as a page, from the catalog.
#include <algorithm>

#include <fmt/format.h>

#include "controller/metric/catalog.h"

namespace railgauge::metric {
namespace {

// Each label in backticks, separated by blanks.
std::string labels_text(const Info& info) {
  std::string text;
  for (const std::string_view label : label_names(info))
    text += fmt::format("{}`{}`", text.empty() ? "" : " ", label);
  return text;
}

// The rows of one process in the catalog's order.
void add_family_table(std::string& page, Owner process) {
  page += "| metric | type | unit | labels | series | at most | meaning |\n";
  page += "|---|---|---|---|---|---|---|\n";
  for (const Info& info : catalog())
    if (info.owner == process)
      page += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", info.name, word(info.type),
                          info.unit, labels_text(info), info.typical, info.most, info.help);
  page += '\n';
}

// Every label once, sorted, with the words that bound its values.
std::string labels_in_use() {
  std::string page = "| label | values |\n|---|---|\n";
  std::vector<std::string_view> seen;
  for (const Info& info : catalog())
    for (const std::string_view label : label_names(info))
      if (std::find(seen.begin(), seen.end(), label) == seen.end()) seen.push_back(label);
  std::sort(seen.begin(), seen.end());
  for (const std::string_view label : seen)
    page += fmt::format("| `{}` | {} |\n", label, label_values(label));
  return page;
}

}  // namespace

// Budgets are rendered for three sizes of a fleet.
std::string reference_markdown() {
  std::string page =
      "# Metrics\n\nRendered from `controller/metric/catalog.cc`, as `railgauge metrics "
      "--describe` "
      "is; a test\ncompares the two.\n\n"
      "Each agent serves the series of its node on port 7471, the controller those of the fleet "
      "on\n"
      "7470, both under `/metrics` and from memory: a scrape reads no file of the database and\n"
      "starts nothing.\n\n"
      "\"Series\" is the count of a process on a node of 8 NIC ports and 8 GPUs. \"At most\" is "
      "the\n"
      "bound: values beyond it are refused and counted (`railgauge_series_refused_total`).\n\n";
  page += "## Agents\n\n";
  add_family_table(page, Owner::kAgent);
  page += "## Controller\n\n";
  add_family_table(page, Owner::kController);
  page += "## Both\n\n";
  add_family_table(page, Owner::kBoth);
  page += "## Labels\n\n" + labels_in_use() + "\n## Budget\n\n";
  page += "| nodes | series of an agent | at most | of the controller | at most | all |\n";
  page += "|---|---|---|---|---|---|\n";
  for (const std::uint32_t nodes : {100U, 2'000U, 10'000U}) {
    const Budget sum = budget(nodes);
    page +=
        fmt::format("| {} | {} | {} | {} | {} | {} |\n", nodes, sum.agent_typical, sum.agent_most,
                    sum.controller_typical, sum.controller_most, sum.fleet_typical);
  }
  page +=
      "\nThe controller's count does not grow with the nodes. The database has the figures of all\n"
      "pairs (`railgauge runs matrix`). The metrics show the slowest 20 and each rail's median.\n";
  return page;
}

}  // namespace railgauge::metric
