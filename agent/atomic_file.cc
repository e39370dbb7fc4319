#include "agent/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "agent/fd.h"
#include "kernels/core/framing.h"

namespace railgauge::agent {
namespace {
constexpr double kWriteSeconds = 5;

tl::unexpected<Error> denied(const std::string& path, const char* act, int error) {
  return fail(Code::kPermissionDenied, fmt::format("{}: {}: {}", path, act, std::strerror(error)));
}
}  // namespace

Status write_atomically(const std::string& folder, const std::string& name,
                        const std::string& text) {
  const std::string path = folder + "/" + name;
  const std::string draft = path + ".tmp";
  Fd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) return denied(draft, "open", errno);
  RG_TRY_OK(write_all(file.get(), text, kWriteSeconds));
  if (::fsync(file.get()) != 0) return denied(draft, "fsync", errno);
  if (::rename(draft.c_str(), path.c_str()) != 0) return denied(path, "rename", errno);
  Fd parent(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent || ::fsync(parent.get()) != 0) return denied(folder, "fsync", errno);
  return {};
}

}  // namespace railgauge::agent
