// NVML without hardware: libnvidia-ml-fake.so, loaded through RAILGAUGE_LIBNVML. Lists the GPUs of
// libcuda-fake.so by their PCI addresses.
//
// Tests link it and control it here; other processes by RAILGAUGE_FAKE_NVML=NAME=VALUE,... with the
// names below. Thread safe.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace railgauge::fake {

struct NvmlControl {
  std::atomic<std::uint64_t> calls{0};         // since reset()
  std::atomic<std::uint64_t> fail_call{0};     // this call fails, once; 0: none
  std::atomic<std::uint64_t> fail_error{999};  // with this nvmlReturn_t
  std::atomic<std::int64_t> live_handles{0};   // nvmlInit without nvmlShutdown

  std::atomic<std::uint64_t> gpus{2};
  std::atomic<std::uint64_t> mig{0};
  std::atomic<std::uint64_t> throttle{0};        // clocks' reasons, as nvmlClocksEventReasons
  std::atomic<std::uint64_t> throttle_gpu{0};    // of this GPU; the others have none
  std::atomic<std::uint64_t> throttle_after{0};  // not before this many readings
  std::atomic<std::uint64_t> throttle_until{0};  // not after this many; 0: no end
  std::atomic<std::uint64_t> power_held_ns{0};   // of throttle_gpu: its counter of the power cap
  std::atomic<std::uint64_t> heat_held_ns{0};    // and of the thermal slowdown by software
  std::atomic<std::uint64_t> no_fields{0};       // 1: no counters as field values
  std::atomic<std::uint64_t> no_violations{0};   // 1: nor as violation times
  std::atomic<std::uint64_t> busy_pid{0};        // a process on GPU busy_gpu; 0: none
  std::atomic<std::uint64_t> busy_gpu{0};        //
  // Readings of that GPU's processes before busy_pid appears, like a process that starts meanwhile;
  // 0: always present.
  std::atomic<std::uint64_t> busy_after{0};
  std::atomic<std::uint64_t> graphics_pid{0};  // on GPU busy_gpu too, without a compute context
  std::atomic<std::uint64_t> no_processes{0};  // 1: no list of processes
  // The asking process under a foreign number: a process on each GPU from the second reading of its
  // processes on; 0: none.
  std::atomic<std::uint64_t> foreign_pid{0};
  std::atomic<std::uint64_t> utilization{0};        // percent
  std::atomic<std::uint64_t> utilization_looks{0};  // readings until it falls to 0; 0: it stays
  std::atomic<std::uint64_t> no_clocks{0};          // 1: no clocks and no reasons
  std::atomic<std::uint64_t> sm_clock_mhz{1980};
  std::atomic<std::uint64_t> remapped_rows{0};  // of each GPU, after uncorrectable errors
  std::atomic<std::uint64_t> remap_pending{0};  // 1: more wait for a reset
  std::atomic<std::uint64_t> nvlinks{0};        // of each GPU, all up
  std::atomic<std::uint64_t> nvlink_error{0};   // what the last link answers; 0: it is up
  // 1: adds memory errors, modes, BAR1 and fabric, with these values (fake_nvml_health.cc).
  std::atomic<std::uint64_t> health{0};
  std::atomic<std::uint64_t> health_error{0};  // what these calls return instead
  std::atomic<std::uint64_t> ecc{1};
  std::atomic<std::uint64_t> ecc_errors{0};  // uncorrected, since the driver was loaded
  std::atomic<std::uint64_t> persistence{1};
  std::atomic<std::uint64_t> compute_mode{0};
  std::atomic<std::uint64_t> fabric{0};           // nvmlGpuFabricState_t
  std::atomic<std::uint64_t> first_bus{0};        // PCI bus of the first GPU; 0: libcuda-fake.so's
  std::atomic<std::uint64_t> reason_readings{0};  // since reset()
  std::atomic<std::uint64_t> utilization_readings{0};             // since reset()
  std::array<std::atomic<std::uint64_t>, 16> process_readings{};  // since reset(), of each GPU

  // Resets to the values in RAILGAUGE_FAKE_NVML; live handles stay.
  void reset();
};

// Returns the control of the loaded library, one a process.
NvmlControl& nvml_control();

}  // namespace railgauge::fake
