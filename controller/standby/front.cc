#include "controller/standby/front.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <spdlog/spdlog.h>

#include "controller/fleet/auth.h"
#include "controller/http/http_server.h"
#include "controller/listen/host_port.h"
#include "controller/listen/unix_listener.h"

namespace railgauge::standby {
namespace {

constexpr double kShutdownSeconds = 0.2;

// A call that ends at once.
class EndedCall final : public grpc::ServerGenericBidiReactor {
 public:
  explicit EndedCall(const std::string& sentence) {
    Finish({grpc::StatusCode::UNAVAILABLE, sentence});
  }
  void OnDone() override { delete this; }
};

// Every method of every service.
class NoService final : public grpc::CallbackGenericService {
 public:
  explicit NoService(std::function<std::string()> sentence) : sentence_(std::move(sentence)) {}
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* /*context*/) override {
    return new EndedCall(sentence_());
  }

 private:
  const std::function<std::string()> sentence_;
};

// The port outlives the server that has its connections.
class RunningFront final : public Front {
 public:
  explicit RunningFront(FrontWords words) : words_(std::move(words)), none_(words_.sentence) {}
  ~RunningFront() override {
    http_.reset();
    if (unix_) unix_->stop();
    if (port_) port_->stop();
    if (!grpc_) return;
    grpc_->Shutdown(std::chrono::system_clock::now() +
                    std::chrono::milliseconds(static_cast<int>(kShutdownSeconds * 1e3)));
    grpc_->Wait();
    grpc_.reset();
    if (port_) port_->finish();
  }
  void tick() override {
    if (port_) port_->tick();
  }
  // No port is shared with another process: the active controller of this host may still have it.
  Status open(const FrontOptions& options, RoleAnswers answers) {
    unix_ = RG_TRY(UnixListener::open(options.socket, options.socket_group));
    roles_ = make_role_service(
        std::move(answers),
        [this](const grpc::CallbackServerContext& context) { return peers_.peer_of(context); });
    grpc::ServerBuilder builder;
    builder.RegisterService(roles_.get());
    builder.RegisterCallbackGenericService(&none_);
    if (options.open_port) port_ = RG_TRY(options.open_port(builder, peers_));
    grpc_ = builder.BuildAndStart();
    if (!grpc_) return fail(Code::kInternal, "gRPC: the server does not start");
    unix_->start(*grpc_, peers_, [](const std::string& user, const Error& reason) {
      spdlog::warn("unix socket: {} refused: {}", user, reason.message);
    });
    if (port_) {
      RG_TRY_OK(port_->start());
      spdlog::info("standby: TCP port {}", port_->port());
    }
    return open_http(options);
  }

 private:
  Status open_http(const FrontOptions& options) {
    if (options.metrics_listen.empty()) return {};
    const HostPort address = RG_TRY(parse_host_port("metrics-listen", options.metrics_listen));
    auto started = http::Server::start(
        address.host, address.port,
        {.metrics = words_.metrics, .healthy = [] { return true; }, .remarks = words_.remarks},
        options.web_config);
    if (!started)
      return fail(started.error().code,
                  fmt::format("--metrics-listen {}", started.error().message));
    http_ = std::move(*started);
    return {};
  }

  const FrontWords words_;
  NoService none_;
  auth::PeerBook peers_;
  std::unique_ptr<grpc::Service> roles_;
  std::unique_ptr<FrontPort> port_;  // absent without TCP
  std::unique_ptr<grpc::Server> grpc_;
  std::unique_ptr<UnixListener> unix_;
  std::unique_ptr<http::Server> http_;
};

}  // namespace

Result<std::unique_ptr<Front>> Front::start(const FrontOptions& options, RoleAnswers answers,
                                            FrontWords words) {
  auto front = std::make_unique<RunningFront>(std::move(words));
  RG_TRY_OK(front->open(options, std::move(answers)));
  return front;
}

}  // namespace railgauge::standby
