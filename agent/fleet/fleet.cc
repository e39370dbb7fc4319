#include "agent/fleet/fleet.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/api/contract.h"
#include "controller/api/controller_list.h"
#include "controller/trust/pem_files.h"

namespace railgauge::fleet {
namespace {

using std::chrono::steady_clock;

constexpr Nanoseconds kSecond = 1'000'000'000;
constexpr Nanoseconds kFarewellNs = 5 * kSecond;
// Agents tick when due, rounded up: thousands share a wake-up.
constexpr Nanoseconds kGrainNs = 5'000'000;
// Between two looks at a simulated clock.
constexpr double kClockLookMs = 3;

}  // namespace

Result<std::unique_ptr<Fleet>> Fleet::open(FleetOptions options, Scenario scenario,
                                           std::vector<KernelInfo> kernels) {
  auto inbox = RG_TRY(Inbox::open());
  std::unique_ptr<Fleet> fleet(
      new Fleet(std::move(options), std::move(scenario), std::move(kernels), std::move(inbox)));
  const std::string& path = fleet->options_.acknowledged;
  if (path.empty()) return fleet;
  fleet->acknowledged_.open(path, std::ios::app);
  if (!fleet->acknowledged_)
    return fail(Code::kPermissionDenied, "--acknowledged {}: it cannot be written", path);
  return fleet;
}

Fleet::Fleet(FleetOptions options, Scenario scenario, std::vector<KernelInfo> kernels,
             std::unique_ptr<Inbox> inbox)
    : options_(std::move(options)),
      controllers_(api::controllers_of(options_.stream.controller)),
      fabric_(std::move(scenario)),
      kernels_(std::move(kernels)),
      board_(fabric_),
      inbox_(std::move(inbox)),
      started_(steady_clock::now()) {
  if (options_.clock) options_.clock->enter();
  for (const KernelInfo& kernel : kernels_) kernel_bytes_.push_back(kernel.SerializeAsString());
  const std::uint32_t count = fabric_.scenario().fabric.nodes;
  nodes_.reserve(count);
  for (std::uint32_t node = 0; node < count; ++node) {
    nodes_.push_back({.agent = ModelledAgent(board_, kernels_, node, options_.at_ns)});
    schedule(node, options_.at_ns);
  }
}

void Fleet::schedule(std::uint32_t index, Nanoseconds time) {
  if (time >= nodes_[index].due_ns) return;
  nodes_[index].due_ns = time;
  due_.emplace(time, index);
}

Fleet::~Fleet() {
  hang_up_all();
  if (options_.clock) options_.clock->leave();
}

Nanoseconds Fleet::now() const {
  if (options_.clock)
    return static_cast<Nanoseconds>(
        (options_.clock->now() - fabric_.scenario().begin_unix_seconds) * kNsPerSecond);
  return options_.at_ns +
         std::chrono::duration_cast<std::chrono::nanoseconds>(steady_clock::now() - started_)
             .count();
}

void Fleet::run(int stop_fd, const std::function<void(const FleetCounts&)>& report) {
  FleetCounts reported;
  Nanoseconds report_at = now();
  for (;;) {
    const bool has_news = !(counts_ == reported);
    wait(stop_fd, std::min(due_.top().first, has_news ? report_at : kForever - kGrainNs));
    pollfd stop{stop_fd, POLLIN, 0};
    if (::poll(&stop, 1, 0) > 0) break;
    take_events();
    notice_jump();
    tick_due();
    dial();
    follow_jump();
    if (now() < report_at || counts_ == reported) continue;
    report(counts_);
    reported = counts_;
    report_at = now() + kSecond;
  }
  hang_up_all();
}

void Fleet::wait(int stop_fd, Nanoseconds until) const {
  std::array<pollfd, 2> set{pollfd{inbox_->fd(), POLLIN, 0}, pollfd{stop_fd, POLLIN, 0}};
  const double left_ms = static_cast<double>(until + kGrainNs - now()) / 1e6;
  const double most_ms = options_.clock ? kClockLookMs : 1e3;
  ::poll(set.data(), set.size(), static_cast<int>(std::ceil(std::clamp(left_ms, 0.0, most_ms))));
}

void Fleet::take_events() {
  for (StreamEvent& event : inbox_->take()) {
    Node& node = nodes_[event.agent];
    if (node.stream == nullptr || node.stream->number() != event.stream) continue;
    if (event.kind == StreamEvent::Kind::kMessage) {
      take_message(node, std::move(event.message));
      continue;
    }
    const bool was_attached = node.agent.is_attached();
    if (was_attached) --counts_.attached;
    spdlog::debug("node {}: {}", node_name(fabric_.scenario().fabric, event.agent), event.reason);
    end_dial(node);
    node.stream.reset();
    const bool left = std::exchange(node.is_leaving, false);
    // The next controller of the list at once; all of them again after a pause.
    node.tried = was_attached ? 0 : node.tried + 1;
    if (!was_attached) node.controller = (node.controller + 1) % controllers_.size();
    if (!was_attached && !left && !node.is_refused && node.tried < controllers_.size()) {
      to_dial_.push(event.agent);
      continue;
    }
    node.tried = 0;
    obey(event.agent, node.agent.lost(std::exchange(node.is_refused, false), now()));
  }
}

void Fleet::take_message(Node& node, const api::ControllerMessage& message) {
  const auto index = static_cast<std::uint32_t>(&node - nodes_.data());
  const bool was_attached = node.agent.is_attached();
  if (message.has_refused()) {
    spdlog::error("node {} is refused: {}", node_name(fabric_.scenario().fabric, index),
                  message.refused().reason());
    node.is_refused = message.refused().permanent();
    node.stream->hang_up();
  } else if (message.has_welcome()) {
    end_dial(node);
    obey(index, node.agent.attached(message.welcome(), now()));
    if (!was_attached && node.agent.is_attached()) ++counts_.attached;
  } else {
    if (message.has_go()) ++counts_.tasks;
    if (message.has_prepare()) note_prepare();
    if (message.has_ack()) note_ack(node.agent.spool(), message.ack().through_spool_id());
    obey(index, node.agent.received(message, now()));
  }
  if (node.stream) node.stream->read_next();
}

// Written at once: a drill compares the file with the archive when the controller is killed.
void Fleet::note_ack(const MemorySpool& spool, std::uint64_t through) {
  if (!acknowledged_.is_open()) return;
  for (const RecordKey& key : spool.points_through(through))
    acknowledged_ << fmt::format("{}\t{}\t{}\t{}\t{}\n", key.run_id(), key.task_id(), key.attempt(),
                                 key.rank(), key.sequence());
  acknowledged_.flush();
}

// By the host's clock: a simulated one has no time for what a round takes.
void Fleet::note_prepare() {
  const steady_clock::time_point time = steady_clock::now();
  if (counts_.burst_ranks == 0 || time - burst_last_ > std::chrono::seconds(1)) {
    burst_begin_ = time;
    counts_.burst_ranks = 0;
  }
  burst_last_ = time;
  ++counts_.burst_ranks;
  counts_.burst_ms = std::chrono::duration<double, std::milli>(time - burst_begin_).count();
}

void Fleet::tick_due() {
  const Nanoseconds time = now();
  while (!due_.empty() && due_.top().first <= time) {
    const auto [due_ns, index] = due_.top();
    due_.pop();
    Node& node = nodes_[index];
    if (due_ns != node.due_ns) continue;
    node.due_ns = kForever;
    const bool was_attached = node.agent.is_attached();
    obey(index, node.agent.tick(time));
    if (was_attached && !node.agent.is_attached()) --counts_.attached;
    const bool is_silent =
        node.is_dialling &&
        time - node.dialled_ns > static_cast<Nanoseconds>(options_.welcome_seconds * kNsPerSecond);
    if (is_silent) node.stream->hang_up();
    schedule(index, std::max(node.agent.next_tick(), time + kGrainNs));
  }
}

void Fleet::notice_jump() {
  if (!options_.clock) return;
  const ClockPage::Jump jump = options_.clock->last_jump();
  if (jump.number == noticed_jump_) return;
  noticed_jump_ = jump.number;
  const Nanoseconds time = now();
  board_.set_calendar(
      static_cast<Nanoseconds>((jump.to - fabric_.scenario().begin_unix_seconds) * kNsPerSecond));
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) schedule(node, time);
}

