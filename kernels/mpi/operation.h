// The differences between MPI kernels: calls, memory, and expected content. Each kernel's file has
// one Operation; bench.cc has the common part.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/handle.h"
#include "kernels/core/base/result.h"
#include "kernels/core/kernel.h"
#include "kernels/dl/cuda.h"
#include "kernels/memory/gpu_buffer.h"
#include "kernels/memory/host_buffer.h"
#include "kernels/mpi/binding/calls.h"

namespace railgauge::mpi {

// The words of the parameters `memory` and `peer_memory`.
enum class Memory : std::uint8_t { kHost, kDevice, kManaged };
Memory memory_of(std::string_view word);

// A rank's memory as MPI's argument: host, device or managed; or staged, where MPI gets a host
// buffer and each message is copied to or from the GPU around the call, as with GPUDirect off. Not
// thread safe.
class Area {
 public:
  Area() = default;
  // Allocates at least `bytes`. For GPU memory its context must be current; waives when memory is
  // lacking.
  static Result<Area> allocate(Memory memory, bool staged, std::string_view gpu, std::size_t bytes);

  // Moves the place to which all functions below refer; `place` is its offset in bytes. Memory that
  // does not reach so far, as that of a rank without this buffer, stays at its beginning.
  void move_to(std::size_t place) { place_ = place < bytes_ ? place : 0; }
  [[nodiscard]] std::size_t place() const { return place_; }
  // Returns the memory that MPI receives as its argument.
  [[nodiscard]] std::byte* data() const { return data_ + place_; }
  // Returns the host's view of the contents: complete after pull(), written to the memory by
  // push().
  [[nodiscard]] std::span<std::byte> view() const { return host_.span().subspan(place_); }
  // Copy a range between the host's view and the memory; do nothing for host memory.
  void push(std::size_t offset, std::size_t bytes);
  void pull(std::size_t offset, std::size_t bytes);
  // Surround a measured message; do nothing unless messages are staged.
  void stage_out(std::size_t offset, std::size_t bytes) {
    if (staged_) pull(offset, bytes);
  }
  void stage_in(std::size_t offset, std::size_t bytes) {
    if (staged_) push(offset, bytes);
  }
  // Overwrites the first bytes of the host's copy of staged messages, so that a message that did
  // not come from the GPU is detected. Otherwise does nothing.
  void forget_host_copy(std::size_t bytes) {
    if (staged_) std::ranges::fill(view().first(bytes), std::byte{0x5a});
  }
  // Chooses for GPU memory whether messages are staged; host memory is never.
  void set_staged(bool staged);
  // Returns the least time of several copies of `bytes` from the GPU to pinned host memory, in ns;
  // 0 where the memory is not the GPU's own, too small, or cannot be pinned.
  [[nodiscard]] double least_copy_ns(std::size_t bytes, const TickClock& clock);
  // Returns the first failed copy.
  [[nodiscard]] const Status& status() const { return status_; }
  // Returns the kind of memory that the CUDA driver reports for MPI's argument: "host", "device",
  // "managed", or "unknown" without an answer.
  [[nodiscard]] std::string observed() const;

 private:
  struct ManagedTraits {
    using Type = cu::DevicePtr;
    static Type empty() { return 0; }
    static void release(Type memory) { static_cast<void>(loaded_cuda().mem_free(memory)); }
  };

  // At most one of the two GPU owners is set; gpu_ is its address.
  HostBuffer host_;
  GpuBuffer device_;
  Handle<ManagedTraits> managed_;
  // The GPU's address; 0: host memory.
  cu::DevicePtr gpu_ = 0;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;  // that were asked for
  std::size_t place_ = 0;
  bool staged_ = false;
  Status status_;
};

// The places in memory that the samples of a size use in turn, one after the other: one for hot
// samples. Equal on all ranks.
struct Places {
  std::uint64_t count = 1;
  // From one place to the next: at least the longest buffer of any rank.
  std::uint64_t stride = 0;

