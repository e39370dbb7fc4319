// The variables that steer nccl-tests beside its options: NCCL_TESTS_SPLIT and those of
// alltoallv_perf. Pure; thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge {

// Variables by name. kMatrixVariable has the file's content here, not its path.
using NcclTestsEnvironment = std::map<std::string, std::string>;
inline constexpr const char* kNcclTestsVariables = "NCCL_TESTS_";
inline constexpr const char* kMatrixVariable = "NCCL_TESTS_ALLTOALLV_MATRIX_FILE";

// The variables of one program, read.
struct NcclTestsSurroundings {
  std::map<std::string, std::string> parameters{};
  std::uint64_t matrix_bytes = 0;    // the matrix's own size; 0: there is no matrix
  std::vector<std::string> infos{};  // a line for each variable that changes nothing here
};
// Reads the variables for a kernel and a number of ranks. kInvalidArgument names the variable.
Result<NcclTestsSurroundings> read_surroundings(const NcclTestsEnvironment& environment,
                                                std::string_view kernel, std::uint32_t ranks);

}  // namespace railgauge
