// The connection between the two ranks of a net task: one or more TCP streams between their
// interfaces, opened by rank 0 to the listener of rank 1. Also the cost at one end beside the time:
// CPU of the working threads, retransmitted segments, the interface's counters.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/core/base/fd.h"
#include "kernels/core/base/result.h"
#include "kernels/core/counters.h"
#include "kernels/core/cpu/thread_cpu.h"
#include "kernels/core/group/group.h"
#include "kernels/core/info_builder.h"
#include "kernels/core/kernel.h"
#include "kernels/net/device/netdev_facts.h"
#include "kernels/net/netdev.h"
#include "kernels/net/peer.pb.h"
#include "kernels/net/pipe.h"

namespace railgauge::net {

// Declares the parameters of a connection: netdev, address, port, socket_buffer, traffic_class,
// congestion_control, stall_timeout.
void add_connection(InfoBuilder& builder);

// TCP's own counts, summed over the streams.
struct StreamTotals {
  // Sent bytes that the peer's kernel acknowledged (tcpi_bytes_acked).
  std::uint64_t acknowledged_bytes = 0;
  // Bytes that arrived here (tcpi_bytes_received).
  std::uint64_t received_bytes = 0;
  // Retransmitted segments (tcpi_total_retrans).
  std::uint64_t retransmits = 0;
};

// The bound of one direction between two ends: the smaller of both known rates.
struct LineRate {
  double bits_per_second = 0;
  // The end with this rate: "192.0.2.1 (eth0)".
  std::string end{};
  // The reason why no rate is a bound, or "" when one is.
  std::string waiver{};
};
// Returns the bound; `driver` is this rank's netdev's.
LineRate line_rate_between(const NetAddress& mine, const NetAddress& peer, std::string_view driver);

// Returns kDataLoss above the line rate: the time or the count is wrong.
Status check_line_rate(const LineRate& rate, double bytes_per_second);

// For the task's thread; each pipe for one thread.
class TcpLink {
 public:
  struct Options {
    // TCP connections between the two ranks.
    std::uint32_t streams = 1;
    // Receives poll without sleeping.
    bool spins = false;
  };
  // Chooses the interface by the context's endpoint and parameters, and listens there. Never moves:
  // streams point into the link. Errors as choose(); kFailedPrecondition or kPermissionDenied when
  // the address or port cannot be taken.
  static Result<std::unique_ptr<TcpLink>> open(const Context& context, const Options& options);
  // Connects the streams. Succeeds on both ranks or on neither.
  Status connect(const Context& context, Group& group);
  void report_facts(Reporter& reporter) const;

  [[nodiscard]] Limits& limits() { return limits_; }
  [[nodiscard]] std::vector<Pipe>& pipes() { return pipes_; }
  // Returns TCP's counts; kInternal when the kernel does not report them.
  [[nodiscard]] Result<StreamTotals> totals() const;
  // Returns those of one stream. Waits for the socket's lock: a thread that is busy on the socket
  // leaves it for moments alone, so that another one may wait for tenths of a second.
  [[nodiscard]] Result<StreamTotals> totals_of(std::size_t stream) const;
  [[nodiscard]] const std::string& netdev() const { return chosen_.address.netdev; }
  // Returns this end in words: "192.0.2.1 (eth0)".
  [[nodiscard]] std::string words() const {
    return chosen_.address.text + " (" + chosen_.address.netdev + ")";
  }
  // Returns the bound of this link's figures.
  [[nodiscard]] LineRate line_rate() const;
  // Reads the interface's counters.
  [[nodiscard]] Counters counters() const;
  // Reports whether the streams leave the host.
  [[nodiscard]] bool is_on_wire() const { return mine_.host() != peer_.host(); }

 private:
  // Options of every socket of a rank, from the task's parameters.
  struct SocketForm {
    // Send and receive buffer of a socket in bytes; 0 keeps the kernel's own tuning.
    std::uint64_t buffer_bytes = 0;
    // IP_TOS or IPV6_TCLASS: the DSCP times 4.
    int traffic_class = 0;
    // Name of the kernel's module, such as "cubic"; "" keeps the system's default.
    std::string congestion_control;
  };

  TcpLink() = default;
  Status listen(const Params& params);
  // Makes a non-blocking socket with the options, which must be set before it connects.
  [[nodiscard]] Result<Fd> make_socket(bool is_ipv6) const;
  // Connects a socket from this address to the peer's by the deadline.
  Result<Fd> connect_to_peer(double deadline_ns);
  // Returns kInvalidArgument when a parameter differs that both ranks must share.
  Status check_peer(const Context& context) const;
  // Rank 0: connects every stream and sends its greeting.
  Status open_streams(double deadline_ns);
  // Rank 1: accepts until each stream has greeted, by the deadline.
  Status accept_streams(double deadline_ns);
  // Makes a pipe from a connected socket, with the words for its errors.
  Result<Pipe> adopt(Fd socket, std::size_t number);
  // Returns `error`, or the task's deadline when it cut the wait short.
  [[nodiscard]] Error blamed(Error error) const;

  Options options_;
  // Interface and address of this rank.
  Chosen chosen_;
  NetdevFacts facts_;
  SocketForm form_;
  std::uint16_t number_ = 0;  // of the listener's port
  Fd listener_;
  Limits limits_;
  // This side's address, and the peer's after connect().
  NetAddress mine_;
  NetAddress peer_;
  std::uint32_t rank_ = 0;
  std::vector<Pipe> pipes_;  // after the limits, which they read
  // True when packets leave by the chosen interface whatever the routes are.
  bool is_bound_ = false;
  // Number of callers without this task's token.
  std::uint64_t strangers_ = 0;
};

// The account of one size on one rank. The link outlives it.
class AccountBook {
 public:
  explicit AccountBook(const TcpLink& link) : link_(link) {}
  // Starts counting. Fails when the kernel's TCP_INFO has no byte counts.
  Status open() {
    counters_ = link_.counters();
    retransmits_ = RG_TRY(link_.totals()).retransmits;
    return {};
  }
  // Returns the account; the caller supplies `cpu_ns` and `messages`.
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

// Adds the counts to a point's facts; `prefix` names the end: "" or "peer_".
template <class Facts>
void add_counters(const Account& account, const std::string& prefix, Facts& facts) {
  facts[prefix + "tcp_retransmits"] = std::to_string(account.retransmits());
  const Counters counters(account.counters().begin(), account.counters().end());
  if (!counters.empty()) facts[prefix + "netdev_counters_grown"] = counter_words(counters);
  const Counters traffic(account.traffic().begin(), account.traffic().end());
  if (!traffic.empty()) facts[prefix + "netdev_traffic"] = counter_words(traffic, kMaxTrafficTold);
}

}  // namespace railgauge::net
