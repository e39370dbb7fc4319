// Bringing queue pairs up by the RDMA connection manager instead of by addresses that the ranks
// exchange: what iWARP needs, and what some production stacks do on RoCE. The queue pairs stay our
// own; the manager only negotiates their numbers, sequences and paths. One connection a queue pair:
// rank 1 listens on the IP address of its port, rank 0 connects.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/dl/rdmacm.h"
#include "kernels/verbs/transport/queue_pair.h"

namespace railgauge::verbs {

struct EventChannelTraits {
  using Type = rdma_event_channel*;
  static Type empty() { return nullptr; }
  static void release(Type channel) { loaded_rdmacm().destroy_event_channel(channel); }
};
struct CmIdTraits {
  using Type = rdma_cm_id*;
  static Type empty() { return nullptr; }
  static void release(Type id) {
    note_release("destroy a connection's id", loaded_rdmacm().destroy_id(id) == 0 ? 0 : errno);
  }
};
struct CmEventTraits {
  using Type = rdma_cm_event*;
  static Type empty() { return nullptr; }
  static void release(Type event) { loaded_rdmacm().ack_cm_event(event); }
};
using EventChannelHandle = Handle<EventChannelTraits>;
using CmIdHandle = Handle<CmIdTraits>;
using CmEventHandle = Handle<CmEventTraits>;

class Connector {
 public:
  // Whether parameter `connection` means the connection manager on this device; auto takes it for
  // iWARP alone.
  static bool is_asked_for(const Device& device, const Params& params);
  // The same. kInvalidArgument, kFailedPrecondition where it cannot be.
  static Result<bool> is_wanted(const Device& device, const Params& params, ibv_qp_type transport);
  // Loads librdmacm and listens on the port's own address, `address` or where that is empty the
  // GID's. Errors of the library's calls waive where this machine lacks something.
  static Result<std::unique_ptr<Connector>> open(const Device& device, const Addressing& addressing,
                                                 const Params& params, const std::string& address);
  // Where the peer finds us.
  void describe(PeerAddress& mine) const;
  void report_facts(Reporter& reporter) const;

  // Before the first queue pair. Every step ends by the deadline, and within a few seconds.
  void begin(std::uint32_t rank, double deadline_monotonic_ns) {
    rank_ = rank;
    deadline_ns_ = deadline_monotonic_ns;
  }
  // One queue pair to RTS; both ranks call for the same lanes in the same order.
  Status bring_up(const Introduction& with, ibv_qp* queue_pair, std::size_t lane);

 private:
  Connector() = default;
  Status connect(const Introduction& with, ibv_qp* queue_pair, std::size_t lane);
  Status accept(const Introduction& with, ibv_qp* queue_pair, std::size_t lane);
  // The next event of `id`, which must be one of `wanted`; those of other connections are passed
  // over.
  Result<CmEventHandle> wait(rdma_cm_id* id, std::initializer_list<rdma_cm_event_type> wanted,
                             std::string_view act);
  Result<CmEventHandle> next_event(double until_ns, std::string_view act);
  Status to_ready(const Introduction& with, rdma_cm_id* id, ibv_qp* queue_pair, std::size_t lane);
  Status init(const Introduction& with, rdma_cm_id* id, ibv_qp* queue_pair);
  [[nodiscard]] Status check(int returned, std::string_view act) const;

  std::string endpoint_;
  bool is_iwarp_ = false;
  sockaddr_storage own_{};
  std::string own_text_;
  std::uint16_t port_ = 0;
  std::uint64_t token_ = 0;
  std::uint32_t rank_ = 0;
  double deadline_ns_ = 0;
  double step_ns_ = 0;          // a wait for one event ends after it
  EventChannelHandle channel_;  // after it what reports there
  CmIdHandle listener_;
  std::vector<CmIdHandle> connections_;
};

}  // namespace railgauge::verbs
