// One reliable connection between the two ranks of a task: a port, a send and a receive area in
// host memory, a completion queue and a queue pair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "kernels/core/kernel.h"
#include "kernels/memory/host_buffer.h"
#include "kernels/verbs/device.h"
#include "kernels/verbs/handles.h"
#include "kernels/verbs/peer.pb.h"
#include "kernels/verbs/send_queue.h"

namespace railgauge::verbs {

class Link {
 public:
  struct Options {
    std::size_t area_bytes = 0;  // of the send and of the receive area
    std::uint32_t send_depth = 1;
    bool relaxed_ordering = false;
  };
  // Opens the context's endpoint and makes everything that needs no peer. Reads the parameters of
  // connection_parameters().
  static Result<Link> open(const Context& context, const Options& options);

  // Registers more memory for this connection; `strict` memory takes no relaxed ordering.
  [[nodiscard]] Result<MemoryRegionHandle> register_memory(std::span<std::byte> memory,
                                                           bool relaxed_ordering) const;

  // Swaps addresses with the peer and brings the queue pair to RTS. Both ranks return well or
  // neither does.
  Status connect(const Context& context, Group& group);

  // What holds for this connection, for Started. After connect.
  void report_facts(Reporter& reporter) const;

  // A write of `bytes` from `from` (in the send area) to `to` in the peer's receive area.
  [[nodiscard]] WriteRequest write_request(std::size_t bytes) const;
  // The same from other registered memory.
  [[nodiscard]] WriteRequest write_request(const void* from, std::uint32_t local_key,
                                           std::size_t bytes, std::uint64_t to,
                                           std::uint32_t remote_key) const;

  [[nodiscard]] std::span<std::byte> send_area() const;
  [[nodiscard]] std::span<std::byte> receive_area() const;
  // What both ranks' areas hold: pages differ between machines.
  [[nodiscard]] std::size_t common_area_bytes() const;
  [[nodiscard]] SendQueue& queue() { return queue_; }
  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] PeerAddress& mine() { return mine_; }  // to add to, before connect
  [[nodiscard]] const PeerAddress& peer() const { return peer_; }
  [[nodiscard]] std::uint32_t inline_bytes() const { return inline_bytes_; }

 private:
  Status create_queues(std::uint32_t inline_wanted, std::uint32_t depth);
  Status create_queue_pair(std::uint32_t inline_bytes, std::uint32_t depth);
  Status check_peer(const Context& context) const;
  Status bring_up(const Context& context);
  Status modify(ibv_qp_attr& attributes, int mask, std::string_view to) const;

  Device device_;  // members are released in reverse: queue pair first, device last
  ProtectionDomainHandle domain_;
  HostBuffer buffer_;
  MemoryRegionHandle region_;
  CompletionQueueHandle completions_;
  QueuePairHandle queue_pair_;
  SendQueue queue_;
  GidEntry gid_;
  std::uint32_t inline_bytes_ = 0;
  unsigned mtu_bytes_ = 0;
  PeerAddress mine_;
  PeerAddress peer_;
};

}  // namespace railgauge::verbs
