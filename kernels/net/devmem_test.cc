// The lacks of devmem TCP, on a kernel of the test's own.
#include "kernels/net/devmem.h"

#include <gmock/gmock.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "kernels/net/sockets.h"

namespace railgauge::net {
namespace {

using ::testing::HasSubstr;

constexpr std::uint16_t kFamily = 0x21;

std::string attribute_of(std::uint16_t type, const std::string& value) {
  nlattr head{};
  head.nla_type = type;
  head.nla_len = static_cast<std::uint16_t>(NLA_HDRLEN + value.size());
  std::string made(reinterpret_cast<const char*>(&head), sizeof head);
  made += value;
  made.resize(NLA_ALIGN(made.size()));
  return made;
}
std::string answer_of(std::uint16_t family, const std::string& attributes) {
  nlmsghdr head{};
  head.nlmsg_type = family;
  head.nlmsg_len = static_cast<std::uint32_t>(NLMSG_HDRLEN + GENL_HDRLEN + attributes.size());
  const genlmsghdr generic{};
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) +
         std::string(reinterpret_cast<const char*>(&generic), sizeof generic) + attributes;
}

// The kernel's answers to each request in turn, and the requests that came.
std::vector<std::string> g_answers;
std::vector<std::string> g_requests;

class Devmem : public ::testing::Test {
 protected:
  void SetUp() override {
    g_answers.clear();
    g_requests.clear();
    asked_ = kSystemSockets;
    asked_.setsockopt = [](int, int, int, const void*, socklen_t) { return errno = EINVAL, -1; };
    asked_.send = [](int, const void* bytes, std::size_t count, int) {
      g_requests.emplace_back(static_cast<const char*>(bytes), count);
      return static_cast<ssize_t>(count);
    };
    asked_.poll = [](pollfd*, nfds_t, int) { return g_requests.size() > g_answers.size() ? 0 : 1; };
    asked_.recv = [](int, void* bytes, std::size_t, int) {
      const std::string& answer = g_answers[g_requests.size() - 1];
      std::memcpy(bytes, answer.data(), answer.size());
      return static_cast<ssize_t>(answer.size());
    };
    set_sockets(asked_);
  }
  void TearDown() override { set_sockets(kSystemSockets); }

  static void answer(char split) {
    const std::string id(reinterpret_cast<const char*>(&kFamily), sizeof kFamily);
    g_answers = {answer_of(GENL_ID_CTRL, attribute_of(CTRL_ATTR_FAMILY_NAME, "ethtool\0") +
                                             attribute_of(CTRL_ATTR_FAMILY_ID, id)),
                 answer_of(kFamily, attribute_of(ETHTOOL_A_RINGS_RX, std::string(4, '\1')) +
                                        attribute_of(ETHTOOL_A_RINGS_TCP_DATA_SPLIT,
                                                     std::string(1, split)))};
  }
  Sockets asked_{};
};

TEST_F(Devmem, NamesTheFirstLackInOrder) {
  answer(ETHTOOL_TCP_DATA_SPLIT_ENABLED);
  EXPECT_EQ(header_split("eth7"), HeaderSplit::kOn);
  ASSERT_EQ(g_requests.size(), 2U);
  EXPECT_THAT(g_requests[1], HasSubstr(std::string("eth7\0", 5)));
  g_requests.clear();
  EXPECT_THAT(devmem_lack("eth7"), HasSubstr("CAP_NET_ADMIN must bind its queues"));
  g_requests.clear();
  answer(ETHTOOL_TCP_DATA_SPLIT_DISABLED);
  EXPECT_THAT(devmem_lack("eth7"), HasSubstr("ethtool -G eth7 tcp-data-split on"));
  g_requests.clear();
  answer(ETHTOOL_TCP_DATA_SPLIT_UNKNOWN);
  EXPECT_THAT(devmem_lack("eth7"), HasSubstr("the driver of eth7 does not say"));
  asked_.setsockopt = [](int, int, int, const void*, socklen_t) { return errno = ENOPROTOOPT, -1; };
  set_sockets(asked_);
  EXPECT_THAT(devmem_lack("eth7"), HasSubstr("this kernel has none"));
}

// Each part of an answer may be missing, cut off or of another family.
TEST_F(Devmem, IsUnknownAfterAnswersThatAreNone) {
  answer(ETHTOOL_TCP_DATA_SPLIT_ENABLED);
  const std::vector<std::string> whole = g_answers;
  for (std::size_t which = 0; which < whole.size(); ++which)
    for (std::size_t bytes = 0; bytes < whole[which].size(); ++bytes) {
      g_requests.clear();
      g_answers = whole;
      g_answers[which].resize(bytes);
      EXPECT_EQ(header_split("eth7"), HeaderSplit::kUnknown) << which << ", " << bytes;
    }
  g_requests.clear();
  g_answers = {whole[0], answer_of(NLMSG_ERROR, std::string(16, '\0'))};
  EXPECT_EQ(header_split("eth7"), HeaderSplit::kUnknown);
  g_requests.clear();
  g_answers.clear();
  EXPECT_EQ(header_split("eth7"), HeaderSplit::kUnknown) << "no answer in time";
}

// The real kernel answers at once, whatever it says of the loopback interface.
TEST(DevmemHere, IsAskedOfTheKernel) {
  const HeaderSplit loopback = header_split("lo");
  EXPECT_NE(loopback, HeaderSplit::kOn);
  EXPECT_EQ(header_split("no such interface"), HeaderSplit::kUnknown);
}

}  // namespace
}  // namespace railgauge::net
