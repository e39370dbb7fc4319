// demo: a controller and a modelled fleet in a temporary folder, with a history, a slow port and an
// upgrade that costs something; the nights pass on a simulated clock. The verbs that a person would
// type do the work.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "controller/cli/demo/demo_programs.h"
#include "controller/cli/demo/demo_site.h"
#include "controller/cli/input/inputs.h"
#include "controller/cli/input/session.h"
#include "controller/cli/input/settings.h"
#include "controller/cli/input/stubs.h"
#include "controller/cli/render/output.h"
#include "controller/cli/verbs/commands.h"
#include "controller/clock/clock_page.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

using Steady = std::chrono::steady_clock;

constexpr double kStartSeconds = 20;
constexpr double kAttachSeconds = 60;
constexpr double kNightsSeconds = 600;
constexpr auto kLook = std::chrono::milliseconds(20);
constexpr double kDaySeconds = 24 * 3600;
constexpr double kHourSeconds = 3600;
constexpr double kVerdictHour = 13;  // of the day of the upgrade
// The story's length. It ends within the host's last day, so that "24h ago" means the same to every
// program.
constexpr double kStorySeconds = kDemoUpgradeDay * kDaySeconds + kVerdictHour * kHourSeconds;
// Nobody waits here for a second Ctrl-C.
constexpr double kLingerSeconds = 0.1;

// The end of a verb.
struct Said {
  int code = 0;
  std::string out;
  std::string err;
};

// The program's name as a shell finds it, else its path.
std::string own_name() {
  std::error_code ignored;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const char* path = std::getenv("PATH");
  for (const std::string_view folder : split(path == nullptr ? "" : path, ':')) {
    const std::filesystem::path found = std::filesystem::path(folder) / self.filename();
    if (::access(found.c_str(), X_OK) != 0) continue;
    return std::filesystem::equivalent(found, self, ignored) ? self.filename().string()
                                                             : self.string();
  }
  return self.string();
}

double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

class Demo {
 public:
  Demo(const Output& output, Interrupts& interrupts, std::uint32_t nodes)
      : output_(output), interrupts_(interrupts), nodes_(nodes), names_(demo_names(nodes)) {}

  // From nothing to the verdict of the upgrade.
  Status tell();
  // Waits for Ctrl-C or SIGTERM.
  Status stay();

 private:
  [[nodiscard]] double elapsed() const {
    return std::chrono::duration<double>(Steady::now() - began_).count();
  }
  // A line with the seconds since the beginning.
  void note(const std::string& text) const {
    output_.out << fmt::format("{:5.1f} s  {}\n", elapsed(), text) << std::flush;
  }
  // kInternal: a program has ended. kCancelled: the user does not want to wait.
  Status check();
  Status write_files();
  Status start_controller();
  Status start_fleet();
  Status measure_nights();
  Status go_to(int day, double hours);
  // The date of a day of the story.
  [[nodiscard]] std::string day_text(int day) const;
  Status find_bad_port();
  Status upgrade();
  void show_around() const;
  template <class Function>
  Status wait_until(const std::string& what, double seconds, Function is_so);
  Result<Said> say(const std::vector<std::string>& words);
  // The same, and prints the command and its answer.
  Result<Said> show(const std::vector<std::string>& words);
  [[nodiscard]] Session session(const Output& output) const;
  [[nodiscard]] std::string address() const {
    return "unix:" + folder_->path(std::string(kDemoSocket));
  }

  const Output& output_;
  Interrupts& interrupts_;
  const std::uint32_t nodes_;
  const DemoNames names_;
  const Steady::time_point began_ = Steady::now();
  DemoRemains remains_;
  const Interrupts::LastAct last_act_{interrupts_, [this] { remains_.take_away(); }};
  std::unique_ptr<DemoFolder> folder_;  // outlives the programs
  std::unique_ptr<Stubs> stubs_;
  std::unique_ptr<DemoProgram> controller_;
  std::unique_ptr<DemoProgram> fleet_;
  std::shared_ptr<ClockPage> clock_;
  // Midnight of the story's first day, unix seconds.
  const double begin_ = std::floor((unix_now() - kStorySeconds) / kDaySeconds) * kDaySeconds;
  std::string again_;
  std::string metrics_;
  bool has_console_ = false;
  std::string finding_;
};

Status Demo::check() {
  if (interrupts_.any()) return fail(Code::kCancelled, "demo: interrupted");
  if (controller_) RG_TRY_OK(controller_->check());
  if (fleet_) RG_TRY_OK(fleet_->check());
  return {};
}

template <class Function>
Status Demo::wait_until(const std::string& what, double seconds, Function is_so) {
  const double end = elapsed() + seconds;
  for (;;) {
    RG_TRY_OK(check());
    if (is_so()) return {};
    if (elapsed() > end)
      return fail(Code::kDeadlineExceeded,
                  fmt::format("demo: {}: not within {:.0f} s; a machine with less load, or fewer "
                              "--nodes, would help",
                              what, seconds));
    std::this_thread::sleep_for(kLook);
  }
}

