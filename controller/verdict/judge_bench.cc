// The judge against its bar, as Markdown tables: false alarms, power, verdicts, speed. Everything
// is simulated with fixed seeds, so it prints the same figures on one platform but for the times.
//   judge_bench [--only alarms|power|verdict|speed] [--series N] [--seed N]
// Each line that has a bound ends with it and "pass" or "miss"; exit 1 where one is missed.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/resource.h>

#include "controller/detect/series_state.h"
#include "controller/verdict/testing/trials.h"
#include "controller/verdict/testing/verdict_trials.h"

namespace railgauge::analysis {
namespace {

constexpr std::size_t kWorkers = 2;
constexpr std::size_t kRuns = 365;
constexpr std::size_t kNight = 2'000'000;  // series
// The seed of the first series; the constants of the detector were chosen with the default one.
std::uint64_t first_seed = 20261122;

std::size_t missed = 0;

// The last word of a line that has a bound.
const char* word_of(bool holds) {
  missed += holds ? 0 : 1;
  return holds ? "pass" : "miss";
}

// Work on `count` items by two threads; an item is a number.
void in_parallel(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::vector<std::thread> threads;
  for (std::size_t w = 0; w < kWorkers; ++w)
    threads.emplace_back([&, w] {
      for (std::size_t i = w; i < count; i += kWorkers) work(i);
    });
  for (std::thread& thread : threads) thread.join();
}

// The largest share of alarms in series of this kind; above 1 where alarms are no false ones: a
// random walk moves, so a step or a drift in it is true.
double most_alarms(Null kind) {
  if (kind == Null::kWalk) return 2;
  return kind == Null::kSticky ? 0.10 : 0.05;
}

void print_alarms(std::size_t series) {
  std::printf(
      "False alarms: share of %zu-run series without change that get one (%zu series a cell, "
      "synthetic)\n\n| series | single | pooled over 200 | pooled: step, drift, "
      "variance, mode mix | bar (pooled) | |\n|---|---|---|---|---|---|\n",
      kRuns, series);
  std::vector<Null> kinds(std::begin(kAllNulls), std::end(kAllNulls));
  kinds.insert(kinds.end(), std::begin(kHarderNulls), std::end(kHarderNulls));
  std::vector<Alarms> cells(2 * kinds.size());
  in_parallel(cells.size(), [&](std::size_t i) {
    cells[i] = count_alarms(kinds[i / 2], series, kRuns, i % 2 == 1, first_seed);
  });
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    const Alarms& pooled = cells[2 * k + 1];
    const double most = most_alarms(kinds[k]);
    std::printf("| %s | %.4f | %.4f | %zu, %zu, %zu, %zu | ", name(kinds[k]).data(),
                cells[2 * k].rate(), pooled.rate(), pooled.step, pooled.drift, pooled.variance,
                pooled.mode_mix);
    if (most > 1)
      std::printf("none: it moves | |\n");
    else
      std::printf("<= %.2f | %s |\n", most, word_of(pooled.rate() <= most));
  }
  std::printf("\n");
}

void print_power(std::size_t series) {
  std::printf(
      "Power: a step after 60 clean runs, judged after each of the next 14 (%zu series a "
      "cell, synthetic)\n\n| step | found by 14, single | pooled | median runs, single | "
      "pooled | bar (single and pooled) | |\n|---|---|---|---|---|---|---|\n",
      series);
  constexpr double kSteps[] = {1.5, 2, 3, 5};
  constexpr double kShare = 0.90;  // of steps of 2 sigma, by 14 runs
  constexpr double kSoon = 3;      // runs, of steps of 3 sigma
  std::vector<Power> cells(2 * std::size(kSteps));
  in_parallel(cells.size(), [&](std::size_t i) {
    cells[i] = measure_power(kSteps[i / 2], 60, series, i % 2 == 1, first_seed);
  });
  for (std::size_t k = 0; k < std::size(kSteps); ++k) {
    const Power& single = cells[2 * k];
    const Power& pooled = cells[2 * k + 1];
    const bool by_share = kSteps[k] == 2;
    const bool by_runs = kSteps[k] == 3;
    const bool holds = by_share ? single.found_by_14 >= kShare && pooled.found_by_14 >= kShare
                                : single.median_runs <= kSoon && pooled.median_runs <= kSoon;
    std::printf("| %.1f sigma | %.3f | %.3f | %.0f | %.0f | %s | %s |\n", kSteps[k],
                single.found_by_14, pooled.found_by_14, single.median_runs, pooled.median_runs,
                by_share  ? "found by 14 >= 0.90"
                : by_runs ? "median runs <= 3"
                          : "",
                by_share || by_runs ? word_of(holds) : "");
  }
  std::printf("\n");
}

// A row of the table of verdicts: a design and whether it has the strict bar.
struct VerdictRow {
  const char* design;
  CohortPlan::Pairs pairs;
  std::size_t nodes;
  std::size_t extensions;
  bool has_strict_bar;  // of 16 + 16 independent nodes
};

// A cohort at no loss and at a loss of delta.
void print_verdicts(std::size_t seeds) {
  using Pairs = CohortPlan::Pairs;
  std::printf(
      "Upgrade verdict: bandwidth, delta 1 %%, run CV 1 %%, drift of a node 0.5 %%, common "
      "shift 0.5 %% (%zu seeds a cell, synthetic)\n\n| nodes | changed + controls x runs | true "
      "loss | pass | regressed | inconclusive | bar | |\n|---|---|---|---|---|---|---|---|\n",
      seeds);
  constexpr VerdictRow kRows[] = {
      {"each by itself", Pairs::kNone, 4, 0, false},
      {"each by itself", Pairs::kNone, 8, 0, false},
      {"each by itself", Pairs::kNone, 16, 0, true},
      {"each by itself", Pairs::kNone, 32, 0, false},
      {"on a ring, one way", Pairs::kRing, 4, 0, false},
      {"on a ring, one way", Pairs::kRing, 8, 0, false},
      {"on a ring, one way", Pairs::kRing, 16, 0, false},
      {"on a ring, both ways", Pairs::kRingBothWays, 4, 0, false},
      {"on a ring, both ways", Pairs::kRingBothWays, 8, 0, false},
      {"on a ring, both ways", Pairs::kRingBothWays, 16, 0, false},
      {"each by itself, extended", Pairs::kNone, 8, 4, false},
      {"on a ring, both ways, extended", Pairs::kRingBothWays, 8, 4, false},
  };
  std::vector<VerdictRates> cells(2 * std::size(kRows));
  in_parallel(cells.size(), [&](std::size_t i) {
    const VerdictRow& row = kRows[i / 2];
    CohortPlan plan;
    plan.changed = plan.controls = row.nodes;
    plan.pairs = row.pairs;
    plan.extensions = row.extensions;
    plan.true_loss = i % 2 == 0 ? 0 : plan.delta;
    cells[i] = count_verdicts(plan, seeds, first_seed);
  });
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const VerdictRow& row = kRows[i / 2];
    const bool loss = i % 2 == 1;
    const char* strict = loss ? "regressed >= 0.91, " : "pass >= 0.93, ";
    const bool is_strong = loss ? cells[i].regressed >= 0.91 : cells[i].pass >= 0.93;
    const bool is_honest = (loss ? cells[i].pass : cells[i].regressed) <= 0.06;
    std::printf("| %s | %zu + %zu x 5%s | %.1f %% | %.4f | %.4f | %.4f | %s%s <= 0.06 | %s |\n",
                row.design, row.nodes, row.nodes, row.extensions > 0 ? " to 25" : "",
                loss ? 1.0 : 0.0, cells[i].pass, cells[i].regressed, cells[i].inconclusive,
                row.has_strict_bar ? strict : "", loss ? "pass" : "regressed",
                word_of(is_honest && (is_strong || !row.has_strict_bar)));
  }
  std::printf("\n");
}

