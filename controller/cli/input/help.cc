#include "controller/cli/input/help.h"

#include <algorithm>

#include <fmt/format.h>

namespace railgauge::cli {
namespace {

constexpr std::size_t kFirstColumn = 34;

std::string line(std::string_view left, std::string_view right) {
  if (left.size() + 4 > kFirstColumn)
    return fmt::format("  {}\n  {:{}}{}\n", left, "", kFirstColumn - 2, right);
  return fmt::format("  {:<{}}{}\n", left, kFirstColumn - 2, right);
}

std::string call(const Verb& verb) {
  std::string text(verb.noun);
  if (!verb.name.empty()) text += fmt::format(" {}", verb.name);
  if (!verb.operands.empty()) text += fmt::format(" {}", verb.operands);
  return text;
}

std::string flag_lines(std::span<const Flag> flags) {
  std::string text;
  for (const Flag& flag : flags) {
    std::string left = fmt::format("--{}", flag.name);
    if (flag.letter != 0) left = fmt::format("-{}, {}", flag.letter, left);
    if (!flag.value.empty()) left += fmt::format(" {}", flag.value);
    text += line(left, flag.summary);
  }
  return text;
}

std::string verb_help(const Verb& verb) {
  std::string text = fmt::format("railgauge {}\n  {}\n", call(verb), verb.summary);
  if (!verb.flags.empty()) text += "\n" + flag_lines(verb.flags);
  return text;
}

std::string noun_help(const Grammar& grammar, std::string_view noun) {
  std::string text;
  for (const Verb& verb : grammar.verbs)
    if (verb.noun == noun) text += (text.empty() ? "" : "\n") + verb_help(verb);
  return text;
}

constexpr std::string_view kTail =
    "\nEach setting is a flag (--some-name), a variable (RAILGAUGE_SOME_NAME) or a line\n"
    "\"some_name = value\" in /etc/railgauge/railgauge.conf; a flag beats a variable beats the "
    "file.\n"
    "\nExit codes: 0 passed; 1 failed; 2 wrong use; 3 inconclusive; 4 invalid, crashed, timed out "
    "or\n"
    "unreachable; 5 waived; 130 interrupted; 143 terminated.\n";

}  // namespace

std::string help_text(const Grammar& grammar, const Arguments& arguments) {
  if (arguments.verb != nullptr && arguments.noun.empty())
    return verb_help(*arguments.verb) + "\nrailgauge help lists the flags that every verb takes\n";
  if (!arguments.noun.empty())
    return noun_help(grammar, arguments.noun) +
           "\nrailgauge help lists the flags that every verb takes\n";
  std::string text =
      "railgauge measures a cluster's fabric from inside its nodes.\n\n"
      "Usage: railgauge NOUN [VERB] [OPERANDS] [FLAGS]\n\n";
  for (const Verb& verb : grammar.verbs) text += line(call(verb), verb.summary);
  text += line("help [NOUN [VERB]]", "this text, or a verb's flags (also --help anywhere)");
  text += "\nFlags that every verb takes:\n" + flag_lines(grammar.common);
  text += kTail;
  return text;
}

}  // namespace railgauge::cli
