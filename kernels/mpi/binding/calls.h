// The calls that kernels make into an MPI. Implementations differ in their binary interface, so
// only binding.cc includes <mpi.h>, compiled once for each of them; the kernels, compiled once, use
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

// Whether device pointers may be passed.
struct CudaSupport {
  std::optional<bool> built;  // with CUDA; absent where the MPI does not say
  // MPIX_Query_cuda_support in this process; absent where it lacks it.
  std::optional<bool> enabled;
  [[nodiscard]] bool usable() const { return enabled.value_or(false) && built.value_or(true); }
};

// MPI_COMM_WORLD of this process, from one thread. An error inside MPI ends all ranks with MPI's
// own words (MPI_ERRORS_ARE_FATAL), so measured calls return no status.
class Calls {
 public:
  // Does not end MPI: finalize() does, and only with all ranks.
  virtual ~Calls() = default;

  // "openmpi" or "mpich": by which binary interface it was built.
  [[nodiscard]] virtual std::string implementation() const = 0;
  // Loads the library. kNotFound, kUnimplemented. Call it first; may be called again.
  virtual Status load() = 0;
  // MPI_Init, with all ranks; may be called again.
  virtual Status init() = 0;
  // MPI_Finalize, with all ranks, if it was initialised.
  virtual void finalize() = 0;

  // After load(): name and version as the library says, its path. After init() also what it chose:
  // mpi_pml, mpi_mtl.
  [[nodiscard]] virtual std::map<std::string, std::string> facts() const = 0;
  // After load(), before init(): which of them the MPI has as control variables. Asked in a process
  // of its own: Open MPI reads its environment when it is first asked, and what is set later would
  // be ignored. kUnavailable, kInternal where that process did not answer.
  [[nodiscard]] virtual Result<std::set<std::string>> controls_among(
      const std::vector<std::string>& names) const = 0;
  // After init().
  [[nodiscard]] virtual CudaSupport cuda_support() const = 0;
  // This process in MPI_COMM_WORLD. After init().
  [[nodiscard]] virtual std::uint32_t rank() const = 0;
  [[nodiscard]] virtual std::uint32_t size() const = 0;

  // MPI_Send and MPI_Recv of bytes: both return when the buffer may be used again.
  virtual void send(const void* data, std::size_t bytes, std::uint32_t to) = 0;
  virtual void receive(void* data, std::size_t bytes, std::uint32_t from) = 0;
  // Request number `slot`, from 0 without gaps until wait_all(count) has ended them.
  virtual void begin_send(std::size_t slot, const void* data, std::size_t bytes,
                          std::uint32_t to) = 0;
  virtual void begin_receive(std::size_t slot, void* data, std::size_t bytes,
                             std::uint32_t from) = 0;
  // MPI_Waitall over the slots below `count`.
  virtual void wait_all(std::size_t count) = 0;
  // Makes room for so many requests. Call it before the timed loop, so that no timed call
  // allocates.
  virtual void reserve(std::size_t requests) = 0;

  // Collectives of all ranks (MPI 3.1, chapter 5). `bytes` is one rank's message. Buffers are as
  // the standard has them, of the same length on every rank.
  virtual void barrier() = 0;
  virtual void broadcast(void* data, std::size_t bytes, std::uint32_t root) = 0;
  virtual void gather(const void* mine, std::size_t bytes, void* all, std::uint32_t root) = 0;
  virtual void all_gather(const void* mine, std::size_t bytes, void* all) = 0;
  virtual void all_to_all(const void* data, std::size_t bytes_each, void* received) = 0;
  // Sums of 32-bit floats.
  virtual void reduce(const void* data, void* sum, std::size_t floats, std::uint32_t root) = 0;
  virtual void all_reduce(const void* data, void* sum, std::size_t floats) = 0;
  // `floats_of_rank` has an entry for each rank.
  virtual void reduce_scatter(const void* data, void* sum, std::span<const int> floats_of_rank) = 0;

  // Memory that the other ranks may write and read from now on; with all ranks, one at a time.
  // kFailedPrecondition, on all ranks, where the MPI has nothing for one-sided calls between them.
  virtual Status expose(void* memory, std::size_t bytes) = 0;
  // MPI_Win_free, with all ranks; nothing where no memory is exposed.
  virtual void unexpose() = 0;
  // From the beginning of rank `to`'s memory on plus `offset`. Done, there too, after flush().
  virtual void put(const void* data, std::size_t bytes, std::uint32_t to, std::size_t offset) = 0;
  virtual void get(void* data, std::size_t bytes, std::uint32_t from, std::size_t offset) = 0;
  // MPI_Win_flush: returns when all puts and gets to that rank are complete there and here.
  virtual void flush(std::uint32_t rank) = 0;
  // Makes the writes of other ranks visible to this rank's loads, after a barrier has announced
  // their end.
  virtual void sync() = 0;
};

// The MPI of this program, or nullptr where it has none (railgauge-runner).
Calls* linked();

}  // namespace railgauge::mpi
