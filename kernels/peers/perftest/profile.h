// The programs of perftest and the kernels that measure the same, with the defaults of each: sizes,
// counts, depth, interval of completions, no warm-up. (Its buffer, which stays hot in the cache, is
// that of our kernels anyhow.) `profile: perftest` in a suite and `railgauge-runner ib_write_bw`
// use it. Pure; thread safe.
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
  // The kernel with --write_with_imm; "" where it has no such option.
  std::string_view immediate;
  std::map<std::string, std::string> defaults;  // of 26.04, in our parameters; canonical text
};

// All programs, and a search by name.
std::span<const PerftestProgram> perftest_programs();
const PerftestProgram* find_perftest_program(std::string_view name);  // nullptr: no such program
// Which program measures what the kernel does; nullptr: none.
const PerftestProgram* perftest_program_of(std::string_view kernel);

// The word of `profile:` in a suite.
inline constexpr std::string_view kPerftestProfile = "perftest";

// `given` with the profile's settings wherever it has none. Some follow from the given ones, as
// they do in the tool: a short queue or a list of posts shortens the interval of completions, large
// messages complete each, a stretch of time has no count. A setting that the kernel would refuse
// beside a given one that the tool lacks (staged memory, several devices) is left out: the profile
// makes nothing illegal that is legal without it. For nccl-tests (nccl_tests/profile.h) it is the
// size and the count. kInvalidArgument for an unknown profile, or one that does not apply to the
// kernel.
Result<std::map<std::string, std::string>> with_profile(
    std::string_view profile, std::string_view kernel,
    const std::map<std::string, std::string>& given);

}  // namespace railgauge
