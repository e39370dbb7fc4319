// The proof after a size's timed part: many calls, each with input of its own by its number, and
// every element of every result compared by the GPU. See kernels/core/proof/proof_plan.h.
#pragma once

#include <cstdint>

#include "kernels/core/proof/proof_plan.h"
#include "kernels/dl/cuda.h"
#include "kernels/nccl/communicator/team.h"
#include "kernels/nccl/figures.h"
#include "kernels/nccl/operation.h"
#include "kernels/nccl/stage.h"

namespace railgauge::nccl {

// Returns the part of rank `rank` in a call with shares of `count` elements.
Share share_of(const Plan& plan, std::uint32_t rank, std::uint64_t count);

// Returns the bytes from one place of the timed calls to the next: those of the longest buffer of
// any rank in a call with shares of `count` elements, up to a multiple of 16. Not 0.
std::uint64_t place_bytes(const Operation& operation, const Plan& plan, std::uint64_t count);
// Returns the places that cover the plan's cold memory; 1 where there is none.
std::uint64_t places_of(const Plan& plan, std::uint64_t place_bytes);
// Reports whether the timed calls walk through all of the cold memory before they come back to a
// place. A graph repeats the places of its calls, so a short one of small messages does not.
bool is_cold(const Operation& operation, const Plan& plan, std::uint64_t count);

// The slots of one size, equal on all ranks.
struct ProofShape {
  std::uint64_t slots = 1;
  // From one slot to the next: at least the longest buffer of any rank.
  std::uint64_t stride_bytes = 0;
};
// Returns the slots of shares of `count` elements; a graph has at most as many as its timed calls.
ProofShape proof_shape(const Operation& operation, const Plan& plan, std::uint64_t count);

// Returns the bytes that all ranks together receive, and compare, in one such call.
std::uint64_t compared_bytes(const Operation& operation, const Plan& plan, std::uint64_t count);

// On rank 0: checks what the timed calls left, then has rounds of calls proved, each an order to
// all ranks, until this size's share is proved or its time over. Writes what was proved to
// `measured`.
Status prove_size(Team& team, const Team::Perform& perform, const Operation& operation,
                  const Plan& plan, const ProofShare& share, Measured& measured);

// Written over receive buffers, so that an element that did not arrive is wrong.
inline constexpr unsigned char kPoison = 0xa5;

// NOLINTNEXTLINE(performance-no-int-to-ptr): addresses are numbers in CUDA's interface
inline void* pointer_to(cu::DevicePtr address) { return reinterpret_cast<void*>(address); }
// The way back of pointer_to().
inline cu::DevicePtr address_of(const void* memory) {
  return reinterpret_cast<cu::DevicePtr>(memory);
}

}  // namespace railgauge::nccl
