// The TCP kernels when system calls fail, when a peer leaves, hangs or sends wrong data, and when a
// stranger connects.
#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

#include "kernels/catalog.h"
#include "kernels/core/group/tcp.h"
#include "kernels/fakes/pair.h"
#include "kernels/net/sockets.h"
#include "kernels/testing/contract.h"

namespace railgauge {
namespace {

using fake::RankResult;
using fake::run_pair;
using ::testing::HasSubstr;

using Parameters = std::map<std::string, std::string>;

// Switches of the table below.
struct Control {
  std::atomic<int> calls{0};
  std::atomic<int> fail_call{0};  // this one fails with EIO, once; 0: none
  std::atomic<int> transfers{0};  // sends and receives
  std::atomic<int> transfers_that_count{0};
  std::atomic<int> flip_after{-1};  // a byte of each receive after so many is wrong; negative: none
  std::atomic<int> close_after{-1};  // streams are shut down after so many sends; negative: none
  std::atomic<int> hang_after{-1};   // sends after so many go nowhere
  std::atomic<int> pause_ms{0};      // before each send
  std::atomic<int> no_connects{0};   // 1: connections are never made, and nobody says so
};
Control g_control;

bool fails_now() {
  if (++g_control.calls != g_control.fail_call) return false;
  errno = EIO;
  return true;
}
// Only the first transfers can fail by number: their count is up to the scheduler.
bool transfer_fails_now() {
  return g_control.transfers++ < g_control.transfers_that_count && fails_now();
}

int bad_socket(int domain, int type, int protocol) {
  return fails_now() ? -1 : ::socket(domain, type, protocol);
}
int bad_bind(int fd, const sockaddr* address, socklen_t length) {
  return fails_now() ? -1 : ::bind(fd, address, length);
}
int bad_listen(int fd, int backlog) { return fails_now() ? -1 : ::listen(fd, backlog); }
int bad_accept4(int fd, sockaddr* address, socklen_t* length, int flags) {
  return ::accept4(fd, address, length, flags);  // its failure is a connection that died
}
int bad_connect(int fd, const sockaddr* address, socklen_t length) {
  if (g_control.no_connects != 0) return errno = EINPROGRESS, -1;
  return fails_now() ? -1 : ::connect(fd, address, length);
}
int bad_setsockopt(int fd, int level, int name, const void* value, socklen_t length) {
  return fails_now() ? -1 : ::setsockopt(fd, level, name, value, length);
}
int bad_getsockopt(int fd, int level, int name, void* value, socklen_t* length) {
  return fails_now() ? -1 : ::getsockopt(fd, level, name, value, length);
}
ssize_t bad_send(int fd, const void* bytes, std::size_t count, int flags) {
  if (transfer_fails_now()) return -1;
  const int number = g_control.transfers;
  if (g_control.pause_ms > 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(g_control.pause_ms));
  if (g_control.close_after >= 0 && number > g_control.close_after) ::shutdown(fd, SHUT_RDWR);
  if (g_control.hang_after >= 0 && number > g_control.hang_after)
    return static_cast<ssize_t>(count);
  return ::send(fd, bytes, count, flags);
}
ssize_t bad_recv(int fd, void* bytes, std::size_t count, int flags) {
  if (transfer_fails_now()) return -1;
  const ssize_t got = ::recv(fd, bytes, count, flags);
  constexpr ssize_t kLargerThanAnOrder = 64;
  if (got > kLargerThanAnOrder && g_control.flip_after >= 0 &&
      g_control.transfers > g_control.flip_after)
    static_cast<char*>(bytes)[got / 2] ^= 0x40;
  return got;
}
int bad_poll(pollfd* wanted, nfds_t count, int timeout_ms) {
  // poll reports a socket that never asked for a connection as hung up at once.
  if (g_control.no_connects != 0 && wanted->events == POLLOUT)
    return ::poll(nullptr, 0, timeout_ms);
  return fails_now() ? -1 : ::poll(wanted, count, timeout_ms);
}

ssize_t bad_recvmsg(int fd, msghdr* message, int flags) {
  return fails_now() ? -1 : ::recvmsg(fd, message, flags);
}
int bad_uring_setup(unsigned entries, io_uring_params* params) {
  return fails_now() ? -1 : net::kSystemSockets.uring_setup(entries, params);
}
int bad_uring_enter(int ring, unsigned submit, unsigned least, unsigned flags, void* argument,
                    std::size_t bytes) {
  if (transfer_fails_now()) return -1;
  return net::kSystemSockets.uring_enter(ring, submit, least, flags, argument, bytes);
}
int bad_uring_register(int ring, unsigned operation, void* argument, unsigned count) {
  return fails_now() ? -1 : net::kSystemSockets.uring_register(ring, operation, argument, count);
}

constexpr net::Sockets kBadSockets{
    bad_socket,     bad_bind,        bad_listen,      bad_accept4,       bad_connect,
    bad_setsockopt, bad_getsockopt,  bad_send,        bad_recv,          bad_poll,
    bad_recvmsg,    bad_uring_setup, bad_uring_enter, bad_uring_register};

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

class NetFaults : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    reset();
    net::set_sockets(kBadSockets);
    fake::test_clock();
    descriptors_ = open_descriptors();
  }
  void TearDown() override {
    net::set_sockets(net::kSystemSockets);
    EXPECT_EQ(open_descriptors(), descriptors_);
  }
  static void reset() {
    g_control.calls = g_control.fail_call = g_control.transfers = g_control.transfers_that_count =
        0;
    g_control.flip_after = g_control.close_after = g_control.hang_after = -1;
    g_control.no_connects = g_control.pause_ms = 0;
  }
  static auto run(Parameters parameters, double deadline_seconds = 20) {
    parameters.emplace("netdev", "lo");
    parameters.emplace("stall_timeout", "300ms");
    parameters.emplace("sizes", "4KiB");
    parameters.emplace("iterations", "3");
    parameters.emplace("proof_time", "0s");
    return run_pair(*find_kernel(GetParam()), {.parameters = std::move(parameters),
                                               .endpoints = {"", ""},
                                               .deadline_seconds = deadline_seconds});
  }
  std::ptrdiff_t descriptors_ = 0;
};