Session Demo::session(const Output& output) const {
  return {.stubs = *stubs_,
          .output = output,
          .interrupts = interrupts_,
          .address = address(),
          .connected = [] { return true; },
          .again = again_,
          .linger_seconds = kLingerSeconds};
}

// The last line that a verb printed about its failure, as the end of ours.
Error failed(const std::string& what, const Said& said) {
  std::string why = said.err;
  while (why.ends_with('\n')) why.pop_back();
  why.erase(0, why.rfind('\n') + 1);
  return {Code::kInternal, fmt::format("demo: {}: exit code {}: {}", what, said.code, why)};
}

Result<Said> Demo::say(const std::vector<std::string>& words) {
  std::ostringstream out;
  std::ostringstream err;
  const Output output{.out = out, .err = err, .units = output_.units, .colour = output_.colour};
  Session session = this->session(output);
  const Arguments arguments = RG_TRY(parse_arguments(grammar(), words));
  const auto code = arguments.verb->run(session, arguments);
  RG_TRY_OK(check());
  if (code) out << take_mark(output);
  return Said{code ? *code : report_error(output, code.error()), out.str(), err.str()};
}

Result<Said> Demo::show(const std::vector<std::string>& words) {
  std::string line = "railgauge";
  for (const std::string& word : words) line += " " + word;
  output_.out << "\n$ " << line << '\n' << std::flush;
  Said said = RG_TRY(say(words));
  output_.out << said.out << '\n' << std::flush;
  return said;
}

std::string Demo::day_text(int day) const {
  constexpr std::size_t kDateBytes = 10;
  return rfc3339(begin_ + day * kDaySeconds).substr(0, kDateBytes);
}

Status Demo::write_files() {
  folder_ = RG_TRY(DemoFolder::make(remains_));
  again_ = fmt::format("{} --controller {}", own_name(), address());
  std::error_code error;
  std::filesystem::create_directory(folder_->path("suites"), error);
  RG_TRY_OK(folder_->write("suites/night.yaml", demo_night_suite()));
  RG_TRY_OK(folder_->write("suites/upgrade.yaml", demo_upgrade_suite()));
  RG_TRY_OK(folder_->write("leaves", demo_leaves(nodes_)));
  RG_TRY_OK(folder_->write("site.yaml", demo_profile(folder_->path("leaves"))));
  // In the place of the host's own settings.
  return folder_->write("controller.conf", "");
}

Status Demo::start_controller() {
  constexpr std::string_view kPortWords = "metrics on port ";
  controller_ = RG_TRY(DemoProgram::start(
      {beside_this_program("railgauge-controller"), "--config", folder_->path("controller.conf"),
       "--database", folder_->path("railgauge.db"), "--socket",
       folder_->path(std::string(kDemoSocket)), "--suites", folder_->path("suites"),
       "--site-profile", folder_->path("site.yaml"), "--metrics-listen", "127.0.0.1:0",
       "--console-listen", "127.0.0.1:0", "--upgrade-policy", "off", "--simulated-clock",
       day_text(0)},
      folder_->path("controller.log"), remains_));
  Settings settings;
  settings.controller = address();
  stubs_ = std::make_unique<Stubs>(RG_TRY(open_channel(settings)));
  RG_TRY_OK(wait_until("the controller starts", kStartSeconds, [this] {
    return controller_->log_text().find(" serves") != std::string::npos;
  }));
  const std::string log = controller_->log_text();
  if (const std::size_t at = log.find(kPortWords); at != std::string::npos)
    metrics_ =
        fmt::format("http://127.0.0.1:{}/metrics", std::atoi(log.c_str() + at + kPortWords.size()));
  // A build without the pages' packages serves the console's data alone.
  has_console_ = log.find("web console on ") != std::string::npos &&
                 log.find(", without pages") == std::string::npos;
  clock_ = RG_TRY(ClockPage::open(folder_->path("simulated-clock")));
  note(fmt::format("a controller runs, with all its files in {}", folder_->path()));
  return {};
}

Status Demo::start_fleet() {
  RG_TRY_OK(folder_->write("scenario.yaml", demo_scenario(nodes_, day_text(0))));
  fleet_ =
      RG_TRY(DemoProgram::start({beside_this_program("railgauge-fleet"), "--controller", address(),
                                 "--scenario", folder_->path("scenario.yaml"), "--simulated-clock",
                                 folder_->path("simulated-clock"), "--kernels", kDemoKernels},
                                folder_->path("fleet.log"), remains_));
  RG_TRY_OK(wait_until(fmt::format("{} nodes attach", nodes_), kAttachSeconds,
                       [&] { return clock_->has_fleet() && clock_->is_followed(); }));
  note(fmt::format("{} agents are attached", nodes_));
  return {};
}

