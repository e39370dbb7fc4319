#include "controller/metric/exposition.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/core/text/lines.h"

namespace railgauge::metric {
namespace {

// `rest` begins behind "{"; returns the text behind "}".
std::string_view read_labels(std::string_view rest, Sample& sample) {
  while (!rest.empty() && rest.front() != '}') {
    const std::size_t equals = rest.find("=\"");
    if (equals == std::string_view::npos) return {};
    const std::string name(rest.substr(0, equals));
    rest.remove_prefix(equals + 2);
    std::string value;
    while (!rest.empty() && rest.front() != '"') {
      if (rest.front() == '\\' && rest.size() > 1) rest.remove_prefix(1);
      value += rest.front();
      rest.remove_prefix(1);
    }
    sample.labels[name] = value;
    rest.remove_prefix(std::min<std::size_t>(1, rest.size()));
    if (!rest.empty() && rest.front() == ',') rest.remove_prefix(1);
  }
  rest.remove_prefix(std::min<std::size_t>(1, rest.size()));
  return rest;
}

// NAME{LABELS} VALUE [TIMESTAMP]; the timestamp is dropped.
Sample read_sample(std::string_view line) {
  Sample sample;
  const std::size_t end = std::min(line.find_first_of("{ "), line.size());
  sample.name = line.substr(0, end);
  std::string_view rest = line.substr(end);
  if (!rest.empty() && rest.front() == '{') rest = read_labels(rest.substr(1), sample);
  if (!rest.empty()) rest.remove_prefix(1);
  sample.value = rest.substr(0, rest.find(' '));
  return sample;
}

// A summary's sum and count belong to it.
const Info* find_family(std::string_view name) {
  if (const Info* info = find(name)) return info;
  for (const std::string_view suffix : {"_sum", "_count"}) {
    if (!name.ends_with(suffix)) continue;
    const Info* info = find(name.substr(0, name.size() - suffix.size()));
    if (info != nullptr && info->type == Type::kSummary) return info;
  }
  return nullptr;
}

}  // namespace

// Comment lines (# HELP, # TYPE) are skipped.
std::vector<Sample> read_exposition(std::string_view page) {
  std::vector<Sample> samples;
  for (const std::string_view line : lines_of(page))
    if (!line.empty() && line.front() != '#') samples.push_back(read_sample(line));
  return samples;
}

// Three rules: the metric is listed for this process, its labels are declared, its series are
// within the bound.
std::vector<std::string> outside_catalog(std::string_view page, Owner process) {
  std::vector<std::string> problems;
  std::map<std::string_view, std::uint32_t> counts;
  for (const Sample& sample : read_exposition(page)) {
    const Info* info = find_family(sample.name);
    if (info == nullptr || !is_shown_by(*info, process)) {
      problems.push_back(fmt::format("{}: is no metric of the {}", sample.name, word(process)));
      continue;
    }
    const auto allowed = label_names(*info);
    for (const auto& [label, ignored] : sample.labels)
      if (std::find(allowed.begin(), allowed.end(), label) == allowed.end())
        problems.push_back(fmt::format("{}: label {} is not declared", sample.name, label));
    if (info->name == sample.name && ++counts[info->name] > info->most)
      problems.push_back(fmt::format("{}: more than {} series", sample.name, info->most));
  }
  return problems;
}

}  // namespace railgauge::metric
