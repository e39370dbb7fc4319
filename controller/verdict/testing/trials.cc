#include "controller/verdict/testing/trials.h"

#include <algorithm>

#include "kernels/core/stats/quantile.h"

namespace railgauge::analysis {
namespace {

constexpr std::size_t kPeers = 200;
constexpr std::size_t kLookRuns = 14;
constexpr std::size_t kNear = 2;
constexpr double kNever = 99;

bool is_alarm(const Findings& findings, ChangeKind kind) {
  return std::ranges::any_of(findings.changes, [&](const Change& c) { return c.kind == kind; });
}

void count(const Findings& findings, Null kind, Alarms& alarms) {
  const bool step = is_alarm(findings, ChangeKind::kStep);
  const bool drift = is_alarm(findings, ChangeKind::kDrift);
  const bool variance = is_alarm(findings, ChangeKind::kVariance);
  const bool mix = is_alarm(findings, ChangeKind::kModeMix);
  alarms.step += step ? 1 : 0;
  alarms.drift += drift ? 1 : 0;
  alarms.variance += variance ? 1 : 0;
  alarms.mode_mix += mix ? 1 : 0;
  // Two levels that return are there: a mode mix says so.
  const bool has_modes = kind == Null::kSticky || kind == Null::kBursts;
  alarms.alarms += step || drift || variance || (mix && !has_modes) ? 1 : 0;
  ++alarms.series;
}

// Runs after the change until it is reported near its place.
double runs_until_told(const std::vector<double>& values, std::size_t before,
                       const DetectorSettings& settings) {
  for (std::size_t after = 1; after <= kLookRuns; ++after) {
    const Findings findings = detect_changes(std::span(values).first(before + after), settings);
    for (const Change& change : findings.changes)
      if (change.index + kNear >= before && change.index <= before + kNear)
        return static_cast<double>(after);
  }
  return kNever;
}

}  // namespace

Prior pooled_prior(Null kind, std::size_t peers, std::size_t runs, std::uint64_t seed) {
  std::vector<Noise> members;
  for (std::size_t i = 0; i < peers; ++i)
    members.push_back(detect_changes(null_series(kind, runs, seed + i), {}).noise);
  return pool(members);
}

Alarms count_alarms(Null kind, std::size_t series, std::size_t runs, bool pooled,
                    std::uint64_t seed) {
  Alarms alarms;
  DetectorSettings settings;
  for (std::size_t i = 0; i < series; ++i) {
    if (pooled && i % kPeers == 0) settings.prior = pooled_prior(kind, kPeers, runs, seed + i);
    count(detect_changes(null_series(kind, runs, seed + i), settings), kind, alarms);
  }
  return alarms;
}

Power measure_power(double sigma, std::size_t before, std::size_t series, bool pooled,
                    std::uint64_t seed) {
  DetectorSettings settings;
  if (pooled) settings.prior = pooled_prior(Null::kGaussian, kPeers, before, seed + 1'000'000);
  std::vector<double> delays;
  std::size_t found = 0;
  for (std::size_t i = 0; i < series; ++i) {
    const auto values = step_series(before, kLookRuns, sigma, seed + i);
    delays.push_back(runs_until_told(values, before, settings));
    found += delays.back() < kNever ? 1 : 0;
  }
  return {.series = series,
          .found_by_14 = static_cast<double>(found) / static_cast<double>(series),
          .median_runs = median(delays)};
}

}  // namespace railgauge::analysis
