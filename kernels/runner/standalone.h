// Standalone use: two terminals with `--listen` and `--connect`, or one kernel alone. The kernel
// runs in a child process, so that a crash, a hang or a library's exit() still ends in a report and
// in one of our exit codes.
#pragma once

#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "kernels/core/kernel.h"
#include "kernels/core/tcp.h"
#include "kernels/runner/report.h"

namespace railgauge {

inline constexpr double kDefaultDeadlineSeconds = 600;

struct StandaloneOptions {
  const KernelRow* row = nullptr;
  std::map<std::string, std::string> parameters;  // as given
  std::string endpoint;
  std::optional<std::string> listen;  // "[ADDR:]PORT"
  std::optional<TcpAddress> connect;  // neither: alone
  bool keep = false;
  double deadline_seconds = kDefaultDeadlineSeconds;
  bool raw_samples = false;
  Format format = Format::kTable;  // on stdout
  TableStyle style;
  // In place of report_table.
  std::function<std::string(const RunnerReport&, const TableStyle&)> table = report_table;
  std::string file;  // "": none
  Format file_format = Format::kJson;
};

// Runs, prints, and returns the exit code. With `keep` it serves until a signal. Call
// block_ending_signals() first, and start no thread before.
int run_standalone(const StandaloneOptions& options);

}  // namespace railgauge
