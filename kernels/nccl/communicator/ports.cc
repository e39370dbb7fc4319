#include "kernels/nccl/communicator/ports.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "kernels/net/device/netdev_facts.h"
#include "kernels/net/device/port_rate.h"

namespace railgauge::nccl {
namespace {

namespace fs = std::filesystem;

// An RDMA port counts words of 4 bytes (InfiniBand Architecture, PortCounters: PortXmitData).
constexpr double kWordBytes = 4;
// Bounds of the fact: hosts, and ports of each, that are named.
constexpr std::size_t kHostsNamed = 4;
constexpr int kPortsNamed = 16;
// A share of the mean below which a port is quiet.
constexpr double kQuiet = 0.5;

std::string& folder_of_ports() {
  static auto* folder = new std::string("/sys");
  return *folder;
}

// The entries of a folder, sorted; none where it cannot be read.
std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    found.push_back(at->path());
  std::ranges::sort(found);
  return found;
}

bool there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// Negative where the file is absent or holds no number.
double count_of(const std::string& file) {
  double value = 0;
  return std::ifstream(file) >> value ? value : -1;
}

// A link without a file of its state counts as active.
bool is_link_active(const std::string& file) {
  std::string line;
  return !std::getline(std::ifstream(file), line) || line.find("ACTIVE") != std::string::npos ||
         line == "up" || line == "unknown";
}

double netdev_rate(const std::string& netdev, const std::string& sysfs) {
  const net::NetdevFacts facts = net::netdev_facts(netdev, sysfs);
  return facts.is_rate_physical ? facts.rate_bits_per_second / 8 : 0;
}

// One host's ports of one kind.
struct HostPorts {
  std::size_t rank = 0;
  double all = 0;
  double busiest = 0;
  double quietest = 0;
  int ports = 0;
  bool is_rdma = false;
  // Those that carried something: their number, those without a rate, and the rate of the others.
  int carried = 0;
  int without_rate = 0;
  double rate = 0;
  double moved = 0;

  [[nodiscard]] double share() const { return all > 0 ? busiest * ports / all : 0; }
  [[nodiscard]] double quietest_share() const { return all > 0 ? quietest * ports / all : 0; }
  [[nodiscard]] bool has_quiet_port() const { return all > 0 && quietest_share() < kQuiet; }
};

// Whether a port is one of those that the host's figure is about. A port that NCCL uses and that
// went down since counts, with nothing: that is what the figure is for.
bool counts(const PortBytes& port, const std::set<std::string>& used) {
  return used.empty() ? port.is_active() : used.contains(port.name());
}

// The kind that carried more is the one in use.
HostPorts ports_of_host(std::size_t rank, const Told& told, const std::set<std::string>& used) {
  HostPorts rdma{.rank = rank, .is_rdma = true};
  HostPorts netdev{.rank = rank};
  for (const PortBytes& port : told.ports()) {
    HostPorts& kind = port.is_rdma() ? rdma : netdev;
    const double moved = port.sent() + port.received();
    if (moved > 0) {
      ++kind.carried;
      kind.rate += port.rate();
      kind.moved += moved;
      if (port.rate() <= 0) ++kind.without_rate;
    }
    if (!counts(port, used)) continue;
    kind.all += moved;
    kind.busiest = std::max(kind.busiest, moved);
    kind.quietest = kind.ports == 0 ? moved : std::min(kind.quietest, moved);
    ++kind.ports;
  }
  return rdma.all >= netdev.all && rdma.all > 0 ? rdma : netdev;
}

std::set<std::string> used_of(const UsedPorts& used, const Told& told) {
  const auto found = used.find(told.host());
  return found == used.end() ? std::set<std::string>{} : found->second;
}

std::string words_of(const HostPorts& host, const Told& told, const std::set<std::string>& used) {
  std::string words;
  int named = 0;
  for (const PortBytes& port : told.ports()) {
    if (port.is_rdma() != host.is_rdma || !counts(port, used) || named++ >= kPortsNamed) continue;
    words += fmt::format("{}{} sent {:.0f} received {:.0f}", words.empty() ? "" : ", ", port.name(),
                         port.sent(), port.received());
  }
  return fmt::format("rank {}'s host: {}", host.rank, words);
}

}  // namespace

const std::string& ports_folder() { return folder_of_ports(); }
void set_ports_folder(std::string folder) { folder_of_ports() = std::move(folder); }

