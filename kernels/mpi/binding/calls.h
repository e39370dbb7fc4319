// The calls of the kernels into MPI. Implementations differ in their binary interface, so only
// binding.cc includes <mpi.h> and is compiled once for each; the kernels are compiled once and use
// this table. One call through it costs about a nanosecond.
#pragma once

#include <algorithm>
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

// The collectives of MPI 3.1, chapters 5 and 7, which the kernels measure.
enum class Collective : std::uint8_t {
  kNone,
  kAllGather,
  kAllGatherV,
  kAllReduce,
  kAllToAll,
  kAllToAllV,
  kAllToAllW,
  kBarrier,
  kBroadcast,
  kGather,
  kGatherV,
  kNeighborAllGather,
  kNeighborAllGatherV,
  kNeighborAllToAll,
  kNeighborAllToAllV,
  kNeighborAllToAllW,
  kReduce,
  kReduceScatter,
  kReduceScatterBlock,
  kScatter,
  kScatterV
};
// The forms of one collective, and of the requests between two ranks: one call; a call that begins
// and another one that ends; or a request that is made once and started each time.
enum class Form : std::uint8_t { kBlocking, kNonBlocking, kPersistent };

// Blocks of several lengths, in bytes (of kReduceScatter: in floats), each at its place in the
// buffer: one for each rank, or for each neighbour. The members are MPI's arguments.
struct CollectiveParts {
  std::vector<int> send_counts;
  std::vector<int> send_places;
  std::vector<int> receive_counts;
  std::vector<int> receive_places;
};

// The arguments of one collective. Buffers and parts live until the call is complete.
struct CollectiveCall {
  Collective what = Collective::kNone;
  const void* send = nullptr;
  void* receive = nullptr;  // of kBroadcast the one buffer
  // Bytes of one block, or of this rank's own where blocks differ; floats of a sum.
  std::size_t count = 0;
  std::uint32_t root = 0;
  const CollectiveParts* parts = nullptr;  // where blocks differ
  // MPI_IN_PLACE on this rank: its input is where its own result will be (MPI 3.1, section 5.1),
  // and the root of a scatter keeps its own block.
  bool in_place = false;
};

