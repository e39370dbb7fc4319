#include "kernels/verbs/transport/account.h"

#include <array>

#include <fmt/format.h>

namespace railgauge::verbs {

void AccountBook::set_port(const Device& device) { sysfs_port_ = device.sysfs_port(); }

// Both folders, because vendors place the trouble counters in either.
Counters AccountBook::read() const {
  const std::array folders{sysfs_port_ + "/counters", sysfs_port_ + "/hw_counters"};
  return read_counters(folders);
}

// The counters of the port before the size's first message.
void AccountBook::open() {
  account_.Clear();
  before_ = read();
}

void AccountBook::begin_work() { began_cpu_ns_ = thread_cpu_ns(); }

// Stretches add up: a size is sampled in several batches.
void AccountBook::end_work(double messages) {
  account_.set_cpu_ns(account_.cpu_ns() + thread_cpu_ns() - began_cpu_ns_);
  account_.set_messages(account_.messages() + messages);
}

// Moves the account out; open() starts the next one.
Account AccountBook::close() {
  const Counters after = read();
  for (const auto& [name, grown] : grown_troubles(before_, after))
    (*account_.mutable_counters())[name] = grown;
  for (const auto& [name, grown] : with_bytes(grown_traffic(before_, after)))
    (*account_.mutable_traffic())[name] = grown;
  return std::move(account_);
}

// The InfiniBand specification (PortXmitData, PortRcvData) counts octets divided by 4.
Counters with_bytes(const Counters& counters) {
  constexpr std::uint64_t kWordBytes = 4;
  Counters told;
  for (const auto& [name, count] : counters) {
    const bool is_words = name == "port_xmit_data" || name == "port_rcv_data";
    told[is_words ? name + "_bytes" : name] = is_words ? kWordBytes * count : count;
  }
  return told;
}

std::string AccountBook::troubles() const { return counter_words(grown_troubles(before_, read())); }

void AccountBook::report_fact(Reporter& reporter) const {
  reporter.fact("port_counters", fmt::format("{} readable", read().size()));
}

// Silent after a success: grown counters are then facts of the points.
void note_troubles(const AccountBook& book, const Device& device, const Status& ended,
                   Reporter& reporter) {
  if (ended) return;
  const std::string words = book.troubles();
  if (!words.empty())
    reporter.note("warning",
                  fmt::format("{}: port counters grew meanwhile: {}", device.endpoint(), words));
}

}  // namespace railgauge::verbs
