// The options of a standalone run, from `railgauge-runner` itself or from an MPI's launcher on its
// behalf.
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

// Ranks that a launcher started, this process being one of them.
struct World {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  // The group of all ranks; MPI is initialised by its first exchange.
  std::function<std::unique_ptr<Group>()> join;
  std::function<void()> leave;  // with all ranks; may hang
};

// The command line, checked for form; check_standalone() checks it against the kernel.
struct StandaloneOptions {
  const KernelRow* row = nullptr;
  std::map<std::string, std::string> parameters;  // as given
  std::string endpoint;  // of several ranks: one for all, or one for each, separated by commas
  // "[ADDR:]PORT".
  std::optional<std::string> listen;
  // Neither: alone, or with the ranks of this host.
  std::optional<TcpAddress> connect;
  // On this host, a process each; rank 0 reports.
  std::uint32_t ranks = 1;
  std::optional<World> world;  // in place of the two above; rank 0 reports
  std::string records_to;      // of a world: rank 0 writes to this socket and prints nothing
  // The ranks are processes that an MPI's launcher starts.
  bool launches = false;
  bool keep = false;
  // The longest time of one run.
  double deadline_seconds = kDefaultDeadlineSeconds;
  // Whether the document keeps every sample.
  bool raw_samples = false;
  // On stdout.
  Format format = Format::kTable;
  TableStyle style;
  // In place of report_table.
  std::function<std::string(const RunnerReport&, const TableStyle&)> table = report_table;
  // "": none.
  std::string file;
  Format file_format = Format::kJson;
};

}  // namespace railgauge
