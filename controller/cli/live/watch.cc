#include "controller/cli/live/watch.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <sstream>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "controller/cli/input/inputs.h"
#include "controller/cli/render/table.h"
#include "kernels/core/base/outcome.h"

namespace railgauge::cli {
namespace {

constexpr double kDefaultSeconds = 2;
constexpr double kLeastSeconds = 0.2;
constexpr double kMostSeconds = 3600;
constexpr std::string_view kReset = "\x1b[0m";

// False for the later bytes of a character of UTF-8.
bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

// Behind the escape sequence that begins at `at`; ours all end in 'm'.
std::size_t behind_escape(std::string_view line, std::size_t at) {
  const std::size_t end = line.find('m', at);
  return end == std::string_view::npos ? line.size() : end + 1;
}

// Columns that the line takes, without escape sequences.
std::size_t characters(std::string_view line) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == '\x1b') {
      at = behind_escape(line, at);
      continue;
    }
    count += begins_character(line[at]) ? 1 : 0;
    ++at;
  }
  return count;
}

// Without the newlines; a last line without a newline counts as one.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// UTC, as every time that the program prints.
std::string time_of_day() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%H:%M:%S}Z", fmt::gmtime(now));
}

// The controller may be back at the next look.
bool may_pass(Code code) { return code == Code::kUnavailable || code == Code::kDeadlineExceeded; }

// Runs the verb again and again and shows its output. Used from one thread.
class Watch {
 public:
  Watch(Session& session, const Arguments& arguments, const WatchOptions& options)
      : session_(session), arguments_(arguments), options_(options) {}

  // Until Ctrl-C, a signal, or a reader that left.
  Result<int> go() {
    while (true) {
      RG_TRY_OK(look());
      show();
      session_.output.out << std::flush;
      if (!session_.output.out.good()) return kExitPassed;  // its reader is gone, as of `| head`
      if (session_.interrupts.wait_beyond(0, options_.seconds))
        return session_.interrupts.terminated() ? kExitTerminated : kExitInterrupted;
    }
  }

 private:
  // One run of the verb into buffers. A failure at the first look ends the watch; later the last
  // view stays with the time when it was taken.
  Status look() {
    std::ostringstream view;
    std::ostringstream messages;
    const Output output{.out = view,
                        .err = messages,
                        .format = session_.output.format,
                        .units = session_.output.units,
                        .colour = session_.output.colour};
    Session inner{.stubs = session_.stubs,
                  .output = output,
                  .interrupts = session_.interrupts,
                  .address = session_.address,
                  .connected = session_.connected,
                  .again = session_.again,
                  .answer_seconds = session_.answer_seconds};
    const Result<int> code = arguments_.verb->run(inner, arguments_);
    const std::string now = options_.clock();
    if (!code && (seen_at_.empty() || !may_pass(code.error().code)))
      return tl::unexpected(code.error());
    trouble_ = code ? "" : fmt::format("no answer since {}: {}", seen_at_, code.error().message);
    if (!code) return {};
    seen_at_ = now;
    view_ = view.str() + take_mark(output);
    is_synthetic_ = output.mark->is_synthetic;
    messages_ = messages.str();
    return {};
  }

  // On a terminal draws over the last view; a new size of the terminal clears it first.
  void show() {
    const Output& output = session_.output;
    if (!output.screen) return print();
    const Screen screen = output.screen();
    // A resize invalidates the count of drawn lines.
    if (screen.columns != screen_.columns || screen.rows != screen_.rows) {
      // The terminal may have wrapped the old view.
      if (screen_.columns > 0) output.out << "\x1b[H\x1b[2J";
      drawn_ = 0;
      screen_ = screen;
    }
    // The last line of a long view is cut.
    std::string text = fmt::format("{}  every {:g} s, Ctrl-C ends{}\n", seen_at_, options_.seconds,
                                   is_synthetic_ ? "  SYNTHETIC" : "");
    if (!trouble_.empty()) text += toned(printable(trouble_), Tone::kBad, output.colour) + "\n";
    const std::vector<std::string> lines = fit_view(text + "\n" + view_ + messages_, screen);
    output.out << drawn_over(lines, drawn_);
    drawn_ = lines.size();
  }

