// The ports that a standby serves: the port and the socket of a controller, where every call ends
// with one sentence that names the active one, but for the question of the role; /metrics and
// /healthz.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>

#include "controller/fleet/auth.h"
#include "controller/standby/role_service.h"
#include "kernels/core/base/result.h"

namespace railgauge::standby {

// The TCP port, with the certificates and bounds of an active controller's. Used on one thread.
class FrontPort {
 public:
  virtual ~FrontPort() = default;
  // Accepts from now on.
  virtual Status start() = 0;
  // Hands nothing to the server any more; the next call closes what is left once it has ended.
  virtual void stop() = 0;
  virtual void finish() = 0;
  // Closes connections of certificates that are not good any more; called twice a second.
  virtual void tick() = 0;
  [[nodiscard]] virtual int port() const = 0;
};
// Binds the port for a server that is being built, and sets the server's bounds. The peers outlive
// the port. nullptr: there is no TCP.
using OpenPort = std::function<Result<std::unique_ptr<FrontPort>>(grpc::ServerBuilder& builder,
                                                                  auth::PeerBook& peers)>;

// As the settings of the controller have them.
struct FrontOptions {
  std::string socket{};
  std::string socket_group{};
  OpenPort open_port{};  // empty: no TCP
  std::string metrics_listen{};
  std::string web_config{};
};

// Called from several threads.
struct FrontWords {
  std::function<std::string()> sentence{};  // why no call is served here
  std::function<std::string()> metrics{};
  std::function<std::string()> remarks{};  // lines below "ok" of /healthz
};

class Front {
 public:
  // Errors are one line that names the setting at fault.
  static Result<std::unique_ptr<Front>> start(const FrontOptions& options, RoleAnswers answers,
                                              FrontWords words);
  // Frees ports and socket.
  virtual ~Front() = default;
  // Call it twice a second.
  virtual void tick() = 0;
};

}  // namespace railgauge::standby
