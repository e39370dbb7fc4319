#include "controller/cli/input/arguments.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/base/outcome.h"
#include "kernels/core/text/help.h"
#include "kernels/core/text/lines.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

// How many operands a verb takes.
struct OperandCount {
  std::size_t least = 0;
  std::size_t most = 0;
};

constexpr std::size_t kManyOperands = 100'000;  // for "FILE..."; a bound, not a limit to reach

// Reads "SUITE [NODESET]": brackets mark an optional operand, dots a repeated one.
OperandCount count_operands(std::string_view operands) {
  OperandCount count;
  for (const std::string_view word : words_of(operands)) {
    ++count.most;
    if (word.find("...") != std::string_view::npos) count.most = kManyOperands;
    if (!word.starts_with('[')) ++count.least;
  }
  return count;
}

// By name, or by letter where `name` is one character. Null when there is none.
const Flag* find_flag(std::span<const Flag> flags, std::string_view name) {
  const auto found = std::ranges::find_if(flags, [&](const Flag& flag) {
    return flag.name == name || (name.size() == 1 && flag.letter == name.front());
  });
  return found == flags.end() ? nullptr : &*found;
}

// A flag by name in the common ones and in all verbs': a name has one meaning everywhere.
const Flag* find_anywhere(const Grammar& grammar, std::string_view name) {
  if (const Flag* flag = find_flag(grammar.common, name)) return flag;
  for (const Verb& verb : grammar.verbs)
    if (const Flag* flag = find_flag(verb.flags, name)) return flag;
  return nullptr;
}

// The candidates for "did you mean": flags of one verb, or of all for a null `verb`.
std::vector<std::string> flag_names(const Grammar& grammar, const Verb* verb) {
  std::vector<std::string> names;
  for (const Flag& flag : grammar.common) names.push_back(fmt::format("--{}", flag.name));
  for (const Verb& each : grammar.verbs)
    if (verb == nullptr || &each == verb)
      for (const Flag& flag : each.flags) names.push_back(fmt::format("--{}", flag.name));
  return names;
}

// "railgauge matrix is railgauge runs matrix now".
Error spelled_anew(const OldSpelling& old) {
  std::string flag = old.flag.empty() ? "" : fmt::format(" --{}", old.flag);
  if (!old.operand.empty()) flag = fmt::format(" {}", old.operand);
  return {Code::kInvalidArgument,
          fmt::format("railgauge {}{} is railgauge {} now", old.verb, flag, old.now)};
}

// An old spelling of a flag, of `verb` or of any for "". Null when there is none.
const OldSpelling* find_old_flag(const Grammar& grammar, std::string_view flag,
                                 std::string_view verb = "") {
  const auto found = std::ranges::find_if(grammar.old, [&](const OldSpelling& old) {
    return !flag.empty() && old.flag == flag && (verb.empty() || old.verb == verb);
  });
  return found == grammar.old.end() ? nullptr : &*found;
}

// An old verb in the words that begin with it, also with its noun in the singular.
const OldSpelling* find_old_verb(const Grammar& grammar, const std::vector<std::string>& words) {
  for (const OldSpelling& old : grammar.old) {
    if (!old.flag.empty() || !old.operand.empty()) continue;
    const auto parts = words_of(old.verb);
    bool is_it = words.size() >= parts.size();
    for (std::size_t i = 0; is_it && i < parts.size(); ++i)
      is_it = words[i] == parts[i] || (i == 0 && words[i] + "s" == parts[i]);
    if (is_it) return &old;
  }
  return nullptr;
}

