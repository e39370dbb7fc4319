#include "controller/standby/front.h"

#include <filesystem>

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

TEST(Front, FreesItsPortsForTheActiveController) {
  const store::TempFolder folder;
  for (int i = 0; i < 3; ++i) {
    const auto front = Front::start({.socket = folder.file("sock"), .listen = "127.0.0.1:17443"},
                                    {}, {.sentence = [] { return std::string(); }});
    EXPECT_TRUE(front) << front.error().message;
  }
  EXPECT_FALSE(std::filesystem::exists(folder.file("sock")));
}

}  // namespace
}  // namespace railgauge::standby
