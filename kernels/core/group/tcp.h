// TCP beneath the group: addresses, listening and connecting with a deadline, frames on a socket.
// Deadlines are `monotonic_now_ns` times in ns. Not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <google/protobuf/message_lite.h>

#include "kernels/core/base/fd.h"
#include "kernels/core/base/result.h"
#include "kernels/core/group/framing.h"

namespace railgauge {

// This host's own name; "" where the system has none.
std::string host_name();

// A host, by name or number, and a port.
struct TcpAddress {
  // Without brackets; empty means every local address.
  std::string host;
  std::uint16_t port = 0;
};

// "[ADDR:]PORT" with a numeric ADDR: "7479", "10.0.0.1:7479", "[::1]:7479". Port 0 lets the system
// choose. Errors: kInvalidArgument.
Result<TcpAddress> parse_listen_address(std::string_view text);
// "HOST[:PORT]": "node2", "node2:7479", "10.0.0.1", "::1", "[::1]:7479". Errors: kInvalidArgument.
Result<TcpAddress> parse_connect_address(std::string_view text, std::uint16_t default_port);
// "10.0.0.1:7479", "[::1]:7479", "*:7479".
std::string to_string(const TcpAddress& address);

// A non-blocking listening socket; without a host it takes IPv4 and, where there is one, IPv6.
// Errors: kInvalidArgument, kUnavailable (taken), kPermissionDenied.
Result<Fd> tcp_listen(const TcpAddress& address);
// The socket's bound or connected address; "unknown" where the system does not report it.
TcpAddress local_address(const Fd& socket);
TcpAddress peer_address(const Fd& socket);
// A new connection.
struct Accepted {
  // Non-blocking; empty when no connection waits.
  Fd socket;
  TcpAddress peer;
};
// Takes a waiting connection, without waiting itself. kResourceExhausted when descriptors or memory
// lack.
Result<Accepted> tcp_accept(const Fd& listener);

// Connects to the host, trying each of its addresses and again while it refuses, until the
// deadline. Errors: kInvalidArgument (unknown host), kUnavailable, kDeadlineExceeded.
Result<Fd> tcp_connect(const TcpAddress& address, double deadline_ns);

// Milliseconds until the deadline for poll(), rounded up; 0 when it has passed.
int poll_timeout_ms(double deadline_ns);

// Length-delimited messages on a connected, non-blocking socket. A peer that is gone is
// kUnavailable, "peer ADDR:PORT closed the connection".
class FrameStream {
 public:
  FrameStream(Fd socket, const TcpAddress& peer);

  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] const std::string& peer() const { return peer_; }

  // Sends all; kDeadlineExceeded when the peer does not take it in time.
  Status send(const google::protobuf::MessageLite& message, double deadline_ns);
  // A whole frame of at most `limit` bytes if one is there, without waiting. A longer one, or
  // garbage, is kUnavailable: nothing more can be read.
  Result<std::optional<std::string>> poll_frame(std::size_t limit);
  // Waits for it; kDeadlineExceeded.
  Result<std::string> read_frame(std::size_t limit, double deadline_ns);
  [[nodiscard]] tl::unexpected<Error> closed() const;

 private:
  Fd socket_;
  std::string peer_;
  FrameReader reader_;
};

}  // namespace railgauge
