#include "controller/trust/authority/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "controller/trust/pem_files.h"
#include "kernels/core/base/failpoint.h"
#include "kernels/core/text/text.h"

namespace railgauge::trust {
namespace {

constexpr mode_t kFolderMode = 0700;
constexpr std::string_view kCertificateEnding = ".crt";
constexpr std::string_view kStagedEnding = ".crt.next";
constexpr std::string_view kDraftEnding = ".draft";
constexpr const char* kIndexFile = "index.txt";
constexpr const char* kKeysFile = "keys.txt";

std::string staged_key(const std::string& name) { return fmt::format(".{}.key.next", name); }
std::string staged_certificate(const std::string& name) {
  return fmt::format(".{}.crt.next", name);
}

tl::unexpected<Error> refused(const std::string& path, const char* act, int error) {
  return fail(error == ENOENT ? Code::kNotFound : Code::kPermissionDenied,
              fmt::format("{}: {}: {}", path, act, errno_words(error)));
}

Status write_whole(const Fd& file, const std::string& path, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(file.get(), text.data(), text.size());
    if (wrote < 0 && errno != EINTR) return refused(path, "write", errno);
    if (wrote > 0) text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

Result<Fd> take_lock(const std::string& path) {
  constexpr auto kPause = std::chrono::milliseconds(50);
  Fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kSecretMode));
  if (!lock) return refused(path, "open", errno);
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(Folder::kLockSeconds);
  while (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return refused(path, "lock", errno);
    if (std::chrono::steady_clock::now() > end)
      return fail(Code::kUnavailable,
                  fmt::format("{}: another program holds the lock; wait for its end", path));
    std::this_thread::sleep_for(kPause);
  }
  return lock;
}

// Whoever can write to the folder can replace the authority's key.
Status check_writers(const std::string& path, int folder) {
  struct stat about {};
  if (::fstat(folder, &about) != 0) return refused(path, "look at its mode", errno);
  if ((about.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  return fail(Code::kPermissionDenied,
              fmt::format("{}: use as an authority: group or others can write to it (mode {:04o}); "
                          "chmod 700 {}",
                          path, about.st_mode & 07777, path));
}
}  // namespace

Result<Folder> Folder::open(const std::string& path, Use use) {
  if (use == Use::kCreate) {
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
    if (::mkdir(path.c_str(), kFolderMode) != 0 && errno != EEXIST)
      return refused(path, "make folder", errno);
  }
  Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder && errno == ENOENT)
    return fail(
        Code::kNotFound,
        fmt::format("{}: there is no such folder; railgauge pki init makes an authority", path));
  if (!folder) return refused(path, "open", errno);
  if (use != Use::kRead) RG_TRY_OK(check_writers(path, folder.get()));
  Fd lock;
  if (use != Use::kRead) lock = RG_TRY(take_lock(path + "/.lock"));
  Folder opened(path, std::move(folder), std::move(lock));
  if (use != Use::kRead) RG_TRY_OK(opened.finish_interrupted());
  return opened;
}

std::string Folder::path_of(std::string_view file) const {
  return fmt::format("{}/{}", path_, file);
}

bool Folder::has(const std::string& file) const {
  struct stat about {};
  return ::fstatat(folder_.get(), file.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0;
}

std::vector<std::string> Folder::certificates() const {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path_, error)) {
    const std::string file = entry.path().filename().string();
    if (file.starts_with('.') || !file.ends_with(kCertificateEnding)) continue;
    names.push_back(file.substr(0, file.size() - kCertificateEnding.size()));
  }
  std::ranges::sort(names);
  return names;
}

Result<std::string> Folder::read(const std::string& file) const {
  if (!has(file))
    return fail(Code::kNotFound, fmt::format("{}: there is no such file", path_of(file)));
  auto text = read_pem("", path_of(file), kMaxCrlBytes);
  if (text) return text;
  return fail(text.error().code, text.error().message.substr(std::string_view("-- ").size()));
}

Result<std::string> Folder::read_secret(const std::string& file) const {
  if (!has(file))
    return fail(Code::kNotFound, fmt::format("{}: there is no such file", path_of(file)));
  auto text = read_key("", path_of(file));
  if (text) return text;
  return fail(text.error().code, text.error().message.substr(std::string_view("-- ").size()));
}

