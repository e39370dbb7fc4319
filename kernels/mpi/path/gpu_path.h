// How messages in GPU memory reached the MPI's transport, from times alone: an MPI that is given
// GPU memory may read it directly, or copy through host memory inside its calls. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace railgauge::mpi {

// The times of one size, in ns for each message; 0: not measured.
struct GpuTimes {
  std::uint64_t message_bytes = 0;
  // With GPU memory given to the MPI.
  double direct_ns = 0;
  // The twin: host memory given to the MPI, each message copied to and from the GPU around the
  // call.
  double staged_ns = 0;
  // The least time in which a message can be copied from the GPU to pinned host memory.
  double copy_ns = 0;
};

// The verdict on one size.
struct GpuPath {
  // "direct", "looks staged" or "unknown".
  std::string observed{};
  // The times, for people.
  std::string evidence{};
};

// From this share of its twin's time on, a message that was given to the MPI in GPU memory takes as
// long as one that was copied.
inline constexpr double kLooksStagedShare = 0.9;
// Below this share of the copy's time a message was not copied.
inline constexpr double kNotCopiedShare = 0.9;
// Smaller messages may be copied by the CPU through the BAR, faster than by the GPU's copy engine:
// no time shows that they were not.
inline constexpr std::uint64_t kLeastProvenBytes = 256U << 10U;

// Judges the times. "direct" needs a message of at least kLeastProvenBytes that took less than its
// copy alone.
GpuPath gpu_path_of(const GpuTimes& times);

}  // namespace railgauge::mpi
