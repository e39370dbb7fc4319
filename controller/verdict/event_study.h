// A rollout that came to nodes one after the other: what it cost, each node counted from its own
// upgrade, against nodes that did not have it yet. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "controller/stats/metric_traits.h"

namespace railgauge::analysis {

// Nights that are examined before and after an upgrade.
inline constexpr int kStudyNights = 10;
// Least number of measured nights before the upgrade of a node that counts.
inline constexpr std::size_t kLeastStudyNights = 3;

// One node with its nightly figures of one metric.
struct RolloutNode {
  std::string name{};
  // First night with it; absent: not yet.
  std::optional<std::size_t> upgraded_at{};
  std::vector<double>
      // Figures, all nodes' from the same night on; positive, else missing.
      nights{};
};

// One point of the study's curve.
struct StudyNight {
  // Night counted from the upgrade of the node; -1 is the last one before it.
  int night = 0;
  // Fraction, positive is worse, less what nodes not yet upgraded moved by.
  double worse = 0;
  std::size_t nodes = 0;
};

// Answer of an event study.
enum class StudyVerdict { kRegressed, kNoRegression, kInconclusive, kConfounded };

// Result of a study. Fractions are positive where it got worse.
struct EventStudy {
  StudyVerdict verdict = StudyVerdict::kInconclusive;
  // -kStudyNights to kStudyNights, those that somebody has.
  std::vector<StudyNight> nights;
  // Mean over nodes of the nights since, with its 90 % interval.
  double worse = 0;
  std::optional<double> low;
  std::optional<double> high;
  // Number of upgraded nodes that count.
  std::size_t upgraded = 0;
  // Why it is no statement; "" it is one.
  std::string reason;
};

// Difference in differences, with nodes not yet upgraded as controls; a node is nobody's control
// from its upgrade on. Where upgraded nodes moved relative to the others before their upgrade
// already, the verdict is `kConfounded`: the cause may continue. `delta`: the practical bound.
// Thread safe.
EventStudy study_rollout(std::span<const RolloutNode> nodes, Better better, double delta);

}  // namespace railgauge::analysis
