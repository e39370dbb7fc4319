// The proof of a run that `railgauge prove` started: each of its nodes by itself and with
// known-good partners, against the partners and against its own past. Called on worker threads.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/fleet/leaf_map.h"
#include "controller/parts/proof.h"
#include "controller/store/store.h"

namespace railgauge {

// The trigger of such runs.
inline constexpr std::string_view kProofTrigger = "prove";
// "proved", "inconclusive" or "not_proved".
std::string_view proof_word(parts::ProofState state);

// One part of a proved node with its answer.
struct ProvedPart {
  std::string node{};
  // For an operator: "n3 rail 2, sending", or the endpoint of a figure of one node.
  std::string name{};
  std::string series{};
  // The rail of a figure with partners; -1: a figure of the node by itself.
  std::int32_t rail = -1;
  bool gpu = false;
  parts::Side side = parts::Side::kSends;
  parts::ProofAnswer answer{};
};

// A figure of two nodes.
struct ProvedPair {
  std::string series{};
  std::string from{};
  std::string to{};
  std::int32_t rail = 0;
  bool gpu = false;
  auto operator<=>(const ProvedPair&) const = default;
};

// One node with all of its parts.
struct NodeProof {
  std::string node{};
  parts::ProofState state = parts::ProofState::kUnsure;
  // Sentences for an operator: what is worse or was lost, and what is not known.
  std::vector<std::string> worse{};
  std::vector<std::string> unsure{};
  std::size_t parts = 0;
  // Tasks of it failed with several partners or without any, whatever other tasks measured.
  bool has_failures = false;
  // Parts with no past to compare with.
  std::size_t without_past = 0;
};

// All of a proof. A plain value.
struct RunProof {
  // The worst of its nodes.
  parts::ProofState state = parts::ProofState::kUnsure;
  // In the order of the request.
  std::vector<NodeProof> nodes{};
  // Partners that took part, and their leaves.
  std::vector<std::string> partners{};
  std::vector<std::string> partner_leaves{};
  std::vector<ProvedPart> parts{};
  // Sides that partners have and a proved node has not: worse where its tasks failed, else unsure.
  std::vector<ProvedPart> unmeasured{};
  // The share that each figure of a pair lacks against all figures of the rail, of the memory and
  // of the same distance.
  std::map<ProvedPair, double> pairs{};
  // Sentences about the proof as a whole: too few partners, nodes without a past.
  std::vector<std::string> limits{};
};

// Judges the run. The same run gives the same proof as long as the store has its figures and those
// of the runs before it. kNotFound: no such run. kFailedPrecondition: it is no proof.
Result<RunProof> proof_of_run(const store::Store& store, const std::string& run_id,
                              const LeafSource& leaves);

}  // namespace railgauge
