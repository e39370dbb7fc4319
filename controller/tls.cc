#include "controller/tls.h"

#include <array>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/fleet/event_loop.h"
#include "controller/trust/authority/issue.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge {

namespace {

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
  RG_TRY_OK(keeper->take(std::move(material)));
  for (const char* file : {"certificate", "crl"})
    series.raise_to(kFailureMetric, {{"file", file}}, 0);
  keeper->watch_expiry();
  keeper->show();
  keeper->thread_ = std::thread([raw = keeper.get()] { raw->watch(); });
  return keeper;
}

TlsKeeper::TlsKeeper(Files files, metric::Registry& series, Note note)
    : files_(std::move(files)), series_(series), note_(std::move(note)) {}

TlsKeeper::~TlsKeeper() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<const trust::TlsServer> TlsKeeper::server() const {
  const std::lock_guard lock(mutex_);
  return server_;
}

std::shared_ptr<const trust::Material> TlsKeeper::material() const {
  const std::lock_guard lock(mutex_);
  return material_;
}

// Makes the new files work before the old ones are dropped.
Status TlsKeeper::take(trust::Material material) {
  auto server = RG_TRY(trust::TlsServer::make(material));
  auto kept = std::make_shared<const trust::Material>(std::move(material));
  const std::lock_guard lock(mutex_);
  server_ = std::move(server);
  material_ = std::move(kept);
  return {};
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

bool TlsKeeper::vouches_for(const std::string& certificate) const {
  return trust::check_issued(certificate, material()->authority).has_value();
}

bool TlsKeeper::is_revoked(const trust::CertificateId& id) const {
  const auto held = list();
  return held != nullptr && held->has(id);
}

std::string TlsKeeper::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
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
  auto loaded = trust::load_material(files_.pem);
  if (!loaded) return failed("certificate", pair_fault_, loaded.error());
  const auto before = material();
  const bool is_same = *before == *loaded;
  if (const Status taken = is_same ? Status() : take(std::move(*loaded)); !taken)
    return failed("certificate", pair_fault_, taken.error());
  pair_stamp_ = std::move(stamp);
  pair_fault_.clear();
  if (is_same) return;
  const auto now = material();
  if (before->authority != now->authority) crl_stamp_.clear();  // signed by whom?
  const std::string text = fmt::format("TLS: new handshakes get serial {}, valid until {}",
                                       now->own.id.serial, rfc3339(now->own.until_unix));
  spdlog::info("{}", text);
  note_("tls_reloaded", text);
}

void TlsKeeper::read_crl(bool asked) {
  std::string stamp = trust::stamp_of(std::array{files_.crl});
  if (stamp == crl_stamp_ && crl_fault_.empty() && !asked) return;
  const auto held = list();
  const double now = fleet::unix_seconds();
  const auto read = [&]() -> Result<trust::RevocationList> {
    const std::string text = RG_TRY(trust::read_pem("tls-crl", files_.crl, trust::kMaxCrlBytes));
    auto list = trust::parse_revocations(text, material()->authority, now);
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

void TlsKeeper::show() {
  std::string trouble;
  for (const std::string& fault : {pair_fault_, crl_fault_})
    if (!fault.empty()) trouble += fmt::format("TLS: {}; the old one stays in use\n", fault);
  if (is_crl_expired_)
    trouble += fmt::format("TLS: --tls-crl {}: the list has ended and stays in use\n", files_.crl);
  {
    const std::lock_guard lock(mutex_);
    trouble_ = std::move(trouble);
  }
  const auto held_material = material();
  series_.set(kExpiryMetric, {{"certificate", "own"}}, held_material->own.until_unix);
  series_.set(kExpiryMetric, {{"certificate", "authority"}}, held_material->authority_until_unix);
  if (const auto held = list(); held != nullptr && held->next_update_unix > 0)
    series_.set(kExpiryMetric, {{"certificate", "crl"}}, held->next_update_unix);
}

}  // namespace railgauge
