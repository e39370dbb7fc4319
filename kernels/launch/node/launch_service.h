// The service for the shims of this node's launcher, on a unix socket in the task's private folder.
// Each shim asks for one daemon; a request that the grammar or the lease refuses never leaves this
// node. A passive object; the owner polls.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <poll.h>

#include "kernels/core/base/fd.h"
#include "kernels/launch/node/grammar.h"
#include "kernels/launch/node/launch.pb.h"
#include "kernels/launch/shim/wire.h"

namespace railgauge {

// Returns a non-blocking unix socket that listens at `path`. The caller checks each connection with
// is_own_user(). kInvalidArgument: the path is too long. kUnavailable: bind() or listen() failed.
Result<Fd> listen_at_path(const std::string& path);
// Whether the peer of a connected unix socket runs as this process's user.
bool is_own_user(int socket);

// Not thread safe.
class LaunchService {
 public:
  // Bounds against a faulty launcher: concurrent shims, and bytes of one request.
  static constexpr std::size_t kMostShims = 4096;
  static constexpr std::size_t kMostAskBytes = 32U << 10U;

  // The task's own facts, constant while it runs.
  struct Options {
    std::string shim;  // its path, which the launcher's words contain
    launch::Lease lease;
    std::map<std::string, std::uint32_t> rank_of;  // by the node's address
  };
  // Called from service() and forward(); must not call back.
  struct Hooks {
    std::function<void(LaunchAsk)> ask;
    std::function<void(LaunchSignal)> signal;
    std::function<void(const std::string& why)> refused;  // for the log
  };

  LaunchService(Fd listener, Options options, Hooks hooks)
      : listener_(std::move(listener)), options_(std::move(options)), hooks_(std::move(hooks)) {}

  // Accepts shims and handles their messages. Call it when a descriptor of add_to() is readable.
  void service();
  void add_to(std::vector<pollfd>& set) const;
  // Passes news to the shim that asked. News from a rank other than the asked one are ignored.
  void forward(std::uint32_t rank, const LaunchNews& news);
  // Returns the number of shims that wait for their daemon's end.
  [[nodiscard]] std::size_t waiting() const { return shims_.size(); }

 private:
  // One connection.
  struct Shim {
    Fd socket;
    launch::Decoder decoder;
    std::optional<std::uint32_t> asked{};  // the rank whose daemon it controls
  };
  // Reads from a shim. False: the shim is finished, and its daemon, if any, is asked to end.
  bool read(std::uint32_t number, Shim& shim);
  bool take(std::uint32_t number, Shim& shim, const launch::Frame& frame);
  // Logs a refusal of a peer that does not follow the protocol. Returns false.
  bool turn_away(const std::string& what);
  void end_daemon(std::uint32_t number);
  // Checks a request and returns it in the form for the target node.
  Result<LaunchAsk> checked(std::uint32_t number, const std::string& bytes) const;
  void accept();

  Fd listener_;
  const Options options_;
  const Hooks hooks_;
  std::map<std::uint32_t, Shim> shims_;
  std::uint32_t next_number_ = 1;
};

}  // namespace railgauge
