#include "controller/http/connections.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <iterator>
#include <list>
#include <thread>

#include <gtest/gtest.h>

#include "kernels/core/base/fd.h"

namespace railgauge::http {
namespace {

class ConnectionPages : public testing::Test {
 protected:
  struct Peer {
    Connections::Connection* connection = nullptr;
    Fd socket{};
    [[nodiscard]] bool was_ended() const {
      pollfd look{socket.get(), POLLIN, 0};
      return ::poll(&look, 1, 0) == 1;
    }
  };
  // A connection of one source that asks for a page.
  Peer& ask() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    Peer& peer = peers_.emplace_back();
    peer.socket = Fd(ends[1]);
    peer.connection = connections_.admit(ends[0], "source");
    connections_.set_answering(peer.connection, true);
    return peer;
  }
  static void make_old(Peer& peer) {
    peer.connection->since_ns -= 2 * Connections::kSlowAnswerSeconds * 1e9;
  }
  void TearDown() override {
    for (Peer& peer : peers_)
      if (peer.connection != nullptr) connections_.release(peer.connection);
  }

  Connections connections_;
  std::list<Peer> peers_;
};

TEST_F(ConnectionPages, ThatAreBeingMadeAreEndedForNobody) {
  for (std::size_t i = 0; i < Connections::kMostPagesOfOneSource; ++i) {
    Peer& peer = ask();
    ASSERT_TRUE(connections_.take_page(peer.connection));
    make_old(peer);
  }
  Peer& later = ask();
  bool has_page = false;
  std::thread wait([&] { has_page = connections_.take_page(later.connection); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  for (const Peer& peer : peers_) EXPECT_FALSE(peer.was_ended());
  connections_.set_answering(peers_.front().connection, false);
  wait.join();
  EXPECT_TRUE(has_page) << "a place got free";
}

TEST_F(ConnectionPages, OfReadersKeepNobodyFromActingAndTheirSlowPeersStay) {
  for (std::size_t i = 0; i < Connections::kMostPagesOfOneSource; ++i) {
    Peer& reader = ask();
    ASSERT_TRUE(connections_.take_page(reader.connection));
    connections_.page_made(reader.connection);
    make_old(reader);
  }
  for (std::size_t i = 0; i < Connections::kMostPagesOfOneSource; ++i)
    ASSERT_TRUE(connections_.take_page(ask().connection, Connections::Place::kAct));
  for (const Peer& peer : peers_) EXPECT_FALSE(peer.was_ended());
  Peer& later = ask();
  std::atomic<bool> acts = false;
  std::thread wait(
      [&] { acts = connections_.take_page(later.connection, Connections::Place::kAct); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_FALSE(acts) << "those who act have their bound too";
  connections_.set_answering(std::prev(peers_.end(), 2)->connection, false);
  wait.join();
  EXPECT_TRUE(acts);
}

TEST_F(ConnectionPages, OfASlowPeerMakeRoomOnceTheyAreMade) {
  for (std::size_t i = 0; i < Connections::kMostPagesOfOneSource; ++i)
    ASSERT_TRUE(connections_.take_page(ask().connection));
  Peer& slow = peers_.front();
  connections_.page_made(slow.connection);
  make_old(slow);
  EXPECT_TRUE(connections_.take_page(ask().connection));
  EXPECT_TRUE(slow.was_ended());
}

}  // namespace
}  // namespace railgauge::http
