// GPU memory as the fake wire meets it. Behind the fake CUDA driver it is the host's and copied
// like it. Behind a real driver the wire copies by that driver, so that polling GPU kernels,
// flushes and staged pipelines are real and only the wire is not: in the GPU's primary context (a
// kernel that spins in one context holds up another context of its GPU for whole time slices), on a
// stream of its own. Asks the CUDA library that the process has loaded already, and loads none.
#pragma once

#include <cstddef>
#include <cstdint>

namespace railgauge::fake {

enum class Place : std::uint8_t { kHost, kFakeGpu, kGpu };
// The memory there. Called where the memory is registered: its context is current there.
Place place_of(std::uint64_t address, std::size_t bytes);

// A range of kGpu from its registration on. Adding fails where the driver gives no stream.
bool add_gpu_range(std::uint64_t address, std::size_t bytes);
void remove_gpu_range(std::uint64_t address);
// Whether only the driver can copy there.
bool is_in_gpu_range(std::uint64_t address);

// By the driver; done when they return. The last four bytes come last and in one piece.
bool copy_to_gpu(std::uint64_t address, const void* bytes, std::size_t count);
bool copy_from_gpu(std::uint64_t address, void* bytes, std::size_t count);

// Behind the fake CUDA driver: returns whether it holds the write back from its GPU and will place
// it itself; otherwise the caller places it. An adapter's read there pushes the held writes before
// it.
bool holds_write(std::uint64_t address, const void* bytes, std::size_t count);
void push_held_writes(std::uint64_t address, std::size_t count);

// The range of a dma-buf of the loaded CUDA library: true and its beginning. A real driver does not
// report it: then any open descriptor counts as one of `wanted`.
bool exported_range(int fd, std::uint64_t wanted, std::uint64_t& begin);

}  // namespace railgauge::fake
