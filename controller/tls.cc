#include "controller/tls.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/fleet/event_loop.h"
#include "kernels/core/base/handle.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge {

// Holds the newest pair, and which pair each port has. gRPC asks once a handshake, so that an
// unchanged pair costs a comparison.
class TlsFeed {
 public:
  using Config = grpc_ssl_server_certificate_config;
  struct Port {
    TlsFeed* feed = nullptr;
    std::uint64_t given = 0;  // the generation that gRPC has
  };

  void set(trust::Material material) {
    const std::lock_guard lock(mutex_);
    current_ = std::make_shared<const trust::Material>(std::move(material));
    ++generation_;
  }
  [[nodiscard]] std::shared_ptr<const trust::Material> current() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }
  // Lives as long as the feed.
  Port* add_port() {
    const std::lock_guard lock(mutex_);
    return &ports_.emplace_back(Port{.feed = this});
  }
  // The newest pair if the port does not have it, else nullptr.
  std::shared_ptr<const trust::Material> newer_for(Port& port) {
    const std::lock_guard lock(mutex_);
    if (std::exchange(port.given, generation_) == generation_) return nullptr;
    return current_;
  }

 private:
  mutable std::mutex mutex_;  // guards all below, and the ports
  std::shared_ptr<const trust::Material> current_;
  std::uint64_t generation_ = 0;
  std::deque<Port> ports_;
};

namespace {

using CCredentials = Handle<ReleasedBy<grpc_server_credentials*, grpc_server_credentials_release>>;

// Called by gRPC before a handshake, on any of its threads. gRPC makes the new configuration work
// before it drops the old one, and owns what is returned.
grpc_ssl_certificate_config_reload_status fetch(void* user, TlsFeed::Config** config) {
  auto& port = *static_cast<TlsFeed::Port*>(user);
  const auto newer = port.feed->newer_for(port);
  if (newer == nullptr) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
  const grpc_ssl_pem_key_cert_pair pair{newer->key.c_str(), newer->certificate.c_str()};
  *config = grpc_ssl_server_certificate_config_create(newer->authority.c_str(), &pair, 1);
  return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
}

// gRPC's C++ interface has no server credentials that keep the old pair when a new one is refused:
// those of grpc::experimental drop it first. The C interface has, by a function that is asked at
// each handshake; this class carries them into ServerBuilder. decisions/059 has the comparison.
// For one port, which keeps its own reference to them.
class ReloadingCredentials final : public grpc::ServerCredentials {
 public:
  explicit ReloadingCredentials(TlsFeed::Port* port)
      : credentials_(grpc_ssl_server_credentials_create_with_options(
            grpc_ssl_server_credentials_create_options_using_config_fetcher(
                GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY, &fetch, port))) {}
  [[nodiscard]] bool works() const { return static_cast<bool>(credentials_); }

  // The controller has no processor of metadata.
  void SetAuthMetadataProcessor(
      const std::shared_ptr<grpc::AuthMetadataProcessor>& /*processor*/) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_.get());
  }

  CCredentials credentials_;
};

constexpr const char* kExpiryMetric = "railgauge_certificate_expiry_timestamp_seconds";
constexpr const char* kFailureMetric = "railgauge_tls_reload_failures_total";

}  // namespace

Result<std::unique_ptr<TlsKeeper>> TlsKeeper::open(Files files, metric::Registry& series,
                                                   Note note) {
  std::unique_ptr<TlsKeeper> keeper(new TlsKeeper(std::move(files), series, std::move(note)));
  keeper->pair_stamp_ = trust::stamp_of(std::array{
      keeper->files_.pem.certificate, keeper->files_.pem.key, keeper->files_.pem.authority});
  trust::Material material = RG_TRY(trust::load_material(keeper->files_.pem));
  if (!keeper->files_.crl.empty()) {
    const std::string& path = keeper->files_.crl;
    keeper->crl_stamp_ = trust::stamp_of(std::array{path});
    const std::string text = RG_TRY(trust::read_pem("tls-crl", path, trust::kMaxCrlBytes));
    auto list = trust::parse_revocations(text, material.authority, fleet::unix_seconds());
    if (!list)
      return fail(list.error().code, fmt::format("--tls-crl {}: {}", path, list.error().message));
    keeper->list_ = std::make_shared<const trust::RevocationList>(std::move(*list));
  }
  keeper->feed_->set(std::move(material));
  for (const char* file : {"certificate", "crl"})
    series.raise_to(kFailureMetric, {{"file", file}}, 0);
  keeper->show();
  keeper->watch_expiry();
  keeper->thread_ = std::thread([raw = keeper.get()] { raw->watch(); });
  return keeper;
}

TlsKeeper::TlsKeeper(Files files, metric::Registry& series, Note note)
    : files_(std::move(files)),
      series_(series),
      note_(std::move(note)),
      feed_(std::make_unique<TlsFeed>()) {}

TlsKeeper::~TlsKeeper() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

Result<std::shared_ptr<grpc::ServerCredentials>> TlsKeeper::credentials() {
  auto credentials = std::make_shared<ReloadingCredentials>(feed_->add_port());
  if (!credentials->works())
    return fail(Code::kInvalidArgument, "--tls-cert, --tls-key, --tls-ca: gRPC refuses the files");
  return std::shared_ptr<grpc::ServerCredentials>(std::move(credentials));
}

