// The one folder into which backups are written by people's calls.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/core/base/result.h"

namespace railgauge::store {

// Returns the path of a backup: `name` is relative to `folder`, or absolute and below it. The
// folder is made when it is missing; folders inside it are not. No component may be "..", "." or a
// link, so the result is below the folder. kInvalidArgument: the name leaves the folder, names none
// of its files, or passes a link. kPermissionDenied: users besides the owner may write to the
// folder. kNotFound: a folder of the name is missing.
Result<std::string> backup_target(const std::string& folder, const std::string& name);

// A backup that is there.
struct BackupFile {
  std::string path{};
  double written_at = 0;  // seconds since 1970
  double bytes = 0;
};
// Proofs of backups are restored into folders of the backup folder whose names begin so.
inline constexpr std::string_view kProofFolder = ".restored-";
// Returns the newest file of the folder and of those inside it, but for unfinished ones and proofs;
// absent: there is none. It
// looks at kMaxBackupsRead files at most.
std::optional<BackupFile> newest_backup(const std::string& folder);
inline constexpr std::size_t kMaxBackupsRead = 10'000;

}  // namespace railgauge::store