// Splits words into flags and the rest; "--" ends the flags.
Status split_flags(const Grammar& grammar, std::span<const std::string> words, Arguments& parsed,
                   std::vector<std::string>& rest) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    // Everything behind "--" is an operand, even with a dash in front.
    if (word == "--") {
      rest.insert(rest.end(), words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      return {};
    }
    // A single dash is an operand: it names stdin.
    if (!word.starts_with('-') || word == "-") {
      rest.emplace_back(word);
      continue;
    }
    // "--name=value" in one word; only long flags have this form.
    const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string_view::npos;
    const std::string_view name =
        word.starts_with("--") ? word.substr(2, equals - 2) : word.substr(1);
    const Flag* flag =
        word.starts_with("--") == (name.size() > 1) ? find_anywhere(grammar, name) : nullptr;
    if (flag == nullptr) {
      if (const OldSpelling* old = find_old_flag(grammar, name))
        return tl::unexpected(spelled_anew(*old));
      // A single letter is near every short flag: no name is proposed for it.
      const std::string hint =
          name.size() > 1 ? did_you_mean(fmt::format("--{}", name), flag_names(grammar, nullptr))
                          : "";
      return fail(Code::kInvalidArgument,
                  fmt::format("unknown flag {}{}", word.substr(0, equals), hint));
    }
    std::string value;
    if (flag->value.empty() && equals != std::string_view::npos)
      return fail(Code::kInvalidArgument, fmt::format("--{} takes no value", flag->name));
    if (!flag->value.empty()) {
      if (equals != std::string_view::npos) {
        value = word.substr(equals + 1);
      } else if (i + 1 < words.size()) {
        value = words[++i];
      } else {
        return fail(Code::kInvalidArgument, fmt::format("--{} needs a value: --{} {}", flag->name,
                                                        flag->name, flag->value));
      }
    }
    // The second value could contradict the first one, so neither is taken.
    if (!parsed.flags.emplace(flag->name, std::move(value)).second)
      return fail(Code::kInvalidArgument, fmt::format("--{} is given twice", flag->name));
  }
  return {};
}

// Reports whether a verb begins with this noun.
bool is_noun(const Grammar& grammar, std::string_view noun) {
  return std::ranges::any_of(grammar.verbs, [&](const Verb& v) { return v.noun == noun; });
}

// Null when the noun has no such verb. `name` "" is the noun alone.
const Verb* find_verb(const Grammar& grammar, std::string_view noun, std::string_view name) {
  const auto found = std::ranges::find_if(
      grammar.verbs, [&](const Verb& v) { return v.noun == noun && v.name == name; });
  return found == grammar.verbs.end() ? nullptr : &*found;
}

// The noun as the table spells it: "node" is "nodes"; "run" is the verb, unless a verb of "runs"
// follows ("run show RUN"). "" when there is no such noun.
std::string canonical_noun(const Grammar& grammar, const std::string& word,
                           std::string_view following) {
  const std::string plural = word + "s";
  if (is_noun(grammar, word)) {
    const bool verb_of_plural =
        !following.empty() && find_verb(grammar, plural, following) != nullptr;
    return verb_of_plural ? plural : word;
  }
  return is_noun(grammar, plural) ? plural : "";
}

// Takes noun and verb from the front of `rest`, which keeps the operands. Null without an error:
// the noun alone is no verb, which only help accepts. Errors: kInvalidArgument with the nearest
// word.
Result<const Verb*> choose_verb(const Grammar& grammar, Arguments& parsed,
                                std::vector<std::string>& rest) {
  // "run show" is decided by the word behind the noun.
  // Before anything is looked up: "schedules pause" begins with a noun that there is.
  if (const OldSpelling* old = find_old_verb(grammar, rest))
    return tl::unexpected(spelled_anew(*old));
  const std::string_view following = rest.size() > 1 ? std::string_view(rest[1]) : "";
  const std::string noun = canonical_noun(grammar, rest[0], following);
  if (noun.empty()) {
    std::vector<std::string> nouns;
    for (const Verb& verb : grammar.verbs) nouns.emplace_back(verb.noun);
    nouns.emplace_back("help");
    std::string hint = did_you_mean(rest[0], nouns);
    if (hint.empty()) hint = "; railgauge help lists all";
    return fail(Code::kInvalidArgument, fmt::format("unknown verb {}{}", in_quotes(rest[0]), hint));
  }
  rest.erase(rest.begin());
  // "runs help show" and "help runs show" are the same.
  if (!rest.empty() && rest[0] == "help") {
    parsed.help = true;
    rest.erase(rest.begin());
  }
  if (parsed.help && rest.empty()) parsed.noun = noun;
  if (!rest.empty() && !rest[0].empty()) {
    if (const Verb* verb = find_verb(grammar, noun, rest[0])) {
      rest.erase(rest.begin());
      return verb;
    }
  }
  // No verb follows: the noun's own, whose operands may begin with any word.
  const Verb* alone = find_verb(grammar, noun, "");
  // "schedules list": what the plural noun does alone, said aloud.
  if (!rest.empty() && rest[0] == "list" && noun.ends_with('s') && alone != nullptr &&
      (alone->operands.empty() || alone->operands == "[NODESET]")) {
    rest.erase(rest.begin());
    return alone;
  }
  // A word that is neither a verb nor an operand.
  if (!rest.empty() && (alone == nullptr || alone->operands.empty())) {
    std::vector<std::string> names;
    for (const Verb& verb : grammar.verbs)
      if (verb.noun == noun && !verb.name.empty()) names.emplace_back(verb.name);
    if (names.empty())
      return fail(Code::kInvalidArgument,
                  fmt::format("{}: {} is one operand too many; it takes flags alone", noun,
                              in_quotes(rest[0])));
    std::string hint = did_you_mean(rest[0], names);
    if (hint.empty()) hint = fmt::format("; its verbs are {}", fmt::join(names, ", "));
    return fail(Code::kInvalidArgument,
                fmt::format("{}: unknown verb {}{}", noun, in_quotes(rest[0]), hint));
  }
  return alone;
}

