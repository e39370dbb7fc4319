#include "controller/cli/program.h"

#include "controller/cli/input/help.h"
#include "controller/cli/live/watch.h"
#include "controller/cli/render/table.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/base/outcome.h"

namespace railgauge::cli {
namespace {

// A dumb terminal takes neither colours nor a moving cursor.
bool can_draw(const Environment& environment, const Terminal& terminal) {
  return terminal.out_is_terminal && environment("TERM").value_or("") != "dumb";
}

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
    if ((word == "-o" || word == "--format") && i + 1 < words.size())
      format = parse_format(words[i + 1]).value_or(format);
    if (word.starts_with("--format="))
      format = parse_format(word.substr(word.find('=') + 1)).value_or(format);
  }
  return format;
}

Result<int> run_verb(const Arguments& arguments, const Settings& settings, const Output& output,
                     Interrupts& interrupts) {
  const auto channel = RG_TRY(open_channel(settings));
  const auto stub = Control::NewStub(channel);
  const auto archive = Archive::NewStub(channel);
  const auto judge = Judge::NewStub(channel);
  Session session{.control = *stub,
                  .output = output,
                  .interrupts = interrupts,
                  .address = settings.controller,
                  .connected = [channel] { return channel->GetState(false) == GRPC_CHANNEL_READY; },
                  .again = same_invocation(settings),
                  .answer_seconds = settings.answer_seconds,
                  .archive = archive.get(),
                  .judge = judge.get()};
  if (arguments.has("watch"))
    return watch_verb(session, arguments, RG_TRY(watch_options(arguments)));
  if (arguments.has("interval"))
    return fail(Code::kInvalidArgument, "--interval goes with --watch");
  return arguments.verb->run(session, arguments);
}

}  // namespace

int run_program(std::span<const std::string> words, const Environment& environment,
                const Terminal& terminal, Interrupts& interrupts) {
  Output output{.out = terminal.out, .err = terminal.err};
  const auto fail_with = [&](const Error& error) {
    output.format = format_despite_error(words, environment);
    return report_error(output, error);
  };
  const auto arguments = parse_arguments(grammar(), words);
  if (!arguments) return fail_with(arguments.error());
  if (arguments->has("version")) {
    terminal.out << "railgauge " RAILGAUGE_VERSION "\n";
    return kExitPassed;
  }
  if (arguments->help) {
    terminal.out << help_text(grammar(), *arguments);
    return kExitPassed;
  }
  if (arguments->verb == nullptr) {
    terminal.err << help_text(grammar(), *arguments);
    return kExitUsage;
  }
  const auto settings = resolve_settings(*arguments, environment);
  if (!settings) return fail_with(settings.error());
  output.format = settings->format;
  output.units = settings->units;
  output.colour = wants_colour(environment, terminal);
  // --watch cuts instead, so that more rows fit.
  const bool folds = terminal.out_is_terminal && terminal.out_screen && !arguments->has("watch");
  fold_tables_at(folds ? terminal.out_screen().columns : 0);
  output.live_columns = terminal.err_columns;
  if (can_draw(environment, terminal)) output.screen = terminal.out_screen;
  const auto code = run_verb(*arguments, *settings, output, interrupts);
  if (code) return *code;
  const int reported = report_error(output, code.error());
  // A call that a SIGTERM cut short ends as terminated, not as interrupted.
  return interrupts.terminated() && reported == kExitInterrupted ? kExitTerminated : reported;
}

}  // namespace railgauge::cli
