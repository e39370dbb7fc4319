// The trial by which `auto` takes the fastest routine of this machine: which one that is differs
// from machine to machine.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/bar/backend/backend.h"
#include "kernels/bar/routine/copy_routines.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/base/result.h"

namespace railgauge::bar {

// A routine and its rates, in GB/s, one a round; none where it was not tried.
struct TriedRoutine {
  const Routine* routine = nullptr;
  std::vector<double> rates{};
};

// The first routine of `in_order`, or the one that is faster by more than 3 % in the median of the
// rounds and faster in four of five: equal routines shall not take turns from run to run. All have
// the same number of rounds. `in_order` is not empty. Pure.
const Routine* choose_fastest(std::span<const TriedRoutine> in_order);

// The results of a trial.
struct RoutineTrial {
  Copier copier;
  // "avx512 21.2, avx2 19.7 GB/s": the writers, in the order of preference.
  std::string writers;
  std::string readers;
};

// Copies to and from `view`, which is proven and has at least one page, by every routine of `known`
// that this CPU has, in turns, for some 150 ms in all. `first` is the choice without a trial; it
// stays where nothing else is available. kResourceExhausted without memory for the host's side.
Result<RoutineTrial> try_routines(const View& view, std::span<const Routine> known,
                                  const Copier& first, const TickClock& clock);

}  // namespace railgauge::bar