// Errors: kInvalidArgument for a word that its kind does not have, with the nearest one.
// Values of other kinds are checked by the verb or the controller.
Status check_choice(const Grammar& grammar, const Flag& flag, std::string_view value) {
  const auto found = std::ranges::find_if(grammar.choices, [&](const Choice& choice) {
    return choice.is_closed && choice.kind == flag.value;
  });
  if (found == grammar.choices.end()) return {};
  const auto words = words_of(found->words);
  if (std::ranges::find(words, value) != words.end()) return {};
  const std::vector<std::string> known(words.begin(), words.end());
  return fail(Code::kInvalidArgument,
              fmt::format("--{}: {} is none of {}{}", flag.name, in_quotes(value),
                          fmt::join(known, ", "), did_you_mean(value, known)));
}

// Checks flags and number of operands. Flags were read before the verb was known, so that they may
// be anywhere on the line.
Status check_against_verb(const Grammar& grammar, const Arguments& parsed) {
  const Verb& verb = *parsed.verb;
  for (const auto& [name, value] : parsed.flags) {
    const Flag* flag = find_flag(verb.flags, name);
    if (flag != nullptr) RG_TRY_OK(check_choice(grammar, *flag, value));
    if (flag != nullptr || find_flag(grammar.common, name) != nullptr) continue;
    if (const OldSpelling* old = find_old_flag(grammar, name, full_name(verb)))
      return tl::unexpected(spelled_anew(*old));
    return fail(Code::kInvalidArgument,
                fmt::format("{} has no flag --{}{}", full_name(verb), name,
                            did_you_mean("--" + name, flag_names(grammar, &verb))));
  }
  const OperandCount count = count_operands(verb.operands);
  if (parsed.operands.size() < count.least)
    return fail(Code::kInvalidArgument,
                fmt::format("{}: missing operand: {}", full_name(verb),
                            words_of(verb.operands)[parsed.operands.size()]));
  if (parsed.operands.size() <= count.most) return {};
  for (const OldSpelling& old : grammar.old)
    if (!old.operand.empty() && old.verb == full_name(verb) &&
        parsed.operands.size() == count.most + 1)
      return tl::unexpected(spelled_anew(old));
  // A verb of the noun with a slip of the hand was taken for an operand.
  std::vector<std::string> names;
  for (const Verb& each : grammar.verbs)
    if (each.noun == verb.noun && !each.name.empty() && verb.name.empty())
      names.emplace_back(each.name);
  if (const std::string hint = did_you_mean(parsed.operands.front(), names); !hint.empty())
    return fail(Code::kInvalidArgument, fmt::format("{}: unknown verb {}{}", full_name(verb),
                                                    in_quotes(parsed.operands.front()), hint));
  return fail(Code::kInvalidArgument, fmt::format("{}: {} is one operand too many", full_name(verb),
                                                  in_quotes(parsed.operands[count.most])));
}

}  // namespace

