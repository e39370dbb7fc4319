// A task as the round engine and the run machine see it. Pure data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace railgauge::run {

// One end of a pair of nodes.
struct PairEnd {
  std::string node{};
  std::string name{};                    // unique: "n1/rxe0:1+gpu0"
  std::string kind{};                    // rail and GPU; an end may replace another of its kind
  std::string leaf{};                    // "": not known
  std::vector<std::string> endpoints{};  // of this end, as RunTaskSpec::endpoints
};

// One task of the plan.
struct RunTaskSpec {
  std::uint32_t round = 0;
  bool waived = false;   // by the planner; the task counts, and is never started
  std::string reason{};  // of the waiver
  std::uint32_t stage = 0;
  std::vector<std::string> endpoints{};  // "n1/rxe0:1": leased while the task is under way
  // Leaves that the task touches. Tasks without a known leaf count together as one leaf.
  std::vector<std::string> leaves{};
  std::uint32_t nodes = 1;          // number of different nodes
  bool loads_fabric = false;        // bandwidth or collectives: fills the path between nodes
  double load_bits_per_second = 0;  // at line rate, through the uplinks of each of several leaves
  double deadline_seconds = 60;
  double expected_seconds = 0;  // no straggler before this time; 0: not known
  // Both ends by rank, of a pair that is measured with other partners after a failure; else empty.
  std::vector<PairEnd> ends{};
};

}  // namespace railgauge::run
