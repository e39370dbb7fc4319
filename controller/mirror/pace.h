// When the mirror tries again and when it speaks; how far it lags. Pure: callers pass the time, in
// unix seconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

namespace railgauge::mirror {

// Pauses that double after each failure. A clock that is set back shortens a pause, never prolongs
// it.
class Pace {
 public:
  Pace(double first_seconds, double longest_seconds, double log_seconds)
      : first_(first_seconds), longest_(longest_seconds), log_(log_seconds) {}

  [[nodiscard]] bool is_due(double now) const;
  // Seconds until the next try; 0: now.
  [[nodiscard]] double left(double now) const;
  void failed(double now);
  void worked();
  [[nodiscard]] bool is_failing() const { return pause_ > 0; }
  // True at most once in `log_seconds`; then the trouble is to be logged.
  bool may_log(double now);

 private:
  double first_;
  double longest_;
  double log_;
  double pause_ = 0;
  double next_ = 0;
  double logged_ = 0;
};

// When rows of the outbox were first seen, from which follows how old the oldest one is that the
// archive lacks. Bounded: of a long outage it keeps fewer times, never the wrong order.
class LagBook {
 public:
  // `even_at`: the archive had all then, by an earlier process; 0: not known.
  explicit LagBook(double even_at) : even_at_(even_at) {}
  // The outbox's newest row at this time; a new row counts from the look before, if there was one.
  void note(std::int64_t newest, double now);
  // The archive has all rows up to this one.
  void note_through(std::int64_t through);
  // Seconds; 0: the archive has all.
  [[nodiscard]] double lag(double now) const;

 private:
  static constexpr std::size_t kMost = 4'096;
  struct Seen {
    std::int64_t newest = 0;
    double at = 0;
  };
  double even_at_;
  double looked_at_ = 0;  // before the present look; a new row may be as old
  std::int64_t through_ = -1;
  std::deque<Seen> seen_{};
};

}  // namespace railgauge::mirror
