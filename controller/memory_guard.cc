#include "controller/memory_guard.h"

#include <malloc.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge {
namespace {

// The files of a version of cgroups.
struct Version {
  const char* folder;   // where the hierarchy is mounted
  const char* current;  // bytes in use
  const char* limits[2];
  const char* cached[2];  // names in memory.stat
};
constexpr Version kSecond{"/sys/fs/cgroup",
                          "memory.current",
                          {"memory.max", "memory.high"},
                          {"inactive_file", "active_file"}};
constexpr Version kFirst{"/sys/fs/cgroup/memory",
                         "memory.usage_in_bytes",
                         {"memory.limit_in_bytes", nullptr},
                         {"total_inactive_file", "total_active_file"}};
// A limit that nobody set: version 1 shows about 2^63.
constexpr double kNoLimit = 1e18;

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The number in a file; absent for "max" and for a file that is not there.
std::optional<double> number_in(const std::string& path) {
  const std::string text = text_of(path);
  const auto number = parse_number(std::string_view(text).substr(0, text.find('\n')));
  return number ? std::optional(*number) : std::nullopt;
}

// The bytes of these names of memory.stat.
double cached_in(const std::string& folder, const Version& version) {
  const std::string text = text_of(folder + "/memory.stat");
  double sum = 0;
  for (const std::string_view line : split_lines(text))
    for (const char* name : version.cached)
      if (line.starts_with(std::string(name) + " "))
        sum += parse_number(line.substr(line.find(' ') + 1)).value_or(0);
  return sum;
}

std::optional<MemoryUse> use_of(const std::string& folder, const Version& version) {
  MemoryUse use{.used = 0, .limit = kNoLimit};
  for (const char* name : version.limits)
    if (name != nullptr)
      use.limit = std::min(use.limit, number_in(folder + "/" + name).value_or(kNoLimit));
  const auto current = number_in(folder + "/" + version.current);
  if (!current || use.limit >= kNoLimit || use.limit <= 0) return std::nullopt;
  use.used = std::max(0.0, *current - cached_in(folder, version));
  return use;
}

// The group's folder and those above it, up to where the hierarchy is mounted. In a container the
// group's path may be that outside of it: then only the mounted folder is there.
std::optional<MemoryUse> tightest_of(const std::string& mount, const std::string& group,
                                     const Version& version) {
  std::optional<MemoryUse> tightest;
  std::filesystem::path path(group);
  for (bool more = true; more; path = path.parent_path()) {
    more = path.has_relative_path();
    const auto use = use_of(mount + (more ? path.string() : ""), version);
    if (use && (!tightest || use->used / use->limit > tightest->used / tightest->limit))
      tightest = use;
  }
  return tightest;
}

}  // namespace

std::optional<MemoryUse> read_memory_use(const std::string& root) {
  const std::string groups = text_of(root + "/proc/self/cgroup");
  std::optional<MemoryUse> found;
  for (const std::string_view line : split_lines(groups)) {
    const auto parts = split(line, ':');
    if (parts.size() < 3) continue;
    const std::string group(line.substr(parts[0].size() + parts[1].size() + 2));
    const auto controllers = split(parts[1], ',');
    const bool is_first = std::ranges::find(controllers, "memory") != controllers.end();
    if (!is_first && !parts[1].empty()) continue;
    const Version& version = is_first ? kFirst : kSecond;
    const auto use = tightest_of(root + version.folder, group, version);
    if (use) found = use;
  }
  return found;
}

Status MemoryGuard::check(double more_bytes) {
  const std::lock_guard lock(mutex_);
  return check_locked(more_bytes);
}

Result<MemoryClaim> MemoryGuard::claim(double bytes) {
  const std::lock_guard lock(mutex_);
  RG_TRY_OK(check_locked(bytes));
  claimed_ += bytes;
  return MemoryClaim(this, [bytes](MemoryGuard* guard) {
    const std::lock_guard held(guard->mutex_);
    guard->claimed_ -= bytes;
  });
}

Status MemoryGuard::check_locked(double more_bytes) {
  constexpr double kReadNs = 0.1e9;
  constexpr double kGiveBackNs = 2e9;
  if (const double now_ns = monotonic_now_ns(); now_ns >= next_read_ns_) {
    next_read_ns_ = now_ns + kReadNs;
    use_ = read_memory_use(root_);
  }
  const auto fits = [&] {
    return !use_ || use_->used + claimed_ + more_bytes <= kMostShare * use_->limit;
  };
  if (fits()) return {};
  // The heap keeps what earlier work took; it may be all that is short.
  if (next_give_back_ns_ <= monotonic_now_ns()) {
    next_give_back_ns_ = monotonic_now_ns() + kGiveBackNs;
    give_back_free_memory();
    use_ = read_memory_use(root_);
    if (fits()) return {};
  }
  return fail(
      Code::kResourceExhausted,
      fmt::format("the controller's memory is short: {:.0f} of the {:.0f} MB that its cgroup "
                  "allows are taken{}; try again later, or raise MemoryMax",
                  (use_->used + claimed_) / 1e6, use_->limit / 1e6,
                  more_bytes > 0 ? fmt::format(" and this wants {:.0f}", more_bytes / 1e6) : ""));
}

void give_back_free_memory() { ::malloc_trim(0); }

}  // namespace railgauge
