// A profile's tasks in a child process, and the report that grows from their records in the parent.
#include "kernels/runner/profile_run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/params.h"
#include "kernels/core/report/report.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"
#include "kernels/runner/agent_task.h"
#include "kernels/runner/child.h"
#include "kernels/runner/standalone.h"
#include "kernels/runner/task/run.h"
#include "kernels/runner/task/watchdog.h"

namespace railgauge {
namespace {

// The first record of each task, so that a task that dies in its first step is known by name.
constexpr std::string_view kBegin = "begin";

// The place as a task id, so that each record names its task.
std::string text_of(const ProfilePlace& place) {
  return fmt::format("{}.{}.{}", place.visit, place.row, place.gpu);
}

// Absent for an id of another form: the record of the child's end has none.
std::optional<ProfilePlace> place_of(const std::string& text) {
  ProfilePlace place;
  const auto parts = split(text, '.');
  const std::array numbers{&place.visit, &place.row, &place.gpu};
  if (parts.size() != numbers.size()) return std::nullopt;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto parsed = parse_integer(parts[i]);
    if (!parsed || *parsed < 0 || *parsed > UINT32_MAX) return std::nullopt;
    *numbers[i] = static_cast<std::uint32_t>(*parsed);
  }
  return place;
}

// Passes records on, and remembers whether a point of the task was noisy and whether the task
// passed.
class NoiseWatch final : public RecordSink {
 public:
  explicit NoiseWatch(RecordSink& sink) : sink_(sink) {}
  Status write(const Record& record) override {
    wide_ = wide_ || (record.has_point() && is_wide(record.point()));
    passed_ = record.has_final() && record.final().outcome() == kPassed;
    return sink_.write(record);
  }
  // Whether the task passed.
  [[nodiscard]] bool passed() const { return passed_; }
  // It passed, and a point of it is wide.
  [[nodiscard]] bool noisy() const { return passed_ && wide_; }

 private:
  RecordSink& sink_;
  bool wide_ = false;
  bool passed_ = false;
};

// --- in the child: the tasks, one after the other
// -------------------------------------------------

// The child's side: runs the tasks behind a place, one after another.
class Tasks {
 public:
  Tasks(const ProfileOptions& options, const ProfileHost& host, RecordSink& sink)
      : options_(options), host_(host), sink_(sink) {}

  // Runs the tasks behind `done`, which is a first visit.
  int run(const std::optional<ProfilePlace>& done) {
    become_task_process();
    // If it fails, each kernel reports the reason.
    const auto gpus = host_.count_gpus();
    const std::shared_ptr<void> warm = gpus ? host_.keep_warm() : nullptr;
    const double begin_ns = monotonic_now_ns();
    const auto tasks = profile_tasks(options_, host_.find, gpus.value_or(0));
    std::vector<ProfileTask> noisy;
    std::vector<Visited> visited;
    std::size_t passed = 0;
    for (const ProfileTask& task : tasks) {
      if (done && !(*done < task.at)) continue;
      const Ran ran = run_one(task);
      if (ran.passed) ++passed;
      if (!ran.noisy) continue;
      noisy.push_back(task);
      visited.push_back({.visits = 1, .longest_seconds = ran.seconds});
    }
    if (visits_again(options_))
      visit_again(noisy, visited, begin_ns + list_seconds(passed, gpus.value_or(0)) * 1e9);
    return kExitPassed;
  }

 private:
  // One task's end: whether it passed, was noisy, and how long it took.
  struct Ran {
    bool passed;
    bool noisy;
    double seconds;
  };

  void visit_again(std::vector<ProfileTask>& noisy, std::vector<Visited>& visited,
                   double until_monotonic_ns) {
    const auto left_seconds = [&] { return (until_monotonic_ns - monotonic_now_ns()) / 1e9; };
    while (const auto next = next_visit(visited, left_seconds())) {
      Visited& of = visited[*next];
      noisy[*next].at.visit = of.visits++;
      of.longest_seconds = std::max(of.longest_seconds, run_one(noisy[*next]).seconds);
    }
  }

  Ran run_one(const ProfileTask& task) {
    RecordKey key;
    key.set_task_id(text_of(task.at));
    NoiseWatch watch(sink_);
    RecordWriter records(watch, key);
    records.note(kBegin, task.endpoint);
    const double begin_ns = monotonic_now_ns();
    const double deadline_ns = begin_ns + options_.deadline_seconds * 1e9;
    watchdog_.guard(records, deadline_ns);
    finish_task(measure(task, deadline_ns, records), records);
    watchdog_.release();
    return {watch.passed(), watch.noisy(), (monotonic_now_ns() - begin_ns) / 1e9};
  }

