#include "controller/store/sqlite/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

namespace railgauge::store {
namespace {

namespace fs = std::filesystem;

// The file that links lead to, so that two names of one database share a lock.
std::string lock_name(const std::string& database) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(database, error);
  return (error ? database : real.string()) + ".lock";
}

// A missing right has a code of its own.
tl::unexpected<Error> failure(const std::string& database, std::string_view act, int error) {
  const bool denied = error == EACCES || error == EROFS || error == EPERM;
  return fail(denied ? Code::kPermissionDenied : Code::kUnavailable,
              fmt::format("store {}: {}: its lock file: {}; its folder must exist and be writable",
                          database, act, std::strerror(error)));
}

// Root restores beside a controller that is not root.
void give_to_owner(const File& file, const std::string& database) {
  struct stat owner {};
  const std::string folder = fs::path(database).parent_path().string();
  if (::geteuid() != 0 || (::stat(database.c_str(), &owner) != 0 &&
                           ::stat(folder.empty() ? "." : folder.c_str(), &owner) != 0))
    return;
  static_cast<void>(!::fchown(file.get(), owner.st_uid, owner.st_gid));
}

// " (process 123)", or "" where the file has no number.
std::string holder_of(const File& file) {
  std::array<char, 32> text{};
  const auto size = ::pread(file.get(), text.data(), text.size() - 1, 0);
  const std::string_view number(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return number.empty() ? std::string()
                        : fmt::format(" (process {})", number.substr(0, number.find('\n')));
}

}  // namespace

// flock(2): the kernel releases the lock when the process ends, however it ends.
Result<File> lock_database(const std::string& database, std::string_view act) {
  constexpr mode_t kMode = 0644;
  const std::string name = lock_name(database);
  File file(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kMode));
  if (file.get() < 0) return failure(database, act, errno);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return failure(database, act, errno);
    return fail(
        Code::kFailedPrecondition,
        fmt::format("store {}: {}: another one has it open{}; stop railgauge-controller first, "
                    "or name another file",
                    database, act, holder_of(file)));
  }
  give_to_owner(file, database);
  // The number is for the error of other processes; without it their error names none.
  const std::string number = fmt::format("{}\n", ::getpid());
  if (::ftruncate(file.get(), 0) == 0)
    static_cast<void>(!::pwrite(file.get(), number.data(), number.size(), 0));
  return file;
}

}  // namespace railgauge::store
