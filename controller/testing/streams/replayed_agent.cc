#include "controller/testing/streams/replayed_agent.h"

#include <chrono>
#include <ctime>
#include <utility>

#include <google/protobuf/unknown_field_set.h>

#include "controller/api/contract.h"

namespace railgauge::testing_agent {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr int kUnknownField = 999;

double unix_now() { return static_cast<double>(std::time(nullptr)); }

// The task that a message is about; nullptr for those about none.
api::TaskRef* task_of(api::AgentMessage& message) {
  if (message.has_prepared()) return message.mutable_prepared()->mutable_task();
  if (message.has_refusal()) return message.mutable_refusal()->mutable_task();
  if (message.has_step()) return message.mutable_step()->mutable_task();
  if (message.has_ended()) return message.mutable_ended()->mutable_task();
  return nullptr;
}

bool has_task(const api::AgentMessage& message) {
  return message.has_prepared() || message.has_refusal() || message.has_step() ||
         message.has_ended() || message.has_records();
}

// A field of each wire type, in the message and in all messages inside it but maps.
void add_unknown_fields(Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->is_map() || field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) add_unknown_fields(*reflection.MutableMessage(&message, field));
    for (int i = 0; field->is_repeated() && i < reflection.FieldSize(message, field); ++i)
      add_unknown_fields(*reflection.MutableRepeatedMessage(&message, field, i));
  }
  auto& unknown = *reflection.MutableUnknownFields(&message);
  unknown.AddLengthDelimited(kUnknownField, "of the next version");
  unknown.AddVarint(kUnknownField + 1, 42);
  unknown.AddFixed64(kUnknownField + 2, 42);
  unknown.AddFixed32(kUnknownField + 3, 42);
}

// A kind of message that no version knows.
api::AgentMessage unknown_kind() {
  api::AgentMessage message;
  message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(kUnknownField, "new");
  return message;
}

// Before the final record comes one of an unknown kind, which takes its place and number.
void add_unknown_record(api::RecordBatch& batch) {
  const int last = batch.records_size() - 1;
  if (last < 0 || !batch.records(last).record().has_final()) return;
  api::SpooledRecord final_record = batch.records(last);
  Record& unknown = *batch.mutable_records(last)->mutable_record();
  unknown.clear_body();
  unknown.GetReflection()->MutableUnknownFields(&unknown)->AddLengthDelimited(kUnknownField,
                                                                              "a record");
  final_record.set_spool_id(final_record.spool_id() + 1);
  RecordKey& key = *final_record.mutable_record()->mutable_key();
  key.set_sequence(key.sequence() + 1);
  *batch.add_records() = std::move(final_record);
}

void use_unknown_words(api::AgentMessage& message) {
  if (message.has_hello())
    for (api::Nic& nic : *message.mutable_hello()->mutable_nics()) nic.set_link_layer("photonic");
  if (!message.has_heartbeat()) return;
  api::NodeEvent& event = *message.mutable_heartbeat()->add_events();
  event.set_kind("eclipse");
  event.set_severity("catastrophic");
  event.set_text("an event of the next version");
  event.set_unix_time_seconds(unix_now());
}

}  // namespace

StreamChange as_next_version() {
  return [](api::AgentMessage message) {
    if (message.has_hello()) {
      message.mutable_hello()->set_version("99.0.0");
      message.mutable_hello()->mutable_contract()->set_minor(api::kContract.minor + 1);
    }
    use_unknown_words(message);
    if (message.has_records()) add_unknown_record(*message.mutable_records());
    const bool is_first = message.has_hello();
    add_unknown_fields(message);
    std::vector<api::AgentMessage> sent;
    if (!is_first) sent.push_back(unknown_kind());
    sent.push_back(std::move(message));
    return sent;
  };
}

