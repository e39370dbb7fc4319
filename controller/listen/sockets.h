// Small facts about TCP sockets, for the listener and for the connections that gRPC has.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "controller/listen/host_port.h"
#include "kernels/core/base/fd.h"
#include "kernels/core/base/result.h"

namespace railgauge {

// Binds and listens at every address of the host. 0.0.0.0 and [::] both take IPv4 and IPv6 where
// the kernel has both. Port 0 is any free port, the same for every address. No other process can
// share the port (no SO_REUSEPORT). `flag` is for the messages. kAlreadyExists: the port is taken.
// kInvalidArgument: no such host, or its address is not this machine's. kPermissionDenied,
// kResourceExhausted: the kernel's refusal.
Result<std::vector<Fd>> listen_on(std::string_view flag, const HostPort& address);
// The port that the socket is bound to.
int bound_port(const Fd& socket);

// The number that the kernel gives a socket and never again (SO_COOKIE). It finds a socket that
// gRPC has closed and whose descriptor is of another one now. 0: no socket.
std::uint64_t cookie_of(int fd);
// Ends connections whose descriptors another owner may close at any time. Not thread safe.
class ConnectionEnder {
 public:
  ConnectionEnder();
  // Ends the connection of the socket with this cookie, if `fd` still is that socket; its owner
  // then closes it. Reports whether it was. Safe while another thread closes `fd`.
  bool end(int fd, std::uint64_t cookie);

 private:
  Fd nothing_;
  Fd slot_;
};

// The address of a peer as gRPC writes addresses: "ipv4:192.0.2.1:7", "ipv6:%5B2001:db8::1%5D:7".
std::string peer_uri(const sockaddr_storage& peer);
// The part of the address that one party has as a rule: all of IPv4, 64 bits of IPv6.
std::string source_of(const sockaddr_storage& peer);

}  // namespace railgauge
