// The connection between the two ranks of a net task: one or more TCP streams between their
// interfaces, which rank 0 opens to where rank 1 listens.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/core/base/fd.h"
#include "kernels/core/base/result.h"
#include "kernels/core/counters.h"
#include "kernels/core/group/group.h"
#include "kernels/core/kernel.h"
#include "kernels/net/netdev.h"
#include "kernels/net/peer.pb.h"
#include "kernels/net/pipe.h"

namespace railgauge::net {

// Options of every socket of a rank, from the task's parameters.
struct SocketForm {
  // Send and receive buffer of a socket in bytes; 0 leaves it to the kernel's tuning.
  std::uint64_t buffer_bytes = 0;
  // IP_TOS or IPV6_TCLASS: the DSCP times 4.
  int traffic_class = 0;
  // Name of the kernel's module, as "cubic"; "" takes the system's.
  std::string congestion_control;
};
// Reads socket_buffer, traffic_class and congestion_control.
SocketForm socket_form(const Params& params);

// The rank's own end before it knows its peer: its interface, and a socket that listens there.
class Port {
 public:
  // Chooses the interface by the context's endpoint and parameters, and listens. Errors as choose()
  // has them; kFailedPrecondition, kPermissionDenied where the address or port cannot be taken.
  static Result<Port> open(const Context& context);

  [[nodiscard]] const Chosen& chosen() const { return chosen_; }
  [[nodiscard]] const NetdevFacts& facts() const { return facts_; }
  [[nodiscard]] const SocketForm& form() const { return form_; }
  [[nodiscard]] std::uint16_t number() const { return number_; }
  [[nodiscard]] const Fd& listener() const { return listener_; }
  // Closes the listener; the kernel then refuses late callers.
  void stop_listening() { listener_.reset(); }
  // "192.0.2.1 (eth0)".
  [[nodiscard]] std::string words() const;

  // A socket from this address to the peer's, connected within the deadline. `by_netdev`: packets
  // leave by this interface whatever the routes are, where the system permits it; `was_bound` is
  // the result.
  Result<Fd> connect_to(const std::string& address, std::uint16_t number, double deadline_ns,
                        bool by_netdev, bool& was_bound) const;

 private:
  // Interface and address of this rank.
  Chosen chosen_;
  NetdevFacts facts_;
  SocketForm form_;
  // The port that the listener got.
  std::uint16_t number_ = 0;
  Fd listener_;
};

// TCP's own counts for the streams, added up.
struct StreamTotals {
  // Sent bytes that the other side's kernel has (tcpi_bytes_acked).
  std::uint64_t acknowledged_bytes = 0;
  // Bytes that arrived here (tcpi_bytes_received).
  std::uint64_t received_bytes = 0;
  // Segments that were sent again (tcpi_total_retrans).
  std::uint64_t retransmits = 0;
};

// The bound of one direction between two ends: the smaller of their known rates.
struct LineRate {
  double bits_per_second = 0;
  // The end whose rate it is: "192.0.2.1 (eth0)".
  std::string end{};
  // Why no rate is a bound; empty where one is.
  std::string waiver{};
};
// `driver` is the own netdev's.
LineRate line_rate_between(const NetAddress& mine, const NetAddress& peer, std::string_view driver);

// More than the wire can carry means that the time or the count is wrong: kDataLoss.
Status check_line_rate(const LineRate& rate, double bytes_per_second);

// Used by the task's thread; the pipes by one thread each.
class TcpLink {
 public:
  struct Options {
    // TCP connections between the two ranks.
    std::uint32_t streams = 1;
    // Receives poll without sleeping.
    bool spins = false;
  };
  // Everything that needs no peer. It stays where it is: streams point into it.
  static Result<std::unique_ptr<TcpLink>> open(const Context& context, const Options& options);
  // Both ranks return well or neither does.
  Status connect(const Context& context, Group& group);
  void report_facts(Reporter& reporter) const;

  [[nodiscard]] Limits& limits() { return limits_; }
  [[nodiscard]] std::vector<Pipe>& pipes() { return pipes_; }
  // kInternal where the kernel does not report it.
  [[nodiscard]] Result<StreamTotals> totals() const;
  // "192.0.2.1 (eth0)".
  [[nodiscard]] std::string words() const { return port_.words(); }
  // The bound of a figure of this link.
  [[nodiscard]] LineRate line_rate() const;
  // The interface's counters now.
  [[nodiscard]] Counters counters() const;
  // Whether the streams left the host.
  [[nodiscard]] bool is_on_wire() const { return mine_.host() != peer_.host(); }

 private:
  TcpLink() = default;
  // kInvalidArgument where a parameter differs that both ranks must share.
  Status check_peer(const Context& context) const;
  // Rank 0: connects every stream and sends its greeting.
  Status open_streams(double deadline_ns);
  // Rank 1: accepts until each stream has greeted, by the deadline.
  Status accept_streams(double deadline_ns);
  // Makes a pipe of a connected socket, with the words of its errors.
  Result<Pipe> adopt(Fd socket, std::size_t number);
  // A wait that the task's deadline cut short ended for that, whatever it waited for.
  [[nodiscard]] Error blamed(Error error) const;

  Options options_;
  Port port_;
  Limits limits_;
  // This side's address, and after connect() the peer's.
  NetAddress mine_;
  NetAddress peer_;
  std::uint32_t rank_ = 0;
  std::vector<Pipe> pipes_;  // after the limits, which they read
  // Whether packets leave by the chosen interface whatever the routes are.
  bool is_bound_ = false;
  // Callers without this task's token.
  std::uint64_t strangers_ = 0;
};

}  // namespace railgauge::net
