// The unix socket. Its connections are accepted here, so that the peer's credentials are checked
// before gRPC reads a byte.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <grpcpp/grpcpp.h>

#include "controller/fleet/auth.h"
#include "controller/listen/once_a_minute.h"
#include "kernels/core/base/fd.h"
#include "kernels/core/base/result.h"

namespace railgauge {

// Listener of the unix socket; accepts on its own thread. Create, start and stop it on one thread.
class UnixListener {
 public:
  static constexpr int kBacklog = 64;
  // Called with the user of a connection that is refused, "unknown" for a uid without a name. It
  // must not wait: the next connection does.
  using OnRefused = std::function<void(const std::string& user, const Error& reason)>;

  // Binds and listens. Replaces the socket of a dead controller. kInvalidArgument: a path of wrong
  // length, or an unknown group. kAlreadyExists: a live controller answers there, or the file is no
  // socket. kNotFound: the folder is missing. kPermissionDenied: the socket cannot be used.
  static Result<std::unique_ptr<UnixListener>> open(const std::string& path,
                                                    const std::string& group);
  ~UnixListener();

  // Hands each allowed connection to `server` and enters its user into `peers`. Both outlive
  // stop().
  void start(grpc::Server& server, auth::PeerBook& peers, OnRefused on_refused);
  // Whose members may connect, beside root and the controller's own user.
  [[nodiscard]] std::optional<gid_t> group() const { return group_; }
  // Accepts no further connection and removes the socket's file. Idempotent.
  void stop();

 private:
  UnixListener(Fd socket, Fd wake, std::string path, std::optional<gid_t> group);
  void accept_loop(grpc::Server& server, auth::PeerBook& peers);
  void admit(Fd connection, grpc::Server& server, auth::PeerBook& peers);
  void refuse(uid_t uid);

  Fd socket_;
  Fd wake_;  // eventfd that stop() writes to
  std::string path_;
  std::optional<gid_t> group_;
  OnRefused on_refused_;
  OnceAMinute full_;
  std::thread thread_;
};

}  // namespace railgauge
