// Other people's benchmarks and ours, test by test: which kernel with which parameters measures
// what a test of nvbandwidth 0.8 or gdrcopy 2.6 measures, and the way back. Mapped by what the
// tool's source does, not by the test's name. Pure; thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge {

// Whether the kernel takes one GPU (one task for each GPU fills the tool's table) or all of them.
enum class PeerScope : std::uint8_t { kEachGpu, kOnce };

// The place of one of our points in the tool's matrix. Our pair "gpu0>gpu1" names the memory that
// the data leaves first.
enum class PeerCell : std::uint8_t {
  kSingle,       // no matrix
  kColumn,       // one row; the column is the GPU: the endpoint's, or the one in the point's pair
  kRowToColumn,  // the data leaves the row's GPU
  kColumnToRow,  // the data leaves the column's GPU
  kMetric,       // a row for each size; the columns are the kernel's metrics, all of one unit
};

// One figure of one test of a tool, both ways: which kernel measures it, and which test a task is.
struct PeerTest {
  // "nvbandwidth", "gdrcopy".
  std::string_view tool;
  std::string test;  // as the tool calls it; several rows where a test has several figures
  std::string_view kernel;
  // The tool's defaults; canonical text.
  std::map<std::string, std::string> parameters;
  // Further ones: the tool's own counts.
  std::map<std::string, std::string> exact;
  // That are one sample of the tool's.
  std::uint64_t samples_of_ours = 1;
  PeerScope scope = PeerScope::kEachGpu;
  // How many of our points: one, several with kMetric, none where the test has no figure.
  std::vector<std::string_view> metrics{};
  std::string_view unit;  // as the tool prints it
  // The tool's figure is our value times this.
  double factor = 1;
  PeerCell cell = PeerCell::kSingle;
};

// All rows. A tool's tests follow each other in the tool's own order. Lives as long as the process.
std::span<const PeerTest> peer_tests();

// The rows of one test, none when the tool has no such test.
std::vector<const PeerTest*> find_peer_tests(std::string_view tool, std::string_view test);

// The tool's names of its tests, each once, in its order; for messages and lists. Empty for an
// unknown tool.
std::vector<std::string> peer_test_names(std::string_view tool);

// The command line, ready for a shell, with which `tool` measures what our task does; several, each
// on a line of its own, where it measures one size in a run and the task several. `parameters` are
// the task's, by canonical text; what is not there has the kernel's default, but for sizes and
// counts of gdrcopy's tests, which have that tool's. `endpoint` is "gpuN" or "". kUnimplemented
// with the reason where the tool has no such test, kInvalidArgument for a tool that is not in the
// table.
Result<std::string> peer_command(std::string_view tool, std::string_view kernel,
                                 const std::map<std::string, std::string>& parameters,
                                 std::string_view endpoint);

}  // namespace railgauge
