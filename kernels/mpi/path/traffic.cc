// Counters of ports and interfaces, and the verdict on what carried a task's messages.
#include "kernels/mpi/path/traffic.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/net/device/netdev_facts.h"
#include "kernels/net/device/port_rate.h"

namespace railgauge::mpi {
namespace {

namespace fs = std::filesystem;

// An RDMA port counts words of 4 bytes (InfiniBand Architecture, PortCounters: PortXmitData).
constexpr double kPortWordBytes = 4;
// Shares above which a device carries the messages. Below one, since collectives may move less
// between hosts than the ranks receive: in an all-gather of two hosts half of it.
constexpr double kLeastByteShare = 0.4;
constexpr double kLeastPacketShare = 0.5;
// Share of its kind's packets from which a port is in use.
constexpr double kLeastPortShare = 0.001;

// 0 where the file is absent or holds no number.
double count_in(const std::string& file) {
  double value = 0;
  if (!file.empty()) std::ifstream(file) >> value;
  return value;
}

// The entries of a folder; none where it cannot be read.
std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    found.push_back(at->path());
  std::ranges::sort(found);
  return found;
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::string first_word(const fs::path& file) {
  std::string word;
  std::ifstream(file) >> word;
  return word;
}

double netdev_rate(const std::string& sysfs, const std::string& netdev) {
  const net::NetdevFacts facts = net::netdev_facts(netdev, sysfs);
  return facts.is_rate_physical ? facts.rate_bits_per_second / 8 : 0;
}

double growth(double before, double after) { return std::max(0.0, after - before); }
Sent growth(const Sent& before, const Sent& after) {
  return {growth(before.bytes, after.bytes), growth(before.packets, after.packets)};
}
Sent plus(const Sent& one, const Sent& other) {
  return {one.bytes + other.bytes, one.packets + other.packets};
}

}  // namespace

Wire plus(const Wire& one, const Wire& other) {
  return {one.ports + other.ports, one.without_rate + other.without_rate,
          one.bytes_per_second + other.bytes_per_second};
}

Traffic grown(const Traffic& before, const Traffic& after) {
  return {.rdma = growth(before.rdma, after.rdma),
          .soft_rdma_packets = growth(before.soft_rdma_packets, after.soft_rdma_packets),
          .netdev = growth(before.netdev, after.netdev),
          .under_soft_rdma = growth(before.under_soft_rdma, after.under_soft_rdma),
          .loopback = growth(before.loopback, after.loopback),
          .rdma_ports = after.rdma_ports};
}

// A port with a byte counter is hardware's; one with a packet counter alone is soft-RoCE's. An
// adapter of another kind (EFA) has bytes among its hw_counters.
TrafficReader::TrafficReader(const std::string& sysfs) {
  std::set<std::string> beneath;
  for (const fs::path& device : entries(fs::path(sysfs) / "class/infiniband"))
    for (const fs::path& port : entries(device / "ports")) {
      const fs::path standard = port / "counters/port_xmit_data";
      const fs::path own = port / "hw_counters";
      if (is_there(own / "sent_pkts") && !is_there(standard)) {
        soft_rdma_.push_back({.packets = own / "sent_pkts"});
        beneath.insert(first_word(port / "gid_attrs/ndevs/0"));
      } else if (is_there(own / "tx_bytes") && !is_there(standard)) {
        rdma_.push_back({.bytes = own / "tx_bytes",
                         .packets = own / "tx_pkts",
                         .bytes_per_second = net::port_rate(device, port)});
      } else {
        rdma_.push_back({.bytes = standard,
                         .packets = port / "counters/port_xmit_packets",
                         .unit = kPortWordBytes,
                         .bytes_per_second = net::port_rate(device, port)});
      }
    }
  for (const fs::path& netdev : entries(fs::path(sysfs) / "class/net")) {
    const std::string name = netdev.filename();
    const Source source{.bytes = netdev / "statistics/tx_bytes",
                        .packets = netdev / "statistics/tx_packets",
                        .bytes_per_second = netdev_rate(sysfs, name)};
    if (name == "lo")
      loopback_.push_back(source);
    else if (beneath.contains(name))
      under_soft_rdma_.push_back(source);
    else if (is_there(netdev / "device"))
      netdevs_.push_back(source);
    else
      virtual_netdevs_.push_back(source);
  }
}

Sent TrafficReader::sum(std::span<const Source> sources) {
  Sent total;
  for (const Source& source : sources)
    total = plus(total, {count_in(source.bytes) * source.unit, count_in(source.packets)});
  return total;
}

Traffic TrafficReader::read() const {
  Traffic now{.rdma = sum(rdma_),
              .soft_rdma_packets = sum(soft_rdma_).packets,
              .netdev = sum(netdevs_),
              .under_soft_rdma = sum(under_soft_rdma_),
              .loopback = sum(loopback_),
              .rdma_ports = static_cast<double>(rdma_.size() + soft_rdma_.size())};
  if (!netdevs_.empty() || !under_soft_rdma_.empty()) return now;
  for (const Source& source : virtual_netdevs_)
    if (const Sent one = sum({&source, 1}); one.bytes > now.netdev.bytes) now.netdev = one;
  return now;
}

TrafficReader::Counts TrafficReader::counts() const {
  Counts all;
  for (const auto* sources : {&rdma_, &soft_rdma_, &netdevs_, &under_soft_rdma_, &virtual_netdevs_})
    for (const Source& source : *sources) all.push_back(count_in(source.packets));
  return all;
}

Wire TrafficReader::in_use(std::span<const Source> sources, std::span<const double> packets) {
  double all = 0;
  for (const double count : packets) all += count;
  Wire found;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (packets[i] <= 0 || packets[i] < kLeastPortShare * all) continue;
    ++found.ports;
    if (sources[i].bytes_per_second <= 0) ++found.without_rate;
    found.bytes_per_second += sources[i].bytes_per_second;
  }
  return found;
}

