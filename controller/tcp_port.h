// The TCP port of a controller, active or not: listener, end of TLS and rules of HTTP/2, with the
// bounds of each. Connections end up at a gRPC server, whose calls find their caller in a PeerBook.
#pragma once

#include <cstddef>
#include <memory>

#include <grpcpp/grpcpp.h>

#include "controller/config.h"
#include "controller/fleet/auth.h"
#include "controller/listen/tcp_listener.h"
#include "controller/relay/relay.h"
#include "controller/tls.h"
#include "kernels/core/base/result.h"

namespace railgauge {

// Bounds of messages, streams, idle time and keepalive of a controller's gRPC server.
void bound_grpc(grpc::ServerBuilder& builder);

// Open, start, stop and finish it on one thread; the other functions are thread safe.
class TcpPort {
 public:
  // Binds the port and lets `builder` take its connections. `tls`: the certificates, absent with
  // --insecure; it and `peers` outlive the port. kInvalidArgument, kAlreadyExists: the address.
  static Result<std::unique_ptr<TcpPort>> open(const TcpOptions& options, const TlsKeeper* tls,
                                               auth::PeerBook& peers, grpc::ServerBuilder& builder);
  ~TcpPort();
  TcpPort(const TcpPort&) = delete;
  TcpPort& operator=(const TcpPort&) = delete;

  // Accepts from now on; the server runs. kResourceExhausted: no descriptor is left.
  Status start();
  // Hands nothing to the server any more. Idempotent, as the next one.
  void stop();
  // Passes the last bytes of a server that has ended, and closes all connections.
  void finish();
  // Closes connections whose certificate is revoked or has ended; call it every second or so.
  void end_invalid(double now, double now_unix);

  TcpListener& listener() { return *listener_; }
  [[nodiscard]] const TcpListener& listener() const { return *listener_; }
  [[nodiscard]] const relay::Relay& relay() const { return *relay_; }
  [[nodiscard]] int port() const { return listener_->port(); }

 private:
  TcpPort(const TlsKeeper* tls, auth::PeerBook& peers) : tls_(tls), peers_(peers) {}

  const TlsKeeper* tls_;
  auth::PeerBook& peers_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<TcpListener> listener_;
  std::unique_ptr<relay::Relay> relay_;  // uses all above; absent before start()
};

}  // namespace railgauge
