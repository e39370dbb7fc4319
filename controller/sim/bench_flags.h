// detection_bench's flags.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::simulator {

struct BenchFlags {
  std::vector<std::uint32_t> nodes{64, 1024};
  std::vector<std::uint32_t> kinds{};          // by number; empty: all
  std::vector<std::uint32_t> drops{3, 5, 20};  // percent, beside the usual
  std::uint32_t first_seed = 1;
  std::uint32_t seeds = 200;  // 0: no table
  std::uint32_t rails = 2;
  std::uint32_t threads = 0;  // as many as the machine has cores
  bool usual = true;          // the share of bandwidth that a fault of the table takes
  std::vector<std::uint32_t> quick{
      3, 4};           // rounds of the quick scan; 3 is the default, 4 what fabric has
  bool speed = true;   // how long a localisation takes; not of a piece or a merge
  std::string sums{};  // a file of counts to go on with
  std::vector<std::string> merge{};  // files of counts to add up
};

// --name value, or --name=value. kInvalidArgument: an unknown name, a value that is none.
Result<BenchFlags> bench_flags(const std::vector<std::string>& words);

}  // namespace railgauge::simulator
