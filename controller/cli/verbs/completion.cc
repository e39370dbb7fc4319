#include "controller/cli/verbs/completion.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/cli/input/session.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/lines.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

// The list that has the names for a kind of operand, in its first column.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kSources{
    {{"RUN", "runs"},
     {"SUITE", "suites"},
     {"NODE", "nodes"},
     {"NODESET", "nodes"},
     {"SET", "nodes"},
     {"KERNEL", "kernels"},
     {"SCHEDULE", "schedules"}}};
// Words of a fixed choice.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kChoices{
    {{"FORMAT", "table json csv ndjson md html"},
     {"UNITS", "bits bytes"},
     {"SHELL", "bash zsh"},
     {"POLICY", "skip queue replace"},
     {"TOOL", "nvbandwidth gdrcopy perftest nccl-tests"}}};

// "[RUN|FINDING] NODE" is RUN and NODE: of alternatives the first is completed.
std::vector<std::string> kinds_of(std::string_view operands) {
  std::vector<std::string> kinds;
  for (const std::string_view word : words_of(operands)) {
    std::string kind(word);
    std::erase_if(kind, [](char c) { return c == '[' || c == ']'; });
    kinds.push_back(kind.substr(0, kind.find('|')));
  }
  return kinds;
}

// Shell code that sets `candidates`, or asks for files, for a word of this kind.
std::string candidates_of(std::string_view kind) {
  for (const auto& [name, list] : kSources)
    if (kind == name)
      return fmt::format("candidates=$(_railgauge_names {}){}", list,
                         kind == "SUITE" ? "; files=1" : "");
  for (const auto& [name, choice] : kChoices)
    if (kind == name) return fmt::format("candidates=\"{}\"", choice);
  return kind == "FILE" ? "files=1" : ":";
}

// "--nodes --wait", for the shell's word list.
std::string flags_of(std::span<const Flag> flags) {
  std::vector<std::string> names;
  for (const Flag& flag : flags) names.push_back(fmt::format("--{}", flag.name));
  return fmt::format("{}", fmt::join(names, " "));
}

// Sorted, each once, with "help".
std::vector<std::string> nouns_of(const Grammar& grammar) {
  std::set<std::string> nouns{"help"};
  for (const Verb& verb : grammar.verbs) nouns.emplace(verb.noun);
  return {nouns.begin(), nouns.end()};
}

// "show cancel", for the shell's word list.
std::string verbs_of(const Grammar& grammar, std::string_view noun) {
  std::vector<std::string_view> names;
  for (const Verb& verb : grammar.verbs)
    if (verb.noun == noun && !verb.name.empty()) names.push_back(verb.name);
  return fmt::format("{}", fmt::join(names, " "));
}

// The flags that take a value, each once: the common ones first, then in the order of the verbs.
std::vector<Flag> flags_with_values(const Grammar& grammar) {
  std::vector<Flag> flags;
  const auto add = [&](std::span<const Flag> some) {
    for (const Flag& flag : some)
      if (!flag.value.empty() && std::ranges::find(flags, flag.name, &Flag::name) == flags.end())
        flags.push_back(flag);
  };
  add(grammar.common);
  for (const Verb& verb : grammar.verbs) add(verb.flags);
  return flags;
}

// Cases of `flag` for those that take a value.
std::string value_cases(const Grammar& grammar) {
  std::string text;
  for (const Flag& flag : flags_with_values(grammar)) {
    const std::string letter = flag.letter == 0 ? "" : fmt::format("|-{}", flag.letter);
    text += fmt::format("    --{}{}) {} ;;\n", flag.name, letter, candidates_of(flag.value));
  }
  return text;
}

// The verbs after each noun, as branches of a shell `case`.
std::string noun_cases(const Grammar& grammar) {
  std::string text;
  for (const std::string& noun : nouns_of(grammar)) {
    const std::string verbs = noun == "help" ? fmt::format("{}", fmt::join(nouns_of(grammar), " "))
                                             : verbs_of(grammar, noun);
    if (!verbs.empty()) text += fmt::format("    \"{}\") candidates=\"{}\" ;;\n", noun, verbs);
  }
  return text;
}

// By "noun verb": its flags and what its operands are, the nth in operand_N.
std::string verb_cases(const Grammar& grammar) {
  std::string text;
  for (const Verb& verb : grammar.verbs) {
    std::string operands;
    std::size_t place = 0;
    for (const std::string& kind : kinds_of(verb.operands))
      operands += fmt::format(" {}) {} ;;", place++, candidates_of(kind));
    text += fmt::format("    \"{}\") flags=\"{}\"", full_name(verb), flags_of(verb.flags));
    if (!operands.empty()) text += fmt::format("; case $place in{} esac", operands);
    text += " ;;\n";
  }
  return text;
}

// "--nodes|--wait|-o": those that take a value.
std::string value_flags(const Grammar& grammar) {
  std::set<std::string> flags;
  for (const Flag& flag : flags_with_values(grammar)) {
    flags.insert(fmt::format("--{}", flag.name));
    if (flag.letter != 0) flags.insert(fmt::format("-{}", flag.letter));
  }
  return fmt::format("{}", fmt::join(flags, "|"));
}

// "node|suite": nouns whose plural the grammar has, which are taken for it; of a noun that is one
// by itself ("run") it hangs on what follows.
std::string singulars(const Grammar& grammar) {
  const std::vector<std::string> nouns = nouns_of(grammar);
  std::vector<std::string> names;
  for (const std::string& noun : nouns)
    if (const std::string one = noun.substr(0, noun.size() - 1);
        noun.ends_with('s') && std::ranges::find(nouns, one) == nouns.end())
      names.push_back(one);
  return fmt::format("{}", fmt::join(names, "|"));
}

