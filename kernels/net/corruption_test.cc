// The TCP kernels over sockets that corrupt, drop, repeat or swap one message of 100,000: the proof
// after the timed part finds it on both ranks and names message and fault.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/catalog.h"
#include "kernels/fakes/pair.h"
#include "kernels/net/sockets.h"
#include "kernels/testing/contract.h"
#include "kernels/testing/corruption.h"

namespace railgauge {
namespace {

using fake::RankResult;
using fake::run_pair;
using ::testing::HasSubstr;

constexpr std::uint64_t kEvery = 100'000;
// Unlike the length of any order or greeting, so that a send of it is a message.
constexpr std::size_t kMessageBytes = 1024;
constexpr std::size_t kRoundHeadBytes = 24;

enum class Fault : std::uint8_t { kNone, kCorrupt, kDrop, kRepeat, kSwap };

const char* words_of(Fault fault) {
  constexpr std::array kWords{"none", "corrupt", "dropped", "repeated", "out of order"};
  return kWords[static_cast<std::size_t>(fault)];
}

using Bytes = std::vector<std::byte>;

// The faulty layer between the kernels and the C library.
struct Layer {
  std::mutex mutex;
  Fault fault = Fault::kNone;
  bool is_ping_pong = false;
  // The faulty side: the one that accepted, or the one that connected.
  bool of_acceptor = false;
  std::set<int> accepted;
  std::map<int, std::uint64_t> counted;
  std::map<int, Bytes> before;  // the message before, by socket
  std::map<int, Bytes> held;    // one that comes late
  std::set<int> proving;        // streams of tcp_bw on which a proof has begun

  void begin(Fault one, bool ping_pong, bool acceptor) {
    fault = one;
    is_ping_pong = ping_pong;
    of_acceptor = acceptor;
    accepted.clear();
    counted.clear();
    before.clear();
    held.clear();
    proving.clear();
  }
  // Counts a message; true for the one that is to suffer.
  bool suffers(int fd) { return ++counted[fd] % kEvery == 0; }
};
Layer g_layer;

bool send_whole(int fd, const std::byte* data, std::size_t count, int flags) {
  while (count > 0) {
    const ssize_t sent = ::send(fd, data, count, flags);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (sent <= 0) continue;
    data += sent;
    count -= static_cast<std::size_t>(sent);
  }
  return true;
}

// A message of a faulty sender: what it is replaced by. Empty: nothing is sent.
std::vector<Bytes> replaced(int fd, const std::byte* data, std::size_t count) {
  Bytes own(data, data + count);
  if (auto late = g_layer.held.extract(fd)) return {own, late.mapped()};
  const std::uint64_t number = g_layer.counted[fd];
  const bool suffers = g_layer.suffers(fd);
  // In a ping-pong no later message is on its way: it is looked at in its slot, behind this one.
  if (g_layer.fault == Fault::kSwap && g_layer.is_ping_pong) {
    if (suffers) return {Bytes(data + count, data + 2 * count)};
    if (number > 0 && number % kEvery == 0) return {Bytes(data - count, data)};
    return {own};
  }
  const Bytes before = std::exchange(g_layer.before[fd], own);
  if (!suffers) return {own};
  switch (g_layer.fault) {
    case Fault::kCorrupt:
      own[count / 2] ^= std::byte{0x40};
      return {own};
    case Fault::kDrop:
      return {};
    case Fault::kRepeat:
      return {before};
    case Fault::kSwap:
      g_layer.held[fd] = own;
      return {};
    case Fault::kNone:
      break;
  }
  return {own};
}

// Whether a fault can be on this send; the layer's lock is held.
bool may_suffer(int fd, std::size_t count) {
  const bool is_sender = g_layer.accepted.contains(fd) == g_layer.of_acceptor;
  const bool counts = g_layer.is_ping_pong || g_layer.proving.contains(fd);
  const bool drops_at_arrival = g_layer.fault == Fault::kDrop && g_layer.is_ping_pong;
  return g_layer.fault != Fault::kNone && count == kMessageBytes && is_sender && counts &&
         !drops_at_arrival;
}

// No call of the C library is made under the lock: it may wait for the other rank.
ssize_t faulty_send(int fd, const void* bytes, std::size_t count, int flags) {
  std::optional<std::vector<Bytes>> sent;
  {
    const std::lock_guard lock(g_layer.mutex);
    if (count == kRoundHeadBytes) g_layer.proving.insert(fd);
    if (may_suffer(fd, count)) sent = replaced(fd, static_cast<const std::byte*>(bytes), count);
  }
  if (!sent) return ::send(fd, bytes, count, flags);
  for (const Bytes& one : *sent)
    if (!send_whole(fd, one.data(), one.size(), flags)) return -1;
  return static_cast<ssize_t>(count);
}

// A dropped message of a ping-pong: its bytes are taken from the stream and reach no buffer, for
// without them the stream would only stand still.
ssize_t faulty_recv(int fd, void* bytes, std::size_t count, int flags) {
  const bool may_drop = [&] {
    const std::lock_guard lock(g_layer.mutex);
    return g_layer.fault == Fault::kDrop && g_layer.is_ping_pong && count == kMessageBytes &&
           g_layer.accepted.contains(fd) != g_layer.of_acceptor;
  }();
  if (!may_drop) return ::recv(fd, bytes, count, flags);
  Bytes scratch(count);
  const ssize_t got = ::recv(fd, scratch.data(), count, flags | MSG_PEEK);
  if (got != static_cast<ssize_t>(count)) {
    if (got > 0) errno = EAGAIN;  // until the whole message is there
    return got > 0 ? -1 : got;
  }
  const bool drops = [&] {
    const std::lock_guard lock(g_layer.mutex);
    return g_layer.suffers(fd);
  }();
  return ::recv(fd, drops ? scratch.data() : bytes, count, flags);
}

int noted_accept4(int fd, sockaddr* address, socklen_t* length, int flags) {
  const int made = ::accept4(fd, address, length, flags);
  const std::lock_guard lock(g_layer.mutex);
  if (made >= 0) g_layer.accepted.insert(made);
  return made;
}

net::Sockets faulty_sockets() {
  net::Sockets table = net::kSystemSockets;
  table.accept4 = noted_accept4;
  table.send = faulty_send;
  table.recv = faulty_recv;
  return table;
}

struct Case {
  const char* kernel;
  const char* direction;  // "": the kernel has none
  bool of_acceptor;
  const char* streams = "";

