#include "controller/findings/run_findings.h"

#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "controller/findings/run_judge.h"
#include "controller/nodes/pause_times.h"
#include "controller/store/nodes/node_facts.h"

namespace railgauge {
namespace {

constexpr std::uint32_t kFindingsToEnd = 1'000;

store::FindingStepRow step_of(double at, std::string action, std::string text) {
  return {.at = at,
          .who = std::string(kRunJudgeWho),
          .action = std::move(action),
          .text = std::move(text)};
}

}  // namespace

Result<RunNodes> read_run_nodes(store::Store& store, const store::RunRow& run) {
  RunNodes nodes;
  for (const store::KnownNodeRow& node : RG_TRY(store.read(store::read_known_nodes)))
    nodes.ids[node.name] = node.node_id;
  const auto [from, until] = span_of(run);
  nodes.paused = RG_TRY(PauseTimes::of(store, from)).nodes_during(from, until);
  return nodes;
}

Status keep_run_finding(store::Store& store, store::FindingRow row, bool is_proved) {
  const std::string id = row.finding_id;
  auto step = step_of(row.opened_at, "confirm", fmt::format("run {}: {}", row.run_id, row.summary));
  const auto known = store.read(store::read_finding, id);
  if (!known && known.error().code != Code::kNotFound) return tl::unexpected(known.error());
  if (!known) {
    RG_TRY_OK(store.write(store::write_finding, std::move(row)));
    return is_proved ? store.write(store::write_finding_step, id, std::move(step)) : Status();
  }
  if (known->run_id == row.run_id) return {};  // judged twice
  const bool opens = store::opens_when_seen(*known);
  if (opens) step.action = "reopen";
  if (!api::is_unseen(known->state) && !opens) return {};
  return store.write(store::write_finding_again, std::move(row), std::move(step));
}

Result<std::vector<store::FindingRow>> findings_to_end(store::Store& store, std::string_view kind,
                                                       const store::RunRow& run) {
  auto rows = RG_TRY(store.read(store::read_findings, {}, kFindingsToEnd));
  std::erase_if(rows, [&](const store::FindingRow& row) {
    return row.kind != kind || !api::is_open(row.state) || !row.upgrade_id.empty() ||
           row.run_id == run.run_id;
  });
  return rows;
}

Status end_run_finding(store::Store& store, const store::FindingRow& finding,
                       const store::RunRow& run, std::string_view text, double now) {
  return store.write(store::write_finding_step, finding.finding_id,
                     step_of(now, "resolve", fmt::format("run {}: {}", run.run_id, text)));
}

}  // namespace railgauge
