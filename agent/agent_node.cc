// The agent's reports about its node beside tasks: that it lives, what keeps it busy, what the
// watch noticed.
#include <ctime>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <spdlog/spdlog.h>

#include "agent/agent.h"
#include "agent/inventory/contract.h"
#include "agent/inventory/read_inventory.h"
#include "agent/os/atomic_file.h"
#include "agent/os/resident.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {
constexpr std::size_t kMostEvents = 256;  // kept while the controller is away
constexpr double kInventoryNs = 30e9;
constexpr const char* kShownFile = "agent-shown";
constexpr double kRestNs = 3e9;  // without a task, a preflight or a new stream: then it is at rest

// Equal messages give equal bytes: the library's own comparison would build the descriptors of all
// contracts, which nothing else here needs, and keep them.
std::string bytes_of(const google::protobuf::MessageLite& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&coded);
  return bytes;
}
}  // namespace

InventoryOptions inventory_options(const AgentOptions& options) {
  InventoryOptions inventory;
  if (options.sysfs_root != "/sys") inventory.sysfs = options.sysfs_root;
  if (options.proc_root != "/proc") inventory.proc = options.proc_root;
  inventory.mpi_installations = options.mpi_installations;
  return inventory;
}

// NVML is asked once, and again where there are other GPUs: opening it may wake them.
void Agent::refresh_inventory() {
  inventory_ns_ = monotonic_now_ns() + kInventoryNs;
  InventoryOptions options = inventory_options(options_);
  options.with_kernel_log = false;
  options.with_nvml = false;
  Inventory now = read_inventory(options);
  if (!keep_nvml(inventory_, now)) {
    options.with_nvml = true;
    now = read_inventory(options);
  }
  // Another tree than the machine's own is none of the helper's.
  if (options.sysfs.empty() && config_keeper_.complete(inventory_, now, monotonic_now_ns()))
    works();  // so that what the answer took is given back
  inventory_ = std::move(now);
  for (const std::string& source : inventory_.late_sources)
    spdlog::warn("inventory: {} did not answer in {} s; what it tells is unknown", source,
                 options.source_seconds);
  fill_hello(inventory_, hello_);
  metrics_.set_node(hello_);
}

void Agent::look_again(double now_ns) {
  const bool needs_kernels = hello_.kernels().empty() && now_ns >= kernels_ns_;
  if (!needs_kernels && now_ns < inventory_ns_) return;
  const std::string before = bytes_of(hello_);
  if (needs_kernels) load_kernels();
  if (now_ns >= inventory_ns_) refresh_inventory();
  if (bytes_of(hello_) == before) return;
  say_hello();
  spdlog::info("NICs, GPUs or kernels changed; attaching again to say so");
  link_->redial();
}

void Agent::works() { rest_ns_ = monotonic_now_ns() + kRestNs; }

// Once, each time that it comes to rest: what the rest itself touches stays.
void Agent::rest(double now_ns) {
  if (rest_ns_ == 0 || now_ns < rest_ns_) return;
  rest_ns_ = 0;
  give_back_memory();
}

void Agent::show(const Figures& figures) {
  metrics_.show(figures);
  shown_is_kept_ = false;
}

void Agent::restore_shown() {
  std::stringstream text;
  text << std::ifstream(options_.state_dir + "/" + kShownFile).rdbuf();
  metrics_.restore(text.str(), static_cast<double>(::time(nullptr)));
}

// Only a convenience of the metrics: what cannot be written is shown until the agent ends.
void Agent::keep_shown() {
  if (shown_is_kept_) return;
  shown_is_kept_ = true;
  if (const Status kept = write_atomically(options_.state_dir, kShownFile, metrics_.kept()); !kept)
    spdlog::warn("{}; the last figures will not be shown after a restart", kept.error().message);
}

std::string Agent::busy_text() const {
  return fmt::format("node {} is busy: {}", options_.name, in_words(busy_));
}

void Agent::fill_busy(api::BusyState& state) const {
  for (const BusyReason& reason : busy_) {
    api::BusyReason& told = *state.add_reasons();
    told.set_source(reason.source);
    told.set_text(valid_utf8(reason.text));
  }
}

// The controller hears of it before it hears of the tasks that it ends, so that it knows why.
void Agent::take_busy() {
  if (!guard_.looks()) return;
  BusyReasons now = guard_.reasons();
  if (now == busy_ && hello_.has_busy()) return;
  const bool news = !same_sources(now, busy_);
  busy_ = std::move(now);
  hello_.clear_busy();
  fill_busy(*hello_.mutable_busy());
  metrics_.set_busy(busy_);
  if (!news) return;  // the next beat carries the new words
  spdlog::info("{}", busy_.empty() ? "the node is idle" : busy_text());
  say_hello();
  beat();
  if (!busy_.empty()) supervisor_.give_way(busy_text());
}

void Agent::take_watch() {
  Watch::News news;
  if (!watch_.take(news)) return;
  metrics_.set_watch(news.totals, !news.log_source.empty());
  if (news.events.empty()) return;
  for (api::NodeEvent& event : news.events) {
    spdlog::warn("{}", event.text());
    metrics_.node_event(event.kind(), event.severity());
    if (events_.size() < kMostEvents) events_.push_back(std::move(event));
  }
  beat();
}

void Agent::beat() {
  beat_ns_ = monotonic_now_ns() + beat_seconds_ * 1e9;
  if (!delivery_.is_attached()) return;
  api::AgentMessage message;
  api::Heartbeat& heartbeat = *message.mutable_heartbeat();
  heartbeat.set_unix_time_seconds(static_cast<double>(::time(nullptr)));
  heartbeat.set_spool_records(static_cast<double>(spool_.waiting_records()));
  const auto running = supervisor_.running();
  if (!running.empty()) heartbeat.set_busy_task_id(running.front().task_id());
  if (guard_.looks()) fill_busy(*heartbeat.mutable_busy());
  for (const api::NodeEvent& event : events_) *heartbeat.add_events() = event;
  if (link_->send(std::move(message))) events_.clear();
}

}  // namespace railgauge::agent
