// The answers of runs that were started for a finding: reruns of its own series, and controls on
// pairs that it does not touch. Called on worker threads; answer_of() is pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/store/store.h"

namespace railgauge {

// The kinds of such runs: actions of the finding's steps whose text is the run's id.
inline constexpr std::string_view kRerun = "rerun";
inline constexpr std::string_view kControlRun = "control";

// One of them with its answer.
struct MeasuredAgain {
  std::string run_id{};
  std::string kind{};
  double at = 0;  // when it was started; unix seconds
  std::string who{};
  // "planned", "running"; of a rerun that ended "confirmed" or "failed", of a control "measured" or
  // "failed".
  std::string state{};
  // One line for people.
  std::string reason{};
  // The median loss, a fraction: of a rerun against the level before the finding, of a control
  // against its own figures before the run. Absent: it gave none.
  std::optional<double> worse{};
  std::size_t figures = 0;
};

// The losses of one run by series, as fractions, and the loss that the finding has.
struct RerunLosses {
  std::vector<double> now{};
  double found = 0;
};
// Reports whether a rerun shows the finding: most of its series have half of the loss or more.
bool is_shown_again(const RerunLosses& losses);

// The runs of the finding, the oldest first. `finding` is whole, with its steps and series. A run
// that the store has no more is left out.
Result<std::vector<MeasuredAgain>> measured_again(const store::Store& store,
                                                  const store::FindingRow& finding);

// The state of the newest rerun; "" where there is none. Pure.
std::string confirmation_of(std::span<const MeasuredAgain> runs);

}  // namespace railgauge
