#include "agent/link/client_tls.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/text/rfc3339.h"

namespace railgauge::agent {
namespace {

constexpr double kDaySeconds = 24 * 3600;

}  // namespace

// The stamp is taken before the files are read, so that a change in between is seen next time.
Status ClientTls::read() {
  std::string stamp = trust::stamp_of(std::array{files_.certificate, files_.key, files_.authority});
  auto material = trust::load_material(files_);
  if (!material) return tl::unexpected(material.error());
  stamp_ = std::move(stamp);
  held_ = std::move(*material);
  return {};
}

Result<trust::Material> ClientTls::newest() {
  const std::lock_guard lock(mutex_);
  const Status status = read();
  if (held_) return *held_;
  return tl::unexpected(status.error());
}

ClientTls::State ClientTls::look(bool asked) {
  if (files_.certificate.empty()) return {};
  const std::lock_guard lock(mutex_);
  State state;
  const bool is_changed =
      stamp_ != trust::stamp_of(std::array{files_.certificate, files_.key, files_.authority});
  if (is_changed || asked || !fault_.empty()) {
    const Status status = read();
    if (!status && fault_ != status.error().message) {
      fault_ = status.error().message;
      ++failures_;
      state.is_fault = true;
      state.news = fmt::format("TLS: {}{}", fault_, held_ ? "; the old one stays in use" : "");
    }
    if (status) fault_.clear();
  }
  state.failures = failures_;
  state.is_usable = held_.has_value();
  if (!held_) return state;
  const std::string before = std::exchange(shown_, held_->own.id.serial);
  if (state.news.empty() && before != shown_ && !before.empty())
    state.news = fmt::format("TLS: the next connection shows serial {}, valid until {}", shown_,
                             rfc3339(held_->own.until_unix));
  state.until_unix = held_->own.until_unix;
  state.authority_until_unix = held_->authority_until_unix;
  return state;
}

std::string ClientTls::warning(double now_unix) {
  const std::lock_guard lock(mutex_);
  if (!held_ || now_unix < warned_unix_ + kDaySeconds) return "";
  const double left_days = (held_->own.until_unix - now_unix) / kDaySeconds;
  if (left_days > kSoonDays) return "";
  warned_unix_ = now_unix;
  return fmt::format("TLS: this agent's certificate {} at {}; railgauge pki renew makes another",
                     left_days > 0 ? "ends" : "ended", rfc3339(held_->own.until_unix));
}

}  // namespace railgauge::agent
