#include "controller/store/ingest/parcel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "controller/store/rows/rows.h"
#include "controller/store/rows/text_json.h"
#include "controller/store/sqlite/compress.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/text.h"

namespace railgauge::store {

namespace {

using Fault = std::optional<std::string>;

constexpr std::size_t kMaxWordBytes = 256;
constexpr std::size_t kMaxTextBytes = 64U << 10U;
constexpr int kMaxMapEntries = 1'000;
constexpr std::size_t kMaxNoteBytes = 16U << 10U;
constexpr int kMaxBuckets = 65'536;  // three significant digits over 70 decades have fewer
constexpr int kMaxSamples = 2'000'000;
constexpr std::uint32_t kMaxAttempt = 1'000;
constexpr std::uint32_t kMaxSequence = (1U << kSequenceBits) - 1;
constexpr double kMaxTimeSeconds = 253'402'300'799;  // the end of the year 9999

// A record is sound by itself if its figures are finite, its words known and its texts bounded.
Fault check_key(const RecordKey& key) {
  if (key.run_id().empty() || key.task_id().empty()) return "the key has no run or task";
  if (key.run_id().size() > kMaxWordBytes || key.task_id().size() > kMaxWordBytes)
    return "the key's ids are too long";
  if (key.attempt() == 0 || key.attempt() > kMaxAttempt)
    return fmt::format("attempt {} is not 1 to {}", key.attempt(), kMaxAttempt);
  if (key.sequence() > kMaxSequence) return "the sequence is too large";
  return {};
}

// A word enters messages as it is, so it has no character that steers a terminal.
bool is_word(std::string_view word) {
  if (word.empty() || word.size() > kMaxWordBytes) return false;
  if (std::ranges::all_of(word, [](char c) { return c > ' ' && c < '\x7f'; })) return true;
  return std::ranges::none_of(word, [](char c) { return c >= 0 && c <= ' '; }) &&
         printable(word) == word;
}

Fault check_word(std::string_view what, std::string_view word) {
  return is_word(word) ? Fault() : fmt::format("the {} {} is no word", what, in_quotes(word));
}

Fault check_text(std::string_view what, std::string_view text, std::size_t most = kMaxTextBytes) {
  if (text.size() <= most) return {};
  return fmt::format("the {} has {} bytes; {} are allowed", what, text.size(), most);
}

template <class Map>
Fault check_map(std::string_view what, const Map& map) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : map) bytes += name.size() + value.size();
  if (map.size() <= kMaxMapEntries && bytes <= kMaxTextBytes) return {};
  return fmt::format("the {} have {} entries of {} bytes", what, map.size(), bytes);
}

Fault check_started(const Started& started) {
  if (auto fault = check_word("kernel", started.kernel())) return fault;
  if (auto fault = check_text("endpoint", started.endpoint(), kMaxWordBytes)) return fault;
  if (auto fault = check_map("parameters", started.parameters())) return fault;
  return check_map("facts", started.facts());
}

template <class Figures>
bool all_finite(const Figures& figures) {
  return std::ranges::all_of(figures, [](double figure) { return std::isfinite(figure); });
}

template <class... Figures>
bool are_finite(Figures... figures) {
  return (std::isfinite(figures) && ...);
}

Fault check_figures(const Point& point) {
  if (!are_finite(point.message_bytes(), point.sample_count(), point.median(), point.median_low(),
                  point.median_high(), point.min(), point.max(), point.mean(), point.stddev(),
                  point.p25(), point.p75(), point.p90(), point.p99(), point.p999(),
                  point.lag1_autocorrelation(), point.effective_sample_count(),
                  point.warmup_count(), point.measure_ns(), point.rate(), point.slot_p10(),
                  point.slot_p1(), point.slot_ns(), point.longest_pause_ns(), point.pause_share(),
                  point.p99_low(), point.p99_high(), point.p999_low(), point.p999_high(),
                  point.rate_low(), point.rate_high()))
    return fmt::format("{} has a figure that is not finite", point.metric());
  if (point.message_bytes() < 0) return fmt::format("{} has a negative size", point.metric());
  if (point.sample_count() < 0 || point.effective_sample_count() < 0 || point.warmup_count() < 0 ||
      point.measure_ns() < 0)
    return fmt::format("{} has a negative count or time", point.metric());
  if (point.slot_ns() < 0 || point.longest_pause_ns() < 0)
    return fmt::format("{} has a slot or pause of negative length", point.metric());
  if (point.pause_share() < 0 || point.pause_share() > 1)
    return fmt::format("{} has a share of pauses that is not within 0 to 1", point.metric());
  return {};
}

