// Parses command lines of perftest's programs for our kernels. Pure, but not thread safe: it uses
// getopt_long, so letters may be joined and words shortened as in perftest.
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

// The samples behind a table of latencies: none, in the order of time, or ascending.
enum class PerftestSamples : std::uint8_t { kNone, kInTime, kSorted };

// One command line, parsed and checked.
struct PerftestCall {
  bool help = false;  // the other fields are then ignored
  bool version = false;
  std::string kernel{};
  // The listener's are the typed options only, so that it accepts whatever the client asks for. The
  // client's also have the profile's defaults.
  std::map<std::string, std::string> parameters{};
  std::string endpoint{};
  // Absent: this side listens.
  std::optional<std::string> host{};
  std::uint16_t port = kPerftestPort;
  bool gigabits = false;
  bool each_direction = false;  // in columns of their own, beside the sum
  bool raw_samples = false;
  double deadline_seconds = 0;
  Format format = Format::kTable;
  // "": none.
  std::string file{};
  PerftestSamples samples = PerftestSamples::kNone;
  // "bandwidth", "message_rate" or "latency": that figure alone is printed; "": the table.
  std::string only{};
  // Files below the port's folder in sysfs, whose growth is printed.
  std::vector<std::string> counters{};
  // Floors of each size in the table's units: MiB/s or Gb/s, and millions of messages a second.
  double least_bandwidth = 0;
  double least_message_rate = 0;
  std::vector<std::string> infos{};  // a line for each accepted option without effect
};

// Parses the arguments behind the program's name. kInvalidArgument: one line with the option and
// the alternative.
Result<PerftestCall> read_perftest_call(const PerftestProgram& program,
                                        const std::vector<std::string>& arguments,
                                        const FindKernel& find);

// Returns the honoured options for --help.
std::string perftest_help(const PerftestProgram& program, const FindKernel& find);

}  // namespace railgauge
