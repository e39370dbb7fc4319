#include "kernels/net/outlet.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <thread>
#include <vector>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/fd.h"
#include "kernels/core/group/tcp.h"
#include "kernels/net/pipe.h"
#include "kernels/net/sockets.h"

namespace railgauge::net {
namespace {

// A TCP connection of this host with itself, and the bytes that arrived at its far end.
class Outlets : public ::testing::TestWithParam<Sending> {
 protected:
  void SetUp() override {
    auto listener = tcp_listen({"127.0.0.1", 0});
    ASSERT_TRUE(listener);
    auto near = tcp_connect({"127.0.0.1", local_address(*listener).port}, monotonic_now_ns() + 5e9);
    ASSERT_TRUE(near) << near.error().message;
    near_ = std::move(*near);
    far_ = Fd(::accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC));
    ASSERT_TRUE(far_);
  }
  void TearDown() override { set_sockets(kSystemSockets); }

  Fd near_;
  Fd far_;
};

TEST_P(Outlets, BringEveryByteInItsOrderAndSettle) {
  const auto outlet = Outlet::open(GetParam(), near_.get(), "a test");
  if (!outlet) GTEST_SKIP() << outlet.error().message;
  constexpr std::size_t kMessage = 100'000;
  constexpr int kMessages = 50;
  std::vector<std::byte> arrived;
  std::thread receiver([&] {
    std::vector<std::byte> room(kMessage);
    while (arrived.size() < kMessage * kMessages) {
      const ssize_t got = ::recv(far_.get(), room.data(), room.size(), 0);
      if (got <= 0) return;
      arrived.insert(arrived.end(), room.begin(), room.begin() + got);
    }
  });
  std::vector<std::vector<std::byte>> messages;
  for (int number = 0; number < kMessages; ++number)
    messages.emplace_back(kMessage, static_cast<std::byte>(number));
  for (const auto& message : messages)
    for (std::span<const std::byte> rest(message); !rest.empty();) {
      const ssize_t sent = (*outlet)->send(rest);
      if (sent > 0) rest = rest.subspan(static_cast<std::size_t>(sent));
      ASSERT_TRUE(sent > 0 || errno == EAGAIN) << errno;
    }
  while ((*outlet)->settle() > 0) {
  }
  receiver.join();
  ASSERT_EQ(arrived.size(), kMessage * kMessages);
  for (std::size_t at = 0; at < arrived.size(); at += kMessage - 1)
    ASSERT_EQ(arrived[at], static_cast<std::byte>(at / kMessage)) << at;
  const bool is_zero_copy =
      GetParam() == Sending::kZeroCopy || GetParam() == Sending::kUringZeroCopy;
  EXPECT_EQ((*outlet)->count().sends > 0, is_zero_copy);
  EXPECT_LE((*outlet)->count().copied, (*outlet)->count().sends);
}

// A socket buffer that is full: no wait is longer than some 20 ms, and the same bytes go on later.
TEST_P(Outlets, ReturnInTimeWhereNobodyReceives) {
  const auto outlet = Outlet::open(GetParam(), near_.get(), "a test");
  if (!outlet) GTEST_SKIP() << outlet.error().message;
  const timeval look{0, 20'000};
  ASSERT_EQ(::setsockopt(near_.get(), SOL_SOCKET, SO_SNDTIMEO, &look, sizeof look), 0);
  const std::vector<std::byte> message(32U << 20U);
  std::span<const std::byte> rest(message);
  bool is_full = false;
  for (int call = 0; call < 100 && !is_full; ++call) {
    const ssize_t sent = (*outlet)->send(rest);
    if (sent > 0) rest = rest.subspan(static_cast<std::size_t>(sent));
    is_full = sent < 0 && errno == EAGAIN;
  }
  EXPECT_TRUE(is_full);
}

// Another socket of the user has all the memory that may be locked.
ssize_t send_without_memory(int fd, const void* bytes, std::size_t count, int flags) {
  if ((flags & MSG_ZEROCOPY) == 0) return ::send(fd, bytes, count, flags);
  return errno = ENOBUFS, -1;
}

using OutletsWithoutMemory = Outlets;
TEST_P(OutletsWithoutMemory, WaitForOtherSocketsAndSayWhichLimitItWas) {
  const std::vector<std::byte> message(1000);
  Sockets full = kSystemSockets;
  full.send = send_without_memory;
  Limits limits;
  limits.deadline_monotonic_ns = monotonic_now_ns() + 10e9;
  limits.stall_ns = 100e6;
  auto pipe = Pipe::adopt(std::move(near_), "a test", limits, false);
  ASSERT_TRUE(pipe) << pipe.error().message;
  ASSERT_TRUE(pipe->send_by(GetParam()));
  set_sockets(full);
  EXPECT_FALSE(pipe->send_all(message));
  EXPECT_EQ(pipe->failure().code, Code::kFailedPrecondition);
  EXPECT_THAT(pipe->failure().message, ::testing::HasSubstr("RLIMIT_MEMLOCK"));
  set_sockets(kSystemSockets);
  EXPECT_TRUE(pipe->send_all(message)) << "memory is there again";
  EXPECT_TRUE(pipe->settle());
}
INSTANTIATE_TEST_SUITE_P(Zero, OutletsWithoutMemory, ::testing::Values(Sending::kZeroCopy));

INSTANTIATE_TEST_SUITE_P(
    Ways, Outlets, ::testing::Values(Sending::kZeroCopy, Sending::kUring, Sending::kUringZeroCopy),
    [](const auto& param) { return sending_names()[static_cast<std::size_t>(param.param)]; });

// A kernel refuses what it does not know by the name, and what it knows by the length.
TEST(DevmemOfKernels, IsKnownByHowTheOptionIsRefused) {
  Sockets asked = kSystemSockets;
  asked.setsockopt = [](int, int, int, const void*, socklen_t) { return errno = EINVAL, -1; };
  set_sockets(asked);
  EXPECT_TRUE(kernel_has_devmem());
  asked.setsockopt = [](int, int, int, const void*, socklen_t) { return errno = ENOPROTOOPT, -1; };
  EXPECT_FALSE(kernel_has_devmem());
  set_sockets(kSystemSockets);
}

TEST(OutletsOfOldKernels, AreWaivedWithTheReason) {
  Sockets old = kSystemSockets;
  old.uring_setup = [](unsigned, io_uring_params*) { return errno = ENOSYS, -1; };
  old.setsockopt = [](int, int, int, const void*, socklen_t) { return errno = ENOPROTOOPT, -1; };
  set_sockets(old);
  const auto uring = Outlet::open(Sending::kUring, 0, "stream 1");
  const auto zero = Outlet::open(Sending::kZeroCopy, 0, "stream 1");
  set_sockets(kSystemSockets);
  ASSERT_FALSE(uring);
  EXPECT_EQ(uring.error().code, Code::kUnimplemented);
  EXPECT_THAT(uring.error().message, ::testing::HasSubstr("stream 1: open an io_uring"));
  ASSERT_FALSE(zero);
  EXPECT_EQ(zero.error().code, Code::kUnimplemented);
  EXPECT_THAT(zero.error().message, ::testing::HasSubstr("Linux 4.14 and later"));
}

}  // namespace
}  // namespace railgauge::net
