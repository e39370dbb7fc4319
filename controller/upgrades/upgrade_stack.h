// The changes of a node's stack that make an upgrade. Pure.
#pragma once

#include <set>
#include <string>

#include "controller/store/rows/stack_parts.h"

namespace railgauge {

// "" where the stack has it, else what it has instead. PART is a key ("gpu_driver"), or its last
// word ("driver"), also of each model ("nic_firmware" for "nic_firmware.MT4129"); a version also
// matches those that refine it ("580.95" for "580.95.05").
std::string unmet_expectation(const store::StackParts& stack, const std::string& part,
                              const std::string& version);

// The changes that define an upgrade: versions; where none moved, settings; where none of these
// did, devices that went or came. A node that lost its NIC got the same upgrade as one that kept
// it. "part -> value" each. Railgauge itself is none: it measures. Nor is a module that somebody's
// first use loads.
std::set<std::string> moved_to(const store::StackParts& before, const store::StackParts& now);

// By commas; "nothing" for none.
std::string words_of(const std::set<std::string>& moved);

}  // namespace railgauge
