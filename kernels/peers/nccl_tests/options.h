// Parses command lines of nccl-tests' programs for our kernels. Options and defaults are those of
// 2.19. Pure, but not thread safe: getopt_long keeps its state in globals.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/core/report/report.h"
#include "kernels/peers/nccl_tests/environment.h"
#include "kernels/peers/nccl_tests/profile.h"

namespace railgauge {

// One measurement of all sizes; a call has one for each type, reduction, root and placement.
struct NcclTestsTask {
  // The tool's name of the data type.
  std::string type{};
  // "none" if the kernel reduces nothing.
  std::string redop{};
  std::int64_t root = -1;
  bool in_place = false;
  std::map<std::string, std::string> parameters{};  // of the kernel
};

// One command line, parsed and checked.
struct NcclTestsCall {
  bool help = false;  // the other fields are then ignored
  std::uint32_t ranks = 1;
  bool launched = false;  // the ranks are a launcher's and not processes of this call
  std::vector<NcclTestsTask> tasks{};
  double deadline_seconds = 0;  // of one task
  Format format = Format::kTable;
  // For the document; "": none.
  std::string file{};
  std::vector<std::string> infos{};  // a line for each accepted option without effect
};

// Parses the arguments behind the program's name. kInvalidArgument: one line with the option and
// the allowed values. kUnimplemented: this build lacks the kernel. `launched_ranks`: the number
// that an MPI's launcher started, each with these arguments; 0 without a launcher. `environment`:
// the tool's own variables.
Result<NcclTestsCall> read_nccl_tests_call(const NcclTestsProgram& program,
                                           const std::vector<std::string>& arguments,
                                           const FindKernel& find, std::uint32_t launched_ranks = 0,
                                           const NcclTestsEnvironment& environment = {});

// Returns the text of --help: the program, the kernel that measures it, and the honoured options.
std::string nccl_tests_help(const NcclTestsProgram& program);

}  // namespace railgauge
