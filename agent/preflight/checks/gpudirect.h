// The GPUDirect verdict of a GPU and its NIC: works, and by which mechanism, or the obstacle and
// its remedy. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "agent/preflight/rules/check.h"
#include "controller/api/agent.pb.h"

namespace railgauge::agent {

// Judges each GPU with its nearest NICs; a GPU without a NIC has one entry without a NIC. `node`
// stays "". Only a successful registration is "yes"; met conditions alone are "unknown", with the
// command that would prove them.
std::vector<api::GpuDirectPair> gpudirect_pairs(const CheckInput& input);

struct GpuNicPair;
// Returns the answer of that pair, or nullptr.
const ProbeAnswer* find_answer(std::span<const ProbeAnswer> answers, const GpuNicPair& pair);
// Returns "; 3 min ago: registered by dma-buf", the remembered answer of a pair that was not tried
// now or whose GPU is busy; "" without one. Defined in registration.cc.
std::string last_answer_words(const CheckInput& input, const GpuNicPair& pair);

}  // namespace railgauge::agent
