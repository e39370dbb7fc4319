// Parsing of netlink answers, whose bytes are checked like a stranger's. Pure.
#pragma once

#include <linux/netlink.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace railgauge::agent {

using NetlinkBytes = std::span<const std::uint8_t>;

// Copies a structure from the start of unaligned bytes. False: too few bytes.
template <class Header>
bool take(NetlinkBytes bytes, Header& header) {
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  return true;
}

// Returns the bytes behind an attribute of `size` bytes, padded to four.
inline NetlinkBytes behind(NetlinkBytes bytes, std::size_t size) {
  return bytes.subspan(std::min((size + 3U) & ~std::size_t{3}, bytes.size()));
}

// Calls each(type, value) for each attribute; stops at a broken one.
template <class Each>
void for_each_attribute(NetlinkBytes attributes, Each each) {
  for (nlattr head{}; take(attributes, head);) {
    if (head.nla_len < sizeof head || head.nla_len > attributes.size()) return;
    each(static_cast<std::uint16_t>(head.nla_type & NLA_TYPE_MASK),
         attributes.subspan(sizeof head, head.nla_len - sizeof head));
    attributes = behind(attributes, head.nla_len);
  }
}

// Calls each(type, body) for each message; stops at a broken one.
template <class Each>
void for_each_message(NetlinkBytes answer, Each each) {
  for (nlmsghdr head{}; take(answer, head);) {
    if (head.nlmsg_len < sizeof head || head.nlmsg_len > answer.size()) return;
    each(head.nlmsg_type, answer.subspan(sizeof head, head.nlmsg_len - sizeof head));
    answer = behind(answer, head.nlmsg_len);
  }
}

}  // namespace railgauge::agent
