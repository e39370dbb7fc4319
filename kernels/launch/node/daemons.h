// The launcher's daemons on this node: started for the task that holds the lease, with arguments
// that the grammar allows, in a clean environment, under a keeper. A passive object; the owner
// polls.
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
    std::string daemon;  // its path here; "": not installed
    std::string shim;    // its path in the launcher's words
    launch::Lease lease;
    std::vector<std::string> environment;
    std::string interface {};  // this node's on the data network; other nodes may differ
  };
  // Receives the news of a request; the last of them has `refused` or `wait_status`.
  using Report = std::function<void(LaunchNews)>;

  MpiDaemons(Options options, Report report)
      : options_(std::move(options)), report_(std::move(report)) {}

  // Starts the daemon. Returns "" or the reason of a refusal, for the log: a forbidden word, a
  // lease that does not cover the request, a second daemon, or a daemon that is not installed.
  std::string start(const LaunchAsk& ask);
  // Ends one daemon, because the launcher's side of it got a signal or is gone.
  void stop(std::uint32_t number);
  // Ends all daemons: the first call asks, the second kills.
  void end() const;

  // Reads output and ends, and reports them. Call it when a descriptor of add_to() is readable.
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
