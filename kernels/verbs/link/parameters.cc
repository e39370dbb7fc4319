#include "kernels/verbs/link/parameters.h"

#include "kernels/verbs/link/memory_choice.h"

namespace railgauge::verbs {
namespace {

constexpr double kMillisecondNs = 1e6;
constexpr double kHourNs = 3600e9;

// The parameters of kernels/verbs/transport/addressing.h.
void add_addressing(InfoBuilder& builder) {
  constexpr double kMaxFlowLabel = (1U << 20U) - 1;
  builder
      .integer("gid_index",
               "GID table entry of this rank's port; -1 takes RoCE v2 with an IPv4 address on "
               "the port's netdev first, then v2 with a global IPv6 address, v2 link-local, v1",
               -1, -1, 255)
      .identity()
      .per_rank()
      .choice(
          "gid_rule", "",
          "which GID a port takes where gid_index names none. auto: as said there; "
          "roce_v2_ipv4, roce_v2, roce_v1: only entries of that kind, in the same order; index: "
          "none but gid_index",
          {"auto", "roce_v2_ipv4", "roce_v2", "roce_v1", "index"})
      .identity()
      .integer("pkey_index", "partition table entry of this rank's port", 0, 0, 65535)
      .identity()
      .per_rank()
      .text("pkey",
            "partition key by its value, as in 0x8001, which each port finds in its own table; "
            "empty takes pkey_index",
            "")
      .identity()
      .integer("service_level", "service level (InfiniBand), or priority where the port maps it", 0,
               0, 15)
      .identity()
      .integer("traffic_class", "traffic class of the global route: on RoCE v2 the DSCP times 4", 0,
               0, 255)
      .identity()
      .integer("flow_label",
               "flow label of the global route, which RoCE v2 folds into the UDP source port; 0 "
               "leaves the port to the driver, -1 gives each queue pair another one",
               0, -1, kMaxFlowLabel)
      .identity();
}

}  // namespace

// `qp_timeout` and `retry_count` are the fields of ibv_modify_qp with the same meaning; they have
// no effect on a path without loss, so they are not part of a series' identity.
void add_connection(InfoBuilder& builder, const ConnectionForm& form) {
  constexpr double kMaxInlineBytes = 4096;
  builder
      .choice("transport", "",
              "RC: reliable connection; UC: unreliable; UD: datagrams; XRC: reliable, with one "
              "receive queue for all peers, where the adapter has it; DC: mlx5's, dynamically "
              "connected; SRD: EFA's scalable reliable datagrams, in any order",
              form.transports)
      .identity();
  add_addressing(builder);
  builder
      .choice("mtu", "bytes", "RDMA path MTU; 0 takes the smaller one of the two ports' active MTU",
              {"0", "256", "512", "1024", "2048", "4096"})
      .identity();
  if (!form.inline_bytes.empty())
    builder
        .bytes("inline_bytes",
               "messages up to this size are sent inline, as far as the device can; 0 sends none "
               "so",
               form.inline_bytes, kMaxInlineBytes)
        .identity();
  builder
      .choice("connection", "",
              "how queue pairs find each other. exchange: by addresses that the ranks send each "
              "other; rdma_cm: by the connection manager; auto: rdma_cm on iWARP, which has no "
              "other, else exchange",
              {"auto", "exchange", "rdma_cm"})
      .identity()
      .text("cm_address",
            "IP address of this rank's port for rdma_cm, of several devices a list as they are "
            "named; empty takes the GID's",
            "")
      .per_rank()
      .integer("qp_timeout", "acknowledgement timeout, 4.096 us times 2 to this power", 14, 1, 31)
      .integer("retry_count", "transmissions tried again before the connection fails", 7, 0, 7)
      .duration("stall_timeout", "the task ends when nothing moves for this long", "10s",
                10 * kMillisecondNs, kHourNs);
  if (form.has_memory) add_memory(builder);
}

// A sleeping CPU adds the interrupt to each wait, so the two are different series.
void add_poll(InfoBuilder& builder) {
  builder
      .choice("poll", "",
              "busy: completions are polled without rest; events: the CPU sleeps until the adapter "
              "reports one",
              {"busy", "events"})
      .identity()
      .integer(
          "completion_vector",
          "the device's interrupt that reports completions under poll events, and the CPU that "
          "serves it",
          0, 0, 1023)
      .identity();
}

void add_atomic_operation(InfoBuilder& builder) {
  builder
      .choice("operation", "", "fetch_add adds one; compare_swap expects what it left before",
              {"fetch_add", "compare_swap"})
      .identity();
}

void add_outstanding(InfoBuilder& builder) {
  builder
      .integer("outstanding",
               "reads or atomics on the wire at once for each queue pair; 0: as many as both "
               "devices allow",
               0, 0, UINT8_MAX)
      .identity();
}

// Lets tests make a kernel slower by a known share.
void add_added_cost(InfoBuilder& builder, const std::string& summary) {
  builder.number("added_cost_fraction", summary, "0", 0, 1).identity();
}

std::vector<std::uint64_t> sizes_of(const Params& params, const Operation& does) {
  return does.is_atomic() ? std::vector{std::uint64_t{kAtomicBytes}} : params.bytes_list("sizes");
}

Status check_completions(const Params& params) {
  const auto given = params.effective().find("signal_every");
  if (params.text("transport") != "SRD" || given == params.effective().end() ||
      params.is_default("signal_every") || given->second == "1")
    return {};
  return invalid(
      "parameter signal_every: {} is not for transport SRD, each of whose posts completes by "
      "itself; "
      "leave it out or say 1",
      given->second);
}

Link::Options link_options(const Params& params, Verb verb) {
  Link::Options options;
  options.verb = verb;
  const Operation& does = operation_of(verb);
  if (does.is_atomic() && params.text("operation") == "compare_swap")
    options.verb = Verb::kCompareSwap;
  options.transport = transport_of(params.text("transport"));
  options.shares_receives =
      options.transport == Transport::kXrc || options.transport == Transport::kDc;
  options.cm_address = params.text("cm_address");
  if (does.verb == Verb::kSend) options.immediate = params.boolean("immediate");
  if (does.fetches)
    options.outstanding = static_cast<std::uint32_t>(params.integer("outstanding"));
  else
    options.inline_bytes = static_cast<std::uint32_t>(params.bytes("inline_bytes"));
  // EFA takes inline data of sends alone.
  if (options.transport == Transport::kSrd && does.is_aimed()) options.inline_bytes = 0;
  return options;
}

}  // namespace railgauge::verbs