// Adapters of another kind (EFA) have bytes among their hw_counters; software RDMA counts packets
// alone, and its bytes are the interface's.
PortReader::PortReader(const std::string& sysfs) {
  for (const fs::path& device : sorted_entries(fs::path(sysfs) / "class/infiniband"))
    for (const fs::path& port : sorted_entries(device / "ports")) {
      Port made{.name = device.filename().string() + ":" + port.filename().string(),
                .is_rdma = true,
                .rate = net::port_rate(device, port)};
      const fs::path standard = port / "counters";
      const fs::path own = port / "hw_counters";
      if (there(standard / "port_xmit_data")) {
        made.sent = standard / "port_xmit_data";
        made.received = standard / "port_rcv_data";
        made.unit = kWordBytes;
      } else if (there(own / "tx_bytes")) {
        made.sent = own / "tx_bytes";
        made.received = own / "rx_bytes";
      } else {
        continue;
      }
      made.state = port / "state";
      ports_.push_back(std::move(made));
    }
  for (const fs::path& netdev : sorted_entries(fs::path(sysfs) / "class/net"))
    if (there(netdev / "device"))
      ports_.push_back({.name = netdev.filename(),
                        .sent = netdev / "statistics/tx_bytes",
                        .received = netdev / "statistics/rx_bytes",
                        .state = netdev / "operstate",
                        .rate = netdev_rate(netdev.filename(), sysfs)});
}

std::vector<PortBytes> PortReader::read() const {
  std::vector<PortBytes> all;
  for (const Port& port : ports_) {
    PortBytes& now = all.emplace_back();
    now.set_name(port.name);
    now.set_is_rdma(port.is_rdma);
    now.set_is_active(is_link_active(port.state));
    now.set_rate(port.rate);
    now.set_sent(count_of(port.sent) * port.unit);
    now.set_received(count_of(port.received) * port.unit);
  }
  return all;
}

std::vector<PortBytes> grown_ports(const std::vector<PortBytes>& before,
                                   const std::vector<PortBytes>& after) {
  const auto was_read = [](const PortBytes& port) {
    return port.sent() >= 0 && port.received() >= 0;
  };
  std::vector<PortBytes> grown;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (!was_read(before[i]) || !was_read(after[i])) continue;
    PortBytes& port = grown.emplace_back(before[i]);
    port.set_sent(std::max(0.0, after[i].sent() - before[i].sent()));
    port.set_received(std::max(0.0, after[i].received() - before[i].received()));
  }
  return grown;
}

std::vector<HostRate> host_rates(const std::vector<Told>& all, const UsedPorts& used) {
  std::vector<HostRate> hosts;
  std::map<std::string, std::size_t> numbers;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const auto [at, is_new] = numbers.try_emplace(all[rank].host(), hosts.size());
    if (is_new) hosts.emplace_back();
    HostRate& host = hosts[at->second];
    host.ranks.push_back(static_cast<std::uint32_t>(rank));
    const HostPorts ports = ports_of_host(rank, all[rank], used_of(used, all[rank]));
    if (host.ports != 0 || ports.carried == 0) continue;
    host.ports = ports.carried;
    host.bytes_per_second = ports.without_rate == 0 ? ports.rate : 0;
    host.moved_bytes = ports.moved;
  }
  return hosts;
}

bool hosts_meet_at_ports(const std::set<std::string>& kinds, const std::vector<Told>& all) {
  std::set<std::string> hosts;
  std::set<std::string> machines;
  for (const Told& one : all) {
    hosts.insert(one.host());
    machines.insert(one.machine());
  }
  bool has_network = false;
  for (const std::string& kind : kinds) {
    if (kind.find("MNNVL") != std::string::npos) return false;
    has_network = has_network || kind.starts_with("NET");
  }
  return has_network && hosts.size() == machines.size();
}

PortUse port_use(const std::vector<Told>& all, const UsedPorts& used) {
  std::vector<HostPorts> hosts;
  std::set<std::string> seen;
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank].ports_size() > 0 && seen.insert(all[rank].host()).second)
      hosts.push_back(ports_of_host(rank, all[rank], used_of(used, all[rank])));
  std::ranges::stable_sort(hosts, std::ranges::greater{}, [](const HostPorts& host) {
    return std::pair(host.has_quiet_port(), host.share());
  });
  PortUse use;
  for (std::size_t i = 0; i < std::min(hosts.size(), kHostsNamed); ++i) {
    if (hosts[i].share() <= 0) break;
    use.words += (i == 0 ? "" : "; ") +
                 words_of(hosts[i], all[hosts[i].rank], used_of(used, all[hosts[i].rank]));
  }
  if (!hosts.empty()) {
    use.busiest_share = hosts.front().share();
    use.quietest_share = hosts.front().quietest_share();
    use.ports = hosts.front().ports;
    use.rank = hosts.front().rank;
  }
  return use;
}

}  // namespace railgauge::nccl
