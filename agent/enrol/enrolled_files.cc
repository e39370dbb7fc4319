#include "agent/enrol/enrolled_files.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "agent/os/atomic_file.h"
#include "controller/trust/signing_request.h"
#include "kernels/core/base/failpoint.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

constexpr const char* kKeyFile = "agent.key";
constexpr const char* kCertificateFile = "agent.crt";
constexpr const char* kAuthorityFile = "ca.crt";
constexpr const char* kCallFile = "enroll.open";
constexpr const char* kLockFile = "lock";
// As deploy/systemd/railgauge-agent.sysusers has it.
constexpr const char* kServiceUser = "railgauge-agent";
constexpr mode_t kPrivateFolder = 0700;

std::string staged_name(const char* file) { return std::string(file) + ".next"; }

bool is_there(const std::string& path) {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0;
}

// Gives what root made to the service's user, who renews it. Errors are ignored: root in a
// container may lack the right.
void give_as(const std::string& path, uid_t user, gid_t group) {
  if (::geteuid() == 0 && ::lchown(path.c_str(), user, group) != 0) return;
}

// A folder that is there keeps its mode.
Status make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), kPrivateFolder) == 0 || errno == EEXIST) return {};
  return denied(path, "make folder", errno);
}

// The lock ends with the process, however that ends.
Result<Fd> lock_of(const std::string& folder, double seconds) {
  constexpr auto kPause = std::chrono::milliseconds(50);
  const std::string path = folder + "/" + kLockFile;
  Fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) return denied(path, "open", errno);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return denied(path, "lock", errno);
    if (std::chrono::steady_clock::now() > end)
      return fail(
          Code::kUnavailable,
          fmt::format("{}: an enrolment or a renewal is under way; try again in a minute", path));
    std::this_thread::sleep_for(kPause);
  }
  return lock;
}

}  // namespace

// systemd makes the state folder at the service's first start, which comes after this.
Status NodeFiles::make_state(const std::string& state_dir) {
  if (is_there(state_dir)) return {};
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(state_dir).parent_path(), ignored);
  RG_TRY_OK(make_folder(state_dir));
  if (const passwd* user = ::getpwnam(kServiceUser)) give_as(state_dir, user->pw_uid, user->pw_gid);
  return {};
}

Result<NodeFiles> NodeFiles::open(const std::string& state_dir) {
  const std::string folder = state_dir + "/tls";
  if (!is_there(folder)) RG_TRY_OK(make_folder(folder));
  return open_folder(folder, kLockSeconds);
}

Result<NodeFiles> NodeFiles::open_folder(const std::string& folder, double lock_seconds) {
  NodeFiles files(folder, RG_TRY(lock_of(folder, lock_seconds)));
  RG_TRY_OK(files.finish());
  return files;
}

bool NodeFiles::has_cut(const std::string& folder) {
  return is_there(folder + "/" + staged_name(kCertificateFile));
}

trust::PemFiles NodeFiles::files() const {
  return {.certificate = path_of(kCertificateFile),
          .key = path_of(kKeyFile),
          .authority = path_of(kAuthorityFile)};
}

std::optional<trust::Material> NodeFiles::held() const {
  auto material = trust::load_material(files());
  return material ? std::optional(std::move(*material)) : std::nullopt;
}

Status NodeFiles::move_staged(const char* file) {
  if (!is_there(path_of(staged_name(file)))) return {};
  if (::rename(path_of(staged_name(file)).c_str(), path_of(file).c_str()) == 0) return {};
  return denied(path_of(file), "rename", errno);
}

// The staged files that are still there, and for the others those in place: the moves may have
// begun.
bool NodeFiles::fits() const {
  const auto newest = [this](const char* file) {
    return path_of(is_there(path_of(staged_name(file))) ? staged_name(file) : file);
  };
  const auto whole = trust::load_material({.certificate = newest(kCertificateFile),
                                           .key = newest(kKeyFile),
                                           .authority = newest(kAuthorityFile)});
  // A key that may not be read says nothing about the set.
  return whole || whole.error().code == Code::kPermissionDenied;
}

// A certificate is staged last, so that one means that all are whole. It goes into its place last.
// A set that does not fit was damaged: what is in place stays, and the next call asks again.
Status NodeFiles::finish() {
  const std::string staged = path_of(staged_name(kCertificateFile));
  if (!is_there(staged)) return {};
  if (!fits()) {
    if (::unlink(staged.c_str()) != 0) return denied(staged, "remove", errno);
    return {};
  }
  for (const char* file : {kAuthorityFile, kKeyFile}) RG_TRY_OK(move_staged(file));
  failpoint("enroll.moving");
  return move_staged(kCertificateFile);
}

// The key of an earlier call that got no answer is used again: the controller knows it.
Result<std::string> NodeFiles::staged_key() {
  const std::string name = staged_name(kKeyFile);
  if (is_there(path_of(name)))
    if (auto key = trust::read_key("tls-key", path_of(name))) return key;
  std::string key = RG_TRY(trust::make_key());
  RG_TRY_OK(write_atomically(folder_, name, key));
  return key;
}

Status NodeFiles::drop_staged_key() {
  const std::string path = path_of(staged_name(kKeyFile));
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return denied(path, "remove", errno);
}

Result<std::string> NodeFiles::stage_authority(const std::string& pem) {
  RG_TRY_OK(write_atomically(folder_, staged_name(kAuthorityFile), pem));
  return path_of(staged_name(kAuthorityFile));
}

// The set is tried before it is staged, so that a broken answer leaves what is in place.
Result<trust::Material> NodeFiles::place(const std::string& certificate,
                                         const std::string& authority) {
  const std::string key = RG_TRY(staged_key());
  auto material = RG_TRY(trust::check_material(certificate, key, authority));
  RG_TRY_OK(write_atomically(folder_, staged_name(kCertificateFile), certificate));
  RG_TRY_OK(finish());
  return material;
}

Status NodeFiles::replace_certificate(const std::string& file, const std::string& pem) {
  return write_atomically(folder_, file, pem);
}

Status NodeFiles::begin_call(const OpenCall& call) {
  return write_atomically(folder_, kCallFile, call.token_id + "\n" + call.serial + "\n");
}

Status NodeFiles::end_call() {
  if (::unlink(path_of(kCallFile).c_str()) == 0 || errno == ENOENT) return {};
  return denied(path_of(kCallFile), "remove", errno);
}

std::optional<NodeFiles::OpenCall> NodeFiles::open_call() const {
  std::ifstream file(path_of(kCallFile));
  if (!file) return std::nullopt;
  OpenCall call;
  std::getline(file, call.token_id);
  std::getline(file, call.serial);
  return call;
}

}  // namespace railgauge::agent
