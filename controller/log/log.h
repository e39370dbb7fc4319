// The log of controller, agent and modelled fleet on stderr.
#pragma once

#include <string>

namespace railgauge {

struct LogOptions {
  std::string program;          // as "controller"
  std::string level = "info";   // lines of at least this level: debug, info, warn or error
  std::string format = "text";  // or json
  std::string node{};           // of an agent, which json has in each line
};

// Makes the program's log. A line of text is "2026-11-27T19:11:13.173Z info message", in UTC. A
// line of json is an object with time, level, program, message, and run, task, attempt, rank and
// node where the message begins with them. A message is one line of visible characters, whatever
// peers, files and libraries put into it: no text can forge a line or steer a terminal. Call it
// before other threads exist.
void set_up_log(const LogOptions& options);
// Another level from now on. Thread safe.
void set_log_level(const std::string& level);

}  // namespace railgauge
