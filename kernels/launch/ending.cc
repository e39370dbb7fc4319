// Reads a launcher's output: its last lines for a reason, the transports for the facts, UCX's
// warnings for settings that nothing read.
#include "kernels/launch/ending.h"

#include <sys/wait.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/base/outcome.h"
#include "kernels/core/text/text.h"
#include "kernels/runner/task/watchdog.h"

namespace railgauge {
namespace {

// The number of last lines in the reason.
constexpr std::size_t kReasonLines = 3;
// The bound of each line: a rank may print much without a line end, and a reason must fit into one
// step of the rendezvous.
constexpr std::size_t kMostLineBytes = 400;
// Bounds, in bytes: the tail of a record, and the lines that are kept of dropped output.
constexpr std::size_t kTailBytes = 8U << 10U;
constexpr std::size_t kMostWarnings = 16U << 10U;
constexpr std::size_t kMostTransports = 16U << 10U;
// In UCX's warning of an unused variable: "unused env variable: UCX_...".
constexpr std::string_view kUnused = "unused env";

// Whether the line is UCX's warning of an unused variable.
bool is_unused_warning(std::string_view line) {
  return line.find("UCX  WARN") != line.npos && line.find(kUnused) != line.npos;
}

// Whether the line is about transports. The MPI was asked for these lines, so they explain no end.
bool is_chatter(std::string_view line) {
  return line.find("UCX  INFO") != line.npos || line.find("UCX  DEBUG") != line.npos ||
         line.find(" mca: ") != line.npos || line.find("mtl:ofi:") != line.npos ||
         line.find(" btl:") != line.npos;
}

// Whether the line is a rank's own error, which a backtrace and the launcher's lines follow.
bool is_fatal(std::string_view line) { return line.find("  Fatal: ") != line.npos; }

// Reads names of transports line by line, in three formats: of UCX, of Open MPI's bml and of its
// mtl ofi; each is shown where it is read.
class Transports {
 public:
  explicit Transports(std::string_view words = {}) {
    for (const std::string_view line : split_lines(words)) read(line);
  }
  // Returns whether the line changes a fact.
  bool read(std::string_view line) {
    bool is_new = false;
    // "... UCX  INFO  ep_cfg[1]: tag(tcp/eth0);"
    const std::size_t tag = line.find("tag(");
    if (line.find("UCX") != line.npos && tag != line.npos) {
      const std::string_view names = line.substr(tag + 4, line.find(')', tag) - tag - 4);
      for (const std::string_view name : split(names, ' '))
        if (!name.empty()) is_new |= transports_.insert(valid_utf8(name)).second;
    }
    // "... mca: bml: Using tcp btl for send to [[1,1],1] on node x"
    constexpr std::string_view kUsing = "mca: bml: Using ";
    if (const std::size_t at = line.find(kUsing); at != line.npos) {
      const std::string_view rest = line.substr(at + kUsing.size());
      // Interleaved output of two ranks may have no name here, and an empty fact says nothing.
      if (const auto name = rest.substr(0, rest.find(' ')); !name.empty())
        is_new |= btls_.insert(valid_utf8(name)).second;
    }
    // "... mtl_ofi_component.c:366: mtl:ofi:prov: verbs;ofi_rxm"
    constexpr std::string_view kProvider = "mtl:ofi:prov: ";
    if (const std::size_t at = line.find(kProvider); at != line.npos)
      if (const auto name = line.substr(at + kProvider.size()); name != "none") {
        const std::string before = std::exchange(provider_, valid_utf8(name));
        is_new |= before != provider_;
      }
    return is_new;
  }
  [[nodiscard]] std::map<std::string, std::string> facts() const {
    std::map<std::string, std::string> facts;
    if (!transports_.empty())
      facts["mpi_transports_configured"] = fmt::format("{}", fmt::join(transports_, ","));
    if (!provider_.empty()) facts["mpi_provider_configured"] = provider_;
    if (!btls_.empty()) facts["mpi_btl_configured"] = fmt::format("{}", fmt::join(btls_, ","));
    return facts;
  }

