// clock: shows the simulated clock of a controller on this host, or moves it. The controller is not
// asked; it reads the wish from the clock's file.
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "controller/cli/input/inputs.h"
#include "controller/cli/input/session.h"
#include "controller/cli/render/output.h"
#include "controller/cli/report/plan_report.h"
#include "controller/cli/verbs/commands.h"
#include "controller/clock/clock_page.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/json.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge::cli {
namespace {

constexpr double kLongestWaitSeconds = 24 * 3600;
constexpr double kDaySeconds = 24 * 3600;
constexpr auto kLook = std::chrono::milliseconds(5);

// "2026-01-12", or "7d" from the clock's own time.
Result<double> time_to_reach(const std::string& word, double now) {
  if (const auto date = parse_calendar(word)) return *date;
  if (word.ends_with('d'))
    if (const auto days = parse_number(word.substr(0, word.size() - 1)); days && *days > 0)
      return now + *days * kDaySeconds;
  if (const auto ns = parse_duration_ns(word); ns && *ns > 0) return now + *ns / 1e9;
  return fail(Code::kInvalidArgument,
              fmt::format("{}: a time is needed, such as 2026-01-12, or 7d from the clock's own",
                          in_quotes(word)));
}

// Until the clock is there and all that was due has ended. Ctrl-C stops the clock where it is.
Status move(Session& session, ClockPage& clock, double until, double seconds) {
  clock.want(until);
  const auto begin = std::chrono::steady_clock::now();
  const auto waited = [begin] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  while (clock.now() < until || !clock.is_settled()) {
    // A controller that starts again forgets the wish, and that the clock was settled.
    if (clock.wanted() == 0) clock.want(until);
    const bool is_late = waited() > seconds;
    if (is_late || session.interrupts.any()) clock.want(clock.now());
    if (session.interrupts.any()) return fail(Code::kCancelled, "clock: interrupted, it stays");
    if (is_late)
      return fail(Code::kDeadlineExceeded,
                  fmt::format("clock: it is at {} after {}, and stays there; does its controller "
                              "run, with --simulated-clock?",
                              rfc3339(clock.now()), seconds_text(seconds)));
    std::this_thread::sleep_for(kLook);
  }
  return {};
}

}  // namespace

Result<int> move_clock(Session& session, const Arguments& arguments) {
  const double seconds = RG_TRY(seconds_of(arguments, "wait", kLongestWaitSeconds));
  const auto clock = RG_TRY(ClockPage::open(arguments.operand(0)));
  if (const std::string word = arguments.operand(1); !word.empty()) {
    const double until = RG_TRY(time_to_reach(word, clock->now()));
    if (until <= clock->now())
      return fail(Code::kInvalidArgument,
                  fmt::format("clock: it is at {}, and goes ahead only", rfc3339(clock->now())));
    if (until >= ClockPage::kMostSeconds)
      return fail(
          Code::kInvalidArgument,
          fmt::format("clock: {} is beyond 2199, the last year that it shows", in_quotes(word)));
    RG_TRY_OK(move(session, *clock, until, seconds));
  }
  const std::string now = rfc3339(clock->now());
  if (session.output.format == Format::kTable) session.output.out << now << '\n';
  RowPrinter rows(session.output, "now,jumps", "\"clocks\"");
  rows.print([&] { return fmt::format("{},{}", now, clock->last_jump().number); },
             [&] {
               return fmt::format("{{\"now\": {}, \"jumps\": {}}}", json_string(now),
                                  clock->last_jump().number);
             });
  rows.end();
  return kExitPassed;
}

}  // namespace railgauge::cli
