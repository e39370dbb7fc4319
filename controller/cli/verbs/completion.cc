#include "controller/cli/verbs/completion.h"

#include <algorithm>
#include <array>
#include <optional>
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

// The list that has the names for a kind of word, and the column of its csv.
struct NameSource {
  std::string_view kind{};
  std::string_view list{};
  std::string_view column{};
};
constexpr std::array kSources{NameSource{"RUN", "runs", "run_id"},
                              NameSource{"SUITE", "suites", "name"},
                              NameSource{"NODE", "nodes", "name"},
                              NameSource{"NODESET", "nodes", "name"},
                              NameSource{"SET", "nodes", "name"},
                              NameSource{"KERNEL", "kernels", "name"},
                              NameSource{"SCHEDULE", "schedules", "name"},
                              NameSource{"FINDING", "findings", "finding_id"},
                              NameSource{"UPGRADE", "upgrades", "upgrade_id"},
                              NameSource{"SERIES", "history", "series_id"}};

// Kinds whose names are inside of a list's cells: functions of the script (kNames) find them there.
struct CellSource {
  std::string_view kind{};
  std::string_view function{};
};
constexpr std::array kCells{CellSource{"LABEL", "_railgauge_labels"},
                            CellSource{"NODESET", "_railgauge_groups"},
                            CellSource{"SET", "_railgauge_groups"},
                            CellSource{"METRIC", "_railgauge_metrics"},
                            CellSource{"ENDPOINT", "_railgauge_endpoints"},
                            CellSource{"CLOSED", "_railgauge_closed"},
                            CellSource{"ISSUED", "_railgauge_issued \"$operand\""}};

// The kind of a flag's value, where its word in the help says less.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kValueKinds{
    {{"kernel", "KERNEL"},
     {"metric", "METRIC"},
     {"endpoint", "ENDPOINT"},
     {"labels", "LABEL"},
     {"series", "SERIES"}}};
std::string_view value_kind_of(const Flag& flag) {
  for (const auto& [name, kind] : kValueKinds)
    if (flag.name == name) return kind;
  return flag.value;
}

// The kind of an operand, where its word in the help says less: "A" and "B" are what the verb
// compares, what is renewed or revoked was issued, and what is reopened is over.
std::string operand_kind_of(const Verb& verb, const std::string& kind) {
  if (kind == "A" || kind == "B") return verb.noun == "nodes" ? "NODESET" : "RUN";
  if (verb.noun == "findings" && verb.name == "reopen") return "CLOSED";
  const bool is_issued = verb.noun == "pki" && (verb.name == "renew" || verb.name == "revoke");
  return is_issued && kind.starts_with("NAME") ? "ISSUED" : kind;
}