void Fleet::follow_jump() {
  if (!options_.clock || followed_jump_ == noticed_jump_) return;
  const auto is_under_way = [](const Node& node) {
    return node.is_leaving || node.is_dialling || node.agent.is_on_its_way();
  };
  if (!to_dial_.empty() || std::ranges::any_of(nodes_, is_under_way)) return;
  followed_jump_ = noticed_jump_;
  options_.clock->follow(followed_jump_);
}

void Fleet::obey(std::uint32_t index, AgentOrders orders) {
  Node& node = nodes_[index];
  if (node.stream)
    for (api::AgentMessage& message : orders.send)
      if (!node.stream->send(std::move(message)))
        spdlog::warn("node {}: a message is dropped: the stream's queue is full",
                     node_name(fabric_.scenario().fabric, index));
  if (orders.hang_up && node.stream) {
    node.stream->hang_up();
    node.is_leaving = true;
  }
  if (orders.dial) to_dial_.push(index);
  schedule(index, node.agent.next_tick());
}

void Fleet::dial() {
  while (!to_dial_.empty() && counts_.dialling < options_.dials) {
    dial_one(to_dial_.front());
    to_dial_.pop();
  }
}

Result<std::shared_ptr<grpc::ChannelCredentials>> Fleet::credentials_of(std::uint32_t node) const {
  if (options_.certificates.empty()) return grpc::InsecureChannelCredentials();
  const std::string file =
      fmt::format("{}/{}", options_.certificates, node_name(fabric_.scenario().fabric, node));
  trust::Material material =
      RG_TRY(trust::load_material({.certificate = file + ".crt",
                                   .key = file + ".key",
                                   .authority = options_.certificates + "/ca.crt"}));
  return grpc::SslCredentials({.pem_root_certs = std::move(material.authority),
                               .pem_private_key = std::move(material.key),
                               .pem_cert_chain = std::move(material.certificate)});
}

