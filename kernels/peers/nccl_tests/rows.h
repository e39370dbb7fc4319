// THE list of nccl-tests' options: what each means here, or what to do instead.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "kernels/peers/nccl_tests/options.h"

namespace railgauge {

// What the options said, at the tool's defaults.
struct NcclTestsReading {
  static constexpr std::uint64_t kDefaultBytes = 32U << 20U;
  NcclTestsCall call;
  std::int64_t threads = 1;
  std::int64_t gpus = 1;
  std::uint64_t first = kDefaultBytes;
  std::uint64_t last = kDefaultBytes;
  std::uint64_t step = 1U << 20U;
  std::int64_t factor = 1;  // 1: by steps
  std::int64_t iterations = 20;
  bool counted = false;  // -n was given
  std::int64_t graph_launches = 0;
  std::string type = "float";
  std::string redop = "sum";
  std::string root = "0";
  std::string placement = "both";
  bool adaptive = false;
  std::map<std::string, std::string> parameters;  // that hold for all tasks
  std::map<std::string, std::string> set;         // --set has the last word
};

struct NcclTestsOption {
  using Take = Status (*)(NcclTestsReading& reading, const NcclTestsOption& row,
                          const std::string& option, const std::string& value);
  const char* word;
  char letter;  // 0: none
  bool takes_value;
  Take take;
  const char* what;  // honoured: for --help. Else: why it changes nothing, or what to do instead
  bool refused = false;  // never honoured
};

std::span<const NcclTestsOption> nccl_tests_options();

// "-g: what is wrong with it": kInvalidArgument.
tl::unexpected<Error> wrong_option(const std::string& option, std::string_view what);
// A whole number from `least` to `most`.
Result<std::int64_t> option_number(const std::string& option, const std::string& value,
                                   std::int64_t least, std::int64_t most);

}  // namespace railgauge
