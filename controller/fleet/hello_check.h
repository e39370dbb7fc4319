// The bounds of what an agent says about itself. Nothing of a Hello that is beyond them is logged,
// stored or kept. Pure; thread safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "controller/api/agent.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::fleet {

inline constexpr std::size_t kMaxHelloBytes = 1U << 20U;
inline constexpr int kMaxNics = 256;
inline constexpr int kMaxGpus = 64;
inline constexpr int kMaxKernels = 512;
inline constexpr std::size_t kMaxFactBytes = 64U << 10U;  // of facts and stack together
inline constexpr std::size_t kMaxTextBytes = 4U << 10U;   // of any one text
inline constexpr std::size_t kMaxNameBytes = 253;
inline constexpr std::size_t kMaxIdBytes = 64;

// Whether the text may be a node's name. A name is part of endpoints (node/DEV:PORT) and node sets,
// so their separators are not allowed in it.
bool is_node_name(std::string_view name);
// kInvalidArgument: the Hello, one of its lists or one of its texts is larger than the bounds
// above, or its name or ids are none. The message holds no text of the Hello beyond its name.
Status check_bounds(const api::Hello& hello);

// Shortens and cleans what an attached agent says later, so that each text is one line of bounded
// length: the work that keeps its node busy, and the reasons of its refusals and ends.
void bound_texts(api::AgentMessage& message);

// One line of at most 512 bytes.
std::string short_line(std::string_view text);

}  // namespace railgauge::fleet
