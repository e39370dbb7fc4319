// Key, certificate and authority of a node in the folder `tls` of its state. New files are staged,
// the certificate last; a set whose certificate is staged is whole. One lock is held by whoever
// changes them: `enroll`, and the agent's renewals. A call that was ended between the renames is
// finished by whoever takes the lock next. Not thread safe.
#pragma once

#include <optional>
#include <string>

#include "controller/trust/certificate.h"
#include "controller/trust/pem_files.h"
#include "kernels/core/base/fd.h"
#include "kernels/core/base/result.h"

namespace railgauge::agent {

class NodeFiles {
 public:
  // A renewal that waits for its answer holds the lock.
  static constexpr double kLockSeconds = 60;

  // Makes the state folder where it is missing, 0700; one that root makes belongs to the service's
  // user.
  static Status make_state(const std::string& state_dir);
  // Makes its folder where it is missing, 0700, takes the lock and finishes what a killed call
  // left. Root calls it, and all below, with the rights of the state folder's owner (OwnersRights).
  // kUnavailable: somebody else holds the lock for longer than kLockSeconds.
  static Result<NodeFiles> open(const std::string& state_dir);
  // The same for a folder that is there.
  static Result<NodeFiles> open_folder(const std::string& folder, double lock_seconds);
  // Whether a killed call left a set in the folder that has to be finished or undone.
  static bool has_cut(const std::string& folder);

  [[nodiscard]] trust::PemFiles files() const;
  [[nodiscard]] const std::string& folder() const { return folder_; }
  // The set in place, as the agent would load it; absent: there is none, or it does not fit
  // together.
  [[nodiscard]] std::optional<trust::Material> held() const;

  // A key that is not in place yet: that of an earlier call, or a new one.
  Result<std::string> staged_key();
  // The next call makes a new one.
  Status drop_staged_key();
  // Stages the authority; returns its path, for a first call.
  Result<std::string> stage_authority(const std::string& pem);
  // Puts the staged set with this certificate in place. kInvalidArgument: it does not fit.
  Result<trust::Material> place(const std::string& certificate, const std::string& authority);
  // Replaces the certificate alone, which is for the key in place.
  Status replace_certificate(const std::string& file, const std::string& pem);

  // Between both a call is under way that has more to do than these files: settings and service.
  struct OpenCall {
    std::string token_id{};  // of the token that it uses
    std::string serial{};    // of the certificate that it puts, or has put, in place
    bool operator==(const OpenCall&) const = default;
  };
  Status begin_call(const OpenCall& call);
  Status end_call();
  // The call that began and did not end; absent: there is none.
  [[nodiscard]] std::optional<OpenCall> open_call() const;

 private:
  NodeFiles(std::string folder, Fd lock) : folder_(std::move(folder)), lock_(std::move(lock)) {}
  [[nodiscard]] std::string path_of(const std::string& file) const { return folder_ + "/" + file; }
  [[nodiscard]] bool fits() const;
  Status move_staged(const char* file);
  Status finish();

  std::string folder_;
  Fd lock_;
};

}  // namespace railgauge::agent
