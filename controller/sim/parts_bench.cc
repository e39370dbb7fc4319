// Measures how soon slow parts are named from sliced nights, and how often a healthy night gets a
// finding. All figures are SYNTHETIC, from a model; the judge sees them alone. Exit codes: 0 the
// bars are met, 1 one is missed, 2 wrong use.
//
//   parts_bench [--first-seed 1] [--seeds 200] [--noise 1,3] [--families] [--threads 2]
//     --noise: standard deviations of a figure in percent. --families: all families of noise
//     without a fault, in place of the table of faults.
//   [--nodes 512] [--rails 8] [--leaf 16] [--slices 7] [--before 14] [--shared PERCENT]
//     Other sites: nodes of a leaf; healthy nights before a fault; the share of the variance that a
//     leaf's figures of a night and of a round have in common.
//   [--keep FILE] [--minutes N]
//     --keep: adds a line a seed to the file, and leaves out the seeds that it has; the table is of
//     all of them. --minutes: begins no seed after so long.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "controller/parts/judge.h"
#include "controller/parts/levels.h"
#include "controller/sim/kept_seeds.h"
#include "controller/sim/nights.h"
#include "kernels/core/version/commit.h"

namespace railgauge::simulator {
namespace {

using localise::Direction;
using localise::Element;
using localise::Kind;

enum class Fault {
  kNicSends,
  kNicReceives,
  kNic,
  kGpu,
  kNode,
  kLeaf,
  kTrunk,
  kFlapping,
  kPair,
  kTwo
};

// One row of the table.
struct Row {
  Fault fault;
  const char* name;
  double percent;
  std::uint32_t within;
  // Least share of seeds, in percent.
  double bar;
};
constexpr std::array kRows{
    Row{Fault::kNicSends, "NIC, sending", 10, 2, 95},
    Row{Fault::kNicReceives, "NIC, receiving", 10, 2, 95},
    Row{Fault::kNic, "NIC", 10, 2, 95},
    Row{Fault::kGpu, "GPU", 10, 2, 95},
    Row{Fault::kLeaf, "leaf", 10, 2, 95},
    Row{Fault::kTrunk, "trunk", 10, 2, 95},
    Row{Fault::kNode, "node", 10, 2, 95},
    Row{Fault::kNicSends, "NIC, sending", 5, 4, 95},
    Row{Fault::kNic, "NIC", 5, 4, 95},
    Row{Fault::kGpu, "GPU", 5, 4, 95},
    Row{Fault::kLeaf, "leaf", 5, 4, 95},
    Row{Fault::kTrunk, "trunk", 5, 4, 95},
    Row{Fault::kNicSends, "NIC, sending", 3, 4, 95},
    Row{Fault::kNic, "NIC", 3, 4, 95},
    Row{Fault::kGpu, "GPU", 3, 4, 95},
    Row{Fault::kLeaf, "leaf", 3, 4, 95},
    Row{Fault::kTrunk, "trunk", 3, 4, 95},
    Row{Fault::kFlapping, "NIC, one night of three", 10, 6, 95},
    Row{Fault::kPair, "pair below half", 55, 7, 95},
    Row{Fault::kTwo, "two at once", 10, 2, 90},
};

struct Flags {
  std::uint32_t first_seed = 1;
  std::uint32_t seeds = 200;
  std::uint32_t threads = 2;
  std::vector<double> noises{0.01, 0.03};
  bool families = false;
  SiteSpec site{};
  // Healthy nights before the fault begins.
  std::uint32_t before = 14;
  // File of kept seeds; "": none.
  std::string keep{};
  std::uint32_t minutes = 1'000'000;
};

// Sums of one cell. By night after the begin: how many seeds are named by then.
struct Sums {
  std::uint32_t seeds = 0;
  std::uint32_t named = 0;
  std::uint32_t wrong = 0;
};
struct HealthySums {
  std::uint32_t nights = 0;
  std::uint32_t with_finding = 0;
  std::uint32_t with_candidate = 0;
  // Nights of this call, whose times these are.
  std::uint32_t timed_nights = 0;
  double fit_seconds = 0;
  double judge_seconds = 0;
};

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<SiteFault> two_faults_of(const Row& row, const SiteSpec& spec, std::uint32_t leaves,
                                     Random& random);

// A fault at a random place.
std::vector<SiteFault> faults_of(const Row& row, const SiteSpec& spec, std::uint32_t leaves,
                                 Random& random) {
  const auto node = static_cast<std::int32_t>(random.below(spec.nodes));
  const auto rail = static_cast<std::int32_t>(random.below(spec.rails));
  const auto leaf = static_cast<std::int32_t>(random.below(leaves));
  const auto other = static_cast<std::int32_t>(
      (static_cast<std::uint32_t>(leaf) + 1 + random.below(leaves - 1)) % leaves);
  const std::int32_t one_or_all = random.below(2) == 0 ? rail : -1;
  SiteFault fault{.element = {.kind = Kind::kPort, .first = node, .rail = rail},
                  .drop = row.percent / 100};
  switch (row.fault) {
    case Fault::kNicSends:
      fault.element.direction = Direction::kSends;
      break;
    case Fault::kNicReceives:
      fault.element.direction = Direction::kReceives;
      break;
    case Fault::kNic:
      break;
    case Fault::kGpu:
      fault.element.memory = "gpu";
      break;
    case Fault::kNode:
      fault.element = {.kind = Kind::kNode, .first = node};
      break;
    case Fault::kLeaf:
      fault.element = {.kind = Kind::kLeaf, .first = leaf, .rail = one_or_all};
      break;
    case Fault::kTrunk:
      fault.element = {.kind = Kind::kTrunk,
                       .first = std::min(leaf, other),
                       .second = std::max(leaf, other),
                       .rail = one_or_all};
      break;
    case Fault::kFlapping:
      fault.every = 3;
      break;
    case Fault::kPair:
      fault.element.kind = Kind::kPair;
      fault.element.second = static_cast<std::int32_t>(
          (static_cast<std::uint32_t>(node) + 1 + random.below(spec.nodes - 1)) % spec.nodes);
      fault.element.direction = Direction::kSends;
      break;
    case Fault::kTwo:
      return two_faults_of(row, spec, leaves, random);
  }
  return {fault};
}

// Two faults of different kinds that do not meet: the slower part alone decides about pairs that
// use both.
std::vector<SiteFault> two_faults_of(const Row& row, const SiteSpec& spec, std::uint32_t leaves,
                                     Random& random) {
  static constexpr std::array kChoices{Fault::kNicSends, Fault::kNic,  Fault::kGpu,
                                       Fault::kNode,     Fault::kLeaf, Fault::kTrunk};
  const auto first = random.below(kChoices.size());
  const auto second = (first + 1 + random.below(static_cast<std::uint32_t>(kChoices.size()) - 1)) %
                      static_cast<std::uint32_t>(kChoices.size());
  const auto leaf_of = [&](const SiteFault& one) {
    const std::int32_t place = one.element.first;
    return localise::is_of_node(one.element)
               ? place / static_cast<std::int32_t>(spec.nodes_per_leaf)
               : place;
  };
  for (;;) {
    Row a = row;
    Row b = row;
    a.fault = kChoices[first];
    b.fault = kChoices[second];
    std::vector<SiteFault> both = faults_of(a, spec, leaves, random);
    both.push_back(faults_of(b, spec, leaves, random).front());
    if (leaf_of(both[0]) != leaf_of(both[1]) && leaf_of(both[0]) != both[1].element.second &&
        leaf_of(both[1]) != both[0].element.second)
      return both;
  }
}

// The same part, flapping or not.
bool is_same(Element a, const Element& b) {
  a.intermittent = b.intermittent;
  return a == b;
}

// The site in one word.
std::string site_word(const Flags& flags) {
  const SiteSpec& site = flags.site;
  return fmt::format("{}x{}/{},leaf{},before{},shared{:g}", site.nodes, site.rails, site.slices,
                     site.nodes_per_leaf, flags.before, site.round_share);
}

// All seeds of one noise.
class Bench {
 public:
  explicit Bench(const Flags& flags) : flags_(flags) {}

