#include "agent/enrol/enrolled_files.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "agent/os/atomic_file.h"
#include "controller/trust/signing_request.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

constexpr const char* kKeyFile = "agent.key";
constexpr const char* kCertificateFile = "agent.crt";
constexpr const char* kAuthorityFile = "ca.crt";
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
  NodeFiles files(state_dir + "/tls");
  if (!is_there(files.folder_)) RG_TRY_OK(make_folder(files.folder_));
  RG_TRY_OK(files.finish());
  return files;
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

// A certificate is staged last, so that one means that all are whole. It goes into its place last.
Status NodeFiles::finish() {
  if (!is_there(path_of(staged_name(kCertificateFile)))) return {};
  for (const char* file : {kAuthorityFile, kKeyFile, kCertificateFile})
    RG_TRY_OK(move_staged(file));
  return {};
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

}  // namespace railgauge::agent
