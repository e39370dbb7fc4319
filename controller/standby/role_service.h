// The gRPC service by which controllers of a site know each other's role, active ones and standbys,
// and the call of one to another.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>

#include "controller/api/standby.pb.h"
#include "controller/fleet/auth.h"
#include "controller/trust/pem_files.h"
#include "kernels/core/base/result.h"

namespace railgauge::standby {

// Called on gRPC's threads; must not wait for long.
struct RoleAnswers {
  std::function<api::ControllerRole()> role{};
  // The answer to a request for a promise.
  std::function<api::PromiseAnswer(const api::PromiseRequest& request)> promise{};
};

// Everybody who is connected may ask for the role. Promises are given to controllers: peers with a
// certificate of OU controller, users of the unix socket, and anybody where the port is --insecure.
// `peer_of` knows who calls.
using PeerOf = std::function<auth::Peer(const grpc::CallbackServerContext& context)>;
std::unique_ptr<grpc::Service> make_role_service(RoleAnswers answers, PeerOf peer_of);

// How a controller reaches another one: with its own certificate, or without any.
struct PeerAccess {
  std::string site{};
  trust::PemFiles pem{};  // empty: plain TCP, or a unix socket
};

// Asks the controller at `address` not to take the lease for `seconds`. Waits for at most
// `answer_seconds`. False: it refuses, or has a higher generation.
Result<bool> ask_promise(const PeerAccess& access, const std::string& address,
                         std::int64_t generation, double seconds, double answer_seconds);

}  // namespace railgauge::standby