  void run(NoiseFamily family, double noise) {
    std::vector<std::thread> threads;
    next_ = 0;
    for (std::uint32_t i = 0; i < flags_.threads; ++i)
      threads.emplace_back([this, family, noise] {
        for (std::uint32_t seed = next_++; seed < flags_.seeds; seed = next_++)
          if (!is_kept(noise, flags_.first_seed + seed) && seconds_now() < end_)
            one_seed(family, noise, flags_.first_seed + seed);
      });
    for (std::thread& thread : threads) thread.join();
  }

  // Takes the seeds of the file that are of this site; without the file there are none. kDataLoss:
  // as read_seeds().
  Status take_kept() {
    if (flags_.keep.empty()) return {};
    std::ifstream file(flags_.keep);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    for (KeptSeed& seed : RG_TRY(read_seeds(text, kRows.size())))
      if (seed.site == site_word(flags_)) {
        add(seed);
        kept_.push_back(std::move(seed));
      }
    return {};
  }

  // By row and noise.
  std::map<std::pair<std::size_t, double>, Sums> sums{};
  std::map<std::pair<NoiseFamily, double>, HealthySums> healthy{};

 private:
  void one_seed(NoiseFamily family, double noise, std::uint64_t seed) {
    SiteSpec spec = flags_.site;
    spec.family = family;
    spec.noise = noise;
    spec.seed = seed;
    Site site(spec);
    std::vector<parts::Levels> before;
    HealthySums sums_of_seed;
    const std::uint32_t nights = flags_.families ? 2 * flags_.before : flags_.before;
    for (std::uint32_t night = 0; night < nights; ++night) {
      const parts::NightFigures& figures = site.night(night);
      const double begin = seconds_now();
      before.push_back(parts::levels_of(figures).value());
      const double middle = seconds_now();
      const parts::Judgement judgement = judge(before, {});
      sums_of_seed.fit_seconds += middle - begin;
      sums_of_seed.judge_seconds += seconds_now() - middle;
      ++sums_of_seed.nights;
      const bool any = !judgement.findings.empty();
      const bool confirmed = any && judgement.findings.front().confirmed;
      sums_of_seed.with_finding += confirmed ? 1 : 0;
      sums_of_seed.with_candidate += any && !confirmed ? 1 : 0;
      if (confirmed)
        note(fmt::format("noise {} seed {} night {}: false: {}", noise, seed, night,
                         judgement.findings.front().sentence));
    }
    KeptSeed kept{.site = site_word(flags_),
                  .noise = 100 * noise,
                  .seed = seed,
                  .nights = sums_of_seed.nights,
                  .with_finding = sums_of_seed.with_finding,
                  .with_candidate = sums_of_seed.with_candidate,
                  .outcomes = std::string(kRows.size(), '-')};
    if (!flags_.families) all_trials(site, before, noise, kept);
    {
      const std::scoped_lock lock(mutex_);
      HealthySums& all = healthy[{family, noise}];
      all.timed_nights += sums_of_seed.nights;
      all.fit_seconds += sums_of_seed.fit_seconds;
      all.judge_seconds += sums_of_seed.judge_seconds;
      add(kept, family);
      keep(kept);
    }
    note(fmt::format("{} noise {} seed {}: done", noise_word(family), noise, seed));
  }

