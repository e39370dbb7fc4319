// The limits and restrictions of a kept program. They are set between fork and exec, where this
// process has one thread.
#include "kernels/launch/shim/confinement.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace railgauge::launch {
namespace {

struct Limit {
  std::string_view name;
  int resource;
};
// No limit of the address space, since CUDA reserves terabytes, and none of locked memory, which
// verbs need.
constexpr std::array kLimits{Limit{"core", RLIMIT_CORE}, Limit{"file", RLIMIT_FSIZE},
                             Limit{"descriptors", RLIMIT_NOFILE}, Limit{"processes", RLIMIT_NPROC}};
// These let a root reach other processes, the kernel or devices past the files' rights. A runner of
// an ordinary user has none of these; one of root keeps those for locked memory and the network.
constexpr std::array kPrivileges{CAP_SYS_PTRACE, CAP_SYS_ADMIN, CAP_PERFMON,   CAP_BPF,
                                 CAP_SYS_MODULE, CAP_SYS_RAWIO, CAP_SYS_BOOT,  CAP_SYS_TIME,
                                 CAP_MKNOD,      CAP_SYSLOG,    CAP_MAC_ADMIN, CAP_MAC_OVERRIDE,
                                 CAP_SETPCAP};
// When memory is short, Linux ends the program before the agent and the keeper.
constexpr std::string_view kOomScore = "500";

Status take_limit(std::string_view text, Confinement& confinement) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const auto* row = std::ranges::find(kLimits, name, &Limit::name);
  std::uint64_t value = 0;
  const std::string_view number = equals == std::string_view::npos ? "" : text.substr(equals + 1);
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), value);
  if (row == kLimits.end() || number.empty() || parsed.ptr != number.data() + number.size())
    return invalid("--limit {}: is no limit of a kept program", text);
  confinement.limits[row->resource] = value;
  return {};
}

// The hard limit of descriptors and processes stays, since a program may raise its soft one.
Status set_limit(int resource, std::uint64_t value) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return fail(Code::kInternal, "getrlimit");
  limit.rlim_max = std::min<rlim_t>(limit.rlim_max, value);
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(resource, &limit) != 0)
    return fail(Code::kInternal, "setrlimit {}: {}", resource, std::strerror(errno));
  return {};
}

void raise_oom_score() {
  const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  static_cast<void>(!::write(fd, kOomScore.data(), kOomScore.size()));
  ::close(fd);
}

bool is_below(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder + "/");
}

}  // namespace

Result<Confinement> take_confinement(std::span<char* const>& words) {
  Confinement confinement;
  if (words.empty() || std::string_view(words[0]) != "--confine") return confinement;
  confinement.asked = true;
  words = words.subspan(1);
  while (words.size() >= 2 && std::string_view(words[0]).starts_with("--")) {
    if (std::string_view(words[0]) == "--hide")
      confinement.files.paths.emplace_back(words[1]);
    else if (std::string_view(words[0]) == "--limit")
      RG_TRY_OK(take_limit(words[1], confinement));
    else if (std::string_view(words[0]) == "--landlock")
      confinement.landlock = std::string_view(words[1]) != "off";
    else
      return invalid("{}: is no option of --confine", words[0]);
    words = words.subspan(2);
  }
  return confinement;
}

void Scratch::make(HiddenFiles& files) {
  std::error_code none;
  std::string name = (std::filesystem::temp_directory_path(none) / "rg-XXXXXX").string();
  if (none || ::mkdtemp(name.data()) == nullptr) return;
  path_ = name;
  files.usable.push_back(path_);
  ::setenv("TMPDIR", path_.c_str(), 1);
  const char* home = std::getenv("HOME");
  if (home != nullptr &&
      std::ranges::any_of(files.paths, [&](const auto& path) { return is_below(home, path); }))
    ::setenv("HOME", path_.c_str(), 1);
}

Scratch::~Scratch() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

Status confine(const Confinement& confinement) {
  raise_oom_score();
  for (const auto& [resource, value] : confinement.limits) RG_TRY_OK(set_limit(resource, value));
  // Without the privilege to drop one this fails, and there is none to drop then.
  for (const int privilege : kPrivileges) ::prctl(PR_CAPBSET_DROP, privilege, 0, 0, 0);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return fail(Code::kInternal, "PR_SET_NO_NEW_PRIVS: {}", std::strerror(errno));
  if (!confinement.landlock) return {};
  const int version = landlock_version();
  if (version > 0 && version < kLandlockOfTruncation) RG_TRY_OK(refuse_truncation());
  Status restricted = restrict_files(confinement.files);
  if (!restricted && restricted.error().code != Code::kUnimplemented) return restricted;
  return {};
}

}  // namespace railgauge::launch
