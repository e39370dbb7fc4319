// Atomic replacement of small files in the state folder.
#pragma once

#include <sys/types.h>

#include <string>

#include "kernels/core/base/result.h"

namespace railgauge::agent {

// Returns kPermissionDenied with the message "PATH: ACT: text of the errno `error`".
tl::unexpected<Error> denied(const std::string& path, const char* act, int error);

// Replaces `folder`/`name`: after a power cut the file is the old one or the whole new one. A file
// written by root is given to the folder's owner, so that the agent can read files of an operator's
// command. Files of secrets have the default mode. `mode` is that of the new file. Callers must
// serialise writers of one name. kPermissionDenied, also for a full disk: the message names the
// path and the failed call.
Status write_atomically(const std::string& folder, const std::string& name, const std::string& text,
                        mode_t mode = 0600);

// The same for a file that people may have made theirs: the new one has mode, owner and group of
// the old one. `mode`, and the folder's owner, are for a first one.
Status rewrite_atomically(const std::string& folder, const std::string& name,
                          const std::string& text, mode_t mode);

// Removes what a killed writer of `folder`/`name` left.
void remove_draft(const std::string& folder, const std::string& name);

}  // namespace railgauge::agent
