// Brings queue pairs up by the RDMA connection manager instead of exchanged addresses: required for
// iWARP, and used by some production stacks on RoCE. The queue pairs stay our own; the manager only
// negotiates numbers, sequences and paths. One connection a queue pair: rank 1 listens on the IP
// address of its port, rank 0 connects.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/dl/rdmacm.h"
#include "kernels/verbs/transport/queue_pair.h"

namespace railgauge::verbs {

// Owners of librdmacm's objects. Acknowledge an event before its id is destroyed: rdma_destroy_id
// waits for that.
inline void destroy(rdma_cm_id* id) {
  note_release("destroy a connection's id", loaded_rdmacm().destroy_id(id) == 0 ? 0 : errno);
}
using EventChannelHandle =
    Handle<ReleasedByTable<rdma_event_channel*, loaded_rdmacm, &Rdmacm::destroy_event_channel>>;
using CmIdHandle = Handle<ReleasedBy<rdma_cm_id*, destroy>>;
using CmEventHandle = Handle<ReleasedByTable<rdma_cm_event*, loaded_rdmacm, &Rdmacm::ack_cm_event>>;

// One a link, on the thread that connects it.
class Connector {
 public:
  // Reports whether the parameter `connection` selects the connection manager on this device; auto
  // selects it only for iWARP.
  static bool is_asked_for(const Device& device, const Params& params);
  // Reports the same after checks. kInvalidArgument, or kFailedPrecondition when the manager cannot
  // be used.
  static Result<bool> is_wanted(const Device& device, const Params& params, Transport transport);
  // Loads librdmacm and listens on the port's own address: `address`, or the GID's when it is "".
  // Errors of library calls waive when this machine lacks something.
  static Result<std::unique_ptr<Connector>> open(const Device& device, const Addressing& addressing,
                                                 const Params& params, const std::string& address);
  // Writes address, port and token, by which the peer finds this side.
  void describe(PeerAddress& mine) const;
  // Reports cm_address, rdmacm_path, rdmacm_version.
  void report_facts(Reporter& reporter) const;

  // Call before the first queue pair. Every step ends by the deadline, and within a few seconds.
  void begin(std::uint32_t rank, double deadline_monotonic_ns) {
    rank_ = rank;
    deadline_ns_ = deadline_monotonic_ns;
  }
  // Brings one queue pair to RTS; both ranks call for the same lanes in the same order.
  Status bring_up(const Introduction& with, ibv_qp* queue_pair, std::size_t lane);

 private:
  Connector() = default;
  // Does rank 0's side of one connection.
  Status connect(const Introduction& with, ibv_qp* queue_pair, std::size_t lane);
  // Does rank 1's side of one connection.
  Status accept(const Introduction& with, ibv_qp* queue_pair, std::size_t lane);
  // Returns the next event of `id`, which must be one of `wanted`; skips events of other
  // connections.
  Result<CmEventHandle> wait(rdma_cm_id* id, std::initializer_list<rdma_cm_event_type> wanted,
                             std::string_view act);
  // Returns the next event of any id; kUnavailable or kDeadlineExceeded when none came by
  // `until_ns`.
  Result<CmEventHandle> next_event(double until_ns, std::string_view act);
  // Goes from INIT to RTS; on iWARP the driver does so.
  Status to_ready(const Introduction& with, rdma_cm_id* id, ibv_qp* queue_pair, std::size_t lane);
  // Goes to INIT, with this process's access.
  Status init(const Introduction& with, rdma_cm_id* id, ibv_qp* queue_pair);
  // Describes an error of a librdmacm call: "fake0:1: rdma_cm: ACT: CAUSE".
  [[nodiscard]] Status check(int returned, std::string_view act) const;

  std::string endpoint_;
  bool is_iwarp_ = false;
  sockaddr_storage own_{};
  std::string own_text_;
  std::uint16_t port_ = 0;
  // A random number that proves a request to be the peer's.
  std::uint64_t token_ = 0;
  std::uint32_t rank_ = 0;
  double deadline_ns_ = 0;
  double step_ns_ = 0;          // limit of a wait for one event
  EventChannelHandle channel_;  // the members below report to it
  CmIdHandle listener_;
  std::vector<CmIdHandle> connections_;
};

}  // namespace railgauge::verbs
