// A rollout that came to nodes one after the other: what it cost, each node counted from its own
// upgrade, against nodes that did not have it yet. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/stats/metric_traits.h"

namespace railgauge::analysis {

inline constexpr int kStudyNights = 10;              // before and after an upgrade
inline constexpr std::size_t kLeastStudyNights = 3;  // before it, of a node that counts

struct RolloutNode {
  std::string name{};
  std::optional<std::size_t> upgraded_at{};  // first night with it; absent: not yet
  std::vector<double>
      nights{};  // figures, all nodes' from the same night on; positive, else missing
};

struct StudyNight {
  int night = 0;     // from the node's upgrade; -1 is the last one before it
  double worse = 0;  // fraction, positive is worse, less what nodes not yet upgraded moved by
  std::size_t nodes = 0;
};

enum class StudyVerdict { kRegressed, kNoRegression, kInconclusive, kConfounded };
std::string_view word(StudyVerdict verdict);  // "regressed", "no_regression", ...

struct EventStudy {
  StudyVerdict verdict = StudyVerdict::kInconclusive;
  std::vector<StudyNight> nights;  // -kStudyNights to kStudyNights, those that somebody has
  double worse = 0;                // mean over nodes of the nights since, with its 90 % interval
  std::optional<double> low;
  std::optional<double> high;
  std::size_t upgraded = 0;  // nodes that count
  std::string reason;        // why it is no statement; "" it is one
};

// Nodes that were upgraded are nobody's controls from that night on. Where upgraded nodes moved
// against the others before their upgrade already, the verdict is `kConfounded`: whatever moved
// them may go on. `delta`: the practical bound.
EventStudy study_rollout(std::span<const RolloutNode> nodes, Better better, double delta);

}  // namespace railgauge::analysis
