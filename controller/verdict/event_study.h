// Event study of a rollout that reached nodes one after the other: estimates its cost, with each
// node aligned at its own upgrade and compared with nodes that are not upgraded yet. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "controller/stats/metric_traits.h"

namespace railgauge::analysis {

// Number of nights that are examined before and after an upgrade.
inline constexpr int kStudyNights = 10;
// Fewest measured nights before its upgrade with which a node counts.
inline constexpr std::size_t kLeastStudyNights = 3;

// One node with its nightly figures of one metric.
struct RolloutNode {
  std::string name{};
  // First night with the upgrade; absent: not upgraded yet.
  std::optional<std::size_t> upgraded_at{};
  std::vector<double>
      // One figure a night, for all nodes from the same first night; missing unless positive.
      nights{};
};

// One point of the study's curve.
struct StudyNight {
  // Night counted from the upgrade of the node; -1 is the last one before it.
  int night = 0;
  // Loss as a fraction, relative to nodes that are not upgraded yet; positive is worse.
  double worse = 0;
  std::size_t nodes = 0;
};

// Answer of an event study.
enum class StudyVerdict { kRegressed, kNoRegression, kInconclusive, kConfounded };

// Result of a study. Fractions are positive for a loss.
struct EventStudy {
  StudyVerdict verdict = StudyVerdict::kInconclusive;
  // Nights from -kStudyNights to kStudyNights for which at least one node has a figure.
  std::vector<StudyNight> nights;
  // Mean over nodes of the nights since the upgrade, with its 90 % interval.
  double worse = 0;
  std::optional<double> low;
  std::optional<double> high;
  // Number of upgraded nodes that count.
  std::size_t upgraded = 0;
  // Reason why the study is inconclusive or confounded; "" for a statement.
  std::string reason;
};

// Estimates the cost by difference in differences. Controls are nodes that are not upgraded yet; a
// node is no control from its upgrade on. kConfounded: upgraded nodes already moved relative to the
// others before their upgrade, and that cause may continue. `delta`: the practical bound, a
// fraction. Thread safe.
EventStudy study_rollout(std::span<const RolloutNode> nodes, Better better, double delta);

}  // namespace railgauge::analysis
