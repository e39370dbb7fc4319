#include "agent/preflight/report.h"

#include <algorithm>
#include <ctime>

#include <fmt/chrono.h>

#include "agent/preflight/checks/gpudirect.h"
#include "agent/preflight/rules/results.h"
#include "controller/api/preflight.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

// A sick file's content never fills a report, breaks its lines or steers a terminal.
constexpr std::size_t kMaxTextBytes = 1000;
std::string bounded(const std::string& text) {
  std::string line = valid_utf8(text.substr(0, kMaxTextBytes));
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  return text.size() <= kMaxTextBytes ? line : line + "...";
}

std::string utc_text(double unix_seconds) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(unix_seconds)));
}

api::PreflightCheck& add_check(api::PreflightReport& report, const std::string& node_name,
                               std::string_view id, const CheckResult& one) {
  api::PreflightCheck& check = *report.add_checks();
  check.set_node(node_name);
  check.set_id(std::string(id));
  check.set_subject(bounded(one.subject));
  check.set_state(std::string(text_of(one.state)));
  check.set_observed(bounded(one.observed));
  check.set_source(bounded(one.source));
  for (const std::string& line : one.remedy) check.add_remedy(bounded(line));
  return check;
}

}  // namespace

std::vector<std::string> unknown_checks(const std::vector<std::string>& ids) {
  std::vector<std::string> strange;
  for (const std::string& id : ids)
    if (find_check(id) == nullptr) strange.push_back(id);
  return strange;
}

api::PreflightReport make_preflight_report(const std::string& node_name, const CheckInput& input,
                                           double seconds) {
  api::PreflightReport report;
  report.set_schema_version(1);
  const auto& late_sources = input.node.late_sources;
  // A fact without a source was not read.
  const std::string late =
      late_sources.empty() ? ""
                           : fmt::format("; not read in time: {}", fmt::join(late_sources, ", "));
  for (const Check& check : all_checks()) {
    CheckResults results = check.judge(input);
    if (results.empty()) results = waived("there is nothing to look at");
    for (const CheckResult& one : results) {
      api::PreflightCheck& added = add_check(report, node_name, check.id, one);
      if (one.state == CheckState::kUnknown && one.source.empty() && !late.empty())
        added.set_observed(bounded(one.observed + late));
      added.set_title(std::string(check.title));
      added.set_why(std::string(check.why));
    }
  }
  for (const std::string& id : unknown_checks({input.required.begin(), input.required.end()}))
    add_check(
        report, node_name, valid_utf8(id),
        in_error("", "this agent has no such check", "", {"railgauge preflight --explain all"}));
  for (api::GpuDirectPair& pair : gpudirect_pairs(input)) {
    pair.set_node(node_name);
    pair.set_gpu(bounded(pair.gpu()));
    pair.set_nic(bounded(pair.nic()));
    pair.set_because(bounded(pair.because()));
    if (!pair.path().empty()) pair.set_path(bounded(pair.path()));
    for (std::string& line : *pair.mutable_remedy()) line = bounded(line);
    *report.add_pairs() = std::move(pair);
  }
  api::PreflightNode& node = *report.add_nodes();
  node.set_node(node_name);
  node.set_checked_at(utc_text(input.now_unix_seconds));
  node.set_seconds(seconds);
  node.set_state(std::string(api::worst_check_state(report, node_name)));
  return report;
}

}  // namespace railgauge::agent
