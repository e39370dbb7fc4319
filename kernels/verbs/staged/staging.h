// GPU memory behind a NIC that cannot reach it: each message travels in chunks from the sender's
// GPU into a ring of pinned host memory, over the wire into the receiver's ring, and into its GPU.
// The three steps of different chunks overlap. The gain of GPUDirect is measured against staging. A
// side that is not staged sends from its memory, or receives in place.
//
// A chunk is sent once its target slot is empty; the receiver reports empty slots by a count that
// it writes into the sender's host memory. The receiver detects a chunk by the receive that it used
// up; with a plain write, by a count that follows on the same queue pair.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/gpu/handles.h"
#include "kernels/verbs/link/link.h"
#include "kernels/verbs/link/memory_choice.h"
#include "kernels/verbs/memory/memory.h"
#include "kernels/verbs/memory/slots.h"
#include "kernels/verbs/proof/link_proof.h"

namespace railgauge::verbs {

// The division of one size into chunks; equal on both ranks. Pure.
struct Chunks {
  // Bytes of a whole message.
  std::uint64_t message_bytes = 0;
  // Bytes of a chunk; the last one of a message may have fewer.
  std::uint64_t chunk_bytes = 0;
  // Chunks of one message.
  std::uint64_t in_message = 0;
  // Number of different messages, sent in turn, so that the bytes that a copy omitted differ from
  // the expected ones: no slot and no place gets the same bytes twice in a row.
  std::uint64_t different = 0;
};
// Divides a message. `depth` is the number of slots of the rings.
Chunks chunks_of(std::uint64_t message_bytes, std::uint64_t chunk_bytes, std::uint32_t depth);

// Host memory that was registered with cuMemHostRegister.
using PinnedMemory = Handle<ReleasedByTable<void*, loaded_cuda, &Cuda::mem_host_unregister>>;

// One side of a staged link. One thread drives it through progress(), which never blocks.
class Staging {
 public:
  struct Form {
    // Both sides' memory; at least one is staged.
    MemoryChoice memory;
    // The task's message sizes in bytes.
    std::vector<std::uint64_t> sizes;
    std::uint64_t chunk_bytes = 0;
    std::uint32_t depth = 1;  // slots of the rings
    // Bytes in flight at once, as far as the slots suffice. More short messages are then in flight,
    // as with GPUDirect.
    std::uint64_t bytes_on_way = 0;
  };
  // Returns the slots that keep `bytes_on_way` in flight at the smallest size: at most `most`, at
  // least `form.depth`.
  static std::uint32_t slots_for(const Form& form, std::uint64_t most);
  // Sets the link's areas and queues for a staging with the parameters of `context`.
  static Status plan(const Context& context, const Form& form, Link::Options& options);
  // Pins the link's areas for the GPU, makes streams, and sends the peer the addresses of the
  // counts. Call before link.connect(); destroy before the link.
  static Result<Staging> open(const Context& context, const Form& form, Link& link);
  Staging(Staging&&) = default;
  Staging& operator=(Staging&&) = delete;
  // Waits for copies in flight.
  ~Staging();

  // Prepares size number `size_index` on both ranks: writes the data that `rank` sends, and zeros
  // where it receives. Nothing is in flight.
  Status begin_size(std::size_t size_index, std::uint32_t rank);
  // Renews the data that `rank` sends, which verify() then expects. Nothing is in flight here.
  Status renew(std::size_t size_index, std::uint32_t rank);
  // Posts the receives, where messages use some. Call once, after begin_size().
  Status give_out_receives();

  // Advances both directions as far as possible now. Returns true when something moved.
  Result<bool> progress();
  // Allows `messages` more to be sent.
  void allow(std::uint64_t messages) { goal_ += messages * chunks_.in_message; }
  // Return messages of this size: in the peer's memory, in this rank's, and allowed so far.
  [[nodiscard]] std::uint64_t delivered() const {
    return (credit_ - sent_before_) / chunks_.in_message;
  }
  [[nodiscard]] std::uint64_t received() const {
    return (drained_ - drained_before_) / chunks_.in_message;
  }
  [[nodiscard]] std::uint64_t allowed() const {
    return (goal_ - sent_before_) / chunks_.in_message;
  }

