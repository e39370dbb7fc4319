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

// The members are made in the order in which they are used, and ended in the reverse one.
class RunningFront final : public Front {
 public:
  explicit RunningFront(FrontWords words) : words_(std::move(words)), none_(words_.sentence) {}
  ~RunningFront() override {
    http_.reset();
    if (unix_) unix_->stop();
    if (!grpc_) return;
    grpc_->Shutdown(std::chrono::system_clock::now() +
                    std::chrono::milliseconds(static_cast<int>(kShutdownSeconds * 1e3)));
    grpc_->Wait();
  }
  // No port is shared with another process: the active controller of this host may still have it.
  Status open(const FrontOptions& options, RoleAnswers answers) {
    unix_ = RG_TRY(UnixListener::open(options.socket, options.socket_group));
    roles_ = make_role_service(
        std::move(answers),
        [this](const grpc::CallbackServerContext& context) { return peer_of(context); });
    grpc::ServerBuilder builder;
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.RegisterService(roles_.get());
    builder.RegisterCallbackGenericService(&none_);
    has_tls_ = !options.pem.certificate.empty();
    int port = -1;
    if (!options.listen.empty())
      builder.AddListeningPort(options.listen, RG_TRY(credentials_of(options.pem)), &port);
    grpc_ = builder.BuildAndStart();
    if (!grpc_ || port == 0)
      return fail(Code::kAlreadyExists,
                  fmt::format("--listen {}: the port is taken, or no address of this host",
                              options.listen));
    unix_->start(*grpc_, peers_, [](const std::string& user, const Error& reason) {
      spdlog::warn("unix socket: {} refused: {}", user, reason.message);
    });
    return open_http(options);
  }

 private:
  static Result<std::shared_ptr<grpc::ServerCredentials>> credentials_of(
      const trust::PemFiles& pem) {
    if (pem.certificate.empty()) return grpc::InsecureServerCredentials();
    trust::Material material = RG_TRY(trust::load_material(pem));
    grpc::SslServerCredentialsOptions options(
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_root_certs = std::move(material.authority);
    options.pem_key_cert_pairs.push_back(
        {std::move(material.key), std::move(material.certificate)});
    return grpc::SslServerCredentials(options);
  }
  // The socket's peers are known by their descriptor; those of the port by their certificate.
  [[nodiscard]] auth::Peer peer_of(const grpc::CallbackServerContext& context) const {
    const std::string address = context.peer();
    if (!address.starts_with("ipv4:") && !address.starts_with("ipv6:"))
      return peers_.peer_of(context);
    if (!has_tls_) return auth::anybody(address, 0);
    const auto certificates =
        context.auth_context()->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
    if (certificates.empty()) return {.who = address, .address = address};
    const auto certificate =
        trust::parse_certificate(std::string(certificates[0].data(), certificates[0].size()));
    if (!certificate) return {.who = address, .address = address};
    return auth::holder_of(*certificate, address, 0);
  }
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
  bool has_tls_ = false;
  std::unique_ptr<grpc::Service> roles_;
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
