// The programs of nccl-tests with the kernels that measure the same, the tool's names of data
// types, and the NCCL variables behind our parameters. Used by `profile: nccl-tests` in a suite and
// by `railgauge-runner all_reduce_perf`. Pure; thread safe.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/nccl_settings.h"

namespace railgauge {

// One program and the kernel that measures the same.
struct NcclTestsProgram {
  // "all_reduce_perf".
  std::string_view name;
  // "nccl.all_reduce".
  std::string_view kernel;
};

// Returns all programs.
std::span<const NcclTestsProgram> nccl_tests_programs();
// Finds a program by its name or by its kernel; nullptr: none.
const NcclTestsProgram* find_nccl_tests_program(std::string_view name);
const NcclTestsProgram* nccl_tests_program_of(std::string_view kernel);  // nullptr: none

// The word of `profile:` in a suite.
inline constexpr std::string_view kNcclTestsProfile = "nccl-tests";
// Returns the tool's defaults as our parameters, in canonical text.
const std::map<std::string, std::string>& nccl_tests_defaults();

// Converts names of data types, the tool's "half" and our "float16"; absent for an unknown name.
std::optional<std::string_view> type_from_nccl_tests(std::string_view theirs);
std::optional<std::string_view> type_for_nccl_tests(std::string_view ours);
std::vector<std::string> nccl_tests_types();  // the tool's names, in its order

// Returns the variables that `parameters` set, {"NCCL_IB_DISABLE", "1"}, in the table's order.
std::vector<std::pair<std::string, std::string>> nccl_environment(
    const std::map<std::string, std::string>& parameters);

}  // namespace railgauge
