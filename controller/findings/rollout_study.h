// Estimates the cost of a change that reached nodes one after the other. Compares the nights before
// and after each node's upgrade with those of nodes that did not have the change yet. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/findings/finding_causes.h"
#include "controller/verdict/event_study.h"

namespace railgauge {

// One series of the metric that moved: of a pair of nodes, or of a single node.
struct RolloutSeries {
  std::vector<std::string> nodes{};
  // By time.
  std::vector<LevelPoint> points{};
};

// One change and all figures by which its cost is estimated.
struct RolloutFacts {
  // The change as people read it: "gpu_driver 580.1 -> 580.2".
  std::string what{};
  // When each node got the change; unix seconds. Nodes that are absent do not have it yet.
  std::map<std::string, double> upgraded_at{};
  std::vector<RolloutSeries> series{};
  // The direction and the practical bound of the metric.
  analysis::MetricTraits traits{};
};

// The estimate and its text.
struct RolloutStudy {
  analysis::EventStudy study{};
  // One line for people, with the verdict, the estimate and its 90 % interval.
  std::string text{};
};

// The study of one change; absent where fewer than two nodes have it. A night is a day of UTC. A
// node's figure of a night is the mean over its series, each relative to its own level before any
// of its nodes was upgraded. A pair's figure counts only while the other node is not upgraded, so
// that each node is measured alone.
std::optional<RolloutStudy> study_of(const RolloutFacts& facts);

}  // namespace railgauge
