// upgrades and its verbs
#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "controller/api/states.h"
#include "controller/cli/input/inputs.h"
#include "controller/cli/input/session.h"
#include "controller/cli/live/follow.h"
#include "controller/cli/render/table.h"
#include "controller/cli/report/judged_text.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/fold.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

constexpr double kStartSeconds = 60;  // planning a large run takes a while
constexpr double kJudgeSeconds = 120;
constexpr double kLongestGateSeconds = 24 * 3600;
constexpr int kMostExtensions = 4;
constexpr double kPatienceSeconds = 60;  // for nodes that are away between two runs
constexpr double kLookAgainSeconds = 1;

// A set of nodes: "gpu[401-416]".
std::string folded(const google::protobuf::RepeatedPtrField<std::string>& names) {
  return fold_names(std::vector<std::string>(names.begin(), names.end()));
}

// The page in a table, the whole message in the machine formats. Returns `code` unchanged.
int print_upgrade(const Output& output, const Upgrade& upgrade, int code) {
  print_page(output, upgrade, upgrade_text(upgrade, output.colour));
  return code;
}

// The time that a gate may take in all: waits, runs and verdicts.
class GateLimit {
 public:
  // `is_stored`: the controller ends at it what this process does not.
  explicit GateLimit(double seconds, bool is_stored = false)
      : end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))),
        is_stored_(is_stored) {}

  [[nodiscard]] bool is_stored() const { return is_stored_; }

  // 0 once it is over.
  [[nodiscard]] double seconds_left() const {
    return std::max(std::chrono::duration<double>(end_ - Clock::now()).count(), 0.0);
  }

 private:
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end_;
  const bool is_stored_;
};

// Until the run has ended. Errors: kCancelled, kDeadlineExceeded: it continues.
Result<RunSummary> wait_for(Session& session, const std::string& run_id, double seconds) {
  Followed followed = RG_TRY(follow_run(session, run_id, seconds, 0));
  if (followed.end == FollowEnd::kRunEnded) return std::move(followed.run);
  const bool is_late = followed.end == FollowEnd::kTimeUp;
  return fail(is_late ? Code::kDeadlineExceeded : Code::kCancelled,
              fmt::format("{}; run {} continues; cancel it with: {}",
                          is_late ? "the time is over" : "stopped waiting", run_id,
                          cancel_command(session, run_id)));
}

// "driver=580.95", several by commas.
Status read_expect(const Arguments& arguments, GateRequest& request) {
  const std::string text = arguments.value("expect");
  if (arguments.has("expect") && text.empty())  // a script's variable that nobody set
    return fail(Code::kInvalidArgument, "--expect: it is empty; give PART=VERSION");
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    const std::size_t equal = word.find('=');
    if (equal == std::string::npos || equal == 0 || equal + 1 == word.size())
      return fail(Code::kInvalidArgument,
                  fmt::format("--expect: {} is no PART=VERSION, for example gpu_driver=580.95",
                              in_quotes(word)));
    (*request.mutable_expect())[word.substr(0, equal)] = word.substr(equal + 1);
    begin = end + 1;
  }
  return {};
}

// The wait for the first step of a gate. Two things are waited for: the nodes with their new stack,
// as long as --wait-nodes, and the controller's turn, as long as all of the gate. Only the time in
// which the nodes are not ready counts for the nodes.
class BeginWait {
 public:
  BeginWait(const Session& session, double nodes_seconds, const GateLimit& limit)
      : nodes_left_(nodes_seconds), away_left_(session.reconnect_seconds), limit_(limit) {}

  // Takes an answer that is no begin. Returns whether there is time for another question.
  bool goes_on(const Result<GateStep>& step) {
    if (limit_.seconds_left() <= kLookAgainSeconds) return false;
    const bool is_away = !step && step.error().code == Code::kUnavailable;
    has_answered_ = has_answered_ || !is_away;
    if (step && !step->has_upgrade_id()) return spend(nodes_left_);
    // At first the address may be wrong; later the controller is about to return.
    if (is_away) return spend(has_answered_ ? away_left_ : nodes_left_);
    return step.has_value() || step.error().code == Code::kResourceExhausted;
  }

