// GPU memory for the fake wire. With the fake CUDA driver it is host memory and copied as such.
// With a real driver the wire copies by the driver, so that polling GPU kernels, flushes and staged
// pipelines are real and only the wire is fake. The copies run in the GPU's primary context (a
// kernel that spins in one context holds up other contexts of its GPU for whole time slices), on a
// separate stream. Uses the CUDA library that the process has loaded already, and loads none.
#pragma once

#include <cstddef>
#include <cstdint>

namespace railgauge::fake {

enum class Place : std::uint8_t { kHost, kFakeGpu, kGpu };
// Returns the place of the memory. Called at its registration, with its context current.
Place place_of(std::uint64_t address, std::size_t bytes);

// Add and remove a registered range of kGpu. Adding fails when the driver gives no stream.
bool add_gpu_range(std::uint64_t address, std::size_t bytes);
void remove_gpu_range(std::uint64_t address);
// Reports whether only the driver can copy there.
bool is_in_gpu_range(std::uint64_t address);

// Copy by the driver and return when complete. The last four bytes come last and in one piece.
bool copy_to_gpu(std::uint64_t address, const void* bytes, std::size_t count);
bool copy_from_gpu(std::uint64_t address, void* bytes, std::size_t count);

// With the fake CUDA driver: returns whether the driver holds the write back and will place it
// itself; otherwise the caller places it. An adapter's read there first pushes the held writes.
bool holds_write(std::uint64_t address, const void* bytes, std::size_t count);
void push_held_writes(std::uint64_t address, std::size_t count);

struct Exported {
  std::uint64_t begin = 0;
  unsigned long long flags = 0;  // of cuMemGetHandleForAddressRange
};
// Returns whether `fd` is a dma-buf of the loaded CUDA library, and what was exported. A real
// driver does not report this: any open descriptor then counts as one of `wanted`.
bool exported_range(int fd, std::uint64_t wanted, Exported& exported);

}  // namespace railgauge::fake
