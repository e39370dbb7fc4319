// The coverage tables of the median, the rate and two percentiles: for each family's default
// sampling and each modelled operation, how often the interval holds the truth where `converged` is
// said. deploy/coverage.sh makes the page of it. Exit codes: 0 within the bound, 1 below it, 2
// wrong use.
#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kernels/testing/sampled_families.h"

namespace railgauge {
namespace {

// The words of the command line.
struct Flags {
  std::uint64_t runs = 200;
  // The first of the runs' seeds: a rule is not judged by the seeds that it was made with.
  std::uint64_t seed = 1;
  // One family in detail; empty prints all.
  std::string family;
};

Result<Flags> parse(const std::vector<std::string_view>& words) {
  const auto usage = invalid("usage: coverage_bench [--runs N] [--seed FIRST] [--family KERNEL]");
  Flags flags;
  if (words.size() % 2 == 1) return usage;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const std::string_view value = words[i + 1];
    if (words[i] == "--family") {
      flags.family = value;
      continue;
    }
    if (words[i] != "--runs" && words[i] != "--seed") return usage;
    std::uint64_t& number = words[i] == "--runs" ? flags.runs : flags.seed;
    if (std::from_chars(value.data(), value.data() + value.size(), number).ec != std::errc{} ||
        number == 0)
      return usage;
  }
  return flags;
}

// One cell of the tables.
struct Cell {
  SampledFamily family;
  SimulatedOperation operation;
  Coverages now;
  // By the rule before decision 066: for independent samples, and in the details of one family.
  Coverage before;
};

using Rows = std::vector<std::vector<Cell>>;

using Figure = CoverageFigure;

// Calls `work(i)` for each i below `count`, on all cores.
template <class Work>
void for_each_on_all_cores(std::size_t count, const Work& work) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i)
    threads.emplace_back([&] {
      for (std::size_t at = next++; at < count; at = next++) work(at);
    });
}

// Where a run takes tens of thousands of samples: half of the runs, a quarter for latencies.
std::uint64_t runs_of(const SampledFamily& family, std::uint64_t runs) {
  constexpr double kShortSampleNs = 250e3;
  const bool is_rate = family.options.rate != SamplerOptions::Rate::kNone;
  const std::uint64_t share = !is_rate ? 4 : family.sample_ns < kShortSampleNs ? 2 : 1;
  return std::max<std::uint64_t>(1, runs / share);
}

// Among a few hundred cells some are below the bound by chance, and others above it. A cell that is
// below or near it on either side is measured by five times as many runs, the first ones among
// them, and these decide.
constexpr std::uint64_t kRunsAgain = 5;

Coverages measure_cell(const Cell& cell, std::uint64_t count, std::uint64_t first_seed) {
  Coverages found = measure_all(cell.family, cell.operation, count, first_seed);
  const bool is_open = std::ranges::any_of(kCoverageFigures, [&](const Figure figure) {
    return is_below_bound(found.*figure) || is_near_bound(found.*figure);
  });
  if (is_open && !cell.operation.is_beyond)
    found = measure_all(cell.family, cell.operation, kRunsAgain * count, first_seed);
  return found;
}

