// Profiles: another tool's list of tests, measured by our kernels with that tool's sizes and
// counts, so that the figures can be compared. Selects the tests and reads their results;
// profile_run.h runs them. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/peers/profile.pb.h"
#include "kernels/peers/tools.h"

namespace railgauge {

// One call of a profile, parsed and checked.
struct ProfileOptions {
  // "nvbandwidth", "gdrcopy_copybw".
  std::string name;
  std::string tool;  // its name in tools.h
  // The tool's names, in the order to run.
  std::vector<std::string> tests;
  // The only GPU to measure; absent: each GPU.
  std::optional<std::string> endpoint{};
  // Passed to every kernel that declares them.
  std::map<std::string, std::string> parameters{};
  // Two UUIDs with a comma: tests between two GPUs at a time measure these alone; "": all pairs.
  std::string pair{};
  std::optional<std::uint64_t> buffer_bytes{};  // replaces the tool's size
  std::optional<std::uint64_t> samples{};       // replaces the tool's count
  // The count of kernels that write.
  std::optional<std::uint64_t> writes{};
  std::optional<std::uint64_t> reads{};  // the count of kernels that read
  // Our stop rule replaces the tool's counts.
  bool adaptive = false;
  double deadline_seconds = 0;  // of one task
};

// The place of a task: the row of the list, the index of its GPU, and the number of earlier visits.
struct ProfilePlace {
  std::uint32_t visit = 0;
  std::uint32_t row = 0;
  std::uint32_t gpu = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): it takes the compiler's own comparison for a pointer
  friend auto operator<=>(const ProfilePlace&, const ProfilePlace&) = default;
};

// One run of one kernel. `row` lives as long as the process.
struct ProfileTask {
  const PeerTest* row = nullptr;
  ProfilePlace at{};
  // "gpuN"; "" for a kernel over all GPUs, or where there is none.
  std::string endpoint{};
  std::map<std::string, std::string> parameters{};  // as given to the kernel
};

// Returns the rows of the tests, in order. A test may have several rows, one for each figure.
std::vector<const PeerTest*> profile_rows(const ProfileOptions& options);

// Returns the tasks in order. Without a GPU each row has one task without an endpoint, whose kernel
// reports what is missing. A row whose kernel `find` does not know stays in the list and waives.
std::vector<ProfileTask> profile_tasks(const ProfileOptions& options, const FindKernel& find,
                                       int gpus);

// --- a list that stops by itself ---------------------------------------------------------------
//
// Copies between GPUs and a host whose memory others use too are noisy, and a disturbance lasts
// longer than any look: a longer look adds little. So each look is short, and the remaining time of
// the list is spent on further visits of noisy tasks, some seconds apart.

// Whether tasks may be visited again: an adaptive list of nvbandwidth without a given time cap.
bool visits_again(const ProfileOptions& options);
// Returns the time limit in seconds of a list of which `tasks` tasks passed; a task that waives
// adds no time.
double list_seconds(std::size_t tasks, int gpus);
// The visits of one noisy task so far.
struct Visited {
  std::uint32_t visits = 0;
  double longest_seconds = 0;
};
// Returns the index of the next task to visit: the first with the fewest visits among the tasks
// that fit into the time left. Absent: no task fits, or all had their maximum of visits.
std::optional<std::size_t> next_visit(std::span<const Visited> noisy, double left_seconds);
// Whether the time cap ended the point before its interval was narrow enough.
bool is_wide(const Point& point);

// Returns a point's place in the tool's matrix and its value in the tool's unit. The value is the
// median of the samples. For a wide point whose samples are single copies it is all bytes over all
// time, as in the tool: copies over a shared memory have several speeds, between which a median
// jumps.
ProfileCell cell_of(const PeerTest& row, const Point& point, const std::string& endpoint,
                    bool many_sizes);
// Returns one row's matrix from the reports of its tasks, of which only passed ones have figures. A
// cell with several visits has their median.
ProfileFigure figure_of(const PeerTest& row, std::span<const RunnerReport> reports);

// Returns the worst of several outcomes. Passed and waived together are passed. kCrashed for no
// tasks.
std::string_view combined_outcome(std::span<const std::string> outcomes);

// Returns a test as text: each matrix with its sum and median, the tasks that did not pass, and the
// time.
std::string profile_test_text(const ProfileTest& test, std::string_view tool);
// Returns one header line and one line for each cell. A task that did not pass has a line with its
// outcome and without a value.
std::string profile_csv(const ProfileReport& report);
// Returns the last line of the output: the number of tests by outcome, and the time in seconds.
std::string profile_summary(const ProfileReport& report);

}  // namespace railgauge
