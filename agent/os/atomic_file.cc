#include "agent/os/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "kernels/core/base/fd.h"
#include "kernels/core/group/framing.h"

namespace railgauge::agent {
namespace {
constexpr double kWriteSeconds = 5;
constexpr const char* kDraftEnding = ".tmp";

// Errors are ignored: root in a container may lack the right.
void give_to_owner(const Fd& folder, const Fd& file) {
  struct stat about {};
  if (::geteuid() != 0 || ::fstat(folder.get(), &about) != 0) return;
  if (::fchown(file.get(), about.st_uid, about.st_gid) != 0) return;
}

// Writes the whole draft and puts it in place of the file.
Status replace(const Fd& parent, const Fd& file, const std::string& draft, const std::string& path,
               const std::string& text) {
  give_to_owner(parent, file);
  RG_TRY_OK(write_all(file.get(), text, kWriteSeconds));
  if (::fsync(file.get()) != 0) return denied(draft, "fsync", errno);
  if (::rename(draft.c_str(), path.c_str()) != 0) return denied(path, "rename", errno);
  return {};
}
}  // namespace

tl::unexpected<Error> denied(const std::string& path, const char* act, int error) {
  return fail(Code::kPermissionDenied, fmt::format("{}: {}: {}", path, act, std::strerror(error)));
}

Status write_atomically(const std::string& folder, const std::string& name, const std::string& text,
                        mode_t mode) {
  const std::string path = folder + "/" + name;
  const std::string draft = path + kDraftEnding;
  Fd parent(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent) return denied(folder, "open", errno);
  // An existing draft is that of a killed writer, or a stranger's link.
  if (::unlink(draft.c_str()) != 0 && errno != ENOENT) return denied(draft, "remove", errno);
  Fd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return denied(draft, "open", errno);
  if (mode != 0600 && ::fchmod(file.get(), mode) != 0) return denied(draft, "chmod", errno);
  if (Status replaced = replace(parent, file, draft, path, text); !replaced) {
    ::unlink(draft.c_str());
    return replaced;
  }
  if (::fsync(parent.get()) != 0) return denied(folder, "fsync", errno);
  return {};
}

void remove_draft(const std::string& folder, const std::string& name) {
  ::unlink((folder + "/" + name + kDraftEnding).c_str());
}

}  // namespace railgauge::agent
