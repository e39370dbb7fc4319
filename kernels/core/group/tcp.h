// TCP beneath the group: addresses, listening and connecting with a deadline, frames on a socket.
// Deadlines are monotonic_now_ns() times in ns. Not thread safe.
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

// Returns this host's own name, or "" where the system has none.
std::string host_name();

// A host, by name or number, and a port.
struct TcpAddress {
  // Without brackets; "" means every local address.
  std::string host;
  std::uint16_t port = 0;
};

// Parses "[ADDR:]PORT" with a numeric ADDR: "7479", "10.0.0.1:7479", "[::1]:7479". With port 0 the
// system chooses. Errors: kInvalidArgument.
Result<TcpAddress> parse_listen_address(std::string_view text);
// Parses "HOST[:PORT]": "node2", "node2:7479", "10.0.0.1", "::1", "[::1]:7479". Errors:
// kInvalidArgument.
Result<TcpAddress> parse_connect_address(std::string_view text, std::uint16_t default_port);
// Formats an address: "10.0.0.1:7479", "[::1]:7479", "*:7479".
std::string to_string(const TcpAddress& address);

// Opens a non-blocking listening socket. Without a host it accepts IPv4 and, where available, IPv6.
// Errors: kInvalidArgument, kUnavailable (port taken), kPermissionDenied.
Result<Fd> tcp_listen(const TcpAddress& address);
// Return the socket's bound or connected address; "unknown" where the system does not report one.
TcpAddress local_address(const Fd& socket);
TcpAddress peer_address(const Fd& socket);
// A new connection.
struct Accepted {
  // Non-blocking; empty when no connection is pending.
  Fd socket;
  TcpAddress peer;
};
// Accepts a pending connection without waiting. kResourceExhausted when descriptors or memory run
// out.
Result<Accepted> tcp_accept(const Fd& listener);

// Connects to the host: tries each of its addresses, and repeats refused ones until the deadline.
// Errors: kInvalidArgument (unknown host), kUnavailable, kDeadlineExceeded.
Result<Fd> tcp_connect(const TcpAddress& address, double deadline_ns);

// Returns the milliseconds until the deadline for poll(), rounded up; 0 when the deadline has
// passed.
int poll_timeout_ms(double deadline_ns);

// Length-delimited messages on a connected, non-blocking socket. A closed connection is
// kUnavailable, "peer ADDR:PORT closed the connection".
class FrameStream {
 public:
  FrameStream(Fd socket, const TcpAddress& peer);

  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] const std::string& peer() const { return peer_; }

  // Sends the whole message; kDeadlineExceeded when the peer does not take it in time.
  Status send(const google::protobuf::MessageLite& message, double deadline_ns);
  // Returns a whole frame of at most `limit` bytes if one has arrived, without waiting. A longer
  // frame or garbage is kUnavailable: the stream is unreadable from there on.
  Result<std::optional<std::string>> poll_frame(std::size_t limit);
  // Waits for a whole frame; kDeadlineExceeded when none arrives in time.
  Result<std::string> read_frame(std::size_t limit, double deadline_ns);
  [[nodiscard]] tl::unexpected<Error> closed() const;

 private:
  Fd socket_;
  std::string peer_;
  FrameReader reader_;
};

}  // namespace railgauge
