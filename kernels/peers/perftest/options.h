// The command lines of perftest's programs, as people type them, read for our kernels. Pure, but
// not thread safe: it reads with getopt_long, so that letters may be joined and words cut as there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/core/report/report.h"
#include "kernels/peers/perftest/profile.h"

namespace railgauge {

// The tool's own default of -p.
inline constexpr std::uint16_t kPerftestPort = 18515;

// One command line, read and checked.
struct PerftestCall {
  bool help = false;  // then nothing else counts
  bool version = false;
  std::string kernel{};
  // The listener's are what was said alone, so that it meets whatever the client asks for; the
  // client's have the profile under them.
  std::map<std::string, std::string> parameters{};
  std::string endpoint{};
  // Absent: this side listens.
  std::optional<std::string> host{};
  std::uint16_t port = kPerftestPort;
  bool gigabits = false;
  bool raw_samples = false;
  double deadline_seconds = 0;
  Format format = Format::kTable;
  // "": none.
  std::string file{};
  std::vector<std::string> infos{};  // what an accepted option does not do here, one line each
};

// kInvalidArgument: one line that names the option and says what to do instead.
Result<PerftestCall> read_perftest_call(const PerftestProgram& program,
                                        const std::vector<std::string>& arguments,
                                        const FindKernel& find);

// The options that are honoured, for --help.
std::string perftest_help(const PerftestProgram& program, const FindKernel& find);

}  // namespace railgauge
