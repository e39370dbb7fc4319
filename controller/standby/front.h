// The ports that a standby serves: the port and the socket of a controller, where every call ends
// with one sentence that names the active one, but for the question of the role; /metrics and
// /healthz.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "controller/standby/role_service.h"
#include "controller/trust/pem_files.h"
#include "kernels/core/base/result.h"

namespace railgauge::standby {

// As the settings of the controller have them.
struct FrontOptions {
  std::string socket{};
  std::string socket_group{};
  std::string listen{};   // HOST:PORT; "": no TCP
  trust::PemFiles pem{};  // empty: plain TCP
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
};

}  // namespace railgauge::standby
