#include "controller/deliver/courier.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/trust/digest.h"

namespace railgauge::deliver {
namespace {

constexpr const char* kTotal = "railgauge_deliveries_total";
constexpr const char* kWaiting = "railgauge_deliveries_waiting";
constexpr const char* kOutcomes[] = {"delivered", "postponed", "failed", "refused", "dropped"};
constexpr double kPauseFactor = 3;
constexpr double kStorePauseSeconds = 5;  // when the store answers with an error

// The host's clock: retries go by it also where the calendar is simulated.
double host_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

Courier::Courier(Options options, store::Store& store, Send send, metric::Registry& series,
                 Note note)
    : options_(std::move(options)),
      store_(store),
      send_(std::move(send)),
      series_(series),
      note_(std::move(note)) {
  for (const char* outcome : kOutcomes) count(outcome, 0);  // a growth from nothing is seen
  is_failing_ = store_.read(store::was_delivery_failing, options_.target).value_or(false);
  thread_ = std::thread([this] { work(); });
}

Courier::~Courier() {
  begin_stop();
  thread_.join();
}

void Courier::begin_stop() {
  const std::lock_guard lock(mutex_);
  ending_ = true;
  changed_.notify_all();
}

bool Courier::is_ending() const {
  const std::lock_guard lock(mutex_);
  return ending_;
}

Status Courier::put(const Letter& letter) {
  const std::lock_guard putting(putting_);
  if (RG_TRY(store_.read(store::has_delivery, options_.target, letter.delivery_id))) return {};
  RG_TRY_OK(make_room());
  const double now = host_now();
  RG_TRY_OK(store_.write(store::write_delivery, {.target = options_.target,
                                                 .delivery_id = letter.delivery_id,
                                                 .digest = trust::sha256_hex(letter.body),
                                                 .body = letter.body,
                                                 .created_at = now,
                                                 .next_at = now}));
  const std::lock_guard lock(mutex_);
  has_new_ = true;
  changed_.notify_all();
  return {};
}

// The newest report says most, so that the oldest goes.
Status Courier::make_room() {
  std::vector<store::DeliveryRow> waiting = RG_TRY(store_.read(store::read_waiting_deliveries));
  std::erase_if(waiting, [this](const auto& row) { return row.target != options_.target; });
  for (std::size_t i = 0; i + options_.most_waiting <= waiting.size(); ++i) {
    const std::string cause = fmt::format("{} newer reports wait", options_.most_waiting);
    RG_TRY_OK(store_.write(store::write_delivery_end, options_.target, waiting[i].delivery_id,
                           "dropped", host_now(), cause));
    count("dropped");
    note_("delivery_dropped", fmt::format("{} ({}): {} is not sent: {}", options_.target,
                                          options_.where, waiting[i].delivery_id, cause));
  }
  return {};
}

void Courier::work() {
  while (true) {
    show_waiting();
    const auto next = store_.read(store::read_next_delivery, options_.target);
    double seconds = options_.longest_pause_seconds;
    if (!next) seconds = kStorePauseSeconds;
    if (next && *next) {
      // A clock that was set back must not hold a message for longer than a pause.
      const double until = (*next)->next_at - host_now();
      seconds = until > options_.longest_pause_seconds ? 0 : std::max(0.0, until);
    }
    {
      std::unique_lock lock(mutex_);
      const bool is_woken = changed_.wait_for(lock, std::chrono::duration<double>(seconds), [this] {
        return ending_ || std::exchange(has_new_, false);
      });
      if (ending_) return;
      if (is_woken) continue;  // the new one may be the next
    }
    if (next && *next) attempt(**next);
  }
}

void Courier::attempt(const store::DeliveryRow& delivery) {
  const Sent sent = send_({.delivery_id = delivery.delivery_id, .body = delivery.body},
                          [this] { return is_ending(); });
  if (sent.kind == Sent::Kind::kRefused) return give_up(delivery, "refused", sent.cause);
  if (sent.kind == Sent::Kind::kLater) {
    if (is_ending()) return;  // the next process has this attempt
    if (delivery.attempts + 1 >= options_.most_attempts)
      return give_up(delivery, "failed",
                     fmt::format("{}, after {} attempts", sent.cause, delivery.attempts + 1));
    return postpone(delivery, sent.cause);
  }
  const Status ended = store_.write(store::write_delivery_end, options_.target,
                                    delivery.delivery_id, "delivered", host_now(), "");
  count("delivered");
  spdlog::info("{}{} ({}): {} is delivered", subject_of_delivery(delivery.delivery_id),
               options_.target, options_.where, delivery.delivery_id);
  if (std::exchange(is_failing_, false))
    note_("delivery_works",
          fmt::format("{} ({}): reports are delivered again", options_.target, options_.where));
  check_stored(ended);
}

void Courier::postpone(const store::DeliveryRow& delivery, const std::string& cause) {
  const double pause =
      std::min(options_.longest_pause_seconds,
               options_.first_pause_seconds * std::pow(kPauseFactor, delivery.attempts));
  const Status stored = store_.write(store::write_delivery_attempt, options_.target,
                                     delivery.delivery_id, host_now() + pause, cause);
  count("postponed");
  const std::string text = fmt::format("{} ({}): {} waits: {}", options_.target, options_.where,
                                       delivery.delivery_id, cause);
  spdlog::warn("{}{}; the next attempt comes in {:.0f} s",
               subject_of_delivery(delivery.delivery_id), text, pause);
  if (!std::exchange(is_failing_, true)) note_("delivery_late", text);
  check_stored(stored);
}

void Courier::give_up(const store::DeliveryRow& delivery, const char* state,
                      const std::string& cause) {
  const Status ended = store_.write(store::write_delivery_end, options_.target,
                                    delivery.delivery_id, state, host_now(), cause);
  count(state);
  is_failing_ = true;
  const std::string text = fmt::format("{} ({}): {} is not delivered: {}", options_.target,
                                       options_.where, delivery.delivery_id, cause);
  spdlog::error("{}{}", subject_of_delivery(delivery.delivery_id), text);
  note_("delivery_failed", text);
  check_stored(ended);
}

void Courier::check_stored(const Status& stored) {
  if (stored) return;
  spdlog::warn("{}: the state of a delivery is not stored: {}", options_.target,
               stored.error().message);
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(kStorePauseSeconds),
                    [this] { return ending_; });
}

void Courier::show_waiting() {
  const auto waiting = store_.read(store::read_waiting_deliveries);
  if (!waiting) return;
  series_.set(kWaiting, {{"target", options_.target}},
              static_cast<double>(
                  std::ranges::count(*waiting, options_.target, &store::DeliveryRow::target)));
}

void Courier::count(const char* outcome, double more) {
  series_.add(kTotal, {{"target", options_.target}, {"outcome", outcome}}, more);
}

void drop_of_gone_targets(store::Store& store, const std::vector<std::string>& targets,
                          const Note& note) {
  const auto waiting = store.read(store::read_waiting_deliveries);
  if (!waiting) return;
  std::map<std::string, int> gone;
  for (const store::DeliveryRow& row : *waiting) {
    if (std::ranges::find(targets, row.target) != targets.end()) continue;
    const Status ended = store.write(store::write_delivery_end, row.target, row.delivery_id,
                                     "dropped", host_now(), "the settings have no such target");
    if (ended) ++gone[row.target];
  }
  for (const auto& [target, count] : gone)
    note("delivery_dropped",
         fmt::format("{}: the settings do not have it any more; reports that waited for it and are "
                     "not sent: {}",
                     target, count));
}

}  // namespace railgauge::deliver
