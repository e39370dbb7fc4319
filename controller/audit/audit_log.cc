#include "controller/audit/audit_log.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include "controller/clock/wall_clock.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/text/json.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"

namespace railgauge::audit {
namespace {

constexpr std::chrono::seconds kPause(1);  // between two looks at ended windows
constexpr double kWarnSeconds = 60;        // between two lines about the file
constexpr std::string_view kCut = "...";   // at the end of a text that was cut
constexpr std::string_view kController = "controller";

double system_seconds() { return wall_seconds(); }

// Windows of refused calls, and waits, are measured by a clock that nobody sets.
double steady_seconds() { return monotonic_now_ns() / 1e9; }

// The names of gRPC's status codes, by number.
constexpr std::array<std::string_view, 17> kCodeNames{
    "ok",        "cancelled",      "unknown",           "invalid_argument",   "deadline_exceeded",
    "not_found", "already_exists", "permission_denied", "resource_exhausted", "failed_precondition",
    "aborted",   "out_of_range",   "unimplemented",     "internal",           "unavailable",
    "data_loss", "unauthenticated"};

// C1 controls steer terminals as escape sequences do; the others turn or break the line.
bool is_unsafe(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  if (character.size() == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;
  const bool punctuation = character.size() == 3 && byte(0) == 0xE2;
  return punctuation && ((byte(1) == 0x80 && byte(2) >= 0xA8 && byte(2) <= 0xAE) ||
                         (byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9));
}

}  // namespace

std::string clean_text(std::string_view text, std::size_t most_bytes) {
  std::string clean;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(1, utf8_length(text));
    const std::string_view character = text.substr(0, length);
    std::string shown(character);
    if (utf8_length(text) == 0 || is_unsafe(character)) {
      shown.clear();
      for (const char c : character)
        shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    if (clean.size() + shown.size() > most_bytes) {
      clean = beginning_of(clean, most_bytes - kCut.size());
      return clean.append(kCut);
    }
    clean += shown;
    text.remove_prefix(length);
  }
  return clean;
}

std::string_view name_of_code(int code) {
  const auto at = static_cast<std::size_t>(code);
  return at < kCodeNames.size() ? kCodeNames[at] : "unknown";
}

std::string line_of(const store::AuditRow& row) {
  return fmt::format(
      R"({{"at":{},"call":{},"who":{},"role":{},"address":{},"rpc":{},"subject":{},"outcome":{},)"
      R"("reason":{},"refused":{},"count":{}}})",
      json_string(rfc3339(row.at)), row.call, json_string(row.who), json_string(row.role),
      json_string(row.address), json_string(row.rpc), json_string(row.subject),
      json_string(row.outcome), json_string(row.reason), row.refused, row.count);
}

Result<std::unique_ptr<AuditLog>> AuditLog::open(store::Store& store, AuditOptions options) {
  std::unique_ptr<AuditLog> log(new AuditLog(store, std::move(options)));
  const Status opened = log->reopen();
  if (!opened && opened.error().code != Code::kResourceExhausted)
    return tl::unexpected(opened.error());
  if (!opened) spdlog::warn("{}; tried again with each line", opened.error().message);
  return log;
}

// Calls are numbered by the time, so that no number of an earlier process comes again.
AuditLog::AuditLog(store::Store& store, AuditOptions options)
    : store_(store),
      options_(std::move(options)),
      last_call_(static_cast<Call>(system_seconds() * 1e6)),
      file_(options_.file),
      thread_([this] { loop(); }) {}

AuditLog::~AuditLog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

double AuditLog::now() const { return options_.clock ? options_.clock() : system_seconds(); }

store::AuditRow AuditLog::row_of(const Act& act) const {
  return {.at = now(),
          .who = clean_text(act.caller.who),
          .role = clean_text(act.caller.role),
          .address = clean_text(act.caller.address),
          .rpc = clean_text(act.rpc),
          .subject = clean_text(act.subject)};
}

Result<AuditLog::Call> AuditLog::begin(const Act& act) {
  store::AuditRow row = row_of(act);
  row.call = ++last_call_;
  row.outcome = store::kBegun;
  RG_TRY_OK(store_.write(store::write_audit, row));
  add_line(row);
  return row.call;
}

AuditLog::Call AuditLog::begin_urgent(const Act& act) {
  store::AuditRow row = row_of(act);
  row.call = ++last_call_;
  row.outcome = store::kBegun;
  const Call call = row.call;
  keep(std::move(row));
  return call;
}

void AuditLog::end(Call call, const Act& act, const Status& outcome) {
  store::AuditRow row = row_of(act);
  row.call = call;
  row.outcome = name_of_code(outcome ? 0 : static_cast<int>(outcome.error().code));
  if (!outcome) row.reason = clean_text(outcome.error().message);
  keep(std::move(row));
}

void AuditLog::did(std::string act, std::string subject, const Status& outcome) {
  const std::string who(kController);
  end(0,
      {.caller = {.who = who, .role = who}, .rpc = std::move(act), .subject = std::move(subject)},
      outcome);
}

bool AuditLog::refused(const Act& act, const Error& reason) {
  return refuse(refusals_, act, reason);
}

bool AuditLog::refused_stranger(const Act& act, const Error& reason) {
  return refuse(strangers_, act, reason);
}

bool AuditLog::refuse(Refusals& refusals, const Act& act, const Error& reason) {
  store::AuditRow row = row_of(act);
  row.outcome = name_of_code(static_cast<int>(reason.code));
  row.reason = clean_text(reason.message);
  row.refused = true;
  {
    const std::lock_guard lock(mutex_);
    if (*waiting_ >= kMaxWaiting) {
      refusals.add_lost(row, steady_seconds());
      return false;
    }
    if (!refusals.admit(row, steady_seconds())) return false;
  }
  keep(std::move(row));
  return true;
}

// The store keeps the row until it is committed.
void AuditLog::keep(store::AuditRow row) {
  add_line(row);
  ++*waiting_;
  const Status taken = store_.add_audit(std::move(row), [waiting = waiting_](const Status& stored) {
    --*waiting;
    if (!stored) spdlog::error("audit trail: a row is lost: {}", stored.error().message);
  });
  if (taken) return;
  --*waiting_;
  spdlog::error("audit trail: a row is lost: {}", taken.error().message);
}

void AuditLog::add_line(const store::AuditRow& row) {
  if (options_.file.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    if (lines_.size() >= kMaxLines) {
      ++lost_lines_;
      return;
    }
    lines_.push_back(line_of(row));
  }
  wake_.notify_all();
}

Status AuditLog::reopen() {
  const std::lock_guard lock(file_mutex_);
  return file_.open();
}

bool AuditLog::settle(double seconds) const {
  constexpr std::chrono::milliseconds kStep(2);
  const double end = steady_seconds() + seconds;
  while (*waiting_ > 0 && steady_seconds() < end) std::this_thread::sleep_for(kStep);
  return *waiting_ == 0;
}

// The rows of windows in which calls were counted.
void AuditLog::store_counted(bool all) {
  std::vector<store::AuditRow> rows;
  {
    const std::lock_guard lock(mutex_);
    if (*waiting_ >= kMaxWaiting && !all) return;  // the counts grow on
    rows = refusals_.take_ended(steady_seconds(), all);
    std::ranges::move(strangers_.take_ended(steady_seconds(), all), std::back_inserter(rows));
  }
  for (store::AuditRow& row : rows) {
    row.at = now();
    keep(std::move(row));
  }
}

// A line that fails is lost for the file; the database has it.
void AuditLog::write_lines() {
  std::vector<std::string> lines;
  std::uint64_t lost = 0;
  {
    const std::lock_guard lock(mutex_);
    lines.swap(lines_);
    lost = std::exchange(lost_lines_, 0);
  }
  if (lines.empty()) return;
  Status written;
  {
    const std::lock_guard lock(file_mutex_);
    written = file_.append(fmt::format("{}\n", fmt::join(lines, "\n")));
  }
  if (written && lost == 0) return;
  const double now = system_seconds();
  if (now < warned_at_ + kWarnSeconds) return;
  warned_at_ = now;
  spdlog::error("{}", written ? fmt::format("audit log {}: {} lines are lost: it is too slow",
                                            options_.file, lost)
                              : written.error().message);
}

void AuditLog::loop() {
  while (true) {
    bool stopping = false;
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, kPause, [&] { return stopping_ || !lines_.empty(); });
      stopping = stopping_;
    }
    store_counted(stopping);
    write_lines();
    if (stopping) return;
  }
}

}  // namespace railgauge::audit
