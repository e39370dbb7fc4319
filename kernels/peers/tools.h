// The mapping between tests of nvbandwidth 0.10 and gdrcopy 2.6 and our kernels with their
// parameters, in both directions. It follows the tools' sources, not the names of their tests.
// Pure; thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge {

// Whether a task of the kernel measures one GPU (one task for each GPU fills the tool's table) or
// all.
enum class PeerScope : std::uint8_t { kEachGpu, kOnce };

// The place of one of our points in the tool's matrix. Our pair "gpu0>gpu1" names the memory that
// the data leaves first.
enum class PeerCell : std::uint8_t {
  kSingle,       // a single figure, no matrix
  kColumn,       // one row; the column is the GPU: the endpoint's, or the one in the point's pair
  kRowToColumn,  // the data leaves the row's GPU
  kColumnToRow,  // the data leaves the column's GPU
  kMetric,       // a row for each size; the columns are the kernel's metrics, all of one unit
};

// One figure of one test of a tool, and the kernel that measures it.
struct PeerTest {
  // "nvbandwidth", "gdrcopy".
  std::string_view tool;
  std::string test;  // the tool's name; a test with several figures has several rows
  std::string_view kernel;
  // The tool's defaults; canonical text.
  std::map<std::string, std::string> parameters;
  // Further parameters: the tool's own counts.
  std::map<std::string, std::string> exact;
  // The number of our samples that make one of the tool's.
  std::uint64_t samples_of_ours = 1;
  PeerScope scope = PeerScope::kEachGpu;
  // The metrics of our points: one; several with kMetric; none if the test has no figure.
  std::vector<std::string_view> metrics{};
  std::string_view unit;  // as the tool prints it
  // The tool's figure is our value times this.
  double factor = 1;
  PeerCell cell = PeerCell::kSingle;
};

// Returns all rows, grouped by tool, in the tool's own order. The rows live as long as the process.
std::span<const PeerTest> peer_tests();

// Returns the rows of one test; empty if the tool has no such test.
std::vector<const PeerTest*> find_peer_tests(std::string_view tool, std::string_view test);

// Returns the names of a tool's tests, each once, in the tool's order. Empty for an unknown tool.
std::vector<std::string> peer_test_names(std::string_view tool);
// Returns the same with the tests that are not measured here, so that the place of a name is the
// tool's own number of the test.
std::vector<std::string> peer_tests_by_number(std::string_view tool);
// Why a test is not measured here, and what comes nearest; "" for every other name.
std::string_view why_left_out(std::string_view test);

// Returns the shell command with which `tool` measures the same as our task; several lines if the
// tool measures one size a run and the task several. `parameters` are the task's, in canonical
// text; missing ones have the kernel's default, except sizes and counts of gdrcopy's tests, which
// have that tool's. `endpoint` is "gpuN" or "". kUnimplemented, with the reason: the tool has no
// such test. kInvalidArgument: the tool is not in the table.
Result<std::string> peer_command(std::string_view tool, std::string_view kernel,
                                 const std::map<std::string, std::string>& parameters,
                                 std::string_view endpoint);

}  // namespace railgauge
