// The output of railgauge-node-facts: a fixed list of facts that an ordinary user may not read,
// each with the one capability that it needs. The program only reads, and takes no path, name or
// variable from its caller.
#pragma once

#include <string>

#include "agent/node_facts/log_words.h"

namespace railgauge::agent {

// Reads the present records of the kernel's log without waiting. Returns 0, or the errno of the
// failed call.
int read_log_records(const std::string& path, KeptLogLines& kept);

// Returns a line for each fact: name, capability, files.
std::string privileged_facts_list();

// Reads all facts below `root` ("" on a machine; tests pass a tree) and returns these lines:
// "pci_config ADDRESS HEX" for each bridge, display and network function and each function of
// Mellanox, among 1024 functions at most; 4096 bytes each. "kernel_log MESSAGE" for each line that
// log_words.h wants, at most 400, 1000 bytes each, then "kernel_log_end" if the log could be read,
// with " cut" if decisive lines were lost.
std::string privileged_facts(const std::string& root);

}  // namespace railgauge::agent
