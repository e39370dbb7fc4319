#include "kernels/verbs/transport/words.h"

#include <gmock/gmock.h>

#include <cerrno>

#include "kernels/fakes/locked_memory.h"

namespace railgauge::verbs {
namespace {

ibv_port_attr port(std::uint8_t speed, std::uint8_t width) {
  ibv_port_attr attributes{};
  attributes.active_speed = speed;
  attributes.active_width = width;
  return attributes;
}

TEST(VerbsWords, PortRatesAreLaneTimesWidth) {
  EXPECT_EQ(port_rate_bits_per_second(port(32, 2)), 100e9);   // EDR 4x
  EXPECT_EQ(port_rate_bits_per_second(port(64, 2)), 200e9);   // HDR 4x
  EXPECT_EQ(port_rate_bits_per_second(port(128, 2)), 400e9);  // NDR 4x
  EXPECT_EQ(port_rate_bits_per_second(port(64, 16)), 100e9);  // HDR 2x
  EXPECT_EQ(port_rate_bits_per_second(port(1, 1)), 2.5e9);    // SDR 1x
}

TEST(VerbsWords, AnUnknownSpeedOrWidthHasNoRate) {
  EXPECT_EQ(port_rate_bits_per_second(port(3, 2)), 0);
  EXPECT_EQ(port_rate_bits_per_second(port(64, 0)), 0);
}

TEST(VerbsWords, MtusConvertBothWays) {
  for (const unsigned bytes : {256U, 512U, 1024U, 2048U, 4096U})
    EXPECT_EQ(mtu_bytes(mtu_of_bytes(bytes)), bytes);
  EXPECT_DEATH(mtu_of_bytes(1500), "CHECK failed");
}

TEST(VerbsWords, StatesBeyondTheTableAreUnknown) {
  EXPECT_EQ(port_state_words(IBV_PORT_DOWN), "down");
  EXPECT_EQ(port_state_words(static_cast<ibv_port_state>(6)), "unknown");
  EXPECT_EQ(queue_pair_state_words(IBV_QPS_ERR), "ERR");
}

TEST(VerbsWords, AFailedCompletionBlamesTheSideThatCanMendIt) {
  EXPECT_EQ(blamed_side(IBV_WC_LOC_PROT_ERR), "this side");
  EXPECT_EQ(blamed_side(IBV_WC_REM_ACCESS_ERR), "the other side");
  EXPECT_EQ(blamed_side(IBV_WC_RETRY_EXC_ERR), "the path or the other side");
  // A peer that vanished closes an iWARP connection, and flushes are all that the survivor sees.
  EXPECT_THAT(blamed_side(IBV_WC_WR_FLUSH_ERR),
              ::testing::HasSubstr("the other side, the path or"));
  EXPECT_EQ(code_of(IBV_WC_WR_FLUSH_ERR), Code::kUnavailable);
  EXPECT_EQ(code_of(IBV_WC_RETRY_EXC_ERR), Code::kUnavailable);
  EXPECT_EQ(code_of(IBV_WC_LOC_PROT_ERR), Code::kInternal);
}

TEST(Pinning, TellsTheLimitWhatWasAskedForAndWhatToSet) {
  const fake::LockedMemoryLimit limit(65536);
  for (const int error : {ENOMEM, EPERM}) {
    const Error told = pinning_error("mlx5_0:1: make a queue pair of depth 128", error);
    EXPECT_EQ(told.code, Code::kFailedPrecondition);
    EXPECT_THAT(told.message,
                ::testing::AllOf(::testing::HasSubstr("mlx5_0:1: make a queue pair of depth 128"),
                                 ::testing::HasSubstr("limited to 65536 bytes (RLIMIT_MEMLOCK) and "
                                                      "the process lacks CAP_IPC_LOCK"),
                                 ::testing::HasSubstr("LimitMEMLOCK=infinity"),
                                 ::testing::HasSubstr("ulimit -l unlimited")));
  }
}

TEST(Pinning, DoesNotBlameTheLimitWhereTheProcessHasTheCapabilityThatLiftsIt) {
  fake::LockedMemoryLimit limit(65536);
  if (!limit.lift()) GTEST_SKIP() << "this process lacks CAP_IPC_LOCK";
  const Error told = pinning_error("mlx5_0:1: register 4096 bytes", ENOMEM);
  EXPECT_EQ(told.code, Code::kResourceExhausted);
  EXPECT_THAT(told.message, ::testing::Not(::testing::HasSubstr("CAP_IPC_LOCK")));
}

TEST(Pinning, DoesNotBlameTheLimitForAnotherError) {
  const fake::LockedMemoryLimit limit(65536);
  const Error told = pinning_error("mlx5_0:1: register 4096 bytes", EFAULT);
  EXPECT_EQ(told.code, Code::kInternal);
  EXPECT_EQ(told.message, "mlx5_0:1: register 4096 bytes: Bad address (errno 14)");
}

}  // namespace
}  // namespace railgauge::verbs
