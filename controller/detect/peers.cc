#include "controller/detect/peers.h"

#include <algorithm>
#include <cmath>

#include "controller/stats/noise.h"
#include "kernels/core/stats/quantile.h"

namespace railgauge::analysis {
namespace {

constexpr std::size_t kStandingNights = 20;
// Fewer nights show no standing offset.
constexpr std::size_t kLeastNights = 5;
// Z beyond which a member says nothing about its class.
constexpr double kDefect = 5;
// Members within so many deviations of the first wide estimate enter the refinement.
constexpr double kFarFromHalf = 3;
constexpr int kMaxRounds = 20;
constexpr double kCalibration = 1e-4;
// Number of earlier z from which on their empirical quantile is used.
constexpr std::size_t kLeastPast = 1000;

// Location and scale of a class, in logarithms.
struct Class {
  double middle = 0;
  double spread = 0;
};

// The narrowest interval that holds half of the members: it does not move for up to as many
// defects.
Class densest_half(std::vector<double> logs, double floor) {
  std::ranges::sort(logs);
  const std::size_t half = logs.size() / 2 + 1;
  std::size_t best = 0;
  const auto width = [&](std::size_t i) { return logs[i + half - 1] - logs[i]; };
  for (std::size_t i = 1; i + half <= logs.size(); ++i)
    if (width(i) < width(best)) best = i;
  // Deviations that the half of a normal spans.
  constexpr double kHalfOfNormal = 2 * 0.6745;
  return {.middle = (logs[best] + logs[best + half - 1]) / 2,
          .spread = std::max(width(best) / kHalfOfNormal, floor)};
}

// Starts from the densest half, then repeats median and MAD over the members within kDefect
// deviations.
Class learn(const std::vector<double>& logs, double floor) {
  Class learned = densest_half(logs, floor);
  std::vector<double> kept;
  for (const double v : logs)
    if (std::abs(v - learned.middle) <= kFarFromHalf * learned.spread) kept.push_back(v);
  for (int round = 0; round < kMaxRounds; ++round) {
    learned.middle = median(kept);
    learned.spread = std::max(mad_scale(kept, learned.middle), floor);
    std::vector<double> next;
    for (const double v : logs)
      if (std::abs(v - learned.middle) <= kDefect * learned.spread) next.push_back(v);
    // More than half are never defects of the class; they are the class.
    if (next.size() == kept.size() || 2 * next.size() < logs.size()) break;
    kept = std::move(next);
  }
  return learned;
}

// Usual z of a member: the median of its newest earlier nights; 0 with too few of them.
double standing_of(const std::vector<double>& past) {
  if (past.size() < kLeastNights) return 0;
  const std::size_t nights = std::min(past.size(), kStandingNights);
  return median(std::span(past).last(nights));
}

}  // namespace

std::vector<PeerScore> judge_peers(std::span<const Peer> peers, Better better, double floor) {
  std::vector<PeerScore> out(peers.size());
  std::vector<double> logs;
  for (const Peer& peer : peers)
    if (std::isfinite(peer.value) && peer.value > 0) logs.push_back(std::log(peer.value));
  if (logs.size() < kLeastPeers) return out;
  constexpr double kLeastFloor = 5e-4;
  const Class learned = learn(logs, std::max(floor, kLeastFloor));
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (!std::isfinite(peers[i].value) || !(peers[i].value > 0)) continue;
    const double away = oriented(better, std::log(peers[i].value) - learned.middle);
    PeerScore& standing = out[i];
    standing.judged = true;
    standing.z = away / learned.spread;
    standing.standing = standing_of(peers[i].past_z);
    standing.moved = standing.z - standing.standing;
    standing.worse = worse_fraction(better, away);
  }
  return out;
}

double calibrated_cut(std::span<const double> past_z, double normal_cut) {
  if (past_z.size() < kLeastPast) return normal_cut;
  std::vector<double> scratch(past_z.begin(), past_z.end());
  return std::max(normal_cut, quantile_in(scratch, 1 - kCalibration));
}

bool pages(std::span<const double> nights, double worse_tonight, double delta, double cut) {
  if (nights.empty()) return false;
  const auto recent = nights.last(std::min<std::size_t>(3, nights.size()));
  const auto beyond = std::ranges::count_if(recent, [&](double z) { return z > cut; });
  const bool at_once = nights.back() > std::max(kPageAtOnceZ, cut) && worse_tonight > 2 * delta;
  return at_once || beyond >= 2;
}

}  // namespace railgauge::analysis
