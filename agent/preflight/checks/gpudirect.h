// The one line that people look for: whether a GPU and its NIC speak GPUDirect, by what, or why not
// and what to do. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "agent/preflight/rules/check.h"
#include "controller/api/agent.pb.h"

namespace railgauge::agent {

// Each GPU with its nearest NICs; one entry without a NIC for a GPU that has none. `node` stays "".
// Only a registration says "yes"; what is merely in place is "unknown", with what would prove it.
std::vector<api::GpuDirectPair> gpudirect_pairs(const CheckInput& input);

struct GpuNicPair;
// The answer of that pair; nullptr: there is none.
const ProbeAnswer* find_answer(std::span<const ProbeAnswer> answers, const GpuNicPair& pair);
// "; 3 min ago: registered by dma-buf", the last answer of a registration that was not tried now or
// found a busy GPU; "" where none is remembered. In registration.cc.
std::string last_answer_words(const CheckInput& input, const GpuNicPair& pair);

}  // namespace railgauge::agent