// "" where there is no such file.
Result<std::string> Folder::list_text(const char* name) const {
  const std::string path = path_of(name);
  Fd file(::openat(folder_.get(), name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file && errno == ENOENT) return std::string();
  if (!file) return refused(path, "open", errno);
  std::string text;
  constexpr std::size_t kStep = 64U << 10U;
  for (ssize_t got = 1; got != 0;) {
    const std::size_t before = text.size();
    text.resize(before + kStep);
    got = ::read(file.get(), text.data() + before, kStep);
    if (got < 0 && errno != EINTR) return refused(path, "read", errno);
    text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }
  return text;
}

Result<std::vector<IndexEntry>> Folder::index() const {
  auto entries = parse_index(RG_TRY(list_text(kIndexFile)));
  if (entries) return entries;
  return fail(entries.error().code,
              fmt::format("{}: {}; put a backup in its place, or move it away: the certificates "
                          "in the folder are then listed anew",
                          path_of(kIndexFile), entries.error().message));
}

Result<CertificateKeys> Folder::keys(std::vector<std::string>* damaged) const {
  ReadKeys read = parse_keys(RG_TRY(list_text(kKeysFile)));
  for (const std::string& line : read.damaged) {
    std::string words = fmt::format("{}: {}; put a backup in its place, or remove the line",
                                    path_of(kKeysFile), line);
    if (damaged == nullptr) return fail(Code::kDataLoss, std::move(words));
    damaged->push_back(std::move(words));
  }
  return std::move(read.keys);
}

Status Folder::replace_keys(CertificateKeys keys, const std::vector<IndexEntry>& index,
                            double now_unix) const {
  drop_ended(keys, index, now_unix);
  return replace(kKeysFile, keys_text(keys), kPublicMode);
}

Status Folder::write_new(const std::string& file, const std::string& text, mode_t mode) const {
  const std::string path = path_of(file);
  if (::unlinkat(folder_.get(), file.c_str(), 0) != 0 && errno != ENOENT)
    return refused(path, "remove", errno);
  const Fd written(::openat(folder_.get(), file.c_str(),
                            O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kSecretMode));
  if (!written) return refused(path, "create", errno);
  RG_TRY_OK(write_whole(written, path, text));
  if (mode != kSecretMode && ::fchmod(written.get(), mode) != 0)
    return refused(path, "chmod", errno);
  if (::fsync(written.get()) != 0) return refused(path, "fsync", errno);
  return {};
}

Status Folder::move(const std::string& from, const std::string& to) const {
  if (::renameat(folder_.get(), from.c_str(), folder_.get(), to.c_str()) != 0)
    return refused(path_of(to), "rename", errno);
  return {};
}

Status Folder::sync() const {
  if (::fsync(folder_.get()) != 0) return refused(path_, "fsync", errno);
  return {};
}

Status Folder::replace(const std::string& file, const std::string& text, mode_t mode) const {
  const std::string draft = fmt::format(".{}{}", file, kDraftEnding);
  RG_TRY_OK(write_new(draft, text, mode));
  failpoint("pki.drafted");
  RG_TRY_OK(move(draft, file));
  return sync();
}

// The key first: a certificate in its place always has its key there too.
Status Folder::place(const std::string& name) const {
  if (has(staged_key(name))) RG_TRY_OK(move(staged_key(name), name + ".key"));
  failpoint("pki.key_placed");
  return move(staged_certificate(name), name + std::string(kCertificateEnding));
}

Status Folder::publish(const std::vector<Staged>& staged, const std::vector<IndexEntry>& index,
                       double now_unix) const {
  for (const Staged& one : staged) {
    if (one.key) RG_TRY_OK(write_new(staged_key(one.name), *one.key, kSecretMode));
    failpoint("pki.key_staged");
    RG_TRY_OK(write_new(staged_certificate(one.name), one.certificate, kPublicMode));
  }
  RG_TRY_OK(sync());
  failpoint("pki.staged");
  RG_TRY_OK(replace(kIndexFile, index_text(index, now_unix), kPublicMode));
  failpoint("pki.indexed");
  for (const Staged& one : staged) RG_TRY_OK(place(one.name));
  return sync();
}

// Under the lock: whoever staged these files is gone.
Status Folder::finish_interrupted() const {
  const auto known = RG_TRY(index());
  std::set<std::string> serials;
  for (const IndexEntry& entry : known) serials.insert(entry.serial);
  std::vector<std::string> leftovers;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path_, error)) {
    std::string file = entry.path().filename().string();
    const bool is_ours =
        file.starts_with('.') && (file.ends_with(".next") || file.ends_with(kDraftEnding));
    if (is_ours) leftovers.push_back(std::move(file));
  }
  if (leftovers.empty()) return {};
  for (const std::string& file : leftovers) {
    if (!file.ends_with(kStagedEnding)) continue;
    const auto text = read(file);
    const auto certificate = text ? parse_certificate(*text) : fail(Code::kNotFound, "");
    if (certificate && serials.contains(certificate->id.serial))
      RG_TRY_OK(place(file.substr(1, file.size() - 1 - kStagedEnding.size())));
  }
  for (const std::string& file : leftovers)
    if (::unlinkat(folder_.get(), file.c_str(), 0) != 0 && errno != ENOENT)
      return refused(path_of(file), "remove", errno);
  return sync();
}

}  // namespace railgauge::trust