TEST_P(NetFaults, AFailureOfEachSystemCallIsOneClearLineAndLeaksNothing) {
  constexpr int kMaxCalls = 400;
  int call = 1;
  for (; call <= kMaxCalls; ++call) {
    reset();
    g_control.fail_call = call;
    g_control.transfers_that_count = 12;
    const auto results = run({});
    if (g_control.calls < call) {
      for (const RankResult& result : results)
        EXPECT_TRUE(result.status) << result.status.error().message;
      break;
    }
    for (const RankResult& result : results)
      expect_clear(result.status, static_cast<std::uint64_t>(call));
    ASSERT_EQ(open_descriptors(), descriptors_) << "call " << call;
  }
  EXPECT_GT(call, 20);
  EXPECT_LE(call, kMaxCalls);
}

TEST_P(NetFaults, AWrongByteFailsBothRanksAndIsNamed) {
  g_control.flip_after = 0;
  for (const RankResult& result : run({})) {
    ASSERT_FALSE(result.status);
    EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
    EXPECT_THAT(result.status.error().message, HasSubstr("127.0.0.1 (lo): verify a 4KiB message"));
    EXPECT_TRUE(result.points.empty());
  }
}

// The ways of sending that this kernel has.
std::vector<std::string> other_ways() {
  std::vector<std::string> ways;
  for (const char* way : {"zerocopy", "io_uring", "io_uring_zerocopy"}) {
    const auto results = run_pair(
        *find_kernel("net.tcp_bw"),
        {.parameters = {{"netdev", "lo"}, {"send", way}, {"iterations", "1"}, {"verify", "false"}},
         .endpoints = {"", ""}});
    if (results[0].status) ways.emplace_back(way);
  }
  return ways;
}

TEST_P(NetFaults, AWrongByteIsFoundWhicheverWayItWasSent) {
  if (std::string_view(GetParam()) != "net.tcp_bw") GTEST_SKIP() << "sends by copying alone";
  const std::vector<std::string> ways = other_ways();
  if (ways.empty()) GTEST_SKIP() << "this kernel has no other way of sending";
  for (const std::string& way : ways) {
    SCOPED_TRACE(way);
    reset();
    g_control.flip_after = 0;
    for (const RankResult& result : run({{"send", way}})) {
      ASSERT_FALSE(result.status);
      EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
      EXPECT_TRUE(result.points.empty());
    }
  }
}

TEST_P(NetFaults, AFailureOfEachSystemCallOfAnotherWayOfSendingIsOneClearLine) {
  if (std::string_view(GetParam()) != "net.tcp_bw") GTEST_SKIP() << "sends by copying alone";
  const std::vector<std::string> ways = other_ways();
  if (ways.empty()) GTEST_SKIP() << "this kernel has no other way of sending";
  for (const std::string& way : ways) {
    reset();
    g_control.transfers_that_count = 12;
    for (const RankResult& result : run({{"send", way}}))
      EXPECT_TRUE(result.status) << way << ": " << result.status.error().message;
    const int calls = std::min<int>(g_control.calls, full_check() ? 120 : 40);
    for (int call = 1; call <= calls; ++call) {
      reset();
      g_control.fail_call = call;
      g_control.transfers_that_count = 12;
      for (const RankResult& result : run({{"send", way}}))
        if (g_control.calls >= call) expect_clear(result.status, static_cast<std::uint64_t>(call));
      ASSERT_EQ(open_descriptors(), descriptors_) << way << ", call " << call;
    }
  }
}

