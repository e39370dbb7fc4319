// The TCP port: an accept loop of our own, since gRPC gives its listener up for good when no
// descriptor is left. A connection waits here for its first bytes and is then handed to gRPC.
#pragma once

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "controller/listen/arrivals.h"
#include "controller/listen/descriptors.h"
#include "controller/listen/first_bytes.h"
#include "controller/listen/handed_over.h"
#include "controller/listen/host_port.h"
#include "controller/listen/once_a_minute.h"
#include "kernels/core/base/fd.h"
#include "kernels/core/base/result.h"

namespace railgauge {

// Create, start and stop it on one thread; the other functions are thread safe.
class TcpListener {
 public:
  // Connections that wait for their first bytes. Above a bound the oldest one of the biggest source
  // is closed; a connection is closed after kWaitSeconds.
  static constexpr std::size_t kMostWaiting = 1'024;
  static constexpr std::size_t kMostWaitingOfASource = 64;
  static constexpr double kWaitSeconds = 10;
  // Seconds without a turn of the loop, or without an accepted connection while all are refused,
  // after which trouble() reports it.
  static constexpr double kTroubleSeconds = 5;
  // Seconds after the last refusal until it is history, though nobody came since.
  static constexpr double kRefusedSeconds = 30;

  enum class Protocol { kTls, kPlain };  // the first bytes: a ClientHello, or HTTP/2's preface
  // Takes a connection with the number that identifies it for good.
  using HandOver =
      std::function<void(Fd connection, std::uint64_t id, const sockaddr_storage& peer)>;

  // Connections since the start, by result.
  struct Counts {
    std::uint64_t accepted = 0;   // handed over
    std::uint64_t shed = 0;       // closed for a newer one
    std::uint64_t timed_out = 0;  // no whole first bytes in time
    std::uint64_t refused = 0;    // no descriptor left, or of another protocol
    std::uint64_t left = 0;       // closed by the peer before
    std::uint64_t waiting = 0;    // now, for their first bytes
    std::uint64_t unproven = 0;   // now, handed over within 10 s and without a call so far
  };

  // Binds and listens; `flag` is for the messages. Errors: listen_on().
  static Result<std::unique_ptr<TcpListener>> open(std::string_view flag, const HostPort& address,
                                                   Protocol protocol);
  ~TcpListener();

  // Begins to accept. `hand_over` is called on the loop's thread.
  void start(HandOver hand_over);
  // Closes the port and every connection that waits. Idempotent.
  void stop();

  // Notes a call of a connection without a certificate. HandedOver::note_call().
  void note_call(std::uint64_t id) { handed_over_.note_call(id); }
  // Closes a connection that was handed over.
  void end(std::uint64_t id);
  // Makes a pair of connected, non-blocking sockets for a connection whose handshake has ended. It
  // gets descriptors as a TCP connection does: old connections without a call are closed for it.
  // `certificate`: HandedOver::end_greeting(). kResourceExhausted: none is left for TCP.
  Result<std::pair<Fd, Fd>> make_pair(std::uint64_t id, const std::string& certificate);

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] Counts counts() const;
  // Reports in one line why no connection comes through; "" while they do.
  [[nodiscard]] std::string trouble() const;

 private:
  struct Waiting {
    Fd fd;
    sockaddr_storage peer{};
  };
  TcpListener(std::vector<Fd> listeners, Fd epoll, Fd wake, Protocol protocol);
  void loop();
  void accept_some(const Fd& listener);
  bool recover(const Fd& listener, int error);
  void admit(Fd connection, const sockaddr_storage& peer);
  void look(std::uint64_t id, bool is_hung_up);
  void hand_over(std::uint64_t id);
  bool make_room();
  void close_waiting(std::uint64_t id, std::atomic<std::uint64_t>& count);
  void expire();
  void pause(int milliseconds) const;
  void note_trouble(std::string_view example);
  void refuse(const sockaddr_storage& peer);
  void count_refusal();
  [[nodiscard]] int wait_milliseconds() const;

  const std::vector<Fd> listeners_;
  const Fd epoll_;
  const Fd wake_;  // eventfd that stop() writes to
  Fd spare_;       // given up for a moment when no descriptor is left
  const Protocol protocol_;
  const DescriptorBudget budget_;
  const int port_;
  HandOver hand_over_;
  std::thread thread_;

  // On the loop's thread only.
  Arrivals arrivals_{
      {.most = kMostWaiting, .most_of_a_source = kMostWaitingOfASource, .seconds = kWaitSeconds}};
  std::unordered_map<std::uint64_t, Waiting> waiting_;  // by cookie
  std::array<std::uint8_t, kMostFirstBytes> bytes_{};
  OnceAMinute line_;

  HandedOver handed_over_;
  std::atomic<std::uint64_t> accepted_ = 0;
  std::atomic<std::uint64_t> shed_ = 0;
  std::atomic<std::uint64_t> timed_out_ = 0;
  std::atomic<std::uint64_t> refused_ = 0;
  std::atomic<std::uint64_t> left_ = 0;
  std::atomic<std::uint64_t> now_waiting_ = 0;
  std::atomic<double> turn_at_ = 0;
  std::atomic<int> accept_error_ = 0;  // errno of the last accept that nothing excuses; 0: none
  // For want of descriptors. 0: a connection got one since.
  std::atomic<double> refusing_since_ = 0;
  std::atomic<double> refused_at_ = 0;  // the last one
  std::atomic<bool> refuses_pairs_ =
      false;  // the last pair was refused, so a connection is no proof
};

}  // namespace railgauge
