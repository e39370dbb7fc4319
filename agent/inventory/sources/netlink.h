// Reading what netlink answers: bytes of the kernel's, which are taken as a stranger's. Pure.
#pragma once

#include <linux/netlink.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace railgauge::agent {

using NetlinkBytes = std::span<const std::uint8_t>;

// A structure at the begin of bytes that need not be aligned; false where they are too few.
template <class Header>
bool take(NetlinkBytes bytes, Header& header) {
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  return true;
}

// The position behind an attribute of `size` bytes, which is padded to four.
inline NetlinkBytes behind(NetlinkBytes bytes, std::size_t size) {
  return bytes.subspan(std::min((size + 3U) & ~std::size_t{3}, bytes.size()));
}

// `each(type, value)` of each attribute, until one is broken.
template <class Each>
void for_each_attribute(NetlinkBytes attributes, Each each) {
  for (nlattr head{}; take(attributes, head);) {
    if (head.nla_len < sizeof head || head.nla_len > attributes.size()) return;
    each(static_cast<std::uint16_t>(head.nla_type & NLA_TYPE_MASK),
         attributes.subspan(sizeof head, head.nla_len - sizeof head));
    attributes = behind(attributes, head.nla_len);
  }
}

// `each(type, body)` of each message, until one is broken.
template <class Each>
void for_each_message(NetlinkBytes answer, Each each) {
  for (nlmsghdr head{}; take(answer, head);) {
    if (head.nlmsg_len < sizeof head || head.nlmsg_len > answer.size()) return;
    each(head.nlmsg_type, answer.subspan(sizeof head, head.nlmsg_len - sizeof head));
    answer = behind(answer, head.nlmsg_len);
  }
}

}  // namespace railgauge::agent