  // Not drawn over: for a file or a pipe each look that brings something new is an entry.
  void print() {
    const Output& output = session_.output;
    const bool is_table = output.format == Format::kTable;
    if (!trouble_.empty() && trouble_ != told_) output.err << printable(trouble_) << '\n';
    told_ = trouble_;
    // An unchanged view is not repeated.
    if (!printed_.empty() && view_ + messages_ == printed_) return;
    if (!is_table)
      output.out << view_;
    else
      output.out << (printed_.empty() ? "" : "\n") << seen_at_ << '\n' << view_;
    if (messages_ != printed_messages_) output.err << messages_;
    printed_messages_ = messages_;
    printed_ = view_ + messages_;
  }

  Session& session_;
  const Arguments& arguments_;
  const WatchOptions& options_;
  std::string view_;
  std::string messages_;
  bool is_synthetic_ = false;
  std::string seen_at_;  // when the view was taken; "": never yet
  std::string trouble_;  // why it is older than the last look
  std::string told_;     // of that, what was printed last; likewise below
  std::string printed_;
  std::string printed_messages_;
  Screen screen_{};
  std::size_t drawn_ = 0;
};

}  // namespace

// Escape sequences are copied and take no room.
std::string fit_line(std::string_view line, int columns) {
  // The last column stays free: some terminals wrap when it is written.
  const auto room = static_cast<std::size_t>(std::max(columns - 1, 1));
  if (columns <= 0 || characters(line) <= room) return std::string(line);
  std::string kept;
  bool coloured = false;
  std::size_t count = 0;
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == '\x1b') {
      const std::size_t end = behind_escape(line, at);
      kept += line.substr(at, end - at);
      coloured = true;
      at = end;
      continue;
    }
    if (begins_character(line[at]) && ++count == room) break;
    kept += line[at++];
  }
  return kept + (coloured ? std::string(kReset) : "") + ">";
}

// The last line of the screen stays free, since a full screen would scroll and shift the drawing.
std::vector<std::string> fit_view(const std::string& view, const Screen& screen) {
  std::vector<std::string> lines = lines_of(view);
  const auto room = static_cast<std::size_t>(std::max(screen.rows - 1, 2));
  // The last visible line counts the hidden ones.
  if (screen.rows > 0 && lines.size() > room) {
    const std::size_t left_out = lines.size() - room + 1;
    lines.resize(room - 1);
    lines.push_back(fmt::format("{} more lines; a taller terminal shows them", left_out));
  }
  for (std::string& line : lines) line = fit_line(line, screen.columns);
  return lines;
}

// Moves the cursor up, writes each line with the rest of the old one erased, then erases what is
// below.
std::string drawn_over(const std::vector<std::string>& lines, std::size_t drawn) {
  std::string bytes = drawn == 0 ? "" : fmt::format("\r\x1b[{}A", drawn);
  for (const std::string& line : lines) bytes += line + "\x1b[K\n";
  return bytes + "\x1b[J";
}

// The clock is a member, so that tests see fixed times.
Result<WatchOptions> watch_options(const Arguments& arguments) {
  const double seconds = RG_TRY(seconds_of(arguments, "interval", kDefaultSeconds));
  if (seconds < kLeastSeconds || seconds > kMostSeconds)
    return fail(Code::kInvalidArgument,
                fmt::format("--interval {}: 200ms to 1h are allowed", arguments.value("interval")));
  return WatchOptions{.clock = time_of_day, .seconds = seconds};
}

// json and csv are refused: repeated documents would be no document.
Result<int> watch_verb(Session& session, const Arguments& arguments, const WatchOptions& options) {
  if (session.output.format == Format::kJson || session.output.format == Format::kCsv)
    return fail(Code::kInvalidArgument,
                "--watch: json and csv are one document; --format ndjson prints rows as they come");
  return Watch(session, arguments, options).go();
}

}  // namespace railgauge::cli
