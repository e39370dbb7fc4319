#include "controller/findings_desk.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/control.h"
#include "controller/judge_sides.h"
#include "controller/measured_twice.h"
#include "controller/rfc3339.h"

namespace railgauge {
namespace {

constexpr std::uint32_t kFindings = 100;
constexpr std::uint32_t kMostPinned = 100'000;
constexpr double kPercent = 100;
constexpr double kRepeatSeconds = 30 * 86'400.0;  // in which what was measured twice is counted

std::string series_text(const store::SeriesRow& series) {
  return fmt::format("{} {}", metric_text(series, ""), fmt::join(series.endpoints, " "));
}

Error as_wrong_use(Error error) {
  if (error.code == Code::kNotFound) error.code = Code::kInvalidArgument;
  return error;
}

api::Finding to_api(const store::FindingRow& row, double now) {
  api::Finding out;
  out.set_schema_version(kSchemaVersion);
  out.set_finding_id(row.finding_id);
  out.set_kind(row.kind);
  const bool is_over = row.state == "acknowledged" && row.until && *row.until < now;
  out.set_state(is_over ? "reopened" : row.state);
  out.set_severity(row.severity);
  out.set_summary(row.summary);
  out.set_suspect(row.suspect);
  if (row.worse) out.set_worse_percent(kPercent * *row.worse);
  out.set_opened_at(rfc3339(row.opened_at));
  out.set_changed_at(rfc3339(row.changed_at));
  if (row.until) out.set_acknowledged_until(rfc3339(*row.until));
  if (!row.run_id.empty()) out.set_run_id(row.run_id);
  if (!row.upgrade_id.empty()) out.set_upgrade_id(row.upgrade_id);
  if (!row.node_id.empty()) out.set_node_id(row.node_id);
  for (const store::FindingStepRow& step : row.steps) {
    api::FindingStep& told = *out.add_steps();
    told.set_at(rfc3339(step.at));
    told.set_who(step.who);
    told.set_action(step.action);
    told.set_text(step.text);
  }
  return out;
}

api::Baseline to_api(const store::BaselineRow& row) {
  api::Baseline out;
  out.set_series_id(static_cast<std::uint32_t>(row.series_id));
  out.set_name(series_text(row.series));
  out.set_kind(row.kind);
  out.set_unit(row.series.unit);
  out.set_level(row.level);
  if (row.now) {
    out.set_now(*row.now);
    const double worse =
        row.series.larger_is_better ? 1 - *row.now / row.level : *row.now / row.level - 1;
    out.set_worse_percent(kPercent * worse);
  }
  out.set_set_at(rfc3339(row.set_at));
  out.set_who(row.who);
  out.set_note(row.note);
  if (!row.finding_id.empty()) out.set_finding_id(row.finding_id);
  return out;
}

}  // namespace

Result<api::FindingList> FindingsDesk::list(const api::ListFindingsRequest& request, double now) {
  const std::uint32_t limit = request.limit() == 0 ? kFindings : request.limit();
  api::FindingList list;
  list.set_schema_version(kSchemaVersion);
  // Those that are closed are left out after reading, so that an acknowledgement's end counts.
  for (const store::FindingRow& row : RG_TRY(store_.list_findings("", kMostPinned))) {
    api::Finding finding = to_api(row, now);
    const bool is_closed = finding.state() == "fixed" || finding.state() == "false";
    if (request.state().empty() ? is_closed : finding.state() != request.state()) continue;
    *list.add_findings() = std::move(finding);
    if (static_cast<std::uint32_t>(list.findings_size()) == limit) break;
  }
  if (const auto repeats = RG_TRY(repeats_since(store_, now - kRepeatSeconds))) {
    list.set_measured_twice(static_cast<std::uint32_t>(repeats->figures));
    list.set_measured_twice_apart(static_cast<std::uint32_t>(repeats->apart));
  }
  return list;
}

Result<api::Finding> FindingsDesk::get(const std::string& finding_id, double now) {
  const auto row = store_.finding(finding_id);
  if (!row) return tl::unexpected(as_wrong_use(row.error()));
  api::Finding out = to_api(*row, now);
  for (const store::FindingSeriesRow& moved : row->series) {
    const store::SeriesRow series = RG_TRY(store_.series(moved.series));
    api::FindingSeries& told = *out.add_series();
    told.set_series_id(static_cast<std::uint32_t>(moved.series));
    told.set_name(series_text(series));
    told.set_unit(series.unit);
    if (moved.before) told.set_before(*moved.before);
    if (moved.after) told.set_after(*moved.after);
  }
  return out;
}

Result<api::Finding> FindingsDesk::step(const api::FindingStepRequest& request,
                                        const std::string& who, double now) {
  store::FindingStepRow step{
      .at = now, .who = who, .action = request.action(), .text = request.text()};
  if (request.has_until_unix_seconds()) step.until = request.until_unix_seconds();
  const Status stepped = store_.step_finding(request.finding_id(), std::move(step));
  if (!stepped) return tl::unexpected(as_wrong_use(stepped.error()));
  return get(request.finding_id(), now);
}

Result<api::BaselineList> FindingsDesk::pin(const api::PinRequest& request, const std::string& who,
                                            double now) {
  store::ResultsFilter filter{
      .kernel = request.kernel(), .metric = request.metric(), .limit = kMostPinned};
  if (!request.node_set().empty()) filter.nodes.push_back(request.node_set());
  std::vector<store::BaselineRow> rows;
  for (const store::SeriesRow& series : RG_TRY(store_.list_series(filter))) {
    if (request.has_series_id() && series.series_id != request.series_id()) continue;
    rows.push_back({.series_id = series.series_id,
                    .kind = "golden",
                    .set_at = now,
                    .who = who,
                    .note = request.note()});
  }
  if (rows.empty())
    return fail(Code::kInvalidArgument,
                "no series fits; railgauge history lists those that there are");
  RG_TRY_OK(store_.put_baselines(std::move(rows)));
  api::ListBaselinesRequest golden;
  golden.set_kind("golden");
  return baselines(golden);
}

Result<api::BaselineList> FindingsDesk::baselines(const api::ListBaselinesRequest& request) {
  api::BaselineList list;
  list.set_schema_version(kSchemaVersion);
  for (const store::BaselineRow& row : RG_TRY(store_.list_baselines(request.kind())))
    *list.add_baselines() = to_api(row);
  return list;
}

}  // namespace railgauge
