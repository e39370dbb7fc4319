// The options of a standalone run, which a person or an MPI's launcher started.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "kernels/core/group/group.h"
#include "kernels/core/group/tcp.h"
#include "kernels/core/kernel.h"
#include "kernels/core/report/report.h"

namespace railgauge {

// The ranks that a launcher started, with this process as one of them.
struct World {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  // Returns the group of all ranks, whose first exchange initialises MPI.
  std::function<std::unique_ptr<Group>()> join;
  std::function<void()> leave{};  // collective; may hang. Empty: MPI is another process's
  // Called when the task's process has ended, in the process that forked it; may be empty. With it
  // every rank measures in a process of its own.
  std::function<void()> ended{};
};

// The command line, checked for syntax; check_standalone() checks it against the kernel.
struct StandaloneOptions {
  const KernelRow* row = nullptr;
  std::map<std::string, std::string> parameters;  // as typed
  std::string endpoint;  // with several ranks: one for all, or one for each, separated by commas
  // "[ADDR:]PORT".
  std::optional<std::string> listen;
  // Neither `listen` nor `connect`: alone, or with the ranks of this host.
  std::optional<TcpAddress> connect;
  // The number of ranks on this host, each a process; rank 0 reports.
  std::uint32_t ranks = 1;
  std::optional<World> world;  // replaces the two above; rank 0 reports
  std::string records_to;      // with `world`: rank 0 writes to this socket and prints nothing
  // The ranks are processes that an MPI's launcher starts.
  bool launches = false;
  bool keep = false;
  // The longest time of one run.
  double deadline_seconds = kDefaultDeadlineSeconds;
  // Whether the document keeps every sample.
  bool raw_samples = false;
  // The format on stdout.
  Format format = Format::kTable;
  TableStyle style;
  // The function that prints the table.
  std::function<std::string(const RunnerReport&, const TableStyle&)> table = report_table;
  // "": none.
  std::string file;
  Format file_format = Format::kJson;
};

}  // namespace railgauge
