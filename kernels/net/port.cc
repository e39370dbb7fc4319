#include "kernels/net/port.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/group/tcp.h"
#include "kernels/net/sockets.h"

namespace railgauge::net {
namespace {

constexpr int kBacklog = 256;

std::string errno_words(int error) {
  return fmt::format("{} (errno {})", std::generic_category().message(error), error);
}

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// `text` as this host reaches it: a link-local address through `netdev`.
Result<SocketAddress> socket_address(const std::string& text, std::uint16_t number,
                                     const std::string& netdev) {
  SocketAddress made;
  auto& v4 = reinterpret_cast<sockaddr_in&>(made.storage);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(made.storage);
  if (inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(number);
    made.length = sizeof v4;
    return made;
  }
  if (inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) != 1)
    return fail(Code::kInternal, fmt::format("address {}: is no numeric address", text));
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(number);
  if (IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr)) v6.sin6_scope_id = if_nametoindex(netdev.c_str());
  made.length = sizeof v6;
  return made;
}

std::string available_congestion_controls() {
  std::string line;
  std::ifstream file("/proc/sys/net/ipv4/tcp_available_congestion_control");
  std::getline(file, line);
  return line;
}

// Options that must be set before the connection: the window's scale follows from the buffer.
Status apply(const SocketForm& form, const Fd& socket, bool is_ipv6) {
  const auto set = [&socket](int level, int name, int value) {
    return sockets().setsockopt(socket.get(), level, name, &value, sizeof value) == 0;
  };
  if (!set(IPPROTO_TCP, TCP_NODELAY, 1))
    return fail(Code::kInternal, "net: set TCP_NODELAY: " + errno_words(errno));
  const auto bytes = static_cast<int>(form.buffer_bytes);
  if (bytes > 0 && (!set(SOL_SOCKET, SO_SNDBUF, bytes) || !set(SOL_SOCKET, SO_RCVBUF, bytes)))
    return fail(Code::kFailedPrecondition,
                fmt::format("parameter socket_buffer: {}: {}", bytes, errno_words(errno)));
  if (form.traffic_class != 0 &&
      !set(is_ipv6 ? IPPROTO_IPV6 : IPPROTO_IP, is_ipv6 ? IPV6_TCLASS : IP_TOS, form.traffic_class))
    return fail(Code::kFailedPrecondition, fmt::format("parameter traffic_class: {}: {}",
                                                       form.traffic_class, errno_words(errno)));
  const std::string& control = form.congestion_control;
  if (!control.empty() &&
      sockets().setsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, control.data(),
                           static_cast<socklen_t>(control.size())) != 0)
    return fail(Code::kFailedPrecondition,
                fmt::format("parameter congestion_control: {}: {}; available here: {}", control,
                            errno_words(errno), available_congestion_controls()));
  return {};
}

Result<Fd> make_socket(const SocketForm& form, bool is_ipv6) {
  Fd socket(sockets().socket(is_ipv6 ? AF_INET6 : AF_INET,
                             SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return fail(Code::kResourceExhausted, "net: make a socket: " + errno_words(errno));
  RG_TRY_OK(apply(form, socket, is_ipv6));
  return socket;
}

Code code_of(int error) {
  return error == EACCES || error == EPERM ? Code::kPermissionDenied : Code::kFailedPrecondition;
}

// Waits for a connect that is under way. kDeadlineExceeded.
Status wait_connected(const Fd& socket, double deadline_ns) {
  pollfd wait{socket.get(), POLLOUT, 0};
  int ready = 0;
  do {
    ready = sockets().poll(&wait, 1, poll_timeout_ms(deadline_ns));
  } while (ready < 0 && errno == EINTR);
  if (ready < 0) return fail(Code::kUnavailable, errno_words(errno));
  if (ready == 0) return fail(Code::kUnavailable, "no answer; a firewall may drop it");
  int error = 0;
  socklen_t length = sizeof error;
  if (sockets().getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  if (error != 0) return fail(Code::kUnavailable, errno_words(error));
  return {};
}

}  // namespace

SocketForm socket_form(const Params& params) {
  return {.buffer_bytes = params.bytes("socket_buffer"),
          .traffic_class = static_cast<int>(params.integer("traffic_class")),
          .congestion_control = params.text("congestion_control")};
}

std::string Port::words() const {
  return fmt::format("{} ({})", chosen_.address.text, chosen_.address.netdev);
}

Result<Port> Port::open(const Context& context) {
  const Params& params = context.params;
  Port port;
  const auto addresses = RG_TRY(interface_addresses());
  port.chosen_ = RG_TRY(choose({.endpoint = context.endpoint,
                                .netdev = params.text("netdev"),
                                .address = params.text("address")},
                               addresses, sysfs_folder()));
  const InterfaceAddress& own = port.chosen_.address;
  port.facts_ = netdev_facts(own.netdev, sysfs_folder());
  port.form_ = socket_form(params);
  port.listener_ = RG_TRY(make_socket(port.form_, own.is_ipv6));
  const auto wanted = static_cast<std::uint16_t>(params.integer("port"));
  const SocketAddress here = RG_TRY(socket_address(own.text, wanted, own.netdev));
  const int one = 1;
  static_cast<void>(sockets().setsockopt(port.listener_.get(), SOL_SOCKET, SO_REUSEADDR, &one,
                                         sizeof one));  // else a port stays taken after a task
  if (sockets().bind(port.listener_.get(), here.get(), here.length) != 0 ||
      sockets().listen(port.listener_.get(), kBacklog) != 0) {
    const int error = errno;
    return fail(code_of(error), fmt::format("{}: listen on port {}: {}; parameter port 0 takes a "
                                            "free one",
                                            port.words(), wanted, errno_words(error)));
  }
  port.number_ = local_address(port.listener_).port;
  return port;
}

Result<Fd> Port::connect_to(const std::string& address, std::uint16_t number, double deadline_ns,
                            bool by_netdev, bool& was_bound) const {
  const InterfaceAddress& own = chosen_.address;
  const bool is_ipv6 = address.find(':') != std::string::npos;
  const auto failed = [&](std::string_view act, Code code, const std::string& cause) {
    return fail(code, fmt::format("{}: {} {} port {}: {}", words(), act, address, number, cause));
  };
  if (is_ipv6 != own.is_ipv6)
    return failed("connect to", Code::kFailedPrecondition,
                  "one is IPv4 and the other IPv6; name two of a kind by parameter address");
  Fd socket = RG_TRY(make_socket(form_, is_ipv6));
  was_bound = by_netdev &&
              sockets().setsockopt(socket.get(), SOL_SOCKET, SO_BINDTODEVICE, own.netdev.data(),
                                   static_cast<socklen_t>(own.netdev.size())) == 0;
  const SocketAddress here = RG_TRY(socket_address(own.text, 0, own.netdev));
  const SocketAddress there = RG_TRY(socket_address(address, number, own.netdev));
  if (sockets().bind(socket.get(), here.get(), here.length) != 0)
    return failed("bind before connecting to", code_of(errno), errno_words(errno));
  if (sockets().connect(socket.get(), there.get(), there.length) != 0 && errno != EINPROGRESS)
    return failed("connect to", Code::kUnavailable, errno_words(errno));
  if (const Status done = wait_connected(socket, deadline_ns); !done)
    return failed("connect to", done.error().code, done.error().message);
  return socket;
}

}  // namespace railgauge::net
