// The programs of the OSU micro-benchmarks 7.4 and the kernels that measure what they measure; what
// `profile: osu` in a suite and `railgauge-runner osu_latency` mean. Pure; thread safe.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge {

// One program and the kernel that measures the same.
struct OsuProgram {
  // "osu_allreduce".
  std::string_view name;
  // "MPI_Allreduce", or "".
  std::string_view mpi_name;
  // "mpi.all_reduce".
  std::string_view kernel;
  // Between two ranks: memory is chosen for each side.
  bool pair = false;
};

// All programs, and searches by each name; nullptr where none has it.
std::span<const OsuProgram> osu_programs();
const OsuProgram* find_osu_program(std::string_view name);       // nullptr: none
const OsuProgram* osu_program_of(std::string_view kernel);       // nullptr: none
const OsuProgram* find_mpi_spelling(std::string_view mpi_name);  // nullptr: none

// The word of `profile:` in a suite.
inline constexpr std::string_view kOsuProfile = "osu";
// The program's defaults, in our parameters; canonical text: sizes, window, and the counts of
// messages up to 8 KiB and above, with the uncounted ones before each.
std::map<std::string, std::string> osu_defaults(const OsuProgram& program);

// The command line of one of its programs (the words after its name) as ours: "mpi.lat", "--set",
// "memory=device", ... Options that begin with two dashes and are not its own stay as they are.
// kInvalidArgument: one line that names the option and says what to do instead.
Result<std::vector<std::string>> read_osu_command(const OsuProgram& program,
                                                  const std::vector<std::string>& words);

}  // namespace railgauge
