// Keeps the archive in PostgreSQL as far as the store: what changes is read from the outbox and
// sent, and what was there before the mirror was on is sent table by table. The store never waits
// for it: while the archive is away, the outbox grows up to a bound.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "controller/metric/registry.h"
#include "controller/mirror/archive_gate.h"
#include "controller/mirror/pace.h"
#include "controller/mirror/site_link.h"
#include "controller/store/outbox/mirror_outbox.h"
#include "controller/store/store.h"
#include "kernels/core/base/result.h"

namespace railgauge::mirror {

// Stores an event of the controller: "mirror_behind" at the first failure in a row,
// "mirror_works" when the archive takes data again.
using Note = std::function<void(std::string kind, std::string text)>;

struct MirrorOptions {
  std::string url{};       // pq/url.h
  std::string site{};      // the name under which this controller writes
  double keep_days = 0;    // of points in the archive; 0: for ever
  bool is_armed = true;    // false: the outbox is armed as soon as the disk has room
  std::int64_t lease = 0;  // of a site with several controllers: its generation
  // Acts wait at them for the archive; they outlive the mirror.
  std::vector<ArchiveGate*> gates{};
  store::MirrorBounds batch{};
  double first_pause_seconds = 1;  // after a failure
  double longest_pause_seconds = 30;
  double answer_seconds = 60;
  double poll_seconds = 0.25;  // between two looks at an empty outbox
  double trim_seconds = 5;
  std::atomic<double>* shown_lag = nullptr;  // gets the lag, in seconds; outlives the mirror
  std::int64_t most_rows = 50'000'000;       // of the outbox; beyond, everything is sent anew later
};

// The figures that are shown of a mirror.
struct MirrorFigures {
  bool is_connected = false;
  double lag_seconds = 0;
  double waiting_rows = 0;
  double tables_left = 0;  // of the first copy
  double rows_sent = 0;
  double failures = 0;
  double batch_entries = 0;  // rows of the outbox that the next batch may have
};

// One step at a time, without a thread. Not
// thread safe, but for figures().
class Mirror {
 public:
  // All outlive the mirror. `is_over` ends every wait.
  Mirror(MirrorOptions options, store::Store& store, Note note, std::function<bool()> is_over);
  // Does what is due at `now` (unix seconds). Returns the seconds until the next step; 0: at once.
  double step(double now);
  [[nodiscard]] MirrorFigures figures() const;

 private:
  // Connects where there is no link, then sends; the pause until the next step.
  Result<double> work(double now);
  Status connect();
  // One batch of changes or of the first copy; true: there is more.
  Result<bool> send_next(double now);
  void drop_changes(double now);
  // Both send one batch and report whether there is more.
  Result<bool> send_changes(double now);
  Result<bool> send_walk(double now);
  // Halves the batches where the archive was too slow for this one, and doubles them again after
  // many full ones that it took. `is_full`: more waited than the batch had room for.
  Status sized(Status sent, bool is_full);
  // Says that the archive takes data again, where something said that it does not.
  void note_works();
  // Deletes rows of the outbox that the archive has.
  void trim(const store::MirrorState& state, double now, double even_at);
  // Counts a failure, logs it at most once a minute, and stores the first one as an event.
  void fail_at(Pace& pace, double now, const Error& error);
  // Takes the figures that are shown.
  void show(const store::MirrorState& state, double now);

  const MirrorOptions options_;
  store::Store& store_;
  const Note note_;
  const std::function<bool()> is_over_;
  store::MirrorBounds batch_;
  int full_batches_ = 0;  // in a row, which the archive took in time
  Pace pace_;
  Pace walk_pace_;  // of the first copy, which may fail where changes pass
  std::optional<LagBook> lag_{};
  std::unique_ptr<SiteLink> link_{};
  std::int64_t arming_ = 0;      // that the link claimed with
  std::int64_t generation_ = 0;  // of the last link; 0: there was none
  bool is_told_ = false;         // an event says that the mirror is behind
  bool walks_next_ = false;
  bool is_kind_known_ = false;  // of the data; it never changes once there is some
  bool is_claimed_synthetic_ = false;
  bool is_armed_;
  double even_sent_ = 0;  // when the archive had all, as this link said last; 0: it has not
  double next_trim_ = 0;
  double next_drop_ = 0;
  double next_change_drop_ = 0;
  mutable std::mutex mutex_;
  MirrorFigures figures_{};  // guarded by mutex_
};

// Runs a mirror on a thread of its own and shows its figures as metrics.
class MirrorThread {
 public:
  MirrorThread(MirrorOptions options, store::Store& store, metric::Registry& series, Note note);
  // Ends the wait under way. All that was not sent is in the outbox.
  ~MirrorThread();
  MirrorThread(const MirrorThread&) = delete;
  MirrorThread& operator=(const MirrorThread&) = delete;

 private:
  void work();
  void show();

  metric::Registry& series_;
  std::atomic<bool> ending_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  Mirror mirror_;
  std::thread thread_;  // last: uses all above
};

}  // namespace railgauge::mirror
