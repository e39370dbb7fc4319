#include "controller/console/run_feed.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "controller/api/on_behalf.h"
#include "controller/console/service_stubs.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/text/json.h"

namespace railgauge::console {

// A run, or the list, as far as its followers know it; guarded by State::mutex.
struct RunFeed::Topic {
  std::string run_id{};  // "" for the list
  std::size_t followers = 0;
  std::uint64_t version = 0;  // 0: no state yet
  std::shared_ptr<const google::protobuf::Message> newest{};
  bool is_over = false;
  Status end{};
  std::shared_ptr<Watch> watch{};  // until it is over
  std::string list_text{};         // of the list alone, as the next two
  double read_ns = 0;
  bool is_being_read = false;
};

// Shared with the watches, which gRPC may end late.
struct RunFeed::State {
  std::mutex mutex;  // guards all below
  std::condition_variable changed;
  std::map<std::string, std::shared_ptr<Topic>> topics;
  std::map<std::string, std::size_t> of_person;  // followers; never 0
  std::size_t followers = 0;
  std::size_t watches = 0;  // that gRPC has not ended
  bool is_stopping = false;
};

// One call of WatchRun. gRPC calls it from its own threads, and may do so inside calls of ours:
// none of these is made under the lock.
class RunFeed::Watch final : public grpc::ClientReadReactor<api::RunEvent> {
 public:
  Watch(std::shared_ptr<State> state, std::shared_ptr<Topic> topic, const std::string& name,
        const std::shared_ptr<grpc::Channel>& channel)
      : state_(std::move(state)), topic_(std::move(topic)), stubs_(channel) {
    context_.AddMetadata(api::kOnBehalfOf, name);
    request_.set_run_id(topic_->run_id);
  }
  // `self` is kept until gRPC is done with it.
  void begin(std::shared_ptr<Watch> self) {
    self_ = std::move(self);
    stubs_.control->async()->WatchRun(&context_, &request_, this);
    StartRead(&event_);
    StartCall();
  }
  void cancel() { context_.TryCancel(); }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return;
    {
      const std::lock_guard lock(state_->mutex);
      topic_->newest = std::make_shared<const api::RunEvent>(std::move(event_));
      ++topic_->version;
      state_->changed.notify_all();
    }
    event_.Clear();
    StartRead(&event_);
  }
  void OnDone(const grpc::Status& status) override {
    const std::shared_ptr<Watch> self = std::move(self_);
    const std::lock_guard lock(state_->mutex);
    topic_->is_over = true;
    if (!status.ok())
      topic_->end = fail(static_cast<Code>(status.error_code()), status.error_message());
    // A later topic of the same run has another watch.
    if (const auto found = state_->topics.find(topic_->run_id);
        found != state_->topics.end() && found->second == topic_)
      state_->topics.erase(found);
    topic_->watch.reset();
    --state_->watches;
    state_->changed.notify_all();
  }

  const std::shared_ptr<State> state_;
  const std::shared_ptr<Topic> topic_;
  const Stubs stubs_;
  grpc::ClientContext context_;
  api::RunRef request_;
  api::RunEvent event_;
  std::shared_ptr<Watch> self_;
};

RunFeed::RunFeed(Reader::Connect connect, Reader& reader, std::string name,
                 std::function<std::string(std::string)> marked)
    : connect_(std::move(connect)),
      reader_(reader),
      name_(std::move(name)),
      marked_(std::move(marked)),
      state_(std::make_shared<State>()) {}

RunFeed::~RunFeed() {
  stop();
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [this] { return state_->watches == 0; });
}

// Followers end with their next look; the watches are cancelled.
void RunFeed::stop() {
  std::vector<std::shared_ptr<Watch>> watches;
  {
    const std::lock_guard lock(state_->mutex);
    state_->is_stopping = true;
    for (const auto& [run_id, topic] : state_->topics)
      if (topic->watch) watches.push_back(topic->watch);
    state_->changed.notify_all();
  }
  for (const auto& watch : watches) watch->cancel();
}

