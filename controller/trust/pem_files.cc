#include "controller/trust/pem_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "kernels/core/base/fd.h"
#include "kernels/core/text/text.h"

namespace railgauge::trust {
namespace {

constexpr mode_t kPermissionBits = 0777;
constexpr mode_t kStrangers = 0077;
constexpr mode_t kAllButGroupRead = 0037;

// A FIFO would block whoever reads it a second time, hence O_NONBLOCK and the check of the type.
Result<Fd> open_file(std::string_view flag, const std::string& path, struct stat& file) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd || ::fstat(fd.get(), &file) != 0)
    return fail(Code::kInvalidArgument,
                fmt::format("--{} {}: read: {}", flag, path, errno_words(errno)));
  if (!S_ISREG(file.st_mode))
    return fail(Code::kInvalidArgument, fmt::format("--{} {}: no regular file", flag, path));
  return fd;
}

Result<std::string> read_all(std::string_view flag, const std::string& path, const Fd& fd,
                             std::size_t max_bytes) {
  constexpr std::size_t kStep = 64U << 10U;
  std::string text;
  for (;;) {
    const std::size_t before = text.size();
    text.resize(before + kStep);
    const ssize_t got = ::read(fd.get(), text.data() + before, kStep);
    if (got < 0 && errno != EINTR)
      return fail(Code::kInvalidArgument,
                  fmt::format("--{} {}: read: {}", flag, path, errno_words(errno)));
    text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) break;
    if (text.size() > max_bytes)
      return fail(Code::kInvalidArgument,
                  fmt::format("--{} {}: more than {} bytes", flag, path, max_bytes));
  }
  if (text.find("-----BEGIN ") == std::string::npos)
    return fail(Code::kInvalidArgument, fmt::format("--{} {}: no PEM file", flag, path));
  return text;
}

}  // namespace

ProcessUser this_process() {
  ProcessUser user{.uid = ::geteuid(), .groups = {::getegid()}};
  const int count = ::getgroups(0, nullptr);
  if (count <= 0) return user;
  std::vector<gid_t> more(static_cast<std::size_t>(count));
  const int got = ::getgroups(count, more.data());
  more.resize(static_cast<std::size_t>(std::max(got, 0)));
  user.groups.insert(user.groups.end(), more.begin(), more.end());
  return user;
}

Status check_key_mode(const std::string& path, const struct stat& file, const ProcessUser& user) {
  const std::string quoted = shell_quoted(path);
  if (file.st_uid != 0 && file.st_uid != user.uid)
    return fail(Code::kPermissionDenied,
                fmt::format("{}: the key belongs to uid {}, neither root nor this program's user "
                            "({}); chown {} {}",
                            path, file.st_uid, user.uid, user.uid, quoted));
  const mode_t mode = file.st_mode & kPermissionBits;
  if ((mode & kStrangers) == 0) return {};
  const bool is_own_group = std::ranges::find(user.groups, file.st_gid) != user.groups.end();
  if (file.st_uid == 0 && is_own_group && (mode & kAllButGroupRead) == 0) return {};
  return fail(Code::kPermissionDenied,
              fmt::format("{}: mode {:04o} opens the key to others than its user; chmod 600 {}",
                          path, mode, quoted));
}

Result<std::string> read_pem(std::string_view flag, const std::string& path,
                             std::size_t max_bytes) {
  struct stat file {};
  const Fd fd = RG_TRY(open_file(flag, path, file));
  return read_all(flag, path, fd, max_bytes);
}

Result<std::string> read_key(std::string_view flag, const std::string& path) {
  struct stat file {};
  const Fd fd = RG_TRY(open_file(flag, path, file));
  if (const Status safe = check_key_mode(path, file, this_process()); !safe)
    return fail(safe.error().code, fmt::format("--{} {}", flag, safe.error().message));
  return read_all(flag, path, fd, kMaxPemBytes);
}

Result<Material> load_material(const PemFiles& files) {
  std::string authority = RG_TRY(read_pem("tls-ca", files.authority));
  std::string key = RG_TRY(read_key("tls-key", files.key));
  std::string certificate = RG_TRY(read_pem("tls-cert", files.certificate));
  auto material = check_material(std::move(certificate), std::move(key), std::move(authority));
  if (material) return material;
  return fail(material.error().code, fmt::format("{} ({}, {}, {})", material.error().message,
                                                 files.certificate, files.key, files.authority));
}

std::string stamp_of(std::span<const std::string> paths) {
  std::string stamp;
  for (const std::string& path : paths) {
    struct stat file {};
    if (::stat(path.c_str(), &file) != 0) {
      stamp += fmt::format("{};", errno);
      continue;
    }
    stamp += fmt::format("{}:{} {} {}.{} {}.{};", file.st_dev, file.st_ino, file.st_size,
                         file.st_mtim.tv_sec, file.st_mtim.tv_nsec, file.st_ctim.tv_sec,
                         file.st_ctim.tv_nsec);
  }
  return stamp;
}

}  // namespace railgauge::trust
