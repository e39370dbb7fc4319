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

#include "kernels/core/base/result.h"

namespace railgauge {

// An answer of the system's user database.
enum class Membership {
  kMember,    // root, the controller's own user, or a member of the group
  kStranger,  // a user without the group, or no user at all
  kUnknown,   // the database did not answer, or not with all of its parts
};

// Asks the database whether `user`, a name or "uid N", may use the socket. Waits for it.
Membership membership_of(const std::string& user, uid_t own_uid, std::optional<gid_t> group);

// Ok for a member. kPermissionDenied: a stranger; kUnavailable: the database did not answer.
Status check_membership(const std::string& user, Membership membership);

// Remembers members for a while. A user who has left the group is one for kKeptSeconds more at
// most; while the database does not answer, for kFailedSeconds.
class Members {
 public:
  static constexpr double kKeptSeconds = 60;
  static constexpr double kFailedSeconds = 900;
  static constexpr std::size_t kMostKept = 256;
  using LookUp = std::function<Membership(const std::string& user)>;

  explicit Members(LookUp look_up) : look_up_(std::move(look_up)) {}
  // `now`: seconds of one clock that never falls. Waits for the system's database.
  Membership of(const std::string& user, double now);

 private:
  const LookUp look_up_;
  std::mutex mutex_;
  std::map<std::string, double> seen_;  // when a look-up found them, by name
};

}  // namespace railgauge
