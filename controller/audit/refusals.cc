#include "controller/audit/refusals.h"

#include <utility>

#include <fmt/format.h>

namespace railgauge::audit {
namespace {

constexpr const char* kOthers = "others";  // no peer's key: those hold a newline

}  // namespace

std::string_view host_of(std::string_view address) {
  const bool has_port = address.starts_with("ipv4:") || address.starts_with("ipv6:");
  const std::size_t colon = address.rfind(':');
  return has_port && colon > std::string_view("ipv4").size() ? address.substr(0, colon) : address;
}

// A name without a certificate is the address with its port, which each connection changes.
Refusals::Window& Refusals::window_of(const store::AuditRow& row, double now) {
  std::string key = fmt::format("{}\n{}\n{}", host_of(row.who), host_of(row.address), row.outcome);
  if (windows_.size() >= max_windows_ && !windows_.contains(key)) key = kOthers;
  Window& window = windows_.try_emplace(key, Window{.begun = now}).first->second;
  if (key == kOthers) window.sample.who = window.sample.address = kOthers;
  return window;
}

bool Refusals::admit(const store::AuditRow& row, double now) {
  Window& window = window_of(row, now);
  if (window.rows < kRows) {
    ++window.rows;
    return true;
  }
  add_lost(row, now);
  return false;
}

void Refusals::add_lost(const store::AuditRow& row, double now) {
  Window& window = window_of(row, now);
  const bool others = window.sample.who == kOthers && window.sample.address == kOthers;
  ++window.counted;
  window.sample = row;
  if (others) window.sample.who = window.sample.address = kOthers;
}

std::vector<store::AuditRow> Refusals::take_ended(double now, bool all) {
  std::vector<store::AuditRow> rows;
  for (auto each = windows_.begin(); each != windows_.end();) {
    Window& window = each->second;
    if (!all && now < window.begun + kWindowSeconds) {
      ++each;
      continue;
    }
    if (window.counted > 0) {
      window.sample.count = window.counted;
      window.sample.subject = "";  // each call had its own
      rows.push_back(std::move(window.sample));
    }
    each = windows_.erase(each);
  }
  return rows;
}

}  // namespace railgauge::audit