  // Which of the kernel's ways, and which rank's messages suffer: rank 1 accepts.
  [[nodiscard]] std::string label() const {
    std::string all = kernel;
    if (*direction != '\0')
      all += std::string(direction) == "both" ? ", both directions" : ", one way";
    if (*streams != '\0') all += std::string(", ") + streams + " streams";
    return all + (of_acceptor ? ", from rank 1" : ", from rank 0");
  }
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.label(); }

class NetCorruption : public ::testing::TestWithParam<std::tuple<Case, Fault>> {
 protected:
  void SetUp() override {
    static const net::Sockets kFaulty = faulty_sockets();
    net::set_sockets(kFaulty);
    fake::test_clock();
  }
  void TearDown() override { net::set_sockets(net::kSystemSockets); }

  static auto run(const Case& one, Fault fault, const std::string& messages) {
    g_layer.begin(fault, *one.direction == '\0', one.of_acceptor);
    std::map<std::string, std::string> parameters{{"netdev", "lo"},       {"stall_timeout", "2s"},
                                                  {"sizes", messages},    {"iterations", "3"},
                                                  {"proof_time", "100s"}, {"wait", "sleep"}};
    if (*one.direction != '\0') {
      parameters.erase("wait");
      parameters["direction"] = one.direction;
      if (*one.streams != '\0') parameters["streams"] = one.streams;
    }
    return run_pair(*find_kernel(one.kernel),
                    {.parameters = parameters, .endpoints = {"", ""}, .deadline_seconds = 200});
  }
};

TEST_P(NetCorruption, OfOneMessageInAHundredThousandFailsBothRanksAndIsNamed) {
  const auto& [one, fault] = GetParam();
  // The short check has the way out of rank 0 for the ping-pong, and all of the streams.
  if (one.of_acceptor && *one.direction == '\0' && !full_check()) return;
  const auto results = run(one, fault, "1KiB");
  const std::string proved =
      results[0].points.empty() ? "0" : results[0].points[0].facts().at("proved_messages");
  print_corruption(one.label(), words_of(fault), fault == Fault::kNone ? 0 : kEvery,
                   outcome_word(results[0].status), proved);
  if (fault == Fault::kNone) {
    for (const RankResult& result : results)
      ASSERT_TRUE(result.status) << result.status.error().message;
    ASSERT_EQ(results[0].points.size(), 1U);
    EXPECT_GE(std::stoull(proved), 500'000U);
    EXPECT_EQ(std::stoull(results[0].points[0].facts().at("proved_bytes")),
              std::stoull(proved) * kMessageBytes);
    return;
  }
  for (const RankResult& result : results) {
    ASSERT_FALSE(result.status);
    const std::string& message = result.status.error().message;
    EXPECT_EQ(result.status.error().code, Code::kDataLoss) << message;
    EXPECT_THAT(message, HasSubstr("127.0.0.1 (lo): verify stream "));
    EXPECT_THAT(message, ::testing::ContainsRegex("message 999[0-9]+ of 1KiB, slot [0-9]+: byte "));
    EXPECT_THAT(message, HasSubstr(", expected 0x"));
    EXPECT_THAT(message, ::testing::EndsWith(words_of(fault))) << message;
    EXPECT_TRUE(result.points.empty());
  }
}

std::string name_of_case(const ::testing::TestParamInfo<std::tuple<Case, Fault>>& chosen) {
  const auto& [one, fault] = chosen.param;
  std::string name = std::string(one.kernel).substr(4) + "_" + one.direction +
                     (one.of_acceptor ? "_rank1_" : "_rank0_") + words_of(fault);
  std::ranges::replace(name, ' ', '_');
  return name;
}

// The ends of the link: a message goes from rank 0 in one_way, and from both otherwise.
INSTANTIATE_TEST_SUITE_P(
    Kernels, NetCorruption,
    ::testing::Combine(::testing::Values(Case{"net.tcp_lat", "", false},
                                         Case{"net.tcp_lat", "", true},
                                         Case{"net.tcp_bw", "one_way", false},
                                         Case{"net.tcp_bw", "both", false},
                                         Case{"net.tcp_bw", "both", true, "2"}),
                       ::testing::Values(Fault::kNone, Fault::kCorrupt, Fault::kDrop,
                                         Fault::kRepeat, Fault::kSwap)),
    name_of_case);

TEST(NetProof, OfEachSizeHasItsShareAndAtLeastOneRing) {
  for (const char* kernel : {"net.tcp_lat", "net.tcp_bw"}) {
    const auto results = run_pair(*find_kernel(kernel), {.parameters = {{"netdev", "lo"},
                                                                        {"sizes", "1,64KiB,16MiB"},
                                                                        {"iterations", "3"},
                                                                        {"proof_time", "0s"}},
                                                         .endpoints = {"", ""}});
    for (const RankResult& result : results)
      ASSERT_TRUE(result.status) << result.status.error().message;
    const std::uint64_t both_ways = std::string(kernel) == "net.tcp_lat" ? 2 : 1;
    std::vector<std::uint64_t> proved;
    for (const Point& point : results[0].points)
      proved.push_back(std::stoull(point.facts().at("proved_messages")) / both_ways);
    EXPECT_THAT(proved, ::testing::ElementsAre(512, 128, 1)) << kernel;
  }
}

TEST(NetProof, IsNoneWithoutVerification) {
  for (const char* kernel : {"net.tcp_lat", "net.tcp_bw"}) {
    const auto results = run_pair(
        *find_kernel(kernel),
        {.parameters = {{"netdev", "lo"}, {"sizes", "8"}, {"iterations", "3"}, {"verify", "false"}},
         .endpoints = {"", ""}});
    ASSERT_TRUE(results[0].status) << results[0].status.error().message;
    EXPECT_FALSE(results[0].points[0].facts().contains("proved_messages")) << kernel;
    EXPECT_FALSE(results[0].points[0].verified());
  }
}

}  // namespace
}  // namespace railgauge
