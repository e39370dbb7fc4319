#include "controller/console/sessions.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace railgauge::console {
namespace {

constexpr std::size_t kSecretBytes = 32;

}  // namespace

std::string new_secret() {
  std::array<unsigned char, kSecretBytes> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return "";
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

// An address without a certificate has another port for each connection.
std::string person_of(const Visitor& visitor) {
  std::string who = visitor.who;
  if (visitor.serial.empty() && (who.starts_with("ipv4:") || who.starts_with("ipv6:")))
    who.resize(who.rfind(':'));
  return fmt::format("person {} by {} of {}", who, visitor.sudo_user, visitor.issuer);
}

// Ended entries go first. A person who takes all that there is loses the next one too.
void Sessions::make_room(Entries& entries, const std::string& person, std::size_t most,
                         double now) {
  std::erase_if(entries, [now](const auto& entry) { return entry.second.ends_unix <= now; });
  std::map<std::string, std::size_t> counts;
  for (const auto& [secret, entry] : entries) ++counts[person_of(entry.visitor)];
  const auto end_one_of = [&](const std::string& whose) {
    auto soonest = entries.end();
    for (auto one = entries.begin(); one != entries.end(); ++one)
      if (person_of(one->second.visitor) == whose &&
          (soonest == entries.end() || one->second.ends_unix < soonest->second.ends_unix))
        soonest = one;
    entries.erase(soonest);
    --counts[whose];
  };
  while (counts[person] >= kMostOfOnePerson) end_one_of(person);
  while (entries.size() >= most)
    end_one_of(
        std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; })->first);
}

std::string Sessions::issue(Visitor visitor, double now) {
  std::string ticket = new_secret();
  if (ticket.empty()) return "";
  const std::lock_guard lock(mutex_);
  make_room(tickets_, person_of(visitor), kMostTickets, now);
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
  make_room(sessions_, person_of(found->second.visitor), kMostSessions, now);
  found->second.visitor.session = ++begun_;
  sessions_[secret] = {.visitor = std::move(found->second.visitor),
                       .ends_unix = now + kIdleSeconds,
                       .last_unix = now + kLongestSeconds,
                       .token = std::move(token)};
  tickets_.erase(found);
  return secret;
}

// Looking prolongs the session, up to its longest time.
std::optional<Sessions::Session> Sessions::find(const std::string& secret, double now,
                                                bool is_used) {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(secret);
  if (found == sessions_.end()) return std::nullopt;
  Entry& entry = found->second;
  if (entry.ends_unix <= now) {
    sessions_.erase(found);
    return std::nullopt;
  }
  if (is_used) entry.ends_unix = std::min(now + kIdleSeconds, entry.last_unix);
  return Session{.visitor = entry.visitor, .ends_unix = entry.ends_unix, .token = entry.token};
}

bool Sessions::holds(const std::string& secret, double now) {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(secret);
  return found != sessions_.end() && found->second.ends_unix > now;
}

// Certificates and passwords have no session; the token is of the certificate or of the user.
std::string Sessions::token_of(const Visitor& visitor, double now) {
  const std::string id = visitor.serial.empty()
                             ? fmt::format("password {}", visitor.who)
                             : fmt::format("{} of {}", visitor.serial, visitor.issuer);
  const std::lock_guard lock(mutex_);
  auto found = certificates_.find(id);
  if (found == certificates_.end()) {
    std::string token = new_secret();
    if (token.empty()) return "";
    make_room(certificates_, person_of(visitor), kMostSessions, now);
    found = certificates_.emplace(id, Entry{.visitor = visitor, .token = std::move(token)}).first;
  }
  found->second.ends_unix = now + kLongestSeconds;
  return found->second.token;
}

void Sessions::end(const std::string& secret) {
  const std::lock_guard lock(mutex_);
  sessions_.erase(secret);
}

}  // namespace railgauge::console
