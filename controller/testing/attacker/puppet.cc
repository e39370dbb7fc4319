// An agent on strings: a real stream by the real contract that sends what lines of stdin say, and
// prints one line for each. Its figures measure nothing and are marked synthetic.
//
//   hello KEY=VALUE...      attaches (keys: hello.h); prints "welcome", or "refused CODE TEXT"
//   go                      waits for a task; prints "go RUN TASK ATTEMPT RANK"
//   record KIND KEY=VALUE...  sends started, point, note or final, waits for its acknowledgement:
//                           "ack", "silence", "ended CODE TEXT". Keys: run, task, attempt, rank,
//                           sequence, repeat; time (seconds beside the clock); metric, median,
//                           bytes, step (of bytes, for each repeated one); outcome, text. Those
//                           that are not given continue the task's own.
//   ended OUTCOME           reports the task's end
//   heartbeat SECONDS       with a clock that is so far beside ours, as in all later heartbeats
//   trouble                 a heartbeat whose busy reasons and events have hostile texts; a
//                           preflight is answered so as well
//   message BYTES           a record batch of that size
//   alive                   prints "alive" or "ended CODE TEXT"
//   quit
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <iostream>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>

#include "controller/api/agent.grpc.pb.h"
#include "controller/testing/attacker/attacks.h"
#include "controller/testing/attacker/hello.h"

namespace railgauge::attacker {
namespace {

constexpr auto kPatience = std::chrono::seconds(10);

double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = '?';
  return text;
}

class Puppet {
 public:
  explicit Puppet(const Arguments& arguments) : arguments_(arguments) {}
  ~Puppet() { leave(); }
  Puppet(const Puppet&) = delete;
  Puppet& operator=(const Puppet&) = delete;

  // False at the end.
  bool obey(const std::string& line) {
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    if (verb == "quit") return false;
    if (verb == "hello")
      hello(Arguments(words));
    else if (!stream_)
      say("not attached");
    else if (verb == "go")
      go();
    else if (verb == "record")
      record(words);
    else if (verb == "ended")
      ended(words);
    else if (verb == "heartbeat")
      heartbeat(words);
    else if (verb == "trouble")
      trouble();
    else if (verb == "message")
      message(words);
    else if (verb == "alive")
      alive();
    else
      say("no verb {}", verb);
    return true;
  }

 private:
  void hello(const Arguments& given) {
    leave();
    grpc::ChannelArguments options;
    options.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    stub_ = api::AgentLink::NewStub(
        grpc::CreateCustomChannel(arguments_.text("to"), credentials(arguments_), options));
    context_ = std::make_unique<grpc::ClientContext>();
    stream_ = stub_->Attach(context_.get());
    over_ = welcomed_ = false;
    acknowledged_ = 0;
    refused_.clear();
    stream_->Write(hello_of(given));
    reader_ = std::thread([this] { read(); });
    beater_ = std::thread([this] { beat(); });
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [this] { return over_ || welcomed_; });
    if (welcomed_)
      say("welcome");
    else
      say("refused {}", over_ ? end_words() : "nothing: no answer came");
  }

  void read() {
    api::ControllerMessage message;
    while (stream_->Read(&message)) {
      const std::lock_guard lock(mutex_);
      if (message.has_welcome()) {
        welcomed_ = true;
        if (next_spool_id_ <= message.welcome().stored_through_spool_id())
          next_spool_id_ = message.welcome().stored_through_spool_id() + 1;
      }
      if (message.has_refused()) refused_ = message.refused().reason();
      if (message.has_ack()) acknowledged_ = message.ack().through_spool_id();
      if (message.has_go()) tasks_.push_back(message.go().task());
      if (message.has_prepare()) {
        api::AgentMessage answer;
        *answer.mutable_prepared()->mutable_task() = message.prepare().task();
        send(answer);
      }
      if (message.has_preflight()) answer_preflight(message.preflight().request_id());
      changed_.notify_all();
    }
    const grpc::Status status = stream_->Finish();
    const std::lock_guard lock(mutex_);
    over_ = true;
    status_ = status;
    changed_.notify_all();
  }

