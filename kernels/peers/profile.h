// Another tool's list of tests, measured by our kernels with that tool's sizes and counts, so that
// a person can compare our figures with the tool's. Selects the tests and reads their results;
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

// One call of a profile, read and checked.
struct ProfileOptions {
  // "nvbandwidth", "gdrcopy_copybw".
  std::string name;
  std::string tool;  // as tools.h calls it
  // The tool's names, in the order to run.
  std::vector<std::string> tests;
  // Only this GPU; absent: each of them where a test takes one.
  std::optional<std::string> endpoint{};
  // For every kernel that declares them.
  std::map<std::string, std::string> parameters{};
  std::optional<std::uint64_t> buffer_bytes{};  // in place of the tool's size
  std::optional<std::uint64_t> samples{};       // in place of the tool's count
  // The count of kernels that write, ...
  std::optional<std::uint64_t> writes{};
  std::optional<std::uint64_t> reads{};  // ... and of those that read
  // Our stop rule in place of the tool's counts.
  bool adaptive = false;
  double deadline_seconds = 0;  // of one task
};

// Which row of the list, which of its GPUs, and how often that was measured before.
struct ProfilePlace {
  std::uint32_t visit = 0;
  std::uint32_t row = 0;
  std::uint32_t gpu = 0;
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

// The rows of the tests, in order. A test may have several rows, one for each figure.
std::vector<const PeerTest*> profile_rows(const ProfileOptions& options);

// The tasks in order. With no GPU each row has one task without an endpoint, whose kernel says what
// is missing. A row whose kernel `find` does not know is left in: it waives.
std::vector<ProfileTask> profile_tasks(const ProfileOptions& options, const FindKernel& find,
                                       int gpus);

// --- a list that stops by itself ---------------------------------------------------------------
//
// Copies between GPUs and a host whose memory others use too are noisy, and a disturbance lasts
// longer than any look: a longer look adds little. So each look is short, and the remaining time of
// the list is spent on further visits of noisy tasks, some seconds apart.

// Whether tasks may be visited again: not where the caller set the time cap.
bool visits_again(const ProfileOptions& options);
// The time in seconds that a list may take of which so many tasks passed. A task that waives gives
// no time to others.
double list_seconds(std::size_t tasks, int gpus);
// How a task that was noisy went so far.
struct Visited {
  std::uint32_t visits = 0;
  double longest_seconds = 0;
};
// The index of the next one to visit: of those that fit into the time that is left, the first with
// the fewest visits. Nothing where none fits or all have had enough.
std::optional<std::size_t> next_visit(std::span<const Visited> noisy, double left_seconds);
// Whether the time cap ended the point before its interval was as narrow as asked.
bool is_wide(const Point& point);

// The place of a point in the tool's matrix, and its value in the tool's unit: the median of its
// samples. For a wide one whose samples are single copies it is all bytes over all time, as the
// tool counts: copies over a shared memory come in several speeds, and a median jumps between them.
ProfileCell cell_of(const PeerTest& row, const Point& point, const std::string& endpoint,
                    bool many_sizes);
// One row's matrix from the reports of its tasks; only those that passed have a figure. With
// several visits a cell has the median.
ProfileFigure figure_of(const PeerTest& row, std::span<const RunnerReport> reports);

// One word for several tasks: the worst of their outcomes. Passed and waived together are passed.
// kCrashed for no tasks.
std::string_view combined_outcome(std::span<const std::string> outcomes);

// A test as text: each matrix with its sum and median, what did not pass, and the time.
std::string profile_test_text(const ProfileTest& test, std::string_view tool);
// One header line, one line for each cell; a task that did not pass has a line without a value and
// with its own outcome.
std::string profile_csv(const ProfileReport& report);
// The last line of the output: the number of tests by outcome, and the time in seconds.
std::string profile_summary(const ProfileReport& report);

}  // namespace railgauge