// CPU time of the process in all threads.
double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

// Peak resident memory of the process; ru_maxrss is in KiB on Linux.
double peak_gigabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e9;
}

// Series as they stand in the store: floats, all in memory at once.
void print_speed(std::size_t series) {
  constexpr std::size_t kPoints = 90;
  constexpr std::size_t kDifferent = 5000;  // series made up; the rest are these again
  std::vector<float> stored(series * kPoints);
  std::vector<std::vector<double>> made;
  for (std::size_t i = 0; i < kDifferent; ++i) {
    const Null kind = kAllNulls[i % std::size(kAllNulls)];
    made.push_back(null_series(kind, kPoints, first_seed + i));
    if (i % 50 == 0)
      for (std::size_t p = kPoints / 2; p < kPoints; ++p) made.back()[p] += 4;
  }
  for (std::size_t i = 0; i < series; ++i)
    for (std::size_t p = 0; p < kPoints; ++p)
      stored[i * kPoints + p] = static_cast<float>(made[i % kDifferent][p]);
  std::vector<std::size_t> changed(kWorkers, 0);
  DetectorSettings settings;
  settings.prior = pooled_prior(Null::kGaussian, 200, kPoints, first_seed);
  const auto begin = std::chrono::steady_clock::now();
  const double cpu_begin = cpu_seconds();
  std::vector<std::thread> threads;
  for (std::size_t w = 0; w < kWorkers; ++w)
    threads.emplace_back([&, w] {
      std::vector<double> values(kPoints);
      for (std::size_t i = w; i < series; i += kWorkers) {
        for (std::size_t p = 0; p < kPoints; ++p) values[p] = stored[i * kPoints + p];
        changed[w] += detect_changes(values, settings).changes.empty() ? 0 : 1;
      }
    });
  for (std::thread& thread : threads) thread.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const double cpu = cpu_seconds() - cpu_begin;
  const double us = cpu * 1e6 / static_cast<double>(series);
  std::printf(
      "Speed: %zu series of %zu runs, %zu threads, %zu with a change\n\n"
      "| what | measured | bar | |\n|---|---|---|---|\n",
      series, kPoints, kWorkers, changed[0] + changed[1]);
  if (series >= kNight)
    std::printf("| time on the clock | %.1f s | <= 60 s, two free cores | %s |\n", took.count(),
                word_of(took.count() <= 60));
  else
    std::printf("| time on the clock | %.1f s | none for so few series | |\n", took.count());
  std::printf("| CPU time of a series | %.1f us | <= 60 us | %s |\n", us, word_of(us <= 60));
  std::printf("| memory at most | %.2f GB | <= 1.5 GB | %s |\n\n", peak_gigabytes(),
              word_of(peak_gigabytes() <= 1.5));
}

