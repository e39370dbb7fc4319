#include "controller/listen/members.h"

#include <grp.h>
#include <pwd.h>

#include <cerrno>
#include <vector>

#include <fmt/format.h>

#include "controller/fleet/auth.h"

namespace railgauge {
namespace {

// getpwnam_r() reports a user who does not exist by these as well as by 0, in glibc's manual.
bool means_nobody(int error) {
  return error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM;
}

// Whether the database knows the group. It named it when the socket was made: where it does not
// now, the part of the database that has the group is away, and lists of groups lack it.
bool knows_group(gid_t group) {
  constexpr std::size_t kGroupBytes = 1'048'576;  // with its members
  ::group entry{};
  ::group* found = nullptr;
  std::vector<char> buffer(kGroupBytes);
  const int error = ::getgrgid_r(group, &entry, buffer.data(), buffer.size(), &found);
  return found != nullptr || error == ERANGE;
}

}  // namespace

Membership membership_of(const std::string& user, uid_t own_uid, std::optional<gid_t> group) {
  constexpr std::size_t kUserBytes = 65'536;
  constexpr int kMostGroups = 65'536;  // NGROUPS_MAX of Linux
  // The controller's own user may have no name, as in a container.
  if (user == auth::user_name(own_uid)) return Membership::kMember;
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(kUserBytes);
  const int error = ::getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found);
  const auto stranger = [&] {
    return !group || knows_group(*group) ? Membership::kStranger : Membership::kUnknown;
  };
  if (found == nullptr) return means_nobody(error) ? stranger() : Membership::kUnknown;
  auth::Credentials known{.uid = entry.pw_uid, .gid = entry.pw_gid};
  int count = kMostGroups;
  known.groups.resize(kMostGroups);
  if (::getgrouplist(user.c_str(), entry.pw_gid, known.groups.data(), &count) < 0)
    return Membership::kUnknown;
  known.groups.resize(static_cast<std::size_t>(count));
  return auth::may_connect(known, own_uid, group) ? Membership::kMember : stranger();
}

Status check_membership(const std::string& user, Membership membership) {
  switch (membership) {
    case Membership::kMember:
      return {};
    case Membership::kStranger:
      return fail(Code::kPermissionDenied,
                  fmt::format("{}: the host's user database has them in no group that may use the "
                              "controller's socket; --socket-group names the group",
                              user));
    case Membership::kUnknown:
      break;
  }
  return fail(Code::kUnavailable,
              fmt::format("{}: the host's user database does not answer, so that the group is not "
                          "known; try again, or sign in by a certificate",
                          user));
}

// A look-up that finds nobody is not kept: whoever is let in again need not wait.
Membership Members::of(const std::string& user, double now) {
  const auto is_seen = [&](double seconds) {
    const std::lock_guard lock(mutex_);
    const auto seen = seen_.find(user);
    return seen != seen_.end() && now - seen->second < seconds;
  };
  if (is_seen(kKeptSeconds)) return Membership::kMember;
  const Membership found = look_up_(user);
  if (found == Membership::kUnknown) return is_seen(kFailedSeconds) ? Membership::kMember : found;
  const std::lock_guard lock(mutex_);
  if (seen_.size() >= kMostKept) seen_.clear();
  if (found == Membership::kMember)
    seen_.insert_or_assign(user, now);
  else
    seen_.erase(user);
  return found;
}

}  // namespace railgauge
