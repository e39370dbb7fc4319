#include "controller/audit/line_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace railgauge::audit {
namespace {

constexpr mode_t kMode = 0640;  // it names people

Error error_of(std::string_view act, const std::string& path, int error) {
  const Code code = error == ENOSPC || error == EDQUOT || error == EMFILE || error == ENFILE
                        ? Code::kResourceExhausted
                    : error == EACCES || error == EPERM || error == EROFS ? Code::kPermissionDenied
                    : error == ENOENT || error == ENOTDIR                 ? Code::kNotFound
                                                                          : Code::kUnavailable;
  return {code, fmt::format("audit log {}: {}: {}", path, act, std::strerror(error))};
}

}  // namespace

void DescriptorTraits::release(Type descriptor) { ::close(descriptor); }

Status LineFile::open() {
  if (path_.empty()) return {};
  // NONBLOCK: a pipe without a reader must not hold the controller.
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  Handle<DescriptorTraits> opened(path_ == "-" ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
                                               : ::open(path_.c_str(), kFlags, kMode));
  if (!opened) return tl::unexpected(error_of("open", path_, errno));
  struct stat file {};
  if (::fstat(opened.get(), &file) != 0) return tl::unexpected(error_of("open", path_, errno));
  if (path_ != "-" && !S_ISREG(file.st_mode) && !S_ISCHR(file.st_mode))
    return fail(Code::kInvalidArgument,
                fmt::format("audit log {}: neither a file nor a device; name a file", path_));
  file_ = std::move(opened);
  is_cut_ = false;
  return {};
}

Status LineFile::append(std::string_view lines) {
  if (path_.empty()) return {};
  if (!file_) RG_TRY_OK(open());
  const std::string text = is_cut_ ? fmt::format("\n{}", lines) : std::string(lines);
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = ::write(file_.get(), text.data() + at, text.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return tl::unexpected(error_of("write", path_, errno));
    at += static_cast<std::size_t>(written);
    is_cut_ = text[at - 1] != '\n';
  }
  return {};
}

}  // namespace railgauge::audit
