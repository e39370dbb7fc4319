#include "controller/nodes/pauses.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "kernels/core/text/fold.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

constexpr double kSecondsPerDay = 86'400;

tl::unexpected<Error> wrong(std::string why) {
  return fail(Code::kInvalidArgument, "nodes pause: " + std::move(why));
}

// The row of a request, without its node.
Result<store::PauseRow> row_of(const api::PauseNodesRequest& request, const std::string& who,
                               double now) {
  if (request.reason().find_first_not_of(" \t\n") == std::string::npos)
    return wrong("--reason TEXT is needed; people read it where the node is missing");
  if (request.reason().size() > kMostPauseReasonBytes)
    return wrong(fmt::format("--reason: {} bytes, at most {}", request.reason().size(),
                             kMostPauseReasonBytes));
  if (request.has_until_unix_seconds() == request.has_for_seconds())
    return wrong("--until TIME or --for DURATION says when the nodes come back");
  const double until =
      request.has_for_seconds() ? now + request.for_seconds() : request.until_unix_seconds();
  if (!(until > now)) return wrong(fmt::format("its end has to come after now, {}", rfc3339(now)));
  if (until > now + kLongestPauseSeconds)
    return wrong(
        fmt::format("at most {:.0f} days; a node that is gone for longer is removed from "
                    "node sets instead",
                    kLongestPauseSeconds / kSecondsPerDay));
  return store::PauseRow{.since = now,
                         .until = until,
                         .who = printable(who),
                         .reason = printable(valid_utf8(request.reason()))};
}

}  // namespace

// The sentence of plans, reports and logs: when it ends, who wanted it, and why.
std::string pause_text(const store::PauseRow& pause) {
  return fmt::format("paused until {} by {}: {}", rfc3339(pause.until), pause.who, pause.reason);
}

api::NodePause to_api(const store::PauseRow& pause) {
  api::NodePause out;
  out.set_reason(pause.reason);
  out.set_who(pause.who);
  out.set_since_at(rfc3339(pause.since));
  out.set_until_at(rfc3339(pause.until));
  return out;
}

// A rename loads on another thread than the one that pauses: without the lock the older reading
// could win.
Status Pauses::load() {
  const std::lock_guard changing(changing_);
  return reload();
}

// The store is the truth: after each change and at the start the rows are read again, and listeners
// get all of them. The lock of held_ is not held while they look.
Status Pauses::reload() {
  Held now;
  for (store::PauseRow& row : RG_TRY(store_.read(store::read_open_pauses)))
    now.insert_or_assign(row.node, row);
  {
    const std::lock_guard lock(mutex_);
    held_ = now;
  }
  changed_(now);
  return {};
}

Pauses::Held Pauses::held() const {
  const std::lock_guard lock(mutex_);
  return held_;
}

// The row is written before anybody sees the pause: a controller that dies here has either both or
// neither.
Status Pauses::pause(const std::vector<std::string>& nodes, const api::PauseNodesRequest& request,
                     const std::string& who, double now) {
  store::PauseRow row = RG_TRY(row_of(request, who, now));
  spdlog::info("node {}: {}", fold_names(nodes), pause_text(row));
  const std::lock_guard changing(changing_);
  RG_TRY_OK(store_.write(store::write_pauses, nodes, std::move(row)));
  return reload();
}

// Nodes that are not paused are no error: the caller sees which ones were.
Result<std::vector<std::string>> Pauses::resume(const std::vector<std::string>& nodes,
                                                const std::string& who, double now) {
  const std::lock_guard changing(changing_);
  const Held before = held();
  std::vector<std::string> paused;
  for (const std::string& node : nodes)
    if (before.contains(node)) paused.push_back(node);
  if (paused.empty()) return paused;
  RG_TRY_OK(store_.write(store::write_pauses_end, paused, printable(who), now));
  spdlog::info("node {}: resumed by {}", fold_names(paused), printable(who));
  RG_TRY_OK(reload());
  return paused;
}

// Called each second, it reads the store only when a pause is over. A store that fails is asked
// again at the next tick, and the node stays paused until then.
void Pauses::tick(double now) {
  const std::optional<double> next = next_end();
  if (!next || now < *next) return;
  const std::lock_guard changing(changing_);
  Status done = store_.write(store::write_pauses_over, now);
  if (done) done = reload();
  if (!done) spdlog::warn("nodes whose pause is over stay paused: {}", done.error().message);
}

std::optional<double> Pauses::next_end() const {
  const std::lock_guard lock(mutex_);
  std::optional<double> next;
  for (const auto& [node, pause] : held_) next = std::min(next.value_or(pause.until), pause.until);
  return next;
}

}  // namespace railgauge
