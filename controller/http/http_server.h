// The controller's HTTP port: /metrics and /healthz, from memory only.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kernels/core/base/result.h"

namespace railgauge::http {

// A small server for Prometheus and for probes. Thread safe; the destructor stops it.
class Server {
 public:
  // Two threads: /healthz answers during a slow scrape.
  static constexpr int kThreads = 2;

  // Called from the threads of the server; both must be thread safe and answer from memory.
  struct Pages {
    std::function<std::string()> metrics;
    std::function<bool()> healthy;
    // One line that says why no call comes through, "" while they do; may be empty.
    std::function<std::string()> trouble{};
  };
  // Binds (port 0: any free port) and serves. kAlreadyExists: the port is taken, or the address is
  // not one of this host.
  static Result<std::unique_ptr<Server>> start(const std::string& host, int port, Pages pages);
  ~Server();
  // Returns the bound port, also after a start with port 0.
  [[nodiscard]] int port() const;

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace railgauge::http
