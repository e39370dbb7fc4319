// Tickets, sessions and tokens of the console. A ticket is in a URL, is good once and soon ends; it
// is exchanged for a session, whose secret the page keeps. Both live in memory: a restart ends
// them. Thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace railgauge::console {

// 256 random bits as text; "": the system gave none.
std::string new_secret();

// A person at the console.
struct Visitor {
  std::string who{};
  std::string role{};
  // The user who ran sudo, as sudo said; for root alone, and no right follows. "": not known.
  std::string sudo_user{};
  // The certificate that opened the session has these; "" and 0 without one.
  std::string issuer{};
  std::string serial{};
  double until_unix = 0;
  // The session is of a user of this host, who is looked up again.
  bool is_user = false;
  // The number of the session since the controller started, which is no secret: by it the log and
  // the audit trail keep sessions of one person apart. 0: a certificate with each request.
  std::uint64_t session = 0;
};
// Whose bounds a visitor counts in: one person has them once, however many sessions. A name counts
// beside the authority that vouches for it, and root beside the user who ran sudo.
std::string person_of(const Visitor& visitor);

class Sessions {
 public:
  static constexpr double kTicketSeconds = 120;
  static constexpr double kIdleSeconds = 3'600;      // without a request
  static constexpr double kLongestSeconds = 43'200;  // from its begin
  // More tickets or sessions than these end one: of the person's own, then of whoever has the most,
  // the one that ends soonest.
  static constexpr std::size_t kMostTickets = 64;
  static constexpr std::size_t kMostSessions = 256;
  static constexpr std::size_t kMostOfOnePerson = 16;

  struct Session {
    Visitor visitor{};
    double ends_unix = 0;
    std::string token{};  // that its actions have as well
  };

  // Makes a ticket. `now` is in unix seconds, here and below. "": the system has no random bytes.
  std::string issue(Visitor visitor, double now);
  // Takes a ticket back and begins its session: the session's secret. Absent: it is unknown, was
  // used, or has ended.
  std::optional<std::string> redeem(const std::string& ticket, double now);
  // Returns the session and prolongs it; absent: there is none, or it has ended.
  // `is_used`: a person did something; else its end stays.
  std::optional<Session> find(const std::string& secret, double now, bool is_used = true);
  // Whether find() would return it; prolongs nothing.
  bool holds(const std::string& secret, double now);
  void end(const std::string& secret);
  // The token of a visitor who shows a certificate or a password with each request, in the place of
  // a session. "": the system has no random bytes.
  std::string token_of(const Visitor& visitor, double now);

 private:
  struct Entry {
    Visitor visitor{};
    double ends_unix = 0;
    double last_unix = 0;  // it ends then, whatever happens
    std::string token{};
  };
  // By the secret: 256 random bits, so that the time of a look-up is of no use to a guesser.
  using Entries = std::map<std::string, Entry>;
  static void make_room(Entries& entries, const std::string& person, std::size_t most, double now);

  std::mutex mutex_;
  std::uint64_t begun_ = 0;  // sessions
  Entries tickets_;
  Entries sessions_;
  Entries certificates_;  // by serial number and issuer, or by the name of a password's user
};

}  // namespace railgauge::console
