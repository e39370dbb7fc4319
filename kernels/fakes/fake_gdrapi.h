// GDRCopy's library without hardware: libgdrapi-fake.so, loaded through RAILGAUGE_LIBGDRAPI. GPU
// memory of libcuda-fake.so is host memory, so a mapping is the memory itself.
//
// Tests link it and control it here; other processes by RAILGAUGE_FAKE_GDRAPI=NAME=VALUE,... with
// the names below. Thread safe.
#pragma once

#include <atomic>
#include <cstdint>

namespace railgauge::fake {

struct GdrapiControl {
  std::atomic<std::uint64_t> calls{0};        // since reset(), except releases
  std::atomic<std::uint64_t> fail_call{0};    // this call fails, once; 0: none
  std::atomic<std::uint64_t> fail_error{22};  // with this errno
  std::atomic<std::int64_t> live_handles{0};  // sessions, pinned buffers and mappings

  std::atomic<std::uint64_t> no_driver{0};        // 1: gdrdrv is missing, gdr_open returns nullptr
  std::atomic<std::uint64_t> dmabuf_mmap{0};      // 1: reports that it maps by dma-buf
  std::atomic<std::uint64_t> mapping_type{1};     // write-combined
  std::atomic<std::uint64_t> map_other{0};        // 1: maps other memory than was pinned
  std::atomic<std::uint64_t> asked_mapping{0};    // by the last gdr_map_v2, which then maps so
  std::atomic<std::uint64_t> ignores_mapping{0};  // 1: gdr_map_v2 maps by mapping_type all the same

  std::atomic<std::uint64_t> copies{0};        // by the library, since reset()
  std::atomic<std::uint64_t> drops_end_of{0};  // copies of so many bytes lose the last one

  // Resets to the values in RAILGAUGE_FAKE_GDRAPI; live handles stay.
  void reset();
};

// Returns the control of the loaded library, one a process.
GdrapiControl& gdrapi_control();

}  // namespace railgauge::fake
