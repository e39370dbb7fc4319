#include "controller/console/sessions.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace railgauge::console {
namespace {

constexpr std::size_t kSecretBytes = 32;

// "": the system gave no random bytes.
std::string new_secret() {
  std::array<unsigned char, kSecretBytes> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return "";
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace

// Ended entries go first, then the one that ends soonest.
void Sessions::make_room(Entries& entries, std::size_t most, double now) {
  std::erase_if(entries, [now](const auto& entry) { return entry.second.ends_unix <= now; });
  while (entries.size() >= most)
    entries.erase(std::ranges::min_element(
        entries, {}, [](const auto& entry) { return entry.second.ends_unix; }));
}

// A full table loses the entry that ends first.
std::string Sessions::issue(Visitor visitor, double now) {
  std::string ticket = new_secret();
  if (ticket.empty()) return "";
  const std::lock_guard lock(mutex_);
  make_room(tickets_, kMostTickets, now);
  tickets_[ticket] = {.visitor = std::move(visitor), .ends_unix = now + kTicketSeconds};
  return ticket;
}

// A ticket is good once.
std::optional<std::string> Sessions::redeem(const std::string& ticket, double now) {
  std::string secret = new_secret();
  std::string token = new_secret();
  const std::lock_guard lock(mutex_);
  const auto found = tickets_.find(ticket);
  if (secret.empty() || token.empty() || found == tickets_.end() || found->second.ends_unix <= now)
    return std::nullopt;
  make_room(sessions_, kMostSessions, now);
  sessions_[secret] = {.visitor = std::move(found->second.visitor),
                       .ends_unix = now + kIdleSeconds,
                       .last_unix = now + kLongestSeconds,
                       .token = std::move(token)};
  tickets_.erase(found);
  return secret;
}

// Looking prolongs the session, up to its longest time.
std::optional<Sessions::Session> Sessions::find(const std::string& secret, double now) {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(secret);
  if (found == sessions_.end()) return std::nullopt;
  Entry& entry = found->second;
  if (entry.ends_unix <= now) {
    sessions_.erase(found);
    return std::nullopt;
  }
  entry.ends_unix = std::min(now + kIdleSeconds, entry.last_unix);
  return Session{.visitor = entry.visitor, .ends_unix = entry.ends_unix, .token = entry.token};
}

bool Sessions::holds(const std::string& secret, double now) {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(secret);
  return found != sessions_.end() && found->second.ends_unix > now;
}

// Certificates have no session; the token is of the certificate.
std::string Sessions::token_of(const std::string& id, double now) {
  const std::lock_guard lock(mutex_);
  auto found = certificates_.find(id);
  if (found == certificates_.end()) {
    std::string token = new_secret();
    if (token.empty()) return "";
    make_room(certificates_, kMostSessions, now);
    found = certificates_.emplace(id, Entry{.token = std::move(token)}).first;
  }
  found->second.ends_unix = now + kLongestSeconds;
  return found->second.token;
}

void Sessions::end(const std::string& secret) {
  const std::lock_guard lock(mutex_);
  sessions_.erase(secret);
}

}  // namespace railgauge::console