// As error messages name a verb.
std::string full_name(const Verb& verb) {
  return verb.name.empty() ? std::string(verb.noun) : fmt::format("{} {}", verb.noun, verb.name);
}

// A flag that was not given and a switch look alike here; has() separates them.
std::string Arguments::value(std::string_view flag) const {
  const auto found = flags.find(flag);
  return found == flags.end() ? "" : found->second;
}

// Verbs ask for optional operands without a check of their count.
std::string Arguments::operand(std::size_t index) const {
  return index < operands.size() ? operands[index] : "";
}

// Flags first, then noun, verb and operands in what is left.
Result<Arguments> parse_arguments(const Grammar& grammar, std::span<const std::string> words) {
  // Words become fields of messages, which carry UTF-8 alone.
  for (const std::string& word : words)
    if (const auto at = first_outside_utf8(word))
      return fail(Code::kInvalidArgument,
                  fmt::format("{}: byte {} is not UTF-8", in_quotes(word), *at + 1));
  Arguments parsed;
  std::vector<std::string> rest;
  RG_TRY_OK(split_flags(grammar, words, parsed, rest));
  parsed.help = parsed.has("help");
  if (!rest.empty() && rest[0] == "help") {
    parsed.help = true;
    rest.erase(rest.begin());
  }
  if (rest.empty()) return parsed;
  parsed.verb = RG_TRY(choose_verb(grammar, parsed, rest));
  parsed.operands = std::move(rest);
  if (parsed.verb == nullptr) {
    if (parsed.help) return parsed;
    return fail(Code::kInvalidArgument,
                fmt::format("{0} needs a verb; railgauge help {0} lists them", words.front()));
  }
  if (!parsed.help) RG_TRY_OK(check_against_verb(grammar, parsed));
  return parsed;
}

namespace {

constexpr std::size_t kFirstColumn = 34;  // where summaries begin

// One entry of the help: `left` in its column and `right` beside it, folded between words so that
// no line is longer than kHelpColumns.
std::string line(std::string_view left, std::string_view right) {
  constexpr std::size_t kRoom = kHelpColumns - kFirstColumn;
  std::string text = fmt::format("  {:<{}}", left, kFirstColumn - 2);
  if (left.size() + 4 > kFirstColumn) text = fmt::format("  {}\n{:{}}", left, "", kFirstColumn);
  while (right.size() > kRoom) {
    const std::size_t blank = right.rfind(' ', kRoom);
    if (blank == std::string_view::npos) break;
    text += fmt::format("{}\n{:{}}", right.substr(0, blank), "", kFirstColumn);
    right.remove_prefix(blank + 1);
  }
  return fmt::format("{}{}\n", text, right);
}

// The verb with its operands as it is typed: "runs show RUN".
std::string call(const Verb& verb) {
  std::string text(verb.noun);
  if (!verb.name.empty()) text += fmt::format(" {}", verb.name);
  if (!verb.operands.empty()) text += fmt::format(" {}", verb.operands);
  return text;
}

// One help entry for each flag.
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

// A verb's line, its summary, its own flags and an example.
std::string verb_help(const Verb& verb) {
  std::string text = fmt::format("railgauge {}\n  {}\n", call(verb), verb.summary);
  if (!verb.flags.empty()) text += "\n" + flag_lines(verb.flags);
  return text + fmt::format("\n  Example: railgauge {}\n", verb.example);
}

// All verbs of a noun, with an empty line between them.
std::string noun_help(const Grammar& grammar, std::string_view noun) {
  std::string text;
  for (const Verb& verb : grammar.verbs)
    if (verb.noun == noun) text += (text.empty() ? "" : "\n") + verb_help(verb);
  return text;
}

constexpr std::string_view kSources =
    "\nEach setting is a flag (--some-name), a variable (RAILGAUGE_SOME_NAME) or a line\n"
    "\"some_name = value\" in /etc/railgauge/railgauge.conf. A flag beats a variable,\n"
    "a variable beats the file.\n";

// Exit codes of every verb, for the help and the reference page.
struct ExitMeaning {
  int code;
  std::string_view meaning;
};
constexpr std::array kExitMeanings{
    ExitMeaning{kExitPassed, "passed"},
    ExitMeaning{kExitFailed, "failed"},
    ExitMeaning{kExitUsage, "wrong use"},
    ExitMeaning{kExitInconclusive, "inconclusive"},
    ExitMeaning{kExitInvalid, "invalid, crashed,\ntimed out or unreachable"},
    ExitMeaning{kExitWaived, "waived"},
    ExitMeaning{kExitInterrupted, "interrupted"},
    ExitMeaning{kExitTerminated, "terminated"},
};

// "Exit codes: 0 passed; 1 failed; ...": the breaks are those of the meanings.
std::string exit_code_line() {
  std::string text = "\nExit codes:";
  for (const ExitMeaning& exit : kExitMeanings)
    text += fmt::format("{} {} {}", exit.code == kExitPassed ? "" : ";", exit.code, exit.meaning);
  return text + ".\n";
}

// A text in a cell of a Markdown table: bars would end the cell, a break the row.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

// A Markdown table of flags; "" without flags.
std::string flag_table(std::span<const Flag> flags) {
  if (flags.empty()) return "";
  std::string page = "\n| flag | meaning |\n|---|---|\n";
  for (const Flag& flag : flags) {
    const std::string letter = flag.letter == 0 ? "" : fmt::format("-{}, ", flag.letter);
    const std::string value = flag.value.empty() ? "" : fmt::format(" {}", flag.value);
    page += fmt::format("| `{}--{}{}` | {} |\n", letter, flag.name, value, cell(flag.summary));
  }
  return page;
}

}  // namespace

