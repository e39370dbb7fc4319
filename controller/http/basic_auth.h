// Names and passwords of HTTP basic authentication, checked against bcrypt hashes.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace railgauge::http {

// The hashes that are taken cost between 2^4 and 2^14 rounds: 2^14 is about a second of a core.
inline constexpr int kLeastBcryptCost = 4;
inline constexpr int kMostBcryptCost = 14;

struct User {
  std::string name;
  std::string hash;  // "$2y$10$..."
};

// The cost of a bcrypt hash; 0: it is none.
int bcrypt_cost(std::string_view hash);

// "NAME:PASSWORD" of the header "Authorization: Basic BASE64"; absent for anything else. Pure.
std::optional<std::string> credentials_of(std::string_view header);

// Checks passwords. A right one is remembered, so that a scraper costs one bcrypt. Wrong ones cost
// at most a fifth of a core in all: one is checked at a time, a pause of four times its duration
// follows, and few requests wait, one of each source. Thread safe.
class BasicAuth {
 public:
  enum class Answer : std::uint8_t { kRight, kWrong, kBusy };

  BasicAuth(std::vector<User> users);

  [[nodiscard]] bool has_users() const { return !users_.empty(); }
  // `header` is the value of "Authorization", `source` the peer's address. Unknown names cost as
  // much as wrong passwords. kBusy: too many passwords wait to be checked.
  Answer check(std::string_view header, const std::string& source);
  // The user that `header` names; "" for a name that is no user's, which may be a password that was
  // typed in its place.
  [[nodiscard]] std::string user_of(std::string_view header) const;

 private:
  using Digest = std::array<unsigned char, 32>;
  [[nodiscard]] Digest digest_of(const std::string& credentials) const;
  Answer compute(const std::string& name, const std::string& password, const Digest& digest,
                 const std::string& source);
  void remember(const Digest& digest, bool is_right);

  const std::vector<User> users_;
  std::string other_hash_;  // checked for unknown names
  Digest key_{};            // of the digests, so that memory holds no password
  std::mutex mutex_;        // guards all below
  std::condition_variable turn_;
  std::map<Digest, bool> known_;
  std::deque<Digest> wrong_;       // in the order of their coming; the bound of `known_`
  std::set<std::string> waiting_;  // sources
  bool is_checking_ = false;
  double next_ns_ = 0;  // before it no password is checked
};

}  // namespace railgauge::http