// Shell code that sets `candidates`, or asks for files, for a word of this kind.
std::string candidates_of(const Grammar& grammar, std::string_view kinds) {
  std::vector<std::string> names;
  std::string choices;
  bool has_files = false;
  for (const std::string_view kind : split(kinds, '|')) {
    if (const NameSource* source = row_where(kSources, &NameSource::kind, kind))
      names.push_back(fmt::format("_railgauge_names {} {}", source->list, source->column));
    if (const CellSource* cell = row_where(kCells, &CellSource::kind, kind))
      names.emplace_back(cell->function);
    if (const Choice* choice = row_where(grammar.choices, &Choice::kind, kind))
      choices = choice->words;
    // A kind in small letters is the word itself: "active|paused|removed".
    if (kind.front() >= 'a' && kind.front() <= 'z')
      choices += (choices.empty() ? "" : " ") + std::string(kind);
    has_files = has_files || kind == "FILE" || kind == "SUITE" || kind == "FOLDER";
  }
  std::string code;
  if (!choices.empty()) code = fmt::format("candidates=\"{}\"", choices);
  if (!names.empty()) code = fmt::format("candidates=$({})", fmt::join(names, "; "));
  if (has_files) code += std::string(code.empty() ? "" : "; ") + "files=1";
  return code.empty() ? ":" : code;
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
    text += fmt::format("    --{}{}) {} ;;\n", flag.name, letter,
                        candidates_of(grammar, value_kind_of(flag)));
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
    const std::vector<std::string> kinds = kinds_of(verb);
    for (const std::string& kind : kinds) {
      const bool repeats =
          ++place == kinds.size() && verb.operands.find("...") != verb.operands.npos;
      operands += fmt::format(" {}) {} ;;", repeats ? "*" : std::to_string(place - 1),
                              candidates_of(grammar, kind));
    }
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

// Only plain names reach the shell.
constexpr std::string_view kNames = R"sh(_railgauge_ask() {
  command -v timeout >/dev/null || return 0
  timeout 1 railgauge "$@" 2>/dev/null
}
_railgauge_column() {
  awk -F, -v wanted="$1" '
    NR == 1 { for (i = 1; i <= NF; i++) if ($i == wanted) column = i; next }
    column && $column ~ /^[A-Za-z0-9._-]+$/ && !seen[$column]++ { print $column }'
}
_railgauge_names() { _railgauge_ask "$1" --format csv | _railgauge_column "$2"; }
_railgauge_issued() { _railgauge_ask pki show "$1" --format csv | _railgauge_column name; }
_railgauge_closed() {
  local state
  for state in fixed false accepted; do
    _railgauge_ask findings --state "$state" --format csv | _railgauge_column finding_id
  done | sort -u
}
_railgauge_labels() {
  _railgauge_ask nodes --format ndjson | grep -o '"labels":{[^}]*}' |
    grep -oE '"[A-Za-z0-9._/-]+":"[A-Za-z0-9._-]+"' | tr -d '"' | tr : = | sort -u
}
_railgauge_groups() {
  # The answer to an "@" alone names the groups of the site profile.
  { _railgauge_labels | sed 's/^[^=]*=/@/'
    _railgauge_ask nodes @ --format json | grep -oE '@[A-Za-z0-9._-]+'; } | sort -u
}
_railgauge_metrics() {
  _railgauge_ask kernels --format ndjson | grep -o '"metrics":\[[^]]*\]' | sed 's/"metrics"://' |
    grep -oE '[A-Za-z0-9_]+' | sort -u
}
_railgauge_endpoints() {
  _railgauge_ask nodes --format ndjson |
    grep -oE '"device":"[A-Za-z0-9._-]+","port":[0-9]+|"name":"gpu[0-9]+"' |
    sed -E 's/"device":"([^"]*)","port":/\1:/; s/"name":"([^"]*)"/\1/' | sort -u
}
)sh";

// In a list by commas the last word is completed: the others stay before each candidate.
constexpr std::string_view kListWords = R"sh(
_railgauge_after_comma() {
  local word text=""
  case $1 in *,*) ;; *) return 0 ;; esac
  for word in $(echo $candidates); do text="$text ${1%,*},$word"; done
  candidates=$text
}
)sh";

// Finds noun, verb and number of operands before the cursor, and whether a flag waits for its
// value.
constexpr std::string_view kWords = R"sh(
_railgauge_core() {
  local noun="" verb="" word before="" place=0 operand="" common verbs
  candidates="" flags="" files=""
  for word in "$@"; do
    if _railgauge_takes_value "$before"; then before=""; continue; fi
    before=""
    case $word in
      -*) before=$word ;;
      *)
        if [ -z "$noun" ]; then _railgauge_noun "$word"
        elif [ -z "$verb" ] && [ "$place" = 0 ] && _railgauge_is_verb "$noun $word"; then verb=$word
        else
          if [ "$place" = 0 ]; then operand=$word; fi
          place=$((place + 1))
        fi ;;
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
  text += kListWords;
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

