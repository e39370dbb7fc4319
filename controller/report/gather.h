// Gathers a report's material by the calls that tools make. Pure but for its source.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "controller/report/site_report.h"
#include "kernels/core/base/result.h"

namespace railgauge::report {

// The calls: over gRPC in the CLI, the services themselves in the controller. All but `matrix`,
// which only a picture needs, and `is_synthetic` are set.
struct Source {
  std::function<bool()> is_synthetic{};  // whether what the calls answered is of a modelled site
  std::function<Result<api::NodeList>()> nodes;
  std::function<Result<api::RunList>(std::uint32_t limit)> runs;
  std::function<Result<api::TaskGroups>(const std::string& run_id)> groups;
  std::function<Result<api::SuspectList>(const std::string& run_id)> suspects;
  // `rail`: absent is the first that was measured.
  std::function<Result<api::PairMatrix>(const std::string& run_id,
                                        std::optional<std::int32_t> rail)>
      matrix{};
  std::function<Result<api::FindingList>(const std::string& state, std::uint32_t limit)> findings;
  std::function<Result<api::Finding>(const std::string& finding_id)> finding;
  std::function<Result<api::UpgradeList>(std::uint32_t limit)> upgrades;
  std::function<Result<api::Upgrade>(const std::string& upgrade_id)> upgrade;
  std::function<Result<api::ScheduleList>(const std::string& name)> schedules;
  std::function<Result<api::EventList>(double since, std::uint32_t limit)> events;
  // The newest events `upgrade_proposed` of any age.
  std::function<Result<api::EventList>(std::uint32_t limit)> proposals;
};

struct Gathered {
  Material material{};
  // That of the worst slow part's run and rail, else of the run with most tasks that measured
  // pairs.
  std::optional<api::PairMatrix> matrix{};
  std::string no_matrix{};  // why such a run has none here; "": it has
};

// Each gathers what happened until `until`, in seconds since 1970. A run without figures of pairs
// has no suspects, which is no error. Errors: those of the calls.
Result<Gathered> gather_since(const Source& source, double from, double until);
// Only what belongs to the run, since it was asked for.
Result<Gathered> gather_run(const Source& source, const std::string& run_id, double until);
// The morning after a run of a schedule: this run, and all that is open, waits or happened since
// the schedule's previous due time that started a run; of its first run, since a day before it.
// Findings and other runs count as news since the report of that previous run.
Result<Gathered> gather_morning(const Source& source, const std::string& run_id, double until);
// The runs of both sides, and the upgrade itself. "": the newest upgrade.
Result<Gathered> gather_upgrade(const Source& source, const std::string& upgrade_id, double until);

}  // namespace railgauge::report
