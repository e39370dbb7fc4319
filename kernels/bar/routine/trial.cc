// Rounds of short copies, one routine after the other, and the choice by their ratios.
#include "kernels/bar/routine/trial.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "kernels/core/stats/stats.h"
#include "kernels/memory/host_buffer.h"

namespace railgauge::bar {
namespace {

// The size of the family's bandwidth bounds; reads are forty times slower.
constexpr std::size_t kWrittenBytes = 64U << 10U;
constexpr std::size_t kReadBytes = 4U << 10U;
constexpr int kRounds = 15;
// Time of a routine in a round.
constexpr double kTurnNs = 1e6;
// Faster by less than this share is as fast.
constexpr double kAsFast = 0.03;
// Share of rounds in which a faster routine is faster.
constexpr double kMostRounds = 0.8;

// One turn: GB/s.
double turn(const TickClock& clock, std::size_t bytes, const std::function<void()>& copy) {
  copy();  // its code and the mapping's translations are loaded
  const std::uint64_t begin = clock.ticks();
  double spent_ns = 0;
  double moved = 0;
  while (spent_ns < kTurnNs) {
    copy();
    moved += static_cast<double>(bytes);
    spent_ns = clock.to_ns(clock.ticks() - begin);
  }
  return moved / spent_ns;
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return quantile_sorted(values, 0.5);
}

// The available routines of one direction, `first` in front. No round where there is no choice.
std::vector<TriedRoutine> rates_of(std::span<const Routine> known, const Routine* first,
                                   Copy Routine::*copy,
                                   const std::function<double(Copy)>& take_turn) {
  std::vector<TriedRoutine> out{{.routine = first}};
  for (const Routine& routine : known)
    if (routine.available && routine.*copy != nullptr && &routine != first)
      out.push_back({.routine = &routine});
  if (out.size() == 1) return out;
  for (int round = 0; round < kRounds; ++round)
    for (TriedRoutine& one : out) one.rates.push_back(take_turn(one.routine->*copy));
  return out;
}

std::string words_of(const std::vector<TriedRoutine>& tried) {
  std::string words;
  for (const TriedRoutine& one : tried)
    words += fmt::format("{}{} {:.3g}", words.empty() ? "" : ", ", one.routine->name,
                         median_of(one.rates));
  return words + " GB/s";
}

}  // namespace

// Rounds are compared one by one, because the machine's own speed changes from round to round.
const Routine* choose_fastest(std::span<const TriedRoutine> in_order) {
  const TriedRoutine& first = in_order.front();
  const Routine* chosen = first.routine;
  double highest = 1 + kAsFast;
  for (const TriedRoutine& other : in_order.subspan(1)) {
    std::vector<double> ratios;
    for (std::size_t round = 0; round < first.rates.size(); ++round)
      ratios.push_back(other.rates[round] / first.rates[round]);
    const auto faster = std::ranges::count_if(ratios, [](double ratio) { return ratio > 1; });
    const double median = median_of(ratios);
    if (static_cast<double>(faster) < kMostRounds * static_cast<double>(ratios.size()) ||
        median <= highest)
      continue;
    highest = median;
    chosen = other.routine;
  }
  return chosen;
}

// The bytes on the GPU's side are whatever they become: the kernels fill what they verify.
Result<RoutineTrial> try_routines(const View& view, std::span<const Routine> known,
                                  const Copier& first, const TickClock& clock) {
  const HostBuffer host = RG_TRY(HostBuffer::allocate(kWrittenBytes));
  const std::size_t written = std::min(kWrittenBytes, view.bytes);
  const std::size_t read = std::min(kReadBytes, view.bytes);
  const auto writers = rates_of(known, first.writer, &Routine::write, [&](Copy copy) {
    return turn(clock, written, [&] { copy(view.cpu, host.data(), written); });
  });
  const auto readers = rates_of(known, first.reader, &Routine::read, [&](Copy copy) {
    return turn(clock, read, [&] { copy(host.data(), view.cpu, read); });
  });
  RoutineTrial out{
      .copier = {choose_fastest(writers), choose_fastest(readers)}, .writers = {}, .readers = {}};
  if (writers.size() > 1) out.writers = words_of(writers);
  if (readers.size() > 1) out.readers = words_of(readers);
  return out;
}

}  // namespace railgauge::bar
