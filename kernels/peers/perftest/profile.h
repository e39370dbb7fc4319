// The programs of perftest with the kernels that measure the same and the defaults of each: sizes,
// counts, depth, interval of completions, no warm-up. (Its buffer, which stays hot in the cache,
// equals that of our kernels.) Used by `profile: perftest` in a suite and by `railgauge-runner
// ib_write_bw`. Pure; thread safe.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "kernels/core/base/result.h"

namespace railgauge {

// One program and the kernels that measure the same.
struct PerftestProgram {
  // "ib_write_bw".
  std::string_view name;
  // "verbs.write_bw".
  std::string_view kernel;
  // The kernel with --write_with_imm; "": no such option.
  std::string_view immediate;
  std::map<std::string, std::string> defaults;  // of 26.04, as our parameters, in canonical text
};

// Return all programs, and the program with a given name.
std::span<const PerftestProgram> perftest_programs();
const PerftestProgram* find_perftest_program(std::string_view name);  // nullptr: no such program
// Returns the program that measures the same as the kernel, or nullptr.
const PerftestProgram* perftest_program_of(std::string_view kernel);

// The word of `profile:` in a suite.
inline constexpr std::string_view kPerftestProfile = "perftest";

// Returns `given`, completed by the profile's settings. Some settings follow from the given ones,
// as in the tool: a short queue or a list of posts shortens the interval of completions, each large
// message is completed, a duration has no count. A setting that the kernel refuses beside a given
// parameter that the tool lacks (staged memory, several devices) is left out, so that a combination
// that is legal without the profile stays legal. For nccl-tests (nccl_tests/profile.h) the settings
// are size and count. kInvalidArgument: an unknown profile, or one that does not apply to the
// kernel.
Result<std::map<std::string, std::string>> with_profile(
    std::string_view profile, std::string_view kernel,
    const std::map<std::string, std::string>& given);

}  // namespace railgauge