 private:
  // Nothing is left where the next question would come too late.
  static bool spend(double& left) {
    left -= kLookAgainSeconds;
    return left >= 0;
  }
  double nodes_left_;
  double away_left_;
  bool has_answered_ = false;
  const GateLimit& limit_;
};

void look_later() { std::this_thread::sleep_for(std::chrono::duration<double>(kLookAgainSeconds)); }

// Asks until the nodes are ready and the controller has begun. Errors: kFailedPrecondition: they
// were not.
Result<GateStep> begin(Session& session, GateRequest request, double nodes_seconds,
                       const GateLimit& limit) {
  BeginWait wait(session, nodes_seconds, limit);
  std::string told;
  while (true) {
    if (limit.is_stored()) request.set_time_limit_seconds(limit.seconds_left());
    auto step = call_within(session, rpc::kGateUpgrade, request, kStartSeconds);
    if (step && step->state() != text_of(GateState::kWaiting)) return step;
    const bool goes_on = wait.goes_on(step);
    if (!step && !goes_on) return step;
    const std::string reason = step ? step->reason() : step.error().message;
    if (!goes_on) return fail(Code::kFailedPrecondition, fmt::format("upgrades gate: {}", reason));
    if (told != reason) print_notice(session.output, "waiting: " + reason);
    told = reason;
    if (session.interrupts.any()) return fail(Code::kCancelled, "interrupted");
    look_later();
  }
}

// Makes a call that may be repeated. A controller that went away is waited for as in a run.
template <class Request, class Answer>
Result<Answer> call_patiently(Session& session, const Rpc<Request, Answer>& rpc,
                              const Request& request) {
  for (double left = session.reconnect_seconds; true; left -= kLookAgainSeconds) {
    auto answer = call_within(session, rpc, request, kJudgeSeconds);
    if (answer || answer.error().code != Code::kUnavailable || left <= 0) return answer;
    if (session.interrupts.any()) return fail(Code::kCancelled, "interrupted");
    look_later();
  }
}

// Waits for the run of this step. The controller ends a run that is late.
Status wait_for_step(Session& session, const GateStep& step, const GateLimit& limit) {
  const auto run = wait_for(session, step.run_id(), limit.seconds_left());
  if (run) return {};
  if (!limit.is_stored() || run.error().code != Code::kDeadlineExceeded)
    return tl::unexpected(run.error());
  return fail(Code::kDeadlineExceeded,
              fmt::format("the time is over; the controller cancels run {} and judges what it "
                          "measured: railgauge upgrades show {} --exit-code --wait 5min",
                          step.run_id(), step.upgrade_id()));
}

// Waits for the run of this step where there is one, then asks for the verdict over all runs so
// far, by the terms that are stored with them.
Result<Upgrade> measure_and_judge(Session& session, const GateStep& step, const GateLimit& limit) {
  if (step.state() == text_of(GateState::kMeasuring))
    RG_TRY_OK(wait_for_step(session, step, limit));
  if (step.state() == text_of(GateState::kMeasured))
    print_fault(session.output, "nothing can be measured: " + step.reason());
  return call_patiently(session, rpc::kJudgeUpgrade, request_for<UpgradeRef>(step.upgrade_id()));
}

// "95 %" or "0.95"; nothing without the flag.
Status read_coverage(const Arguments& arguments, GateRequest& request) {
  if (!arguments.has("min-coverage")) return {};
  std::string text = arguments.value("min-coverage");
  const bool is_percent = text.ends_with('%');
  if (is_percent) text.pop_back();
  const auto number = parse_number(text);
  const double share = number.value_or(0) / (is_percent ? 100 : 1);
  request.set_min_coverage(share);
  if (share > 0 && share <= 1) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("--min-coverage: {} is no share, for example 95% or 0.95",
                          in_quotes(arguments.value("min-coverage"))));
}

