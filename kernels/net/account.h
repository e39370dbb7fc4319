// The cost of a size at one end beside its time: CPU of the working threads, segments that TCP sent
// again, and the interface's counters of trouble and of traffic.
#pragma once

#include <string>

#include "kernels/core/cpu_time.h"
#include "kernels/net/tcp_link.h"

namespace railgauge::net {

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