std::vector<std::string> kinds_of(const Verb& verb) {
  std::vector<std::string> kinds;
  for (const std::string_view word : words_of(verb.operands)) {
    std::string kind(word);
    std::erase_if(kind, [](char c) { return c == '[' || c == ']' || c == '.'; });
    kinds.push_back(operand_kind_of(verb, kind));
  }
  return kinds;
}

// bash completes words alone; help texts have no place there.
std::string bash_completion(const Grammar& grammar) {
  return "# bash completion for railgauge; source it, or put it into "
         "/etc/bash_completion.d/railgauge\n" +
         core_function(grammar) + R"sh(
_railgauge() {
  local candidates flags files current words line=${COMP_LINE:-}
  if [ -n "$line" ]; then
    # bash itself breaks words at = : and @, which names here have.
    read -r -a words <<<"${line:0:COMP_POINT}"
    case ${line:0:COMP_POINT} in *[[:blank:]]) words+=("") ;; esac
  else
    words=("${COMP_WORDS[@]:0:COMP_CWORD+1}")
  fi
  current=${words[${#words[@]}-1]}
  _railgauge_core "${words[@]:1:${#words[@]}-2}"
  case $current in -*) candidates=$flags ;; esac
  _railgauge_after_comma "$current"
  mapfile -t COMPREPLY < <(compgen -W "$candidates" -- "$current")
  if [ -n "$files" ]; then
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current")
  fi
  # What is before the last break stays on the line.
  if [ -n "$line" ]; then COMPREPLY=("${COMPREPLY[@]#"${current%"${current##*[=:@]}"}"}"); fi
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
  _railgauge_after_comma "${words[CURRENT]}"
  compadd -- ${=candidates}
  if [ -n "$files" ]; then _files; fi
}
if [ "${funcstack[1]:-}" = _railgauge ]; then _railgauge "$@"; else compdef _railgauge railgauge; fi
)sh";
}

// fish reads no functions of sh: sh itself runs the same core, from a text that fish holds, and
// prints a word a line. A word "/" asks fish for files.
std::string fish_completion(const Grammar& grammar) {
  std::string core;
  for (const char c : core_function(grammar))
    core += c == '\\' || c == '\'' ? fmt::format("\\{}", c) : std::string(1, c);
  return "# fish completion for railgauge; put it into ~/.config/fish/completions/railgauge.fish, "
         "or source it\n"
         "set -g __railgauge_core '" +
         core + R"sh(
current=$1; shift
_railgauge_core "$@"
case $current in -*) candidates=$flags ;; esac
_railgauge_after_comma "$current"
for word in $candidates; do echo "$word"; done
if [ -n "$files" ]; then echo /; fi
'
function __railgauge_words
  set -l before (commandline -opc)
  set -l current (commandline -ct)
  for word in (sh -c $__railgauge_core sh "$current" $before[2..-1])
    if test "$word" = /
      __fish_complete_path "$current"
    else if test -n "$word"
      echo $word
    end
  end
end
complete -c railgauge -e
complete -c railgauge -f -a '(__railgauge_words)'
)sh";
}

// The script is printed and never installed: the person sources it.
Result<std::string> completion_for(const Grammar& grammar, const std::string& shell) {
  if (shell == "bash") return bash_completion(grammar);
  if (shell == "zsh") return zsh_completion(grammar);
  if (shell == "fish") return fish_completion(grammar);
  const std::vector<std::string> known{"bash", "zsh", "fish"};
  return fail(
      Code::kInvalidArgument,
      fmt::format("completion: {} is no shell that it knows; allowed are bash, zsh and fish{}",
                  in_quotes(shell), did_you_mean(shell, known)));
}

// --- errors about names ---

