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

// One series of the measure that moved: a pair of nodes, or a node of its own.
struct RolloutSeries {
  std::vector<std::string> nodes{};
  std::vector<LevelPoint> points{};  // by time
};

struct RolloutFacts {
  std::string what{};                           // "gpu_driver 580.1 -> 580.2"
  std::map<std::string, double> upgraded_at{};  // unix seconds; nodes that are not there: not yet
  std::vector<RolloutSeries> series{};
  analysis::MetricTraits traits{};
};

struct RolloutStudy {
  analysis::EventStudy study{};
  std::string text{};  // one line, for people
};

// Absent where fewer than two nodes were upgraded. A night is a day of UTC. A node's figure of a
// night is the mean over its series, each relative to its own level before any of its nodes was
// upgraded. A pair's figure counts only while the other node is not upgraded, so that each node is
// measured alone.
std::optional<RolloutStudy> study_of(const RolloutFacts& facts);

}  // namespace railgauge
