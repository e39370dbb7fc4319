// Concurrent reads with a time limit, so that a hanging read costs only its own result: a sick
// device blocks its reader in the kernel, where no signal arrives. A hanging reader is left behind
// with its data and ends when the kernel releases it; until then its source is not read again. The
// alternative, a child process for each source, would cost some fifty forks.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace railgauge::agent {

// The result of read_in_time().
struct TimedResult {
  std::vector<std::string> late{};               // reads without a result, sorted
  std::map<std::string, double> milliseconds{};  // of finished reads, by name
};

// The limit of hanging readers in the process; no read starts beyond it.
inline constexpr std::size_t kMostStuckReaders = 16;

// Reads, and returns a function that stores the result.
using Read = std::function<std::function<void()>()>;

// Runs `reads` on threads and returns when all have ended or `seconds` have passed. The calling
// thread stores the results of finished reads, in the order of `names`. A read may outlive this
// call and must own its data. Names are global to the process: while a read hangs, no read of its
// name starts.
TimedResult read_in_time(const std::vector<std::string>& names, const std::vector<Read>& reads,
                         double seconds);

// Returns the number of readers that still hang.
std::size_t stuck_readers();

}  // namespace railgauge::agent
