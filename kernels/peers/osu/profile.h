// The programs of the OSU micro-benchmarks 7.4 with the kernels that measure the same. Used by
// `profile: osu` in a suite and by `railgauge-runner osu_latency`. Pure; thread safe.
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
  // Between two ranks, each with its own choice of memory.
  bool pair = false;
  // The kernel's parameter `call`; "": its default.
  std::string_view call = {};
};

// Return all programs, and the program with a given name.
std::span<const OsuProgram> osu_programs();
const OsuProgram* find_osu_program(std::string_view name);       // nullptr: none
const OsuProgram* osu_program_of(std::string_view kernel);       // nullptr: none
const OsuProgram* find_mpi_spelling(std::string_view mpi_name);  // nullptr: none

// The word of `profile:` in a suite.
inline constexpr std::string_view kOsuProfile = "osu";
// Returns the program's defaults as our parameters, in canonical text: sizes, window, and the
// counts of messages up to 8 KiB and above, each with its warm-up.
std::map<std::string, std::string> osu_defaults(const OsuProgram& program);

// Converts the arguments of an OSU program to ours: "mpi.lat", "--set", "memory=device", ...
// Options with two dashes that are not OSU's own stay unchanged. kInvalidArgument: one line with
// the option and the alternative.
Result<std::vector<std::string>> read_osu_command(const OsuProgram& program,
                                                  const std::vector<std::string>& words);

// Returns the options that read_osu_command() reads, for --help.
std::string osu_help(const OsuProgram& program);

}  // namespace railgauge