  // Adds a seed to the sums.
  void add(const KeptSeed& seed, NoiseFamily family = NoiseFamily::kHeavy) {
    const double noise = seed.noise / 100;
    HealthySums& all = healthy[{family, noise}];
    all.nights += seed.nights;
    all.with_finding += seed.with_finding;
    all.with_candidate += seed.with_candidate;
    for (std::size_t row = 0; row < seed.outcomes.size(); ++row) {
      if (seed.outcomes[row] == '-') continue;
      Sums& cell = sums[{row, noise}];
      ++cell.seeds;
      cell.named += is_named(seed.outcomes[row]) ? 1 : 0;
      cell.wrong += is_wrong(seed.outcomes[row]) ? 1 : 0;
    }
  }

  // Appends the seed's line to the file, if there is one.
  void keep(const KeptSeed& seed) const {
    if (flags_.keep.empty()) return;
    const std::string date = fmt::format("{:%F}", fmt::gmtime(std::time(nullptr)));
    std::ofstream(flags_.keep, std::ios::app) << line_of(seed, build_commit(), date) << std::flush;
  }

  [[nodiscard]] bool is_kept(double noise, std::uint64_t seed) const {
    return std::ranges::any_of(kept_, [&](const KeptSeed& one) {
      return one.seed == seed && std::abs(one.noise - 100 * noise) < 1e-9;
    });
  }