TEST_P(NetFaults, AStreamThatClosesEndsBothRanks) {
  g_control.close_after = 30;
  for (const RankResult& result : run({{"iterations", "1000"}})) {
    ASSERT_FALSE(result.status);
    EXPECT_EQ(result.status.error().code, Code::kUnavailable) << result.status.error().message;
    EXPECT_THAT(result.status.error().message, HasSubstr("the other side closed the connection"));
  }
}

TEST_P(NetFaults, AStreamThatHangsEndsAtTheStallLimit) {
  g_control.hang_after = 30;
  const auto results = run({{"iterations", "1000"}});
  ASSERT_FALSE(results[0].status);
  ASSERT_FALSE(results[1].status);
  const bool is_told =
      results[0].status.error().message.find("nothing moved for 0.3") != std::string::npos ||
      results[1].status.error().message.find("nothing moved for 0.3") != std::string::npos;
  EXPECT_TRUE(is_told) << results[0].status.error().message << " / "
                       << results[1].status.error().message;
}

TEST_P(NetFaults, PausesAreSlowWindowsAndNeverARateOfZero) {
  g_control.pause_ms = 35;
  // A proof's ring would pause before each of its messages.
  const auto results = run({{"stall_timeout", "10s"}, {"iterations", "12"}, {"verify", "false"}});
  for (const RankResult& result : results)
    ASSERT_TRUE(result.status) << result.status.error().message;
  ASSERT_EQ(results[0].points.size(), 1U);
  EXPECT_EQ(results[0].points[0].sample_count(), 12);
  EXPECT_GT(results[0].points[0].min(), 0);
}

TEST_P(NetFaults, TheTasksDeadlineEndsASamplingThatWouldGoOn) {
  // A machine that holds a rank up for long must not make it the stall limit that ends the task.
  const auto results = run({{"iterations", "10000000"}, {"stall_timeout", "10s"}}, 0.5);
  ASSERT_FALSE(results[0].status);
  ASSERT_FALSE(results[1].status);
  EXPECT_TRUE(results[0].status.error().code == Code::kDeadlineExceeded ||
              results[1].status.error().code == Code::kDeadlineExceeded)
      << results[0].status.error().message << " / " << results[1].status.error().message;
}

TEST_P(NetFaults, ADeadlineThatComesWhileStreamsAreOpenedIsNamed) {
  g_control.no_connects = 1;
  const auto results = run({{"stall_timeout", "10s"}}, 0.3);
  ASSERT_FALSE(results[0].status);
  ASSERT_FALSE(results[1].status);
  EXPECT_EQ(results[1].status.error().code, Code::kDeadlineExceeded)
      << results[1].status.error().message;
  EXPECT_THAT(results[1].status.error().message,
              ::testing::AllOf(HasSubstr("did not come to port"),
                               ::testing::EndsWith("; the task's deadline has come")));
}

TEST_P(NetFaults, StrangersAreRefusedAndTheTaskGoesOn) {
  // Whoever listens next on this port is the target; the strangers call until it is gone.
  auto free = tcp_listen({"127.0.0.1", 0});
  ASSERT_TRUE(free);
  const std::uint16_t port = local_address(*free).port;
  std::atomic<bool> done{false};
  std::thread strangers([&] {
    while (!done) {
      const auto socket = tcp_connect({"127.0.0.1", port}, monotonic_now_ns() + 5e6);
      if (socket)
        static_cast<void>(!::send(socket->get(), "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL));
    }
  });
  auto options = fake::PairOptions{.parameters = {{"netdev", "lo"},
                                                  {"stall_timeout", "2s"},
                                                  {"iterations", "3"},
                                                  {"proof_time", "0s"},
                                                  {"sizes", "4KiB"}},
                                   .endpoints = {"", ""},
                                   .target_parameters = {{"port", std::to_string(port)}}};
  free->reset();
  const auto results = run_pair(*find_kernel(GetParam()), options);
  done = true;
  strangers.join();
  for (const RankResult& result : results)
    EXPECT_TRUE(result.status) << result.status.error().message;
}

INSTANTIATE_TEST_SUITE_P(Kernels, NetFaults, ::testing::Values("net.tcp_lat", "net.tcp_bw"),
                         [](const auto& param) { return std::string(param.param).substr(4); });

}  // namespace
}  // namespace railgauge
