// Slow parts of one run, in the words and with the evidence of findings: by the levels of its
// nights, and by the suspects that the run measured again. Called on worker threads.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/findings/changes/part_levels.h"
#include "controller/findings/changes/run_places.h"
#include "controller/findings/parts.pb.h"
#include "controller/history/run_suspects.h"
#include "controller/parts/judge.h"
#include "controller/store/rows/remark_rows.h"

namespace railgauge {

// The kind of findings about parts.
inline constexpr std::string_view kPartKind = "part";

// A slow part.
struct PartCase {
  // The part's name, which lasts while its side or its share of nights changes.
  std::string name{};
  // For an operator: the part with its side, and one line.
  std::string suspect{};
  std::string summary{};
  // The node where the part is of one; else "".
  std::string node{};
  // Several nights show it, or a retest did.
  bool confirmed = false;
  // The run itself shows half of the loss or more; else earlier nights do.
  bool is_present = true;
  PartEvidence evidence{};
};

// The id of the finding about the part of a lasting name: "part-sim0012-rail-1".
std::string id_of_part(std::string_view name);

// "verbs.write_bw bandwidth_bytes_per_second 64 KiB".
std::string text_of_series(const PairSeries& series);

// One series of a run with its nights, the run's own the last, and the figures of the run.
struct JudgedNights {
  PairSeries series{};
  std::vector<LevelsOfRun> nights{};
  parts::NightFigures figures{};
};

// The slow parts by the levels of the nights, the confirmed ones first. Empty without nights.
std::vector<PartCase> cases_of_nights(const JudgedNights& judged);

// The suspects that the run's own retests confirmed. `any`: also those that two figures of the plan
// show and no retest cleared, as unconfirmed ones.
std::vector<PartCase> cases_of_suspects(const RunSuspects& suspects, bool any);
// The lasting names of suspects that retests cleared.
std::set<std::string> cleared_parts(const RunSuspects& suspects);

// Reports whether the part of an open finding is as expected again, by the series that showed it: a
// pair at its next figure, other parts on three nights in a row, this one among them. `worse`: the
// finding's loss, a share. False where the nights do not show it.
bool is_part_back(const PartEvidence& evidence, double worse, const JudgedNights& judged);

// Says how a finding about such a part ends: "railgauge prove n3 ends it", or by hand where no
// proof of nodes can show the part.
std::string how_to_end(const PartEvidence& evidence);

// The evidence of a finding of kPartKind. A text that is none gives an empty one.
PartEvidence part_evidence_of(const store::FindingRow& finding);

}  // namespace railgauge
