#include "kernels/net/netdev.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/base/handle.h"

namespace railgauge::net {
namespace {

namespace fs = std::filesystem;

using AddressList = Handle<ReleasedBy<ifaddrs*, freeifaddrs>>;  // of getifaddrs()

// Returns the first value of a file, or `otherwise` without one.
template <class Value>
Value value_in_file(const fs::path& file, Value otherwise) {
  Value value{};
  std::ifstream stream(file);
  return stream >> value ? value : otherwise;
}

// Sorted, so that "the first port" is the same on every run; empty where the folder cannot be read.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    names.push_back(at->path().filename().string());
  std::ranges::sort(names);
  return names;
}

// IPv4 first, then global IPv6, then link-local: as the GID is chosen.
int preference(const InterfaceAddress& address) {
  if (!address.is_ipv6) return 0;
  return address.is_link_local ? 2 : 1;
}

// Returns the netdev of an RDMA port. RoCE and iWARP list it beside their GIDs; InfiniBand's is an
// IPoIB interface of the device with the port's number.
std::string netdev_of(const fs::path& device, const std::string& port) {
  const fs::path gids = device / "ports" / port / "gid_attrs/ndevs";
  for (const std::string& index : names_in(gids))
    if (auto name = value_in_file<std::string>(gids / index, ""); !name.empty()) return name;
  for (const std::string& name : names_in(device / "device/net"))
    if (std::to_string(value_in_file(device / "device/net" / name / "dev_port", 0) + 1) == port)
      return name;
  return "";
}

struct RdmaPort {
  std::string device;
  std::string port;
  std::string netdev;
};

// All ports that fit the endpoint and have a netdev.
std::vector<RdmaPort> ports_of(const std::string& endpoint, const fs::path& devices) {
  const std::string device = endpoint.substr(0, endpoint.rfind(':'));
  const std::string port =
      endpoint.size() > device.size() ? endpoint.substr(device.size() + 1) : "";
  std::vector<RdmaPort> found;
  for (const std::string& name : names_in(devices)) {
    if (!device.empty() && name != device) continue;
    for (const std::string& number : names_in(devices / name / "ports")) {
      if (!port.empty() && number != port) continue;
      const std::string netdev = netdev_of(devices / name, number);
      if (!netdev.empty()) found.push_back({name, number, netdev});
    }
  }
  return found;
}

// "192.0.2.1 (eth0), 2001:db8::1 (eth0)", for errors.
std::string words_of(std::span<const InterfaceAddress> addresses) {
  std::vector<std::string> words;
  for (const InterfaceAddress& one : addresses)
    words.push_back(fmt::format("{} ({})", one.text, one.netdev));
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "));
}

// The preferred address of one netdev. kNotFound names the others.
Result<InterfaceAddress> best_of(const std::string& netdev,
                                 std::span<const InterfaceAddress> addresses) {
  const InterfaceAddress* best = nullptr;
  std::set<std::string> seen;
  for (const InterfaceAddress& one : addresses) {
    seen.insert(one.netdev);
    if (one.netdev == netdev && (best == nullptr || preference(one) < preference(*best)))
      best = &one;
  }
  if (best != nullptr) return *best;
  return fail(Code::kNotFound,
              fmt::format("network interface {} is not up or has no address; give it one, or name "
                          "one of {} by parameter netdev",
                          netdev, fmt::join(seen, ", ")));
}

// The address that parameter address names, on its netdev where one is given.
Result<InterfaceAddress> find_address(const Wanted& wanted,
                                      std::span<const InterfaceAddress> addresses) {
  for (const InterfaceAddress& one : addresses)
    if (one.text == wanted.address && (wanted.netdev.empty() || one.netdev == wanted.netdev))
      return one;
  return fail(
      Code::kInvalidArgument,
      fmt::format("parameter address: {} is no address of {}; there is {}", wanted.address,
                  wanted.netdev.empty() ? "this host" : wanted.netdev, words_of(addresses)));
}

// Replaced by tests, before anything runs.
std::string g_sysfs = "/sys";

}  // namespace

const std::string& sysfs_folder() { return g_sysfs; }
void set_sysfs_folder(std::string folder) { g_sysfs = std::move(folder); }

// Interfaces that are down are left out: nothing can be sent from them.
Result<std::vector<InterfaceAddress>> interface_addresses() {
  ifaddrs* raw = nullptr;
  if (getifaddrs(&raw) != 0)
    return fail(Code::kFailedPrecondition, fmt::format("list the network interfaces' addresses: {}",
                                                       std::generic_category().message(errno)));
  const AddressList list(raw);
  std::vector<InterfaceAddress> found;
  for (const ifaddrs* at = list.get(); at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || (at->ifa_flags & IFF_UP) == 0) continue;
    const int family = at->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    InterfaceAddress one{.netdev = at->ifa_name, .is_ipv6 = family == AF_INET6};
    const auto& v6 = reinterpret_cast<const sockaddr_in6*>(at->ifa_addr)->sin6_addr;
    const auto& v4 = reinterpret_cast<const sockaddr_in*>(at->ifa_addr)->sin_addr;
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(family, one.is_ipv6 ? static_cast<const void*>(&v6) : &v4, text.data(), text.size());
    one.text = text.data();
    one.is_link_local = one.is_ipv6 && IN6_IS_ADDR_LINKLOCAL(&v6) != 0;
    found.push_back(std::move(one));
  }
  return found;
}

// An endpoint that does not exist is an error even where a netdev is named: the two would
// contradict each other.
Result<Chosen> choose(const Wanted& wanted, std::span<const InterfaceAddress> addresses,
                      const std::string& sysfs) {
  Chosen chosen;
  // RDMA devices as the kernel shows them.
  const fs::path devices = fs::path(sysfs) / "class/infiniband";
  const std::vector<RdmaPort> ports = ports_of(wanted.endpoint, devices);
  // Without an endpoint a netdev or an address is enough.
  const bool is_free = !wanted.netdev.empty() || !wanted.address.empty();
  if (ports.empty() && (!wanted.endpoint.empty() || !is_free)) {
    if (wanted.endpoint.empty())
      return fail(Code::kNotFound,
                  "no RDMA port here has a network interface; name one by parameter netdev or "
                  "address");
    return fail(Code::kNotFound,
                fmt::format("{}: there is no such RDMA port, or it has no network interface; RDMA "
                            "devices here: {}; without one, leave the endpoint out and name a "
                            "netdev or an address by parameter",
                            wanted.endpoint, fmt::join(names_in(devices), ", ")));
  }
  if (!wanted.address.empty())
    chosen.address = RG_TRY(find_address(wanted, addresses));
  else
    chosen.address =
        RG_TRY(best_of(wanted.netdev.empty() ? ports.front().netdev : wanted.netdev, addresses));
  // The port is given where it is the interface's own.
  for (const RdmaPort& port : ports) {
    if (port.netdev != chosen.address.netdev) continue;
    chosen.device = port.device;
    chosen.port = port.port;
    break;
  }
  return chosen;
}

}  // namespace railgauge::net
