#include "agent/testing/fake_controller.h"

#include <algorithm>
#include <chrono>

#include "controller/api/contract.h"
#include "kernels/core/base/result.h"

namespace railgauge::agent {
namespace {
constexpr auto kPatience = std::chrono::seconds(20);
}  // namespace

FakeController::FakeController(const std::string& target,
                               std::shared_ptr<grpc::ServerCredentials> credentials) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(target, std::move(credentials), &port_);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  RG_CHECK(server_ != nullptr);
}

FakeController::~FakeController() {
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
}

void FakeController::set_answer(Answer answer) {
  const std::lock_guard lock(mutex_);
  answer_ = answer;
}

void FakeController::set_acknowledge(bool acknowledge) {
  const std::lock_guard lock(mutex_);
  acknowledge_ = acknowledge;
}

void FakeController::set_answers_steps(bool answers) {
  const std::lock_guard lock(mutex_);
  answers_steps_ = answers;
}

void FakeController::set_stored_through(std::uint64_t spool_id) {
  const std::lock_guard lock(mutex_);
  stored_through_ = spool_id;
}

void FakeController::set_generation(std::uint64_t generation) {
  const std::lock_guard lock(mutex_);
  generation_ = generation;
}

void FakeController::drop() {
  const std::lock_guard lock(mutex_);
  if (context_ != nullptr) context_->TryCancel();
}

void FakeController::drop_after(bool (api::AgentMessage::*met)() const) {
  const std::lock_guard lock(mutex_);
  drop_after_ = met;
}

bool FakeController::send(const api::ControllerMessage& message) {
  const std::lock_guard lock(mutex_);
  api::ControllerMessage sent = message;
  if (sent.has_prepare()) sent.mutable_prepare()->set_generation(generation_);
  if (sent.has_go()) sent.mutable_go()->set_generation(generation_);
  return stream_ != nullptr && stream_->Write(sent);
}

api::TaskRef FakeController::ref(const std::string& task_id) {
  api::TaskRef ref;
  ref.set_run_id("r1");
  ref.set_task_id(task_id);
  ref.set_attempt(1);
  return ref;
}

bool FakeController::prepare(const std::string& task_id, const std::string& script,
                             double deadline_seconds, const std::string& kernel) {
  api::ControllerMessage message;
  api::PrepareTask& prepare = *message.mutable_prepare();
  *prepare.mutable_task() = ref(task_id);
  prepare.set_kernel(kernel);
  if (!script.empty()) (*prepare.mutable_parameters())["script"] = script;
  prepare.set_size(1);
  if (kernel == "test.scripted") prepare.set_endpoint("rxe0:1");
  prepare.set_deadline_seconds(deadline_seconds);
  return send(message);
}

bool FakeController::go(const std::string& task_id) {
  api::ControllerMessage message;
  *message.mutable_go()->mutable_task() = ref(task_id);
  return send(message);
}

bool FakeController::acknowledge(std::uint64_t through) {
  api::ControllerMessage message;
  message.mutable_ack()->set_through_spool_id(through);
  return send(message);
}

bool FakeController::until(const std::function<bool(const Heard&)>& met) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience, [&] { return met(heard_); });
}

FakeController::Heard FakeController::heard() {
  const std::lock_guard lock(mutex_);
  return heard_;
}

int FakeController::hellos(const Heard& heard) {
  return static_cast<int>(std::ranges::count_if(heard, &api::AgentMessage::has_hello));
}

std::vector<api::SpooledRecord> FakeController::records(const Heard& heard) {
  std::vector<api::SpooledRecord> all;
  for (const auto& message : heard)
    all.insert(all.end(), message.records().records().begin(), message.records().records().end());
  return all;
}

bool FakeController::has_final(const Heard& heard, const std::string& task_id,
                               const std::string& outcome) {
  return std::ranges::any_of(records(heard), [&](const api::SpooledRecord& spooled) {
    return spooled.record().key().task_id() == task_id &&
           spooled.record().final().outcome() == outcome;
  });
}

grpc::Status FakeController::Attach(grpc::ServerContext* context, Stream* stream) {
  api::AgentMessage message;
  if (!stream->Read(&message)) return grpc::Status::OK;
  {
    const std::lock_guard lock(mutex_);
    context_ = context;
    heard_.push_back(message);
    changed_.notify_all();
  }
  if (answer(*stream)) {
    {
      const std::lock_guard lock(mutex_);
      stream_ = stream;
    }
    while (stream->Read(&message)) hear(std::move(message), *stream);
  }
  const std::lock_guard lock(mutex_);
  if (context_ == context) context_ = nullptr;
  if (stream_ == stream) stream_ = nullptr;
  return grpc::Status::OK;
}

// True when the stream continues.
bool FakeController::answer(Stream& stream) {
  Answer answer;
  api::ControllerMessage message;
  std::uint64_t generation = 0;
  {
    const std::lock_guard lock(mutex_);
    answer = answer_;
    generation = generation_;
    if (stored_through_ && answer == Answer::kWelcome)
      message.mutable_welcome()->set_stored_through_spool_id(*stored_through_);
  }
  if (answer == Answer::kSilence) return true;
  if (answer == Answer::kRefuse || answer == Answer::kRefuseForGood) {
    message.mutable_refused()->set_reason("the name is taken");
    message.mutable_refused()->set_permanent(answer == Answer::kRefuseForGood);
    stream.Write(message);
    return false;
  }
  if (answer != Answer::kOldContract)
    *message.mutable_welcome()->mutable_contract() = api::to_message(api::kContract);
  else
    message.mutable_welcome()->mutable_contract()->set_major(0);
  message.mutable_welcome()->set_controller_version("test");
  message.mutable_welcome()->set_generation(generation);
  message.mutable_welcome()->set_heartbeat_seconds(0.2);
  return stream.Write(message);
}

void FakeController::hear(api::AgentMessage message, Stream& stream) {
  const std::lock_guard lock(mutex_);
  if (drop_after_ != nullptr && (message.*drop_after_)()) {
    drop_after_ = nullptr;
    if (context_ != nullptr) context_->TryCancel();
    heard_.push_back(std::move(message));
    return changed_.notify_all();
  }
  if (acknowledge_ && message.records().records_size() > 0) {
    api::ControllerMessage ack;
    ack.mutable_ack()->set_through_spool_id(message.records().records().rbegin()->spool_id());
    stream.Write(ack);
  }
  if (message.has_step() && answers_steps_) {
    api::ControllerMessage everyone;
    *everyone.mutable_step() = message.step();
    stream.Write(everyone);
  }
  heard_.push_back(std::move(message));
  changed_.notify_all();
}

}  // namespace railgauge::agent
