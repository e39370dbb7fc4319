#include "agent/os/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

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

// Whose a new file is to be, and who may read it.
struct Rights {
  mode_t mode = 0600;
  std::optional<uid_t> user{};  // absent: that of the folder, if root writes
  gid_t group = 0;
};

// The owner first: whoever is given a file gets no rights that its mode does not have.
Status set_rights(const Fd& folder, const Fd& file, const Rights& rights, const std::string& path) {
  struct stat about {};
  if (!rights.user) give_to_owner(folder, file);
  if (rights.user && ::fstat(file.get(), &about) != 0) return denied(path, "look at", errno);
  if (rights.user && (about.st_uid != *rights.user || about.st_gid != rights.group) &&
      ::fchown(file.get(), *rights.user, rights.group) != 0)
    return denied(path, "chown", errno);
  if (rights.mode != 0600 && ::fchmod(file.get(), rights.mode) != 0)
    return denied(path, "chmod", errno);
  return {};
}

// Writes the whole draft and puts it in place of the file.
Status replace(const Fd& file, const std::string& draft, const std::string& path,
               const std::string& text) {
  RG_TRY_OK(write_all(file.get(), text, kWriteSeconds));
  if (::fsync(file.get()) != 0) return denied(draft, "fsync", errno);
  if (::rename(draft.c_str(), path.c_str()) != 0) return denied(path, "rename", errno);
  return {};
}

Status write_with(const std::string& folder, const std::string& name, const std::string& text,
                  const Rights& rights) {
  const std::string path = folder + "/" + name;
  const std::string draft = path + kDraftEnding;
  Fd parent(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent) return denied(folder, "open", errno);
  // An existing draft is that of a killed writer, or a stranger's link.
  if (::unlink(draft.c_str()) != 0 && errno != ENOENT) return denied(draft, "remove", errno);
  Fd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return denied(draft, "open", errno);
  Status written = set_rights(parent, file, rights, draft);
  if (written) written = replace(file, draft, path, text);
  if (!written) {
    ::unlink(draft.c_str());
    return written;
  }
  if (::fsync(parent.get()) != 0) return denied(folder, "fsync", errno);
  return {};
}
}  // namespace

tl::unexpected<Error> denied(const std::string& path, const char* act, int error) {
  return fail(Code::kPermissionDenied, fmt::format("{}: {}: {}", path, act, std::strerror(error)));
}

Status write_atomically(const std::string& folder, const std::string& name, const std::string& text,
                        mode_t mode) {
  return write_with(folder, name, text, {.mode = mode});
}

Status rewrite_atomically(const std::string& folder, const std::string& name,
                          const std::string& text, mode_t mode) {
  struct stat old {};
  constexpr mode_t kPermissions = 07777;
  if (::lstat((folder + "/" + name).c_str(), &old) != 0 || !S_ISREG(old.st_mode))
    return write_with(folder, name, text, {.mode = mode});
  return write_with(folder, name, text,
                    {.mode = old.st_mode & kPermissions, .user = old.st_uid, .group = old.st_gid});
}

void remove_draft(const std::string& folder, const std::string& name) {
  ::unlink((folder + "/" + name + kDraftEnding).c_str());
}

}  // namespace railgauge::agent