// A cell depends on its seeds alone, so the number of cores changes nothing.
Rows measure(const std::vector<SampledFamily>& families, double noise, const Flags& flags) {
  Rows rows;
  std::vector<SimulatedOperation> operations = simulated_operations(noise);
  if (families.front().options.rate != SamplerOptions::Rate::kNone)
    for (SimulatedOperation& paused : paused_operations(noise))
      operations.push_back(std::move(paused));
  for (const SimulatedOperation& operation : operations) {
    rows.emplace_back();
    for (const SampledFamily& family : families) rows.back().push_back({family, operation, {}, {}});
  }
  const std::size_t columns = families.size();
  for_each_on_all_cores(rows.size() * columns, [&](std::size_t at) {
    Cell& cell = rows[at / columns][at % columns];
    const std::uint64_t count = runs_of(cell.family, flags.runs);
    cell.now = measure_cell(cell, count, flags.seed);
    if (!cell.operation.has_pauses && (at < columns || !flags.family.empty()))
      cell.before =
          measure_coverage_before(cell.family, cell.operation, std::min<std::uint64_t>(count, 100));
  });
  return rows;
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

// The coverage, and in brackets the percentage of runs that say converged; after a plus the
// percentage of those that met no pause.
std::string cell_text(const Coverage& coverage) {
  std::string out = coverage.converged == 0
                        ? "- (0)"
                        : fmt::format("{:.3f} ({:.0f})", coverage.share(),
                                      percent(coverage.converged, coverage.runs));
  if (coverage.unaware > 0)
    out += fmt::format(" + {:.0f}", percent(coverage.unaware, coverage.runs));
  return out;
}

// Operations by families.
void print_matrix(const Rows& rows, Figure figure, const std::string& title) {
  fmt::print("\n{}:\n\n| operation |", title);
  for (const Cell& cell : rows.front()) fmt::print(" {} |", cell.family.name);
  fmt::print("\n|---|");
  for (std::size_t i = 0; i < rows.front().size(); ++i) fmt::print("---:|");
  fmt::print("\n");
  for (const auto& row : rows) {
    if ((row.front().now.*figure).runs == 0) continue;
    fmt::print("| {}{} |", row.front().operation.name,
               row.front().operation.is_beyond ? " (not judged)" : "");
    for (const Cell& cell : row) fmt::print(" {} |", cell_text(cell.now.*figure));
    fmt::print("\n");
  }
}

// One family, every figure.
void print_detail(const Rows& rows, Figure figure, const std::string& title) {
  fmt::print(
      "\n{}, {}:\n\n| operation | converged % | met no pause % | coverage | of all intervals | "
      "half "
      "width % | samples | time to before | coverage before |\n"
      "|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
      rows.front().front().family.name, title);
  for (const auto& row : rows)
    for (const Cell& cell : row) {
      const Coverage& now = cell.now.*figure;
      if (now.runs == 0) continue;
      fmt::print("| {}{} | {:.1f} | {:.1f} | {} | {:.3f} | {:.3f} | {:.0f} | {} | {} |\n",
                 cell.operation.name, cell.operation.is_beyond ? " (not judged)" : "",
                 percent(now.converged, now.runs), percent(now.unaware, now.runs),
                 now.converged == 0 ? "-" : fmt::format("{:.3f}", now.share()),
                 percent(now.held_in_all, now.with_interval) / 100, 100 * now.mean_half_width,
                 now.mean_samples,
                 cell.before.runs == 0
                     ? "-"
                     : fmt::format("{:.1f}", now.mean_samples / cell.before.mean_samples),
                 cell.before.converged == 0 ? "-" : fmt::format("{:.3f}", cell.before.share()));
    }
}

// The cost: independent samples, each family, beside the rule before.
void print_cost(const Rows& rows, double noise) {
  for (const Cell& cell : rows.front()) {
    const double now = cell.now.median.mean_samples;
    const double before = cell.before.mean_samples;
    fmt::print("| {} | {} | {:.0f} | {:.0f} | {:.1f} | {:.3f} |\n", cell.family.name, 100 * noise,
               before, now, now / before, now * cell.family.sample_ns / 1e9);
  }
}

// The judgement of all cells of one figure.
struct Judged {
  // The cells below the bound, in words.
  std::vector<std::string> below;
  // The lowest coverage where many converge, and that cell; absent: in no cell do so many.
  std::optional<double> lowest{};
  std::string lowest_cell{};
  // Most misses where few converge, as a share of all runs, and that cell.
  double most_missed = 0;
  std::string most_missed_cell = "-";
};

void judge(const Rows& rows, Figure figure, double noise, Judged& out) {
  for (const auto& row : rows)
    for (const Cell& cell : row) {
      const Coverage& now = cell.now.*figure;
      if (cell.operation.is_beyond || now.runs == 0) continue;
      const std::string name =
          fmt::format("{}, {}, noise {} %", cell.family.name, cell.operation.name, 100 * noise);
      if (is_below_bound(now))
        out.below.push_back(fmt::format("{}: {} of {} converged runs hold the truth", name,
                                        now.held, now.converged));
      if (now.converged >= kManyConverged && (!out.lowest || now.share() < *out.lowest)) {
        out.lowest = now.share();
        out.lowest_cell = name;
      }
      const double missed = percent(now.converged - now.held, now.runs) / 100;
      if (now.converged < kManyConverged && missed > out.most_missed) {
        out.most_missed = missed;
        out.most_missed_cell =
            fmt::format("{}: {} of {}", name, now.converged - now.held, now.runs);
      }
    }
}

// A figure of the tables, with its name there.
struct Named {
  Figure figure;
  const char* name;
};
constexpr std::array kNamed{Named{&Coverages::rate, "Rate"}, Named{&Coverages::median, "Median"},
                            Named{&Coverages::p99, "p99"}, Named{&Coverages::p999, "p99.9"}};

using Judgements = std::array<Judged, kNamed.size()>;

// The words in front of the tables, and how far the worst cells are from the bounds.
void print_results(const Flags& flags, const Judgements& all) {
  fmt::print(
      "SYNTHETIC: modelled operations on a virtual clock, through the sampler itself, stopping\n"
      "included, each family with its kernel's default settings. {} runs a cell, {} where\n"
      "samples take less than 250 us, {} of latencies. A cell below the bound, or within two\n"
      "standard errors of it on either side, is measured by {} times as many, which decide.\n"
      "Seeds from {} on.\n\n"
      "| figure | bound where `converged` is said | lowest coverage where {} runs or more converge "
      "| most runs that converge and miss where fewer do |\n|---|---:|---|---|\n",
      flags.runs, std::max<std::uint64_t>(1, flags.runs / 2),
      std::max<std::uint64_t>(1, flags.runs / 4), kRunsAgain, flags.seed, kManyConverged);
  const auto row = [](const char* name, const Judged& judged) {
    const std::string lowest = judged.lowest
                                   ? fmt::format("{:.3f} ({})", *judged.lowest, judged.lowest_cell)
                                   : "not shown: no cell has so many runs";
    fmt::print("| {} | {} | {} | {} |\n", name, kCoverageBound, lowest, judged.most_missed_cell);
  };
  for (std::size_t i = 0; i < all.size(); ++i) row(kNamed[i].name, all[i]);
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const std::string& line : all[i].below)
      fmt::print("\nBelow {}: {} ({}).\n", kCoverageBound, line, kNamed[i].name);
  fmt::print(R"(
A cell is the share of converged runs whose interval holds the truth; in brackets the percentage of
runs that converge. Runs that do not converge report how wide their interval is. A run that met one
state alone cannot know the other: `blocks of 0.3 n0` stays in one of two states for a third of the
shortest run, and pauses may come less than once in a run.

Converged runs that met no pause are counted by themselves, after a plus: their figure is that of
the stream without its pauses, and other runs show them. The bench fails below the bound, and where
few converge if more than 1 % of all runs converge and miss. A step after a run's end is not judged.

A percentile counts where the run converges and its point carries the percentile's interval: that
needs 459 independent samples or as much for p99, 4,603 for p99.9. Its operations are those whose
percentiles are known.
)");
}

