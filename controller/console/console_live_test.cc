// Pages that follow runs, on a whole controller over real HTTP.
#include <chrono>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/console/run_feed.h"
#include "controller/testing/console_bench.h"

namespace railgauge::console {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using testing_agent::Script;
using testing_agent::ScriptedAgent;
using testing_agent::welcome;

// One stream of server-sent events, read on a thread of its own until its end.
class Stream {
 public:
  Stream(int port, const std::string& path, const httplib::Headers& headers)
      : client_("127.0.0.1", port), thread_([this, path, headers] {
          client_.set_read_timeout(60);
          const auto answer = client_.Get(
              path, headers,
              [this](const httplib::Response& head) {
                const std::lock_guard lock(mutex_);
                status_ = head.status;
                type_ = head.get_header_value("Content-Type");
                return true;
              },
              [this](const char* bytes, std::size_t size) {
                const std::lock_guard lock(mutex_);
                text_.append(bytes, size);
                return true;
              });
          const std::lock_guard lock(mutex_);
          has_ended_ = true;
        }) {}
  ~Stream() {
    client_.stop();
    thread_.join();
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  bool wait_until(const std::function<bool()>& condition) {
    for (int i = 0; i < 3'000; ++i) {
      {
        const std::lock_guard lock(mutex_);
        if (condition()) return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  bool says(const std::string& words) {
    return wait_until([&] { return text_.find(words) != std::string::npos; });
  }
  bool ends() {
    return wait_until([&] { return has_ended_; });
  }
  int status() {
    wait_until([&] { return status_ != 0; });
    return status_;
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  std::string type() {
    const std::lock_guard lock(mutex_);
    return type_;
  }

 private:
  std::mutex mutex_;
  int status_ = 0;
  std::string type_;
  std::string text_;
  bool has_ended_ = false;
  httplib::Client client_;
  std::thread thread_;
};

class ConsoleLive : public testing_agent::ConsoleServer {
 protected:
  std::string start_run() {
    api::RunRequest request;
    request.mutable_suite()->set_name("pairs");
    grpc::ClientContext context;
    api::RunSummary run;
    const grpc::Status status = bench_.stub_->StartRun(&context, request, &run);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return run.run_id();
  }
  void cancel(const std::string& run_id) {
    api::RunRef ref;
    ref.set_run_id(run_id);
    grpc::ClientContext context;
    api::RunSummary run;
    EXPECT_TRUE(bench_.stub_->CancelRun(&context, ref, &run).ok());
  }
  [[nodiscard]] int port() const { return bench_.server_->console_port(); }
};

TEST_F(ConsoleLive, APageFollowsARunToItsEnd) {
  start();
  ScriptedAgent a(bench_.agent("n1", Script::kHang));
  ScriptedAgent b(bench_.agent("n2", Script::kHang));
  ASSERT_TRUE(welcome(a) && welcome(b));
  const httplib::Headers session = sign_in();
  const std::string run_id = start_run();
  Stream first(port(), "/api/v1/live/runs/" + run_id, session);
  EXPECT_TRUE(first.says("event: state\ndata: {\"run\":{")) << first.text();
  EXPECT_EQ(first.status(), 200);
  EXPECT_EQ(first.type(), "text/event-stream");
  EXPECT_THAT(first.text(), StartsWith("retry: "));
  // One that comes later, or again, begins with the present state.
  Stream second(port(), "/api/v1/live/runs/" + run_id, session);
  EXPECT_TRUE(second.says(R"("state":"running")")) << second.text();
  cancel(run_id);
  for (Stream* stream : {&first, &second}) {
    EXPECT_TRUE(stream->says(R"("outcome":"cancelled")")) << stream->text();
    EXPECT_TRUE(stream->says("event: end\ndata: {}\n\n")) << stream->text();
    EXPECT_TRUE(stream->ends());
  }
  Stream late(port(), "/api/v1/live/runs/" + run_id, session);
  EXPECT_TRUE(late.says("event: end")) << "an ended run has one state";
  EXPECT_THAT(late.text(), HasSubstr(R"("outcome":"cancelled")"));
}

TEST_F(ConsoleLive, TheOverviewFollowsTheNewestRuns) {
  start();
  ScriptedAgent a(bench_.agent("n1"));
  ScriptedAgent b(bench_.agent("n2"));
  ASSERT_TRUE(welcome(a) && welcome(b));
  Stream stream(port(), "/api/v1/live/runs", sign_in());
  EXPECT_TRUE(stream.says(R"("runs":[])")) << stream.text();
  const std::string run_id = start_run();
  bench_.end_of(run_id);
  EXPECT_TRUE(stream.says(run_id)) << stream.text();
  EXPECT_TRUE(stream.says(R"("outcome":"passed")")) << stream.text();
}

TEST_F(ConsoleLive, StatesOfSyntheticDataSaySo) {
  bench_.config_.synthetic = true;
  start();
  Stream stream(port(), "/api/v1/live/runs", sign_in());
  EXPECT_TRUE(stream.says(R"("data_kind":"synthetic"})")) << stream.text();
}

TEST_F(ConsoleLive, UnknownRunsAndStrangersGetAnErrorAndNoStream) {
  start();
  const auto unknown = client_->Get("/api/v1/live/runs/no-such-run", sign_in());
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->status, 400) << unknown->body;
  EXPECT_THAT(unknown->body, HasSubstr("no-such-run"));
  EXPECT_EQ(client_->Get("/api/v1/live/runs")->status, 401);
  EXPECT_EQ(client_->Head("/api/v1/live/runs", sign_in())->status, 405);
}

TEST_F(ConsoleLive, APersonHasFewStreamsAndTheyEndWithTheSession) {
  serve_certificates();
  start();
  const httplib::Headers session = sign_in();
  std::list<Stream> streams;
  for (std::size_t i = 0; i < RunFeed::kMostOfOnePerson; ++i)
    EXPECT_EQ(streams.emplace_back(port(), "/api/v1/live/runs", session).status(), 200);
  const auto more = client_->Get("/api/v1/live/runs", sign_in());
  ASSERT_TRUE(more);
  EXPECT_EQ(more->status, 429) << "another session of the same person" << more->body;
  EXPECT_TRUE(more->has_header("Retry-After"));
  Stream other(port(), "/api/v1/live/runs", sign_in_with("vic", "viewer"));
  EXPECT_EQ(other.status(), 200) << "another person's";
  streams.pop_back();  // the peer leaves
  int status = 0;
  for (int i = 0; i < 500 && status != 200; ++i) {
    Stream again(port(), "/api/v1/live/runs", session);
    status = again.status();
  }
  EXPECT_EQ(status, 200) << "a place is free again";
  EXPECT_EQ(client_->Post("/logout", session, "", "text/plain")->status, 200);
  for (Stream& stream : streams) EXPECT_TRUE(stream.ends()) << "its session has ended";
}

TEST_F(ConsoleLive, AllPersonsTogetherHaveFewStreams) {
  serve_certificates();
  start();
  std::list<Stream> streams;
  while (streams.size() < RunFeed::kMostFollowers) {
    const httplib::Headers session =
        sign_in_with(fmt::format("viewer{}", streams.size()), "viewer");
    for (std::size_t i = 0; i < RunFeed::kMostOfOnePerson; ++i)
      EXPECT_EQ(streams.emplace_back(port(), "/api/v1/live/runs", session).status(), 200);
  }
  const httplib::Headers session = sign_in();
  const auto more = client_->Get("/api/v1/live/runs", session);
  ASSERT_TRUE(more);
  EXPECT_EQ(more->status, 429) << more->body;
  EXPECT_EQ(client_->Get("/api/v1/runs", session)->status, 200) << "who reads has room";
}

TEST_F(ConsoleLive, FewRunsAreFollowedAtATime) {
  serve_certificates();
  start();
  ScriptedAgent a(bench_.agent("n1", Script::kHang));
  ScriptedAgent b(bench_.agent("n2", Script::kHang));
  ASSERT_TRUE(welcome(a) && welcome(b));
  const std::vector<httplib::Headers> people{sign_in_with("vic", "viewer"),
                                             sign_in_with("val", "viewer")};
  std::list<Stream> streams;
  std::vector<std::string> runs;  // the first is under way, the others wait
  for (std::size_t i = 0; i < RunFeed::kMostRuns; ++i) {
    runs.push_back(start_run());
    EXPECT_EQ(
        streams.emplace_back(port(), "/api/v1/live/runs/" + runs.back(), people[i % 2]).status(),
        200);
  }
  const std::string one_more = start_run();
  const auto more = client_->Get("/api/v1/live/runs/" + one_more, people[0]);
  ASSERT_TRUE(more);
  EXPECT_EQ(more->status, 429) << more->body;
  EXPECT_THAT(more->body, HasSubstr(fmt::format("follows {} runs", RunFeed::kMostRuns)));
  Stream again(port(), "/api/v1/live/runs/" + runs.front(), people[0]);
  EXPECT_EQ(again.status(), 200) << "one that is followed already";
  Stream list(port(), "/api/v1/live/runs", people[1]);
  EXPECT_EQ(list.status(), 200) << "the list is none of them";
  cancel(runs.back());
  EXPECT_TRUE(streams.back().ends());
  int status = 0;
  for (int i = 0; i < 500 && status != 200; ++i) {
    Stream other(port(), "/api/v1/live/runs/" + one_more, people[1]);
    status = other.status();
  }
  EXPECT_EQ(status, 200) << "a place is free again";
}

TEST_F(ConsoleLive, StreamsEndWithTheController) {
  start();
  ScriptedAgent a(bench_.agent("n1", Script::kHang));
  ScriptedAgent b(bench_.agent("n2", Script::kHang));
  ASSERT_TRUE(welcome(a) && welcome(b));
  const httplib::Headers session = sign_in();
  Stream list(port(), "/api/v1/live/runs", session);
  Stream run(port(), "/api/v1/live/runs/" + start_run(), session);
  EXPECT_TRUE(list.says("event: state"));
  EXPECT_TRUE(run.says("event: state"));
  bench_.stop();
  EXPECT_TRUE(list.ends());
  EXPECT_TRUE(run.ends());
}

}  // namespace
}  // namespace railgauge::console
