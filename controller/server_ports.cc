// The ports of the controller: gRPC on the unix socket and on TCP, metrics, the web console.
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/http/local_host.h"
#include "controller/http/web_config.h"
#include "controller/listen/host_port.h"
#include "controller/server.h"
#include "kernels/core/base/failpoint.h"

namespace railgauge {
namespace {

constexpr std::array kServiceNames{"railgauge.api.Control",   "railgauge.api.Archive",
                                   "railgauge.api.Judge",     "railgauge.api.Console",
                                   "railgauge.api.Enrolment", "railgauge.api.AgentLink"};
// The name by which the services know the console where it follows runs for all its visitors.
constexpr const char* kConsoleWatches = "console watches";
// A matrix of the most pairs that the console shows, in one message.
constexpr int kMostConsoleBytes = 128 * 1024 * 1024;
// The port as a browser names it: the host's name where every address listens.
std::string origin_of(const std::string& host, int port, bool has_tls) {
  std::string name = host;
  if (name.empty() || name == "0.0.0.0" || name == "::") {
    std::array<char, 256> own{};
    name = ::gethostname(own.data(), own.size() - 1) == 0 ? own.data() : "localhost";
  }
  if (name.find(':') != std::string::npos) name = "[" + name + "]";
  return fmt::format("{}://{}:{}", has_tls ? "https" : "http", name, port);
}

// For whoever reaches the port: files without their folders. `railgauge doctor` and the log have
// the whole paths.
std::string without_folders(std::string_view text) {
  constexpr std::string_view kBefore = " \t\n\"'(=";
  constexpr std::string_view kAfter = " \t\n\"'):;,";
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const bool begins = text[at] == '/' && (at == 0 || kBefore.find(text[at - 1]) != kBefore.npos);
    const std::size_t end = begins ? std::min(text.find_first_of(kAfter, at), text.size()) : at + 1;
    const std::string_view piece = text.substr(at, end - at);
    out += begins ? piece.substr(piece.rfind('/') + 1) : piece;
    at = end;
  }
  return out;
}

// Bound of the name in the trail.
constexpr std::size_t kMostSudoUserBytes = 64;

}  // namespace

// The keeper of the TLS files.
Status Server::open_tls(const TcpOptions& tcp) {
  const auto note = [this](std::string kind, std::string text) {
    this->note(std::move(kind), std::move(text));
  };
  std::unique_ptr<TlsKeeper> keeper = RG_TRY(TlsKeeper::open(
      {.pem = {.certificate = tcp.tls_cert, .key = tcp.tls_key, .authority = tcp.tls_ca},
       .crl = tcp.tls_crl},
      metrics_.series(), note));
  peers_.check_revoked(
      [raw = keeper.get()](const trust::CertificateId& id) { return raw->is_revoked(id); });
  loop_.call([this, &keeper] { tls_ = std::move(keeper); });  // the ticks use it from now on
  return {};
}

Status Server::start_grpc(const Config& config) {
  unix_ = RG_TRY(UnixListener::open(config.socket, config.socket_group));
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  bound_grpc(builder);
  builder.experimental().SetInterceptorCreators(gate_.interceptors());
  builder.RegisterService(agent_link_.get());
  builder.RegisterService(control_service_.get());
  builder.RegisterService(archive_service_.get());
  builder.RegisterService(judge_service_.get());
  builder.RegisterService(console_service_.get());
  builder.RegisterService(enrolment_service_.get());
  builder.RegisterService(role_service_.get());
  if (!config.tcp.listen.empty()) RG_TRY_OK(open_tcp(config.tcp, builder));
  grpc_ = builder.BuildAndStart();
  if (!grpc_) return fail(Code::kInternal, "gRPC: the server does not start");
  for (const char* name : kServiceNames)
    grpc_->GetHealthCheckService()->SetServingStatus(name, true);
  unix_->start(*grpc_, peers_, [this](const std::string& user, const Error& reason) {
    note_stranger(user, "unix socket", "socket.connect", "", reason);
  });
  spdlog::info("unix socket {}", config.socket);
  if (!tcp_) return {};
  RG_TRY_OK(tcp_->start());
  is_port_open_ = true;
  if (config.tcp.insecure)
    spdlog::warn("--insecure: port {} takes anybody's calls, without certificates or encryption",
                 tcp_->port());
  else
    spdlog::info("TCP port {} with mutual TLS", tcp_->port());
  return {};
}

// Binds the port; it accepts once the server runs.
Status Server::open_tcp(const TcpOptions& options, grpc::ServerBuilder& builder) {
  if (!options.insecure) RG_TRY_OK(open_tls(options));
  failpoint("controller.port");
  tcp_ = RG_TRY(TcpPort::open(options, tls_.get(), peers_, builder));
  return {};
}

// On the thread of the request: for 10,000 nodes it takes 10 ms, which the loop has not.
std::string Server::targets_page() {
  std::shared_ptr<const std::vector<ScrapeTarget>> targets;
  {
    const std::lock_guard lock(targets_mutex_);
    targets = targets_;
  }
  return targets ? scrape_targets(*targets) : "";
}