namespace {

using namespace railgauge::api;

using NameList = std::vector<std::string>;
constexpr std::uint32_t kNewest = 500;

// The names of one list; empty when it is not answered.
template <class Request, class Answer, class Rows, class Field>
NameList asked(Session& session, const Rpc<Request, Answer>& rpc, const Request& request, Rows rows,
               Field field) {
  NameList names;
  const Result<Answer> answer = call(session, rpc, request);
  if (!answer) return names;
  for (const auto& row : rows(*answer)) names.push_back((row.*field)());
  return names;
}

template <class Request>
Request newest() {
  Request request;
  request.set_limit(kNewest);
  return request;
}

using Ask = NameList (*)(Session&);
struct NamedKind {
  std::string_view name{};
  Ask ask = nullptr;
};
constexpr std::array kNamedKinds{
    NamedKind{"RUN",
              [](Session& session) {
                return asked(
                    session, rpc::kListRuns, newest<ListRunsRequest>(),
                    [](const RunList& list) { return list.runs(); }, &RunSummary::run_id);
              }},
    NamedKind{"SUITE",
              [](Session& session) {
                return asked(
                    session, rpc::kListSuites, ListSuitesRequest(),
                    [](const SuiteList& list) { return list.suites(); }, &SuiteInfo::name);
              }},
    NamedKind{"NODE",
              [](Session& session) {
                return asked(
                    session, rpc::kListNodes, ListNodesRequest(),
                    [](const NodeList& list) { return list.nodes(); }, &NodeInfo::name);
              }},
    NamedKind{"KERNEL",
              [](Session& session) {
                return asked(
                    session, rpc::kListKernels, ListKernelsRequest(),
                    [](const KernelList& list) { return list.kernels(); }, &KernelInfo::name);
              }},
    NamedKind{"SCHEDULE",
              [](Session& session) {
                return asked(
                    session, rpc::kListSchedules, ListSchedulesRequest(),
                    [](const ScheduleList& list) { return list.schedules(); }, &ScheduleInfo::name);
              }},
    NamedKind{"FINDING",
              [](Session& session) {
                return asked(
                    session, rpc::kListFindings, newest<ListFindingsRequest>(),
                    [](const FindingList& list) { return list.findings(); }, &Finding::finding_id);
              }},
    NamedKind{"UPGRADE", [](Session& session) {
                return asked(
                    session, rpc::kListUpgrades, newest<ListUpgradesRequest>(),
                    [](const UpgradeList& list) { return list.upgrades(); }, &Upgrade::upgrade_id);
              }}};

// The names of all alternatives of "RUN|FINDING".
NameList names_of(Session& session, std::string_view kinds) {
  NameList names;
  for (const std::string_view kind : split(kinds, '|')) {
    const NamedKind* found = row_where(kNamedKinds, &NamedKind::name, kind);
    if (found == nullptr) continue;
    const NameList more = found->ask(session);
    names.insert(names.end(), more.begin(), more.end());
  }
  return names;
}

// The closest name, else the verb that lists the names, where `error` is that there is no such
// thing and names no verb. "": the word is one of the names, or none is known.
std::string hint_for(const std::string& word, std::string_view kind, const NameList& names,
                     const Error& error) {
  if (names.empty() || std::ranges::find(names, word) != names.end()) return "";
  if (const std::string hint = did_you_mean(word, names); !hint.empty()) return hint;
  const NameSource* source = row_where(kSources, &NameSource::kind, kind);
  const auto says = [&](std::string_view words) {
    return error.message.find(words) != std::string::npos;
  };
  const bool is_absent = error.code == Code::kNotFound || says("not found") || says("no such run");
  return source != nullptr && is_absent && !says("railgauge ")
             ? fmt::format("; railgauge {} lists them", source->list)
             : "";
}

}  // namespace

namespace {

// Errors: kInvalidArgument for a word of a flag that is none of the names. Without names nothing is
// known.
Status check_word(std::string_view flag, const std::string& word, const NameList& names,
                  std::string_view why) {
  if (names.empty() || std::ranges::find(names, word) != names.end()) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("--{}: {}: {}, and no such point is stored{}", flag, in_quotes(word), why,
                          did_you_mean(word, names)));
}

