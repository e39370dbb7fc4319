// How callers reach the controller: a unix socket that it accepts on itself, so that the peer's
// credentials are checked before gRPC sees a byte; TCP with mutual TLS; plain TCP only on request.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <grpcpp/grpcpp.h>

#include "controller/fleet/auth.h"
#include "kernels/core/base/handle.h"
#include "kernels/core/base/result.h"

namespace railgauge {

struct FdTraits {
  using Type = int;
  static Type empty() { return -1; }
  static void release(Type fd);
};
using Fd = Handle<FdTraits>;

struct TcpOptions {
  std::string listen;  // HOST:PORT; "" is no TCP at all
  std::string tls_cert;
  std::string tls_key;
  std::string tls_ca;
  bool insecure = false;
};
// kInvalidArgument: TCP without certificates and without --insecure, some files but not all, both.
Status check_tcp_options(const TcpOptions& options);
// Mutual TLS, or plain with --insecure. kInvalidArgument naming the file that cannot be read, or
// that the certificate and key do not fit.
Result<std::shared_ptr<grpc::ServerCredentials>> tcp_credentials(const TcpOptions& options);

class UnixListener {
 public:
  static constexpr int kBacklog = 64;

  // Binds and listens. A socket left by a dead controller is replaced; kAlreadyExists when a live
  // one answers there, kPermissionDenied / kNotFound for the folder.
  static Result<std::unique_ptr<UnixListener>> open(const std::string& path,
                                                    const std::string& group);
  ~UnixListener();

  // Hands each allowed connection to `server` (on its own thread) and enters it into `peers`. Both
  // outlive stop().
  void start(grpc::Server& server, auth::PeerBook& peers);
  // Takes no further connection and removes the socket's file. Idempotent.
  void stop();

 private:
  UnixListener(Fd socket, Fd wake, std::string path, std::optional<gid_t> group);
  void accept_loop(grpc::Server& server, auth::PeerBook& peers);
  void admit(Fd connection, grpc::Server& server, auth::PeerBook& peers) const;

  Fd socket_;
  Fd wake_;  // eventfd: stop() rings
  std::string path_;
  std::optional<gid_t> group_;
  std::thread thread_;
};

}  // namespace railgauge