// Returns the neighbours of a rank, those that the collectives kNeighbor... know: the ranks before
// and behind it in a ring, ascending; two ranks have each other alone.
inline std::vector<std::uint32_t> neighbours(std::uint32_t rank, std::uint32_t ranks) {
  if (ranks < 2) return {};
  const std::uint32_t before = (rank + ranks - 1) % ranks;
  const std::uint32_t behind = (rank + 1) % ranks;
  if (before == behind) return {before};
  return {std::min(before, behind), std::max(before, behind)};
}

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
  // Asks init() for calls of several threads at once, MPI_THREAD_MULTIPLE; kUnimplemented then
  // where the library has none. Call it before init().
  virtual void want_threads() = 0;
  // Returns the time of MPI_Init in ns; 0 before.
  [[nodiscard]] virtual double init_ns() const = 0;
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
  // The same for messages of a thread of its own, whose number separates them from those of other
  // threads. Needs want_threads().
  virtual void send_of_thread(const void* data, std::size_t bytes, std::uint32_t to,
                              std::uint32_t thread) = 0;
  virtual void receive_of_thread(void* data, std::size_t bytes, std::uint32_t from,
                                 std::uint32_t thread) = 0;
  // Start request number `slot`, from 0 without gaps until wait_all(count) has ended them.
  virtual void begin_send(std::size_t slot, const void* data, std::size_t bytes,
                          std::uint32_t to) = 0;
  virtual void begin_receive(std::size_t slot, void* data, std::size_t bytes,
                             std::uint32_t from) = 0;
  // Calls MPI_Waitall for the slots below `count`.
  virtual void wait_all(std::size_t count) = 0;
  // The same requests made once: make them, start `count` of them from `first` on, wait for these,
  // and free the slots below `count` at the end.
  virtual void make_send(std::size_t slot, const void* data, std::size_t bytes,
                         std::uint32_t to) = 0;
  virtual void make_receive(std::size_t slot, void* data, std::size_t bytes,
                            std::uint32_t from) = 0;
  virtual void start(std::size_t first, std::size_t count) = 0;
  virtual void wait(std::size_t first, std::size_t count) = 0;
  virtual void free_made(std::size_t count) = 0;
  // Reserves room for `requests`, before the timed loop, so that no timed call allocates.
  virtual void reserve(std::size_t requests) = 0;

  // The kernels' own exchanges between samples. `bytes` is one rank's message, equal on every rank.
  virtual void barrier() = 0;
  virtual void broadcast(void* data, std::size_t bytes, std::uint32_t root) = 0;
  virtual void gather(const void* mine, std::size_t bytes, void* all, std::uint32_t root) = 0;
  virtual void all_gather(const void* mine, std::size_t bytes, void* all) = 0;

  // Returns whether the library has a collective in that form; asks no other rank. kUnimplemented:
  // persistent ones are MPI 4's.
  [[nodiscard]] virtual Status offers(Collective what, Form form) = 0;
  // Makes a collective ready, with all ranks, which must have passed offers(): a neighbourhood gets
  // its communicator.
  virtual void join(Collective what) = 0;
  // Make a measured collective, with all ranks: the blocking call; the call that begins it; or the
  // request for it, which start_made() starts. Sums are of 32-bit floats.
  virtual void call(const CollectiveCall& call) = 0;
  virtual void begin(const CollectiveCall& call) = 0;
  virtual void make(const CollectiveCall& call) = 0;
  virtual void start_made() = 0;
  // Calls MPI_Test once, and MPI_Wait, for what begin() or start_made() began.
  virtual void poll() = 0;
  virtual void finish() = 0;
  // Frees the request of make().
  virtual void free_call() = 0;

  // Exposes memory to writes and reads of the other ranks; with all ranks, one memory at a time.
  // With `always` it may be reached at any time and flush() confirms calls; else only between the
  // calls that open and close an epoch.
  // kFailedPrecondition, on all ranks, when the MPI has no one-sided transport between them.
  virtual Status expose(void* memory, std::size_t bytes, bool always = true) = 0;
  // Calls MPI_Win_free, with all ranks; does nothing when no memory is exposed.
  virtual void unexpose() = 0;
  // Access rank `to`'s or `from`'s memory at `offset`. Complete, also there, after flush().
  virtual void put(const void* data, std::size_t bytes, std::uint32_t to, std::size_t offset) = 0;
  virtual void get(void* data, std::size_t bytes, std::uint32_t from, std::size_t offset) = 0;
  // Add whole 32-bit numbers to rank `to`'s memory, modulo 2^32; get_accumulate() also gets what
  // was there before. Not bytes: Open MPI 4.1 adds these with saturation where it has vectors of
  // them.
  virtual void accumulate(const void* data, std::size_t bytes, std::uint32_t to,
                          std::size_t offset) = 0;
  virtual void get_accumulate(const void* data, void* before, std::size_t bytes, std::uint32_t to,
                              std::size_t offset) = 0;
  // Act on one 64-bit number of rank `to` and get what was there before: add `data`, or put `data`
  // where it equals `expected`.
  virtual void fetch_and_add(const void* data, void* before, std::uint32_t to,
                             std::size_t offset) = 0;
  virtual void compare_and_swap(const void* data, const void* expected, void* before,
                                std::uint32_t to, std::size_t offset) = 0;
  // Epochs, where memory is not always reachable: all ranks together (MPI_Win_fence); `other`
  // grants access and waits for its end (MPI_Win_post, MPI_Win_wait), this rank has it meanwhile
  // (MPI_Win_start, MPI_Win_complete); or this rank alone locks the other's memory.
  virtual void fence() = 0;
  virtual void grant(std::uint32_t other) = 0;
  virtual void await_granted() = 0;
  virtual void start_access(std::uint32_t other) = 0;
  virtual void complete_access() = 0;
  virtual void lock(std::uint32_t other) = 0;
  virtual void unlock(std::uint32_t other) = 0;
  // Calls MPI_Win_flush: returns when all puts and gets to that rank are complete there and here.
  virtual void flush(std::uint32_t rank) = 0;
  // Makes the writes of other ranks visible to this rank's loads, after a barrier that announced
  // their end.
  virtual void sync() = 0;
};

// Returns the MPI of this program, or nullptr without one (railgauge-runner).
Calls* linked();

}  // namespace railgauge::mpi