// One list has both names, since a metric belongs to its kernels.
Status check_figure_names(Session& session, const Arguments& arguments) {
  if (!arguments.has("kernel") && !arguments.has("metric")) return {};
  const auto list = call(session, rpc::kListKernels, ListKernelsRequest());
  if (!list) return {};
  NameList kernels;
  NameList metrics;
  for (const KernelInfo& kernel : list->kernels()) {
    kernels.push_back(kernel.name());
    metrics.insert(metrics.end(), kernel.metrics().begin(), kernel.metrics().end());
  }
  constexpr std::string_view kWhy = "no kernel of an attached node has that name";
  if (arguments.has("kernel"))
    RG_TRY_OK(check_word("kernel", arguments.value("kernel"), kernels, kWhy));
  if (arguments.has("metric"))
    RG_TRY_OK(check_word("metric", arguments.value("metric"), metrics, kWhy));
  return {};
}

// One list has both, since the parts of a stack and the devices are a node's.
Status check_node_words(Session& session, const Arguments& arguments) {
  if (!arguments.has("endpoint") && !arguments.has("stack")) return {};
  ListNodesRequest request;
  request.set_with_facts(arguments.has("stack"));
  const auto list = call(session, rpc::kListNodes, request);
  if (!list) return {};
  std::set<std::string> endpoints;
  std::set<std::string> parts;
  for (const NodeInfo& node : list->nodes()) {
    for (const auto& nic : node.nics())
      endpoints.insert(fmt::format("{}:{}", nic.device(), nic.port()));
    for (const auto& gpu : node.gpus()) endpoints.insert(gpu.name());
    for (const auto* half : {&node.stack_versions(), &node.stack_settings()})
      for (const auto& [part, value] : *half) parts.insert(part);
  }
  const std::string endpoint = arguments.value("endpoint");
  if (arguments.has("endpoint"))
    RG_TRY_OK(check_word("endpoint", endpoint.substr(endpoint.find('/') + 1),
                         {endpoints.begin(), endpoints.end()}, "no node has it"));
  const std::string stack = arguments.value("stack");
  if (arguments.has("stack"))
    RG_TRY_OK(check_word("stack", stack.substr(0, stack.find('=')), {parts.begin(), parts.end()},
                         "no node reports that part of its stack"));
  return {};
}

}  // namespace

// Two calls at most, and only after an empty answer.
Status check_filters(Session& session, const Arguments& arguments) {
  RG_TRY_OK(check_figure_names(session, arguments));
  return check_node_words(session, arguments);
}

Status check_run(Session& session, const std::string& run_id) {
  if (run_id.empty()) return {};
  const NameList names = names_of(session, "RUN");
  // The list has the newest ones alone, so a word that is near none may be an older run.
  const std::string hint = did_you_mean(run_id, names);
  if (hint.empty() || std::ranges::find(names, run_id) != names.end()) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("--run: there is no run {}{}", in_quotes(run_id), hint));
}

Error with_closest_name(Session& session, const Arguments& arguments, Error error) {
  const bool is_of_name = error.code == Code::kInvalidArgument || error.code == Code::kNotFound;
  if (!is_of_name || arguments.verb->is_local ||
      error.message.find("did you mean") != std::string::npos)
    return error;
  if (const Status named = check_filters(session, arguments); !named) return named.error();
  const std::vector<std::string> kinds = kinds_of(*arguments.verb);
  for (std::size_t i = 0; i < std::min(kinds.size(), arguments.operands.size()); ++i) {
    const std::string& word = arguments.operands[i];
    if (error.message.find(word) == std::string::npos) continue;  // it is about something else
    const std::string hint = hint_for(word, kinds[i], names_of(session, kinds[i]), error);
    if (hint.empty()) continue;
    error.message += hint;
    return error;
  }
  return error;
}

Result<int> print_completion(Session& session, const Arguments& arguments) {
  session.output.out << RG_TRY(completion_for(grammar(), arguments.operand(0)));
  return kExitPassed;
}

}  // namespace railgauge::cli
