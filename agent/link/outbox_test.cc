#include "agent/link/outbox.h"

#include <gtest/gtest.h>

namespace railgauge::agent {
namespace {

api::AgentMessage step(std::uint32_t number, std::size_t payload_bytes = 0) {
  api::AgentMessage message;
  message.mutable_step()->mutable_step()->set_step(number);
  message.mutable_step()->mutable_step()->add_payloads(std::string(payload_bytes, 'x'));
  return message;
}

TEST(Outbox, KeepsOrderAndTheMessageThatWasNotWritten) {
  Outbox outbox;
  ASSERT_TRUE(outbox.push(step(0)));
  ASSERT_TRUE(outbox.push(step(1)));
  EXPECT_EQ(outbox.front().step().step().step(), 0u);
  EXPECT_EQ(outbox.front().step().step().step(), 0u);
  outbox.written();
  EXPECT_EQ(outbox.front().step().step().step(), 1u);
}

TEST(Outbox, AClearedOneHasAllItsRoomAgain) {
  Outbox outbox;
  ASSERT_TRUE(outbox.push(step(0, Outbox::kMaxBytes - 1000)));
  outbox.clear();
  EXPECT_TRUE(outbox.empty());
  EXPECT_TRUE(outbox.push(step(0, Outbox::kMaxBytes - 1000)));
}

TEST(Outbox, IsBoundedInMessages) {
  Outbox outbox;
  for (std::uint32_t i = 0; i < Outbox::kMaxMessages; ++i) ASSERT_TRUE(outbox.push(step(i)));
  EXPECT_FALSE(outbox.push(step(0)));
  outbox.written();
  EXPECT_TRUE(outbox.push(step(0)));
}

TEST(Outbox, IsBoundedInBytes) {
  Outbox outbox;
  ASSERT_TRUE(outbox.push(step(0, Outbox::kMaxBytes - 1000)));
  EXPECT_FALSE(outbox.push(step(1, 2000)));
  EXPECT_TRUE(outbox.push(step(1)));
  outbox.written();
  EXPECT_TRUE(outbox.push(step(2, 2000)));
}

}  // namespace
}  // namespace railgauge::agent