  static parts::Judgement judge(const std::vector<parts::Levels>& before,
                                const std::vector<parts::Levels>& since) {
    std::vector<const parts::Levels*> nights;
    for (const parts::Levels& levels : before) nights.push_back(&levels);
    for (const parts::Levels& levels : since) nights.push_back(&levels);
    return parts::judge_parts(nights);
  }

  // One row with one seed.
  struct Trial {
    std::size_t row = 0;
    std::vector<SiteFault> faults{};
    std::vector<parts::Levels> since{};
    bool named = false;
    bool wrong = false;
  };

  // All rows, night by night, so that the chance of a night is drawn once.
  void all_trials(Site& site, const std::vector<parts::Levels>& before, double noise,
                  KeptSeed& kept) {
    const std::uint64_t seed = kept.seed;
    std::vector<Trial> trials;
    std::uint32_t last = 0;
    for (std::size_t row = 0; row < kRows.size(); ++row) {
      if (kRows[row].percent < 5 && noise > 0.02) continue;
      Random random(seed * 7919 + row);
      trials.push_back(
          {.row = row, .faults = faults_of(kRows[row], site.spec(), site.leaves(), random)});
      last = std::max(last, kRows[row].within);
    }
    for (std::uint32_t night = 0; night < last; ++night)
      for (Trial& trial : trials)
        if (!trial.named && night < kRows[trial.row].within)
          one_night(site, before, night, trial, fmt::format("noise {} seed {}", noise, seed));
    for (const Trial& trial : trials)
      kept.outcomes[trial.row] = outcome_letter(trial.named, trial.wrong);
  }

  void one_night(Site& site, const std::vector<parts::Levels>& before, std::uint32_t night,
                 Trial& trial, const std::string& where) {
    const Row& row = kRows[trial.row];
    trial.since.push_back(
        parts::levels_of(site.night(flags_.before + night, trial.faults, flags_.before)).value());
    std::size_t found = 0;
    for (const parts::PartFinding& finding : judge(before, trial.since).findings) {
      if (!finding.confirmed) continue;
      const bool right = std::ranges::any_of(trial.faults, [&](const SiteFault& fault) {
        return is_same(finding.element, fault.element);
      });
      found += right ? 1 : 0;
      if (!right && !trial.wrong)
        note(fmt::format("{} {} % {} night {}: wrong: {}; slow is {} {} {}, rail {}, direction {}",
                         row.name, row.percent, where, night, finding.sentence,
                         static_cast<int>(trial.faults.front().element.kind),
                         trial.faults.front().element.first, trial.faults.front().element.second,
                         trial.faults.front().element.rail,
                         static_cast<int>(trial.faults.front().element.direction)));
      trial.wrong = trial.wrong || !right;
    }
    trial.named = found == trial.faults.size();
    if (!trial.named && night + 1 == row.within)
      note(fmt::format("{} {} % {}: not named", row.name, row.percent, where));
  }

  void note(const std::string& line) {
    const std::scoped_lock lock(mutex_);
    std::fprintf(stderr, "%s\n", line.c_str());
  }

