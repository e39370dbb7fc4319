// The coverage table: for each family's default sampling and each modelled operation, how often the
// interval holds the truth where `converged` is said. Exit codes: 0 within the bound, 1 below it, 2
// wrong use.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "kernels/testing/sampled_families.h"

namespace railgauge {
namespace {

// The words of the command line.
struct Flags {
  std::uint64_t runs = 400;
  // One family in detail; empty prints all.
  std::string family;
};

Result<Flags> parse(const std::vector<std::string_view>& words) {
  Flags flags;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    const std::string_view value = words[i + 1];
    if (words[i] == "--family") {
      flags.family = value;
    } else if (words[i] != "--runs" ||
               std::from_chars(value.data(), value.data() + value.size(), flags.runs).ec !=
                   std::errc{} ||
               flags.runs == 0) {
      return invalid("usage: coverage_bench [--runs N] [--family KERNEL]");
    }
  }
  if (words.size() % 2 == 1) return invalid("usage: coverage_bench [--runs N] [--family KERNEL]");
  return flags;
}

// One cell of the table.
struct Cell {
  SampledFamily family;
  SimulatedOperation operation;
  Coverage now;
  Coverage before;
};

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

// Latencies take tens of thousands of samples a run: a quarter of the runs. A cell depends on its
// seeds alone, so the number of cores changes nothing.
std::vector<std::vector<Cell>> measure(const std::vector<SampledFamily>& families, double noise,
                                       std::uint64_t runs) {
  std::vector<std::vector<Cell>> rows;
  for (const SimulatedOperation& operation : simulated_operations(noise)) {
    rows.emplace_back();
    for (const SampledFamily& family : families) rows.back().push_back({family, operation, {}, {}});
  }
  const std::size_t columns = families.size();
  for_each_on_all_cores(rows.size() * columns, [&](std::size_t at) {
    Cell& cell = rows[at / columns][at % columns];
    const bool is_long = cell.family.options.min_samples >= 1000;
    const std::uint64_t count = is_long ? std::max<std::uint64_t>(1, runs / 4) : runs;
    cell.now = measure_coverage(cell.family, cell.operation, count);
    cell.before =
        measure_coverage_before(cell.family, cell.operation, std::min<std::uint64_t>(count, 100));
  });
  return rows;
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

// The coverage, and in brackets the percentage of runs that say converged.
std::string cell_text(const Cell& cell) {
  if (cell.now.converged == 0) return "- (0)";
  return fmt::format("{:.3f} ({:.0f})", cell.now.share(),
                     percent(cell.now.converged, cell.now.runs));
}

// Operations by families.
void print_matrix(const std::vector<std::vector<Cell>>& rows, double noise) {
  fmt::print("\nNoise {} %:\n\n| operation |", 100 * noise);
  for (const Cell& cell : rows.front()) fmt::print(" {} |", cell.family.name);
  fmt::print("\n|---|");
  for (std::size_t i = 0; i < rows.front().size(); ++i) fmt::print("---:|");
  fmt::print("\n");
  for (const auto& row : rows) {
    fmt::print("| {}{} |", row.front().operation.name,
               row.front().operation.is_beyond ? " (not judged)" : "");
    for (const Cell& cell : row) fmt::print(" {} |", cell_text(cell));
    fmt::print("\n");
  }
}

// One family, every figure.
void print_detail(const std::vector<std::vector<Cell>>& rows, double noise) {
  fmt::print(
      "\n{}, noise {} %:\n\n| operation | converged % | coverage | of all intervals | half "
      "width % | samples | time to before | coverage before |\n"
      "|---|---:|---:|---:|---:|---:|---:|---:|\n",
      rows.front().front().family.name, 100 * noise);
  for (const auto& row : rows)
    for (const auto& [family, operation, now, before] : row)
      fmt::print("| {}{} | {:.1f} | {} | {:.3f} | {:.3f} | {:.0f} | {:.1f} | {} |\n",
                 operation.name, operation.is_beyond ? " (not judged)" : "",
                 percent(now.converged, now.runs),
                 now.converged == 0 ? "-" : fmt::format("{:.3f}", now.share()),
                 percent(now.held_in_all, now.with_interval) / 100, 100 * now.mean_half_width,
                 now.mean_samples, now.mean_samples / before.mean_samples,
                 before.converged == 0 ? "-" : fmt::format("{:.3f}", before.share()));
}

// The cost: independent samples, each family, beside the rule before.
void print_cost(const std::vector<std::vector<Cell>>& rows, double noise) {
  for (const auto& [family, operation, now, before] : rows.front())
    fmt::print("| {} | {} | {:.0f} | {:.0f} | {:.1f} | {:.3f} |\n", family.name, 100 * noise,
               before.mean_samples, now.mean_samples, now.mean_samples / before.mean_samples,
               now.mean_samples * family.sample_ns / 1e9);
}

// The cells below the bound, in words.
std::vector<std::string> below_bound(const std::vector<std::vector<Cell>>& rows, double noise) {
  std::vector<std::string> out;
  for (const auto& row : rows)
    for (const Cell& cell : row)
      if (!cell.operation.is_beyond && is_below_bound(cell.now))
        out.push_back(fmt::format("{}, {}, noise {} %: {} of {} converged runs hold the truth",
                                  cell.family.name, cell.operation.name, 100 * noise, cell.now.held,
                                  cell.now.converged));
  return out;
}

int run(const Flags& flags) {
  std::vector<std::string> missed;
  std::vector<std::pair<std::vector<std::vector<Cell>>, double>> tables;
  const auto only = [&](std::vector<SampledFamily> families) {
    if (!flags.family.empty())
      std::erase_if(families, [&](const auto& family) { return family.name != flags.family; });
    return families;
  };
  fmt::print("SYNTHETIC: modelled operations on a virtual clock, {} runs a cell, latencies {}.\n",
             flags.runs, std::max<std::uint64_t>(1, flags.runs / 4));
  const auto add = [&](const std::vector<SampledFamily>& families, double noise) {
    if (families.empty()) return;
    tables.emplace_back(measure(families, noise, flags.runs), noise);
    flags.family.empty() ? print_matrix(tables.back().first, noise)
                         : print_detail(tables.back().first, noise);
    std::fflush(stdout);
    for (const std::string& line : below_bound(tables.back().first, noise)) missed.push_back(line);
  };
  for (const double noise : {0.002, 0.02}) add(only(rate_families()), noise);
  for (const double noise : {0.02, 0.1}) add(only(latency_families()), noise);
  if (tables.empty()) {
    std::fprintf(stderr, "coverage_bench: no family %s\n", flags.family.c_str());
    return 2;
  }
  fmt::print(
      "\n| family | noise % | samples before | now | time to before | seconds now |\n"
      "|---|---:|---:|---:|---:|---:|\n");
  for (const auto& [rows, noise] : tables) print_cost(rows, noise);
  for (const std::string& line : missed) fmt::print("\nBelow {}: {}.\n", kCoverageBound, line);
  return missed.empty() ? 0 : 1;
}

}  // namespace
}  // namespace railgauge

int main(int argc, char** argv) {
  const auto flags = railgauge::parse({argv + 1, argv + argc});
  if (flags) return railgauge::run(*flags);
  std::fprintf(stderr, "coverage_bench: %s\n", flags.error().message.c_str());
  return 2;
}
