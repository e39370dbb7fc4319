// The detection table: how often each kind of fault is named, with its direction, at the first
// place, over seeds, sizes and sizes of faults; and how long a localisation takes. All of it is
// SYNTHETIC: a model's figures.
//   detection_bench [--nodes 64,1024] [--seeds 200] [--rails 2] [--threads 2] [--drops 3,5,20]
// A long table is made in pieces, of which stderr tells the counts: [--first-seed 1] [--kinds 0,11]
// [--usual 0] (not the usual drop) [--drops -] [--quick 0] [--speed 0].
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "controller/analysis/simulator/score.h"

namespace railgauge::simulator {
namespace {

constexpr std::uint32_t kQuickRounds = 4;

struct Settings {
  std::vector<std::uint32_t> nodes{64, 1024};
  std::vector<std::uint32_t> drops{3, 5, 20};  // percent, beside the usual
  std::vector<std::uint32_t> kinds{};          // by number; empty: all
  std::uint32_t first_seed = 1;
  std::uint32_t seeds = 200;
  std::uint32_t rails = 2;
  std::uint32_t threads = 2;
  bool usual = true;
  bool quick = true;
  bool speed = true;
};

std::vector<std::uint32_t> numbers(const char* text) {
  std::vector<std::uint32_t> list;
  for (const char* at = text; *at != 0;) {
    char* end = nullptr;
    const auto number = static_cast<std::uint32_t>(std::strtoul(at, &end, 10));
    if (end == at) break;
    list.push_back(number);
    at = *end == ',' ? end + 1 : end;
  }
  return list;
}

Settings settings_of(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const std::vector<std::uint32_t> list = numbers(argv[i + 1]);
    if (name == "--nodes") settings.nodes = list;
    if (name == "--drops") settings.drops = list;
    if (name == "--kinds") settings.kinds = list;
    if (list.empty()) continue;
    if (name == "--seeds") settings.seeds = list[0];
    if (name == "--first-seed") settings.first_seed = list[0];
    if (name == "--usual") settings.usual = list[0] != 0;
    if (name == "--rails") settings.rails = list[0];
    if (name == "--threads") settings.threads = list[0];
    if (name == "--quick") settings.quick = list[0] != 0;
    if (name == "--speed") settings.speed = list[0] != 0;
  }
  return settings;
}

FabricSpec fabric_of(std::uint32_t nodes, std::uint32_t rails) {
  const bool large = nodes > 256;
  return {.nodes = nodes,
          .nodes_per_leaf = large ? 32U : 16U,
          .spines = large ? 16U : 4U,
          .rails = rails};
}

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Of this thread: what a busy machine does not change much.
double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// All seeds of one trial, on all threads.
Score run_trial(const Trial& trial, const Settings& settings) {
  std::atomic<std::uint32_t> next{settings.first_seed};
  const std::uint32_t end = settings.first_seed + settings.seeds;
  std::mutex mutex;
  Score sum;
  const auto work = [&] {
    for (std::uint32_t seed = next++; seed < end; seed = next++) {
      const Score one = score_of(trial, seed);
      const std::scoped_lock lock(mutex);
      sum.runs += one.runs;
      sum.right += one.right;
      sum.wrong += one.wrong;
    }
  };
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < settings.threads; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  return sum;
}

std::string percent(std::uint32_t part, std::uint32_t whole) {
  return whole == 0 ? "-" : fmt::format("{:.1f}", 100.0 * part / whole);
}

void print_row(std::uint32_t nodes, FaultKind kind, const Settings& settings) {
  Trial trial{.fabric = fabric_of(nodes, settings.rails), .kind = kind};
  std::string row = fmt::format("| {} | {} |", nodes, fault_word(kind));
  const auto measured = [&](double drop, std::uint32_t rounds) {
    trial.drop = drop;
    trial.quick_rounds = rounds;
    const double begin = now_seconds();
    const Score score = run_trial(trial, settings);
    std::fprintf(stderr, "%u nodes, %s, %.0f %%, %s: %u of %u right, %u with a wrong one, %.1f s\n",
                 nodes, fault_word(kind).data(), drop * 100, rounds > 0 ? "quick" : "all pairs",
                 score.right, score.runs, score.wrong, now_seconds() - begin);
    return score;
  };
  const Score usual = settings.usual ? measured(usual_drop(kind), 0) : Score{};
  row += fmt::format(" {:.0f} % | {} | {} |", kind == FaultKind::kNone ? 0 : usual_drop(kind) * 100,
                     percent(usual.right, usual.runs), percent(usual.wrong, usual.runs));
  for (const std::uint32_t drop : settings.drops) {
    if (kind == FaultKind::kNone) {
      row += " - |";
      continue;
    }
    const Score score = measured(drop / 100.0, 0);
    row += fmt::format(" {} |", percent(score.right, score.runs));
  }
  if (settings.quick) {
    const Score quick = measured(usual_drop(kind), kQuickRounds);
    row += fmt::format(" {} | {} |", percent(quick.right, quick.runs),
                       percent(quick.wrong, quick.runs));
  }
  std::printf("%s\n", row.c_str());
  std::fflush(stdout);
}

void print_table(const Settings& settings) {
  std::printf(
      "SYNTHETIC: a model's figures, %u seeds, %u rails, host and GPU memory, 2 %% noise\n\n",
      settings.seeds, settings.rails);
  std::string head = "| nodes | fault | takes | right, % | wrong suspect, % |";
  std::string line = "|---|---|---|---|---|";
  for (const std::uint32_t drop : settings.drops) {
    head += fmt::format(" right at {} % |", drop);
    line += "---|";
  }
  if (settings.quick) {
    head += fmt::format(" quick scan ({} rounds): right, % | wrong suspect, % |", kQuickRounds);
    line += "---|---|";
  }
  std::printf("%s\n%s\n", head.c_str(), line.c_str());
  for (const std::uint32_t nodes : settings.nodes)
    for (int kind = 0; kind < kFaultKinds; ++kind)
      if (settings.kinds.empty() ||
          std::ranges::count(settings.kinds, static_cast<std::uint32_t>(kind)) > 0)
        print_row(nodes, static_cast<FaultKind>(kind), settings);
}

// One localisation of 1,024 nodes and 8 rails.
void print_speed() {
  std::printf(
      "\nSYNTHETIC: seconds of one localisation, 1,024 nodes, 8 rails, one memory kind\n\n");
  std::printf("| fault | seconds | CPU seconds | suspects |\n|---|---|---|---|\n");
  for (const FaultKind kind : {FaultKind::kNone, FaultKind::kCable, FaultKind::kLeaf,
                               FaultKind::kRail, FaultKind::kSpineLink, FaultKind::kTwo}) {
    FabricSpec spec = fabric_of(1024, 8);
    spec.gpu_memory = false;
    Fabric fabric(spec);
    for (const Fault& fault : fabric.random_faults(kind, 0.1)) fabric.inject(fault);
    const localise::PairData data = fabric.all_pairs();
    const double begin = now_seconds();
    const double cpu_begin = cpu_seconds();
    const auto found = localise::find_suspects(data);
    const double cpu = cpu_seconds() - cpu_begin;
    std::printf("| %s | %.3f | %.3f | %zu |\n", fault_word(kind).data(), now_seconds() - begin, cpu,
                found ? found->suspects.size() : 0);
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace railgauge::simulator

int main(int argc, char** argv) {
  const auto settings = railgauge::simulator::settings_of(argc, argv);
  if (settings.seeds > 0) railgauge::simulator::print_table(settings);
  if (settings.speed) railgauge::simulator::print_speed();
  return 0;
}
