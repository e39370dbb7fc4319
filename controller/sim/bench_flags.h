// Flags of detection_bench.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::simulator {

// Values of all flags, defaults included.
struct BenchFlags {
  std::vector<std::uint32_t> nodes{64, 1024};
  // Numbers of fault kinds; empty: all.
  std::vector<std::uint32_t> kinds{};
  // Shares of bandwidth in percent, beside the usual one.
  std::vector<std::uint32_t> drops{3, 5, 20};
  std::uint32_t first_seed = 1;
  // Number of seeds; 0: no table.
  std::uint32_t seeds = 200;
  std::uint32_t rails = 2;
  // Worker threads; 0: one for each core of the machine.
  std::uint32_t threads = 0;
  // The share of bandwidth that a fault of the table takes.
  bool usual = true;
  std::vector<std::uint32_t> quick{// Rounds of the quick scan; 3 is the default, 4 what fabric has.
                                   3, 4};
  // True to time a localisation; not for a piece or a merge.
  bool speed = true;
  // File of counts to continue; "": none.
  std::string sums{};
  // Files of counts to add up.
  std::vector<std::string> merge{};
};

// Parses "--name value" and "--name=value". kInvalidArgument: an unknown name or a malformed value.
Result<BenchFlags> bench_flags(const std::vector<std::string>& words);

}  // namespace railgauge::simulator
