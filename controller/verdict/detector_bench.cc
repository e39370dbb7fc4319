// The detector beside the right answers, as a Markdown table: families of synthetic series with
// fixed seeds, so it prints the same figures on every machine.
//   detector_bench [SERIES]
// SERIES is the number of series a family, 400 without it.
#include <cstdio>
#include <cstdlib>

#include "controller/verdict/testing/families.h"

namespace railgauge::analysis {
namespace {

constexpr std::uint64_t kSeed = 20261126;
void print_table(std::size_t series) {
  std::printf(
      "Answers of the detector, shares of %zu series a family (synthetic)\n\n"
      "| family | right kinds | and placed | staircase | nothing | too many | crowded |\n"
      "|---|---:|---:|---:|---:|---:|---:|\n",
      series);
  std::uint64_t seed = kSeed;
  for (const Family& family : all_families()) {
    const Answers answers = ask_detector(family, series, seed);
    seed += series;
    const auto share = [&](std::size_t n) {
      return static_cast<double>(n) / static_cast<double>(answers.series);
    };
    std::printf("| %s | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f |\n", family.name.data(),
                share(answers.right), share(answers.placed), share(answers.staircase),
                share(answers.nothing), share(answers.extra), share(answers.crowded));
  }
}

}  // namespace
}  // namespace railgauge::analysis

int main(int argc, char** argv) {
  const long series = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 400;
  if (argc > 2 || series <= 0) {
    std::fprintf(stderr, "detector_bench: give the number of series a family, above 0\n");
    return 2;
  }
  railgauge::analysis::print_table(static_cast<std::size_t>(series));
}
