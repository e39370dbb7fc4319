// The two modes of railgauge-launch-shim.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace railgauge::launch {

// Replaces ssh for a launcher, with ssh's arguments in `words`. Passes them to the task's runner on
// this node, which asks the target node's; then acts as the daemon: its output, exit code and
// signals. Returns the exit code; 255, as ssh does, if the daemon was not started.
int ask(const std::vector<std::string>& words);

// Ends this process by the signal that ended another one, even if the signal is blocked here.
[[noreturn]] void die_of(int signal);

// Starts a program and stays until it AND every process that it left anywhere have ended. `words`:
// the parent's process id, the grace in milliseconds, options, the program's path, its argv.
// Orphans become our children (PR_SET_CHILD_SUBREAPER), so "no child" means "nothing is left".
// SIGTERM, also sent by the parent's death, is passed on once; after the grace, at once by SIGQUIT,
// all processes are killed. Ends as the program did; 127 if it was not started. The options
// "--confine [--hide PATH | --limit core|file|descriptors|processes=NUMBER]..." take files, signals
// and privileges from the program (confinement.h).
int keep(std::span<char* const> words);

}  // namespace railgauge::launch
