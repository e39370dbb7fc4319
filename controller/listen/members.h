// Which users of the host may use the unix socket now, for what they opened through it earlier.
// Thread safe.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace railgauge {

// Whether the system's database has the user as root, as the controller's own, or in `group`.
bool is_member_now(const std::string& user, uid_t own_uid, std::optional<gid_t> group);

// A user who has left the group is one for kKeptSeconds more at most.
class Members {
 public:
  static constexpr double kKeptSeconds = 60;
  static constexpr std::size_t kMostKept = 256;
  using LookUp = std::function<bool(const std::string& user)>;

  explicit Members(LookUp look_up) : look_up_(std::move(look_up)) {}
  // `now`: seconds of one clock that never falls. Waits for the system's database.
  bool has(const std::string& user, double now);

 private:
  const LookUp look_up_;
  std::mutex mutex_;
  std::map<std::string, double> seen_;  // when a look-up found them, by name
};

}  // namespace railgauge
