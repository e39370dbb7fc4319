// A run under way in few lines, from its events: bar, counts, time left, and what failed. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/api/control.pb.h"
#include "controller/cli/render/output.h"

namespace railgauge::cli {

// Seconds since the watch began, and until the run ends, as forecast.
struct RunTimes {
  std::int64_t elapsed = 0;
  std::optional<std::int64_t> left{};
};

// Not thread safe.
class RunView {
 public:
  // Events come in order; one that repeats an earlier one changes nothing.
  void take(const api::RunEvent& event);

  // The view of a terminal: the progress line, then the kinds of failures, the most frequent first.
  // `rows` 0: not known.
  std::vector<std::string> lines(const RunTimes& times, const Screen& screen, bool colour);
  // For a file or a pipe: the counts and the time left; then a line for each kind of failure that
  // came since the last call.
  std::string report(const RunTimes& times);
  // Whether the last event is of the run itself, or of the first task of a kernel: a stage begins.
  [[nodiscard]] bool is_milestone() const { return is_milestone_; }

 private:
  // A kind of failure: "3 x verbs.write_bw gpu[001-003]: failed: ...".
  struct Kind {
    std::string text{};
    std::size_t tasks = 0;
  };
  [[nodiscard]] static std::vector<Kind> kinds_of(const std::vector<std::string>& failures,
                                                  const std::vector<std::string>& nodes);

  api::RunSummary run_;
  api::RunProgress progress_;
  std::string text_;
  std::vector<std::string> nodes_;
  std::vector<std::string> kernels_;   // that were seen
  std::vector<std::string> failures_;  // texts of the newest failures, without the tasks' ids
  std::size_t reported_ = 0;           // of them, by report()
  std::vector<Kind> kinds_;            // of the first `grouped_` failures
  std::size_t grouped_ = 0;
  std::uint32_t failed_ = 0;
  bool is_milestone_ = false;
};

}  // namespace railgauge::cli
