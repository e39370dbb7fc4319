#include "agent/inventory/sources/rdma_system.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "agent/inventory/sources/netlink.h"
#include "kernels/core/base/fd.h"

namespace railgauge::agent {
namespace {

constexpr const char* kModeSource = "netlink RDMA, system";
using Mode = Fact<std::string>;

// The fact with the reason of a failed netlink call.
Mode mode_error(int error) {
  return Mode::unknown(kModeSource,
                       fmt::format("RDMA namespaces: netlink: {}; rdma system show reports it",
                                   std::strerror(error)));
}

}  // namespace

Fact<std::string> rdma_netns_mode_of(std::span<const std::uint8_t> answer) {
  Mode mode = Mode::unknown(kModeSource,
                            "RDMA namespaces: this kernel's netlink does not report their mode");
  for_each_message(answer, [&](std::uint16_t type, NetlinkBytes body) {
    if (nlmsgerr error{}; type == NLMSG_ERROR && take(body, error) && error.error != 0)
      mode = mode_error(-error.error);
    if (type < NLMSG_MIN_TYPE) return;
    for_each_attribute(body, [&](std::uint16_t kind, NetlinkBytes value) {
      if (kind == kRdmaNetnsMode && !value.empty() && value[0] <= 1)
        mode = Mode::known(value[0] == 1 ? "shared" : "exclusive", kModeSource);
    });
  });
  return mode;
}

Fact<std::string> read_rdma_netns_mode() {
  const Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA));
  if (!socket && (errno == EPROTONOSUPPORT || errno == EAFNOSUPPORT))
    return Mode::absent(kModeSource);
  if (!socket) return mode_error(errno);
  const timeval second{.tv_sec = 1, .tv_usec = 0};
  static_cast<void>(::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second));
  nlmsghdr ask{};
  ask.nlmsg_len = sizeof ask;
  ask.nlmsg_type = kRdmaSystemGet;
  ask.nlmsg_flags = NLM_F_REQUEST;
  ask.nlmsg_seq = 1;
  if (::send(socket.get(), &ask, sizeof ask, 0) < 0)
    return errno == ECONNREFUSED ? Mode::absent(kModeSource) : mode_error(errno);
  std::array<std::uint8_t, 8192> answer{};
  const ssize_t got = ::recv(socket.get(), answer.data(), answer.size(), 0);
  if (got < 0) return mode_error(errno);
  return rdma_netns_mode_of(std::span(answer).first(static_cast<std::size_t>(got)));
}

}  // namespace railgauge::agent
