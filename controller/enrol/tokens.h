// Makes, lists and revokes enrolment tokens for those who administer the controller.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "controller/api/enrolment.pb.h"
#include "controller/store/store.h"
#include "kernels/core/base/result.h"

namespace railgauge::enrol {

// The controller's side of `railgauge tokens`. Thread safe; its calls wait for the store, which
// outlives it.
class Tokens {
 public:
  Tokens(store::Store& store, std::function<double()> now_unix)
      : store_(store), now_unix_(std::move(now_unix)) {}

  // Tokens have this authority's fingerprint from now on; without the call there are none. Call it
  // before any other.
  void serve(std::string authority_pem, std::string listen) {
    authority_ = std::move(authority_pem);
    listen_ = std::move(listen);
  }
  [[nodiscard]] const std::string& authority() const { return authority_; }

  // kFailedPrecondition: nobody is enrolled here. kInvalidArgument: a node set with others than
  // names, uses or a time out of bounds, or `replaces` without a node set.
  Result<api::NewToken> create(const api::CreateTokenRequest& request, const std::string& who);
  // All that are kept, newest first, with their state now.
  Result<api::TokenList> list() const;
  // kNotFound: there is no such token.
  Result<api::TokenInfo> revoke(const std::string& token_id, const std::string& who);

 private:
  [[nodiscard]] Result<api::TokenInfo> info_of(const std::string& token_id) const;

  store::Store& store_;
  const std::function<double()> now_unix_;
  std::string authority_{};
  std::string listen_{};  // HOST:PORT, for people
};

}  // namespace railgauge::enrol
