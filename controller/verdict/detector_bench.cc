// The detector beside the right answers, and its cost, as Markdown tables. The answers are to
// families of synthetic series with fixed seeds, so they are the same for each run on one platform.
//   detector_bench [SERIES [SEED]]
// SERIES is the number of series a family, 400 without it. SEED is that of the first series: the
// constants of the detector were chosen with others than the default one.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "controller/detect/changes.h"
#include "controller/verdict/testing/families.h"

namespace railgauge::analysis {
namespace {

constexpr std::uint64_t kSeed = 6'021'023;

void print_answers(std::size_t series, std::uint64_t seed) {
  std::printf(
      "Answers of the detector, shares of %zu series a family (synthetic, seeds from %llu)\n\n"
      "| family | right kinds | and placed | staircase | nothing | too many | spread | crowded |\n"
      "|---|---:|---:|---:|---:|---:|---:|---:|\n",
      series, static_cast<unsigned long long>(seed));
  for (const Family& family : all_families()) {
    const Answers answers = ask_detector(family, series, seed);
    seed += series;
    const auto share = [&](std::size_t n) {
      return static_cast<double>(n) / static_cast<double>(answers.series);
    };
    std::printf("| %s | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f |\n", family.name.data(),
                share(answers.right), share(answers.placed), share(answers.staircase),
                share(answers.nothing), share(answers.extra), share(answers.spread),
                share(answers.crowded));
  }
  std::printf("\n");
}

// A shape over x in [0, 1) in deviations of the noise.
struct Shape {
  std::string_view name;
  double (*at)(double x);
};
constexpr Shape kShapes[] = {
    {"no change", [](double) { return 0.0; }},
    {"trend", [](double x) { return 40 * x; }},
    {"curve", [](double x) { return 60 * x * x; }},
    {"one slow swing", [](double x) { return 30 * std::sin(6 * x); }},
    {"40 swings", [](double x) { return 10 * std::sin(250 * x); }},
    {"50 stairs", [](double x) { return 3 * std::floor(50 * x); }},
    {"two huge swings", [](double x) { return 1e4 * std::sin(12 * x) + 2e4; }},
};

// The fastest of a few calls, in milliseconds.
double cost_of(const Shape& shape, std::size_t runs) {
  constexpr int kCalls = 5;
  Chance chance(kSeed);
  std::vector<double> values(runs);
  for (std::size_t i = 0; i < runs; ++i)
    values[i] =
        100 + shape.at(static_cast<double>(i) / static_cast<double>(runs)) + chance.normal();
  double least = 1e9;
  for (int call = 0; call < kCalls; ++call) {
    const auto begin = std::chrono::steady_clock::now();
    const Findings found = detect_changes(values, {});
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    if (found.runs == runs) least = std::min(least, took.count());
  }
  return least;
}

void print_costs() {
  std::printf(
      "Cost of one series, the fastest of five calls (synthetic)\n\n"
      "| series | 365 runs | 2,000 runs | 10,000 runs |\n|---|---:|---:|---:|\n");
  for (const Shape& shape : kShapes)
    std::printf("| %s | %.2f ms | %.1f ms | %.0f ms |\n", shape.name.data(), cost_of(shape, 365),
                cost_of(shape, 2000), cost_of(shape, 10000));
}

}  // namespace
}  // namespace railgauge::analysis

int main(int argc, char** argv) {
  const long series = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 400;
  const long long seed = argc > 2 ? std::strtoll(argv[2], nullptr, 10) : railgauge::analysis::kSeed;
  if (argc > 3 || series <= 0 || seed <= 0) {
    std::fprintf(stderr,
                 "detector_bench: give the number of series a family and a seed, above 0\n");
    return 2;
  }
  railgauge::analysis::print_answers(static_cast<std::size_t>(series),
                                     static_cast<std::uint64_t>(seed));
  railgauge::analysis::print_costs();
}
