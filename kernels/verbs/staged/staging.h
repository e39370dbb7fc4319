// GPU memory behind a NIC that does not reach it: each message travels in chunks from the sender's
// GPU into a ring of pinned host memory, over the wire into the receiver's ring, and into its GPU,
// the three steps of different chunks at once. The gain of GPUDirect is measured against this. A
// side that is not staged sends out of its memory, or receives in place.
//
// A chunk is sent when its target slot has been emptied; the receiver reports that by a count that
// it writes into the sender's host memory. The receiver learns of a chunk from the receive that it
// used up; with a plain write, from a count that follows it on the same queue pair.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/gpu/handles.h"
#include "kernels/verbs/link/link.h"
#include "kernels/verbs/link/memory_choice.h"
#include "kernels/verbs/memory/memory.h"
#include "kernels/verbs/memory/slots.h"

namespace railgauge::verbs {

// How one size goes through the rings; the same on both ranks. Pure.
struct Chunks {
  // Bytes of a whole message.
  std::uint64_t message_bytes = 0;
  // Bytes of a chunk; the last one of a message may have fewer.
  std::uint64_t chunk_bytes = 0;
  // Chunks of one message.
  std::uint64_t in_message = 0;
  // Messages that differ, sent in turn, so that what a copy left out is not what it would have
  // brought: no slot and no place gets the same bytes twice in a row.
  std::uint64_t different = 0;
};
// `depth` is the number of slots of the rings.
Chunks chunks_of(std::uint64_t message_bytes, std::uint64_t chunk_bytes, std::uint32_t depth);

// Host memory that was registered with cuMemHostRegister.
using PinnedMemory = Handle<ReleasedByTable<void*, loaded_cuda, &Cuda::mem_host_unregister>>;

// One side of a staged link. Driven by one thread through progress(), which never blocks.
class Staging {
 public:
  struct Form {
    // Both sides' memory; one of them at least is staged.
    MemoryChoice memory;
    // Bytes of the messages that the task measures.
    std::vector<std::uint64_t> sizes;
    std::uint64_t chunk_bytes = 0;
    std::uint32_t depth = 1;  // slots of the rings
    // Bytes on their way at once, where the slots suffice: of short messages more are, as GPUDirect
    // has more of them in flight.
    std::uint64_t bytes_on_way = 0;
  };
  // The slots that keep `bytes_on_way` on their way at the smallest size: `most` at most, but never
  // fewer than `form.depth`.
  static std::uint32_t slots_for(const Form& form, std::uint64_t most);
  // The link's areas and queues as a staging of `context`'s parameters needs them.
  static Status plan(const Context& context, const Form& form, Link::Options& options);
  // Called before link.connect(), and released before the link: pins its areas for the GPU, makes
  // streams, and sends the peer the addresses of the counts.
  static Result<Staging> open(const Context& context, const Form& form, Link& link);
  Staging(Staging&&) = default;
  Staging& operator=(Staging&&) = delete;
  // Waits for copies that are still under way.
  ~Staging();

  // Prepares size number `size_index` on both ranks: the data that `rank` sends, and zeros where it
  // receives. Nothing is under way.
  Status begin_size(std::size_t size_index, std::uint32_t rank);
  // After it: gives out the receives, where messages take some. Once.
  Status give_out_receives();

  // Does what can be done now, in both directions. True when something moved.
  Result<bool> progress();
  // Lets `messages` more go.
  void allow(std::uint64_t messages) { goal_ += messages * chunks_.in_message; }
  // Chunks of this size: those in the peer's memory, and those in this rank's.
  [[nodiscard]] std::uint64_t delivered() const {
    return (credit_ - sent_before_) / chunks_.in_message;
  }
  [[nodiscard]] std::uint64_t received() const {
    return (drained_ - drained_before_) / chunks_.in_message;
  }
  [[nodiscard]] std::uint64_t allowed() const {
    return (goal_ - sent_before_) / chunks_.in_message;
  }

  // Verifies the content after the peer's last of `messages`. kDataLoss names the fault.
  Status verify(std::size_t size_index, std::uint32_t from, std::uint64_t messages);

  // The division of the current size.
  [[nodiscard]] const Chunks& chunks() const { return chunks_; }
  // Chunks of this size, at most.
  [[nodiscard]] std::uint64_t chunks_on_way() const { return chunks_on_way_; }
  [[nodiscard]] bool is_synthetic() const {
    return link_->memory().is_synthetic() || (gpu_ && gpu_->memory.is_synthetic());
  }
  // The GPU's facts, on a staged side.
  void report_facts(Reporter& reporter) const;

 private:
  // Extra resources of a staged side; its context must live while any of the rest does.
  struct OnGpu {
    // First the different messages to send, then the one that is received.
    Memory memory;
    // The link's areas, pinned for the copies.
    PinnedMemory pinned;
    // Copies towards the wire.
    gpu::Stream load;
    // Copies away from the wire.
    gpu::Stream drain;
    // Events of each slot: its load, and its drain, have ended.
    std::vector<gpu::Event> loaded;
    std::vector<gpu::Event> emptied;
  };

  Staging(const Form& form, Link& link) : form_(form), link_(&link) {}
  // Memory, streams and events of a staged side.
  Status make_gpu_side(const Context& context);
  // The counts that the peer writes, and those that are sent to it.
  Status make_words();
  // Where messages come from and go to on this side: the GPU's memory, or the link's.
  [[nodiscard]] Area source() const;
  [[nodiscard]] Area target() const;
  // `chunk` counts from the size's first chunk on, `number` from the task's.
  [[nodiscard]] std::uint64_t bytes_of(std::uint64_t chunk) const;
  [[nodiscard]] std::uint64_t offset_in_message(std::uint64_t chunk) const;
  [[nodiscard]] std::uint64_t source_offset(std::uint64_t chunk) const;
  [[nodiscard]] std::uint64_t slot_offset(std::uint64_t number) const;
  // The count at byte `at` of the words, as the peer wrote it last.
  [[nodiscard]] std::uint64_t load_word(std::size_t at) const;
  // The steps of one chunk; each starts its work and returns.
  Status load(std::uint64_t number);
  Status post(std::uint64_t number);
  Status post_word(std::size_t from, std::size_t to);
  Status drain(std::uint64_t number);
  // Whether the copy of chunk `number` has ended.
  Result<bool> is_done(const std::vector<gpu::Event>& events, std::uint64_t number) const;
  // One round of each direction; true when something moved.
  Result<bool> send_on();
  Result<bool> receive_on();

  Form form_;
  Link* link_;
  // Bytes of a slot, a multiple of a cache line.
  std::uint64_t slot_bytes_ = 0;
  // Counts of 8 bytes, laid out as in staging.cc.
  HostBuffer words_;
  MemoryRegionHandle words_region_;
  std::unique_ptr<OnGpu> gpu_;
  // Chunks go to the peer's slots, or in place into its message.
  bool peer_is_staged_ = false;
  Chunks chunks_;
  // Chunks of the current size under way at once, at most.
  std::uint64_t chunks_on_way_ = 1;
  // Chunks since the beginning: requested, loading, posted, in the peer's memory; then those that
  // arrived, whose copies were begun, and that are in memory here.
  std::uint64_t goal_ = 0;
  std::uint64_t loading_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t credit_ = 0;
  std::uint64_t draining_ = 0;
  std::uint64_t drained_ = 0;
  std::uint64_t sent_before_ = 0;  // this size
  std::uint64_t drained_before_ = 0;
};

}  // namespace railgauge::verbs