  // Measures one task. kUnimplemented: this build lacks the kernel.
  Status measure(const ProfileTask& task, double deadline_ns, RecordWriter& records) {
    const KernelRow* row = host_.find(task.row->kernel);
    if (row == nullptr)
      return fail(Code::kUnimplemented, "this build has no kernel {}", task.row->kernel);
    const Task one{.row = *row,
                   .params = RG_TRY(Params::parse(row->info(), task.parameters)),
                   .endpoint = task.endpoint,
                   .deadline_monotonic_ns = deadline_ns,
                   .raw_samples = false,
                   .entered_monotonic_ns = monotonic_now_ns()};
    SoloGroup group;
    return run_kernel(one, group, records, [](const Status&) -> Status { return {}; });
  }

  const ProfileOptions& options_;
  const ProfileHost& host_;
  RecordSink& sink_;
  Watchdog watchdog_;
};

// --- in the parent: what the records say
// ----------------------------------------------------------

// The parent's side. Survives the child, so that a crash costs one task.
class Gatherer {
 public:
  Gatherer(const ProfileOptions& options, const std::function<void(const ProfileTest&)>& on_test)
      : rows_(profile_rows(options)), visits_again_(visits_again(options)), on_test_(on_test) {
    report_.set_profile(options.name);
  }

  // The task that began last.
  [[nodiscard]] const std::optional<ProfilePlace>& last() const { return last_; }
  // The end of the last child, if it died before a task's final record.
  [[nodiscard]] const Final& child_end() const { return child_end_; }

  // A begin record opens a report; later records of the task go into it.
  void take(const Record& record) {
    const auto place = place_of(record.key().task_id());
    if (place && record.has_note() && record.note().severity() == kBegin)
      return begin(*place, record.note().text());
    // A record behind a task's final one belongs to no task.
    const bool open = !reports_.empty() && reports_.back().outcome().empty();
    // The task under way, of whichever visit.
    if (open) add_record(record, reports_.back());
    if (!place && record.has_final()) child_end_ = record.final();
  }

  // Completes the report. Rows that never began get the outcome and the reason of `end`.
  ProfileEnd finish(const Final& end, int exit_code) {
    std::uint32_t next = 0;
    if (last_) {
      end_of_last();
      next = last_->visit == 0 ? last_->row + 1 : static_cast<std::uint32_t>(rows_.size());
    }
    for (; next < rows_.size(); ++next) {
      begin_row(next);
      reports_.push_back(new_report(next, ""));
      reports_.back().set_outcome(end.outcome());
      reports_.back().set_reason(end.reason());
      end_row(next);
    }
    for (const int test : held_) on_test_(report_.tests(test));
    report_.set_outcome(std::string(combined_outcome(all_outcomes_)));
    report_.set_duration_seconds((monotonic_now_ns() - begin_ns_) / 1e9);
    std::vector<int> codes;
    if (exit_code == kExitInterrupted || exit_code == kExitTerminated) codes.push_back(exit_code);
    for (const std::string& outcome : all_outcomes_) codes.push_back(exit_code_of(outcome));
    return {.report = std::move(report_), .exit_code = combine_exit_codes(codes)};
  }

 private:
  // An empty report of the task that begins now.
  [[nodiscard]] RunnerReport new_report(std::uint32_t row, const std::string& endpoint) const {
    auto report = begin_report<RunnerReport>();
    report.set_kernel(std::string(rows_[row]->kernel));
    report.mutable_started()->set_endpoint(endpoint);
    return report;
  }

  // The rows of one test follow each other.
  [[nodiscard]] bool is_first_of_test(std::uint32_t row) const {
    return row == 0 || rows_[row]->test != rows_[row - 1]->test;
  }

  // Ends the current task, then opens the next report.
  void begin(const ProfilePlace& place, const std::string& endpoint) {
    const bool same_row = last_ && last_->row == place.row && last_->visit == place.visit;
    if (same_row && place.visit == 0) end_report();
    if (last_ && (!same_row || place.visit > 0)) end_of_last();
    if (!same_row && place.visit == 0) begin_row(place.row);
    last_ = place;
    task_ns_ = monotonic_now_ns();
    reports_.push_back(new_report(place.row, endpoint));
  }

  // Opens the test with its first row.
  void begin_row(std::uint32_t row) {
    if (!is_first_of_test(row)) return;
    test_ = ProfileTest{};
    test_.set_test(std::string(rows_[row]->test));
    test_ns_ = monotonic_now_ns();
    outcomes_.clear();
  }

