// What a size cost one end beside its time: CPU of the threads that did the work, segments that TCP
// sent again, and the interface's counters that tell of trouble.
#pragma once

#include <string>

#include "kernels/core/cpu_time.h"
#include "kernels/net/tcp_link.h"

namespace railgauge::net {

class AccountBook {
 public:
  explicit AccountBook(const TcpLink& link) : link_(link) {}
  // A size begins.
  Status open() {
    counters_ = link_.counters();
    retransmits_ = RG_TRY(link_.totals()).retransmits;
    return {};
  }
  // What it came to; `cpu_ns` and `messages` are the caller's.
  Result<Account> close(double cpu_ns, double messages) const {
    Account account;
    account.set_cpu_ns(cpu_ns);
    account.set_messages(messages);
    account.set_retransmits(RG_TRY(link_.totals()).retransmits - retransmits_);
    for (const auto& [name, grown] : grown_troubles(counters_, link_.counters()))
      (*account.mutable_counters())[name] = grown;
    return account;
  }

 private:
  const TcpLink& link_;
  Counters counters_;
  std::uint64_t retransmits_ = 0;
};

// Into a point's facts; `prefix` says whose: "" or "peer_".
template <class Facts>
void add_troubles(const Account& account, const std::string& prefix, Facts& facts) {
  facts[prefix + "tcp_retransmits"] = std::to_string(account.retransmits());
  const Counters counters(account.counters().begin(), account.counters().end());
  if (!counters.empty()) facts[prefix + "netdev_counters_grown"] = counter_words(counters);
}

}  // namespace railgauge::net
