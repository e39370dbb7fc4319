#include "agent/inventory/sources/rdma_system.h"

#include <linux/netlink.h>

#include <cstring>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::agent {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes attribute(std::uint16_t type, const Bytes& value) {
  const nlattr head{.nla_len = static_cast<std::uint16_t>(sizeof(nlattr) + value.size()),
                    .nla_type = type};
  Bytes bytes(sizeof head);
  std::memcpy(bytes.data(), &head, sizeof head);
  bytes.insert(bytes.end(), value.begin(), value.end());
  while (bytes.size() % 4 != 0) bytes.push_back(0);
  return bytes;
}

Bytes message(std::uint16_t type, const Bytes& body) {
  nlmsghdr head{};
  head.nlmsg_len = static_cast<std::uint32_t>(sizeof head + body.size());
  head.nlmsg_type = type;
  Bytes bytes(sizeof head);
  std::memcpy(bytes.data(), &head, sizeof head);
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

constexpr std::uint16_t kAnswer = kRdmaSystemGet;

Bytes answer(std::uint8_t mode) {
  Bytes body = attribute(1, {7, 7, 7, 7, 7});
  const Bytes wanted = attribute(kRdmaNetnsMode, {mode});
  body.insert(body.end(), wanted.begin(), wanted.end());
  return message(kAnswer, body);
}

TEST(RdmaSystem, TheModeStandsBehindOtherAttributes) {
  EXPECT_TRUE(rdma_netns_mode_of(answer(1)).is("shared"));
  EXPECT_TRUE(rdma_netns_mode_of(answer(0)).is("exclusive"));
  EXPECT_EQ(rdma_netns_mode_of(answer(9)).state, FactState::kUnknown);
}

TEST(RdmaSystem, ARefusalAndAnAnswerWithoutItAreUnknownWithTheReason) {
  nlmsgerr error{};
  error.error = -EPERM;
  Bytes body(sizeof error);
  std::memcpy(body.data(), &error, sizeof error);
  EXPECT_THAT(rdma_netns_mode_of(message(NLMSG_ERROR, body)).reason,
              testing::HasSubstr("Operation not permitted"));
  EXPECT_EQ(rdma_netns_mode_of(message(kAnswer, {})).state, FactState::kUnknown);
  EXPECT_EQ(rdma_netns_mode_of({}).state, FactState::kUnknown);
}

TEST(RdmaSystem, AnyBytesAreAnswered) {
  std::mt19937 random(7);
  const Bytes whole = answer(1);
  for (int round = 0; round < 50'000; ++round) {
    Bytes bytes = whole;
    bytes.resize(random() % (whole.size() + 1));
    for (int edits = round % 5; edits > 0 && !bytes.empty(); --edits)
      bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
    const auto mode = rdma_netns_mode_of(bytes);
    ASSERT_EQ(mode.reason.find('\n'), std::string::npos);
  }
}

TEST(RdmaSystem, ThisMachineAnswersOneWayOrTheOther) {
  const auto mode = read_rdma_netns_mode();
  EXPECT_NE(mode.state, FactState::kError) << mode.reason;
  if (mode.is_known()) {
    EXPECT_THAT(mode.value, testing::AnyOf("shared", "exclusive"));
  }
}

}  // namespace
}  // namespace railgauge::agent