// Reports whether measuring once more can settle anything: more runs, or what was not measured.
bool may_settle(const Upgrade& upgrade, int extensions) {
  for (const JudgedMetric& metric : upgrade.metrics()) {
    if (metric.verdict() != "inconclusive") continue;
    if (metric.more_runs() > 0) return true;
    if (extensions == 0 && metric.missing_size() > 0) return true;
  }
  return false;
}

// Measures on while that may settle it. A failure then leaves the verdict as it was reached.
Result<Upgrade> extended(Session& session, GateRequest request, Upgrade upgrade,
                         const GateLimit& limit) {
  for (int more = 0; more < kMostExtensions && upgrade.verdict() == "inconclusive"; ++more) {
    if (!may_settle(upgrade, more)) {
      print_notice(session.output, fmt::format("inconclusive: {}", upgrade.reason()));
      break;
    }
    if (limit.seconds_left() <= 0) {
      print_notice(session.output, "not measured once more: the time of --time-limit is over");
      break;
    }
    print_notice(session.output,
                 fmt::format("inconclusive: {}; measuring once more", upgrade.reason()));
    request.set_continue_upgrade_id(upgrade.upgrade_id());
    const auto step = begin(session, request, kPatienceSeconds, limit);
    auto judged = step ? measure_and_judge(session, *step, limit)
                       : Result<Upgrade>(tl::unexpected(step.error()));
    if (!judged && judged.error().code == Code::kCancelled) return judged;
    if (!judged) {
      print_notice(session.output, "not measured once more: " + judged.error().message);
      break;
    }
    upgrade = std::move(*judged);
  }
  return upgrade;
}

// Reports whether an inconclusive verdict is measured again: --on-inconclusive.
Result<bool> extends(const Arguments& arguments) {
  const std::string word =
      arguments.has("on-inconclusive") ? arguments.value("on-inconclusive") : "extend";
  if (word == "extend" || word == "fail") return word == "extend";
  return fail(Code::kInvalidArgument,
              fmt::format("--on-inconclusive: {} is neither extend nor fail", in_quotes(word)));
}

}  // namespace

// Starts the run of the before side, waits for it and shows the upgrade.
Result<int> prepare_upgrade(Session& session, const Arguments& arguments) {
  PrepareRequest request;
  request.set_node_set(RG_TRY(node_set_of(arguments)));
  request.set_control_set(arguments.value("controls"));
  request.set_suite(arguments.value("suite"));
  const double seconds = RG_TRY(seconds_of(arguments, "wait", kLongestGateSeconds));
  const Upgrade started =
      RG_TRY(call_within(session, rpc::kPrepareUpgrade, request, kStartSeconds));
  print_notice(session.output,
               fmt::format("upgrade {}: run {} measures {} nodes and {} controls, about {:.0f} s; "
                           "the gate will take as long",
                           started.upgrade_id(), started.run_id(), started.nodes_size(),
                           started.controls_size(), started.expected_seconds()));
  const RunSummary run = RG_TRY(wait_for(session, started.run_id(), seconds));
  const auto ref = request_for<UpgradeRef>(started.upgrade_id());
  Upgrade prepared = RG_TRY(call_patiently(session, rpc::kGetUpgrade, ref));
  prepared.set_expected_seconds(started.expected_seconds());
  for (const std::string& note : started.notes()) prepared.add_notes(note);
  if (run.outcome() != kPassed && run.outcome() != kWaived)
    print_notice(session.output, fmt::format("run {} ended {}: what did not pass is no before side",
                                             run.run_id(), run.outcome()));
  return print_upgrade(session.output, prepared, exit_code_of(run.outcome()));
}

