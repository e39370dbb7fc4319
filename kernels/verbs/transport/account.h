// The cost of a size at one end beside its time: CPU of the working thread, and the port's trouble
// and traffic counters. All are read outside timed regions.
#pragma once

#include <string>
#include <vector>

#include "kernels/core/base/result.h"
#include "kernels/core/counters.h"
#include "kernels/core/cpu/thread_cpu.h"
#include "kernels/core/kernel.h"
#include "kernels/verbs/transport/device.h"
#include "kernels/verbs/transport/peer.pb.h"

namespace railgauge::verbs {

// For one end. Not thread safe; CPU time is the calling thread's.
class AccountBook {
 public:
  // Selects the device's port; the device need not outlive the call.
  void set_port(const Device& device);
  // Opens the account of a size.
  void open();
  // Enclose each stretch of work; `messages` is the number that it moved.
  void begin_work();
  void end_work(double messages);
  // Closes the size and returns its account.
  Account close();
  // Returns the trouble counters that grew since open(), in words for a failure note, or "".
  [[nodiscard]] std::string troubles() const;
  // Reports the fact port_counters: the number of readable counters. With 0, absent growth means
  // nothing.
  void report_fact(Reporter& reporter) const;

 private:
  [[nodiscard]] Counters read() const;

  // "/sys/class/infiniband/DEV/ports/N".
  std::string sysfs_port_;
  Counters before_;
  double began_cpu_ns_ = 0;
  // The account of the open size.
  Account account_;
};

// Converts counters to the bytes that their names imply: InfiniBand's port_xmit_data and
// port_rcv_data count words of four bytes. Pure.
Counters with_bytes(const Counters& counters);

// Adds grown trouble counters to a point's facts: this end's, or the peer's from the group.
template <class Facts>
void add_troubles(const Account& account, const std::string& prefix, Facts& facts) {
  const Counters counters(account.counters().begin(), account.counters().end());
  if (!counters.empty()) facts[prefix + "port_counters_grown"] = counter_words(counters);
}

// Adds the port's traffic, of all its users, from before the size's first message until after its
// last. Counters that the driver lacks, or that did not change, are omitted.
template <class Facts>
void add_traffic(const Account& account, const std::string& prefix, Facts& facts) {
  const Counters traffic(account.traffic().begin(), account.traffic().end());
  if (!traffic.empty()) facts[prefix + "port_traffic"] = counter_words(traffic, kMaxTrafficTold);
}

template <class Facts>
void add_port_counters(const Account& account, const std::string& prefix, Facts& facts) {
  add_troubles(account, prefix, facts);
  add_traffic(account, prefix, facts);
}

template <class Facts>
void add_latency_account(const Account& account, const std::string& prefix, Facts& facts) {
  add_latency_cost({account.cpu_ns(), account.messages()}, prefix, facts);
  add_port_counters(account, prefix, facts);
}

// Adds the costs of both ends to a latency's facts; `closed` has an account of each rank.
template <class Facts>
void add_latency_accounts(const std::vector<PeerStatus>& closed, Facts& facts) {
  add_latency_account(closed[0].accounts(0), "", facts);
  add_latency_account(closed[1].accounts(0), "peer_", facts);
}
template <class Facts>
void add_bandwidth_account(const Account& account, std::uint64_t message_bytes,
                           const std::string& prefix, Facts& facts) {
  add_bandwidth_cost({account.cpu_ns(), account.messages()}, static_cast<double>(message_bytes),
                     prefix, facts);
  add_port_counters(account, prefix, facts);
}
// Adds the costs of both ends to a bandwidth's facts.
template <class Facts>
void add_bandwidth_accounts(const std::vector<PeerStatus>& closed, std::uint64_t message_bytes,
                            Facts& facts) {
  add_bandwidth_account(closed[0].accounts(0), message_bytes, "", facts);
  add_bandwidth_account(closed[1].accounts(0), message_bytes, "peer_", facts);
}

// Notes the counters that grew while a task failed: one may be the cause.
void note_troubles(const AccountBook& book, const Device& device, const Status& ended,
                   Reporter& reporter);

}  // namespace railgauge::verbs
