#include "controller/mirror/pace.h"

#include <algorithm>

namespace railgauge::mirror {

bool Pace::is_due(double now) const { return left(now) <= 0; }

double Pace::left(double now) const {
  if (next_ - now > pause_) return 0;  // the clock was set back
  return std::max(0.0, next_ - now);
}

void Pace::failed(double now) {
  pause_ = pause_ <= 0 ? first_ : std::min(longest_, pause_ * 2);
  next_ = now + pause_;
}

void Pace::worked() {
  pause_ = 0;
  next_ = 0;
  logged_ = 0;
}

bool Pace::may_log(double now) {
  if (logged_ > 0 && now >= logged_ && now < logged_ + log_) return false;
  logged_ = now;
  return true;
}

void LagBook::note(std::int64_t newest, double now) {
  const double since = looked_at_ > 0 ? std::min(looked_at_, now) : now;
  looked_at_ = now;
  if (newest <= through_ || (!seen_.empty() && seen_.back().newest >= newest)) return;
  // Rows of before this process are as old as the last time at which the archive had all.
  const bool is_first = through_ < 0 && seen_.empty();
  seen_.push_back({.newest = newest, .at = is_first && even_at_ > 0 ? even_at_ : since});
  if (seen_.size() <= kMost) return;
  // Each second time goes, with the earlier one of each pair kept: the lag is never understated.
  std::deque<Seen> fewer;
  for (std::size_t i = 0; i + 1 < seen_.size(); i += 2)
    fewer.push_back({.newest = seen_[i + 1].newest, .at = seen_[i].at});
  if (seen_.size() % 2 == 1) fewer.push_back(seen_.back());
  seen_ = std::move(fewer);
}

void LagBook::note_through(std::int64_t through) {
  through_ = std::max(through_, through);
  while (!seen_.empty() && seen_.front().newest <= through_) seen_.pop_front();
}

double LagBook::lag(double now) const {
  return seen_.empty() ? 0 : std::max(0.0, now - seen_.front().at);
}

}  // namespace railgauge::mirror
