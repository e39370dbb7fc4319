#include "agent/busy/own.h"

#include <unistd.h>

#include <array>
#include <charconv>
#include <cmath>
#include <sstream>

#include <fmt/format.h>

#include "agent/inventory/facts/files.h"

namespace railgauge::agent {
namespace {
constexpr int kMostGenerations = 64;
constexpr double kWindowSeconds = 60;
constexpr std::size_t kMostStatBytes = 4096;
constexpr std::size_t kMostFamily = 256;
// Indexes of the fields behind the name: state, parent, group, session, ..., user and system ticks.
constexpr std::size_t kParent = 1;
constexpr std::size_t kGroup = 2;
constexpr std::size_t kSession = 3;
constexpr std::size_t kUserTicks = 11;
constexpr std::size_t kSystemTicks = 12;
}  // namespace

std::optional<ProcessFacts> parse_process_stat(std::string_view text) {
  const std::size_t name_end = text.rfind(')');  // a name may hold anything, parentheses too
  if (name_end == std::string_view::npos) return std::nullopt;
  text.remove_prefix(name_end + 1);
  std::array<long long, kSystemTicks + 1> fields{};
  for (std::size_t i = 0; i <= kSystemTicks; ++i) {
    const std::size_t begin = text.find_first_not_of(" \n");
    if (begin == std::string_view::npos) return std::nullopt;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find(' '), text.size());
    const char* stop = text.data() + end;
    if (i > 0 && std::from_chars(text.data(), stop, fields[i]).ptr != stop) return std::nullopt;
    text.remove_prefix(end);
  }
  if (fields[kUserTicks] < 0 || fields[kSystemTicks] < 0) return std::nullopt;
  return ProcessFacts{.parent = static_cast<int>(fields[kParent]),
                      .group = static_cast<int>(fields[kGroup]),
                      .session = static_cast<int>(fields[kSession]),
                      .cpu_ticks = static_cast<double>(fields[kUserTicks]) +
                                   static_cast<double>(fields[kSystemTicks])};
}

void OwnLoad::update(double cpus, double seconds) {
  if (!(seconds > 0)) return;
  const double kept = std::exp(-seconds / kWindowSeconds);
  value_ = value_ * kept + cpus * (1 - kept);
}

OwnProcesses::OwnProcesses(std::string proc_root, int self)
    : proc_root_(std::move(proc_root)), self_(self) {}

std::optional<ProcessFacts> OwnProcesses::facts_of(int pid) const {
  return parse_process_stat(small_file(fmt::format("{}/{}/stat", proc_root_, pid), kMostStatBytes));
}

// One list of children belongs to each thread; a keeper and a runner start theirs in the first one.
std::vector<int> OwnProcesses::family_of(int pid) const {
  std::vector<int> family{pid};
  for (std::size_t next = 0; next < family.size() && family.size() < kMostFamily; ++next) {
    const int parent = family[next];
    std::istringstream children(small_file(
        fmt::format("{}/{}/task/{}/children", proc_root_, parent, parent), kMostStatBytes));
    for (int child = 0; children >> child && family.size() < kMostFamily;) family.push_back(child);
  }
  return family;
}

bool OwnProcesses::shows(int pid) const {
  return ::access(fmt::format("{}/{}", proc_root_, pid).c_str(), F_OK) == 0;
}

std::string OwnProcesses::name_of(int pid) const {
  return line_of(fmt::format("{}/{}/comm", proc_root_, pid));
}

void OwnProcesses::update(std::span<const int> runners, double now_seconds) {
  runners_ = {runners.begin(), runners.end()};
  double ticks = 0;
  std::map<int, double> seen;
  std::set<int> family;
  for (const int pid : runners_)
    for (const int member : family_of(pid)) family.insert(member);
  for (const int pid : family) {
    remembered_[pid] = now_seconds;
    const auto facts = facts_of(pid);
    if (!facts) continue;
    seen[pid] = facts->cpu_ticks;
    const auto before = cpu_ticks_.find(pid);
    ticks += facts->cpu_ticks - (before == cpu_ticks_.end() ? 0 : before->second);
  }
  cpu_ticks_ = std::move(seen);
  const double since = updated_ < 0 ? 0 : now_seconds - updated_;
  if (since > 0) load_.update(ticks / static_cast<double>(::sysconf(_SC_CLK_TCK)) / since, since);
  updated_ = now_seconds;
  if (!runners_.empty()) ran_at_ = now_seconds;
  std::erase_if(remembered_,
                [&](const auto& one) { return now_seconds - one.second > kMemorySeconds; });
}

bool OwnProcesses::ran_lately(double now_seconds) const {
  return now_seconds - ran_at_ <= kAfterglowSeconds;
}

bool OwnProcesses::climbs_to_us(int pid) const {
  for (int generation = 0; generation < kMostGenerations && pid > 1; ++generation) {
    if (pid == self_ || remembered_.contains(pid)) return true;
    const auto facts = facts_of(pid);
    if (!facts) return false;
    // A group or session that began as a runner's stays ours when the runner is gone.
    if (remembered_.contains(facts->group) || remembered_.contains(facts->session)) return true;
    pid = facts->parent;
  }
  return false;
}

bool OwnProcesses::owns(int pid) {
  if (!climbs_to_us(pid)) return false;
  // A GPU lists an ended process a moment longer than /proc.
  if (pid != self_) remembered_[pid] = std::max(updated_, 0.0);
  return true;
}

}  // namespace railgauge::agent
