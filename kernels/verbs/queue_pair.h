// Making a queue pair of one transport and bringing it up to its peer.
#pragma once

#include <string_view>

#include "kernels/verbs/addressing.h"
#include "kernels/verbs/handles.h"

namespace railgauge::verbs {

// "RC", "UC", "UD".
ibv_qp_type transport_of(std::string_view word);
std::string_view transport_words(ibv_qp_type type);

inline constexpr std::uint32_t kDatagramKey = 0x5261696c;  // bit 31 is the kernel's own

// As many bytes inline as the driver takes, `init.cap.max_inline_data` at most; it becomes what was
// taken. Drivers tell by refusing.
Result<QueuePairHandle> make_queue_pair(const Device& device, ibv_pd* domain,
                                        ibv_qp_init_attr& init);

// What a queue pair is brought up with. Everything outlives it.
struct Introduction {
  const Device& device;
  const Params& params;
  const Addressing& addressing;
  const PeerAddress& mine;
  const PeerAddress& peer;
  int access = 0;  // what the peer may do here
};

// To RTS, towards the peer's queue pair `number` (which datagrams name in each post instead).
Status bring_up(const Introduction& introduction, ibv_qp* queue_pair, std::uint32_t number,
                std::size_t lane);

// How many reads and atomics the initiator may have outstanding towards `theirs`.
std::uint32_t outstanding_reads(const PeerAddress& mine, const PeerAddress& theirs);

Result<AddressHandle> make_address(const Introduction& introduction, ibv_pd* domain,
                                   std::size_t lane);

}  // namespace railgauge::verbs
