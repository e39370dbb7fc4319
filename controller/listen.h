// The ports of the controller. Connections of the unix socket are accepted here, so that the peer's
// credentials are checked before gRPC reads a byte. TCP uses mutual TLS; plain TCP only on request.
#pragma once

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

// The settings of the TCP port.
struct TcpOptions {
  std::string listen;  // HOST:PORT; "": no TCP
  std::string tls_cert;
  std::string tls_key;
  std::string tls_ca;
  std::string tls_crl{};  // "": no list
  bool insecure = false;
};
// Checks the options. kInvalidArgument: TCP without certificates and without --insecure, an
// incomplete set of files, or both certificates and --insecure.
Status check_tcp_options(const TcpOptions& options);

// Listener of the unix socket; accepts on its own thread. Create, start and stop it on one thread.
class UnixListener {
 public:
  static constexpr int kBacklog = 64;

  // Binds and listens. Replaces the socket of a dead controller. kInvalidArgument: a path of wrong
  // length, or an unknown group. kAlreadyExists: a live controller answers there, or the file is no
  // socket. kNotFound: the folder is missing. kPermissionDenied: the socket cannot be used.
  static Result<std::unique_ptr<UnixListener>> open(const std::string& path,
                                                    const std::string& group);
  ~UnixListener();

  // Hands each allowed connection to `server` and enters its user into `peers`. Both outlive
  // stop().
  void start(grpc::Server& server, auth::PeerBook& peers);
  // Accepts no further connection and removes the socket's file. Idempotent.
  void stop();

 private:
  UnixListener(Fd socket, Fd wake, std::string path, std::optional<gid_t> group);
  void accept_loop(grpc::Server& server, auth::PeerBook& peers);
  void admit(Fd connection, grpc::Server& server, auth::PeerBook& peers) const;

  Fd socket_;
  Fd wake_;  // eventfd that stop() writes to
  std::string path_;
  std::optional<gid_t> group_;
  std::thread thread_;
};

}  // namespace railgauge
