// Small files of the state folder, written as a whole.
#pragma once

#include <string>

#include "kernels/core/base/result.h"

namespace railgauge::agent {

// Either the old file or the whole new one stands at `folder`/`name` after a power cut. Of root's
// files the folder's owner is the owner: an operator's command leaves nothing that the agent cannot
// read. Two writers of one name have to take turns. Errors: kPermissionDenied with the path and the
// call that failed, also of a full disk.
Status write_atomically(const std::string& folder, const std::string& name,
                        const std::string& text);

}  // namespace railgauge::agent
