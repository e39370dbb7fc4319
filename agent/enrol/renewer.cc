#include "agent/enrol/renewer.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "agent/enrol/enrolled_files.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge::agent {
namespace {

constexpr double kLookSeconds = 60;
constexpr double kLongestPauseSeconds = 3'600;
constexpr double kLockSeconds = 1;  // the next look is soon

double unix_seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// A random number would move the time at each look. 0 to 1, the same for the same serial number.
double share_of(const std::string& serial) {
  constexpr std::uint32_t kSteps = 1'000;
  std::uint32_t sum = 0;
  for (const char c : serial) sum = (sum * 31 + static_cast<unsigned char>(c)) % kSteps;
  return static_cast<double>(sum) / kSteps;
}

}  // namespace

double renewal_time(const trust::Certificate& certificate) {
  const double life = certificate.until_unix - certificate.from_unix;
  constexpr double kSpread = 0.05;
  return certificate.until_unix - life / 3 - life * kSpread * share_of(certificate.id.serial);
}

double renewal_pause(int failures) {
  double pause = kLookSeconds;
  for (int i = 1; i < failures && pause < kLongestPauseSeconds; ++i) pause *= 2;
  return std::min(pause, kLongestPauseSeconds);
}

// The new certificate is tried with the key in place before it takes the old one's file.
Result<std::string> renew_if_due(const std::vector<EnrolServer>& servers,
                                 const trust::PemFiles& files, double now_unix) {
  const std::filesystem::path file(files.certificate);
  const std::string folder = file.has_parent_path() ? file.parent_path().string() : ".";
  const bool has_cut = NodeFiles::has_cut(folder);
  const auto seen = trust::load_material(files);
  if (!seen && !has_cut) return tl::unexpected(seen.error());
  if (seen && !has_cut && now_unix < renewal_time(seen->own)) return std::string();
  // `enroll --force` may have replaced the files since, and must not do it meanwhile.
  NodeFiles locked = RG_TRY(NodeFiles::open_folder(folder, kLockSeconds));
  const trust::Material held = RG_TRY(trust::load_material(files));
  if (now_unix < renewal_time(held.own)) return std::string();
  // TLS would refuse it without a reason.
  if (held.own.until_unix <= now_unix)
    return fail(
        Code::kFailedPrecondition,
        fmt::format("the certificate ended at {}, so that it proves nothing; railgauge-agent "
                    "enroll --force with a new token enrols the node again",
                    rfc3339(held.own.until_unix)));
  std::string pem = RG_TRY(ask_renewal(servers, files));
  const trust::Material fresh = RG_TRY(trust::check_material(pem, held.key, held.authority));
  if (node_of(fresh.own) != node_of(held.own) || fresh.own.until_unix < held.own.until_unix)
    return fail(
        Code::kInternal,
        "the certificate that came is for another node, or ends earlier than the one in use");
  RG_TRY_OK(locked.replace_certificate(file.filename().string(), pem));
  return fresh.own.id.serial;
}

Renewer::Renewer(std::vector<EnrolServer> servers, trust::PemFiles files)
    : servers_(std::move(servers)), files_(std::move(files)), thread_([this] { run(); }) {}

Renewer::~Renewer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

// The first look is at once, since an agent may have been off when it was time.
void Renewer::run() {
  int failures = 0;  // in a row
  for (;;) {
    const auto renewed = renew_if_due(servers_, files_, unix_seconds_now());
    if (!renewed) {
      ++failures;
      spdlog::warn("TLS: the certificate is not renewed: {}", renewed.error().message);
    } else {
      failures = 0;
      if (!renewed->empty()) spdlog::info("TLS: the certificate is renewed, serial {}", *renewed);
    }
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, std::chrono::duration<double>(renewal_pause(failures)),
                   [this] { return stopping_; });
    if (stopping_) return;
  }
}

}  // namespace railgauge::agent