Result<std::unique_ptr<RunFeed::Follower>> RunFeed::follow(const std::string& person,
                                                           const std::string& run_id) {
  std::shared_ptr<Topic> topic;
  std::shared_ptr<Watch> begun;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->is_stopping) return fail(Code::kUnavailable, "the controller is stopping");
    if (state_->followers >= kMostFollowers)
      return fail(Code::kResourceExhausted,
                  fmt::format("the console has {} followers of runs, its limit", kMostFollowers));
    const auto own = state_->of_person.find(person);
    if (own != state_->of_person.end() && own->second >= kMostOfOnePerson)
      return fail(Code::kResourceExhausted,
                  fmt::format("you follow runs {} times, the limit of a person; close a page",
                              kMostOfOnePerson));
    const auto found = state_->topics.find(run_id);
    if (found != state_->topics.end()) {
      topic = found->second;
    } else {
      if (!run_id.empty() && state_->watches >= kMostRuns)
        return fail(Code::kResourceExhausted,
                    fmt::format("the console follows {} runs, its limit", kMostRuns));
      topic = std::make_shared<Topic>(Topic{.run_id = run_id});
      if (!run_id.empty()) {
        topic->watch = begun = std::make_shared<Watch>(state_, topic, name_, connect_());
        ++state_->watches;
      }
      state_->topics[run_id] = topic;
    }
    ++state_->followers;
    ++state_->of_person[person];
    ++topic->followers;
  }
  auto follower = std::make_unique<Follower>(*this, state_, topic, person);
  if (begun) begun->begin(begun);
  if (run_id.empty()) refresh_list(*topic);
  std::unique_lock lock(state_->mutex);
  state_->changed.wait_for(lock, std::chrono::duration<double>(kFirstSeconds), [&] {
    return topic->version > 0 || topic->is_over || state_->is_stopping;
  });
  const Status end = topic->version > 0 ? Status() : topic->end;
  const bool has_state = topic->version > 0;
  lock.unlock();
  if (!end) return tl::unexpected(end.error());
  if (!has_state) return fail(Code::kUnavailable, "the state of the runs is not known yet");
  return follower;
}

// By the first follower that finds it old; the others have what it found.
void RunFeed::refresh_list(Topic& topic) {
  {
    const std::lock_guard lock(state_->mutex);
    const double now = monotonic_now_ns();
    if (topic.is_being_read || state_->is_stopping ||
        (topic.version > 0 && now - topic.read_ns < kListSeconds * 1e9))
      return;
    topic.is_being_read = true;
  }
  api::ListRunsRequest request;
  request.set_limit(kListedRuns);
  auto list = std::make_shared<api::RunList>();
  const Status read = reader_.call([&](const Stubs& stubs, grpc::ClientContext& context) {
    return stubs.control->ListRuns(&context, request, list.get());
  });
  // Thousands of names, of which no page shows one.
  for (api::RunSummary& run : *list->mutable_runs()) run.clear_nodes();
  std::string text = read ? to_json(*list, JsonLayout::kCompact) : "";
  const std::lock_guard lock(state_->mutex);
  topic.is_being_read = false;
  topic.read_ns = monotonic_now_ns();
  if (!read || text == topic.list_text) return;
  topic.list_text = std::move(text);
  topic.newest = std::move(list);
  ++topic.version;
  state_->changed.notify_all();
}

RunFeed::Follower::Follower(RunFeed& feed, std::shared_ptr<State> state,
                            std::shared_ptr<Topic> topic, std::string person)
    : feed_(feed), state_(std::move(state)), topic_(std::move(topic)), person_(std::move(person)) {}

// The last one ends the watch: a later follower begins another, with the state of then.
RunFeed::Follower::~Follower() {
  std::shared_ptr<Watch> unwatched;
  {
    const std::lock_guard lock(state_->mutex);
    --state_->followers;
    if (const auto own = state_->of_person.find(person_); --own->second == 0)
      state_->of_person.erase(own);
    if (--topic_->followers > 0) return;
    unwatched = topic_->watch;
    if (const auto found = state_->topics.find(topic_->run_id);
        found != state_->topics.end() && found->second == topic_)
      state_->topics.erase(found);
  }
  if (unwatched) unwatched->cancel();
}

std::optional<std::string> RunFeed::Follower::next() {
  if (has_ended_) return std::nullopt;
  if (topic_->run_id.empty()) feed_.refresh_list(*topic_);
  const auto seconds = [](double count) { return std::chrono::duration<double>(count); };
  std::unique_lock lock(state_->mutex);
  const double pause = kPauseSeconds - (monotonic_now_ns() - sent_ns_) / 1e9;
  if (pause > 0)
    state_->changed.wait_for(lock, seconds(pause), [this] { return state_->is_stopping; });
  state_->changed.wait_for(lock, seconds(kWaitSeconds), [this] {
    return topic_->version > seen_ || topic_->is_over || state_->is_stopping;
  });
  if (state_->is_stopping) return std::nullopt;
  std::string part = std::exchange(has_begun_, true) ? "" : "retry: 2000\n\n";
  if (topic_->version > seen_) {
    seen_ = topic_->version;
    const auto newest = topic_->newest;
    lock.unlock();
    part += fmt::format("event: state\ndata: {}\n\n",
                        feed_.marked_(to_json(*newest, JsonLayout::kCompact)));
  } else if (topic_->is_over) {
    // After an error the page asks anew, and hears it then.
    has_ended_ = true;
    if (!topic_->end) return std::nullopt;
    part += "event: end\ndata: {}\n\n";
  } else if (monotonic_now_ns() - sent_ns_ >= kBeatSeconds * 1e9) {
    part += ": still here\n\n";
  }
  if (!part.empty()) sent_ns_ = monotonic_now_ns();
  return part;
}

}  // namespace railgauge::console
