// A pointer chase by one GPU thread: each load's address is the result of the load before it, so
// the time of one load is the time to the memory and back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/core/sampling.h"
#include "kernels/cuda/route/area.h"
#include "kernels/cuda/route/lanes.h"
#include "kernels/gpu/device_code.h"
#include "kernels/gpu/session/session.h"

namespace railgauge::cuda {

// Bytes of a line, with one node in each: no two nodes share an access.
inline constexpr std::uint64_t kLineBytes = 128;

// Lines of a chain in `bytes` of memory: as many as fit, less the few that leave a number with no
// divisor in common with `accesses`. So a launch that does nothing leaves the chase on a line where
// no other number of launches below the chain's length ends. All that fit where no number from 2 on
// is such. Pure.
std::uint64_t chain_lines(std::uint64_t bytes, std::uint64_t accesses);
// The order in which a chain visits `lines` lines, from line 0, each once: upwards, or at random
// from `seed`. At least 2. Pure.
std::vector<std::uint32_t> chain_order(std::uint64_t lines, bool random, std::uint64_t seed);
// A buffer of such a chain that begins at `address`: each line's first word is the address of the
// next one, the last's is the first's. The rest is zero. Pure.
std::vector<std::uint64_t> chain_words(const std::vector<std::uint32_t>& order,
                                       std::uint64_t address);

// Samples in a row that visit all multiprocessors. Some multiprocessors are nearer to the link than
// others, by some per cent. A sample therefore visits a tenth of them, from one end of the chip to
// the other, with a launch on each. So the result does not depend on where a run stopped. Odd,
// because neighbouring multiprocessors work in pairs and so fall into different samples.
inline constexpr unsigned kRounds = 11;
// Launches in a sample on a GPU of so many multiprocessors. Pure.
unsigned launches_in_sample(unsigned multiprocessors);
// The multiprocessor of launch number `launch`, counted from 0. Pure.
unsigned multiprocessor_of(std::uint64_t launch, unsigned multiprocessors);

// A chase of one GPU through one buffer. Needs the parameters of add_chase(). Movable. Not thread
// safe.
class Chase {
 public:
  // In Kernel::prepare: `reader` chases through `memory`, which has at least the parameter `buffer`
  // of bytes. Waives without device code. Both outlive the chase.
  static Result<Chase> prepare(const Context& context, const gpu::Gpu& reader, const Area& memory);
  // Samples, compares the end of the chain with the expected one, reports the point. `pair` names
  // the two ends, or is "".
  Status measure(Context& context, gpu::Session& session, const std::string& pair);
  // The form of the device code, as LoadedCode::image(): a fact.
  [[nodiscard]] const std::string& image() const { return code_.image(); }

 private:
  Chase() = default;
  Status lay_chain(const Area& memory) const;
  Status queue(cu::Stream stream, std::uint64_t launch) const;
  Status verify(std::uint64_t launches) const;
  Result<Sampled> sample(Context& context, gpu::Session& session, Lanes& lanes) const;

  // The GPU that loads; it outlives this.
  const gpu::Gpu* reader_ = nullptr;
  // The address of line 0, as the reader sees it.
  cu::DevicePtr address_ = 0;
  std::string memory_name_;
  std::vector<std::uint32_t> order_;
  // Accesses of one launch.
  unsigned accesses_ = 0;
  unsigned multiprocessors_ = 1;
  gpu::LoadedCode code_;
  cu::Function function_ = nullptr;
  // One word in the reader's memory: the address that the chase has reached.
  gpu::Lent<GpuBuffer> state_;
};

// The parameter `buffer` in bytes; kInvalidArgument when it is shorter than two lines.
Result<std::uint64_t> chain_bytes(const Params& params);

}  // namespace railgauge::cuda
