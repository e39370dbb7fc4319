// The TCP connections that were handed over. A connection is known by its socket's cookie, and its
// first call proves that its peer is more than a flood.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "controller/listen/arrivals.h"
#include "controller/listen/sockets.h"

namespace railgauge {

// Thread safe. Times are seconds of one clock that never falls.
class HandedOver {
 public:
  // A handshake takes longer only with a peer that holds it up: it is ended then.
  static constexpr double kHandshakeSeconds = 10;
  // Connections in their handshake, some 60 KiB each. Above it the oldest of the biggest source is
  // closed. 10,000 agents that return at once are through faster than they come.
  static constexpr std::size_t kMostInHandshake = 1'024;
  // Connections of one certificate after their handshake. Above it the oldest is closed. An agent
  // has one; operators may share a certificate.
  static constexpr std::size_t kMostOfACertificate = 256;
  // A certificate keeps as many when descriptors are scarce.
  static constexpr std::size_t kFewOfACertificate = 16;
  // Seconds between two looks for connections that gRPC has closed.
  static constexpr double kSweepSeconds = 10;

  HandedOver() = default;
  explicit HandedOver(std::size_t most_of_a_certificate);

  // Enters a connection before it is handed over. `cookie`: controller/listen/sockets.h.
  // Returns the number of connections that were closed for it, 0 or 1.
  std::size_t add(int fd, std::uint64_t cookie, const sockaddr_storage& peer, double now);
  // The handshake of a connection has ended. Between the two shed() does not close it.
  // `certificate` is the same text for every connection with that certificate; "" without one. Ends
  // the certificate's oldest connection when it has too many.
  void begin_greeting(std::uint64_t cookie);
  void end_greeting(std::uint64_t cookie, const std::string& certificate, double now);
  // Notes a call of a connection without a certificate: it is not closed for others any more.
  void note_call(std::uint64_t cookie);
  // Ends a connection. False: it is not here, or is closed already.
  bool end(std::uint64_t cookie);
  // Closes the oldest connection of the biggest source among those in their handshake, else among
  // those without certificate and call, else of a certificate with more than kFewOfACertificate.
  // False: there is none.
  bool shed();
  // Moves connections out of their handshake and forgets those that were closed.
  void tick(double now);

  // Connections that note_call() closed since the start.
  [[nodiscard]] std::uint64_t ended_by_certificate() const;
  [[nodiscard]] std::size_t in_handshake() const;
  // Open connections, and those closed since the last look.
  [[nodiscard]] std::size_t size() const;

 private:
  struct Connection {
    int fd = -1;
    std::string source{};
  };
  // All with mutex_ held.
  bool end_one(std::uint64_t cookie);
  void forget(std::uint64_t cookie);
  void sweep();

  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, Connection> connections_;  // by cookie
  Arrivals in_handshake_{{.most = kMostInHandshake, .seconds = kHandshakeSeconds}};
  Arrivals silent_{{}};                                        // no certificate and no call
  Arrivals known_{{.most_of_a_source = kMostOfACertificate}};  // by certificate
  ConnectionEnder ender_;
  double next_sweep_ = 0;
  std::size_t sweep_at_ = kMostInHandshake * 4;
  std::uint64_t ended_by_certificate_ = 0;
};

}  // namespace railgauge
