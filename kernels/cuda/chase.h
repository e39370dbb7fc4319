// A pointer chase by one GPU thread: each load yields the address of the next one, so the time of
// one load is the round trip to the memory.
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

// Bytes of a line; each has one node, so no two nodes share an access.
inline constexpr std::uint64_t kLineBytes = 128;

// Returns the lines of a chain in `bytes` of memory: as many as fit, less the few that make the
// number coprime to `accesses`. A launch without effect then leaves the chase on a line where no
// other number of launches below the chain's length ends. All that fit when no number from 2 on is
// coprime. Pure.
std::uint64_t chain_lines(std::uint64_t bytes, std::uint64_t accesses);
// Returns the order in which a chain visits `lines` lines (at least 2), from line 0, each once:
// upwards, or at random from `seed`. Pure.
std::vector<std::uint32_t> chain_order(std::uint64_t lines, bool random, std::uint64_t seed);
// Returns the words of such a chain at `address`: each line's first word is the address of the next
// line, the last line's that of the first; other words are zero. Pure.
std::vector<std::uint64_t> chain_words(const std::vector<std::uint32_t>& order,
                                       std::uint64_t address);

// Samples in a row that visit all multiprocessors. The distance of a multiprocessor to the link
// changes its time by some per cent, so each sample launches on a tenth of them, spread from one
// end of the chip to the other, and the result does not depend on where a run stopped. Odd, because
// neighbouring multiprocessors work in pairs and thus fall into different samples.
inline constexpr unsigned kRounds = 11;
// Returns the launches in a sample on a GPU with this number of multiprocessors. Pure.
unsigned launches_in_sample(unsigned multiprocessors);
// Returns the multiprocessor of launch number `launch`, counted from 0. Pure.
unsigned multiprocessor_of(std::uint64_t launch, unsigned multiprocessors);

// Returns the fact `buffer` of a chain of `bytes` beside the cache of its memory's owner, of
// `cache_bytes` (0: not known): "cold", or "hot: ", or "not known: ", and the reason. A chain
// goes round and round, so a load finds its line in the cache where the chain fits. Pure.
std::string chain_buffer_words(std::uint64_t bytes, std::uint64_t cache_bytes);

// A chase by one GPU through one buffer. Needs the parameters of add_chase(). Movable. Not thread
// safe.
class Chase {
 public:
  // Prepares a chase by `reader` through `memory` of at least the parameter `buffer`; both outlive
  // the chase. Waives without device code. For Kernel::prepare.
  static Result<Chase> prepare(const Context& context, const gpu::Gpu& reader, const Area& memory);
  // Samples, compares the end of the chain with the expected one, and reports the point. `pair`
  // names the two ends, or is "".
  Status measure(Context& context, gpu::Session& session, const std::string& pair);
  // Returns the form of the device code for a fact, as LoadedCode::image().
  [[nodiscard]] const std::string& image() const { return code_.image(); }

 private:
  Chase() = default;
  Status lay_chain(const Area& memory) const;
  Status queue(cu::Stream stream, std::uint64_t launch) const;
  Status verify(std::uint64_t launches) const;
  Result<Sampled> sample(Context& context, gpu::Session& session, Lanes& lanes) const;

  // The GPU that loads; outlives this object.
  const gpu::Gpu* reader_ = nullptr;
  // The address of line 0 as the reader sees it.
  cu::DevicePtr address_ = 0;
  std::string memory_name_;
  // The fact `buffer`.
  std::string buffer_;
  std::vector<std::uint32_t> order_;
  // Accesses of one launch.
  unsigned accesses_ = 0;
  unsigned multiprocessors_ = 1;
  gpu::LoadedCode code_;
  cu::Function function_ = nullptr;
  // One word in the reader's memory: the address that the chase has reached.
  gpu::Lent<GpuBuffer> state_;
};

// Returns the parameter `buffer` in bytes; kInvalidArgument when it is below two lines.
Result<std::uint64_t> chain_bytes(const Params& params);

}  // namespace railgauge::cuda
