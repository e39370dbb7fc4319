// Landlock, Linux's sandbox for processes without privilege: what a process gives up, it and its
// descendants give up for ever, root too. Knows no other room and not protobuf. Not thread safe:
// only the calling thread is restricted, so call it while the process has one thread.
#pragma once

#include <string>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge {

// The first version with scopes of signals: Linux 6.12.
inline constexpr int kLandlockOfSignals = 6;

// Returns the version of Landlock's interface; 0: this kernel has none, or it is off.
int landlock_version();

// Makes this process, which must have no_new_privs, unable to signal any process outside of its
// own later descendants. False: the kernel cannot, and nothing has changed. After success
// kill(-1, ...) reaches exactly the descendants, however they left their group, session or parent.
bool restrict_signals();

// The first version that restricts truncation: Linux 6.2.
inline constexpr int kLandlockOfTruncation = 3;

// Takes from this process, which must have no_new_privs, and its descendants the calls that empty a
// file without a right to write that an older Landlock checks: truncate(2), openat(2) with O_TRUNC
// and access mode 3, and openat2(2) and io_uring, whose arguments no filter sees. ftruncate(2)
// stays. kUnimplemented: this processor is not x86_64 or aarch64. kInternal: a call failed.
Status refuse_truncation();

// The files that a process loses.
struct HiddenFiles {
  // Files and folders, by absolute paths. A folder is hidden with all below it.
  std::vector<std::string> paths;
  // Folders that stay usable although a hidden folder has them.
  std::vector<std::string> usable{};
};

// Makes the content of hidden files unreadable and unchangeable for this process, which must have
// no_new_privs; where the kernel can, also takes signals to processes outside. Names stay visible.
// Landlock knows only what is allowed, so every entry beside the path of a hidden file is allowed
// one by one; an entry that appears later in a folder ABOVE a hidden file cannot be opened. In the
// folder of a hidden file, other files that only their owner may read are hidden too: a key's
// successor or its backup. kUnimplemented: landlock_version() is 0. kInternal: a call failed.
Status restrict_files(const HiddenFiles& files);

}  // namespace railgauge
