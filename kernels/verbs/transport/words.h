// Verbs' numbers as words, for errors and facts. Pure.
#pragma once

#include <infiniband/verbs.h>

#include <string>
#include <string_view>

#include "kernels/core/base/result.h"
#include "kernels/core/text/text.h"

namespace railgauge::verbs {

std::string_view port_state_words(ibv_port_state state);      // "down", "active"
std::string_view queue_pair_state_words(ibv_qp_state state);  // "RTS", "ERR"
std::string_view link_layer_words(std::uint8_t link_layer);   // "ethernet", "infiniband"
std::string_view gid_type_words(std::uint32_t gid_type);      // "RoCE v2"
std::string gid_words(const ibv_gid& gid);                    // "::ffff:192.0.2.1"

// Returns the MTU in bytes: 256 to 4096.
unsigned mtu_bytes(ibv_mtu mtu);
// Returns the enumerator of 256, 512, 1024, 2048 or 4096; CHECKs that `bytes` is one of them.
ibv_mtu mtu_of_bytes(unsigned bytes);

// Returns a port's data rate in bits per second, from its active speed and width; 0 when unknown.
double port_rate_bits_per_second(const ibv_port_attr& attributes);

// Returns the side that a failed completion points to: "this side", "the other side", "the path or
// the other side".
std::string_view blamed_side(ibv_wc_status status);
// Returns kUnavailable when the peer did not answer, else kInternal.
Code code_of(ibv_wc_status status);

// Makes the error of a call for which the kernel pins memory; `what` is thing and act ("fake0:1:
// register 4096 bytes"). kFailedPrecondition with the setting to change when the limit on locked
// memory may be the cause; else only the errno's text.
Error pinning_error(const std::string& what, int error);

}  // namespace railgauge::verbs
