#include "controller/cli/render/space_parts.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace railgauge::cli {
namespace {

constexpr Purpose kPoints{"points", "keep_points"};
constexpr Purpose kDistributions{"distributions", "keep_distributions"};
constexpr Purpose kRawSamples{"raw samples", "keep_raw_samples"};
constexpr Purpose kRuns{"runs, tasks, ranks", "keep_points"};  // tasks go with their points
constexpr Purpose kFacts{"facts, parameters", ""};
constexpr Purpose kSeries{"series", ""};
constexpr Purpose kNodes{"nodes, stacks", ""};
constexpr Purpose kMatrices{"pair matrices", ""};
constexpr Purpose kEvents{"events", ""};
constexpr Purpose kFindings{"findings, preflights", ""};
constexpr Purpose kOrphans{"records of unknown runs", ""};
constexpr Purpose kSchema{"schema", ""};
constexpr Purpose kOthers{"others", ""};

// The purpose of one table of the schema.
struct Row {
  std::string_view table;
  const Purpose* purpose;
};
constexpr std::array kRows{Row{"point", &kPoints},
                           Row{"series_day", &kPoints},
                           Row{"distribution", &kDistributions},
                           Row{"raw_sample", &kRawSamples},
                           Row{"run", &kRuns},
                           Row{"task", &kRuns},
                           Row{"task_rank", &kRuns},
                           Row{"attempt", &kRuns},
                           Row{"rank", &kRuns},
                           Row{"note", &kRuns},
                           Row{"fact_set", &kFacts},
                           Row{"parameter_set", &kFacts},
                           Row{"series", &kSeries},
                           Row{"series_endpoint", &kSeries},
                           Row{"node", &kNodes},
                           Row{"node_name", &kNodes},
                           Row{"endpoint", &kNodes},
                           Row{"endpoint_attribute", &kNodes},
                           Row{"stack", &kNodes},
                           Row{"epoch", &kNodes},
                           Row{"pair_matrix", &kMatrices},
                           Row{"pair_outlier", &kMatrices},
                           Row{"event", &kEvents},
                           Row{"operator_note", &kEvents},
                           Row{"repeat_count", &kEvents},
                           Row{"finding", &kFindings},
                           Row{"finding_series", &kFindings},
                           Row{"finding_step", &kFindings},
                           Row{"baseline", &kFindings},
                           Row{"upgrade", &kFindings},
                           Row{"upgrade_node", &kFindings},
                           Row{"upgrade_run", &kFindings},
                           Row{"preflight", &kFindings},
                           Row{"preflight_check", &kFindings},
                           Row{"schedule", &kRuns},
                           Row{"schedule_due", &kRuns},
                           Row{"orphan_record", &kOrphans},
                           Row{"sqlite_schema", &kSchema},
                           Row{"sqlite_sequence", &kSchema},
                           Row{"sqlite_stat1", &kSchema}};

}  // namespace

const Purpose& purpose_of(std::string_view table) {
  const auto* const row = std::ranges::find(kRows, table, &Row::table);
  return row == kRows.end() ? kOthers : *row->purpose;
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
