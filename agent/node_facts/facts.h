// The output of railgauge-node-facts: a fixed list of facts that an ordinary user may not read,
// each with the one capability that it needs. It only reads, and takes no path, name or variable
// from its caller.
#pragma once

#include <string>

#include "agent/node_facts/log_words.h"

namespace railgauge::agent {

// Reads the records of the kernel's log that are there now, without waiting. Returns 0, or the
// errno of the call that failed.
int read_log_records(const std::string& path, KeptLogLines& kept);

// A line for each fact: name, capability, files.
std::string privileged_facts_list();

// Reads below `root` ("" on a machine; tests pass a tree):
// "pci_config ADDRESS HEX" for each bridge, display and network function, and each function of
// Mellanox; at most 1024, 4096 bytes each.
// "kernel_log MESSAGE" for each line that log_words.h wants, at most 400, 1000 bytes each, then
// "kernel_log_end" if the log could be read at all.
std::string privileged_facts(const std::string& root);

}  // namespace railgauge::agent
