#include "controller/detect/series_state.h"

#include <algorithm>
#include <cmath>

#include "controller/detect/fit.h"
#include "controller/detect/modes.h"

namespace railgauge::analysis {
namespace {

// Runs behind the cut within which a change leaves, too.
constexpr std::size_t kSettled = 12;
// Share by which two figures of one effect differ at most.
constexpr double kSameEffect = 0.01;
// Reports whether the change goes from one level to another; a change of the modes' shares of runs
// has both modes and a smaller effect.
bool is_between_levels(const Change& change, bool relative) {
  const double effect = relative ? change.after / change.before - 1 : change.after - change.before;
  return change.kind == ChangeKind::kStep ||
         (change.kind == ChangeKind::kModeMix &&
          std::abs(effect - change.effect) <= kSameEffect * std::abs(effect));
}

// Steps that only go between levels which come back are one process with two modes, also when the
// window saw but one of them.
void name_returning(std::vector<Change>& changes, bool relative) {
  std::vector<double> levels;
  std::vector<Change*> steps;
  for (Change& change : changes) {
    if (!is_between_levels(change, relative)) continue;
    if (levels.empty()) levels.push_back(change.before);
    levels.push_back(change.after);
    steps.push_back(&change);
  }
  const std::vector<bool> returning = returning_changes(levels);
  for (std::size_t k = 0; k < steps.size(); ++k)
    if (returning[k]) steps[k]->kind = ChangeKind::kModeMix;
}

// A drift that left the window half is one drift, also where it rested for less than a drift's
// length.
bool is_same_drift(const Change& kept, const Change& change) {
  return change.kind == ChangeKind::kDrift && (kept.effect > 0) == (change.effect > 0) &&
         change.index < kept.last + kLeastDrift;
}

// Moves the end of a drift to that of its later part. `steps` are those of the series: the level
// after a drift does not count the steps inside of it.
void extend(Change& drift, const Change& later, std::span<const Change> steps, bool relative) {
  if (later.last <= drift.last) return;
  double after = later.after;
  for (const Change& step : steps) {
    if (step.kind != ChangeKind::kStep || step.index <= drift.index || step.index > later.index)
      continue;
    if (relative)
      after /= 1 + step.effect;
    else
      after -= step.effect;
  }
  const double effect = relative ? after / drift.before - 1 : after - drift.before;
  drift.effect_low = effect - (later.effect - later.effect_low);
  drift.effect_high = effect + (later.effect_high - later.effect);
  drift.effect = effect;
  drift.after = after;
  drift.last = later.last;
}

// Where the later drift begins before the end that an older window saw, the older drift ends there.
void part_drifts(Change& drift, Change& later) {
  if (later.index >= drift.last) return;
  if (later.index >= drift.index + kLeastDrift)
    drift.last = later.index;
  else
    later.index = later.first = std::min(drift.last, later.last);
}

// Drops steps which a window that saw more of the drift took for the drift, where this window sees
// too little of it for a drift.
void drop_seen(const Change& drift, std::vector<Change>& found) {
  if (std::ranges::count(found, ChangeKind::kDrift, &Change::kind) > 0) return;
  std::erase_if(found, [&](const Change& change) {
    return change.kind == ChangeKind::kStep && (change.effect > 0) == (drift.effect > 0) &&
           change.index + kSettled <= drift.last;
  });
}

// Drops what was found again of the kept change `newest`. A drift begins behind it.
void part_from(const Change& newest, std::vector<Change>& found) {
  const std::size_t least = newest.index + kLeastPiece;
  std::erase_if(found, [&](const Change& change) {
    return change.kind == ChangeKind::kDrift ? change.last < least : change.index < least;
  });
  for (Change& change : found)
    if (change.kind == ChangeKind::kDrift && change.index < least)
      change.index = change.first = least;
}

// Keeps at most `most` elements, the newest at the end.
template <class T>
void keep_newest(std::vector<T>& list, std::size_t most) {
  if (list.size() > most) list.erase(list.begin(), list.end() - static_cast<std::ptrdiff_t>(most));
}

}  // namespace

Findings SeriesState::window_findings(const DetectorSettings& settings,
                                      std::vector<Change>& kept) const {
  Findings found = detect_changes(values_, settings);
  for (Change& change : found.changes) {
    change.index += offset_;
    change.first += offset_;
    change.last += offset_;
  }
  for (Spike& spike : found.spikes) spike.index += offset_;
  if (found.suspected_since) *found.suspected_since += offset_;
  const auto drift = std::find_if(kept.rbegin(), kept.rend(), [](const Change& change) {
    return change.kind == ChangeKind::kDrift;
  });
  if (drift != kept.rend()) {
    drop_seen(*drift, found.changes);
    std::erase_if(found.changes, [&](const Change& change) {
      if (!is_same_drift(*drift, change)) return false;
      extend(*drift, change, kept, found.relative);
      return true;
    });
    for (Change& change : found.changes)
      if (change.kind == ChangeKind::kDrift) part_drifts(*drift, change);
  }
  if (!kept.empty()) part_from(kept.back(), found.changes);
  return found;
}

// The cut is behind any change that leaves, so that the window begins with a whole level.
void SeriesState::freeze(const DetectorSettings& settings) {
  const Findings found = window_findings(settings, changes_);
  std::size_t cut = offset_ + window_.hop;
  for (const Change& change : found.changes) {
    if (change.index >= offset_ + window_.hop + kSettled) break;
    changes_.push_back(change);
    // A step may take some runs.
    if (change.kind != ChangeKind::kDrift)
      cut = std::max(cut, std::min(change.last, change.index + kLeastDrift));
  }
  for (const Spike& spike : found.spikes)
    if (spike.index < cut) spikes_.push_back(spike);
  keep_newest(changes_, window_.most);
  keep_newest(spikes_, window_.most);
  values_.erase(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(cut - offset_));
  offset_ = cut;
}

void SeriesState::append(double value, const DetectorSettings& settings) {
  values_.push_back(value);
  if (values_.size() >= window_.window) freeze(settings);
}

// The window freezes after the same runs as with append(), so that both give the same findings.
void SeriesState::append_all(std::span<const double> values, const DetectorSettings& settings) {
  while (!values.empty()) {
    const std::size_t room = window_.window - values_.size();
    const std::size_t taken = std::min(room, values.size());
    values_.insert(values_.end(), values.begin(),
                   values.begin() + static_cast<std::ptrdiff_t>(taken));
    values = values.subspan(taken);
    if (values_.size() >= window_.window) freeze(settings);
  }
}

Findings SeriesState::findings(const DetectorSettings& settings) const {
  std::vector<Change> kept = changes_;
  Findings found = window_findings(settings, kept);
  found.runs += offset_;
  found.too_few = found.too_few && kept.empty() && offset_ == 0;
  found.changes.insert(found.changes.begin(), kept.begin(), kept.end());
  found.spikes.insert(found.spikes.begin(), spikes_.begin(), spikes_.end());
  name_returning(found.changes, found.relative);
  return found;
}

}  // namespace railgauge::analysis
