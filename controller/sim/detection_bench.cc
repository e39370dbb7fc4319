// Measures the detection table: how often each kind of fault is named first, with its direction,
// over seeds, sizes of fabrics and sizes of faults; and the time of a localisation. All figures are
// SYNTHETIC, from a model. Exit codes: 0 the bound is met, 1 it is missed, 2 wrong use.
//
//   detection_bench
//     The whole table, then the times.
//   detection_bench --sums FILE [--first-seed 51 --seeds 50 ...]
//     A piece of the table, kept in FILE. Trials that FILE holds already do not run again.
//   detection_bench --merge FILE --merge FILE ...
//     The table of several pieces; nothing is run.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "controller/sim/bench_flags.h"
#include "controller/sim/tally.h"

namespace railgauge::simulator {
namespace {

// Those that draw as many numbers before their figures lie side by side: they share these.
constexpr std::array kOrder{FaultKind::kNone,     FaultKind::kNicSends,  FaultKind::kNicReceives,
                            FaultKind::kGpuPath,  FaultKind::kRail,      FaultKind::kCable,
                            FaultKind::kLeaf,     FaultKind::kTrunk,     FaultKind::kNode,
                            FaultKind::kFlapping, FaultKind::kSpineLink, FaultKind::kPair,
                            FaultKind::kTwo};
static_assert(kOrder.size() == kFaultKinds);

// Wall-clock time for the progress report, which no result depends on.
double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// CPU time of this thread, which a busy machine changes little.
// Linux: CLOCK_THREAD_CPUTIME_ID.
double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// All cells of one size: kinds in the order of kOrder, each with all pairs, the quick scans and the
// other shares.
std::vector<Cell> cells_of(std::uint32_t nodes, const BenchFlags& flags) {
  std::vector<Cell> cells;
  for (const FaultKind kind : kOrder) {
    if (!flags.kinds.empty() &&
        std::ranges::count(flags.kinds, static_cast<std::uint32_t>(kind)) == 0)
      continue;
    Cell cell{.nodes = nodes, .rails = flags.rails, .kind = kind};
    cell.takes_percent = usual_percent(kind);
    if (flags.usual) cells.push_back(cell);
    for (const std::uint32_t rounds : flags.quick) {
      cell.quick_rounds = rounds;
      cells.push_back(cell);
      cell.quick_rounds = 0;
    }
    if (kind == FaultKind::kNone) continue;
    for (const std::uint32_t percent : flags.drops) {
      cell.takes_percent = percent;
      if (std::ranges::count(cells, cell) == 0) cells.push_back(cell);
    }
  }
  return cells;
}

// Runs what the tally lacks, seed by seed on all threads, and keeps each seed as soon as it is
// through: a run that is stopped loses that seed only.
// One instance for one table. Its threads share the tally under one mutex.
class Runner {
 public:
  Runner(const BenchFlags& flags, std::string code, Tally& tally)
      : flags_(flags), code_(std::move(code)), tally_(tally) {
    if (!flags.sums.empty()) sums_.open(flags.sums, std::ios::app);
  }

  Status run() {
    if (!flags_.sums.empty() && !sums_)
      return fail(Code::kPermissionDenied,
                  fmt::format("{}: open to add: not possible", flags_.sums));
    for (const std::uint32_t nodes : flags_.nodes) {
      const double begin = now_seconds();
      cells_ = cells_of(nodes, flags_);
      next_ = 0;
      trials_ = 0;
      cpu_ = 0;
      std::vector<std::thread> threads;
      for (std::uint32_t i = 0; i < flags_.threads; ++i) threads.emplace_back([this] { work(); });
      for (std::thread& thread : threads) thread.join();
      RG_TRY_OK(status_);
      std::fprintf(stderr, "%u nodes: %zu trials in %.1f s, %.1f ms of CPU each\n", nodes, trials_,
                   now_seconds() - begin,
                   trials_ == 0 ? 0 : 1e3 * cpu_ / static_cast<double>(trials_));
    }
    return {};
  }

 private:
  void work() {
    Figures figures;
    for (std::uint32_t i = next_++; i < flags_.seeds; i = next_++) {
      const double begin = cpu_seconds();
      const std::uint64_t seed = std::uint64_t{flags_.first_seed} + i;
      std::vector<std::pair<Cell, Outcome>> outcomes;
      for (const Cell& cell : cells_) {
        if (is_known(cell, seed)) continue;
        const Score score = score_of(trial_of(cell), seed, figures);
        outcomes.push_back({cell, {.right = score.right > 0, .wrong = score.wrong > 0}});
      }
      if (!keep(seed, outcomes, cpu_seconds() - begin)) return;
    }
  }

  bool is_known(const Cell& cell, std::uint64_t seed) {
    const std::scoped_lock lock(mutex_);
    return tally_.has(cell, seed);
  }

