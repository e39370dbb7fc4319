#include "kernels/core/nccl_conf.h"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>

namespace railgauge {
namespace {

// The home of the user that runs this process, as NCCL looks it up: not $HOME.
std::string home_folder() {
  std::array<char, 4096> room{};
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(getuid(), &entry, room.data(), room.size(), &found) != 0 || found == nullptr)
    return "";
  return found->pw_dir;
}

}  // namespace

std::vector<std::string> nccl_conf_files() {
  std::vector<std::string> files;
  if (const char* named = std::getenv("NCCL_CONF_FILE"); named != nullptr && *named != '\0')
    files.emplace_back(named);
  else if (const std::string home = home_folder(); !home.empty())
    files.push_back(home + "/.nccl.conf");
  files.emplace_back("/etc/nccl.conf");
  return files;
}

std::string nccl_setting_in_force(const std::string& name) {
  if (const char* value = std::getenv(name.c_str()); value != nullptr) return value;
  for (const std::string& path : nccl_conf_files()) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
      if (line.starts_with(name + "=")) return line.substr(name.size() + 1);
  }
  return "";
}

}  // namespace railgauge