// All rows of some families at one noise.
struct Table {
  Rows rows;
  double noise = 0;
};

int run(const Flags& flags) {
  std::vector<Table> tables;
  const auto add = [&](std::vector<SampledFamily> families, double noise) {
    if (!flags.family.empty())
      std::erase_if(families, [&](const auto& family) { return family.name != flags.family; });
    if (!families.empty()) tables.push_back({measure(families, noise, flags), noise});
  };
  for (const double noise : {0.002, 0.02}) add(rate_families(), noise);
  for (const double noise : {0.02, 0.1}) add(latency_families(), noise);
  if (tables.empty()) {
    std::fprintf(stderr, "coverage_bench: no family %s\n", flags.family.c_str());
    return 2;
  }
  Judgements all;
  for (const Table& table : tables)
    for (std::size_t i = 0; i < all.size(); ++i)
      judge(table.rows, kNamed[i].figure, table.noise, all[i]);
  print_results(flags, all);
  for (const auto& [figure, name] : kNamed) {
    fmt::print("\n## {}\n", name);
    for (const auto& [rows, noise] : tables) {
      if ((rows.front().front().now.*figure).runs == 0) continue;
      const std::string title = fmt::format("Noise {} %", 100 * noise);
      flags.family.empty() ? print_matrix(rows, figure, title) : print_detail(rows, figure, title);
    }
  }
  fmt::print(
      "\n## Cost\n\nIndependent samples, beside the rule before decision 066.\n\n"
      "| family | noise % | samples before | now | time to before | seconds now |\n"
      "|---|---:|---:|---:|---:|---:|\n");
  for (const auto& [rows, noise] : tables) print_cost(rows, noise);
  return std::ranges::all_of(all, [](const Judged& one) { return one.below.empty(); }) ? 0 : 1;
}

}  // namespace
}  // namespace railgauge

int main(int argc, char** argv) {
  const auto flags = railgauge::parse({argv + 1, argv + argc});
  if (flags) return railgauge::run(*flags);
  std::fprintf(stderr, "coverage_bench: %s\n", flags.error().message.c_str());
  return 2;
}
