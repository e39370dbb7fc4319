// Reads several places at once with a limit, so that a place that hangs costs only its own answer:
// a sick device holds its reader in the kernel, where no signal reaches. A hanging reader is left
// behind with the data that it uses, and ends when the kernel releases it. Its place is not read
// again before. The alternative, a child process for each source, would cost some fifty forks.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace railgauge::agent {

// The result of read_in_time().
struct TimedResult {
  std::vector<std::string> late{};               // names, sorted
  std::map<std::string, double> milliseconds{};  // of the reads that finished
};

// The most hanging readers of the process; beyond them nothing new is begun.
inline constexpr std::size_t kMostStuckReaders = 16;

// Reads, and returns a function that puts the result in place.
using Read = std::function<std::function<void()>()>;

// Calls each of `reads` on a few threads. Returns when all have ended or `seconds` have passed. The
// results of finished reads are put in place by the calling thread, in the order of `names`. A read
// may outlive this call and must own its data. Names are global to the process: two reads with one
// name are one place that may hang.
TimedResult read_in_time(const std::vector<std::string>& names, const std::vector<Read>& reads,
                         double seconds);

// The number of readers that still hang.
std::size_t stuck_readers();

}  // namespace railgauge::agent
