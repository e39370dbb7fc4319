#include "agent/preflight/worker.h"

#include <utility>

#include <spdlog/spdlog.h>

#include "controller/api/states.h"

namespace railgauge::agent {
namespace {

api::PreflightAnswer refusal(const std::string& node_name, const std::string& request_id) {
  api::PreflightAnswer answer;
  answer.set_request_id(request_id);
  answer.mutable_report()->set_schema_version(1);
  api::PreflightNode& node = *answer.mutable_report()->add_nodes();
  node.set_node(node_name);
  node.set_state(std::string(text_of(api::CheckState::kError)));
  node.set_error("too many preflights wait on this node; ask again later");
  return answer;
}

}  // namespace

PreflightWorker::PreflightWorker(PreflightOptions options, std::function<void()> ring)
    : options_(std::move(options)),
      ring_(std::move(ring)),
      memory_(options_.state_folder, [](const Error& error) {
        spdlog::warn("{}; what registrations said is forgotten when the agent ends", error.message);
      }) {}

PreflightWorker::~PreflightWorker() {
  {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
  }
  if (thread_.joinable()) thread_.join();
}

void PreflightWorker::order(api::PreflightOrder order) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= kMaxWaiting) {
    answers_.push_back(refusal(options_.node_name, order.request_id()));
    ring_();
    return;
  }
  waiting_.push_back(std::move(order));
  if (working_) return;
  if (thread_.joinable()) thread_.join();  // it has left work()'s loop
  working_ = true;
  thread_ = std::thread([this] { work(); });
}

std::vector<api::PreflightAnswer> PreflightWorker::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(answers_, {});
}

void PreflightWorker::work() {
  for (;;) {
    api::PreflightOrder next;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty()) {
        working_ = false;
        return;
      }
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    api::PreflightAnswer done = answer(next);
    {
      const std::lock_guard lock(mutex_);
      answers_.push_back(std::move(done));
    }
    ring_();
  }
}

api::PreflightAnswer PreflightWorker::answer(const api::PreflightOrder& order) {
  PreflightOptions options = options_;
  options.require.assign(order.require().begin(), order.require().end());
  options.probe = order.probe();
  if (order.has_lossless_priority()) options.site.lossless_priority = order.lossless_priority();
  if (order.has_traffic_class()) options.site.traffic_class = order.traffic_class();
  api::PreflightAnswer answer;
  answer.set_request_id(order.request_id());
  *answer.mutable_report() = run_preflight(options, memory_);
  return answer;
}

}  // namespace railgauge::agent