  // Returns the offset of a sample's place in bytes; samples count from 0 since the data was made.
  [[nodiscard]] std::uint64_t of(std::uint64_t sample) const { return sample % count * stride; }
};

// One size on one rank.
struct Share {
  std::uint64_t bytes = 0;
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  std::uint32_t root = 0;
  // Messages in flight.
  std::uint64_t window = 1;
  // All messages of a window use one buffer, as in OSU's programs.
  bool one_buffer = false;
  // The blocks of a collective differ in length: half and one and a half of `bytes` in turn.
  bool uneven = false;

  // Returns the number of places that a window's messages use in turn: one for all with
  // `one_buffer`, else one each, unless that would exceed kMostWindowBytes.
  static constexpr std::uint64_t kMostWindowBytes = 64U << 20U;
  [[nodiscard]] std::uint64_t places() const {
    if (one_buffer) return 1;
    return std::clamp<std::uint64_t>(kMostWindowBytes / std::max<std::uint64_t>(stride(), 1), 1,
                                     window);
  }
  // Returns the distance between messages of a window, a multiple of a cache line of 64 bytes.
  [[nodiscard]] std::uint64_t stride() const { return (bytes + 63) / 64 * 64; }
  // Returns the offset of a window's message in bytes.
  [[nodiscard]] std::uint64_t place(std::uint64_t message) const {
    return message % places() * stride();
  }
  [[nodiscard]] std::uint64_t floats() const { return bytes / sizeof(float); }
};

struct Operation;

// How one-sided calls are confirmed: by a flush within one long epoch, or by the end of an epoch of
// their own.
enum class Sync : std::uint8_t { kFlush, kFence, kPostStart, kLock };

// The values that an operation uses inside the timed region.
struct Work {
  const Operation& operation;
  // References to the bench's own objects, which live as long as the call.
  Calls& mpi;
  const TickClock& clock;
  Share share;
  Area& send;
  Area& receive;
  const CollectiveParts& parts;  // of a collective whose blocks differ
  bool target_staged = false;    // one-sided calls: the target's memory is staged
  Places places{};
  std::uint64_t next_sample = 0;
  Form form = Form::kBlocking;
  // Beside a non-blocking collective: how long this rank computes, and how often it calls MPI_Test
  // meanwhile.
  std::uint64_t compute_ticks = 0;
  std::uint64_t polls = 0;
  // The time of all samples in which it computed, without MPI_Test.
  std::uint64_t computed_ticks = 0;
  // The collective is called in place, where this rank can.
  bool in_place = false;
  Sync sync = Sync::kFlush;
  // Gets the first wrong value that a call fetched; nullptr: values are not compared.
  std::string* wrong_fetch = nullptr;

