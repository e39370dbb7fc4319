// The server's side of mutual TLS over a non-blocking socket: a client's certificate is required,
// TLS 1.2 at least, ALPN h2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "controller/trust/certificate.h"
#include "controller/trust/openssl.h"
#include "kernels/core/base/result.h"

namespace railgauge::trust {

// Certificate, key and authorities of the server, ready for handshakes. Thread safe.
class TlsServer {
 public:
  // kInvalidArgument, with the flag of the file at fault: the library refuses the material.
  static Result<std::shared_ptr<const TlsServer>> make(const Material& material);

 private:
  friend class TlsChannel;
  explicit TlsServer(SslContext context) : context_(std::move(context)) {}
  SslContext context_;
};

// One connection. Not thread safe.
class TlsChannel {
 public:
  // The state of an act.
  enum class State {
    kDone,
    kBusy,     // a record without data was read: to be tried again, and the peer's doing
    kBlocked,  // to be tried again once the socket is readable or writable
    kEnded,    // no more acts are possible
  };
  struct Moved {
    State state = State::kBlocked;
    std::size_t bytes = 0;  // of kDone, at least one
  };

  // `fd` outlives the channel and is not owned. The thread blocks or ignores SIGPIPE.
  // std::bad_alloc: no memory.
  TlsChannel(const TlsServer& server, int fd);

  // kEnded: the peer has no certificate of the authorities, does not choose h2, or is gone.
  State shake_hands();
  Moved read(std::span<std::uint8_t> to);
  Moved write(std::span<const std::uint8_t> from);
  // Sends the alert that ends TLS, if the socket takes it at once.
  void finish();
  // The client's certificate; call it after the handshake. kInvalidArgument: it cannot be read.
  [[nodiscard]] Result<Certificate> peer() const;

 private:
  using Ssl = Handle<ReleasedBy<SSL*, SSL_free>>;
  [[nodiscard]] State state_of(int result) const;

  Ssl ssl_;
};

}  // namespace railgauge::trust
