// The link against a real gRPC server on a unix socket.
#include "agent/link/link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/testing/fake_controller.h"
#include "agent/testing/temp_dir.h"
#include "controller/api/contract.h"

namespace railgauge::agent {
namespace {
using testing::HasSubstr;
using Answer = FakeController::Answer;
using Heard = FakeController::Heard;

api::AgentMessage step(std::uint32_t number) {
  api::AgentMessage message;
  message.mutable_step()->mutable_step()->set_step(number);
  return message;
}

class LinkTest : public testing::Test {
 protected:
  TempDir folder_;
  std::string target_ = "unix:" + folder_ / "controller.sock";
  std::unique_ptr<FakeController> controller_ = std::make_unique<FakeController>(target_);
  std::mutex mutex_;
  std::condition_variable rung_;
  bool ringing_ = false;
  int rings_ = 0;  // one for each event
  std::vector<LinkEvent> events_;
  std::unique_ptr<Link> link_;

  LinkOptions options() const {
    LinkOptions options;
    options.controller = target_;
    options.backoff = {.first_seconds = 0.01, .most_seconds = 0.05, .refused_seconds = 600};
    return options;
  }
  void start(const LinkOptions& options) {
    link_ = std::make_unique<Link>(options, [this] {
      const std::lock_guard lock(mutex_);
      ringing_ = true;
      ++rings_;
      rung_.notify_all();
    });
    api::Hello hello;
    hello.set_name("node-a");
    link_->set_hello(hello);
    link_->start();
  }
  // The next event of this kind; what came before it is kept in events_.
  std::optional<LinkEvent> next(LinkEvent::Kind kind) {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (!rung_.wait_for(lock, std::chrono::seconds(20), [this] { return ringing_; }))
        return std::nullopt;
      ringing_ = false;
      lock.unlock();
      for (LinkEvent& event : link_->take()) events_.push_back(std::move(event));
      lock.lock();
      for (auto it = events_.begin(); it != events_.end(); ++it)
        if (it->kind == kind) {
          LinkEvent found = *it;
          events_.erase(events_.begin(), it + 1);
          ringing_ = !events_.empty();
          return found;
        }
    }
  }
  static int steps(const Heard& heard) {
    return static_cast<int>(std::ranges::count_if(heard, &api::AgentMessage::has_step));
  }
};

TEST_F(LinkTest, SaysHelloWithItsContractAndIsWelcomed) {
  start(options());
  const auto attached = next(LinkEvent::Kind::kAttached);
  ASSERT_TRUE(attached);
  EXPECT_EQ(attached->message.welcome().controller_version(), "test");
  const Heard heard = controller_->heard();
  ASSERT_FALSE(heard.empty());
  EXPECT_EQ(heard[0].hello().name(), "node-a");
  EXPECT_EQ(heard[0].hello().contract().major(), api::kContract.major);
  EXPECT_EQ(heard[0].hello().contract().minor(), api::kContract.minor);
}

TEST_F(LinkTest, ComesBackAfterALostStreamWithoutWhatWasMeantForIt) {
  start(options());
  ASSERT_TRUE(next(LinkEvent::Kind::kAttached));
  controller_->drop();
  ASSERT_TRUE(next(LinkEvent::Kind::kLost));
  ASSERT_TRUE(link_->send(step(1)));
  ASSERT_TRUE(next(LinkEvent::Kind::kAttached));
  ASSERT_TRUE(link_->send(step(2)));
  ASSERT_TRUE(controller_->until([](const Heard& heard) { return steps(heard) > 0; }));
  EXPECT_EQ(controller_->heard().back().step().step().step(), 2u);
}

TEST_F(LinkTest, NothingGoesToAStreamThatItsOwnerHasNotHeardOf) {
  start(options());
  ASSERT_TRUE(next(LinkEvent::Kind::kAttached));
  controller_->drop();
  {  // Attached again; the owner still knows the previous stream only.
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(rung_.wait_for(lock, std::chrono::seconds(20), [this] { return rings_ == 3; }));
  }
  ASSERT_TRUE(link_->send(step(1)));
  ASSERT_TRUE(next(LinkEvent::Kind::kLost));
  ASSERT_TRUE(next(LinkEvent::Kind::kAttached));
  ASSERT_TRUE(link_->send(step(2)));
  ASSERT_TRUE(controller_->until([](const Heard& heard) { return steps(heard) > 0; }));
  for (const auto& message : controller_->heard())
    if (message.has_step()) {
      EXPECT_EQ(message.step().step().step(), 2u);
    }
}

TEST_F(LinkTest, WaitsForAControllerThatIsNotThereYet) {
  controller_.reset();
  start(options());
  const auto lost = next(LinkEvent::Kind::kLost);
  ASSERT_TRUE(lost);
  EXPECT_FALSE(lost->permanent);
  controller_ = std::make_unique<FakeController>(target_);
  EXPECT_TRUE(next(LinkEvent::Kind::kAttached));
}

TEST_F(LinkTest, APermanentRefusalIsToldAndWaitsUntilAskedAgain) {
  controller_->set_answer(Answer::kRefuseForGood);
  start(options());
  const auto lost = next(LinkEvent::Kind::kLost);
  ASSERT_TRUE(lost);
  EXPECT_TRUE(lost->permanent);
  EXPECT_EQ(lost->reason, "refused: the name is taken");
  controller_->set_answer(Answer::kWelcome);
  link_->redial();  // the next try by itself is minutes away
  EXPECT_TRUE(next(LinkEvent::Kind::kAttached));
}

TEST_F(LinkTest, APassingRefusalIsTriedAgainSoon) {
  controller_->set_answer(Answer::kRefuse);
  start(options());
  const auto lost = next(LinkEvent::Kind::kLost);
  ASSERT_TRUE(lost);
  EXPECT_FALSE(lost->permanent);
  controller_->set_answer(Answer::kWelcome);
  EXPECT_TRUE(next(LinkEvent::Kind::kAttached));
}

TEST_F(LinkTest, AContractTooFarApartIsRefusedNamingBoth) {
  controller_->set_answer(Answer::kOldContract);
  start(options());
  const auto lost = next(LinkEvent::Kind::kLost);
  ASSERT_TRUE(lost);
  EXPECT_TRUE(lost->permanent);
  EXPECT_THAT(lost->reason, HasSubstr("speaks contract 0.0, this agent 1.4"));
}

TEST_F(LinkTest, AControllerThatDoesNotAnswerIsLeft) {
  controller_->set_answer(Answer::kSilence);
  LinkOptions hasty = options();
  hasty.welcome_seconds = 0.1;
  start(hasty);
  const auto lost = next(LinkEvent::Kind::kLost);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->reason, "no answer within 0.1 s");
}

