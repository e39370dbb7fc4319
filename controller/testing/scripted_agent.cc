#include "controller/testing/scripted_agent.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace railgauge::testing_agent {
namespace {

constexpr std::uint32_t kSteps = 2;

// One check, acs: it fails on nodes whose name begins with "bad". It claims to be about another
// node, which the controller must not believe.
api::PreflightAnswer preflight_answer(const AgentOptions& options,
                                      const api::PreflightOrder& order) {
  api::PreflightAnswer answer;
  answer.set_request_id(order.request_id());
  answer.mutable_report()->add_nodes()->set_node("somebody-else");
  api::PreflightCheck& check = *answer.mutable_report()->add_checks();
  check.set_node("somebody-else");
  check.set_id("acs");
  check.set_state(options.name.starts_with("bad") ? "fail" : "pass");
  check.set_observed("synthetic");
  if (order.has_lossless_priority() && order.has_traffic_class())
    check.set_observed(fmt::format("synthetic: lossless {}, traffic class {}",
                                   order.lossless_priority(), order.traffic_class()));
  check.set_why("it matters");
  check.add_remedy("do this");
  return answer;
}

Record record_of(const api::TaskRef& task, std::uint32_t sequence) {
  Record record;
  RecordKey& key = *record.mutable_key();
  key.set_run_id(task.run_id());
  key.set_task_id(task.task_id());
  key.set_attempt(task.attempt());
  key.set_rank(task.rank());
  key.set_sequence(sequence);
  record.set_unix_time_seconds(
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
  return record;
}

}  // namespace

std::vector<KernelInfo> scripted_kernels() {
  KernelInfo pair;
  pair.set_name("fake.lat");
  pair.set_revision(1);
  pair.set_min_ranks(2);
  pair.set_max_ranks(2);
  pair.set_endpoint_kind("nic");
  pair.add_metrics("latency_ns");
  KernelInfo group = pair;
  group.set_name("fake.group");
  group.set_min_ranks(1);
  group.set_max_ranks(0);
  KernelInfo collective = group;
  collective.set_name("fake.collective");
  collective.set_endpoint_kind("gpu");
  KernelInfo memory = pair;
  memory.set_name("fake.memory");
  ParameterInfo* gpu = memory.add_parameters();
  gpu->set_name("gpu");
  gpu->set_type("text");
  gpu->set_default_value("0");
  gpu->set_identity(true);
  ParameterInfo& kind = *memory.add_parameters();
  kind.set_name("memory");
  kind.set_type("choice");
  kind.set_default_value("host");
  kind.add_choices("host");
  kind.add_choices("cuda");
  kind.set_identity(true);
  ParameterInfo& traffic_class = *pair.add_parameters();
  traffic_class.set_name("traffic_class");
  traffic_class.set_type("integer");
  traffic_class.set_default_value("0");
  traffic_class.set_identity(true);
  return {pair, group, memory, collective};
}

ScriptedAgent::ScriptedAgent(AgentOptions options)
    : options_(std::move(options)), next_spool_id_(options_.first_spool_id) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  stub_ = api::AgentLink::NewStub(
      grpc::CreateCustomChannel(options_.target, options_.credentials, arguments));
  stream_ = stub_->Attach(&context_);
  api::AgentMessage message;
  api::Hello& hello = *message.mutable_hello();
  *hello.mutable_contract() = api::to_message(options_.contract);
  hello.set_name(options_.name);
  hello.set_node_id(options_.node_id);
  hello.set_incarnation(options_.incarnation);
  hello.set_version("test");
  if (options_.has_nic) {
    api::Nic& nic = *hello.add_nics();
    nic.set_device("rxe0");
    nic.set_port(1);
    nic.set_state("active");
    nic.set_netdev("eth0");
    nic.set_rate_bits_per_second(1e9);
  }
  for (const auto& [part, version] : options_.stack)
    (*hello.mutable_stack_versions())[part] = version;
  for (const api::Gpu& gpu : options_.gpus) *hello.add_gpus() = gpu;
  for (const KernelInfo& kernel : scripted_kernels()) hello.add_kernels(kernel.SerializeAsString());
  for (const api::TaskRef& task : options_.running) *hello.add_running() = task;
  if (options_.change_hello) options_.change_hello(hello);
  send(message);
  reader_ = std::thread([this] { read_loop(); });
}

ScriptedAgent::~ScriptedAgent() {
  cut();
  reader_.join();
}

void ScriptedAgent::cut() { context_.TryCancel(); }

void ScriptedAgent::send(const api::AgentMessage& message) {
  const std::lock_guard lock(write_mutex_);
  stream_->Write(message);
}

bool ScriptedAgent::wait_until(const std::function<bool(const ScriptedAgent&)>& condition) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(kPatienceSeconds),
                           [&] { return condition(*this); });
}

std::size_t ScriptedAgent::count(api::ControllerMessage::BodyCase kind) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      received_, [kind](const api::ControllerMessage& m) { return m.body_case() == kind; }));
}

