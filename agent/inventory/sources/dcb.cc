#include "agent/inventory/sources/dcb.h"

#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <map>

#include <fmt/format.h>

#include "kernels/core/base/fd.h"

namespace railgauge::agent {
namespace {

constexpr const char* kDcbSource = "netlink DCB, IEEE 802.1Qaz";
constexpr std::size_t kEnabledByte = 1;  // of ieee_pfc: a bit for each priority
using Text = Fact<std::string>;

// The facts with the reason of a failed netlink call.
Facts dcb_error(int error) {
  if (error == EOPNOTSUPP || error == ENODEV || error == EPROTONOSUPPORT) return {};
  const std::string reason = fmt::format("DCB: netlink: {}", std::strerror(error));
  return {{"dcb/pfc", Text::unknown(kDcbSource, reason)},
          {"dcb/trust", Text::unknown(kDcbSource, reason)}};
}

// "3,4": the priorities whose bit is set.
std::string priorities_of(std::uint8_t enabled) {
  std::string text;
  for (unsigned priority = 0; priority < 8; ++priority)
    if ((enabled >> priority & 1U) != 0)
      text += fmt::format("{}{}", text.empty() ? "" : " ", priority);
  return text;
}

// Returns priorities by DSCP mark; empty if no mark chooses a priority.
std::map<unsigned, unsigned> marks_of(NetlinkBytes table) {
  constexpr unsigned kMarks = 64;
  std::map<unsigned, unsigned> marks;
  for_each_attribute(table, [&](std::uint16_t type, NetlinkBytes value) {
    dcb_app app{};
    if (type != DCB_ATTR_IEEE_APP || !take(value, app)) return;
    if (app.selector == IEEE_8021QAZ_APP_SEL_DSCP && app.protocol < kMarks && app.priority < 8)
      marks[app.protocol] = app.priority;
  });
  return marks;
}

// Returns the map as text. A driver lists all 64 marks; marks whose priority equals their upper
// bits are left out.
std::string map_words(const std::map<unsigned, unsigned>& marks) {
  std::string text;
  for (const auto& [mark, priority] : marks)
    if (priority != mark >> 3U)
      text += fmt::format("{}{}:{}", text.empty() ? "" : " ", mark, priority);
  return text;
}

// Adds the facts of the IEEE 802.1Qaz attributes: priority flow control, trust and the DSCP map.
void add_ieee(NetlinkBytes attributes, Facts& facts) {
  for_each_attribute(attributes, [&](std::uint16_t type, NetlinkBytes value) {
    if (type == DCB_ATTR_IEEE_PFC && value.size() > kEnabledByte)
      facts["dcb/pfc"] = Text::known(priorities_of(value[kEnabledByte]), kDcbSource);
    if (type != DCB_ATTR_IEEE_APP_TABLE) return;
    const auto marks = marks_of(value);
    facts["dcb/trust"] = Text::known(marks.empty() ? "pcp" : "dscp", kDcbSource);
    if (!marks.empty()) facts["dcb/dscp_map"] = Text::known(map_words(marks), kDcbSource);
  });
}

struct Question {
  nlmsghdr head;
  dcbmsg what;
  nlattr attribute;
  std::array<char, IFNAMSIZ> interface;
};

}  // namespace

// Parses the kernel's answer to a DCB_CMD_IEEE_GET request. Pure.
Facts dcb_facts_of(NetlinkBytes answer) {
  Facts facts;
  for_each_message(answer, [&](std::uint16_t type, NetlinkBytes body) {
    if (nlmsgerr error{}; type == NLMSG_ERROR && take(body, error) && error.error != 0)
      facts = dcb_error(-error.error);
    if (type < NLMSG_MIN_TYPE || body.size() < sizeof(dcbmsg)) return;
    for_each_attribute(body.subspan(sizeof(dcbmsg)), [&](std::uint16_t kind, NetlinkBytes value) {
      if (kind == DCB_ATTR_IEEE) add_ieee(value, facts);
    });
  });
  return facts;
}

// Asks the kernel over netlink; needs no privilege.
Facts read_dcb(const std::string& interface) {
  if (interface.size() >= IFNAMSIZ) return {};
  const Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!socket) return dcb_error(errno);
  const timeval second{.tv_sec = 1, .tv_usec = 0};
  static_cast<void>(::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second));
  Question ask{};
  ask.head.nlmsg_len = sizeof ask;
  ask.head.nlmsg_type = RTM_GETDCB;
  ask.head.nlmsg_flags = NLM_F_REQUEST;
  ask.head.nlmsg_seq = 1;
  ask.what.cmd = DCB_CMD_IEEE_GET;
  ask.attribute.nla_len = sizeof ask.attribute + sizeof ask.interface;
  ask.attribute.nla_type = DCB_ATTR_IFNAME;
  std::copy(interface.begin(), interface.end(), ask.interface.begin());
  if (::send(socket.get(), &ask, sizeof ask, 0) < 0) return dcb_error(errno);
  std::array<std::uint8_t, 16384> answer{};
  const ssize_t got = ::recv(socket.get(), answer.data(), answer.size(), 0);
  if (got < 0) return dcb_error(errno);
  return dcb_facts_of(std::span(answer).first(static_cast<std::size_t>(got)));
}

}  // namespace railgauge::agent
