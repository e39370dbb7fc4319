// Small files of the state folder, replaced as a whole.
#pragma once

#include <string>

#include "kernels/core/base/result.h"

namespace railgauge::agent {

// "PATH: ACT: words of the errno", kPermissionDenied.
tl::unexpected<Error> denied(const std::string& path, const char* act, int error);

// Replaces the file: after a power cut `folder`/`name` is the old file or the whole new one. If
// root writes, the folder's owner owns the file, so that an operator's command leaves nothing that
// the agent cannot read. Two writers of one name must take turns. kPermissionDenied with the path
// and the call that failed, also for a full disk.
Status write_atomically(const std::string& folder, const std::string& name,
                        const std::string& text);

}  // namespace railgauge::agent
