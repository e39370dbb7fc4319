#include "controller/http/connections.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

#include "kernels/core/base/clock.h"

namespace railgauge::http {
namespace {

// Threads that were asked to leave and have not yet.
constexpr std::size_t kMostLeaving = 64;
constexpr double kPageWaitSeconds = 8;  // below Prometheus' 10 s

}  // namespace

void Connections::end(Connection& connection) {
  connection.is_ended = true;
  ::shutdown(connection.fd, SHUT_RDWR);
}

std::size_t Connections::alive() const {
  return static_cast<std::size_t>(std::ranges::count(all_, false, &Connection::is_ended));
}

// The choice is by the number of the source's connections, then by age.
Connections::Connection* Connections::longest(bool is_answering, double least_ns,
                                              std::optional<Place> with_page) {
  const double before_ns = monotonic_now_ns() - least_ns;
  const auto weight = [&](const Connection& one) {
    return std::tuple(std::ranges::count(all_, one.source, &Connection::source), -one.since_ns);
  };
  Connection* chosen = nullptr;
  for (Connection& one : all_) {
    if (one.is_ended || one.is_answering != is_answering || one.since_ns > before_ns) continue;
    if (with_page && (!one.has_page || one.place != *with_page)) continue;
    if (one.has_page && !one.is_made) continue;
    if (chosen == nullptr || weight(one) > weight(*chosen)) chosen = &one;
  }
  return chosen;
}

Connections::Connection* Connections::admit(int fd, std::string source) {
  const std::lock_guard lock(mutex_);
  if (ending_ || all_.size() >= kMost + kMostLeaving) return nullptr;
  if (alive() >= kMost) {
    Connection* leaving = longest(false, 0, std::nullopt);
    if (leaving == nullptr) leaving = longest(true, kSlowAnswerSeconds * 1e9, std::nullopt);
    if (leaving == nullptr) return nullptr;
    end(*leaving);
  }
  return &all_.emplace_back(
      Connection{.fd = fd, .source = std::move(source), .since_ns = monotonic_now_ns()});
}

// Under the lock, so that nobody shuts a descriptor that is another file by now.
void Connections::release(Connection* connection) {
  const std::lock_guard lock(mutex_);
  ::close(connection->fd);
  all_.remove_if([connection](const Connection& one) { return &one == connection; });
  changed_.notify_all();
}

void Connections::set_answering(Connection* connection, bool is_answering) {
  const std::lock_guard lock(mutex_);
  connection->is_answering = is_answering;
  connection->since_ns = monotonic_now_ns();
  if (std::exchange(connection->has_page, false)) changed_.notify_all();
}

bool Connections::has_place(const Connection& connection, Place place) const {
  const auto pages = [place](const Connection& one) {
    return one.has_page && one.place == place && !one.is_ended;
  };
  const auto own = [&](const Connection& one) {
    return pages(one) && one.source == connection.source;
  };
  return static_cast<std::size_t>(std::ranges::count_if(all_, pages)) < kMostPages &&
         static_cast<std::size_t>(std::ranges::count_if(all_, own)) < kMostPagesOfOneSource;
}

bool Connections::take_page(Connection* connection, Place place) {
  constexpr std::chrono::milliseconds kLook(100);
  std::unique_lock lock(mutex_);
  const double end_ns = monotonic_now_ns() + kPageWaitSeconds * 1e9;
  while (!has_place(*connection, place)) {
    if (connection->is_ended || ending_ || monotonic_now_ns() > end_ns) return false;
    if (Connection* slow = longest(true, kSlowAnswerSeconds * 1e9, place)) end(*slow);
    changed_.wait_for(lock, kLook);
  }
  connection->has_page = true;
  connection->place = place;
  connection->is_made = false;
  return true;
}

void Connections::page_made(Connection* connection) {
  const std::lock_guard lock(mutex_);
  connection->is_made = true;
  connection->since_ns = monotonic_now_ns();
}

void Connections::page_sent(Connection* connection) {
  const std::lock_guard lock(mutex_);
  connection->has_page = false;
  connection->since_ns = monotonic_now_ns();
  changed_.notify_all();
}

void Connections::end_all() {
  std::unique_lock lock(mutex_);
  ending_ = true;
  for (Connection& one : all_) end(one);
  changed_.notify_all();
  changed_.wait(lock, [this] { return all_.empty(); });
}

}  // namespace railgauge::http