  // Gives the next message that will be allowed the content of `number` of its sender. Nothing is
  // in flight.
  Status renew_next(const SlotMessage& message);
  // Whether everything allowed has left this side, and nothing else is in flight here.
  [[nodiscard]] bool is_sent() const { return posted_ == goal_ && link_->sends().in_flight() == 0; }
  // Return source and target of messages on this side: the GPU's memory, or the link's.
  [[nodiscard]] Area source() const;
  [[nodiscard]] Area target() const;

  // Verifies the content after the last of the peer's `messages`, which was renewed. kDataLoss
  // names the fault.
  Status verify(std::size_t size_index, std::uint32_t from, std::uint64_t messages);

  // Returns the division of the current size.
  [[nodiscard]] const Chunks& chunks() const { return chunks_; }
  // Returns the most chunks of this size in flight.
  [[nodiscard]] std::uint64_t chunks_on_way() const { return chunks_on_way_; }
  [[nodiscard]] bool is_synthetic() const {
    return link_->memory().is_synthetic() || (gpu_ && gpu_->memory.is_synthetic());
  }
  // Reports the GPU's facts on a staged side.
  void report_facts(Reporter& reporter) const;

 private:
  // Extra resources of a staged side; the context outlives all of them.
  struct OnGpu {
    // First the different messages to send, then the received one.
    Memory memory;
    // The link's areas, pinned for the copies.
    PinnedMemory pinned;
    // Copies towards the wire.
    gpu::Stream load;
    // Copies away from the wire.
    gpu::Stream drain;
    // Events of each slot: end of its load, and end of its drain.
    std::vector<gpu::Event> loaded;
    std::vector<gpu::Event> emptied;
  };

  Staging(const Form& form, Link& link) : form_(form), link_(&link) {}
  // Makes memory, streams and events of a staged side.
  Status make_gpu_side(const Context& context);
  // Makes the counts that the peer writes, and the ones that are sent to it.
  Status make_words();
  // `chunk` counts from the size's first chunk, `number` from the task's first.
  [[nodiscard]] std::uint64_t bytes_of(std::uint64_t chunk) const;
  [[nodiscard]] std::uint64_t offset_in_message(std::uint64_t chunk) const;
  [[nodiscard]] std::uint64_t source_offset(std::uint64_t chunk) const;
  [[nodiscard]] std::uint64_t slot_offset(std::uint64_t number) const;
  // Returns the count at byte `at` of the words, as the peer last wrote it.
  [[nodiscard]] std::uint64_t load_word(std::size_t at) const;
  // Start the steps of one chunk and return.
  Status load(std::uint64_t number);
  Status post(std::uint64_t number);
  Status post_word(std::size_t from, std::size_t to);
  Status drain(std::uint64_t number);
  // Reports whether the copy of chunk `number` has ended.
  Result<bool> is_done(const std::vector<gpu::Event>& events, std::uint64_t number) const;
  // Runs one round of each direction; returns true when something moved.
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
  // True: chunks go to the peer's slots; false: in place into its message.
  bool peer_is_staged_ = false;
  Chunks chunks_;
  // Most chunks of the current size in flight.
  std::uint64_t chunks_on_way_ = 1;
  // Chunks since the beginning: requested, loading, posted, in the peer's memory; then chunks with
  // a started copy here, and chunks in memory here.
  std::uint64_t goal_ = 0;
  std::uint64_t loading_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t credit_ = 0;
  std::uint64_t draining_ = 0;
  std::uint64_t drained_ = 0;
  std::uint64_t sent_before_ = 0;  // this size
  std::uint64_t drained_before_ = 0;
};

// As prove_link(), with messages that go through the staging. The target has room for one message,
// so that a round has one.
Result<Proved> prove_staged(Staging& staging, Link& link, ControlChannel& control,
                            const TickClock& clock, const LinkProof& proof);

}  // namespace railgauge::verbs
