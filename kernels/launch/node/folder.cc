// A private folder for sockets and files of one run.
#include "kernels/launch/node/folder.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

namespace railgauge {

// mkdtemp(3) makes it with mode 0700.
Result<OwnFolder> OwnFolder::make() {
  std::error_code none;
  std::string name = (std::filesystem::temp_directory_path(none) / "railgauge-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    return fail(Code::kUnavailable, "{}: make: {}", name, std::strerror(errno));
  return OwnFolder(std::move(name));
}

OwnFolder::~OwnFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace railgauge
