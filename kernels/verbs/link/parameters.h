// The parameters that verbs kernels share, declared once.
#pragma once

#include <string>
#include <vector>

#include "kernels/core/info_builder.h"
#include "kernels/verbs/link/link.h"

namespace railgauge::verbs {

// The differences between kernels in the parameters of a connection.
struct ConnectionForm {
  // Values of parameter transport; the first is the default.
  std::vector<std::string> transports{"RC"};
  // Default of parameter inline_bytes; empty where the operation cannot send inline.
  std::string inline_bytes;
  // Declares the parameters of both sides' memory.
  bool has_memory = true;
};
// Declares transport, the addressing, mtu, inline_bytes, qp_timeout, retry_count, stall_timeout.
void add_connection(InfoBuilder& builder, const ConnectionForm& form);
// Declares poll: how to wait for completions.
void add_poll(InfoBuilder& builder);
// Declares outstanding, of operations that fetch.
void add_outstanding(InfoBuilder& builder);
// Declares operation: which of the atomics.
void add_atomic_operation(InfoBuilder& builder);
// Declares added_cost_fraction: a test control.
void add_added_cost(InfoBuilder& builder, const std::string& summary);

// Returns the message sizes in bytes; 8 for atomics.
std::vector<std::uint64_t> sizes_of(const Params& params, const Operation& does);
// kInvalidArgument where a transport cannot honour signal_every, if the kernel declares it: each
// post of SRD completes by itself.
Status check_completions(const Params& params);
// Returns the link options that these parameters determine; the chosen atomic replaces `verb`.
Link::Options link_options(const Params& params, Verb verb);

}  // namespace railgauge::verbs