// The interface beneath software RDMA carries TCP too, so it counts for both. A virtual interface
// counts for those behind it where no other is there.
Wires TrafficReader::used(const Counts& before, const Counts& after) const {
  Counts sent;
  for (std::size_t i = 0; i < after.size(); ++i) sent.push_back(growth(before[i], after[i]));
  std::span<const double> rest(sent);
  const auto next = [&rest](const std::vector<Source>& sources) {
    const auto own = rest.first(sources.size());
    rest = rest.subspan(sources.size());
    return in_use(sources, own);
  };
  const Wire rdma = next(rdma_);
  const Wire soft = next(soft_rdma_);
  const Wire netdev = next(netdevs_);
  const Wire beneath = next(under_soft_rdma_);
  const Wire instead = next(virtual_netdevs_);
  const bool has_devices = !netdevs_.empty() || !under_soft_rdma_.empty();
  return {.rdma = soft.ports > 0 ? plus(rdma, beneath) : rdma,
          .netdev = has_devices ? plus(netdev, beneath) : instead};
}

// The boot's id is the machine's; with the inode of the network namespace it is that of the view.
RankTraffic own_place() {
  RankTraffic place;
  const std::string boot = first_word("/proc/sys/kernel/random/boot_id");
  std::error_code error;
  const std::string network = fs::read_symlink("/proc/self/ns/net", error).string();
  place.machine = std::hash<std::string>{}(boot);
  place.network = std::hash<std::string>{}(boot + network);
  return place;
}

namespace {

// All hosts together.
struct Whole {
  Traffic sent{};
  // The payload that the hosts must get at least: of each host the rank that receives most.
  double least_bytes = 0;
  bool one_machine = true;
};

// Ranks that see the same interfaces count them once, with the reading that grew most.
Whole whole_of(std::span<const RankTraffic> ranks) {
  Whole whole;
  std::map<std::uint64_t, RankTraffic> views;
  for (const RankTraffic& rank : ranks) {
    whole.one_machine = whole.one_machine && rank.machine == ranks.front().machine;
    RankTraffic& view = views.try_emplace(rank.network, rank).first->second;
    view.received_bytes = std::max(view.received_bytes, rank.received_bytes);
  }
  for (const auto& [network, view] : views) {
    whole.sent.rdma = plus(whole.sent.rdma, view.sent.rdma);
    whole.sent.soft_rdma_packets += view.sent.soft_rdma_packets;
    whole.sent.netdev = plus(whole.sent.netdev, view.sent.netdev);
    whole.sent.under_soft_rdma = plus(whole.sent.under_soft_rdma, view.sent.under_soft_rdma);
    whole.sent.loopback = plus(whole.sent.loopback, view.sent.loopback);
    whole.sent.rdma_ports += view.sent.rdma_ports;
    whole.least_bytes += view.received_bytes;
  }
  return whole;
}

}  // namespace

Transport transport_of(std::span<const RankTraffic> ranks, double samples) {
  if (ranks.empty() || samples <= 0) return {.observed = "unknown", .evidence = "nothing counted"};
  const Whole whole = whole_of(ranks);
  const auto carries = [&](const Sent& sent) {
    return sent.bytes >= kLeastByteShare * whole.least_bytes &&
           sent.packets >= kLeastPacketShare * samples;
  };
  const bool soft = whole.sent.soft_rdma_packets >= kLeastPacketShare * samples;
  std::vector<std::string> carriers;
  if (carries(whole.sent.rdma) || soft) carriers.emplace_back("rdma");
  // The interface beneath software RDMA has sent the same packets.
  if (carries(whole.sent.netdev) || (!soft && carries(whole.sent.under_soft_rdma)))
    carriers.emplace_back("netdev");
  if (carries(whole.sent.loopback)) carriers.emplace_back("loopback");
  Transport found{.observed = fmt::format("{}", fmt::join(carriers, "+"))};
  if (carriers.empty())
    found.observed = whole.one_machine && whole.sent.rdma_ports == 0 ? "memory" : "unknown";
  const auto words = [&](const Sent& sent) {
    return fmt::format("{:.0f} B in {:.0f} packets", sent.bytes, sent.packets);
  };
  found.evidence = fmt::format(
      "sent meanwhile: rdma {}, software rdma {:.0f} packets, netdev {}, loopback {}; the messages "
      "are {:.0f} B in {:.0f} calls",
      words(whole.sent.rdma), whole.sent.soft_rdma_packets,
      words(plus(whole.sent.netdev, whole.sent.under_soft_rdma)), words(whole.sent.loopback),
      whole.least_bytes, samples);
  return found;
}

}  // namespace railgauge::mpi
