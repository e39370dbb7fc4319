// The two things that railgauge-launch-shim does.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace railgauge::launch {

// Called by a launcher in place of ssh, with the words that it would give to that: hands them to
// the runner of the task on this node, which asks the target's, and is the daemon's stand-in from
// then on: its output, exit code and signals. The exit code; 255 as ssh where nothing was started.
int ask(const std::vector<std::string>& words);

// Ends this process by the signal that ended another one; it may be blocked here.
[[noreturn]] void die_of(int signal);

// `words`: our parent's process id, the grace in milliseconds, a program's path, its argv. Starts
// the program and stays until it AND every process that it left anywhere are gone: what loses its
// parent becomes our child (PR_SET_CHILD_SUBREAPER), so that "no child" means "nothing is left".
// SIGTERM, also by the parent's death, is passed on once; after the grace all are killed. Ends as
// the program did.
int keep(std::span<char* const> words);

}  // namespace railgauge::launch
