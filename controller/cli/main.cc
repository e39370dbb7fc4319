// railgauge: the command that people and pipelines use. Wiring only.
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <ostream>
#include <span>
#include <streambuf>
#include <string>

#include <fmt/format.h>

#include "controller/api/contract.h"
#include "controller/cli/archive/archive_verbs.h"
#include "controller/cli/input/controllers.h"
#include "controller/cli/input/interrupts.h"
#include "controller/cli/input/session.h"
#include "controller/cli/input/settings.h"
#include "controller/cli/input/stubs.h"
#include "controller/cli/live/on_screen.h"
#include "controller/cli/live/watch.h"
#include "controller/cli/render/output.h"
#include "controller/cli/render/table.h"
#include "controller/cli/verbs/commands.h"
#include "controller/cli/verbs/completion.h"
#include "kernels/core/base/exhaustion.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/variables.h"
#include "kernels/core/version/commit.h"

namespace railgauge::cli {
namespace {

// An output stream on a file descriptor that remembers why a write failed: a full disk must not
// look like success, and the standard streams forget the cause.
// Buffered; written when full, at flush and at the end. Not thread safe. Does not close.
class DescriptorBuffer final : public std::streambuf {
 public:
  explicit DescriptorBuffer(int descriptor) : descriptor_(descriptor) {
    setp(buffer_.data(), buffer_.data() + buffer_.size());
  }
  ~DescriptorBuffer() override { write_out(); }
  DescriptorBuffer(const DescriptorBuffer&) = delete;
  DescriptorBuffer& operator=(const DescriptorBuffer&) = delete;

  // errno of the first write that failed, 0 when none did; nothing is written after it.
  [[nodiscard]] int failure() const { return failure_; }

 protected:
  // Called by the stream when the buffer is full.
  int_type overflow(int_type character) override {
    if (!write_out()) return traits_type::eof();
    if (!traits_type::eq_int_type(character, traits_type::eof()))
      sputc(traits_type::to_char_type(character));
    return traits_type::not_eof(character);
  }
  // Called by the stream at flush.
  int sync() override { return write_out() ? 0 : -1; }

 private:
  // Writes all that is buffered. After the first failure everything is discarded, so that the
  // program ends.
  bool write_out() {
    const char* next = pbase();
    while (failure_ == 0 && next < pptr()) {
      const ssize_t written = write(descriptor_, next, static_cast<std::size_t>(pptr() - next));
      if (written >= 0) {
        next += written;
      } else if (errno == EAGAIN) {
        // A pipe that its other end made non-blocking: as slow as its reader, for as long as it
        // takes.
        pollfd ready{.fd = descriptor_, .events = POLLOUT, .revents = 0};
        poll(&ready, 1, -1);
      } else if (errno != EINTR) {
        failure_ = errno;
      }
    }
    setp(buffer_.data(), buffer_.data() + buffer_.size());
    return failure_ == 0;
  }

