// The folder of an authority, changed so that a process killed at any place loses nothing: one lock
// for writers, files replaced in one step, and new certificates staged before the index names them.
//   .lock              held by the one program that writes
//   .NAME.key.next, .NAME.crt.next   staged: complete, not yet in their place
//   index.txt          the moment that counts: a staged certificate that it names is finished by
//                      the next writer, any other is discarded
//   keys.txt           written before the index: a line that the index lacks says nothing
// Not thread safe; safe between processes.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/trust/authority/index.h"
#include "controller/trust/authority/keys.h"
#include "kernels/core/base/fd.h"
#include "kernels/core/base/result.h"

namespace railgauge::trust {

inline constexpr mode_t kSecretMode = 0600;
inline constexpr mode_t kPublicMode = 0644;

// A certificate on its way into the folder.
struct Staged {
  std::string name{};
  std::string certificate{};         // PEM
  std::optional<std::string> key{};  // PEM; absent: the key in place stays
};

class Folder {
 public:
  enum class Use { kRead, kWrite, kCreate };

  // kWrite waits for the lock, at most kLockSeconds, and finishes what a killed writer left. kRead
  // takes no lock. kCreate makes the folder, mode 0700, where it is missing. kNotFound: there is
  // none. kUnavailable: another program holds the lock. kPermissionDenied: no right.
  static Result<Folder> open(const std::string& path, Use use);
  static constexpr double kLockSeconds = 30;

  [[nodiscard]] std::string path_of(std::string_view file) const;
  [[nodiscard]] bool has(const std::string& file) const;
  // Names of the files that end in ".crt", without that ending, sorted.
  [[nodiscard]] std::vector<std::string> certificates() const;
  // kNotFound: there is no such file. Errors name the path.
  [[nodiscard]] Result<std::string> read(const std::string& file) const;
  // The same, after the check of mode and owner (check_key_mode()).
  [[nodiscard]] Result<std::string> read_secret(const std::string& file) const;
  // The index; empty where there is none. kDataLoss: it is damaged.
  [[nodiscard]] Result<std::vector<IndexEntry>> index() const;
  // The keys of enrolled certificates; empty where there are none. kDataLoss: damaged. With
  // `damaged`: the keys that can be read, and a line for each that cannot, with file and line.
  [[nodiscard]] Result<CertificateKeys> keys(std::vector<std::string>* damaged = nullptr) const;

  // Replaces a file in one step: new or old, never half.
  Status replace(const std::string& file, const std::string& text, mode_t mode) const;
  // Without those that drop_ended() drops.
  Status replace_keys(CertificateKeys keys, const std::vector<IndexEntry>& index,
                      double now_unix) const;
  // Stages the certificates, writes the index that names them, and puts them in their places.
  Status publish(const std::vector<Staged>& staged, const std::vector<IndexEntry>& index,
                 double now_unix) const;

 private:
  Folder(std::string path, Fd folder, Fd lock)
      : path_(std::move(path)), folder_(std::move(folder)), lock_(std::move(lock)) {}
  Status finish_interrupted() const;
  [[nodiscard]] Result<std::string> list_text(const char* file) const;
  Status write_new(const std::string& file, const std::string& text, mode_t mode) const;
  Status move(const std::string& from, const std::string& to) const;
  Status place(const std::string& name) const;
  Status sync() const;

  std::string path_;
  Fd folder_;
  Fd lock_;
};

}  // namespace railgauge::trust