// The stream before may still end; the agent dials again then.
void Fleet::dial_one(std::uint32_t index) {
  Node& node = nodes_[index];
  if (node.stream) return;
  auto credentials = credentials_of(index);
  if (!credentials) {
    spdlog::error("node {} cannot dial: {}", node_name(fabric_.scenario().fabric, index),
                  credentials.error().message);
    return obey(index, node.agent.lost(true, now()));
  }
  api::Hello hello = node.agent.hello(now());
  *hello.mutable_contract() = api::to_message(api::kContract);
  for (const std::string& kernel : kernel_bytes_) hello.add_kernels(kernel);
  node.is_dialling = true;
  node.dialled_ns = now();
  ++counts_.dialling;
  node.stream =
      std::make_unique<FleetStream>(options_.stream, controllers_[node.controller], *credentials,
                                    index, ++streams_, std::move(hello), *inbox_);
}

void Fleet::end_dial(Node& node) {
  if (std::exchange(node.is_dialling, false)) --counts_.dialling;
}

// gRPC's callbacks use a stream until its end was reported.
void Fleet::hang_up_all() {
  const auto any = [this] {
    return std::ranges::any_of(nodes_, [](const Node& node) { return node.stream != nullptr; });
  };
  for (Node& node : nodes_)
    if (node.stream) node.stream->hang_up();
  const Nanoseconds begin = now();
  while (any() && now() - begin < kFarewellNs) {
    wait(-1, now() + kGrainNs);
    for (const StreamEvent& event : inbox_->take())
      if (event.kind == StreamEvent::Kind::kEnded) nodes_[event.agent].stream.reset();
  }
  for (Node& node : nodes_)
    if (node.stream) static_cast<void>(node.stream.release());
}

}  // namespace railgauge::fleet
