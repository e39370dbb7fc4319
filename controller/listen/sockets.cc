#include "controller/listen/sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include <fmt/format.h>

namespace railgauge {
namespace {

constexpr int kBacklog = 4'096;  // the kernel lowers it to net.core.somaxconn

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

Address any_ipv6() {
  Address any;
  auto& ipv6 = reinterpret_cast<sockaddr_in6&>(any.storage);
  ipv6.sin6_family = AF_INET6;
  ipv6.sin6_addr = in6addr_any;
  any.size = sizeof(sockaddr_in6);
  return any;
}

Address any_ipv4() {
  Address any;
  reinterpret_cast<sockaddr_in&>(any.storage).sin_family = AF_INET;
  any.size = sizeof(sockaddr_in);
  return any;
}

void set_port(Address& address, int port) {
  const in_port_t number = htons(static_cast<std::uint16_t>(port));
  if (address.storage.ss_family == AF_INET6)
    reinterpret_cast<sockaddr_in6&>(address.storage).sin6_port = number;
  else
    reinterpret_cast<sockaddr_in&>(address.storage).sin_port = number;
}

Result<std::vector<Address>> addresses_of(std::string_view flag, const std::string& host) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), nullptr, &wanted, &found); error != 0)
    return fail(Code::kInvalidArgument, "--{} {}: {}", flag, host, ::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  std::vector<Address> addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (one->ai_family != AF_INET && one->ai_family != AF_INET6) continue;
    Address address;
    address.size = one->ai_addrlen;
    std::memcpy(&address.storage, one->ai_addr, one->ai_addrlen);
    addresses.push_back(address);
  }
  return addresses;
}

// Absent with errno: the kernel refuses the address.
Fd try_to_listen(const Address& address) {
  const int yes = 1;
  const int no = 0;
  Fd socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return socket;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (address.storage.ss_family == AF_INET6) {
    // Only the wildcard takes IPv4 as well.
    const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(address.storage);
    const bool any = IN6_IS_ADDR_UNSPECIFIED(&ipv6.sin6_addr);
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, any ? &no : &yes, sizeof(no));
  }
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.size) ==
          0 &&
      ::listen(socket.get(), kBacklog) == 0)
    return socket;
  const int error = errno;
  socket.reset();
  errno = error;
  return socket;
}

tl::unexpected<Error> refusal(std::string_view flag, const HostPort& address, int error) {
  const std::string text = address.host.find(':') == std::string::npos
                               ? fmt::format("--{} {}:{}", flag, address.host, address.port)
                               : fmt::format("--{} [{}]:{}", flag, address.host, address.port);
  if (error == EADDRINUSE)
    return fail(Code::kAlreadyExists,
                "{}: the port is taken; stop the program that has it or choose another port", text);
  if (error == EADDRNOTAVAIL || error == EAFNOSUPPORT)
    return fail(Code::kInvalidArgument, "{}: the address is not this host's", text);
  return fail(error == EACCES ? Code::kPermissionDenied : Code::kResourceExhausted,
              "{}: listen: {}", text, std::strerror(error));
}

bool is_mapped(const sockaddr_storage& peer) {
  return peer.ss_family == AF_INET6 &&
         IN6_IS_ADDR_V4MAPPED(&reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr);
}

// The IPv4 address, also of one that an IPv6 socket accepted.
in_addr ipv4_of(const sockaddr_storage& peer) {
  if (!is_mapped(peer)) return reinterpret_cast<const sockaddr_in&>(peer).sin_addr;
  constexpr std::size_t kPrefixBytes = 12;
  in_addr address{};
  const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr;
  std::memcpy(&address, &ipv6.s6_addr[kPrefixBytes], sizeof(address));
  return address;
}

template <class Numeric>
std::string text_of(int family, const Numeric& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return ::inet_ntop(family, &address, text.data(), text.size()) == nullptr ? "?" : text.data();
}

}  // namespace

// One port for every address: a taken one is an error also when another address has it free.
Result<std::vector<Fd>> listen_on(std::string_view flag, const HostPort& address) {
  std::vector<Address> addresses{any_ipv6(), any_ipv4()};
  const bool any = address.host == "0.0.0.0" || address.host == "::";
  if (!any) addresses = RG_TRY(addresses_of(flag, address.host));
  std::vector<Fd> sockets;
  int port = address.port;
  int error = EADDRNOTAVAIL;
  for (Address& one : addresses) {
    set_port(one, port);
    Fd socket = try_to_listen(one);
    if (socket) {
      port = bound_port(socket);
      sockets.push_back(std::move(socket));
      if (any) break;  // IPv6's wildcard takes IPv4 as well
    } else {
      error = errno;
      if (error == EADDRINUSE) return refusal(flag, address, error);
    }
  }
  if (sockets.empty()) return refusal(flag, address, error);
  return sockets;
}

int bound_port(const Fd& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  RG_CHECK(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

std::uint64_t cookie_of(int fd) {
  std::uint64_t cookie = 0;
  socklen_t size = sizeof(cookie);
  if (::getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) != 0) return 0;
  return cookie;
}

ConnectionEnder::ConnectionEnder()
    : nothing_(::open("/dev/null", O_RDONLY | O_CLOEXEC)),
      slot_(::fcntl(nothing_.get(), F_DUPFD_CLOEXEC, 0)) {}

// The descriptor is duplicated first: the duplicate keeps its socket while the cookie is compared.
// It takes the place of slot_, so that no free descriptor is needed.
bool ConnectionEnder::end(int fd, std::uint64_t cookie) {
  if (!slot_ || cookie_of(fd) != cookie) return false;
  if (::dup3(fd, slot_.get(), O_CLOEXEC) < 0) return false;
  const bool is_same = cookie_of(slot_.get()) == cookie;
  if (is_same) ::shutdown(slot_.get(), SHUT_RDWR);
  ::dup3(nothing_.get(), slot_.get(), O_CLOEXEC);
  return is_same;
}

std::string peer_uri(const sockaddr_storage& peer) {
  if (peer.ss_family == AF_INET6 && !is_mapped(peer)) {
    const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(peer);
    return fmt::format("ipv6:%5B{}%5D:{}", text_of(AF_INET6, ipv6.sin6_addr),
                       ntohs(ipv6.sin6_port));
  }
  const in_port_t port = is_mapped(peer) ? reinterpret_cast<const sockaddr_in6&>(peer).sin6_port
                                         : reinterpret_cast<const sockaddr_in&>(peer).sin_port;
  return fmt::format("ipv4:{}:{}", text_of(AF_INET, ipv4_of(peer)), ntohs(port));
}

std::string source_of(const sockaddr_storage& peer) {
  if (peer.ss_family != AF_INET6 || is_mapped(peer)) return text_of(AF_INET, ipv4_of(peer));
  constexpr std::size_t kNetworkBytes = 8;
  in6_addr network = reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr;
  std::memset(&network.s6_addr[kNetworkBytes], 0, kNetworkBytes);
  return text_of(AF_INET6, network) + "/64";
}

}  // namespace railgauge
