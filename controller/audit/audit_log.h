// The audit trail of the controller: who changed what, which calls were refused, and what the
// controller changed by itself. A row goes into the database, and as a line of JSON to a file. The
// row counts: only its failure keeps a write from being carried out.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "controller/audit/line_file.h"
#include "controller/audit/refusals.h"
#include "controller/store/store.h"
#include "kernels/core/base/result.h"

namespace railgauge::audit {

// The peer that makes a call. Texts of peers are cleaned and cut before they are stored.
struct Caller {
  std::string who{};
  std::string role{};
  std::string address{};
};

// A call, or an act of the controller itself.
struct Act {
  Caller caller{};
  std::string rpc{};  // "Control.StartRun"
  std::string subject{};
};

struct AuditOptions {
  std::string file{};               // of the lines; "-" is standard output, "" is none
  std::function<double()> clock{};  // tests: seconds since 1970; empty is the system's
};

// Thread safe. The store outlives it.
class AuditLog {
 public:
  static constexpr std::size_t kMaxTextBytes = 256;
  // Rows of refused calls that wait for the database; beyond, they are counted alone.
  static constexpr std::uint32_t kMaxWaiting = 1'000;
  // Lines that wait for the file; beyond, they are lost and counted in the log.
  static constexpr std::size_t kMaxLines = 10'000;

  // Opens the file. Errors: LineFile::open()'s, but a full disk only delays the lines.
  static Result<std::unique_ptr<AuditLog>> open(store::Store& store, AuditOptions options);
  ~AuditLog();  // stores what was counted, writes the waiting lines
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // Pairs the two rows of a call.
  using Call = std::int64_t;

  // Stores that a write begins; waits for the commit. An error, of the store: the write must not be
  // carried out.
  Result<Call> begin(const Act& act);
  // The same for calls that have to work while nothing can be stored: the row waits for the
  // database, the caller does not.
  Call begin_urgent(const Act& act);
  // Stores the outcome of a call that began. Never waits.
  void end(Call call, const Act& act, const Status& outcome);
  // Stores a call that was refused. Never waits. Returns whether it got a row of its own: if not,
  // it is worth no line of the log either.
  bool refused(const Act& act, const Error& reason);
  // The same for a stranger, who is refused before any call: at the unix socket, or for a wrong
  // password. Strangers have few windows, and never those of peers.
  bool refused_stranger(const Act& act, const Error& reason);
  // Stores an act of the controller itself, as `act` "retention". Never waits.
  void did(std::string act, std::string subject, const Status& outcome = {});

  // Opens the file anew, for logrotate. After an error the old file stays in use.
  Status reopen();
  // Waits until the rows so far are in the database, `seconds` at most; returns whether they are.
  bool settle(double seconds) const;

 private:
  AuditLog(store::Store& store, AuditOptions options);
  [[nodiscard]] double now() const;
  store::AuditRow row_of(const Act& act) const;
  bool refuse(Refusals& refusals, const Act& act, const Error& reason);
  void keep(store::AuditRow row);
  void add_line(const store::AuditRow& row);
  void store_counted(bool all);
  void write_lines();
  void loop();

  store::Store& store_;
  const AuditOptions options_;
  std::atomic<Call> last_call_;
  // Rows that wait for the database. Shared with the store's writer, which may outlive this.
  std::shared_ptr<std::atomic<std::uint32_t>> waiting_ =
      std::make_shared<std::atomic<std::uint32_t>>(0);

  std::mutex file_mutex_;  // guards file_
  LineFile file_;
  double warned_at_ = 0;  // used by the thread alone

  std::mutex mutex_;  // guards all below
  std::condition_variable wake_;
  Refusals refusals_;
  Refusals strangers_{Refusals::kMaxStrangers};
  std::vector<std::string> lines_;
  std::uint64_t lost_lines_ = 0;
  bool stopping_ = false;

  std::thread thread_;  // last: starts when all other members exist
};

// Returns `text` for one line of a terminal: control bytes, invalid UTF-8 and characters that turn
// the direction of text are written as "\x1b"; cut to `most_bytes`. Pure.
std::string clean_text(std::string_view text, std::size_t most_bytes = AuditLog::kMaxTextBytes);
// Returns the name of a status code: "permission_denied"; "ok" for 0. Pure.
std::string_view name_of_code(int code);
// Returns the row as one line of JSON, without a newline. Pure.
std::string line_of(const store::AuditRow& row);

}  // namespace railgauge::audit
