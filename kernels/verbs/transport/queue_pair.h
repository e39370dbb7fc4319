// Makes a queue pair of one transport and connects it to its peer.
#pragma once

#include <string_view>

#include "kernels/verbs/transport/addressing.h"
#include "kernels/verbs/transport/handles.h"

namespace railgauge::verbs {

// "RC", "UC", "UD", "XRC", which is of its queue pairs that send.
ibv_qp_type transport_of(std::string_view word);
std::string_view transport_words(ibv_qp_type type);

inline constexpr std::uint32_t kDatagramKey = 0x5261696c;  // bit 31 is the kernel's own

// Makes a queue pair with as many inline bytes as the driver accepts, at most
// `init.cap.max_inline_data`, which afterwards has the accepted number. Drivers report their limit
// only by refusing.
// With `extended_operations` (IBV_QP_EX_WITH_*) it takes requests by ibv_wr_*; kUnimplemented where
// the provider or the library lacks them. One that sends by XRC is made by the same call without.
Result<QueuePairHandle> make_queue_pair(const Device& device, ibv_pd* domain,
                                        ibv_qp_init_attr& init,
                                        std::uint64_t extended_operations = 0);

// Limits the rate of a queue pair in RTS by the adapter itself. kUnimplemented where the provider
// has no such limit, or not for this transport or rate.
Status limit_rate(const Device& device, ibv_qp* queue_pair, std::uint32_t kilobits_per_second,
                  std::uint32_t burst_bytes);

class Connector;  // kernels/verbs/transport/connector.h

// Parameters for bringing up a queue pair. All references outlive it.
struct Introduction {
  const Device& device;
  const Params& params;
  const Addressing& addressing;
  const PeerAddress& mine;
  const PeerAddress& peer;
  // Remote access (IBV_ACCESS_*) granted to the peer here.
  int access = 0;
  // Makes the connection; nullptr when the ranks exchange addresses.
  Connector* connector = nullptr;
};

// Brings a queue pair to RTS, towards the peer's queue pair `number` (which datagrams name in each
// post instead).
Status bring_up(const Introduction& introduction, ibv_qp* queue_pair, std::uint32_t number,
                std::size_t lane);

// The steps of bring_up() with the values that a connection manager negotiated in `agreed`:
// partition and port, the peer's number and sequence, the path. This process sets access, retries,
// MTU and, where parameters give them, service level, traffic class and flow label.
Status to_init(const Introduction& introduction, ibv_qp* queue_pair, const ibv_qp_attr* agreed,
               int agreed_mask);
Status to_receive(const Introduction& introduction, ibv_qp* queue_pair, std::size_t lane,
                  const ibv_qp_attr& agreed);
Status to_send(const Introduction& introduction, ibv_qp* queue_pair, std::uint32_t first_sequence);

// Returns how many reads and atomics the initiator may have outstanding towards `theirs`.
std::uint32_t outstanding_reads(const PeerAddress& mine, const PeerAddress& theirs);

Result<AddressHandle> make_address(const Introduction& introduction, ibv_pd* domain,
                                   std::size_t lane);

}  // namespace railgauge::verbs
