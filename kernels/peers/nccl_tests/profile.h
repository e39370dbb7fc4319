// The programs of nccl-tests and the kernels that measure the same, with that tool's names of data
// types and, for NCCL's own settings, the variables behind our parameters. `profile: nccl-tests` in
// a suite and `railgauge-runner all_reduce_perf` use it. Pure; thread safe.
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

// Its hypercube_perf and alltoallv_perf are not here: no kernel measures these.
std::span<const NcclTestsProgram> nccl_tests_programs();
// By the program's name or by the kernel's; nullptr where there is none.
const NcclTestsProgram* find_nccl_tests_program(std::string_view name);
const NcclTestsProgram* nccl_tests_program_of(std::string_view kernel);  // nullptr: none

// The word of `profile:` in a suite.
inline constexpr std::string_view kNcclTestsProfile = "nccl-tests";
// The tool's defaults, in our parameters; canonical text.
const std::map<std::string, std::string>& nccl_tests_defaults();

// "half" is our "float16", ...; absent for a name that is none.
std::optional<std::string_view> type_from_nccl_tests(std::string_view theirs);
std::optional<std::string_view> type_for_nccl_tests(std::string_view ours);
std::vector<std::string> nccl_tests_types();  // its names, in its order

// "NCCL_IB_DISABLE" and "1", ... for those of `parameters` that set something, in the table's
// order.
std::vector<std::pair<std::string, std::string>> nccl_environment(
    const std::map<std::string, std::string>& parameters);

}  // namespace railgauge