  // The controller aborts a stream that is silent for some heartbeats.
  void beat() {
    constexpr auto kInterval = std::chrono::seconds(2);
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, kInterval, [this] { return over_; })) {
      if (!welcomed_) continue;
      const double beside = beside_;
      lock.unlock();
      send_heartbeat(beside);
      lock.lock();
    }
  }

  void leave() {
    if (!reader_.joinable()) return;
    context_->TryCancel();
    reader_.join();
    beater_.join();
    stream_.reset();
  }

  // With the lock held.
  std::string end_words() {
    return one_line(fmt::format("{} {}", static_cast<int>(status_.error_code()),
                                refused_.empty() ? status_.error_message() : refused_));
  }

  void go() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, 2 * kPatience, [this] { return over_ || !tasks_.empty(); }) ||
        tasks_.empty())
      return say("no task");
    task_ = tasks_.front();
    tasks_.pop_front();
    sequence_ = 0;
    say("go {} {} {} {}", task_.run_id(), task_.task_id(), task_.attempt(), task_.rank());
  }

  void record(std::istringstream& words) {
    std::string kind;
    words >> kind;
    const Arguments given(words);
    api::AgentMessage message;
    for (int i = 0; i < given.count("repeat", 1); ++i) {
      api::SpooledRecord& spooled = *message.mutable_records()->add_records();
      spooled.set_spool_id(next_spool_id_++);
      *spooled.mutable_record() = record_of(kind, given, i);
    }
    send(message);
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience,
                      [this] { return over_ || acknowledged_ + 1 >= next_spool_id_; });
    if (over_) return say("ended {}", end_words());
    say("{}", acknowledged_ + 1 >= next_spool_id_ ? "ack" : "silence");
  }

  // Number `i` of those that repeat it.
  Record record_of(const std::string& kind, const Arguments& given, int i) {
    Record record;
    RecordKey& key = *record.mutable_key();
    key.set_run_id(given.text("run", task_.run_id()));
    key.set_task_id(given.text("task", task_.task_id()));
    key.set_attempt(
        static_cast<std::uint32_t>(given.count("attempt", static_cast<int>(task_.attempt()))));
    key.set_rank(static_cast<std::uint32_t>(given.count("rank", static_cast<int>(task_.rank()))));
    key.set_sequence(given.has("sequence")
                         ? static_cast<std::uint32_t>(given.count("sequence", 0) + i)
                         : sequence_++);
    record.set_unix_time_seconds(unix_now() + given.number("time", 0));
    const std::string text = given.has("escape") ? hostile_text() : given.text("text");
    if (kind == "started") {
      record.mutable_started()->set_kernel(given.text("kernel", "fake.lat"));
      record.mutable_started()->set_revision(1);
      record.mutable_started()->set_size(2);
      record.mutable_started()->set_endpoint("rxe0:1");
      if (!text.empty()) (*record.mutable_started()->mutable_facts())["note" + text] = text;
    } else if (kind == "point") {
      Point& point = *record.mutable_point();
      point.set_metric(given.text("metric", "latency_ns"));
      point.set_meaning("half_rtt" + text);
      point.set_unit("ns");
      point.set_message_bytes(given.number("bytes", 8) + i * given.number("step", 0));
      point.set_sample_count(1'000);
      point.set_median(given.number("median", 1'500));
      point.set_synthetic(true);
    } else if (kind == "note") {
      record.mutable_note()->set_severity("info");
      record.mutable_note()->set_text(text);
    } else {
      record.mutable_final()->set_outcome(given.text("outcome", "passed"));
      record.mutable_final()->set_reason(text);
      record.mutable_final()->set_stderr_tail(text);
    }
    return record;
  }

  void ended(std::istringstream& words) {
    std::string outcome = "passed";
    words >> outcome;
    api::AgentMessage message;
    *message.mutable_ended()->mutable_task() = task_;
    message.mutable_ended()->set_outcome(outcome);
    send(message);
    say("sent");
  }

  void heartbeat(std::istringstream& words) {
    double beside = 0;
    words >> beside;
    {
      const std::lock_guard lock(mutex_);
      beside_ = beside;
    }
    send_heartbeat(beside);
    say("sent");
  }

  void send_heartbeat(double beside) {
    api::AgentMessage message;
    message.mutable_heartbeat()->set_unix_time_seconds(unix_now() + beside);
    send(message);
  }

  void trouble() {
    const std::string text = hostile_text();
    api::AgentMessage message;
    api::Heartbeat& beat = *message.mutable_heartbeat();
    beat.set_unix_time_seconds(unix_now());
    beat.set_busy_task_id(text);
    for (const std::string& source : {std::string("marker"), text}) {
      api::BusyReason& reason = *beat.mutable_busy()->add_reasons();
      reason.set_source(source);
      reason.set_text(text);
    }
    for (const std::string& kind : {std::string("xid"), text}) {
      api::NodeEvent& event = *beat.add_events();
      event.set_kind(kind);
      event.set_severity("fail" + text);
      event.set_subject("0000:3b:00.0" + text);
      event.set_text(text);
      event.set_unix_time_seconds(unix_now());
    }
    send(message);
    say("sent");
  }

  void answer_preflight(const std::string& request_id) {
    const std::string text = hostile_text();
    api::AgentMessage message;
    api::PreflightAnswer& answer = *message.mutable_preflight();
    answer.set_request_id(request_id);
    api::PreflightNode& node = *answer.mutable_report()->add_nodes();
    node.set_node("n1" + text);
    node.set_state("fail");
    node.set_error(text);
    api::PreflightCheck& check = *answer.mutable_report()->add_checks();
    for (std::string* field : {check.mutable_node(), check.mutable_id(), check.mutable_title(),
                               check.mutable_subject(), check.mutable_observed(),
                               check.mutable_source(), check.mutable_why(), check.add_remedy()})
      *field = text;
    check.set_state("fail");
    api::GpuDirectPair& pair = *answer.mutable_report()->add_pairs();
    for (std::string* field :
         {pair.mutable_node(), pair.mutable_gpu(), pair.mutable_nic(), pair.mutable_distance(),
          pair.mutable_answer(), pair.mutable_path(), pair.mutable_because(), pair.add_remedy()})
      *field = text;
    send(message);
  }

  void message(std::istringstream& words) {
    std::size_t bytes = 0;
    words >> bytes;
    api::AgentMessage message;
    api::SpooledRecord& spooled = *message.mutable_records()->add_records();
    spooled.set_spool_id(next_spool_id_);
    spooled.mutable_record()->mutable_note()->set_text(std::string(bytes, 'x'));
    send(message);
    say("sent");
  }

  void alive() {
    const std::lock_guard lock(mutex_);
    if (over_)
      say("ended {}", end_words());
    else
      say("alive");
  }

  void send(const api::AgentMessage& message) {
    const std::lock_guard lock(write_mutex_);
    stream_->Write(message);
  }

  const Arguments arguments_;
  std::unique_ptr<api::AgentLink::Stub> stub_;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReaderWriter<api::AgentMessage, api::ControllerMessage>> stream_;
  std::mutex write_mutex_;  // one write at a time
  std::thread reader_;
  std::thread beater_;
  std::uint64_t next_spool_id_ = 1;
  std::uint32_t sequence_ = 0;
  api::TaskRef task_;

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  bool over_ = true;
  double beside_ = 0;  // of its clock, in heartbeats
  bool welcomed_ = false;
  std::uint64_t acknowledged_ = 0;
  std::string refused_;
  grpc::Status status_;
  std::deque<api::TaskRef> tasks_;
};

}  // namespace

int run_puppet(const Arguments& arguments) {
  Puppet puppet(arguments);
  for (std::string line; std::getline(std::cin, line);)
    if (!puppet.obey(line)) break;
  return 0;
}

}  // namespace railgauge::attacker
