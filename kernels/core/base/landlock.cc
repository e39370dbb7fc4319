// Landlock by its system calls: no library is needed, and Debian's headers are older than scopes.
#include "kernels/core/base/landlock.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <set>

#include "kernels/core/base/fd.h"

namespace railgauge {
namespace {

// struct landlock_ruleset_attr of Linux 6.12.
struct Ruleset {
  std::uint64_t files = 0;
  std::uint64_t network = 0;
  std::uint64_t scopes = 0;
};
constexpr std::size_t kRulesetOfFiles = sizeof(std::uint64_t);  // the size before Linux 6.7
constexpr std::uint64_t kScopeOfSignals = 1U << 1U;

// Rights of Linux 5.19 and 6.2, by version 2 and 3.
constexpr std::uint64_t kRefer = 1U << 13U;
constexpr std::uint64_t kTruncate = 1U << 14U;
// Rights that a rule for a file may have.
constexpr std::uint64_t kFileRights =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;
// Lists of folders and the execution of programs stay free.
constexpr std::uint64_t kFolderRights =
    LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
    LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
    LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM |
    kRefer;

// An older kernel refuses a set with rights that it does not know.
std::uint64_t rights_of(int version) {
  std::uint64_t rights = kFileRights | kFolderRights;
  if (version < 3) rights &= ~kTruncate;
  if (version < 2) rights &= ~kRefer;
  return rights;
}

tl::unexpected<Error> failed(const char* call) {
  return fail(Code::kInternal, "{}: {}", call, std::strerror(errno));
}

Fd create(const Ruleset& ruleset, int version) {
  const std::size_t size = version >= kLandlockOfSignals ? sizeof(ruleset) : kRulesetOfFiles;
  return Fd(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &ruleset, size, 0U)));
}

bool enter(const Fd& ruleset) {
  return ::syscall(SYS_landlock_restrict_self, ruleset.get(), 0U) == 0;
}

#if defined(__x86_64__) || defined(__aarch64__)
#ifdef __x86_64__
constexpr std::uint32_t kNative = AUDIT_ARCH_X86_64;
constexpr std::uint32_t kOpen = SYS_open;
#else
constexpr std::uint32_t kNative = AUDIT_ARCH_AARCH64;
constexpr std::uint32_t kOpen = SYS_openat;  // there is no open(2)
#endif
constexpr std::uint32_t kX32 = 0x4000'0000;  // x86_64's second set of calls begins here
constexpr std::uint32_t kOddOpen = O_ACCMODE | O_TRUNC;
constexpr std::uint32_t kNumber = offsetof(seccomp_data, nr);
constexpr std::uint32_t kProcessor = offsetof(seccomp_data, arch);
// The lower half of an argument.
constexpr std::uint32_t argument(std::size_t index) {
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + index * sizeof(std::uint64_t));
}

constexpr sock_filter load(std::uint32_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset);
}
// Skips `yes` or `no` lines.
constexpr sock_filter if_equal(std::uint32_t value, std::uint8_t yes, std::uint8_t no) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no);
}
constexpr sock_filter end(std::uint32_t action) { return BPF_STMT(BPF_RET | BPF_K, action); }
constexpr std::uint32_t kRefuse = SECCOMP_RET_ERRNO | EACCES;
// Callers then use another call.
constexpr std::uint32_t kHide = SECCOMP_RET_ERRNO | ENOSYS;

// Programs with another set of calls (32 bits, x32) get none of them: none of ours has one.
constexpr auto kNoTruncation = std::to_array<sock_filter>({
    load(kProcessor),
    if_equal(kNative, 1, 0),
    end(kHide),
    load(kNumber),
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kX32, 13, 0),
    if_equal(SYS_truncate, 11, 0),
    if_equal(SYS_openat2, 11, 0),
    if_equal(SYS_io_uring_setup, 10, 0),
    if_equal(SYS_openat, 2, 0),
    if_equal(kOpen, 3, 0),
    end(SECCOMP_RET_ALLOW),
    load(argument(2)),
    BPF_STMT(BPF_JMP | BPF_JA, 1),
    load(argument(1)),
    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, kOddOpen),
    if_equal(kOddOpen, 1, 0),
    end(SECCOMP_RET_ALLOW),
    end(kRefuse),
    end(kHide),
});
#endif

