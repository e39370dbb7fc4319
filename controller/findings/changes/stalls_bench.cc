// The effect of pauses on the figures of a bandwidth, and who finds them, as a Markdown table. The
// streams are fakes on a virtual clock with fixed seeds, so that it prints the same figures on
// every machine. Their points are made by the kernels' own sampler.
//   stalls_bench
// Exit 1 where a row of a bound is missed: pauses of 20 to 100 ms that take 5 % and more are found
// every time, a stream without pauses never.
#include <array>
#include <cstdio>

#include "controller/findings/changes/run_changes.h"
#include "controller/findings/changes/testing/stalled_fabric.h"

namespace railgauge {
namespace {

constexpr std::uint64_t kSeeds = 8;
constexpr std::array kPausesMs{2.0, 20.0, 100.0, 500.0};
constexpr std::array kShares{0.01, 0.05, 0.2, 0.5};
constexpr double kBoundedShare = 0.05;  // from here on, and for these two lengths
constexpr double kLeastBoundedMs = 20;
constexpr double kMostBoundedMs = 100;

// The figures of a launch as shares of an undisturbed one, the mean of all seeds.
struct Figures {
  double median = 0;
  double rate = 0;
  double p10 = 0;
  double paused = 0;
};

Figures figures_of(const Stalls& stalls) {
  Figures out;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    analysis::Chance chance(seed);
    const Point point = stalled_launch(kLevel, stalls, chance);
    out.median += point.median() / kLevel / kSeeds;
    out.rate += point.rate() / kLevel / kSeeds;
    out.p10 += point.slot_p10() / kLevel / kSeeds;
    out.paused += point.pause_share() / kSeeds;
  }
  return out;
}

// Verdicts of an upgrade after which some nodes have pauses, by seeds.
struct Verdicts {
  std::uint64_t regressed = 0;
  std::uint64_t passed = 0;
};

Verdicts verdicts_of(int stalled, const Stalls& stalls) {
  Verdicts out;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const analysis::Verdict verdict =
        analysis::judge_upgrade(runs_of(stalled_sides(stalled, stalls, seed))).verdict;
    out.regressed += verdict == analysis::Verdict::kRegressed ? 1 : 0;
    out.passed += verdict == analysis::Verdict::kPass ? 1 : 0;
  }
  return out;
}

// In how many of the seeds the judge of nights names the node within five nights.
std::uint64_t named(int nights, const Stalls& stalls) {
  std::uint64_t count = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
    for (const RunEvent& event : events_of(stalled_nights(kStalledNights - nights, stalls, seed)))
      count += event.node == "n1" ? 1 : 0;
  return count;
}

// One row; false where it is bounded and missed.
bool print_row(const Stalls& stalls, bool is_found) {
  constexpr int kNights = 5;
  const Figures figures = figures_of(stalls);
  const Verdicts one = verdicts_of(1, stalls);
  const Verdicts all = verdicts_of(kStalledNodes / 2, stalls);
  const std::uint64_t nights = named(kNights, stalls);
  const bool is_none = stalls.share == 0;
  const std::uint64_t wanted = is_none ? 0 : kSeeds;
  const bool is_met =
      !is_found || (one.regressed == wanted && all.regressed == wanted && nights == wanted);
  std::printf("| %.0f %% | %s | %.3f | %.3f | %.3f | %.1f %% | %lu | %lu | %lu | %lu | %s |\n",
              100 * stalls.share,
              is_none ? "-" : fmt::format("{:g} ms", stalls.pause_ns / 1e6).c_str(), figures.median,
              figures.rate, figures.p10, 100 * figures.paused, one.regressed, one.passed,
              all.regressed, nights,
              !is_found ? ""
              : is_met  ? "pass"
                        : "miss");
  return is_met;
}

int print_table() {
  std::printf(
      "SYNTHETIC: fake streams in windows of 2 ms through the sampler, 2 to 5 s each, %lu seeds a "
      "row.\n"
      "Figures are shares of an undisturbed stream. The gate's columns count the seeds with that\n"
      "verdict after an upgrade of eight nodes, of which one or all have pauses; the nights' "
      "column "
      "counts\n"
      "those that the nightly judge names within five nights.\n\n"
      "| time in pauses | each | median | rate | p10 | found as pauses | 1 of 8: regressed | 1 of "
      "8: "
      "passed | 8 of 8: regressed | nights | bound "
      "|\n|---|---|---|---|---|---|---|---|---|---|---|\n",
      kSeeds);
  bool is_met = print_row({}, true);
  for (const double share : kShares)
    for (const double pause_ms : kPausesMs)
      is_met = print_row({.share = share, .pause_ns = pause_ms * 1e6},
                         share >= kBoundedShare && pause_ms >= kLeastBoundedMs &&
                             pause_ms <= kMostBoundedMs) &&
               is_met;
  return is_met ? 0 : 1;
}

}  // namespace
}  // namespace railgauge

int main() { return railgauge::print_table(); }
