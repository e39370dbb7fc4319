// The keeper takes from a program, before it starts it: other processes' signals, hidden files,
// privileges, and the right to leave large files behind.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "kernels/core/base/landlock.h"

namespace railgauge::launch {

struct Confinement {
  bool asked = false;
  HiddenFiles files;
  std::map<int, std::uint64_t> limits;  // by RLIMIT_...; never above the present hard limit
};

// Takes the words "--confine [--hide PATH | --limit NAME=NUMBER]..." from the front of `words`.
// Without the first one nothing is taken. kInvalidArgument: an unknown word or limit.
Result<Confinement> take_confinement(std::span<char* const>& words);

// A private folder of the program's temporary files, in TMPDIR; the destructor removes it with its
// content. Nothing may run in it then.
class Scratch {
 public:
  Scratch() = default;
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  // Makes the folder and sets TMPDIR, and HOME where that is hidden. Without a folder, which a full
  // disk may refuse, the program keeps the common one.
  void make(HiddenFiles& files);

 private:
  std::string path_;
};

// Confines the calling process, which becomes the program by exec. A kernel without Landlock leaves
// files readable: the agent knows and says so. Errors: those of restrict_files(); kInternal.
Status confine(const Confinement& confinement);

}  // namespace railgauge::launch
