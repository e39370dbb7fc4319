// NCCL's settings as it finds them: the process's environment, then the files nccl.conf, of which
// the first that has a setting decides. Thread safe as getenv() is.
#pragma once

#include <string>
#include <vector>

namespace railgauge {

// Returns the files in the order in which NCCL reads them.
std::vector<std::string> nccl_conf_files();

// Returns the value of a variable that NCCL will use; empty where nothing sets it.
std::string nccl_setting_in_force(const std::string& name);

}  // namespace railgauge
