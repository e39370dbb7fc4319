#include "kernels/net/devmem.h"

#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/base/fd.h"
#include "kernels/net/sockets.h"

namespace railgauge::net {
namespace {

// The kernel answers at once; a socket that stays silent must not hold a task's preparation.
constexpr int kAnswerMs = 500;
constexpr std::size_t kMostAnswerBytes = 16U << 10U;

using Bytes = std::vector<std::byte>;

template <class T>
void append(Bytes& to, const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

// An attribute of netlink: its length and type, its value, and zeros up to a multiple of 4.
void append_attribute(Bytes& to, std::uint16_t type, std::span<const std::byte> value) {
  append(to, nlattr{.nla_len = static_cast<std::uint16_t>(NLA_HDRLEN + value.size()),
                    .nla_type = type});
  to.insert(to.end(), value.begin(), value.end());
  to.resize((to.size() + NLA_ALIGNTO - 1) / NLA_ALIGNTO * NLA_ALIGNTO);
}
// Strings of netlink end in a zero.
Bytes with_end(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  Bytes made(bytes.begin(), bytes.end());
  made.push_back(std::byte{0});
  return made;
}

// The value of the first attribute of `type`; absent for one that is cut off too.
std::optional<std::span<const std::byte>> attribute(std::span<const std::byte> in,
                                                    std::uint16_t type) {
  while (in.size() >= NLA_HDRLEN) {
    nlattr head{};
    std::memcpy(&head, in.data(), sizeof head);
    if (head.nla_len < NLA_HDRLEN || head.nla_len > in.size()) return std::nullopt;
    if ((head.nla_type & NLA_TYPE_MASK) == type)
      return in.subspan(NLA_HDRLEN, head.nla_len - NLA_HDRLEN);
    const std::size_t step = NLA_ALIGN(head.nla_len);
    in = in.subspan(std::min(step, in.size()));
  }
  return std::nullopt;
}

// One request of generic netlink and the attributes of its answer; nothing for an error.
std::optional<Bytes> ask(int fd, std::uint16_t family, std::uint8_t command, const Bytes& body) {
  Bytes request;
  append(request,
         nlmsghdr{.nlmsg_len = static_cast<std::uint32_t>(NLMSG_HDRLEN + GENL_HDRLEN + body.size()),
                  .nlmsg_type = family,
                  .nlmsg_flags = NLM_F_REQUEST,
                  .nlmsg_seq = 1,
                  .nlmsg_pid = 0});
  append(request, genlmsghdr{.cmd = command, .version = 1, .reserved = 0});
  request.insert(request.end(), body.begin(), body.end());
  if (sockets().send(fd, request.data(), request.size(), 0) < 0) return std::nullopt;
  pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
  if (sockets().poll(&ready, 1, kAnswerMs) <= 0) return std::nullopt;
  Bytes answer(kMostAnswerBytes);
  const ssize_t got = sockets().recv(fd, answer.data(), answer.size(), 0);
  constexpr std::size_t kHeads = NLMSG_HDRLEN + GENL_HDRLEN;
  if (got < static_cast<ssize_t>(kHeads)) return std::nullopt;
  nlmsghdr head{};
  std::memcpy(&head, answer.data(), sizeof head);
  if (head.nlmsg_type != family || head.nlmsg_len < kHeads ||
      head.nlmsg_len > static_cast<std::size_t>(got))
    return std::nullopt;
  return Bytes(answer.begin() + kHeads, answer.begin() + head.nlmsg_len);
}

}  // namespace

// The number of the family first: it is another one on each boot.
HeaderSplit header_split(const std::string& netdev) {
  const Fd fd(sockets().socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC));
  if (fd.get() < 0) return HeaderSplit::kUnknown;
  Bytes wanted;
  append_attribute(wanted, CTRL_ATTR_FAMILY_NAME, with_end(ETHTOOL_GENL_NAME));
  const auto family = ask(fd.get(), GENL_ID_CTRL, CTRL_CMD_GETFAMILY, wanted);
  const auto number = family ? attribute(*family, CTRL_ATTR_FAMILY_ID) : std::nullopt;
  if (!number || number->size() != sizeof(std::uint16_t)) return HeaderSplit::kUnknown;
  std::uint16_t id = 0;
  std::memcpy(&id, number->data(), sizeof id);
  Bytes device;
  append_attribute(device, ETHTOOL_A_HEADER_DEV_NAME, with_end(netdev));
  Bytes rings;
  append_attribute(rings, ETHTOOL_A_RINGS_HEADER | NLA_F_NESTED, device);
  const auto answer = ask(fd.get(), id, ETHTOOL_MSG_RINGS_GET, rings);
  const auto split = answer ? attribute(*answer, ETHTOOL_A_RINGS_TCP_DATA_SPLIT) : std::nullopt;
  if (!split || split->size() != 1) return HeaderSplit::kUnknown;
  const auto value = std::to_integer<unsigned>(split->front());
  if (value == ETHTOOL_TCP_DATA_SPLIT_ENABLED) return HeaderSplit::kOn;
  return value == ETHTOOL_TCP_DATA_SPLIT_DISABLED ? HeaderSplit::kOff : HeaderSplit::kUnknown;
}

// The kernel is looked at first: without it the state of the interface says nothing. The right
// comes last, since it is the one that no setting of the NIC gives.
std::string devmem_lack(const std::string& netdev) {
  if (!kernel_has_devmem()) return "this kernel has none; Linux 6.12 and later have";
  switch (header_split(netdev)) {
    case HeaderSplit::kUnknown:
      return fmt::format("the driver of {} does not say that it splits headers from data", netdev);
    case HeaderSplit::kOff:
      return fmt::format(
          "{} does not split headers from data now (ethtool -G {} tcp-data-split on)", netdev,
          netdev);
    case HeaderSplit::kOn:
      break;
  }
  return fmt::format(
      "{} splits headers, but a process with CAP_NET_ADMIN must bind its queues to the "
      "GPU's memory, and a runner has no capability",
      netdev);
}

}  // namespace railgauge::net
