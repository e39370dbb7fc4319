#include "kernels/core/base/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "kernels/core/base/fd.h"

namespace railgauge {
namespace {

constexpr std::size_t kStatBytes = 1024;  // more than /proc/PID/stat is long

// A container may have the host's /proc, whose numbers belong to other processes.
bool is_own_proc() {
  std::array<char, 32> self{};
  const ssize_t got = ::readlink("/proc/self", self.data(), self.size() - 1);
  return got > 0 && std::atoi(self.data()) == ::getpid();
}

// A process whose first thread has ended counts as Z in /proc while its other threads run.
Relation relation_of(const char* process) {
  const std::string path = std::string("/proc/") + process + "/stat";
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return {};
  std::array<char, kStatBytes> text{};
  if (::read(fd.get(), text.data(), text.size() - 1) <= 0) return {};
  const char* name_end = std::strrchr(text.data(), ')');  // a name may hold anything
  char state = '?';
  int parent = 0;
  int threads = 0;
  if (name_end == nullptr ||
      std::sscanf(name_end + 1,
                  " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d", &state,
                  &parent, &threads) != 3)
    return {};
  return {.parent = parent, .lives = (state != 'Z' && state != 'X') || threads > 1};
}

}  // namespace

Relations read_relations() {
  Relations all;
  DIR* folder = is_own_proc() ? ::opendir("/proc") : nullptr;
  if (folder == nullptr) return all;
  while (const dirent* entry = ::readdir(folder))
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
      all[std::atoi(entry->d_name)] = relation_of(entry->d_name);
  ::closedir(folder);
  return all;
}

std::vector<pid_t> descendants_of(pid_t self, const Relations& all, const std::set<pid_t>& spared) {
  std::vector<pid_t> found;
  for (const auto& [process, relation] : all) {
    pid_t child = process;
    pid_t ancestor = relation.parent;
    for (std::size_t steps = 0; ancestor > 0 && ancestor != self && steps < all.size(); ++steps) {
      const auto parent = all.find(ancestor);
      child = ancestor;
      ancestor = parent == all.end() ? 0 : parent->second.parent;
    }
    if (ancestor == self && process != self && !spared.contains(child)) found.push_back(process);
  }
  return found;
}

}  // namespace railgauge