// The path with all links resolved; where its last part does not exist, that of its folder with it.
std::string resolved(const std::string& path) {
  std::array<char, PATH_MAX> real{};
  if (::realpath(path.c_str(), real.data()) != nullptr) return real.data();
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return path;
  if (::realpath(path.substr(0, slash).c_str(), real.data()) == nullptr) return path;
  return real.data() + path.substr(slash);
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Allows everything except what is hidden.
class Allower {
 public:
  Allower(const Fd& ruleset, std::uint64_t rights) : ruleset_(ruleset), rights_(rights) {}

  void hide(const std::string& given) {
    const std::string path = resolved(given);
    if (path.empty() || path.front() != '/' || path == "/") return;
    hidden_.insert(path);
    guarded_.insert(folder_of(path));
    for (std::string folder = folder_of(path);; folder = folder_of(folder)) {
      above_.insert(folder);
      if (folder == "/") break;
    }
  }

  Status allow_others() {
    if (above_.empty()) return allow("/");
    for (const std::string& folder : above_) RG_TRY_OK(allow_below(folder));
    return {};
  }

  Status allow(const std::string& path) {
    const Fd place(::open(path.c_str(), O_PATH | O_CLOEXEC | O_NOFOLLOW));
    struct stat facts {};
    if (!place || ::fstat(place.get(), &facts) != 0) return {};  // it is gone
    if (S_ISLNK(facts.st_mode)) return {};  // allowed at the place that it names
    const bool is_folder = S_ISDIR(facts.st_mode);
    landlock_path_beneath_attr rule{};
    rule.allowed_access = is_folder ? rights_ : rights_ & kFileRights;
    rule.parent_fd = place.get();
    if (::syscall(SYS_landlock_add_rule, ruleset_.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0U) !=
        0)
      return failed("landlock_add_rule");
    return {};
  }

 private:
  // A folder that cannot be listed allows nothing: what is beside the hidden path stays unknown.
  Status allow_below(const std::string& folder) {
    if (is_hidden(folder)) return {};
    DIR* list = ::opendir(folder.c_str());
    if (list == nullptr) return {};
    Status status;
    while (const dirent* entry = status ? ::readdir(list) : nullptr) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      const std::string path = (std::filesystem::path(folder) / name).string();
      if (hidden_.contains(path) || above_.contains(path)) continue;
      if (guarded_.contains(folder) && is_for_its_owner_alone(path)) continue;
      status = allow(path);
    }
    ::closedir(list);
    return status;
  }

  [[nodiscard]] bool is_hidden(const std::string& folder) const {
    for (std::string path = folder; path != "/"; path = folder_of(path))
      if (hidden_.contains(path)) return true;
    return false;
  }

  static bool is_for_its_owner_alone(const std::string& path) {
    struct stat facts {};
    return ::lstat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
           (facts.st_mode & (S_IRWXG | S_IRWXO)) == 0;
  }

  const Fd& ruleset_;
  const std::uint64_t rights_;
  std::set<std::string> hidden_;
  std::set<std::string> guarded_;  // folders with a hidden entry
  std::set<std::string> above_;    // every folder on the way to a hidden one
};

}  // namespace

int landlock_version() {
  const long version =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0U, LANDLOCK_CREATE_RULESET_VERSION);
  return version < 0 ? 0 : static_cast<int>(version);
}

// The last line is a proof, since kill(-1, ...) of a root without the restriction would reach the
// whole machine.
bool restrict_signals() {
  const int version = landlock_version();
  if (version < kLandlockOfSignals) return false;
  const Fd ruleset = create({.scopes = kScopeOfSignals}, version);
  if (!ruleset || !enter(ruleset)) return false;
  return ::kill(1, 0) != 0 && errno == EPERM;
}

#if defined(__x86_64__) || defined(__aarch64__)
Status refuse_truncation() {
  const sock_fprog program{.len = kNoTruncation.size(),
                           .filter = const_cast<sock_filter*>(kNoTruncation.data())};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0U, &program) != 0) return failed("seccomp");
  return {};
}
#else
Status refuse_truncation() { return fail(Code::kUnimplemented, "no filter for this processor"); }
#endif

Status restrict_files(const HiddenFiles& files) {
  const int version = landlock_version();
  if (version == 0) return fail(Code::kUnimplemented, "this kernel has no Landlock");
  const std::uint64_t rights = rights_of(version);
  const Fd ruleset = create(
      {.files = rights, .scopes = version >= kLandlockOfSignals ? kScopeOfSignals : 0}, version);
  if (!ruleset) return failed("landlock_create_ruleset");
  Allower allower(ruleset, rights);
  for (const std::string& path : files.paths) allower.hide(path);
  RG_TRY_OK(allower.allow_others());
  for (const std::string& path : files.usable) RG_TRY_OK(allower.allow(resolved(path)));
  if (!enter(ruleset)) return failed("landlock_restrict_self");
  return {};
}

}  // namespace railgauge
