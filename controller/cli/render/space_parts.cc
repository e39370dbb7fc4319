#include "controller/cli/render/space_parts.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace railgauge::cli {
namespace {

// The tables of the schema that serve one purpose.
struct TablesOf {
  Purpose purpose;
  std::string_view tables;  // blanks between and around them
};
constexpr std::array kPurposes{
    TablesOf{{"points", "keep_points"}, " point point_tail series_day "},
    TablesOf{{"distributions", "keep_distributions"}, " distribution "},
    TablesOf{{"raw samples", "keep_raw_samples"}, " raw_sample "},
    // Tasks go with their points.
    TablesOf{{"runs, tasks, ranks", "keep_points"},
             " run task task_rank task_rest attempt rank note schedule schedule_due metric_list "
             "stage_time "},
    TablesOf{{"facts, parameters", ""}, " fact_set parameter_set "},
    TablesOf{{"series", ""}, " series series_endpoint "},
    TablesOf{{"nodes, stacks", ""},
             " node node_name endpoint endpoint_attribute stack epoch node_label "
             "site_label node_group node_pause enrolment_token enrolment "},
    TablesOf{{"pair matrices", ""}, " pair_matrix pair_outlier "},
    TablesOf{{"levels of parts", "keep_distributions"}, " part_levels "},
    TablesOf{{"events", ""},
             " event operator_note repeat_count delivery mirror_outbox mirror_state "
             "mirror_start standby_state certificate "},
    TablesOf{{"audit trail", "keep_audit"}, " audit "},
    TablesOf{{"findings, preflights", ""},
             " finding finding_series finding_step baseline upgrade upgrade_node upgrade_run "
             "preflight preflight_check "},
    TablesOf{{"records of unknown runs", ""}, " orphan_record "},
    TablesOf{{"schema", ""}, " sqlite_schema sqlite_sequence sqlite_stat1 "},
};
constexpr Purpose kOthers{"others", ""};

}  // namespace

const Purpose& purpose_of(std::string_view table) {
  const std::string word = fmt::format(" {} ", table);
  for (const TablesOf& each : kPurposes)
    if (each.tables.find(word) != std::string_view::npos) return each.purpose;
  return kOthers;
}

// An index counts for its table's purpose, because SpacePart names the table.
std::vector<PurposeSum> sums_by_purpose(const api::Space& space) {
  std::vector<PurposeSum> sums;
  for (const api::SpacePart& part : space.parts()) {
    const Purpose& purpose = purpose_of(part.table());
    auto sum = std::ranges::find_if(
        sums, [&](const PurposeSum& one) { return one.purpose.holds == purpose.holds; });
    if (sum == sums.end()) sum = sums.insert(sums.end(), PurposeSum{.purpose = purpose});
    sum->bytes += part.bytes();
  }
  std::ranges::stable_sort(sums, std::ranges::greater(), &PurposeSum::bytes);
  return sums;
}

// Powers of 1000, with one decimal.
std::string size_text(double bytes) {
  constexpr double kMegabyte = 1e6;
  constexpr double kGigabyte = 1e9;
  if (bytes >= kGigabyte) return fmt::format("{:.1f} GB", bytes / kGigabyte);
  return bytes >= kMegabyte ? fmt::format("{:.1f} MB", bytes / kMegabyte)
                            : fmt::format("{:.1f} kB", bytes / 1e3);
}

}  // namespace railgauge::cli
