// Floods of agents' streams and of Hellos, by one certificate.
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "controller/api/agent.grpc.pb.h"
#include "controller/testing/attacker/attacks.h"
#include "controller/testing/attacker/hello.h"

namespace railgauge::attacker {
namespace {

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// A connection of its own, however many have the same target.
std::shared_ptr<grpc::Channel> channel_of(const Arguments& arguments) {
  grpc::ChannelArguments options;
  options.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  options.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(arguments.text("to"), credentials(arguments), options);
}

// Counts of streams, by what became of them.
struct Tally {
  std::mutex mutex;
  std::condition_variable changed;
  int open = 0;
  std::map<int, int> ended;  // by status code

  // "open 3 ended 17: RESOURCE_EXHAUSTED 17"
  std::string words() {
    const std::lock_guard lock(mutex);
    int all = 0;
    std::string codes;
    for (const auto& [code, count] : ended) {
      all += count;
      codes += fmt::format(" code{}={}", code, count);
    }
    return fmt::format("open {} ended {}{}", open, all, codes);
  }
};

// A stream that sends at most a Hello and reads until the controller ends it. Deletes itself.
class Stream final : public grpc::ClientBidiReactor<api::AgentMessage, api::ControllerMessage> {
 public:
  Stream(api::AgentLink::Stub& stub, Tally& tally, const api::AgentMessage* hello)
      : tally_(tally), hello_(hello != nullptr ? *hello : api::AgentMessage()) {
    {
      const std::lock_guard lock(tally_.mutex);
      ++tally_.open;
    }
    stub.async()->Attach(&context_, this);
    if (hello != nullptr) StartWrite(&hello_);
    StartRead(&answer_);
    StartCall();
  }
  void cancel() { context_.TryCancel(); }

 private:
  void OnReadDone(bool ok) override {
    if (ok) StartRead(&answer_);
  }
  void OnDone(const grpc::Status& status) override {
    const std::lock_guard lock(tally_.mutex);
    --tally_.open;
    ++tally_.ended[status.error_code()];
    tally_.changed.notify_all();
  }

  Tally& tally_;
  grpc::ClientContext context_;
  const api::AgentMessage hello_;
  api::ControllerMessage answer_;
};

}  // namespace

std::shared_ptr<grpc::ChannelCredentials> credentials(const Arguments& arguments) {
  if (!arguments.has("cert")) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  options.pem_cert_chain = content(arguments.text("cert"));
  options.pem_private_key = content(arguments.text("key"));
  options.pem_root_certs = content(arguments.text("ca"));
  return grpc::SslCredentials(options);
}

int open_streams(const Arguments& arguments) {
  const int count = arguments.count("count", 1);
  std::vector<std::unique_ptr<api::AgentLink::Stub>> stubs;
  for (int i = 0; i < arguments.count("channels", 1); ++i)
    stubs.push_back(api::AgentLink::NewStub(channel_of(arguments)));
  const api::AgentMessage hello = hello_of(arguments);
  Tally tally;
  std::vector<std::unique_ptr<Stream>> streams;
  const auto from = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i)
    streams.push_back(std::make_unique<Stream>(*stubs[static_cast<std::size_t>(i) % stubs.size()],
                                               tally, arguments.has("hello") ? &hello : nullptr));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
  say("asked {} in {:.1f} s", count, seconds);
  wait_for_end_of_input(arguments.number("hold", 30));
  say("{}", tally.words());
  for (const auto& stream : streams) stream->cancel();
  std::unique_lock lock(tally.mutex);
  tally.changed.wait_for(lock, std::chrono::seconds(10), [&] { return tally.open == 0; });
  // Their callbacks may still run where that was not enough.
  if (tally.open != 0) std::_Exit(0);
  return 0;
}

int send_hellos(const Arguments& arguments) {
  const auto stub = api::AgentLink::NewStub(channel_of(arguments));
  std::map<int, int> codes;
  int welcomed = 0;
  const std::vector<std::string> places{"name", "version", "facts", "kernels"};
  for (int i = 0; i < arguments.count("count", 1); ++i) {
    std::vector<std::string> words{fmt::format("name={}", arguments.text("name")),
                                   fmt::format("id={}", arguments.text("id")),
                                   fmt::format("incarnation=flood{}", i)};
    if (arguments.has("changes"))
      words.push_back(fmt::format("changes=w{}", i));
    else
      for (const std::string& word :
           {fmt::format("bytes={}", arguments.text("bytes")),
            fmt::format("where={}", places[static_cast<std::size_t>(i) % places.size()]),
            std::string("escape=1")})
        words.push_back(word);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    const auto stream = stub->Attach(&context);
    stream->Write(hello_of(Arguments(words)));
    api::ControllerMessage answer;
    if (stream->Read(&answer) && answer.has_welcome()) ++welcomed;
    stream->WritesDone();
    context.TryCancel();
    ++codes[stream->Finish().error_code()];
  }
  std::string words;
  for (const auto& [code, count] : codes) words += fmt::format(" code{}={}", code, count);
  say("sent {} welcomed {}{}", arguments.count("count", 1), welcomed, words);
  return 0;
}

}  // namespace railgauge::attacker
