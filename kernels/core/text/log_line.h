// The one form of the programs' logs: controller and agent write it by their logger, the runner by
// log_line(). Pure; thread safe.
#pragma once

#include <string>
#include <string_view>

namespace railgauge {

// The first words of a message, where the house's form is "run R task T attempt N rank N: text" or
// "node N: text". Views into the message; empty where it has no such word.
struct LogSubject {
  std::string_view run;
  std::string_view task;
  std::string_view attempt;
  std::string_view rank;
  std::string_view node;
};
// Reads pairs of a word and its value from the message's beginning; ends at a value with a colon.
LogSubject subject_of(std::string_view message);

// The members of a line of json after its time and level: program, the message's subject, message.
// `node`: of a message that names none; "": unknown. `message` is one line of visible characters.
std::string log_members(std::string_view program, std::string_view node, std::string_view message);

// A line with its end: "2026-11-27T19:11:13.173Z error message", or an object. Characters that are
// not visible are escaped. `at`: unix seconds.
std::string log_line(std::string_view program, std::string_view level, std::string_view message,
                     double at, bool is_json);

}  // namespace railgauge
