#include "agent/identity.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "agent/os/atomic_file.h"

namespace railgauge::agent {
namespace {
constexpr std::size_t kIdHexDigits = 32;

bool is_id(const std::string& text) {
  return text.size() == kIdHexDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Result<std::string> node_id_in(const std::string& state_dir) {
  const std::string path = state_dir + "/agent-node-id";
  std::ifstream file(path);
  if (file) {
    std::string id;
    file >> id;
    if (!is_id(id))
      return fail(
          Code::kDataLoss,
          fmt::format("{}: holds no node id; restore it, or remove it to become a new node", path));
    return id;
  }
  if (errno != ENOENT) return denied(path, "open", errno);
  const std::string id = random_id();
  RG_TRY_OK(write_atomically(state_dir, "agent-node-id", id + "\n"));
  return id;
}
}  // namespace

std::string random_id() {
  std::array<std::uint8_t, kIdHexDigits / 2> bytes{};
  RG_CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

Result<Identity> load_identity(const std::string& state_dir) {
  std::error_code error;
  std::filesystem::create_directories(state_dir, error);
  if (error) return denied(state_dir, "create", error.value());
  const std::string path = state_dir + "/agent.lock";
  Fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return denied(path, "open", errno);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(Code::kAlreadyExists,
                fmt::format("{}: another agent uses this state folder; give each its own "
                            "--state-dir",
                            state_dir));
  std::string id = RG_TRY(node_id_in(state_dir));
  return Identity{std::move(id), random_id(), std::move(lock)};
}

}  // namespace railgauge::agent
