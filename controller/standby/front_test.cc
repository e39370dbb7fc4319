#include "controller/standby/front.h"

#include <filesystem>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controller/api/agent.grpc.pb.h"
#include "controller/store/testing/store_testing.h"

namespace railgauge::standby {
namespace {

// A stream of an agent ends with the sentence, as a call of a person does.
TEST(Front, EndsStreamsWithTheSentence) {
  const store::TempFolder folder;
  const auto front = Front::start({.socket = folder.file("sock")}, {},
                                  {.sentence = [] { return std::string("b is active"); }});
  ASSERT_TRUE(front) << front.error().message;
  const auto stub = api::AgentLink::NewStub(
      grpc::CreateChannel("unix:" + folder.file("sock"), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const auto stream = stub->Attach(&context);
  stream->Write(api::AgentMessage());
  api::ControllerMessage message;
  EXPECT_FALSE(stream->Read(&message));
  const grpc::Status ended = stream->Finish();
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ended.error_message(), "b is active");
}

// Notes what is asked of it.
class NotedPort final : public FrontPort {
 public:
  explicit NotedPort(std::string& acts) : acts_(acts) {}
  ~NotedPort() override { acts_ += "gone "; }
  Status start() override { return note("start"); }
  void stop() override { static_cast<void>(note("stop")); }
  void finish() override { static_cast<void>(note("finish")); }
  void tick() override { static_cast<void>(note("tick")); }
  [[nodiscard]] int port() const override { return 1; }

 private:
  Status note(std::string_view act) {
    acts_ += fmt::format("{} ", act);
    return {};
  }
  std::string& acts_;
};

TEST(Front, FreesItsPortsForTheActiveController) {
  const store::TempFolder folder;
  for (int i = 0; i < 3; ++i) {
    std::string acts;
    const OpenPort open_port = [&acts](grpc::ServerBuilder&, auth::PeerBook&) {
      return Result<std::unique_ptr<FrontPort>>(std::make_unique<NotedPort>(acts));
    };
    {
      const auto front = Front::start({.socket = folder.file("sock"), .open_port = open_port}, {},
                                      {.sentence = [] { return std::string(); }});
      ASSERT_TRUE(front) << front.error().message;
      (*front)->tick();
    }
    EXPECT_EQ(acts, "start tick stop finish gone ");
  }
  EXPECT_FALSE(std::filesystem::exists(folder.file("sock")));
}

}  // namespace
}  // namespace railgauge::standby