  // Ends the row that is under way, or the further visit.
  void end_of_last() {
    if (last_->visit == 0)
      end_row(last_->row);
    else
      end_visit(last_->row);
  }

  // The duration of the task that ended.
  void end_report() {
    if (!reports_.empty())
      reports_.back().set_duration_seconds((monotonic_now_ns() - task_ns_) / 1e9);
  }

  // Makes the row's matrix; with its last row the test is complete.
  void end_row(std::uint32_t row) {
    end_report();
    for (const RunnerReport& report : reports_) {
      outcomes_.push_back(report.outcome());
      if (report.outcome() != kPassed && test_.reason().empty()) test_.set_reason(report.reason());
    }
    *test_.add_figures() = figure_of(*rows_[row], reports_);
    figures_[row] = {report_.tests_size(), test_.figures_size() - 1};
    reports_.clear();
    if (row + 1 < rows_.size() && !is_first_of_test(row + 1)) return;
    test_.set_outcome(std::string(combined_outcome(outcomes_)));
    test_.set_duration_seconds((monotonic_now_ns() - test_ns_) / 1e9);
    all_outcomes_.insert(all_outcomes_.end(), outcomes_.begin(), outcomes_.end());
    // Noisy tests are printed when no further visit can change them.
    if (visits_again_ && is_noisy(test_))
      held_.push_back(report_.tests_size());
    else
      on_test_(test_);
    *report_.add_tests() = std::move(test_);
  }

  // Any cell whose interval is wider than asked.
  static bool is_noisy(const ProfileTest& test) {
    return std::ranges::any_of(test.figures(), [](const ProfileFigure& figure) {
      return std::ranges::any_of(figure.cells(), &ProfileCell::wide);
    });
  }

  // Adds a further visit's report to its row and makes the matrix anew.
  void end_visit(std::uint32_t row) {
    end_report();
    const auto [at, figure_at] = figures_.at(row);
    ProfileTest& test = *report_.mutable_tests(at);
    ProfileFigure& figure = *test.mutable_figures(figure_at);
    std::vector<RunnerReport> reports(figure.reports().begin(), figure.reports().end());
    const RunnerReport& again = reports_.back();
    if (again.outcome() != kPassed && test.reason().empty()) test.set_reason(again.reason());
    test.set_outcome(std::string(combined_outcome(std::vector{test.outcome(), again.outcome()})));
    test.set_duration_seconds(test.duration_seconds() + again.duration_seconds());
    all_outcomes_.push_back(again.outcome());
    reports.push_back(again);
    figure = figure_of(*rows_[row], reports);
    reports_.clear();
  }

  const std::vector<const PeerTest*> rows_;
  const bool visits_again_;
  const std::function<void(const ProfileTest&)>& on_test_;
  const double begin_ns_ = monotonic_now_ns();
  ProfileReport report_ = begin_report<ProfileReport>();
  // Under way.
  ProfileTest test_;
  std::vector<std::string> outcomes_;  // of its tasks
  std::vector<std::string> all_outcomes_;
  std::vector<RunnerReport> reports_;  // of the row under way, one a task; of a visit that one
  std::map<std::uint32_t, std::pair<int, int>> figures_;  // of a row: its test and its place there
  // Tests that may be visited again, reported when all tasks have ended.
  std::vector<int> held_;
  std::optional<ProfilePlace> last_;
  Final child_end_;
  double test_ns_ = 0;
  double task_ns_ = 0;
};

}  // namespace

// Starts a new child as long as each one completes at least one further task.
ProfileEnd run_profile(const ProfileOptions& options, const ProfileHost& host,
                       const std::function<void(const ProfileTest&)>& on_test) {
  Gatherer gatherer(options, on_test);
  for (;;) {
    // A new child continues behind the task at which the last one died.
    const std::optional<ProfilePlace> done = gatherer.last();
    const ChildEnd end =
        run_in_child([&](RecordSink& sink) { return Tasks(options, host, sink).run(done); },
                     [&](const Record& record) { gatherer.take(record); });
    Final rest;  // of what did not begin
    if (end.exit_code == kExitPassed) return gatherer.finish(rest, end.exit_code);
    if (end.ending_signal != 0) {
      rest.set_outcome(std::string(kCancelledOutcome));
      rest.set_reason("not begun: a signal ended the run");
      return gatherer.finish(rest, end.exit_code);
    }
    const bool visited = gatherer.last() && gatherer.last()->visit > 0;
    // No progress, or a further visit that died: another child would die in the same task.
    if (visited || gatherer.last() == done)
      return gatherer.finish(gatherer.child_end(), end.exit_code);
  }
}

}  // namespace railgauge
