#include "controller/listen/members.h"

#include <grp.h>
#include <pwd.h>

#include <array>
#include <vector>

#include "controller/fleet/auth.h"

namespace railgauge {

bool is_member_now(const std::string& user, uid_t own_uid, std::optional<gid_t> group) {
  constexpr std::size_t kUserBytes = 16'384;
  constexpr int kMostGroups = 1'024;
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, kUserBytes> buffer{};
  if (::getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 ||
      found == nullptr)
    return false;
  auth::Credentials known{.uid = entry.pw_uid, .gid = entry.pw_gid};
  known.groups.resize(kMostGroups);
  int count = kMostGroups;
  if (::getgrouplist(user.c_str(), entry.pw_gid, known.groups.data(), &count) < 0) count = 0;
  known.groups.resize(static_cast<std::size_t>(count));
  return auth::may_connect(known, own_uid, group);
}

// A look-up that finds nobody is not kept: whoever is let in again need not wait.
bool Members::has(const std::string& user, double now) {
  {
    const std::lock_guard lock(mutex_);
    const auto seen = seen_.find(user);
    if (seen != seen_.end() && now - seen->second < kKeptSeconds) return true;
  }
  const bool is_member = look_up_(user);
  const std::lock_guard lock(mutex_);
  if (seen_.size() >= kMostKept) seen_.clear();
  if (is_member)
    seen_.insert_or_assign(user, now);
  else
    seen_.erase(user);
  return is_member;
}

}  // namespace railgauge
