#include "agent/fleet/model/modelled_records.h"

#include <utility>

#include <fmt/format.h>

namespace railgauge::fleet {
namespace {

// Phases of a task on an idle machine, beside the measuring itself.
constexpr double kStartNs = 30e6;
constexpr double kOpenNs = 60e6;
constexpr double kExchangeNs = 10e6;
constexpr double kStopNs = 20e6;

// Numbers records and dates them.
class RecordList {
 public:
  explicit RecordList(const RankForm& form) : form_(form) {}
  Record& add(double after_ns) {
    Record& record = records_.emplace_back();
    *record.mutable_key() = form_.key;
    record.mutable_key()->set_sequence(static_cast<std::uint32_t>(records_.size() - 1));
    record.set_unix_time_seconds(form_.unix_time_seconds + after_ns / kNsPerSecond);
    return record;
  }
  std::vector<Record> take() { return std::move(records_); }

 private:
  const RankForm& form_;
  std::vector<Record> records_;
};

void fill_started(const ModelledTask& task, const ModelledResult& result, const RankForm& form,
                  Started& started) {
  started.set_kernel(task.kernel);
  started.set_revision(form.revision);
  started.set_size(static_cast<std::uint32_t>(task.ranks.size()));
  started.set_endpoint(form.endpoint);
  started.mutable_parameters()->insert(task.parameters.begin(), task.parameters.end());
  started.mutable_facts()->insert(result.facts.begin(), result.facts.end());
}

}  // namespace

std::vector<Record> records_of(const ModelledTask& task, const ModelledResult& result,
                               const RankForm& form) {
  RecordList records(form);
  const std::uint32_t rank = form.key.rank();
  RG_CHECK(rank < task.ranks.size());
  const bool ran = result.outcome != "waived";
  const double before_ns = kStartNs + kOpenNs + kExchangeNs;
  const double after_ns = before_ns + result.measure_ns;
  if (ran) fill_started(task, result, form, *records.add(kStartNs).mutable_started());
  if (rank == 0)
    for (const Point& point : result.points) *records.add(after_ns).mutable_point() = point;
  if (ran && rank < result.counters.size() && !result.counters[rank].empty()) {
    Note& note = *records.add(after_ns).mutable_note();
    note.set_severity("warning");
    note.set_text(fmt::format("{}: port counters grew meanwhile: {}", form.endpoint,
                              counter_words(result.counters[rank])));
  }
  Final& final = *records.add(after_ns + kStopNs).mutable_final();
  final.set_outcome(result.outcome);
  final.set_reason(result.reason);
  Phases& phases = *final.mutable_phases();
  phases.set_start_ns(kStartNs);
  if (ran) {
    phases.set_open_ns(kOpenNs);
    phases.set_exchange_ns(kExchangeNs);
    phases.set_measure_ns(result.measure_ns);
    phases.set_stop_ns(kStopNs);
  }
  return records.take();
}

}  // namespace railgauge::fleet