TEST_F(LinkTest, StopsWhileItDials) {
  controller_->set_answer(Answer::kSilence);
  start(options());
  ASSERT_TRUE(controller_->until([](const Heard& heard) { return !heard.empty(); }));
  link_->stop();
}

TEST_F(LinkTest, MissingCertificateFilesAreToldAndTriedAgain) {
  LinkOptions tls = options();
  tls.controller = "127.0.0.1:1";
  tls.tls_cert = tls.tls_key = tls.tls_ca = folder_ / "missing.pem";
  start(tls);
  const auto lost = next(LinkEvent::Kind::kLost);
  ASSERT_TRUE(lost);
  EXPECT_THAT(lost->reason, HasSubstr("missing.pem: read: No such file"));
}

TEST(LinkOptions, TcpNeedsCertificatesOrInsecure) {
  LinkOptions options;
  EXPECT_FALSE(check_link_options(options));
  options.controller = "head:7443";
  EXPECT_THAT(check_link_options(options).error().message, HasSubstr("--insecure"));
  options.insecure = true;
  EXPECT_TRUE(check_link_options(options));
  options.tls_cert = "cert.pem";
  EXPECT_THAT(check_link_options(options).error().message, HasSubstr("go together"));
  options.tls_key = options.tls_ca = "other.pem";
  options.insecure = false;
  EXPECT_TRUE(check_link_options(options));
  LinkOptions local;
  local.controller = "unix:/run/x.sock";
  EXPECT_TRUE(check_link_options(local));
}

}  // namespace
}  // namespace railgauge::agent
