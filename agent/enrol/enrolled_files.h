// Key, certificate and authority of a node in the folder `tls` of its state. New files are staged,
// the certificate last; a set whose certificate is staged is whole. A call that was ended between
// the renames is finished by the next call of open(). Not thread safe.
#pragma once

#include <optional>
#include <string>

#include "controller/trust/certificate.h"
#include "controller/trust/pem_files.h"
#include "kernels/core/base/result.h"

namespace railgauge::agent {

class NodeFiles {
 public:
  // Makes the state folder where it is missing, 0700; one that root makes belongs to the service's
  // user.
  static Status make_state(const std::string& state_dir);
  // Makes its folder where it is missing, 0700. Finishes what a killed call left. Root calls it,
  // and all below, with the rights of the state folder's owner (OwnersRights).
  static Result<NodeFiles> open(const std::string& state_dir);

  [[nodiscard]] trust::PemFiles files() const;
  [[nodiscard]] const std::string& folder() const { return folder_; }
  // The set in place, as the agent would load it; absent: there is none, or it does not fit
  // together.
  [[nodiscard]] std::optional<trust::Material> held() const;

  // A key that is not in place yet: that of an earlier call, or a new one.
  Result<std::string> staged_key();
  // Stages the authority; returns its path, for a first call.
  Result<std::string> stage_authority(const std::string& pem);
  // Puts the staged set with this certificate in place. kInvalidArgument: it does not fit.
  Result<trust::Material> place(const std::string& certificate, const std::string& authority);

 private:
  explicit NodeFiles(std::string folder) : folder_(std::move(folder)) {}
  [[nodiscard]] std::string path_of(const std::string& file) const { return folder_ + "/" + file; }
  Status move_staged(const char* file);
  Status finish();

  std::string folder_;
};

}  // namespace railgauge::agent
