#include "agent/inventory/rdma_system.h"

#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "agent/fd.h"

namespace railgauge::agent {
namespace {

constexpr const char* kSource = "netlink RDMA, system";
using Mode = Fact<std::string>;

Mode not_told(int error) {
  return Mode::unknown(kSource, fmt::format("RDMA namespaces: netlink: {}; rdma system show tells",
                                            std::strerror(error)));
}

// A structure at the begin of bytes that need not be aligned; false where they are too few.
template <class Header>
bool take(std::span<const std::uint8_t> bytes, Header& header) {
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  return true;
}

constexpr std::size_t padded(std::size_t bytes) { return (bytes + 3U) & ~std::size_t{3}; }

// The value of the mode among a message's attributes; -1 where it is not there.
int mode_among(std::span<const std::uint8_t> attributes) {
  for (nlattr head{}; take(attributes, head);) {
    if (head.nla_len < sizeof head || head.nla_len > attributes.size()) return -1;
    if ((head.nla_type & NLA_TYPE_MASK) == kRdmaNetnsMode && head.nla_len > sizeof head)
      return attributes[sizeof head];
    attributes = attributes.subspan(std::min(padded(head.nla_len), attributes.size()));
  }
  return -1;
}

}  // namespace

Fact<std::string> rdma_netns_mode_of(std::span<const std::uint8_t> answer) {
  for (nlmsghdr head{}; take(answer, head);) {
    if (head.nlmsg_len < sizeof head || head.nlmsg_len > answer.size()) break;
    const auto body = answer.subspan(sizeof head, head.nlmsg_len - sizeof head);
    if (nlmsgerr error{}; head.nlmsg_type == NLMSG_ERROR && take(body, error) && error.error != 0)
      return not_told(-error.error);
    if (head.nlmsg_type >= NLMSG_MIN_TYPE) {
      const int mode = mode_among(body);
      if (mode == 0 || mode == 1) return Mode::known(mode == 1 ? "shared" : "exclusive", kSource);
    }
    answer = answer.subspan(std::min(padded(head.nlmsg_len), answer.size()));
  }
  return Mode::unknown(kSource, "RDMA namespaces: this kernel's netlink does not tell their mode");
}

Fact<std::string> read_rdma_netns_mode() {
  const Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA));
  if (!socket && (errno == EPROTONOSUPPORT || errno == EAFNOSUPPORT)) return Mode::absent(kSource);
  if (!socket) return not_told(errno);
  const timeval second{.tv_sec = 1, .tv_usec = 0};
  static_cast<void>(::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second));
  nlmsghdr ask{};
  ask.nlmsg_len = sizeof ask;
  ask.nlmsg_type = kRdmaSystemGet;
  ask.nlmsg_flags = NLM_F_REQUEST;
  ask.nlmsg_seq = 1;
  if (::send(socket.get(), &ask, sizeof ask, 0) < 0)
    return errno == ECONNREFUSED ? Mode::absent(kSource) : not_told(errno);
  std::array<std::uint8_t, 8192> answer{};
  const ssize_t got = ::recv(socket.get(), answer.data(), answer.size(), 0);
  if (got < 0) return not_told(errno);
  return rdma_netns_mode_of(std::span(answer).first(static_cast<std::size_t>(got)));
}

}  // namespace railgauge::agent
