// The service for a launcher's shims: its answers to callers that are no shim, or no longer one.
#include "kernels/launch/node/launch_service.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include <gmock/gmock.h>

#include "kernels/launch/node/folder.h"
#include "kernels/launch/testing/proxy.h"

namespace railgauge {
namespace {

using launch::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string ask() { return launch::encode(Kind::kAsk, launch::join_words(testing_proxy::words())); }

class Service : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string path = folder_.path() + "/shims";
    Fd listener = std::move(*listen_at_path(path));
    service_ = std::make_unique<LaunchService>(
        std::move(listener),
        LaunchService::Options{.shim = testing_proxy::kShim,
                               .lease = testing_proxy::lease(),
                               .rank_of = {{"192.0.2.2", 1}}},
        LaunchService::Hooks{
            .ask = [this](const LaunchAsk& one) { asked_.push_back(one.number()); },
            .signal = [this](const LaunchSignal& one) { ended_.push_back(one.number()); },
            .refused = [this](const std::string& why) { refused_ += why + "\n"; }});
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    caller_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the interface of sockets
    const auto* name = reinterpret_cast<const sockaddr*>(&address);
    ASSERT_EQ(::connect(caller_.get(), name, sizeof address), 0);
  }
  void say(const std::string& bytes) {
    ASSERT_EQ(::write(caller_.get(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
    service_->service();
  }
  // The service's output after it has released the caller.
  std::string kinds() const {
    launch::Decoder decoder;
    std::string bytes(64U << 10U, '\0');
    for (ssize_t n = 0; (n = ::read(caller_.get(), bytes.data(), bytes.size())) > 0;)
      decoder.feed({bytes.data(), static_cast<std::size_t>(n)});
    std::string out;
    while (const auto frame = decoder.next()) out += static_cast<char>(frame->kind);
    return decoder.garbage() ? "garbage" : out;
  }

  OwnFolder folder_ = std::move(*OwnFolder::make());
  std::vector<std::uint32_t> asked_;
  std::vector<std::uint32_t> ended_;
  std::string refused_;
  std::unique_ptr<LaunchService> service_;
  Fd caller_;
};

TEST_F(Service, OneThatAsksASecondTimeIsLetGoWithItsDaemon) {
  say(ask());
  EXPECT_THAT(asked_, ElementsAre(1U));
  say(ask());
  EXPECT_THAT(asked_, ElementsAre(1U));
  EXPECT_THAT(ended_, ElementsAre(1U));
  EXPECT_THAT(refused_, HasSubstr("a second daemon for one shim; refused"));
  EXPECT_EQ(service_->waiting(), 0U);
}

TEST_F(Service, OneThatSendsGarbageIsLetGoWithItsDaemon) {
  say(ask());
  say("what is this");
  EXPECT_THAT(ended_, ElementsAre(1U));
  EXPECT_THAT(refused_, HasSubstr("bytes that are no shim's; refused"));
  EXPECT_EQ(service_->waiting(), 0U);
}

TEST_F(Service, AWordOutOfTurnIsRefusedAndLogged) {
  say(launch::encode(Kind::kExit, "0"));
  EXPECT_THAT(refused_, HasSubstr("a word out of turn; refused"));
  EXPECT_THAT(ended_, IsEmpty());  // it has none
  EXPECT_EQ(service_->waiting(), 0U);
}

TEST_F(Service, OnlyTheAskedRanksNewsCount) {
  say(ask());
  LaunchNews news;
  news.set_number(1);
  news.set_wait_status(W_EXITCODE(3, 0));
  service_->forward(2, news);
  EXPECT_EQ(service_->waiting(), 1U);
  service_->forward(1, news);
  EXPECT_EQ(service_->waiting(), 0U);
  EXPECT_EQ(kinds(), "x");
}

// A partly written frame cannot be taken back: the reader would misread the next one.
TEST_F(Service, OneThatDoesNotReadIsLetGoWithItsDaemon) {
  say(ask());
  LaunchNews news;
  news.set_number(1);
  news.set_out(std::string(16U << 10U, 'x'));
  constexpr int kMoreThanASocketHolds = 64;
  for (int i = 0; i < kMoreThanASocketHolds && ended_.empty(); ++i) service_->forward(1, news);
  EXPECT_THAT(ended_, ElementsAre(1U));
  EXPECT_EQ(service_->waiting(), 0U);
}

}  // namespace
}  // namespace railgauge