  // Begins a sample: moves both areas to its place.
  void begin_sample() {
    if (places.count == 1) return;
    const std::uint64_t place = places.of(next_sample++);
    send.move_to(place);
    receive.move_to(place);
  }
};

// Bytes at `offset` with content number `block` of rank `rank`. For a reduction: elements from
// number `block` on, of that rank or, when received, of the sum over all.
struct Segment {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint32_t rank = 0;
  std::uint64_t block = 0;
  // By an effect of one-sided calls: the memory before the last call, or before any.
  enum class State : std::uint8_t { kAfter, kBefore, kUntouched } state = State::kAfter;
};

// Lengths of a rank's buffer, in bytes.
inline std::uint64_t no_bytes(const Share&) { return 0; }
inline std::uint64_t one_message(const Share& share) { return share.bytes; }
inline std::uint64_t a_window(const Share& share) { return share.places() * share.stride(); }
inline std::uint64_t a_message_for_each(const Share& share) { return share.bytes * share.ranks; }
// Contents of a rank's buffer.
inline std::vector<Segment> nothing(const Share&) { return {}; }
// This rank's own message.
inline std::vector<Segment> own_message(const Share& share) {
  return {{.bytes = share.bytes, .rank = share.rank}};
}
// The messages of a window of `rank`.
inline std::vector<Segment> window_of(const Share& share, std::uint32_t rank) {
  std::vector<Segment> all;
  for (std::uint64_t i = 0; i < share.places(); ++i)
    all.push_back({.offset = i * share.stride(), .bytes = share.bytes, .rank = rank, .block = i});
  return all;
}
// The messages of a window that this rank sends.
inline std::vector<Segment> own_window(const Share& share) { return window_of(share, share.rank); }

// Returns the pairs of that many ranks; an odd one has no partner.
inline double pairs_of(std::uint32_t ranks) { return std::floor(ranks / 2.0); }

// The ranks whose times make a sample: rank 0 alone, the first half, all but rank 0, or all.
enum class Timed : std::uint8_t { kFirst, kFirstHalf, kAllButFirst, kAll };
// The effect of a call on the memory that it reaches: it replaces it, adds to each 32-bit or
// 64-bit number, or exchanges two values in turn.
enum class Effect : std::uint8_t { kReplaces, kAddsWords, kAddsNumbers, kSwaps };
// The requests of a kernel between two sides.
enum class Requests : std::uint8_t { kNone, kOfCalls, kOfWindows };
// The kind of figure; it decides the metric, its unit and its direction.
enum class Figure : std::uint8_t { kLatency, kBandwidth, kRate };
// How a collective can be called in place: the receive buffer has this rank's whole input before,
// or its own block at the block's place; or the root of a scatter keeps its block.
enum class InPlace : std::uint8_t { kNever, kWhole, kOwnBlock, kRootsBlock };
// The memory of other ranks that one-sided calls access.
enum class Exposed : std::uint8_t { kNothing, kReceive, kSend };

// One kernel's declaration. The functions are pure and called on every rank with its own share;
// `send_bytes` and `receive_bytes` are 0 on ranks without that buffer.
struct Operation {
  std::string_view name;
  std::string_view summary;
  Figure figure = Figure::kLatency;
  std::string_view meaning = "completion";
  Timed timed = Timed::kFirst;
  double divisor = 1;  // of a latency: 2 for half a round trip
  // Number of times that each message of a window counts: 2 when both sides send.
  double ways = 1;
  bool windowed = false;
  bool sized = true;
  bool rooted = false;
  // The requests that `call=persistent` makes once.
  Requests requests = Requests::kNone;
  // How often a sample's messages count where several pairs or senders share it; absent: once.
  double (*many)(std::uint32_t ranks) = nullptr;
  // One sample a launch: MPI begins once.
  bool once = false;
  Effect effect = Effect::kReplaces;
  // Messages are 32-bit floats.
  bool reduces = false;
  Exposed exposed = Exposed::kNothing;
  // Messages of GPU memory can be copied through host memory around the calls.
  bool stages = true;
  InPlace in_place = InPlace::kNever;
  // One-sided calls that can have an epoch of their own.
  bool syncs = false;
  // `window` counts threads of a rank, each with a message of its own.
  bool threads = false;
  // Acts on one 64-bit number: no sizes.
  bool number = false;
  // Exactly two ranks; else two or more.
  bool pair = true;
  std::string_view sizes = "8,4KiB";
  // The lengths of the two buffers in bytes, and their contents before and after the call.
  std::uint64_t (*send_bytes)(const Share&) = one_message;
  std::uint64_t (*receive_bytes)(const Share&) = one_message;
  std::vector<Segment> (*sent)(const Share&) = own_message;
  std::vector<Segment> (*received)(const Share&) = own_message;
  // Runs the calls of ticks.size() samples and writes one tick count for each. Untimed ranks make
  // their calls and leave their counts unchanged.
  void (*play)(Work&, std::span<std::uint64_t> ticks) = nullptr;
  // A collective: which, and its arguments that depend on it. `count` as in CollectiveCall; `parts`
  // are made anew for each size, where its blocks have lengths of their own.
  Collective what = Collective::kNone;
  std::uint64_t (*count)(const Share&) = one_message;
  CollectiveParts (*parts)(const Operation&, const Share&) = nullptr;
  std::uint32_t revision = 1;
};

// Return the kernel's declaration, and a new kernel for one task. `operation` lives as long as the
// process.
KernelInfo info_of(const Operation& operation);
std::unique_ptr<Kernel> make_kernel(const Operation& operation);
// The catalog's row of an operation.
template <const Operation& kOperation>
inline constexpr KernelRow kRowOf{[] { return info_of(kOperation); },
                                  [] { return make_kernel(kOperation); }};

}  // namespace railgauge::mpi
