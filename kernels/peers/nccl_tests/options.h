// The command lines of nccl-tests' programs, as people type them, read for our kernels. Options and
// defaults are those of 2.19. Pure, but not thread safe: it reads with getopt_long.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/core/report/report.h"
#include "kernels/peers/nccl_tests/profile.h"

namespace railgauge {

// One measurement of all sizes: the program makes one for each type, reduction, root and placement.
struct NcclTestsTask {
  // That tool's name.
  std::string type{};
  // "none" where the kernel reduces nothing.
  std::string redop{};
  std::int64_t root = -1;
  bool in_place = false;
  std::map<std::string, std::string> parameters{};  // of the kernel
};

// One command line, read and checked.
struct NcclTestsCall {
  bool help = false;  // then nothing else counts
  std::uint32_t ranks = 1;
  std::vector<NcclTestsTask> tasks{};
  double deadline_seconds = 0;  // of one task
  Format format = Format::kTable;
  // For the document; "": none.
  std::string file{};
  std::vector<std::string> infos{};  // what an accepted option does not do here, one line each
};

// kInvalidArgument: one line that names the option and says what is allowed; kUnimplemented where
// this build lacks the kernel.
Result<NcclTestsCall> read_nccl_tests_call(const NcclTestsProgram& program,
                                           const std::vector<std::string>& arguments,
                                           const FindKernel& find);

// The text of --help: the program, the kernel that measures it, and the options that are honoured.
std::string nccl_tests_help(const NcclTestsProgram& program);

}  // namespace railgauge
