// The connection between the two ranks of a net task: one or more TCP streams between their
// interfaces, which rank 0 opens to where rank 1 listens; and what it costs at one end beside its
// time: CPU of the working threads, segments that TCP sent again, the interface's counters.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/core/base/fd.h"
#include "kernels/core/base/result.h"
#include "kernels/core/counters.h"
#include "kernels/core/cpu_time.h"
#include "kernels/core/group/group.h"
#include "kernels/core/info_builder.h"
#include "kernels/core/kernel.h"
#include "kernels/net/netdev.h"
#include "kernels/net/peer.pb.h"
#include "kernels/net/pipe.h"

namespace railgauge::net {

// Declares the parameters of a connection: netdev, address, port, socket_buffer, traffic_class,
// congestion_control, stall_timeout.
void add_connection(InfoBuilder& builder);

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
  // Chooses the interface by the context's endpoint and parameters, and listens there. It stays
  // where it is: streams point into it. Errors as choose() has them; kFailedPrecondition,
  // kPermissionDenied where the address or port cannot be taken.
  static Result<std::unique_ptr<TcpLink>> open(const Context& context, const Options& options);
  // Both ranks return well or neither does.
  Status connect(const Context& context, Group& group);
  void report_facts(Reporter& reporter) const;

  [[nodiscard]] Limits& limits() { return limits_; }
  [[nodiscard]] std::vector<Pipe>& pipes() { return pipes_; }
  // kInternal where the kernel does not report it.
  [[nodiscard]] Result<StreamTotals> totals() const;
  // "192.0.2.1 (eth0)".
  [[nodiscard]] std::string words() const {
    return chosen_.address.text + " (" + chosen_.address.netdev + ")";
  }
  // The bound of a figure of this link.
  [[nodiscard]] LineRate line_rate() const;
  // The interface's counters now.
  [[nodiscard]] Counters counters() const;
  // Whether the streams left the host.
  [[nodiscard]] bool is_on_wire() const { return mine_.host() != peer_.host(); }

 private:
  // Options of every socket of a rank, from the task's parameters.
  struct SocketForm {
    // Send and receive buffer of a socket in bytes; 0 leaves it to the kernel's tuning.
    std::uint64_t buffer_bytes = 0;
    // IP_TOS or IPV6_TCLASS: the DSCP times 4.
    int traffic_class = 0;
    // Name of the kernel's module, as "cubic"; "" takes the system's.
    std::string congestion_control;
  };

  TcpLink() = default;
  Status listen(const Params& params);
  // A socket with the options, which are set before it connects. It never blocks.
  [[nodiscard]] Result<Fd> make_socket(bool is_ipv6) const;
  // A socket from this address to the peer's, connected within the deadline.
  Result<Fd> connect_to_peer(double deadline_ns);
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
  // Interface and address of this rank.
  Chosen chosen_;
  NetdevFacts facts_;
  SocketForm form_;
  std::uint16_t number_ = 0;  // of the port that the listener got
  Fd listener_;
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

// One size of one rank. The link outlives it.
class AccountBook {
 public:
  explicit AccountBook(const TcpLink& link) : link_(link) {}
  // Counts grow from here on. Fails where the kernel has no TCP_INFO byte counts.
  Status open() {
    counters_ = link_.counters();
    retransmits_ = RG_TRY(link_.totals()).retransmits;
    return {};
  }
  // The result; `cpu_ns` and `messages` are the caller's.
  Result<Account> close(double cpu_ns, double messages) const {
    Account account;
    account.set_cpu_ns(cpu_ns);
    account.set_messages(messages);
    account.set_retransmits(RG_TRY(link_.totals()).retransmits - retransmits_);
    const Counters after = link_.counters();
    for (const auto& [name, grown] : grown_troubles(counters_, after))
      (*account.mutable_counters())[name] = grown;
    for (const auto& [name, grown] : grown_traffic(counters_, after))
      (*account.mutable_traffic())[name] = grown;
    return account;
  }

 private:
  const TcpLink& link_;
  Counters counters_;
  std::uint64_t retransmits_ = 0;
};

// Into a point's facts; `prefix` says whose: "" or "peer_".
template <class Facts>
void add_counters(const Account& account, const std::string& prefix, Facts& facts) {
  facts[prefix + "tcp_retransmits"] = std::to_string(account.retransmits());
  const Counters counters(account.counters().begin(), account.counters().end());
  if (!counters.empty()) facts[prefix + "netdev_counters_grown"] = counter_words(counters);
  const Counters traffic(account.traffic().begin(), account.traffic().end());
  if (!traffic.empty()) facts[prefix + "netdev_traffic"] = counter_words(traffic, kMaxTrafficTold);
}

}  // namespace railgauge::net
