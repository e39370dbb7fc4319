// Root that writes into another user's folder, with no more rights than that user has.
#pragma once

#include <string>
#include <utility>

#include "kernels/core/base/result.h"

namespace railgauge {

// While it lives, root has the rights of a folder's owner alone: that user may have put links into
// the folder. Without root, or in root's own folder, nothing changes. The rights are the whole
// process's: no other thread may need those of root meanwhile.
class OwnersRights {
 public:
  // kPermissionDenied: the folder cannot be looked at, or the rights cannot be taken.
  static Result<OwnersRights> take(const std::string& folder);
  OwnersRights(OwnersRights&& other) noexcept : is_taken_(std::exchange(other.is_taken_, false)) {}
  OwnersRights& operator=(OwnersRights&&) = delete;
  OwnersRights(const OwnersRights&) = delete;
  OwnersRights& operator=(const OwnersRights&) = delete;
  // Root has its own rights again.
  ~OwnersRights();

 private:
  OwnersRights() = default;
  bool is_taken_ = false;
};

}  // namespace railgauge