Fault check_histogram(const Point& point) {
  const Histogram& histogram = point.histogram();
  if (histogram.lower_bound_size() != histogram.count_size() ||
      histogram.count_size() > kMaxBuckets)
    return fmt::format("the histogram has {} bounds and {} counts", histogram.lower_bound_size(),
                       histogram.count_size());
  if (point.samples_size() > kMaxSamples)
    return fmt::format("{} samples; {} are allowed", point.samples_size(), kMaxSamples);
  if (!all_finite(histogram.lower_bound()) || !all_finite(histogram.count()) ||
      !all_finite(point.samples()) ||
      std::ranges::any_of(histogram.count(), [](double count) { return count < 0; }))
    return fmt::format("{} has a bucket or sample that is no figure", point.metric());
  return {};
}

Fault check_point(const Point& point) {
  if (auto fault = check_word("metric", point.metric())) return fault;
  if (!point.meaning().empty())
    if (auto fault = check_word("meaning", point.meaning())) return fault;
  if (!point.pair().empty())
    if (auto fault = check_word("pair", point.pair())) return fault;
  if (!point.unit().empty())
    if (auto fault = check_word("unit", point.unit())) return fault;
  if (auto fault = check_text("stop reason", point.stop_reason(), kMaxWordBytes)) return fault;
  if (auto fault = check_map("facts", point.facts())) return fault;
  if (auto fault = check_histogram(point)) return fault;
  return check_figures(point);
}

bool is_outcome(std::string_view text) {
  constexpr std::array kOutcomes{kPassed, kFailed, kWaived, kCrashed, kTimedOut, kCancelledOutcome};
  return std::ranges::find(kOutcomes, text) != kOutcomes.end();
}

Fault check_final(const Final& final_record) {
  if (!is_outcome(final_record.outcome()))
    return fmt::format("the outcome {} is unknown", in_quotes(final_record.outcome()));
  const Phases& phases = final_record.phases();
  const std::array figures{phases.start_ns(),          phases.open_ns(),
                           phases.wait_ns(),           phases.exchange_ns(),
                           phases.measure_ns(),        phases.stop_ns(),
                           final_record.cpu_seconds(), final_record.max_resident_bytes()};
  if (!all_finite(figures) || std::ranges::any_of(figures, [](double it) { return it < 0; }))
    return "the final record has a time or size that is negative or not finite";
  if (auto fault = check_text("reason", final_record.reason())) return fault;
  return check_text("tail of stderr", final_record.stderr_tail());
}

Fault check_note(const Note& note) {
  if (auto fault = check_text("severity", note.severity(), kMaxWordBytes)) return fault;
  return check_text("note", note.text(), kMaxNoteBytes);
}

}  // namespace

std::optional<std::string> fault_of(const Record& record) {
  if (auto fault = check_key(record.key())) return fault;
  const double time = record.unix_time_seconds();
  if (!std::isfinite(time)) return "the time is not finite";
  if (time < 0 || time > kMaxTimeSeconds) return "the time is not between 1970 and 9999";
  switch (record.body_case()) {
    case Record::kStarted:
      return check_started(record.started());
    case Record::kPoint:
      return check_point(record.point());
    case Record::kNote:
      return check_note(record.note());
    case Record::kFinal:
      return check_final(record.final());
    case Record::BODY_NOT_SET:
      break;
  }
  return "the record has no body that this controller knows";
}

namespace {

void pack_point(const Point& point, ReadyRecord& ready) {
  if (!point.facts().empty())
    ready.point_facts = json_of(TextMap{point.facts().begin(), point.facts().end()});
  if (point.has_histogram()) ready.histogram = compress(point.histogram().SerializeAsString());
  if (point.samples().empty()) return;
  static_assert(std::endian::native == std::endian::little);
  const std::string_view samples(reinterpret_cast<const char*>(point.samples().data()),
                                 static_cast<std::size_t>(point.samples_size()) * sizeof(double));
  ready.samples = compress(samples);
}

// An outcome of the next version is no pass. As a crash it ends its rank, which nothing else would.
void know_outcome(Final& final_record) {
  const std::string& outcome = final_record.outcome();
  if (is_outcome(outcome) || check_word("outcome", outcome)) return;
  final_record.set_reason(fmt::format(
      "its agent reports the outcome {}, which this controller does not know{}{}",
      in_quotes(outcome), final_record.reason().empty() ? "" : ": ", final_record.reason()));
  final_record.set_outcome(std::string(kCrashed));
}

}  // namespace

ReadyRecord make_ready(Record record) {
  ReadyRecord ready{.record = std::move(record)};
  if (ready.record.has_final()) know_outcome(*ready.record.mutable_final());
  ready.fault = fault_of(ready.record);
  if (!ready.fault && ready.record.has_point()) pack_point(ready.record.point(), ready);
  return ready;
}

Parcel pack(std::vector<Record> records) {
  Parcel parcel;
  parcel.records.reserve(records.size());
  for (Record& record : records) {
    const ReadyRecord& ready = parcel.records.emplace_back(make_ready(std::move(record)));
    parcel.bytes += ready.record.ByteSizeLong() + (ready.histogram ? ready.histogram->size() : 0) +
                    (ready.samples ? ready.samples->size() : 0);
  }
  return parcel;
}

}  // namespace railgauge::store