  // Appends the outcomes of one seed to the file at once. Returns false when the run must stop.
  bool keep(std::uint64_t seed, const std::vector<std::pair<Cell, Outcome>>& outcomes, double cpu) {
    const std::scoped_lock lock(mutex_);
    if (!status_) return false;
    std::string lines;
    for (const auto& [cell, outcome] : outcomes) {
      if (status_) status_ = tally_.add(cell, seed, outcome);
      lines += csv_line(cell, seed, outcome, code_);
    }
    if (sums_.is_open() && !(sums_ << lines << std::flush))
      status_ = fail(Code::kResourceExhausted,
                     fmt::format("{}: add lines: not written; is the disk full?", flags_.sums));
    trials_ += outcomes.size();
    cpu_ += cpu;
    if (!outcomes.empty())
      std::fprintf(stderr, "%u nodes, seed %llu: %zu trials, %.1f s of CPU\n",
                   outcomes.front().first.nodes, static_cast<unsigned long long>(seed),
                   outcomes.size(), cpu);
    return status_.has_value();
  }

  const BenchFlags& flags_;
  const std::string code_;
  std::vector<Cell> cells_;
  std::atomic<std::uint32_t> next_{0};
  std::mutex mutex_;  // for all that follows
  Tally& tally_;
  std::ofstream sums_;
  Status status_;
  std::size_t trials_ = 0;
  double cpu_ = 0;
};

// The whole file; an empty one is no error.
Result<std::string> text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  if (!in || !(text << in.rdbuf() || in.peek() == std::ifstream::traits_type::eof()))
    return fail(Code::kNotFound, fmt::format("{}: read: not possible", file));
  return text.str();
}

// Reads the file of counts that will be added to; makes it where there is none, and cuts off a last
// line that was not written whole.
Status take_up(const std::string& file, std::string code, Tally& tally) {
  std::string text;
  if (std::filesystem::exists(file)) text = RG_TRY(text_of(file));
  const std::string header = csv_header();
  if (text.size() < header.size() && header.starts_with(text)) {
    std::ofstream out(file, std::ios::binary | std::ios::trunc);
    if (out << header << std::flush) return {};
    return fail(Code::kPermissionDenied, fmt::format("{}: write: not possible", file));
  }
  RG_TRY_OK(read_csv(text, file, code, tally));
  std::error_code error;
  std::filesystem::resize_file(file, text.rfind('\n') + 1, error);
  if (error)
    return fail(Code::kPermissionDenied, fmt::format("{}: cut: {}", file, error.message()));
  return {};
}

// Reads the pieces or runs the trials, then prints the table and the cells below the bar.
Status make_table(const BenchFlags& flags) {
  Tally tally;
  std::string code;
  for (const std::string& file : flags.merge)
    RG_TRY_OK(read_csv(RG_TRY(text_of(file)), file, code, tally));
  if (flags.merge.empty()) {
    code = code_name();
    if (!flags.sums.empty()) RG_TRY_OK(take_up(flags.sums, code, tally));
    RG_TRY_OK(Runner(flags, code, tally).run());
  }
  std::printf("%s\nCode %s.\n", table_of(tally).c_str(), code.c_str());
  std::fflush(stdout);
  const std::vector<std::string> missed = below_bar(tally);
  for (const std::string& line : missed) std::printf("Below the bar: %s.\n", line.c_str());
  return missed.empty() ? Status{} : fail(Code::kDataLoss, "the bar is not met");
}

// One localisation of 1,024 nodes and 8 rails, with so many faults of a kind.
void print_speed() {
  struct Case {
    FaultKind kind;
    int count;
  };
  constexpr std::array kCases{Case{FaultKind::kNone, 1},      Case{FaultKind::kCable, 1},
                              Case{FaultKind::kLeaf, 1},      Case{FaultKind::kRail, 1},
                              Case{FaultKind::kSpineLink, 1}, Case{FaultKind::kTwo, 1},
                              Case{FaultKind::kCable, 16},    Case{FaultKind::kFlapping, 16}};
  std::printf(
      "\nSYNTHETIC: seconds of one localisation, 1,024 nodes, 8 rails, one memory kind\n\n");
  std::printf("| fault | how many | seconds | CPU seconds | suspects |\n|---|---|---|---|---|\n");
  Figures figures;
  for (const auto& [kind, count] : kCases) {
    FabricSpec spec = trial_of({.nodes = 1024, .rails = 8}).fabric;
    spec.gpu_memory = false;
    Fabric fabric(spec);
    for (int i = 0; i < count; ++i)
      for (const Fault& fault : fabric.random_faults(kind, 0.1)) fabric.inject(fault);
    const localise::PairData& data = fabric.all_pairs(figures);
    const double begin = now_seconds();
    const double cpu_begin = cpu_seconds();
    const auto found = localise::find_suspects(data);
    const double cpu = cpu_seconds() - cpu_begin;
    std::printf("| %s | %d | %.3f | %.3f | %zu |\n", fault_word(kind).data(), count,
                now_seconds() - begin, cpu, found ? found->suspects.size() : 0);
    std::fflush(stdout);
  }
}

// Exit codes: 0 done, 1 below the bar, 2 wrong use, 4 anything else.
int run(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto flags = bench_flags(words);
  if (!flags) {
    std::fprintf(stderr, "detection_bench: %s\n", flags.error().message.c_str());
    return 2;
  }
  if (flags->seeds > 0 || !flags->merge.empty())
    if (const Status made = make_table(*flags); !made) {
      std::fprintf(stderr, "detection_bench: %s\n", made.error().message.c_str());
      return made.error().code == Code::kDataLoss ? 1 : 4;
    }
  if (flags->speed) print_speed();
  return 0;
}

}  // namespace
}  // namespace railgauge::simulator

int main(int argc, char** argv) { return railgauge::simulator::run(argc, argv); }
