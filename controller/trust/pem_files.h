// The TLS files of one program: who may read a key, what is read, and whether it changed since.
// Thread safe. Errors begin with the flag that names the file.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/trust/certificate.h"
#include "kernels/core/base/result.h"

namespace railgauge::trust {

struct PemFiles {
  std::string certificate{};  // --tls-cert
  std::string key{};          // --tls-key
  std::string authority{};    // --tls-ca
};

// The user and groups of a process.
struct ProcessUser {
  uid_t uid = 0;
  std::vector<gid_t> groups{};  // the effective one and the supplementary ones
};
ProcessUser this_process();

// Checks that nobody but its user can read a key: the file's owner is root or the user, and its
// mode has no bit for group and others. One exception: the group of a root's file may read it
// (0640) if it is a group of this process. Kubernetes mounts secrets so under fsGroup, and
// Debian's ssl-cert does. kPermissionDenied, with the chmod or chown that helps. Pure.
Status check_key_mode(const std::string& path, const struct stat& file, const ProcessUser& user);

inline constexpr std::size_t kMaxPemBytes = 1U << 20U;
inline constexpr std::size_t kMaxCrlBytes = 64U << 20U;
// Reads a whole file. kInvalidArgument: it cannot be read, is no regular file, is beyond
// `max_bytes`, or has no PEM block.
Result<std::string> read_pem(std::string_view flag, const std::string& path,
                             std::size_t max_bytes = kMaxPemBytes);
// Reads a key as read_pem() does; the mode that counts is that of the open file, behind any links.
Result<std::string> read_key(std::string_view flag, const std::string& path);
// Reads all three files and checks that they fit (check_material()).
Result<Material> load_material(const PemFiles& files);

// A value that differs once one of the files is replaced or written: inode, size and times of each
// file behind its links, or that it is missing.
std::string stamp_of(std::span<const std::string> paths);

}  // namespace railgauge::trust
