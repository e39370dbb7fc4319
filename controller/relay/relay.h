// The way of every TCP connection to gRPC. TLS ends here and HTTP/2 frames are looked at here,
// since gRPC 1.51 has no bound of its own for a client that breaks the rules; gRPC gets one end of
// a socket pair, whose name identifies the connection.
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "controller/listen/once_a_minute.h"
#include "controller/relay/allowance.h"
#include "controller/relay/passage.h"
#include "controller/trust/certificate.h"
#include "controller/trust/tls_channel.h"
#include "kernels/core/base/fd.h"
#include "kernels/core/base/result.h"

namespace railgauge::relay {

// A connection that gRPC has, as callers need it.
struct Visitor {
  std::uint64_t connection = 0;                     // TcpListener's number of it
  std::string address{};                            // "ipv4:192.0.2.1:7"
  std::optional<trust::Certificate> certificate{};  // absent: plain HTTP/2
};

// Thread safe. Threads of its own do the work: kGreeters make handshakes, so that a flood of them
// does not delay those who are through; kLoops move bytes.
class Relay {
 public:
  static constexpr std::uint32_t kGreeters = 2;
  static constexpr std::uint32_t kLoops = 2;
  // Seconds for the last bytes of gRPC at the end.
  static constexpr double kFlushSeconds = 0.3;

  struct Options {
    // The server's side of TLS for the next handshake; an empty function: plain HTTP/2.
    std::function<std::shared_ptr<const trust::TlsServer>()> tls;
    // Makes a connected pair of non-blocking sockets for a connection, within the process's budget.
    // `party` names its certificate; "" without one.
    std::function<Result<std::pair<Fd, Fd>>(std::uint64_t connection, const std::string& party)>
        make_pair;
    // Gives gRPC its end. The name is what grpc::ServerContext::peer() returns for its calls, and
    // is never used again.
    std::function<void(const std::string& name, Visitor visitor, Fd theirs)> introduce;
    // The connection of that name has ended.
    std::function<void(const std::string& name)> leave;
  };
  // Connections since the start.
  struct Counts {
    std::uint64_t open = 0;    // now, with gRPC
    std::uint64_t broken = 0;  // ended for frames beyond a bound
    std::uint64_t paused = 0;  // times that a client waited for its allowance
    std::uint64_t failed = 0;  // no handshake or preface
  };

  // kResourceExhausted: no descriptor is left.
  static Result<std::unique_ptr<Relay>> start(Options options);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // Takes a connection. std::bad_alloc: no memory; the connection is closed.
  void take(Fd outer, std::uint64_t connection, const sockaddr_storage& peer);
  // Introduces nobody any more, from now on.
  void close();
  // Passes the last bytes of connections that gRPC has ended, then closes all. Idempotent.
  void stop();

  [[nodiscard]] Counts counts() const;

 private:
  struct Connection;
  class Loop;

  explicit Relay(Options options);
  // On a loop's thread.
  void identify(Connection& connection);
  bool introduce(Connection& connection);
  void ended(const Connection& connection);
  void note(const Connection& connection, std::string_view event);
  std::shared_ptr<Allowance> allowance_of(const std::string& peer, double now);

  const Options options_;
  std::mutex introducing_;  // held while gRPC gets a connection
  bool closed_ = false;     // with introducing_ held
  std::mutex mutex_;        // guards allowances_
  // By certificate or address. One that is in debt outlives its connections.
  std::unordered_map<std::string, std::shared_ptr<Allowance>> allowances_;
  std::size_t sweep_at_ = 1'024;
  OnceAMinute line_;
  std::atomic<std::uint64_t> open_ = 0;
  std::atomic<std::uint64_t> broken_ = 0;
  std::atomic<std::uint64_t> paused_ = 0;
  std::atomic<std::uint64_t> failed_ = 0;
  std::atomic<std::uint32_t> next_loop_ = 0;
  std::atomic<std::uint32_t> next_greeter_ = 0;
  std::vector<std::unique_ptr<Loop>> loops_;  // greeters first; last: use all above
};

}  // namespace railgauge::relay
