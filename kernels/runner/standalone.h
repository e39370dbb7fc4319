// Standalone use: two terminals with `--listen` and `--connect`, several ranks on this host, or one
// kernel alone. The kernel runs in a child process, so that a crash, a hang or a library's exit()
// still ends in a report and in one of our exit codes.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "kernels/core/kernel.h"
#include "kernels/core/record.pb.h"
#include "kernels/core/tcp.h"
#include "kernels/runner/report.h"

namespace railgauge {

inline constexpr double kDefaultDeadlineSeconds = 600;

// wants_colour() of this process's standard output.
bool stdout_takes_colour();

// Ranks that a launcher started, this process being one of them.
struct World {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::function<std::unique_ptr<Group>()> join;
  std::function<void()> leave;  // with all ranks; may hang
};

struct StandaloneOptions {
  const KernelRow* row = nullptr;
  std::map<std::string, std::string> parameters;  // as given
  std::string endpoint;  // of several ranks: one for all, or one for each, separated by commas
  std::optional<std::string> listen;  // "[ADDR:]PORT"
  std::optional<TcpAddress> connect;  // neither: alone, or with the ranks of this host
  std::uint32_t ranks = 1;            // on this host, a process each; rank 0 reports
  std::optional<World> world;         // in place of the two above; rank 0 reports
  std::string records_to;             // of a world: rank 0 writes to this socket and prints nothing
  bool launches = false;              // the ranks are processes that an MPI's launcher starts
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

// What one run came to, without a word printed.
struct StandaloneEnd {
  RunnerReport report;
  int exit_code = 0;
  bool interrupted = false;  // by a signal: what was to follow is not wanted
};

// kInvalidArgument for what run_standalone would refuse.
Status check_standalone(const StandaloneOptions& options);
// One run alone or with this host's ranks, of options that are right; hands over the records as
// they come. Conditions as run_standalone.
StandaloneEnd measure_standalone(const StandaloneOptions& options,
                                 const std::function<void(const Record&)>& on_record);

// Runs, prints, and returns the exit code. With `keep` it serves until a signal. Call
// block_ending_signals() first, and start no thread before.
int run_standalone(const StandaloneOptions& options);

}  // namespace railgauge
