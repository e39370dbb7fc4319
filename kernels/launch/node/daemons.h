// The launchers' daemons on this node: started for the task that holds the lease, in the words that
// the grammar knows, in a clean environment, under a keeper. A passive object; the owner polls.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <poll.h>

#include "kernels/launch/node/grammar.h"
#include "kernels/launch/node/launch.pb.h"
#include "kernels/launch/node/mpi_process.h"

namespace railgauge {

// Not thread safe. At most one daemon runs at a time.
class MpiDaemons {
 public:
  // How this node starts a daemon.
  struct Options {
    std::string keeper;
    std::string daemon;  // its path here; "" where this node has none
    std::string shim;    // as the launcher's words name it
    launch::Lease lease;
    std::vector<std::string> environment;
    std::string interface {};  // of this node on the data network, which other nodes may call else
  };
  // Hears what came of an ask; the last word on it has `refused` or `wait_status`.
  using Report = std::function<void(LaunchNews)>;

  MpiDaemons(Options options, Report report)
      : options_(std::move(options)), report_(std::move(report)) {}

  // Starts the daemon, or returns the reason: a word that has no place, a lease that does not cover
  // it, a second daemon, a missing one. The reason is for the log; "" when it was started.
  std::string start(const LaunchAsk& ask);
  // The launcher's side of it got a signal, or is gone: it ends.
  void stop(std::uint32_t number);
  // All of them: asked the first time, killed the second.
  void end() const;

  // Call it when a descriptor of add_to() is readable.
  void service();
  void add_to(std::vector<pollfd>& set) const;
  [[nodiscard]] bool empty() const { return running_.empty(); }

 private:
  // Checks a request and starts its daemon.
  Result<MpiProcess> open(const LaunchAsk& ask) const;

  const Options options_;
  const Report report_;
  std::map<std::uint32_t, MpiProcess> running_;
};

}  // namespace railgauge
