#include "controller/detect/series_state.h"

#include <algorithm>

#include "controller/detect/modes.h"

namespace railgauge::analysis {
namespace {

// Runs behind the cut within which a change leaves, too.
constexpr std::size_t kSettled = 12;
// Two drifts that begin within so many runs are one drift.
constexpr std::size_t kSamePlace = 3;

// Steps that only go between levels which come back are one process with two modes, also when the
// window saw but one of them.
void name_returning(std::vector<Change>& changes) {
  std::vector<double> levels;
  std::vector<Change*> steps;
  for (Change& change : changes) {
    if (change.kind != ChangeKind::kStep) continue;
    if (levels.empty()) levels.push_back(change.before);
    levels.push_back(change.after);
    steps.push_back(&change);
  }
  const std::vector<bool> returning = returning_changes(levels);
  for (std::size_t k = 0; k < steps.size(); ++k)
    if (returning[k]) steps[k]->kind = ChangeKind::kModeMix;
}

// Keeps at most `most` elements, the newest at the end.
template <class T>
void keep_newest(std::vector<T>& list, std::size_t most) {
  if (list.size() > most) list.erase(list.begin(), list.end() - static_cast<std::ptrdiff_t>(most));
}

}  // namespace

// Returns the findings in the window, with indices of the whole series, without findings that were
// kept before.
Findings SeriesState::window_findings(const DetectorSettings& settings) const {
  Findings found = detect_changes(values_, settings);
  for (Change& change : found.changes) {
    change.index += offset_;
    change.first += offset_;
    change.last += offset_;
  }
  for (Spike& spike : found.spikes) spike.index += offset_;
  if (found.suspected_since) *found.suspected_since += offset_;
  if (changes_.empty()) return found;
  // A drift that left the window half is reported once.
  const Change& newest = changes_.back();
  std::erase_if(found.changes, [&](const Change& change) {
    const bool goes_on = newest.kind == ChangeKind::kDrift && change.kind == ChangeKind::kDrift &&
                         change.index <= std::max(offset_, newest.last) + kSamePlace;
    return goes_on || change.index <= newest.index;
  });
  return found;
}

// The cut is behind any change that leaves, so that the window begins with a whole level.
void SeriesState::freeze(const DetectorSettings& settings) {
  const Findings found = window_findings(settings);
  std::size_t cut = offset_ + window_.hop;
  for (const Change& change : found.changes) {
    if (change.index >= offset_ + window_.hop + kSettled) break;
    changes_.push_back(change);
    if (change.kind != ChangeKind::kDrift) cut = std::max(cut, change.index);
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
  Findings found = window_findings(settings);
  found.runs += offset_;
  found.too_few = found.too_few && changes_.empty() && offset_ == 0;
  found.changes.insert(found.changes.begin(), changes_.begin(), changes_.end());
  found.spikes.insert(found.spikes.begin(), spikes_.begin(), spikes_.end());
  name_returning(found.changes);
  return found;
}

}  // namespace railgauge::analysis
