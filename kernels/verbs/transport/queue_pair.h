// Makes a queue pair of one transport and connects it to its peer.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "kernels/verbs/transport/addressing.h"
#include "kernels/verbs/transport/handles.h"

namespace railgauge::verbs {

// DC and SRD are of one provider each: its own library makes their queue pairs.
enum class Transport : std::uint8_t { kRc, kUc, kUd, kXrc, kDc, kSrd };
// "RC", "UC", "UD", "XRC", "DC", "SRD".
Transport transport_of(std::string_view word);
std::string_view transport_words(Transport transport);
// Returns the type of its queue pairs that send: IBV_QPT_DRIVER of a provider's own.
ibv_qp_type send_type_of(Transport transport);
// Reports whether queue pairs have no peer of their own, so that each request is aimed by the lane.
constexpr bool aims_by_lane(Transport transport) {
  return transport == Transport::kDc || transport == Transport::kSrd;
}

inline constexpr std::uint32_t kDatagramKey = 0x5261696c;  // bit 31 is the kernel's own

// Makes a queue pair with as many inline bytes as the driver accepts, at most
// `init.cap.max_inline_data`, which afterwards has the accepted number. Drivers report their limit
// only by refusing.
// With `extended_operations` (IBV_QP_EX_WITH_*) it takes requests by ibv_wr_*; kUnimplemented where
// the provider or the library lacks them. One that sends by XRC is made by the same call without.
Result<QueuePairHandle> make_queue_pair(const Device& device, ibv_pd* domain,
                                        ibv_qp_init_attr& init,
                                        std::uint64_t extended_operations = 0);

// Calls `create` for queue pairs of a provider's own, by the settings that it is given, until the
// inline bytes are accepted. nullptr with errno.
using CreateQueuePair = std::function<ibv_qp*(ibv_qp_init_attr_ex& asked)>;
// Returns nullptr with errno where `create` refuses for another reason than inline bytes. Sets
// init.cap.max_inline_data as make_queue_pair() does.
QueuePairHandle create_with_inline(ibv_qp_init_attr& init, ibv_pd* domain, std::uint64_t operations,
                                   const CreateQueuePair& create);

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

// Changes the state of a queue pair to `to` ("RTR"). The error names both GIDs, because a wrong GID
// is the usual cause; kUnavailable where the peer's address did not resolve.
Status modify_queue_pair(const Introduction& introduction, ibv_qp* queue_pair,
                         ibv_qp_attr& attributes, int mask, std::string_view to);

// Waits for an acknowledgement and for a receive, as every reliable transport has them: the fields
// of the last step, RTS, and their mask.
int reliable_sender(const Introduction& introduction, ibv_qp_attr& attributes);

inline constexpr std::uint8_t kRnrTimer = 12;  // 0.64 ms
inline constexpr std::uint8_t kRnrRetry = 7;   // for ever: the stall limit bounds the wait

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
