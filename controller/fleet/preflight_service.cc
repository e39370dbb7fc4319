#include "controller/fleet/preflight_service.h"

#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include "controller/api/preflight.h"
#include "controller/api/states.h"

namespace railgauge {
namespace {

// The report counts for the node whose stream brought it, whatever node it names.
api::PreflightReport report_of(const std::string& name, api::PreflightReport report) {
  for (auto& check : *report.mutable_checks()) check.set_node(name);
  for (auto& pair : *report.mutable_pairs()) pair.set_node(name);
  api::PreflightNode node;
  if (!report.nodes().empty()) node = report.nodes(0);
  report.clear_nodes();
  node.set_node(name);
  node.set_state(std::string(node.error().empty() ? api::worst_check_state(report, name)
                                                  : text_of(api::CheckState::kError)));
  *report.add_nodes() = std::move(node);
  return report;
}

api::PreflightReport silence_of(const std::string& name, const std::string& reason) {
  api::PreflightReport report;
  api::PreflightNode& node = *report.add_nodes();
  node.set_node(name);
  node.set_state(std::string(text_of(api::CheckState::kError)));
  node.set_error(reason);
  return report;
}

}  // namespace

PreflightService::PreflightService(fleet::EventLoop& loop, fleet::Fleet& fleet, store::Store& store,
                                   PreflightSite site)
    : loop_(loop), fleet_(fleet), store_(store), site_(site) {
  fleet_.on_preflight([this](const std::string& node, api::PreflightAnswer answer) {
    const std::string error =
        answer.report().nodes().empty() ? "" : answer.report().nodes(0).error();
    if (answered(node, std::move(answer)) && !error.empty())
      spdlog::warn("node {}: preflight: {}", node, error);
  });
}

api::PreflightReport PreflightService::ask(const PreflightQuestion& question) {
  std::string id;
  {
    const std::lock_guard lock(mutex_);
    id = fmt::format("p{}", next_++);
    Pending& pending = pending_[id];
    for (const auto& [name, node_id] : question.nodes) pending.reports[name];
    pending.missing = question.nodes.size();
  }
  api::ControllerMessage message;
  api::PreflightOrder& order = *message.mutable_preflight();
  order.set_request_id(id);
  order.mutable_require()->Assign(question.require.begin(), question.require.end());
  order.set_probe(question.probe);
  if (site_.lossless_priority) order.set_lossless_priority(*site_.lossless_priority);
  if (site_.traffic_class) order.set_traffic_class(*site_.traffic_class);
  loop_.call([&] {
    for (const auto& [name, node_id] : question.nodes) {
      if (fleet_.send(name, message)) continue;
      api::PreflightAnswer refused;
      refused.set_request_id(id);
      *refused.mutable_report() = silence_of(name, "it is not attached; start its agent");
      answered(name, std::move(refused));
    }
  });
  const double seconds = question.probe ? kProbeSeconds : kAnswerSeconds;
  Pending done;
  {
    std::unique_lock lock(mutex_);
    const auto found = pending_.find(id);
    changed_.wait_for(lock, std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3)),
                      [&] { return found->second.missing == 0; });
    done = std::move(found->second);
    pending_.erase(found);
  }
  api::PreflightReport all;
  all.set_schema_version(1);
  for (const auto& [name, report] : done.reports) {
    const api::PreflightReport& one =
        report ? *report
               : silence_of(name, fmt::format("it gave no answer within {} s; railgauge-agent "
                                              "--preflight on it shows what it waits for",
                                              seconds));
    api::append_report(one, all);
    keep(question, name, one);
  }
  return all;
}

bool PreflightService::answered(const std::string& node, api::PreflightAnswer answer) {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(answer.request_id());
  if (found == pending_.end()) return false;  // too late, or never asked
  const auto place = found->second.reports.find(node);
  if (place == found->second.reports.end() || place->second) return false;
  place->second = report_of(node, std::move(*answer.mutable_report()));
  --found->second.missing;
  changed_.notify_all();
  return true;
}

// Stores the answer of a node. Without an answer the node's last preflight stays.
void PreflightService::keep(const PreflightQuestion& question, const std::string& node,
                            const api::PreflightReport& report) {
  if (report.checks().empty()) return;
  store::PreflightRow row{
      .node_id = question.nodes.at(node), .run_id = question.run_id, .at = fleet::unix_seconds()};
  for (const api::PreflightCheck& check : report.checks())
    row.checks.push_back(
        {.check_id = check.id(),
         .subject = check.subject(),
         .state = check.state(),
         .observed = check.source().empty()
                         ? check.observed()
                         : fmt::format("{} ({})", check.observed(), check.source()),
         .why = check.why(),
         .remedy = fmt::format("{}", fmt::join(check.remedy(), "\n"))});
  if (const Status put = store_.write(store::write_preflight, std::move(row)); !put)
    spdlog::warn("node {}: its preflight is not stored: {}", node, put.error().message);
}

}  // namespace railgauge