namespace {

// Measures, judges, and measures again while that may settle it. Checks all flags first: a gate may
// run for hours.
Result<int> gate(Session& session, const Arguments& arguments, GateRequest request) {
  const bool extend = RG_TRY(extends(arguments));
  const double wait_seconds = RG_TRY(seconds_of(arguments, "wait-nodes", 0));
  const GateLimit limit(RG_TRY(seconds_of(arguments, "time-limit", kLongestGateSeconds)),
                        arguments.has("time-limit"));
  RG_TRY_OK(read_coverage(arguments, request));
  const GateStep step = RG_TRY(begin(session, request, wait_seconds, limit));
  Upgrade upgrade = RG_TRY(measure_and_judge(session, step, limit));
  if (extend) upgrade = RG_TRY(extended(session, request, std::move(upgrade), limit));
  return print_upgrade(session.output, upgrade, exit_code_of_verdict(upgrade));
}

}  // namespace

// The nodes may have been measured by nights; prepare is not needed then.
Result<int> gate_upgrade(Session& session, const Arguments& arguments) {
  GateRequest request;
  request.set_node_set(RG_TRY(node_set_of(arguments)));
  request.set_suite(arguments.value("suite"));
  request.set_control_set(arguments.value("controls"));
  RG_TRY_OK(read_expect(arguments, request));
  return gate(session, arguments, request);
}

// The upgrade knows its nodes, its controls and its suite.
Result<int> extend_upgrade(Session& session, const Arguments& arguments) {
  GateRequest request;
  request.set_continue_upgrade_id(arguments.operand(0));
  return gate(session, arguments, request);
}

// In the table proposals come first: they wait for somebody. They have no id.
Result<int> list_upgrades(Session& session, const Arguments&) {
  const UpgradeList list = RG_TRY(call(session, rpc::kListUpgrades, ListUpgradesRequest()));
  auto shown = list.upgrades();
  std::stable_partition(shown.begin(), shown.end(),
                        [](const Upgrade& upgrade) { return upgrade.upgrade_id().empty(); });
  const Rows rows = rows_of(shown, [](const Upgrade& upgrade) {
    return Row({upgrade.upgrade_id(), upgrade.has_verdict() ? upgrade.verdict() : upgrade.state(),
                upgrade.kind(), folded(upgrade.nodes()), upgrade.created_at(),
                upgrade.requested_by(), upgrade.reason()});
  });
  return print_list(session.output, list, "upgrades", "UPGRADE|VERDICT|KIND|NODES|CREATED|BY|WHY",
                    rows,
                    "no upgrade yet; railgauge upgrades prepare --nodes SET measures the before "
                    "side of one");
}

namespace {

// The upgrade once it is judged, or as it is when the time is over. An id of "" is the newest
// upgrade at the first answer.
Result<Upgrade> judged_upgrade(Session& session, const std::string& id, double seconds) {
  const GateLimit limit(seconds);
  auto ref = request_for<UpgradeRef>(id);
  std::string told;
  while (true) {
    Upgrade upgrade = RG_TRY(call_patiently(session, rpc::kGetUpgrade, ref));
    if (upgrade.has_verdict() || limit.seconds_left() <= kLookAgainSeconds) return upgrade;
    if (session.interrupts.any()) return fail(Code::kCancelled, "interrupted");
    ref.set_upgrade_id(upgrade.upgrade_id());
    if (told != upgrade.state())
      print_notice(session.output,
                   fmt::format("waiting: upgrade {} is {}", upgrade.upgrade_id(), upgrade.state()));
    told = upgrade.state();
    look_later();
  }
}

}  // namespace

// 0 unless --exit-code asks for the code that the gate would end with.
Result<int> show_upgrade(Session& session, const Arguments& arguments) {
  const double seconds = RG_TRY(seconds_of(arguments, "wait", 0));
  const Upgrade upgrade = RG_TRY(judged_upgrade(session, arguments.operand(0), seconds));
  if (!arguments.has("exit-code")) return print_upgrade(session.output, upgrade, kExitPassed);
  if (!upgrade.has_verdict())
    print_fault(session.output, fmt::format("upgrade {} is {}: it has no verdict yet; --wait "
                                            "DURATION waits for it",
                                            upgrade.upgrade_id(), upgrade.state()));
  return print_upgrade(session.output, upgrade, exit_code_of_verdict(upgrade));
}

}  // namespace railgauge::cli