  const Flags& flags_;
  const double end_ = seconds_now() + 60.0 * flags_.minutes;
  std::vector<KeptSeed> kept_{};
  std::atomic<std::uint32_t> next_{0};
  std::mutex mutex_;  // for the sums
};

double percent_of(std::uint32_t part, std::uint32_t all) {
  return all == 0 ? 0 : 100.0 * part / all;
}

// Prints the tables; returns whether all bars are met.
bool print(const Flags& flags, const Bench& bench) {
  bool met = true;
  std::printf("SYNTHETIC: %u nodes, %u rails, slices of 1/%u, %u healthy nights first\n\n",
              flags.site.nodes, flags.site.rails, flags.site.slices, flags.before);
  if (!flags.families) {
    std::printf("| fault | takes | noise | seeds | within | named | with a wrong part | bar |\n");
    std::printf("|---|---|---|---|---|---|---|---|\n");
    for (const auto& [key, cell] : bench.sums) {
      const Row& row = kRows[key.first];
      const double named = percent_of(cell.named, cell.seeds);
      const double wrong = percent_of(cell.wrong, cell.seeds);
      const bool is_met = named >= row.bar && wrong <= 5;
      met = met && is_met;
      std::printf("| %s | %.0f %% | %.0f %% | %u | %u nights | %.1f %% | %.1f %% | %.0f %%%s |\n",
                  row.name, row.percent, 100 * key.second, cell.seeds, row.within, named, wrong,
                  row.bar, is_met ? "" : ", missed");
    }
  }
  std::printf(
      "\n| healthy nights | noise | nights | with a finding | with a candidate alone | "
      "ms of a fit | ms of a judgement |\n|---|---|---|---|---|---|---|\n");
  for (const auto& [key, cell] : bench.healthy) {
    if (cell.nights == 0) continue;
    const double share = percent_of(cell.with_finding, cell.nights);
    met = met && share < 1;
    std::printf("| %s | %.0f %% | %u | %.2f %%%s | %.2f %% | %.0f | %.0f |\n",
                std::string(noise_word(key.first)).c_str(), 100 * key.second, cell.nights, share,
                share < 1 ? "" : ", missed", percent_of(cell.with_candidate, cell.nights),
                1e3 * cell.fit_seconds / std::max(cell.timed_nights, 1U),
                1e3 * cell.judge_seconds / std::max(cell.timed_nights, 1U));
  }
  return met;
}

int run(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--families") {
      flags.families = true;
      continue;
    }
    const char* const value = i + 1 < argc ? argv[++i] : "";
    const auto number = static_cast<std::uint32_t>(std::strtoul(value, nullptr, 10));
    if (word == "--first-seed") {
      flags.first_seed = number;
    } else if (word == "--seeds" && number > 0) {
      flags.seeds = number;
    } else if (word == "--threads" && number > 0) {
      flags.threads = number;
    } else if (word == "--noise" && number > 0) {
      flags.noises = {number / 100.0};
    } else if (word == "--nodes" && number > 1) {
      flags.site.nodes = number;
    } else if (word == "--rails" && number > 0) {
      flags.site.rails = number;
    } else if (word == "--slices" && number > 0) {
      flags.site.slices = number;
    } else if (word == "--leaf" && number > 0) {
      flags.site.nodes_per_leaf = number;
    } else if (word == "--before") {
      flags.before = number;
    } else if (word == "--keep") {
      flags.keep = value;
    } else if (word == "--minutes") {
      flags.minutes = number;
    } else if (word == "--shared") {
      flags.site.round_share = flags.site.night_share = number / 200.0;
    } else {
      std::fprintf(stderr, "parts_bench: %s %s: not known\n", word.c_str(), value);
      return 2;
    }
  }
  if (flags.families && !flags.keep.empty()) {
    std::fprintf(stderr,
                 "parts_bench: --keep: rows of faults alone are kept, --families has none\n");
    return 2;
  }
  Bench bench(flags);
  if (const Status taken = bench.take_kept(); !taken) {
    std::fprintf(stderr, "parts_bench: %s: %s\n", flags.keep.c_str(),
                 taken.error().message.c_str());
    return 2;
  }
  for (const double noise : flags.noises)
    for (int family = 0; family < kNoiseFamilies; ++family)
      if (flags.families || static_cast<NoiseFamily>(family) == NoiseFamily::kHeavy)
        bench.run(static_cast<NoiseFamily>(family), noise);
  return print(flags, bench) ? 0 : 1;
}

}  // namespace
}  // namespace railgauge::simulator

int main(int argc, char** argv) { return railgauge::simulator::run(argc, argv); }
