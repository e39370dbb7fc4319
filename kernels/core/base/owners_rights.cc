#include "kernels/core/base/owners_rights.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace railgauge {

Result<OwnersRights> OwnersRights::take(const std::string& folder) {
  OwnersRights rights;
  if (::geteuid() != 0) return rights;
  const auto denied = [&folder](std::string_view act) {
    return fail(Code::kPermissionDenied,
                fmt::format("{}: {}: {}", folder, act, std::strerror(errno)));
  };
  struct stat about {};
  if (::stat(folder.c_str(), &about) != 0) return denied("look at");
  if (about.st_uid == 0) return rights;
  rights.is_taken_ = true;
  if (::setegid(about.st_gid) != 0 || ::seteuid(about.st_uid) != 0)
    return denied("take its owner's rights");
  return rights;
}

OwnersRights::~OwnersRights() {
  if (is_taken_) RG_CHECK(::seteuid(0) == 0 && ::setegid(0) == 0);
}

}  // namespace railgauge
