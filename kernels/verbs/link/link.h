// The connection between the two ranks of a task: a port, send and receive areas in the memory of
// the host or a GPU, completion queues, one or more queue pairs ("lanes"), and a reliable queue
// pair for control words.
#pragma once

#include <endian.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/verbs/link/dc.h"
#include "kernels/verbs/link/operation.h"
#include "kernels/verbs/link/receive_queue.h"
#include "kernels/verbs/link/srd.h"
#include "kernels/verbs/link/xrc.h"
#include "kernels/verbs/memory/gpu_watch.h"
#include "kernels/verbs/memory/memory.h"
#include "kernels/verbs/memory/near_node.h"
#include "kernels/verbs/memory/registration.h"
#include "kernels/verbs/transport/addressing.h"
#include "kernels/verbs/transport/connector.h"
#include "kernels/verbs/transport/device.h"
#include "kernels/verbs/transport/handles.h"
#include "kernels/verbs/transport/peer.pb.h"
#include "kernels/verbs/transport/queue_pair.h"
#include "kernels/verbs/transport/send_queue.h"

namespace railgauge::verbs {

class Proof;  // kernels/verbs/link/proof.h

// Owns every resource of one connection. For one thread.
class Link {
 public:
  // kRelaxedIfPossible: where libibverbs can, from rdma-core 28 on.
  enum class Ordering : std::uint8_t { kStrict, kRelaxedIfPossible, kRelaxed };
  struct Options {
    Verb verb = Verb::kWrite;
    Transport transport = Transport::kRc;
    // Bytes of the send area and of the receive area, each without GRHs.
    std::size_t area_bytes = 0;
    // Bytes of the largest message.
    std::size_t largest_bytes = 0;
    // Bytes of the areas through which the messages of a stream move.
    std::size_t ring_bytes = kHotRingBytes;
    // Number of queue pairs.
    std::uint32_t lanes = 1;
    // Most posts in flight on each lane.
    std::uint32_t send_depth = 1;
    // Posted receives on each lane, or in the shared queue. 0 makes no receive queue.
    std::uint32_t receive_depth = 0;
    // Messages up to this size are sent inline, as far as the device can.
    std::uint32_t inline_bytes = 0;
    // One receive queue (SRQ) serves all lanes; so it is with XRC and DC anyway.
    bool shares_receives = false;
    // Sends carry immediate data, as writes with it do.
    bool immediate = false;
    // Remote access (IBV_ACCESS_*) that lanes and areas grant besides the operation's.
    int extra_access = 0;
    // The CPU waits for completions by events instead of polling.
    bool sleeps = false;
    // The device's interrupt that reports the data's completions.
    std::uint32_t completion_vector = 0;
    // PCIe ordering for which the areas are registered.
    Ordering ordering = Ordering::kStrict;
    // Pins the calling thread near the adapter while the link exists.
    bool pins = true;
    // Kind of memory of this rank's areas.
    Memory::Form memory;
    // Host memory by on-demand paging: none of it is locked.
    bool on_demand = false;
    // Reads and atomics on the wire at once for each lane; 0: as many as both devices allow.
    std::uint32_t outstanding = 0;
    // Work requests are built by ibv_wr_* in place of ibv_post_send; DC and SRD have no other way.
    bool posts_extended = false;
    // The adapter's own limit of each queue pair, and its largest burst; 0: none.
    std::uint32_t rate_limit_kbps = 0;
    std::uint32_t burst_bytes = 0;
    // Path by which a GPU's memory is registered: "auto", "dma-buf", "nvidia-peermem".
    std::string registration = "auto";
    // Mapping of a dma-buf: "auto", "default", "pcie", "data-direct".
    std::string dmabuf_mapping = "auto";
    // Either rank's memory is a GPU's: connect() ends with a proof message.
    bool proves = false;
    // This rank's IP address for the connection manager; "" uses the GID's.
    std::string cm_address;
  };
  // Opens the context's endpoint and makes everything that needs no peer, by the parameters of
  // add_connection. Never moves: queues point into the link. A pinning link is used and destroyed
  // on the calling thread.
  static Result<std::unique_ptr<Link>> open(const Context& context, const Options& options);
  ~Link();

  // Exchanges addresses with the peer, brings the queue pairs to RTS, and proves a GPU's memory by
  // a message (proof.h). Succeeds on both ranks or on neither.
  Status connect(const Context& context, Group& group);

  // Reports the facts of this connection, for Started. Call after connect().
  void report_facts(Reporter& reporter) const;

  // Returns one post of the operation on `lane`: `bytes` between the beginnings of the areas.
  [[nodiscard]] Request request(std::size_t bytes, std::size_t lane = 0) const;

  // Registers further memory for a control channel, without relaxed ordering by default.
  [[nodiscard]] Result<MemoryRegionHandle> register_memory(std::span<std::byte> memory, int access,
                                                           bool relaxed_ordering = false) const;
  // Watches a GPU that this rank uses beside the areas' own; call before connect(). See
  // GpuWatch::add.
  void watch(const gpu::Gpu& gpu, std::vector<gpu::GpuUsage> before) {
    gpus_.add(gpu, std::move(before));
  }
  // Returns the protection domain of all regions and queue pairs.
  [[nodiscard]] ibv_pd* domain() const { return domain_.get(); }
  // Makes a queue of `entries`; `channel` may be nullptr, and `vector` is the interrupt of its
  // events. kFailedPrecondition when the limit on locked memory refuses it.
  Result<CompletionQueueHandle> make_completions(std::uint32_t entries, ibv_comp_channel* channel,
                                                 std::uint32_t vector = 0) const;