Status Server::start_http(const Config& config) {
  if (config.metrics_listen.empty()) return {};
  const HostPort address = RG_TRY(parse_host_port("metrics-listen", config.metrics_listen));
  auto started = http::Server::start(
      address.host, address.port,
      {.metrics = [this] { return metrics_.text(); },
       .healthy = [this] { return !stopping_; },
       .trouble = [this] { return tcp_ ? tcp_->listener().trouble() : std::string(); },
       .remarks = [this] { return role_line() + without_folders(remarks()); },
       .targets = [this] { return targets_page(); },
       .refused =
           [this](const http::Refusal& refusal) {
             note_stranger(refusal.user, refusal.address, "http.get", refusal.path, refusal.reason);
           }},
      config.web_config_file);
  if (!started && started.error().code == Code::kInvalidArgument)
    return fail(started.error().code, fmt::format("--web-config-file {}", started.error().message));
  if (!started)
    return fail(started.error().code, fmt::format("--metrics-listen {}", started.error().message));
  http_ = std::move(*started);
  spdlog::info("metrics on port {}", http_->port());
  return {};
}

// The certificate's holder, as the TCP port would know it.
Result<console::Visitor> Server::console_visitor(const http::Request& request) const {
  const trust::Certificate certificate = RG_TRY(trust::parse_certificate(request.certificate));
  auth::Peer peer = auth::holder_of(certificate, request.address, 0);
  if (tls_ && tls_->is_revoked(certificate.id)) {
    peer.role = auth::Role::kNone;
    peer.refusal = fmt::format("its certificate, serial {}, is revoked", certificate.id.serial);
  }
  RG_TRY_OK(auth::may_control(peer, true));
  // The web configuration may name another authority, as a company's own. It vouches for readers.
  if (tls_ && peer.role == auth::Role::kOperator && !tls_->vouches_for(request.certificate))
    peer.role = auth::Role::kViewer;
  return console::Visitor{.who = peer.who,
                          .role = std::string(auth::name_of(peer.role)),
                          .issuer = certificate.id.issuer,
                          .serial = certificate.id.serial,
                          .until_unix = certificate.until_unix};
}

namespace {

std::string sudo_text(const console::Visitor& visitor) {
  return visitor.sudo_user.empty() ? "" : " by sudo of " + visitor.sudo_user;
}

// A person may have several sessions; the address says which one it was.
std::string address_of(const console::Visitor& visitor, const std::string& address) {
  return visitor.session == 0
             ? address
             : fmt::format("{} console session {}{}", address, visitor.session, sudo_text(visitor));
}

}  // namespace

// sudo says who ran it, and root may say anything: a name for the trail, and no right.
Result<api::ConsoleTicket> Server::make_ticket(const auth::Peer& caller,
                                               const std::string& sudo_user) {
  if (!has_console_)
    return fail(Code::kFailedPrecondition,
                "this controller serves no console; --console-listen sets its port");
  // A process keeps the groups that it began with. A session would outlive them by hours.
  const bool is_of_socket = caller.certificate.serial.empty() && caller.connection == 0;
  if (is_of_socket) RG_TRY_OK(check_membership(caller.who, look_up(caller.who)));
  const bool is_root = is_of_socket && caller.who == auth::user_name(0);
  return console_->ticket_for(
      {.who = caller.who,
       .role = std::string(auth::name_of(caller.role)),
       .sudo_user = is_root ? audit::clean_text(sudo_user, kMostSudoUserBytes) : "",
       .issuer = caller.certificate.issuer,
       .serial = caller.certificate.serial,
       .until_unix = caller.certificate_until_unix,
       .is_user = is_of_socket},
      console_origin_);
}

// Entered for one call, which begins within the time that the book keeps those who left.
std::string Server::introduce(const console::Visitor& visitor, const std::string& address) {
  std::string name = fmt::format("console visitor {}", ++console_calls_);
  peers_.enter(name, {.role = auth::role_named(visitor.role),
                      .who = visitor.who,
                      .common_name = visitor.serial.empty() ? "" : visitor.who,
                      .address = address_of(visitor, address),
                      .certificate = {.issuer = visitor.issuer, .serial = visitor.serial},
                      .certificate_until_unix = visitor.until_unix});
  peers_.leave(name, fleet::monotonic_seconds());
  gate_.expected().expect(name);
  return name;
}

// The audit trail has the refusals of the console like those of the services.
void Server::note_refused_action(const console::Visitor* visitor, const std::string& address,
                                 const console::Action& action, const std::string& subject,
                                 const Error& reason) {
  const std::string rpc = console::name_of(action);
  if (visitor == nullptr) return note_stranger("", address, rpc, subject, reason);
  const bool has_row = audit_->refused({.caller = {.who = visitor->who,
                                                   .role = visitor->role,
                                                   .address = address_of(*visitor, address)},
                                        .rpc = rpc,
                                        .subject = subject},
                                       reason);
  if (has_row) spdlog::warn("call refused: {}: {}", rpc, audit::clean_text(reason.message));
}

