// The cost of a size at one end beside its time: the CPU of the working thread, and the port's
// counters of trouble and traffic. All of it is read outside timed regions.
#pragma once

#include <string>
#include <vector>

#include "kernels/core/base/result.h"
#include "kernels/core/counters.h"
#include "kernels/core/cpu_time.h"
#include "kernels/core/kernel.h"
#include "kernels/verbs/transport/device.h"
#include "kernels/verbs/transport/peer.pb.h"

namespace railgauge::verbs {

// One end's own; not thread safe, and CPU time is the calling thread's.
class AccountBook {
 public:
  // Reads the counters of the device's port; the device may go after it.
  void set_port(const Device& device);
  // A size begins.
  void open();
  // Around each stretch of work; `messages` is what it moved.
  void begin_work();
  void end_work(double messages);
  // The result of the size.
  Account close();
  // Trouble counters that grew since open(): words for a note about a failure, or "".
  [[nodiscard]] std::string troubles() const;
  // "port_counters": how many can be read here; that none grew says nothing where it is 0.
  void report_fact(Reporter& reporter) const;

 private:
  [[nodiscard]] Counters read() const;

  // "/sys/class/infiniband/DEV/ports/N".
  std::string sysfs_port_;
  Counters before_;
  double began_cpu_ns_ = 0;
  // The size that is open.
  Account account_;
};

// The counters in the units that their names then say: InfiniBand's port_xmit_data and
// port_rcv_data count words of four bytes. Pure.
Counters with_bytes(const Counters& counters);

// Added to a point's facts: this end's, and those of the peer, received through the group.
template <class Facts>
void add_troubles(const Account& account, const std::string& prefix, Facts& facts) {
  const Counters counters(account.counters().begin(), account.counters().end());
  if (!counters.empty()) facts[prefix + "port_counters_grown"] = counter_words(counters);
}

// The port's traffic from before the size's first message until after its last, by all users of the
// port. A counter that the driver lacks, or that did not change, is left out.
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

// Beside a latency, the costs of both ends; `closed` has an account of each rank.
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
// The same beside a bandwidth.
template <class Facts>
void add_bandwidth_accounts(const std::vector<PeerStatus>& closed, std::uint64_t message_bytes,
                            Facts& facts) {
  add_bandwidth_account(closed[0].accounts(0), message_bytes, "", facts);
  add_bandwidth_account(closed[1].accounts(0), message_bytes, "peer_", facts);
}

// A counter that grew while a task failed may be the reason.
void note_troubles(const AccountBook& book, const Device& device, const Status& ended,
                   Reporter& reporter);

}  // namespace railgauge::verbs
