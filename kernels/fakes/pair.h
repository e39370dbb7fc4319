// Runs one task of two ranks inside the test: two threads and a group in memory.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "kernels/core/base/clock.h"
#include "kernels/core/kernel.h"

namespace railgauge::fake {

// The result of one rank.
struct RankResult {
  Status status;
  std::vector<Point> points;
  std::map<std::string, std::string> facts;
  std::vector<std::string> notes;
  std::size_t most_said_bytes = 0;  // in one step of the group (ranks.h)
  std::size_t most_heard_bytes = 0;
};

struct PairOptions {
  std::map<std::string, std::string> parameters{};
  std::array<std::string, 2> endpoints{"fake0:1", "fake1:1"};
  std::map<std::string, std::string> target_parameters{};  // where rank 1 differs
  double deadline_seconds = 20;
  bool raw_samples = false;
};

// Returns the test program's clock, calibrated once.
TickClock& test_clock();

// Runs both ranks through prepare, connect and measure. A rank that ends early leaves the group,
// which the other sees as kUnavailable. proof_time is 0 unless it is given. CHECKs that the
// parameters parse.
std::array<RankResult, 2> run_pair(const KernelRow& row, const PairOptions& options);

}  // namespace railgauge::fake