 private:
  std::set<std::string> transports_;
  std::set<std::string> btls_;
  std::string provider_;
};

// Sets the outcome when no rank's report counts: a person's signal, the deadline, a missing library
// (waived), else a crash with the launcher's last lines.
void explain(const LauncherEnd& end, Final& final) {
  if (end.ending_signal != 0) {
    final.set_outcome(std::string(kCancelledOutcome));
    final.set_reason(words_of_signal(end.ending_signal));
    return;
  }
  const std::size_t tail = end.words.size() > kTailBytes ? end.words.size() - kTailBytes : 0;
  final.set_stderr_tail(valid_utf8(end.words.substr(tail)));
  if (end.past_deadline) {
    final.set_outcome(std::string(kTimedOut));
    final.set_reason(fmt::format("{}: did not end by the deadline; its last lines: {}", end.name,
                                 last_lines(end.words)));
    return;
  }
  const bool no_library = end.words.find("error while loading shared libraries") != end.words.npos;
  final.set_outcome(std::string(no_library ? kWaived : kCrashed));
  const bool early = !WIFSIGNALED(end.wait_status) && !end.final;
  final.set_reason(
      fmt::format("{}: {}{}; its last lines: {}", end.name, words_of_end(end.wait_status),
                  early ? " before rank 0's final record" : "", last_lines(end.words)));
  if (WIFSIGNALED(end.wait_status)) final.set_exit_signal(WTERMSIG(end.wait_status));
}

}  // namespace

std::map<std::string, std::string> transport_facts(const LauncherEnd& end) {
  return transport_facts(end.transports + end.words);
}

// The output of a job of many hours would not fit into memory. Lines that facts need are kept.
void drop_old_lines(LauncherEnd& end) {
  if (end.words.size() <= kMostLauncherWords) return;
  const std::size_t least = end.words.size() - kMostLauncherWords;
  // Cuts at a line end, so that no warning is cut, unless the line is endless.
  const std::size_t line_end = end.words.find('\n', least);
  const bool is_near = line_end != end.words.npos && line_end - least < kMostLineBytes;
  const std::size_t cut = is_near ? line_end + 1 : least;
  // A line about transports is kept if it adds a fact. With a thousand ranks the first lines are
  // dropped before the last rank has printed its own.
  Transports kept(end.transports);
  for (const std::string_view line : split_lines(std::string_view(end.words).substr(0, cut))) {
    if (is_unused_warning(line) && end.warnings.size() + line.size() < kMostWarnings)
      end.warnings.append(line).append("\n");
    const bool has_room = end.transports.size() + line.size() < kMostTransports;
    if (is_chatter(line) && has_room && kept.read(line)) end.transports.append(line).append("\n");
  }
  end.words.erase(0, cut);
}

// A name counts only as a whole: UCX_TLS is not UCX_TLS_PRIORITY.
std::string ignored_setting(const std::string& words, const std::string& settings) {
  for (std::size_t begin = settings.find("UCX_"); begin != settings.npos;
       begin = settings.find("UCX_", settings.find(' ', begin))) {
    std::string name = settings.substr(begin, settings.find('=', begin) - begin);
    for (const std::string_view line : split_lines(words)) {
      if (!is_unused_warning(line)) continue;
      const std::size_t found = line.find(name, line.find(kUnused));
      if (found == line.npos) continue;
      const std::string_view rest = line.substr(found + name.size());
      const auto is_more = [](char c) {
        return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
      };
      if (rest.empty() || !is_more(rest.front())) return name;
    }
  }
  return {};
}

// The ranks print kFinalizeHangs themselves, at the end of their output.
std::string finalize_warning(const std::string& words) {
  if (words.find(kFinalizeHangs) == words.npos) return {};
  return fmt::format("MPI_Finalize did not come back within {} s; the figures stand",
                     kFinalizeSeconds);
}

// Rank 0's final record counts if it agrees with the launcher's end. A passed task with a setting
// that UCX did not read is waived: its figures do not belong to the requested setting.
Final final_of(const LauncherEnd& end) {
  Final final = end.final.value_or(Final());
  // Open MPI's launcher reports a crash when a rank leaves without MPI_Finalize, although the rank
  // has reported its figures before.
  const bool good = (WIFEXITED(end.wait_status) && WEXITSTATUS(end.wait_status) == 0) ||
                    !finalize_warning(end.words).empty();
  // A rank that the launcher ended because of another rank reports "cancelled".
  const bool says =
      end.final && final.outcome() != kCancelledOutcome && (good || final.outcome() != kPassed);
  if (!says) explain(end, final);
  const std::string ignored = ignored_setting(end.warnings + end.words, end.settings);
  if (final.outcome() == kPassed && !ignored.empty()) {
    final.set_outcome(std::string(kWaived));
    final.set_reason(fmt::format(
        "{}: the UCX of these nodes does not read it; leave that tunable out", ignored));
  }
  return final;
}

// Skips lines without a letter or digit. An earlier "Fatal:" line replaces the first line, since
// the backtrace behind it explains less. Control characters become blanks.
std::string last_lines(const std::string& words) {
  std::vector<std::string> lines;
  std::size_t fatal = std::string::npos;
  for (const std::string_view line : split_lines(words)) {
    const auto says = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
    if (!std::ranges::any_of(line, says) || is_chatter(line)) continue;
    if (fatal == std::string::npos && is_fatal(line)) fatal = lines.size();
    lines.push_back(valid_utf8(beginning_of(line, kMostLineBytes)));
  }
  if (lines.empty()) return "it said nothing";
  if (const std::size_t kept = lines.size() - std::min(lines.size(), kReasonLines); kept > 0) {
    if (fatal < kept) std::swap(lines[fatal], lines[kept - 1]);
    lines.erase(lines.begin(),
                lines.begin() + static_cast<std::ptrdiff_t>(fatal < kept ? kept - 1 : kept));
  }
  for (std::string& line : lines)
    for (char& c : line)
      if (std::iscntrl(static_cast<unsigned char>(c)) != 0) c = ' ';
  std::string text = fmt::format("{}", fmt::join(lines, " / "));
  while (text.ends_with('.')) text.pop_back();
  return text;
}

std::map<std::string, std::string> transport_facts(const std::string& words) {
  return Transports(words).facts();
}

// Only a passed task is warned about: an error has its own reason.
std::string silence_warning(const Final& final, const LauncherEnd& end) {
  if (final.outcome() != kPassed || !transport_facts(end).empty()) return {};
  return "the MPI did not say its transports; what carried these figures is not known";
}

}  // namespace railgauge
