// The mirror in PostgreSQL as a part of the controller.
#include <spdlog/spdlog.h>

#include "controller/mirror/pq/url.h"
#include "controller/server.h"
#include "controller/store/outbox/kept_certificates.h"
#include "controller/store/outbox/mirror_outbox.h"

namespace railgauge {
namespace {

// Between two looks at an empty outbox; shorter where agents or attempts wait for the archive.
constexpr double kPollSeconds = 0.25;
constexpr double kHurriedSeconds = 0.02;
constexpr double kStartSeconds = 0.1;

}  // namespace

// The controller starts on a full disk too: the mirror then arms the outbox once there is room, and
// copies everything anew.
Result<bool> Server::arm_mirror(const Config& config, store::Store& store) {
  const Status armed =
      store.write(config.mirror.url.empty() ? store::disarm_mirror : store::arm_mirror);
  if (armed) return true;
  if (armed.error().code == Code::kResourceExhausted) return false;
  return tl::unexpected(armed.error());
}

void Server::start_mirror(const Config& config, bool is_armed) {
  if (config.mirror.url.empty()) {
    is_mirror_left_on_ = !is_armed;
    return;
  }
  has_mirror_ = true;
  std::vector<mirror::ArchiveGate*> gates;
  for (const auto& gate : {gates_.acknowledgements, gates_.starts, gates_.answers})
    if (gate) gates.push_back(gate.get());
  spdlog::info("mirror: everything is copied to {} as site {}", pq::shown_url(config.mirror.url),
               config.mirror.site);
  mirror_ = std::make_unique<mirror::MirrorThread>(
      mirror::MirrorOptions{
          .url = config.mirror.url,
          .site = config.mirror.site,
          .keep_days = config.mirror.keep_days,
          .is_armed = is_armed,
          .lease = config.standby.is_on ? static_cast<std::int64_t>(role_.generation()) : 0,
          .gates = gates,
          .poll_seconds = gates_.acknowledgements ? kHurriedSeconds
                          : gates_.starts         ? kStartSeconds
                                                  : kPollSeconds,
          .shown_lag = &mirror_lag_},
      *store_, metrics_.series(),
      [this](std::string kind, std::string text) { note(std::move(kind), std::move(text)); });
  months_ = std::make_unique<mirror::MonthIndexer>(config.mirror.url);
}

// On the feeder's thread. A certificate shows what its run measured only while the store has that
// data; the archive keeps it for longer.
void Server::keep_certificates(double now) {
  constexpr double kPastSeconds = 2 * 86'400;
  constexpr std::uint32_t kMost = 4;
  if (!has_mirror_) return;
  const auto subjects = store_->read(store::read_uncertified, now - kPastSeconds, kMost);
  if (!subjects) return spdlog::warn("mirror: certificates: {}", subjects.error().message);
  for (const std::string& subject : *subjects) {
    if (uncertifiable_.contains(subject)) continue;
    const auto made = certifier_.certify(subject);
    const Status kept =
        made ? store_->write(store::write_certificate, subject, now, made->digest(), made->text())
             : Status(tl::unexpected(made.error()));
    if (kept) continue;
    uncertifiable_.insert(subject);  // until the next start
    spdlog::warn("mirror: no certificate of {}: {}", subject, kept.error().message);
  }
}

// Called while the store looks for room, until it worked.
// The database still says that a mirror is on, although none notes its changes.
void Server::turn_mirror_off() {
  if (is_mirror_left_on_ && store_->write(store::disarm_mirror)) is_mirror_left_on_ = false;
}

}  // namespace railgauge