// Three shapes: one verb, all verbs of a noun, or the list of everything with settings and exit
// codes. Tests compare all of them with golden files.
std::string help_text(const Grammar& grammar, const Arguments& arguments) {
  if (arguments.verb != nullptr && arguments.noun.empty())
    return verb_help(*arguments.verb) + "\nrailgauge help lists the flags that every verb takes\n";
  if (!arguments.noun.empty())
    return noun_help(grammar, arguments.noun) +
           "\nrailgauge help lists the flags that every verb takes\n";
  std::string text =
      "railgauge measures a cluster's fabric from inside its nodes.\n\n"
      "Usage: railgauge NOUN [VERB] [OPERANDS] [FLAGS]\n\n";
  // Verbs of one group follow each other in the table.
  std::string_view group;
  for (const Verb& verb : grammar.verbs) {
    if (verb.group != group) text += fmt::format("{}{}:\n", group.empty() ? "" : "\n", verb.group);
    group = verb.group;
    text += line(call(verb), verb.summary);
  }
  text += "\nHelp:\n" + line("help [NOUN [VERB]]",
                             "this text, or a verb's flags and an example (also --help anywhere)");
  text += "\nFlags that every verb takes:\n" + flag_lines(grammar.common);
  text += kSources;
  text += exit_code_line();
  return text;
}

// The page has the order of the help: nouns as they first appear, then common flags and exit codes.
std::string command_page(const Grammar& grammar) {
  std::string page =
      "# Commands\n\nRendered from the table in `controller/cli/verbs/grammar.cc`; a test compares "
      "the two.\n`railgauge help NOUN` prints the same. Brackets in a meaning hold the default.\n";
  // The verbs of a noun come together, nouns in the order of the help.
  std::vector<std::string_view> nouns;
  for (const Verb& verb : grammar.verbs)
    if (std::ranges::find(nouns, verb.noun) == nouns.end()) nouns.push_back(verb.noun);
  for (const std::string_view noun : nouns) {
    page += fmt::format("\n## {}\n", noun);
    for (const Verb& verb : grammar.verbs)
      if (verb.noun == noun)
        page += fmt::format("\n`railgauge {}`:\n{}\n\nExample: `railgauge {}`\n{}", call(verb),
                            verb.summary, verb.example, flag_table(verb.flags));
  }
  page +=
      fmt::format("\n## Flags that every verb takes\n{}{}", flag_table(grammar.common), kSources);
  page += "\n## Exit codes\n\n| exit code | meaning |\n|---|---|\n";
  for (const ExitMeaning& exit : kExitMeanings)
    page += fmt::format("| {} | {} |\n", exit.code, cell(exit.meaning));
  return page;
}

}  // namespace railgauge::cli
