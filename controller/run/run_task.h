// A task as the round engine sees it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace railgauge::run {

// One end of a pair of nodes.
struct PairEnd {
  std::string node{};
  std::string name{};  // unique: "n1/rxe0:1+gpu0"
  std::string kind{};  // an end may take the place of another of its kind: rail and GPU
  std::string leaf{};  // "": not known
  std::vector<std::string> endpoints{};  // as RunTaskSpec::endpoints, of this end
};

struct RunTaskSpec {
  std::uint32_t round = 0;
  bool waived = false;   // the planner found that it cannot run; it counts, and is never started
  std::string reason{};  // of the waiver
  std::uint32_t stage = 0;
  std::vector<std::string> endpoints{};  // "n1/rxe0:1": leased while it is under way
  std::vector<std::string>
      leaves{};                     // that it touches; none known: all such tasks count as one leaf
  std::uint32_t nodes = 1;          // different ones
  bool loads_fabric = false;        // fills the path between nodes: bandwidth, collectives
  double load_bits_per_second = 0;  // at line rate, through the uplinks of each of several leaves
  double deadline_seconds = 60;
  double expected_seconds = 0;  // nobody is a straggler sooner; 0: not known
  // Two, by rank, of a pair of nodes that is measured elsewhere too once it failed; else none.
  std::vector<PairEnd> ends{};
};

}  // namespace railgauge::run
