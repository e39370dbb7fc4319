// Parser of the command line: verb, operands and flags. Pure: no environment, no file.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::cli {

struct Session;
struct Arguments;

// One flag. Its name has one meaning in all verbs, since flags are read before the verb is known.
struct Flag {
  std::string_view name;   // "tls-cert", given as --tls-cert
  char letter = 0;         // also given as -o
  std::string_view value;  // what follows it, for the help text; "" for a switch
  std::string_view summary;
};

// One row of the grammar: parser, help, completion and reference page read nothing else.
struct Verb {
  std::string_view noun;      // "runs"
  std::string_view name;      // "show"; "" is what the noun does alone
  std::string_view operands;  // "RUN", "SUITE [NODESET]": brackets mark what may be left out
  std::string_view summary;
  std::string_view example;  // a whole line of use, without the program's name
  std::span<const Flag> flags;
  Result<int> (*run)(Session&, const Arguments&);  // the exit code
  bool is_local = false;                           // asks no controller, needs no TLS files
  bool is_whole = false;                           // never cut to the lines of a terminal
  std::string_view group{};                        // the heading above it in the help
};

// A spelling that the program had once. It does not run: the error shows the present one.
struct OldSpelling {
  std::string_view verb;  // "schedules pause"
  std::string_view flag;  // "strict", of that verb; "" for the verb itself
  std::string_view now;   // "schedules set SCHEDULE paused"
  // An operand that the verb took behind its present ones; the verb itself is right.
  std::string_view operand{};
};

// Returns "runs show"; the noun alone when the verb has no name.
std::string full_name(const Verb& verb);

// The words that a kind of value or operand may have, as "KIND" in help and operands.
struct Choice {
  std::string_view kind;   // "STATE"
  std::string_view words;  // "new confirmed": with blanks between them
  bool is_closed = false;  // no other word is taken
};

// The whole language of the program. The spans outlive every use.
struct Grammar {
  std::span<const Verb> verbs;
  std::span<const Flag> common;  // flags that every verb takes
  std::span<const OldSpelling> old{};
  std::span<const Choice> choices{};
};

// One parsed command line.
struct Arguments {
  const Verb* verb = nullptr;  // null: nothing was named
  std::string noun;            // set when help for a whole noun is asked
  bool help = false;
  std::vector<std::string> operands;
  std::map<std::string, std::string, std::less<>> flags;  // by name; "" for a switch

  [[nodiscard]] bool has(std::string_view flag) const { return flags.contains(flag); }
  [[nodiscard]] std::string value(std::string_view flag) const;  // "" when absent
  [[nodiscard]] std::string operand(std::size_t index) const;    // "" when absent
};

// Parses the command line. kInvalidArgument: one line with the fault and the correct form.
Result<Arguments> parse_arguments(const Grammar& grammar, std::span<const std::string> words);

// Returns the help for one verb, one noun's verbs, or everything, as `arguments` names them.
std::string help_text(const Grammar& grammar, const Arguments& arguments);

// Renders deploy/docs/reference/cli.md: every verb with its operands and flags, the flags of all
// verbs, and the exit codes. Pure; equal text on every call.
std::string command_page(const Grammar& grammar);

}  // namespace railgauge::cli
