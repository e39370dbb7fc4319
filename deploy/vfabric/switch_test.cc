#include "deploy/vfabric/switch.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

namespace railgauge::vfabric {
namespace {

// Addresses are one byte six times; an even byte is a station, an odd one a group.
constexpr char kBroadcast = '\xff', kAlice = 'b', kBob = 'd';
constexpr std::size_t kPorts = 3;

// A guest's end of the wire: a real socket at DIR/n.N that sends to DIR/sw.N.
class Guest {
 public:
  Guest(const std::string& directory, int number)
      : peer_(make_address(directory + "/sw." + std::to_string(number))),
        file_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
    const sockaddr_un own = make_address(directory + "/n." + std::to_string(number));
    ::unlink(own.sun_path);
    RG_CHECK(::bind(file_.get(), reinterpret_cast<const sockaddr*>(&own), sizeof(own)) == 0);
  }

  bool send(char target, char source, const std::string& text) const {
    const std::string frame = std::string(6, target) + std::string(6, source) + "##" + text;
    return ::sendto(file_.get(), frame.data(), frame.size(), 0,
                    reinterpret_cast<const sockaddr*>(&peer_), sizeof(peer_)) >= 0;
  }

  // The text of the next frame, or "-" when there is none.
  [[nodiscard]] std::string next() const {
    std::string frame(kMaxFrameBytes, '\0');
    const ssize_t bytes = ::recv(file_.get(), frame.data(), frame.size(), 0);
    return bytes < 0 ? "-" : frame.substr(14, static_cast<std::size_t>(bytes) - 14);
  }

 private:
  static sockaddr_un make_address(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    return address;
  }

  sockaddr_un peer_;
  File file_;
};

class SwitchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "switch.XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    auto made = Switch::open(directory_, kPorts);
    ASSERT_TRUE(made.has_value());
    switch_ = std::move(*made);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  void settle() {
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(switch_.step(0).has_value());
  }

  std::string directory_;
  Switch switch_;
};

TEST_F(SwitchTest, FloodsABroadcastToEveryPortButItsOwn) {
  const Guest one(directory_, 1), two(directory_, 2), three(directory_, 3);
  ASSERT_TRUE(one.send(kBroadcast, kAlice, "hello"));
  settle();
  EXPECT_EQ(one.next(), "-");
  EXPECT_EQ(two.next(), "hello");
  EXPECT_EQ(three.next(), "hello");
}

TEST_F(SwitchTest, SendsAFrameToTheOnePortThatItsAddressWasLearnedOn) {
  const Guest one(directory_, 1), two(directory_, 2), three(directory_, 3);
  ASSERT_TRUE(one.send(kBroadcast, kAlice, "here I am"));
  settle();
  EXPECT_EQ(two.next(), "here I am");
  EXPECT_EQ(three.next(), "here I am");
  ASSERT_TRUE(two.send(kAlice, kBob, "reply"));
  settle();
  EXPECT_EQ(one.next(), "reply");
  EXPECT_EQ(three.next(), "-");
}

TEST_F(SwitchTest, CarriesAFrameAboveEthernetsUsualSize) {
  const Guest one(directory_, 1), two(directory_, 2);
  const std::string large(9000, 'x');
  ASSERT_TRUE(one.send(kBroadcast, kAlice, large));
  settle();
  EXPECT_EQ(two.next(), large);
}

TEST_F(SwitchTest, ServesTheOthersWhileADeadGuestIsSentTo) {
  const Guest one(directory_, 1), two(directory_, 2);
  {
    const Guest dead(directory_, 3);
    ASSERT_TRUE(one.send(kBroadcast, kAlice, "before"));
    settle();
    EXPECT_EQ(dead.next(), "before");
  }
  EXPECT_EQ(two.next(), "before");
  ASSERT_TRUE(one.send(kBroadcast, kAlice, "after"));
  settle();
  EXPECT_EQ(two.next(), "after");
  EXPECT_EQ(switch_.dropped_frames(), 1U);
}

TEST_F(SwitchTest, ReachesAGuestThatWasStartedAgain) {
  const Guest one(directory_, 1);
  {
    const Guest first(directory_, 2);
    ASSERT_TRUE(one.send(kBroadcast, kAlice, "first"));
    settle();
  }
  const Guest second(directory_, 2);
  ASSERT_TRUE(one.send(kBroadcast, kAlice, "second"));
  settle();
  EXPECT_EQ(second.next(), "second");
}

TEST_F(SwitchTest, BoundsTheQueueOfAGuestThatDoesNotReadAndKeepsItsOrder) {
  const Guest one(directory_, 1), two(directory_, 2), stopped(directory_, 3);
  constexpr int kFrames = 2000;  // more than the queue and the sockets' own room
  for (int i = 0; i < kFrames; ++i) {
    ASSERT_TRUE(one.send(kBroadcast, kAlice, std::to_string(i)));
    settle();
    ASSERT_EQ(two.next(), std::to_string(i)) << "a stopped guest delayed another";
  }
  EXPECT_GT(switch_.dropped_frames(), 0U);
  int received = 0;
  for (int idle = 0; idle < 4;) {
    const std::string text = stopped.next();
    if (text == "-") {
      ++idle;
      settle();
      continue;
    }
    idle = 0;
    ASSERT_EQ(text, std::to_string(received));
    ++received;
  }
  EXPECT_EQ(static_cast<std::uint64_t>(received) + switch_.dropped_frames(), kFrames);
}

TEST(Switch, RefusesAFolderThatCannotHoldItsSockets) {
  EXPECT_FALSE(Switch::open("/nonexistent", kPorts).has_value());
  EXPECT_FALSE(Switch::open("/tmp", 0).has_value());
  EXPECT_FALSE(Switch::open("/" + std::string(200, 'x'), 1).has_value());
}

}  // namespace
}  // namespace railgauge::vfabric