// The functions by which the console acts for its visitors, and knows what store and archive have.
void Server::let_console_act(const Config& config, console::Console::Options& options) {
  options.archive_lag = [this]() -> std::optional<double> {
    if (!has_mirror_) return std::nullopt;
    return mirror_lag_.load();
  };
  options.writes = [this] {
    const auto stats = store_->stats();
    return stats ? static_cast<std::uint64_t>(stats->committed_batches) : 0;
  };
  options.is_revoked = [this](const console::Visitor& visitor) {
    return tls_ && tls_->is_revoked({.issuer = visitor.issuer, .serial = visitor.serial});
  };
  options.check_user = [this](const std::string& user) {
    return check_membership(user, members_.of(user, fleet::monotonic_seconds()));
  };
  options.has_begun = [this](const std::string& name) { return gate_.expected().has_begun(name); };
  options.introduce = [this](const console::Visitor& visitor, const std::string& address) {
    return introduce(visitor, address);
  };
  options.may = [](const console::Visitor& visitor, const console::Action& action) {
    const rpc::Right* right = rpc::find_right(action.service, action.method);
    return right != nullptr &&
           rpc::check_access({.role = auth::role_named(visitor.role), .who = visitor.who},
                             right->access);
  };
  options.may_act = [operators = config.console_operators](const std::string& user) {
    return operators.contains(user);
  };
  options.begun = [](const console::Visitor& visitor, const std::string& address) {
    spdlog::info("console session {} of {} ({}){} from {}", visitor.session,
                 audit::clean_text(visitor.who), visitor.role, sudo_text(visitor), address);
  };
  options.refused = [this](const console::Visitor* visitor, const std::string& address,
                           const console::Action& action, const std::string& subject,
                           const Error& reason) {
    note_refused_action(visitor, address, action, subject, reason);
  };
  options.watcher = kConsoleWatches;
}

// A port that nobody asked for and that is taken costs the console, not the measuring.
Status Server::start_console(const Config& config) {
  if (config.console_listen.empty()) return {};
  const HostPort address = RG_TRY(parse_host_port("console-listen", config.console_listen));
  const bool is_local = http::is_loopback(address.host);
  if (!is_local && config.console_web_config.empty())
    return fail(Code::kInvalidArgument,
                fmt::format("--console-listen {}: beyond loopback it needs "
                            "--console-web-config-file, with TLS and passwords or client "
                            "certificates",
                            config.console_listen));
  bool has_tls = false;
  if (!config.console_web_config.empty()) {
    const auto web = http::read_web_config(config.console_web_config);
    if (!web)
      return fail(web.error().code,
                  fmt::format("--console-web-config-file {}", web.error().message));
    has_tls = static_cast<bool>((*web)->tls);
  }
  if (!is_local && !has_tls)
    return fail(Code::kInvalidArgument,
                fmt::format("--console-web-config-file {}: tls_server_config is missing, which a "
                            "console beyond loopback needs",
                            config.console_web_config));
  for (const char* name : {auth::kInProcess, kConsoleWatches})
    peers_.enter(name, {.role = auth::Role::kViewer, .who = "console", .address = "console"});
  console::Console::Options options{
      .connect =
          [this] {
            grpc::ChannelArguments arguments;
            arguments.SetMaxReceiveMessageSize(kMostConsoleBytes);
            return grpc_->InProcessChannel(arguments);
          },
      .folder = config.console_folder.empty() ? default_console_folder() : config.console_folder,
      .version = RAILGAUGE_VERSION,
      .data_kind = [this] { return api::data_kind_of(data_mark_.is_synthetic()); },
      .is_local = is_local,
      .has_tls = has_tls,
      .now_unix = fleet::unix_seconds,
      .holder = [this](const http::Request& request) { return console_visitor(request); }};
  let_console_act(config, options);
  console_ = std::make_unique<console::Console>(std::move(options));
  auto started = http::Server::start(
      address.host, address.port,
      {.metrics = {},
       .healthy = [this] { return !stopping_; },
       .refused =
           [this](const http::Refusal& refusal) {
             note_stranger(refusal.user, refusal.address,
                           refusal.method == "POST" ? "console.post" : "console.get", refusal.path,
                           refusal.reason);
           },
       .other = [this](const http::Request& request) { return console_->answer(request); },
       .most_body_bytes = console::Console::kMostBodyBytes},
      config.console_web_config);
  if (!started) {
    const std::string cause = fmt::format("--console-listen {}", started.error().message);
    if (!config.console_may_lack) return fail(started.error().code, cause);
    spdlog::warn("no web console: {}", cause);
    return {};
  }
  console_http_ = std::move(*started);
  console_origin_ = origin_of(address.host, console_http_->port(), has_tls);
  has_console_ = true;
  spdlog::info("web console on {}{}; `railgauge console` opens it", console_origin_,
               console_->has_pages() ? "" : ", without pages");
  return {};
}

}  // namespace railgauge
