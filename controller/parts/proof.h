// Levels of nodes that are to be proved, against known-good partners of the same run and against
// the nodes' own past. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "controller/parts/levels.h"
#include "controller/parts/night_figures.h"

namespace railgauge::parts {

// One side of a node on one rail, against what partners have there.
struct ProofLevel {
  std::uint32_t node = 0;
  std::uint32_t rail = 0;
  bool gpu = false;
  Side side = Side::kSends;
  // The logarithm of expected over seen, positive is worse: the median over the partners at the
  // other end.
  double loss = 0;
  // Standard error of the loss by the spread of those figures; 0: one figure.
  double error = 0;
  std::size_t figures = 0;
};

// Returns the levels of all nodes, partners too, each against the other partners: in the order of
// memory, rail, side and node. A figure is compared with those of other partners to the same end,
// within and across leaves apart where both are known. A side that no two partners show is left
// out. `is_partner` is by node.
std::vector<ProofLevel> levels_against(const NightFigures& night,
                                       const std::vector<bool>& is_partner);

// The answer about a part.
enum class ProofState : std::uint8_t { kProved, kUnsure, kWorse };

// One part as it is compared; all values are logarithms, positive is worse.
struct ProofCase {
  double loss = 0;
  double error = 0;
  // The same figure of partners of the same hardware.
  std::vector<double> peers{};
  // Partners at like places, each against the others of its place: their scatter is known better
  // than that of one place. Empty: the peers scatter for themselves.
  std::vector<double> alike{};
  // The part's own earlier figures, and its figure now in their terms.
  std::vector<double> past{};
  double loss_now = 0;
  // Least loss that is worth a word.
  double least = 0;
};

// The comparisons of one part, as logarithms.
struct ProofAnswer {
  ProofState state = ProofState::kUnsure;
  // Loss against the peers, and from which one on it is called; absent: too few peers.
  std::optional<double> of_peers{};
  std::optional<double> called_of_peers{};
  // The same against the past; absent: too few nights.
  std::optional<double> of_past{};
  std::optional<double> called_of_past{};
};

// Peers, and figures of the past, from which on they are compared with.
inline constexpr std::size_t kFewestPeers = 3;
inline constexpr std::size_t kFewestPast = 3;
// A loss is called from so many standard errors on: a proof has hundreds of parts.
inline constexpr double kProofErrors = 4;
// A comparison that calls no smaller loss than this proves nothing.
inline constexpr double kMostCalled = 0.15;
// Least losses of rates and of times.
inline constexpr double kLeastRateLoss = 0.03;
inline constexpr double kLeastTimeLoss = 0.05;

// kWorse: worse than its peers or than its past. kProved: as good as all of them that are known,
// and one is. The past is the better part of the earlier figures, since those of a fault are among
// them.
ProofAnswer prove(const ProofCase& one);

}  // namespace railgauge::parts
