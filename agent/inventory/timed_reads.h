// Reads from several places at once, so that one which hangs (a sick device holds its reader in the
// kernel, where no signal reaches) costs its own answer and nothing else. A reader that hangs is
// left behind with what it needs and ends when the kernel lets it; its place is not asked again
// before. The other way, a child process a source, would cost a fork for each of some fifty reads.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace railgauge::agent {

struct TimedResult {
  std::vector<std::string> late{};               // names, sorted
  std::map<std::string, double> milliseconds{};  // of those that came
};

inline constexpr std::size_t kMostStuckReaders = 16;  // of the process; then nothing new is begun

// Reads, and answers with a call that puts what was read in place.
using Read = std::function<std::function<void()>()>;

// Calls each of `reads` on a few threads; returns when all have ended or `seconds` have passed.
// The answers of those that came in time are called by this thread, in the order of `names`. A read
// may outlive this call and must own what it uses. Names are of the whole process: two reads of one
// name are one place that may hang.
TimedResult read_in_time(const std::vector<std::string>& names, const std::vector<Read>& reads,
                         double seconds);

// Readers that still hang.
std::size_t stuck_readers();

}  // namespace railgauge::agent