// "runs show"|"runs wait": the pattern that recognises a verb.
std::string named_verbs(const Grammar& grammar) {
  std::vector<std::string> names;
  for (const Verb& verb : grammar.verbs)
    if (!verb.name.empty()) names.push_back(fmt::format("\"{}\"", full_name(verb)));
  return fmt::format("{}", fmt::join(names, "|"));
}

constexpr std::string_view kNames = R"sh(_railgauge_names() {
  local list=$1
  command -v timeout >/dev/null || return 0
  timeout 1 railgauge "$list" --format csv 2>/dev/null | awk -F, -v list="$list" '
    NR == 1 { for (i = 1; i <= NF; i++) if ($i == (list == "runs" ? "run_id" : "name")) column = i; next }
    column && $column ~ /^[A-Za-z0-9._-]+$/ { print $column }'
}
)sh";

// Finds noun, verb and number of operands before the cursor, and whether a flag waits for its
// value.
constexpr std::string_view kWords = R"sh(
_railgauge_core() {
  local noun="" verb="" word before="" place=0 common verbs
  candidates="" flags="" files=""
  for word in "$@"; do
    if _railgauge_takes_value "$before"; then before=""; continue; fi
    before=""
    case $word in
      -*) before=$word ;;
      *)
        if [ -z "$noun" ]; then _railgauge_noun "$word"
        elif [ -z "$verb" ] && [ "$place" = 0 ] && _railgauge_is_verb "$noun $word"; then verb=$word
        else place=$((place + 1)); fi ;;
    esac
  done
)sh";

// Both shells run this; only what each hands in and takes back differs. The words before the one
// that is typed are in "$@"; `candidates`, `flags` and `files` come back.
std::string core_function(const Grammar& grammar) {
  std::string text(kNames);
  for (const auto& [name, pattern] :
       {std::pair{"takes_value", value_flags(grammar)}, std::pair{"is_verb", named_verbs(grammar)}})
    text += fmt::format(
        "\n_railgauge_{}() {{\n  case $1 in\n    {}) return 0 ;;\n  esac\n  return 1\n}}\n", name,
        pattern);
  text += fmt::format(
      "\n_railgauge_noun() {{\n  case $1 in\n    {}) noun=${{1}}s ;;\n    *) noun=$1 ;;\n  "
      "esac\n}}\n",
      singulars(grammar));
  text += kWords;
  text += "  if _railgauge_takes_value \"$before\"; then\n    case $before in\n" +
          value_cases(grammar) + "    esac\n    return 0\n  fi\n";
  text += fmt::format("  common=\"{}\"\n  flags=$common\n", flags_of(grammar.common));
  text += fmt::format("  if [ -z \"$noun\" ]; then candidates=\"{}\"; return 0; fi\n",
                      fmt::join(nouns_of(grammar), " "));
  text += "  if [ -z \"$verb\" ] && [ \"$place\" = 0 ]; then\n    case $noun in\n" +
          noun_cases(grammar) + "    esac\n  fi\n  verbs=$candidates\n  candidates=\"\"\n";
  text += "  case \"$noun${verb:+ $verb}\" in\n" + verb_cases(grammar) + "  esac\n";
  text += "  candidates=\"$verbs $candidates\"\n  flags=\"$flags $common\"\n}\n";
  return text;
}

}  // namespace

// bash completes words alone; help texts have no place there.
std::string bash_completion(const Grammar& grammar) {
  return "# bash completion for railgauge; source it, or put it into "
         "/etc/bash_completion.d/railgauge\n" +
         core_function(grammar) + R"sh(
_railgauge() {
  local candidates flags files current=${COMP_WORDS[COMP_CWORD]}
  _railgauge_core "${COMP_WORDS[@]:1:COMP_CWORD-1}"
  case $current in -*) candidates=$flags ;; esac
  mapfile -t COMPREPLY < <(compgen -W "$candidates" -- "$current")
  if [ -n "$files" ]; then
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -o filenames -F _railgauge railgauge
)sh";
}

std::string zsh_completion(const Grammar& grammar) {
  return "#compdef railgauge\n"
         "# zsh completion for railgauge; put it into a folder of $fpath as _railgauge, or source "
         "it\n" +
         core_function(grammar) + R"sh(
_railgauge() {
  local candidates flags files
  _railgauge_core "${(@)words[2,CURRENT-1]}"
  case ${words[CURRENT]} in -*) candidates=$flags ;; esac
  compadd -- ${=candidates}
  if [ -n "$files" ]; then _files; fi
}
if [ "${funcstack[1]:-}" = _railgauge ]; then _railgauge "$@"; else compdef _railgauge railgauge; fi
)sh";
}

// The script is printed and never installed: the person sources it.
Result<std::string> completion_for(const Grammar& grammar, const std::string& shell) {
  if (shell == "bash") return bash_completion(grammar);
  if (shell == "zsh") return zsh_completion(grammar);
  return fail(Code::kInvalidArgument,
              fmt::format("completion: {} is no shell that it knows; allowed are bash and zsh",
                          in_quotes(shell)));
}

Result<int> print_completion(Session& session, const Arguments& arguments) {
  session.output.out << RG_TRY(completion_for(grammar(), arguments.operand(0)));
  return kExitPassed;
}

}  // namespace railgauge::cli