  // Return the areas' addresses; the CPU may dereference them when memory() is the host's.
  [[nodiscard]] std::span<std::byte> send_area() const;
  [[nodiscard]] std::span<std::byte> receive_area() const;
  // Returns the areas' memory; the receive area begins at half its size.
  [[nodiscard]] Memory& memory() const { return *memory_; }
  // Returns the key of the areas' region for local access.
  [[nodiscard]] std::uint32_t local_key() const { return registered_.region.get()->lkey; }
  // Makes a reliable queue pair beside the lanes, for a channel of its own: of RC, or of SRD where
  // the lanes are, which has sends alone.
  [[nodiscard]] Result<QueuePairHandle> make_beside(ibv_qp_init_attr& init) const;
  // Brings it up towards the peer's `number`, as lane `lane`, and aims the one lane of `sends`.
  // Returns the address that the queue needs as long as it sends; empty for RC.
  Result<AddressHandle> join_beside(const Introduction& with, ibv_qp* queue_pair,
                                    std::uint32_t number, std::size_t lane, SendQueue& sends) const;

  // Returns the bytes that fit both ranks' areas: page sizes differ between machines.
  [[nodiscard]] std::size_t common_area_bytes() const;
  [[nodiscard]] const Operation& operation() const { return operation_of(options_.verb); }
  [[nodiscard]] const Options& options() const { return options_; }
  // Reports whether every post either arrives or fails.
  [[nodiscard]] bool is_reliable() const {
    return options_.transport != Transport::kUc && options_.transport != Transport::kUd;
  }
  // Reports whether messages carry immediate data.
  [[nodiscard]] bool has_immediate() const {
    return options_.immediate || options_.verb == Verb::kWriteImm;
  }
  // Returns it in network order, as completions show it.
  [[nodiscard]] __be32 immediate() const { return htobe32(options_.immediate ? kImmediate : 0); }
  // Reports whether posts of one lane arrive in their order.
  [[nodiscard]] bool is_ordered() const { return options_.transport != Transport::kSrd; }
  // Returns the bytes in front of each arriving message: the GRH of a datagram.
  [[nodiscard]] std::size_t grh_bytes() const {
    return options_.transport == Transport::kUd ? kGrhBytes : 0;
  }
  [[nodiscard]] SendQueue& sends() { return sends_; }
  [[nodiscard]] ReceiveQueue& receives() { return receives_; }
  [[nodiscard]] Waiting& waiting() { return waiting_; }
  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] PeerAddress& mine() { return mine_; }  // to add to, before connect
  [[nodiscard]] const PeerAddress& mine() const { return mine_; }
  // Returns the other side's address; empty before connect().
  [[nodiscard]] const PeerAddress& peer() const { return peer_; }
  // Returns the parameters for bringing up one more queue pair to the same peer.
  [[nodiscard]] Introduction introduction(const Params& params, int access) const {
    return {device_, params, addressing_, mine_, peer_, access, connector_.get()};
  }

 private:
  Link() = default;
  // Returns kInvalidArgument above the largest message of the port or of a datagram; kUnimplemented
  // without atomics.
  Status check_sizes(std::size_t mtu_bytes) const;
  // kFailedPrecondition when the parameter is above the port's active MTU.
  Status choose_mtu(const Params& params);
  // Returns the access bits that areas and lanes grant.
  [[nodiscard]] int granted_access() const;
  [[nodiscard]] bool is_relaxed() const { return options_.ordering == Ordering::kRelaxed; }
  // Makes protection domain, areas and their registration.
  Status make_memory();
  // Makes channels, completion queues, and the shared receive queue.
  Status make_queues();
  Status make_shared_receives();
  // Makes the queue pairs and the queues over them.
  Status make_lanes();
  [[nodiscard]] Result<QueuePairHandle> make_lane(ibv_qp_init_attr& init) const;
  // Fills mine_, which connect() sends.
  void describe(const Params& params);
  Status check_peer(const Context& context) const;
  [[nodiscard]] Status check_outstanding(const Context& context) const;
  // Reads the peer's address and checks that both ends fit.
  Status meet(const Context& context, Group& group, const std::string& theirs);
  // Brings this rank's DC targets up and learns the peer's; both ranks call, with how they met.
  Status meet_targets(const Context& context, Group& group, const Status& met);
  Status bring_up_lanes(const Context& context);
  Status bring_up_lane(const Introduction& with, std::size_t lane);
  Status prove(const Context& context, Group& group);

  Options options_;
  Pinned pinned_;
  // Members are released in reverse: queue pairs first, device last.
  Device device_;
  ProtectionDomainHandle domain_;
  std::unique_ptr<Memory> memory_;
  // The region over both areas, and the path that registered it.
  Registration registered_;
  ChannelHandle send_channel_;
  ChannelHandle receive_channel_;
  CompletionQueueHandle send_completions_;
  CompletionQueueHandle receive_completions_;
  SharedReceivesHandle shared_receives_;
  std::optional<Xrc> xrc_;  // each of that transport
  std::optional<Dc> dc_;
  std::optional<Srd> srd_;
  std::vector<QueuePairHandle> queue_pairs_;
  // Address handles of datagrams, DC and SRD, one a lane.
  std::vector<AddressHandle> addresses_;
  Waiting waiting_;
  SendQueue sends_;
  ReceiveQueue receives_;
  Addressing addressing_;
  // Inline bytes that the driver granted.
  std::uint32_t inline_bytes_ = 0;
  // Path MTU: this side's proposal; after connect() the agreed value.
  unsigned mtu_bytes_ = 0;
  PeerAddress mine_;
  PeerAddress peer_;
  GpuWatch gpus_;
  // Empty when the ranks exchange addresses.
  std::unique_ptr<Connector> connector_;
  // Until connect() has used it; empty without a GPU's memory.
  std::unique_ptr<Proof> proof_;
};

}  // namespace railgauge::verbs
