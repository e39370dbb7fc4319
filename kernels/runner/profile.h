// Another tool's list of tests, measured by our kernels with that tool's sizes and counts, so that
// a person can hold our figures against the tool's. What to run and how to read it; profile_run.h
// runs it. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/core/peer_tools.h"
#include "kernels/runner/agent_task.h"
#include "kernels/runner/profile.pb.h"

namespace railgauge {

struct ProfileOptions {
  std::string name;                // "nvbandwidth", "gdrcopy_copybw"
  std::string tool;                // as peer_tools.h calls it
  std::vector<std::string> tests;  // the tool's names, in the order to run
  // Only this GPU; absent: each of them where a test takes one.
  std::optional<std::string> endpoint{};
  std::map<std::string, std::string> parameters{};  // for every kernel that declares them
  std::optional<std::uint64_t> buffer_bytes{};      // in place of the tool's size
  std::optional<std::uint64_t> samples{};           // in place of the tool's count
  std::optional<std::uint64_t> writes{};            // the count of kernels that write, ...
  std::optional<std::uint64_t> reads{};             // ... and of those that read
  bool adaptive = false;                            // our stop rule in place of the tool's counts
  double deadline_seconds = 0;                      // of one task
};

// Which row of the list, and which of its GPUs.
struct ProfilePlace {
  std::uint32_t row = 0;
  std::uint32_t gpu = 0;
  friend bool operator==(const ProfilePlace&, const ProfilePlace&) = default;
  friend bool operator<(const ProfilePlace& a, const ProfilePlace& b) {
    return a.row != b.row ? a.row < b.row : a.gpu < b.gpu;
  }
};

struct ProfileTask {
  const PeerTest* row = nullptr;
  ProfilePlace at{};
  std::string endpoint{};  // "gpuN"; "" for a kernel over all GPUs, or where there is none
  std::map<std::string, std::string> parameters{};  // as given to the kernel
};

// The rows of the tests, in order; a test may have several.
std::vector<const PeerTest*> profile_rows(const ProfileOptions& options);

// The tasks in order. With no GPU each row has one task without an endpoint, whose kernel says what
// is missing. A row whose kernel `find` does not know is left in: it waives.
std::vector<ProfileTask> profile_tasks(const ProfileOptions& options, const FindKernel& find,
                                       int gpus);

// Of a list that stops by itself, the time cap of the next task's points, as a duration's text:
// what quick tasks left goes to noisy ones (copies between several GPUs and a host whose memory
// others use too), so that these are as steady as the list's time allows. 0.2 to 0.75 s.
std::string adaptive_time_cap(std::size_t tasks_done, double elapsed_seconds);

// Where a point stands in the tool's matrix, and its value in the tool's unit.
ProfileCell cell_of(const PeerTest& row, const Point& point, const std::string& endpoint,
                    bool many_sizes);
// One row's matrix from the reports of its tasks; only those that passed have a figure.
ProfileFigure figure_of(const PeerTest& row, std::span<const RunnerReport> reports);

// One word for several tasks: the worst; passed and waived together are passed.
std::string_view combined_outcome(std::span<const std::string> outcomes);

// A test as text: each matrix with its sum and median, what did not pass, and the time.
std::string profile_test_text(const ProfileTest& test, std::string_view tool);
// One header line, one line for each cell; a task that did not pass has a line without a value and
// with its own outcome.
std::string profile_csv(const ProfileReport& report);
// What the last line says: tests by outcome and the time.
std::string profile_summary(const ProfileReport& report);

}  // namespace railgauge