StreamChange as_last_version() {
  return [](api::AgentMessage message) {
    if (message.has_hello()) {
      api::Hello& hello = *message.mutable_hello();
      hello.set_version("0.1.0");
      hello.mutable_contract()->set_minor(api::kContract.minor - 1);
      hello.clear_labels();
      hello.clear_busy();
      hello.clear_unix_time_seconds();
      hello.clear_stack_incomplete();
      hello.clear_generation();
    }
    if (message.has_heartbeat()) message.mutable_heartbeat()->clear_events();
    return std::vector<api::AgentMessage>{std::move(message)};
  };
}

ReplayedAgent::ReplayedAgent(const std::string& target, RecordedStream stream, StreamChange change)
    : recorded_(std::move(stream)), change_(std::move(change)) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  stub_ = api::AgentLink::NewStub(
      grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments));
  stream_ = stub_->Attach(&context_);
  reader_ = std::thread([this] { read_loop(); });
  player_ = std::thread([this] { play(); });
}

ReplayedAgent::~ReplayedAgent() {
  context_.TryCancel();
  player_.join();
  reader_.join();
}

bool ReplayedAgent::wait_for(const std::function<bool()>& met) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::seconds(kPatienceSeconds), [&] { return ended_ || met(); });
  return met();
}

bool ReplayedAgent::is_welcome() {
  return wait_for([this] { return welcomed_; });
}

bool ReplayedAgent::has_said_all() {
  return wait_for([this] { return said_all_; });
}

std::string ReplayedAgent::end() {
  const std::lock_guard lock(mutex_);
  return ended_ ? last_words_ : "";
}

void ReplayedAgent::read_loop() {
  api::ControllerMessage message;
  while (stream_->Read(&message)) {
    const std::lock_guard lock(mutex_);
    welcomed_ = welcomed_ || message.has_welcome();
    if (message.has_prepare()) task_ = message.prepare().task();
    gone_ = gone_ || message.has_go();
    if (message.has_step()) ++steps_heard_;
    if (message.has_refused()) last_words_ = message.refused().reason();
    changed_.notify_all();
  }
  const grpc::Status status = stream_->Finish();
  const std::lock_guard lock(mutex_);
  if (last_words_.empty()) last_words_ = status.error_message();
  ended_ = true;
  changed_.notify_all();
}

void ReplayedAgent::play() {
  for (const api::AgentMessage& recorded : recorded_.messages) {
    if (!may_send(recorded)) return;
    api::AgentMessage message = recorded;
    adapt(message);
    const bool is_step = message.has_step();
    for (const api::AgentMessage& one :
         change_ ? change_(std::move(message)) : std::vector<api::AgentMessage>{message})
      stream_->Write(one);
    const std::lock_guard lock(mutex_);
    if (is_step) ++steps_said_;
  }
  const std::lock_guard lock(mutex_);
  said_all_ = true;
  changed_.notify_all();
}

bool ReplayedAgent::may_send(const api::AgentMessage& message) {
  if (message.has_hello()) return true;
  if (!has_task(message)) return is_welcome();
  const bool begins =
      message.has_prepared() ||
      (message.has_records() && message.records().records(0).record().has_started());
  if (begins || message.has_refusal()) return wait_for([this] { return !task_.run_id().empty(); });
  return wait_for([this] { return gone_ && steps_heard_ == steps_said_; });
}

void ReplayedAgent::adapt(api::AgentMessage& message) {
  if (message.has_hello()) message.mutable_hello()->set_unix_time_seconds(unix_now());
  if (message.has_heartbeat()) message.mutable_heartbeat()->set_unix_time_seconds(unix_now());
  const std::lock_guard lock(mutex_);
  if (api::TaskRef* task = task_of(message)) *task = task_;
  if (!message.has_records()) return;
  for (api::SpooledRecord& spooled : *message.mutable_records()->mutable_records()) {
    Record& record = *spooled.mutable_record();
    record.set_unix_time_seconds(unix_now());
    record.mutable_key()->set_run_id(task_.run_id());
    record.mutable_key()->set_task_id(task_.task_id());
    record.mutable_key()->set_attempt(task_.attempt());
    record.mutable_key()->set_rank(task_.rank());
  }
}

}  // namespace railgauge::testing_agent