// Through all nights on the way.
Status Demo::go_to(int day, double hours) {
  const double until = begin_ + day * kDaySeconds + hours * kHourSeconds;
  clock_->want(until);
  return wait_until(fmt::format("the calendar reaches {}", rfc3339(until)), kNightsSeconds, [&] {
    const bool is_there = clock_->now() >= until;
    // A controller that starts again forgets the wish, and that the clock was settled.
    if (clock_->wanted() == 0) clock_->want(until);
    return is_there && clock_->is_settled();
  });
}

Status Demo::measure_nights() {
  const Said added =
      RG_TRY(say({"schedules", "add", "every-night", "night", "--cron", kDemoNightCron}));
  if (added.code != kExitPassed) return tl::unexpected(failed("schedules add", added));
  RG_TRY_OK(go_to(kDemoBadDay, 2));
  note(fmt::format("{} nights on a healthy fabric, to {}", kDemoBadDay + 1, day_text(kDemoBadDay)));
  RG_TRY_OK(go_to(kDemoUpgradeDay, 10));
  note(fmt::format("{} nights with a slow port on {}, to {}", kDemoUpgradeDay - kDemoBadDay,
                   names_.bad_node, day_text(kDemoUpgradeDay)));
  return {};
}

Status Demo::find_bad_port() {
  std::ostringstream nowhere;
  const Output silent{.out = nowhere, .err = nowhere};
  Session session = this->session(silent);
  RG_TRY_OK(wait_until("the slow port becomes a finding", kStartSeconds, [&] {
    const auto list = call(session, rpc::kListFindings, api::ListFindingsRequest());
    if (!list) return false;
    for (const api::Finding& finding : list->findings())
      if (finding.suspect().find(names_.bad_node) != std::string::npos ||
          finding.summary().find(names_.bad_node) != std::string::npos)
        finding_ = finding.finding_id();
    return !finding_.empty();
  }));
  return {};
}

Status Demo::upgrade() {
  const std::string expected = "gpu_driver=" + names_.driver;
  const Said prepared = RG_TRY(say({"upgrades", "prepare", "--nodes", names_.upgraded}));
  if (prepared.code != kExitPassed) return tl::unexpected(failed("upgrades prepare", prepared));
  note(fmt::format("{} measured before their upgrade", names_.upgraded));
  RG_TRY_OK(go_to(kDemoUpgradeDay, kVerdictHour));
  note(fmt::format("{} rebooted and run GPU driver {}", names_.upgraded, names_.driver));
  const Said judged =
      RG_TRY(show({"upgrades", "gate", "--nodes", names_.upgraded, "--expect", expected}));
  note("the verdict");
  if (judged.code == kExitFailed) return {};
  return tl::unexpected(failed("upgrades gate", judged));
}

void Demo::show_around() const {
  output_.out << fmt::format(
      "\nAll nodes and figures are modelled: synthetic. Look around:\n"
      "  {0} nodes\n"
      "  {0} findings show {1}\n"
      "  {0} runs matrix --rail 1\n"
      "  {0} upgrades show\n"
      "  {0} run night --all\n"
      "console  {4}\n"
      "metrics  {2}\n"
      "logs     {3}/controller.log, {3}/fleet.log\n",
      again_, finding_, metrics_, folder_->path(),
      has_console_ ? again_ + " console   # prints its URL, good once"
                   : "none: this build has no pages of it");
}

Status Demo::tell() {
  output_.out << fmt::format(
      "A modelled site of {} nodes: every figure is synthetic, no GPU or RDMA is used.\n", nodes_);
  RG_TRY_OK(write_files());
  RG_TRY_OK(start_controller());
  RG_TRY_OK(start_fleet());
  RG_TRY_OK(measure_nights());
  RG_TRY_OK(find_bad_port());
  RG_TRY_OK(show({"findings"}));
  RG_TRY_OK(upgrade());
  show_around();
  return {};
}

Status Demo::stay() {
  constexpr double kGlance = 0.2;
  output_.out << "Ctrl-C ends it and removes the folder.\n" << std::flush;
  // Without a reader, as after `| head`, nobody will end it.
  while (output_.out && !interrupts_.wait_beyond(0, kGlance)) RG_TRY_OK(check());
  return {};
}

}  // namespace

// Ctrl-C is the usual end of a demo whose story is over: it passed then.
Result<int> run_demo(Session& session, const Arguments& arguments) {
  if (session.output.format != Format::kTable)
    return fail(Code::kInvalidArgument, "demo: it prints text for people; leave --format out");
  const double nodes = RG_TRY(number_of(arguments, "nodes")).value_or(kUsualDemoNodes);
  if (nodes < kLeastDemoNodes || nodes > kMostDemoNodes)
    return fail(Code::kInvalidArgument, fmt::format("--nodes {}: a demo has {} to {} nodes", nodes,
                                                    kLeastDemoNodes, kMostDemoNodes));
  Demo demo(session.output, session.interrupts, static_cast<std::uint32_t>(nodes));
  RG_TRY_OK(demo.tell());
  if (!arguments.has("once")) RG_TRY_OK(demo.stay());
  return session.interrupts.terminated() ? kExitTerminated : kExitPassed;
}

}  // namespace railgauge::cli