  const int descriptor_;
  int failure_ = 0;
  std::array<char, 16384> buffer_{};
};

// The streams and the terminal of this process.
struct Terminal {
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal = false;
  int err_columns = 0;                   // 0: `err` is no terminal
  std::function<Screen()> out_screen{};  // its size now, where `out` is a terminal
};

// A dumb terminal takes neither colours nor a moving cursor.
bool can_draw(const Environment& environment, const Terminal& terminal) {
  return terminal.out_is_terminal && environment("TERM").value_or("") != "dumb";
}

// NO_COLOR is the convention of no-color.org: any value but the empty one counts.
bool wants_colour(const Environment& environment, const Terminal& terminal) {
  return can_draw(environment, terminal) && environment("NO_COLOR").value_or("").empty();
}

// The format that was asked for, as far as that can be known when the words or settings are wrong:
// whoever asked for JSON gets the error as JSON.
Format format_despite_error(std::span<const std::string> words, const Environment& environment) {
  Format format =
      parse_format(environment("RAILGAUGE_FORMAT").value_or("")).value_or(Format::kTable);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    // Its stdout has the protocol alone.
    if (word == "mcp") return Format::kTable;
    if ((word == "-o" || word == "--format") && i + 1 < words.size())
      format = parse_format(words[i + 1]).value_or(format);
    if (word.starts_with("--format="))
      format = parse_format(word.substr(word.find('=') + 1)).value_or(format);
  }
  return format;
}

// Opens the channel and runs the verb or its watch. The active one of several controllers is
// asked for first; else nothing is dialled yet.
Result<int> run_verb(const Arguments& arguments, const Settings& given, const Output& output,
                     Interrupts& interrupts) {
  const bool asks_one =
      !arguments.verb->is_local && given.archive.empty() && arguments.verb->run != &show_status;
  const Settings settings = asks_one ? RG_TRY(with_active_controller(given)) : given;
  auto opened = open_channel(arguments.verb->is_local ? Settings{} : settings);
  // To the doctor a broken certificate is a finding. The channel in its place is never used.
  std::string channel_fault;
  if (!opened && arguments.verb->run == &show_doctor) {
    channel_fault = opened.error().message;
    opened = open_channel({});
  }
  const auto channel = RG_TRY(std::move(opened));
  const Stubs stubs(channel);
  Session session{
      .stubs = stubs,
      .output = output,
      .interrupts = interrupts,
      .address = settings.controller,
      .connected = [channel] { return channel->GetState(false) == GRPC_CHANNEL_READY; },
      .see_controllers = [&given] { return see_controllers(given, given.answer_seconds); },
      .tls_cert = settings.tls_cert,
      .channel_fault = channel_fault,
      .again = same_invocation(given),
      .answer_seconds = settings.answer_seconds};
  const bool is_page = output.format == Format::kHtml || output.format == Format::kMarkdown;
  if (is_page && arguments.verb->noun != "report")
    return fail(Code::kInvalidArgument,
                fmt::format("{}: --format md and html are for railgauge report; here table, json, "
                            "csv and ndjson are",
                            full_name(*arguments.verb)));
  if (!settings.archive.empty() && !arguments.verb->is_local)
    return ask_archive(arguments, {.url = settings.archive, .site = settings.site}, output);
  if (arguments.has("watch"))
    return watch_verb(session, arguments, RG_TRY(watch_options(arguments)));
  if (arguments.has("interval"))
    return fail(Code::kInvalidArgument, "--interval goes with --watch");
  Result<int> code = run_on_screen(session, arguments);
  if (code) return code;
  return tl::unexpected(with_closest_name(session, arguments, code.error()));
}

// Runs one command line (without the program's name). Never throws. Returns the exit code.
int run_program(std::span<const std::string> words, const Environment& environment,
                const Terminal& terminal, Interrupts& interrupts) {
  Output output{.out = terminal.out, .err = terminal.err};
  const auto fail_with = [&](const Error& error) {
    output.format = format_despite_error(words, environment);
    return report_error(output, error);
  };
  // The order of checks: words, help and version, settings, call.
  const auto arguments = parse_arguments(grammar(), words);
  if (!arguments) return fail_with(arguments.error());
  if (arguments->has("version")) {
    terminal.out << "railgauge " RAILGAUGE_VERSION " (commit " << build_commit() << ", schema "
                 << kSchemaVersion << ")\n";
    return kExitPassed;
  }
  if (arguments->help) {
    terminal.out << help_text(grammar(), *arguments);
    return kExitPassed;
  }
  // Nothing was named: the help on stderr, and wrong use.
  if (arguments->verb == nullptr) {
    terminal.err << help_text(grammar(), *arguments);
    return kExitUsage;
  }
  const auto settings = resolve_settings(*arguments, environment);
  if (!settings) return fail_with(settings.error());
  output.is_quiet = arguments->has("quiet");
  for (const std::string& line : unknown_variables(variable_names())) print_notice(output, line);
  output.format = arguments->verb->run == &serve_assistant ? Format::kTable : settings->format;
  output.units = settings->units;
  output.colour = wants_colour(environment, terminal);
  // --watch cuts instead, so that more rows fit.
  const bool folds = terminal.out_is_terminal && terminal.out_screen && !arguments->has("watch");
  fold_tables_at(folds ? terminal.out_screen().columns : 0);
  output.is_full = arguments->has("full");
  show_whole_tables(output.is_full);
  const bool is_dumb = environment("TERM").value_or("") == "dumb";
  output.live_columns = is_dumb ? 0 : terminal.err_columns;
  if (can_draw(environment, terminal)) output.screen = terminal.out_screen;
  const auto code = run_verb(*arguments, *settings, output, interrupts);
  const int reported = code ? *code : report_error(output, code.error());
  // A call that a SIGTERM cut short ends as terminated, not as interrupted.
  return interrupts.terminated() && reported == kExitInterrupted ? kExitTerminated : reported;
}

constexpr int kUnknownWidth = 80;

// The terminal's size now; zeros where it is unknown.
Screen screen_of(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0) return {};
  return {.columns = size.ws_col, .rows = size.ws_row};
}

// Columns of the terminal behind `descriptor`, 0 when there is none.
int terminal_columns(int descriptor) {
  if (isatty(descriptor) == 0) return 0;
  const int columns = screen_of(descriptor).columns;
  return columns == 0 ? kUnknownWidth : columns;
}

// A variable of this process; nothing when it is not set.
std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// Results that could not be written are no results. A reader that left (EPIPE) had what it wanted.
int flush_results(DescriptorBuffer& results, int code) {
  results.pubsync();
  if (results.failure() == 0 || results.failure() == EPIPE) return code;
  std::cerr << "railgauge: stdout: write: " << std::strerror(results.failure()) << '\n';
  return kExitInvalid;
}

}  // namespace
}  // namespace railgauge::cli

int main(int argc, char** argv) {
  using namespace railgauge::cli;
  // A closed pipe is reported by write, not by a signal.
  std::signal(SIGPIPE, SIG_IGN);
  setenv("GRPC_VERBOSITY", "NONE", 0);  // its log lines would appear beside our one line
  Interrupts interrupts;
  // Before any other thread, so that all inherit the blocked signals.
  const SignalListener listener(interrupts);
  const std::vector<std::string> words(argv + 1, argv + argc);
  DescriptorBuffer results(STDOUT_FILENO);
  std::ostream out(&results);
  const Terminal terminal{.out = out,
                          .err = std::cerr,
                          .out_is_terminal = isatty(STDOUT_FILENO) != 0,
                          .err_columns = terminal_columns(STDERR_FILENO),
                          .out_screen = [] { return screen_of(STDOUT_FILENO); }};
  const int code = flush_results(results, run_program(words, environment, terminal, interrupts));
  railgauge::end_program(code);
}