// A bench that measures nothing would miss nothing.
int wrong_use(const std::string& flag, const std::string& value) {
  std::fprintf(stderr,
               "judge_bench: %s %s: give [--only alarms|power|verdict|speed] [--series N] "
               "[--seed N]\n",
               flag.c_str(), value.c_str());
  return 2;
}

}  // namespace
}  // namespace railgauge::analysis

int main(int argc, char** argv) {
  using namespace railgauge::analysis;
  constexpr std::array<std::string_view, 4> kParts{"alarms", "power", "verdict", "speed"};
  std::string only;
  std::size_t series = 0;
  for (int i = 1; i < argc; i += 2) {
    const std::string flag = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    const bool is_part = std::ranges::find(kParts, value) != kParts.end();
    if (flag == "--only" && is_part)
      only = value;
    else if (flag == "--series" && std::strtoull(value.c_str(), nullptr, 10) > 0)
      series = std::strtoull(value.c_str(), nullptr, 10);
    else if (flag == "--seed" && std::strtoull(value.c_str(), nullptr, 10) > 0)
      first_seed = std::strtoull(value.c_str(), nullptr, 10);
    else
      return wrong_use(flag, value);
  }
  const auto wanted = [&](const char* part) { return only.empty() || only == part; };
  if (wanted("alarms")) print_alarms(series > 0 ? series : 2000);
  if (wanted("power")) print_power(series > 0 ? series : 2000);
  if (wanted("verdict")) print_verdicts(series > 0 ? series : 4000);
  if (wanted("speed")) print_speed(series > 0 ? series : kNight);
  std::printf("bar: %zu missed\n", missed);
  return missed == 0 ? 0 : 1;
}
