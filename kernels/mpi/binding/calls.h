// The calls of the kernels into MPI. Implementations differ in their binary interface, so only
// binding.cc includes <mpi.h> and is compiled once for each; the kernels are compiled once and use
// this table. One call through it costs about a nanosecond.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::mpi {

// Support for device pointers as arguments.
struct CudaSupport {
  std::optional<bool> built;  // with CUDA; absent when the MPI does not report it
  // MPIX_Query_cuda_support in this process; absent when the MPI lacks it.
  std::optional<bool> enabled;
  [[nodiscard]] bool usable() const { return enabled.value_or(false) && built.value_or(true); }
};

// MPI_COMM_WORLD of this process, used from one thread. An error inside MPI ends all ranks with
// MPI's own message (MPI_ERRORS_ARE_FATAL), so measured calls return no status.
class Calls {
 public:
  // Does not end MPI: only finalize() does, with all ranks.
  virtual ~Calls() = default;

  // Returns the binary interface: "openmpi" or "mpich".
  [[nodiscard]] virtual std::string implementation() const = 0;
  // Loads the library. kNotFound, kUnimplemented. Call it first; repeated calls are allowed.
  virtual Status load() = 0;
  // Calls MPI_Init, with all ranks; repeated calls are allowed.
  virtual Status init() = 0;
  // Calls MPI_Finalize, with all ranks, if MPI was initialised.
  virtual void finalize() = 0;

  // Returns, after load(), the library's reported name and version, and its path; after init() also
  // its choices: mpi_pml, mpi_mtl.
  [[nodiscard]] virtual std::map<std::string, std::string> facts() const = 0;
  // Returns which of `names` the MPI has as control variables; call between load() and init(). Asks
  // in a separate process: Open MPI reads its environment at the first query and ignores later
  // changes. kUnavailable or kInternal when that process gave no answer.
  [[nodiscard]] virtual Result<std::set<std::string>> controls_among(
      const std::vector<std::string>& names) const = 0;
  // Returns the support. Call after init().
  [[nodiscard]] virtual CudaSupport cuda_support() const = 0;
  // Return this process's place in MPI_COMM_WORLD. Call after init().
  [[nodiscard]] virtual std::uint32_t rank() const = 0;
  [[nodiscard]] virtual std::uint32_t size() const = 0;

  // Call MPI_Send and MPI_Recv with bytes: both return when the buffer may be reused.
  virtual void send(const void* data, std::size_t bytes, std::uint32_t to) = 0;
  virtual void receive(void* data, std::size_t bytes, std::uint32_t from) = 0;
  // Start request number `slot`, from 0 without gaps until wait_all(count) has ended them.
  virtual void begin_send(std::size_t slot, const void* data, std::size_t bytes,
                          std::uint32_t to) = 0;
  virtual void begin_receive(std::size_t slot, void* data, std::size_t bytes,
                             std::uint32_t from) = 0;
  // Calls MPI_Waitall for the slots below `count`.
  virtual void wait_all(std::size_t count) = 0;
  // Reserves room for `requests`, before the timed loop, so that no timed call allocates.
  virtual void reserve(std::size_t requests) = 0;

  // Collectives of all ranks (MPI 3.1, chapter 5). `bytes` is one rank's message. Buffers follow
  // the standard and have equal lengths on every rank.
  virtual void barrier() = 0;
  virtual void broadcast(void* data, std::size_t bytes, std::uint32_t root) = 0;
  virtual void gather(const void* mine, std::size_t bytes, void* all, std::uint32_t root) = 0;
  virtual void all_gather(const void* mine, std::size_t bytes, void* all) = 0;
  virtual void all_to_all(const void* data, std::size_t bytes_each, void* received) = 0;
  // Sum 32-bit floats.
  virtual void reduce(const void* data, void* sum, std::size_t floats, std::uint32_t root) = 0;
  virtual void all_reduce(const void* data, void* sum, std::size_t floats) = 0;
  // `floats_of_rank` has an entry for each rank.
  virtual void reduce_scatter(const void* data, void* sum, std::span<const int> floats_of_rank) = 0;

  // Exposes memory to writes and reads of the other ranks; with all ranks, one memory at a time.
  // kFailedPrecondition, on all ranks, when the MPI has no one-sided transport between them.
  virtual Status expose(void* memory, std::size_t bytes) = 0;
  // Calls MPI_Win_free, with all ranks; does nothing when no memory is exposed.
  virtual void unexpose() = 0;
  // Access rank `to`'s or `from`'s memory at `offset`. Complete, also there, after flush().
  virtual void put(const void* data, std::size_t bytes, std::uint32_t to, std::size_t offset) = 0;
  virtual void get(void* data, std::size_t bytes, std::uint32_t from, std::size_t offset) = 0;
  // Calls MPI_Win_flush: returns when all puts and gets to that rank are complete there and here.
  virtual void flush(std::uint32_t rank) = 0;
  // Makes the writes of other ranks visible to this rank's loads, after a barrier that announced
  // their end.
  virtual void sync() = 0;
};

// Returns the MPI of this program, or nullptr without one (railgauge-runner).
Calls* linked();

}  // namespace railgauge::mpi
