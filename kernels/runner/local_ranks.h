// Several ranks of one task on this host, a process each, without agent or controller: the calling
// process is rank 0, forks the others and hands round what each of them says.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "kernels/core/base/result.h"
#include "kernels/core/group/group.h"

namespace railgauge {

// One task's other ranks, as child processes of this one.
class LocalRanks {
 public:
  // The body of another rank, run in its own process; its value is that process's exit code.
  // `group` is that rank's end of the group.
  using Body = std::function<int(Group& group)>;

  // Forks ranks 1 to `size` - 1, and ignores SIGPIPE from then on. No other thread may run yet.
  // kUnavailable where Linux gives no further process or socket.
  static Result<std::unique_ptr<LocalRanks>> start(std::uint32_t size, const Body& body);
  // Ends the group, waits for the others at most kEndSeconds, and kills who is left.
  virtual ~LocalRanks() = default;

  // Rank 0's end of the group. After an error no rank can exchange anything more; a rank that is
  // gone is named, with how its process ended.
  virtual Group& group() = 0;

  // How long the destructor waits for each.
  static constexpr double kEndSeconds = 10;
};

}  // namespace railgauge
