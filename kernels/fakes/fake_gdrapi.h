// GDRCopy's library without hardware: libgdrapi-fake.so, taken by the loader through
// RAILGAUGE_LIBGDRAPI. The GPU memory of libcuda-fake.so is the host's, so a mapping is the memory.
//
// Tests link it and steer it here; other processes by RAILGAUGE_FAKE_GDRAPI=NAME=VALUE,... with the
// names below. Thread safe.
#pragma once

#include <atomic>
#include <cstdint>

namespace railgauge::fake {

struct GdrapiControl {
  std::atomic<std::uint64_t> calls{0};        // since reset(), but for releases
  std::atomic<std::uint64_t> fail_call{0};    // this call fails, once; 0: none
  std::atomic<std::uint64_t> fail_error{22};  // with this errno
  std::atomic<std::int64_t> live_handles{0};  // sessions, pinned buffers and mappings

  std::atomic<std::uint64_t> no_driver{0};     // 1: gdrdrv is not there, gdr_open gives nothing
  std::atomic<std::uint64_t> dmabuf_mmap{0};   // 1: says that it maps by dma-buf
  std::atomic<std::uint64_t> mapping_type{1};  // write-combined
  std::atomic<std::uint64_t> map_other{0};     // 1: what is mapped is not what was pinned

  // Back to what RAILGAUGE_FAKE_GDRAPI says; live handles stay.
  void reset();
};

// The loaded library's own, one for the process.
GdrapiControl& gdrapi_control();

}  // namespace railgauge::fake
