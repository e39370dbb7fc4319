#include "controller/listen/handed_over.h"

#include <algorithm>
#include <vector>

namespace railgauge {

HandedOver::HandedOver(std::size_t most_of_a_certificate)
    : known_({.most_of_a_source = most_of_a_certificate}) {}

std::size_t HandedOver::add(int fd, std::uint64_t cookie, const sockaddr_storage& peer,
                            double now) {
  const std::lock_guard lock(mutex_);
  Connection connection{.fd = fd, .source = source_of(peer)};
  if (connections_.size() >= sweep_at_) sweep();
  const auto shed = in_handshake_.enter(cookie, connection.source, now);
  connections_[cookie] = std::move(connection);
  return shed && end_one(*shed) ? 1 : 0;
}

// tick() may have moved it by now.
void HandedOver::begin_greeting(std::uint64_t cookie) {
  const std::lock_guard lock(mutex_);
  in_handshake_.leave(cookie);
  silent_.leave(cookie);
}

void HandedOver::end_greeting(std::uint64_t cookie, const std::string& certificate, double now) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(cookie);
  if (found == connections_.end()) return;
  if (certificate.empty()) {
    silent_.enter(cookie, found->second.source, now);
    return;
  }
  if (const auto oldest = known_.enter(cookie, certificate, now); oldest && end_one(*oldest))
    ++ended_by_certificate_;
}

void HandedOver::note_call(std::uint64_t cookie) {
  const std::lock_guard lock(mutex_);
  silent_.leave(cookie);
}

bool HandedOver::end(std::uint64_t cookie) {
  const std::lock_guard lock(mutex_);
  return end_one(cookie);
}

bool HandedOver::shed() {
  const std::lock_guard lock(mutex_);
  for (Arrivals* arrivals : {&in_handshake_, &silent_})
    while (const auto cookie = arrivals->shed())
      if (end_one(*cookie)) return true;
  while (known_.size_of(known_.biggest_source()) > kFewOfACertificate)
    if (const auto cookie = known_.shed(); cookie && end_one(*cookie)) return true;
  return false;
}

void HandedOver::tick(double now) {
  const std::lock_guard lock(mutex_);
  for (const std::uint64_t cookie : in_handshake_.expired(now))
    silent_.enter(cookie, connections_[cookie].source, now);
  if (now < next_sweep_) return;
  next_sweep_ = now + kSweepSeconds;
  sweep();
}

std::uint64_t HandedOver::ended_by_certificate() const {
  const std::lock_guard lock(mutex_);
  return ended_by_certificate_;
}

std::size_t HandedOver::in_handshake() const {
  const std::lock_guard lock(mutex_);
  return in_handshake_.size();
}

std::size_t HandedOver::size() const {
  const std::lock_guard lock(mutex_);
  return connections_.size();
}

// Reports whether the connection was still open.
bool HandedOver::end_one(std::uint64_t cookie) {
  const auto connection = connections_.find(cookie);
  if (connection == connections_.end()) return false;
  const bool ended = ender_.end(connection->second.fd, cookie);
  forget(cookie);
  return ended;
}

void HandedOver::forget(std::uint64_t cookie) {
  const auto connection = connections_.find(cookie);
  if (connection == connections_.end()) return;
  connections_.erase(connection);
  for (Arrivals* arrivals : {&in_handshake_, &silent_, &known_}) arrivals->leave(cookie);
}

// One getsockopt a connection: some 5 ms for 10,000.
void HandedOver::sweep() {
  std::vector<std::uint64_t> closed;
  for (const auto& [cookie, connection] : connections_)
    if (cookie_of(connection.fd) != cookie) closed.push_back(cookie);
  for (const std::uint64_t cookie : closed) forget(cookie);
  sweep_at_ = std::max(kMostInHandshake * 4, connections_.size() * 2);
}

}  // namespace railgauge
