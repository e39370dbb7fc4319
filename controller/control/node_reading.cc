#include "controller/control/node_reading.h"

#include <chrono>
#include <utility>

#include <spdlog/spdlog.h>

#include "kernels/core/base/clock.h"

namespace railgauge {
namespace {

double now_seconds() { return monotonic_now_ns() / 1e9; }

}  // namespace

NodeReading::NodeReading(Read read, Changes changes, double renew_seconds, double most_seconds)
    : read_(std::move(read)),
      changes_(std::move(changes)),
      renew_seconds_(renew_seconds),
      most_seconds_(most_seconds),
      renewal_([this] { renew_while_alive(); }) {}

NodeReading::~NodeReading() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  over_.notify_all();
  renewal_.join();
}

Result<std::shared_ptr<const StoredNodes>> NodeReading::newest() {
  {
    const std::lock_guard lock(mutex_);
    const double now = now_seconds();
    if (kept_.nodes && kept_.changes == changes_()) kept_.true_seconds = now;
    if (kept_.nodes && now - kept_.true_seconds < most_seconds_) return kept_.nodes;
  }
  return read_now();
}

Result<std::shared_ptr<const StoredNodes>> NodeReading::read_now() {
  const double began = now_seconds();
  const std::uint64_t changes = changes_();  // before the reading, which may have later ones too
  auto nodes = std::make_shared<const StoredNodes>(RG_TRY(read_()));
  take(nodes, changes, began);
  return nodes;
}

// A reading that began earlier may end later.
void NodeReading::take(std::shared_ptr<const StoredNodes> nodes, std::uint64_t changes,
                       double began) {
  const std::lock_guard lock(mutex_);
  if (kept_.nodes && (changes < kept_.changes || began < kept_.began_seconds)) return;
  std::swap(kept_.nodes, nodes);
  kept_.changes = changes;
  kept_.began_seconds = kept_.true_seconds = began;
}

void NodeReading::renew_while_alive() {
  const std::chrono::duration<double> pause(renew_seconds_);
  bool has_failed = false;
  while (true) {
    const bool is_due = [this] {
      const std::lock_guard lock(mutex_);
      return !kept_.nodes || kept_.changes != changes_();
    }();
    if (is_due) {
      const auto read = read_now();
      if (!read && !has_failed)
        spdlog::warn("the nodes of the store are not read for pages: {}", read.error().message);
      has_failed = !read;
    }
    std::unique_lock lock(mutex_);
    if (over_.wait_for(lock, pause, [this] { return is_over_; })) return;
  }
}

}  // namespace railgauge