void TlsKeeper::reload() {
  const std::lock_guard lock(mutex_);
  asked_ = true;
  changed_.notify_all();
}

std::shared_ptr<const trust::RevocationList> TlsKeeper::list() const {
  const std::lock_guard lock(mutex_);
  return list_;
}

bool TlsKeeper::is_revoked(const trust::CertificateId& id) const {
  const auto held = list();
  return held != nullptr && held->has(id);
}

void TlsKeeper::watch() {
  for (;;) {
    bool asked = false;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::duration<double>(kLookSeconds),
                        [this] { return stopping_ || asked_; });
      if (stopping_) return;
      asked = std::exchange(asked_, false);
    }
    look(asked);
  }
}

// The stamp is taken before the files are read, so that a change in between is seen next time.
// After a fault the files are read at every look: a pair that is replaced file by file becomes
// whole.
void TlsKeeper::look(bool asked) {
  read_pair(asked);
  if (!files_.crl.empty()) read_crl(asked);
  watch_expiry();
  show();
}

void TlsKeeper::read_pair(bool asked) {
  std::string stamp =
      trust::stamp_of(std::array{files_.pem.certificate, files_.pem.key, files_.pem.authority});
  if (stamp == pair_stamp_ && pair_fault_.empty() && !asked) return;
  auto material = trust::load_material(files_.pem);
  if (!material) return failed("certificate", pair_fault_, material.error());
  pair_stamp_ = std::move(stamp);
  pair_fault_.clear();
  const auto before = feed_->current();
  if (*before == *material) return;
  if (before->authority != material->authority) crl_stamp_.clear();  // signed by whom?
  const std::string text = fmt::format("TLS: new handshakes get serial {}, valid until {}",
                                       material->own.id.serial, rfc3339(material->own.until_unix));
  spdlog::info("{}", text);
  feed_->set(std::move(*material));
  note_("tls_reloaded", text);
}

void TlsKeeper::read_crl(bool asked) {
  std::string stamp = trust::stamp_of(std::array{files_.crl});
  if (stamp == crl_stamp_ && crl_fault_.empty() && !asked) return;
  const auto held = list();
  const double now = fleet::unix_seconds();
  const auto read = [&]() -> Result<trust::RevocationList> {
    const std::string text = RG_TRY(trust::read_pem("tls-crl", files_.crl, trust::kMaxCrlBytes));
    auto list = trust::parse_revocations(text, feed_->current()->authority, now);
    if (list && list->issued_unix == held->issued_unix && list->revoked == held->revoked)
      return list;  // unchanged, expired or not: watch_expiry() reports that
    if (list) list = trust::replaced(*held, std::move(*list), now);
    if (list) return list;
    return fail(list.error().code,
                fmt::format("--tls-crl {}: {}", files_.crl, list.error().message));
  };
  auto list = read();
  if (!list) return failed("crl", crl_fault_, list.error());
  crl_stamp_ = std::move(stamp);
  crl_fault_.clear();
  const bool is_new = list->issued_unix != held->issued_unix || list->revoked != held->revoked ||
                      list->next_update_unix != held->next_update_unix;
  if (!is_new) return;
  const std::string text = fmt::format("TLS: revocation list with {} certificates, valid until {}",
                                       list->revoked.size(), rfc3339(list->next_update_unix));
  spdlog::info("{}", text);
  {
    const std::lock_guard lock(mutex_);
    list_ = std::make_shared<const trust::RevocationList>(std::move(*list));
  }
  note_("crl_reloaded", text);
}

// One line for each new fault, however often it is seen.
void TlsKeeper::failed(std::string_view what, std::string& last, const Error& error) {
  if (last == error.message) return;
  last = error.message;
  series_.add(kFailureMetric, {{"file", std::string(what)}});
  const std::string text = fmt::format("{}; the old one stays in use", error.message);
  spdlog::error("TLS: {}", text);
  note_(what == "crl" ? "crl_refused" : "tls_refused", text);
}

void TlsKeeper::watch_expiry() {
  const auto held = list();
  const bool expired = held != nullptr && held->is_expired(fleet::unix_seconds());
  if (expired == is_crl_expired_) return;
  is_crl_expired_ = expired;
  if (!expired) return;
  series_.add(kFailureMetric, {{"file", "crl"}});
  const std::string text = fmt::format(
      "--tls-crl {}: the list ended at {} and stays in use; railgauge pki crl renews it",
      files_.crl, rfc3339(held->next_update_unix));
  spdlog::error("TLS: {}", text);
  note_("crl_expired", text);
}

void TlsKeeper::show() const {
  const auto material = feed_->current();
  series_.set(kExpiryMetric, {{"certificate", "own"}}, material->own.until_unix);
  series_.set(kExpiryMetric, {{"certificate", "authority"}}, material->authority_until_unix);
  if (const auto held = list(); held != nullptr && held->next_update_unix > 0)
    series_.set(kExpiryMetric, {{"certificate", "crl"}}, held->next_update_unix);
}

}  // namespace railgauge