void ScriptedAgent::read_loop() {
  api::ControllerMessage message;
  while (stream_->Read(&message)) {
    {
      const std::lock_guard lock(mutex_);
      received_.push_back(message);
      if (message.has_prepare()) last_prepare_at_ = std::chrono::steady_clock::now();
      welcomed_ = welcomed_ || message.has_welcome();
      if (message.has_refused()) refused_ = message.refused();
      if (message.has_ack()) acknowledged_ = message.ack().through_spool_id();
    }
    play(message);
    changed_.notify_all();
  }
  const grpc::Status status = stream_->Finish();
  const std::lock_guard lock(mutex_);
  status_ = status;
  ended_ = true;
  changed_.notify_all();
}

void ScriptedAgent::play(const api::ControllerMessage& message) {
  if (options_.script == Script::kKeepSilent) return;
  api::AgentMessage answer;
  const bool refuses = options_.script == Script::kWaive || options_.script == Script::kFail;
  if (message.has_prepare() && refuses) {
    *answer.mutable_refusal()->mutable_task() = message.prepare().task();
    answer.mutable_refusal()->set_outcome(options_.script == Script::kFail ? "failed" : "waived");
    answer.mutable_refusal()->set_reason("no such device");
    send(answer);
  } else if (message.has_prepare()) {
    Record record = record_of(message.prepare().task(), 0);
    record.mutable_started()->set_kernel(message.prepare().kernel());
    record.mutable_started()->set_revision(1);
    record.mutable_started()->set_size(message.prepare().size());
    const std::string& gpu = message.prepare().gpu();
    record.mutable_started()->set_endpoint(message.prepare().endpoint() +
                                           (gpu.empty() ? "" : "+" + gpu));
    *record.mutable_started()->mutable_facts() = message.prepare().facts();
    (*record.mutable_started()->mutable_facts())["path"] = "synthetic";
    const auto memory = message.prepare().parameters().find("memory");  // as kernels report it
    if (memory != message.prepare().parameters().end())
      (*record.mutable_started()->mutable_facts())["memory"] = memory->second;
    deliver(record);
    *answer.mutable_prepared()->mutable_task() = message.prepare().task();
    send(answer);
  }
  if (message.has_preflight()) {
    *answer.mutable_preflight() = preflight_answer(options_, message.preflight());
    if (options_.change_answer) options_.change_answer(*answer.mutable_preflight());
    send(answer);
  }
  if (message.has_go() && options_.script == Script::kPass) send_step(message.go().task(), 0);
  if (message.has_step()) on_step(message.step());
  if (message.has_cancel())
    finish_task(message.cancel().task(), message.cancel().outcome(), message.cancel().reason());
}

void ScriptedAgent::send_step(const api::TaskRef& task, std::uint32_t step) {
  api::AgentMessage message;
  *message.mutable_step()->mutable_task() = task;
  message.mutable_step()->mutable_step()->set_step(step);
  message.mutable_step()->mutable_step()->add_payloads(
      fmt::format("{} from {}", step, options_.name));
  send(message);
}

// By a node that it exchanged this step with, or by the GPU that the task was prepared with, where
// the options say one.
double ScriptedAgent::median_of(const api::TaskStep& step) {
  const std::string& task_id = step.task().task_id();
  for (const auto& [node, median] : options_.median_with_node)
    for (const std::string& payload : step.step().payloads())
      if (payload.ends_with(" from " + node)) return median;
  const std::lock_guard lock(mutex_);
  for (const api::ControllerMessage& message : received_) {
    if (!message.has_prepare() || message.prepare().task().task_id() != task_id) continue;
    const auto gpu = message.prepare().parameters().find("gpu");
    if (gpu == message.prepare().parameters().end()) continue;
    const auto median = options_.median_with_gpu.find(gpu->second);
    if (median != options_.median_with_gpu.end()) return median->second;
  }
  return options_.median;
}

void ScriptedAgent::on_step(const api::TaskStep& step) {
  if (step.step().step() + 1 < kSteps) return send_step(step.task(), step.step().step() + 1);
  if (step.task().rank() == 0) {
    Record record = record_of(step.task(), 1);
    Point& point = *record.mutable_point();
    point.set_metric(options_.metric);
    point.set_meaning("half_rtt");
    point.set_unit("ns");
    point.set_message_bytes(8);
    point.set_sample_count(1'000);
    point.set_median(median_of(step));
    point.set_synthetic(true);
    deliver(record);
  }
  finish_task(step.task(), "passed", "");
}

void ScriptedAgent::finish_task(const api::TaskRef& task, const std::string& outcome,
                                const std::string& reason) {
  const bool has_point = outcome == "passed" && task.rank() == 0;
  Record record = record_of(task, has_point ? 2 : 1);
  record.mutable_final()->set_outcome(outcome);
  record.mutable_final()->set_reason(reason);
  deliver(record);
  api::AgentMessage message;
  *message.mutable_ended()->mutable_task() = task;
  message.mutable_ended()->set_outcome(outcome);
  message.mutable_ended()->set_reason(reason);
  send(message);
}

void ScriptedAgent::deliver(const Record& record) {
  api::AgentMessage message;
  api::SpooledRecord& spooled = *message.mutable_records()->add_records();
  {
    const std::lock_guard lock(mutex_);
    spooled.set_spool_id(next_spool_id_++);
  }
  *spooled.mutable_record() = record;
  if (options_.clock_ahead_seconds != 0)
    spooled.mutable_record()->set_unix_time_seconds(record.unix_time_seconds() +
                                                    options_.clock_ahead_seconds);
  send(message);
}

}  // namespace railgauge::testing_agent
