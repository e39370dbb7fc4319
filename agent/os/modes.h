// The modes of the agent's key and state folder. A runner has the agent's user, and Landlock has no
// right that keeps it from changing them.
#pragma once

#include <sys/stat.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace railgauge::agent {

// The mode that a file or folder with mode `now` gets, which had `known` before. A change that
// leaves it usable for its owner and closed to all others may be an operator's and stays; after
// any other it is 0600 or 0700. Pure.
mode_t mode_to_keep(bool is_folder, mode_t known, mode_t now);

// Not thread safe.
class Modes {
 public:
  // Remembers the modes of `paths`. A path may be missing.
  explicit Modes(std::vector<std::string> paths);
  // Restores the modes of paths that belong to this process's user, and makes the files of a folder
  // usable again. Returns a line on each change. A file that another one has replaced is remembered
  // anew.
  std::vector<std::string> restore();

 private:
  struct Known {
    std::pair<dev_t, ino_t> file{};
    mode_t mode = 0;
  };
  void restore_one(const std::string& path, std::vector<std::string>& said);

  std::vector<std::string> paths_;
  std::map<std::string, Known> known_;
};

}  // namespace railgauge::agent
