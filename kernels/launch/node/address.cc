// IPv4 addresses of this host, and the choice of the one on the data network.
#include "kernels/launch/node/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include <fmt/format.h>

#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge {
namespace {

// The length of an IPv4 address.
constexpr unsigned kAddressBits = 32;

std::optional<std::uint32_t> number_of(const std::string& address) {
  in_addr parsed{};
  if (::inet_pton(AF_INET, address.c_str(), &parsed) != 1) return std::nullopt;
  return ntohl(parsed.s_addr);
}

// Dotted; the number is in host order.
std::string text_of(std::uint32_t address) {
  return fmt::format("{}.{}.{}.{}", address >> 24U, (address >> 16U) & 0xffU,
                     (address >> 8U) & 0xffU, address & 0xffU);
}

std::uint32_t mask_of(unsigned bits) { return bits == 0 ? 0 : ~0U << (kAddressBits - bits); }

// A network by any of its addresses and its prefix length.
struct Network {
  std::uint32_t address = 0;
  unsigned bits = 0;
  [[nodiscard]] bool has(std::uint32_t other) const {
    return (other & mask_of(bits)) == (address & mask_of(bits));
  }
  [[nodiscard]] std::string text() const {
    return fmt::format("{}/{}", text_of(address & mask_of(bits)), bits);
  }
};

// Parses "192.0.2.0/24"; absent for another text.
std::optional<Network> network_of(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return std::nullopt;
  const auto address = number_of(text.substr(0, slash));
  const auto bits = parse_integer(text.substr(slash + 1));
  if (!address || !bits || *bits < 0 || *bits > kAddressBits) return std::nullopt;
  return Network{*address, static_cast<unsigned>(*bits)};
}

// Returns this host's addresses as text, for messages.
std::string known_names(const std::vector<HostAddress>& addresses) {
  std::string out;
  for (const HostAddress& one : addresses)
    out += fmt::format("{}{} {}/{}", out.empty() ? "" : ", ", one.interface, one.address,
                       one.prefix_bits);
  return out.empty() ? "no IPv4 address at all" : out;
}

// Returns the entries of a folder, sorted; empty if the folder does not exist.
std::vector<std::filesystem::path> entries(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> out;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none))
    out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

}  // namespace

// By getifaddrs(3). An interface with several addresses has several entries.
std::vector<HostAddress> host_addresses() {
  std::vector<HostAddress> out;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return out;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_netmask == nullptr ||
        one->ifa_addr->sa_family != AF_INET || (one->ifa_flags & IFF_UP) == 0)
      continue;
    sockaddr_in address{};
    sockaddr_in mask{};
    std::memcpy(&address, one->ifa_addr, sizeof address);
    std::memcpy(&mask, one->ifa_netmask, sizeof mask);
    out.push_back({one->ifa_name, text_of(ntohl(address.sin_addr.s_addr)),
                   static_cast<unsigned>(std::popcount(ntohl(mask.sin_addr.s_addr)))});
  }
  ::freeifaddrs(first);
  return out;
}

// GID 0 of each device's first port names its network device.
std::vector<std::string> rdma_netdevs(const std::string& sysfs) {
  std::vector<std::string> out;
  for (const auto& device : entries(sysfs + "/class/infiniband")) {
    std::ifstream file(device / "ports/1/gid_attrs/ndevs/0");
    std::string name;
    if (file >> name) out.push_back(name);
  }
  return out;
}

// In the order of device and port names, the same on nodes that are alike.
std::vector<std::string> rdma_ports(const std::string& sysfs) {
  std::vector<std::string> out;
  for (const auto& device : entries(sysfs + "/class/infiniband"))
    for (const auto& port : entries(device / "ports"))
      out.push_back(fmt::format("{}:{}", device.filename().string(), port.filename().string()));
  return out;
}

// False where either text cannot be read.
bool in_network(const std::string& address, const std::string& network) {
  const auto net = network_of(network);
  const auto number = number_of(address);
  return net && number && net->has(*number);
}

// An own address must be on the declared network and in the interface's subnet: MPI binds to the
// interface, and would be called at an address that the interface does not answer.
Result<DataAddress> data_address(const std::string& declared, const std::string& own,
                                 const std::vector<HostAddress>& addresses,
                                 const std::vector<std::string>& netdevs) {
  const auto asked = network_of(declared);
  if (!asked && declared.find('/') != std::string::npos)
    return invalid("data_network {} is no IPv4 network (192.0.2.0/24) and no interface",
                   in_quotes(declared));
  const auto fits = [&](const HostAddress& one) {
    const auto number = number_of(one.address);
    if (asked) return number && asked->has(*number);
    if (!declared.empty()) return one.interface == declared;
    return std::ranges::find(netdevs, one.interface) != netdevs.end();
  };
  const auto found = std::ranges::find_if(addresses, fits);
  if (found == addresses.end())
    return fail(
        Code::kFailedPrecondition,
        declared.empty()
            ? std::string("data_network: not declared, and no RDMA port here has an IPv4 address; "
                          "name the network (192.0.2.0/24) in the site profile or the suite")
            : fmt::format("data_network {}: this node is not on it, it has {}", in_quotes(declared),
                          known_names(addresses)));
  const Network net =
      asked.value_or(Network{number_of(found->address).value(), found->prefix_bits});
  DataAddress out{found->address, net.text(), found->interface, {found->address}};
  if (own.empty()) return out;
  const auto number = number_of(own);
  const Network answers{number_of(found->address).value(), found->prefix_bits};
  if (!number || !net.has(*number) || !answers.has(*number))
    return invalid("data address {} is not on {} of {}", in_quotes(own), answers.text(),
                   found->interface);
  out.address = own;
  if (own != found->address) out.own_addresses.push_back(own);
  return out;
}

}  // namespace railgauge
