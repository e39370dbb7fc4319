#include "kernels/verbs/transport/queue_pair.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fmt/format.h>

#include "kernels/verbs/transport/connector.h"
#include "kernels/verbs/transport/words.h"

namespace railgauge::verbs {
namespace {

// A provider's own type has the word of the parameter.
std::string_view type_words(const Introduction& with, ibv_qp_type type) {
  if (type == IBV_QPT_RC) return "RC";
  if (type == IBV_QPT_XRC_SEND || type == IBV_QPT_XRC_RECV) return "XRC";
  if (type == IBV_QPT_DRIVER) return with.params.text("transport");
  return type == IBV_QPT_UC ? "UC" : "UD";
}

// Overwrites the path that a manager found with the parameters' values.
void impose(const Introduction& with, std::size_t lane, ibv_ah_attr& path) {
  const Addressing& addressing = with.addressing;
  if (addressing.service_level != 0) path.sl = addressing.service_level;
  if (path.is_global == 0) return;
  if (addressing.traffic_class != 0) path.grh.traffic_class = addressing.traffic_class;
  if (addressing.flow_label != 0) path.grh.flow_label = addressing.flow_label_of(lane);
}

}  // namespace

Status modify_queue_pair(const Introduction& with, ibv_qp* queue_pair, ibv_qp_attr& attributes,
                         int mask, std::string_view to) {
  const int error = loaded_verbs().modify_qp(queue_pair, &attributes, mask);
  if (error == 0) return {};
  ibv_gid theirs{};
  with.peer.gid().copy(reinterpret_cast<char*>(theirs.raw), sizeof theirs.raw);
  return fail(
      error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH ? Code::kUnavailable
                                                                          : Code::kInternal,
      fmt::format("{}: {} queue pair to {}: {}; from GID {} ({}) to {} ({}) at {}",
                  with.device.endpoint(), type_words(with, queue_pair->qp_type), to,
                  errno_words(error), gid_words(with.addressing.gid.gid), with.mine.gid_type(),
                  gid_words(theirs), with.peer.gid_type(), with.peer.endpoint()));
}

// Without a manager the port, the partition and the access are this process's; datagrams take a
// queue key in place of access.
Status to_init(const Introduction& with, ibv_qp* queue_pair, const ibv_qp_attr* agreed,
               int agreed_mask) {
  ibv_qp_attr init{};
  if (agreed != nullptr) init = *agreed;
  init.qp_state = IBV_QPS_INIT;
  init.qp_access_flags = static_cast<unsigned>(with.access);
  if (agreed != nullptr) {
    constexpr int kKnown = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
    return modify_queue_pair(with, queue_pair, init, (agreed_mask & kKnown) | IBV_QP_ACCESS_FLAGS,
                             "INIT");
  }
  init.port_num = with.device.port();
  init.pkey_index = with.addressing.pkey_index;
  init.qkey = kDatagramKey;
  const bool datagram = queue_pair->qp_type == IBV_QPT_UD;
  return modify_queue_pair(with, queue_pair, init,
                           IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                               (datagram ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS),
                           "INIT");
}

// RTR. The mask has exactly the attributes that ibv_modify_qp requires of the transport; others are
// EINVAL.
Status to_receive(const Introduction& with, ibv_qp* queue_pair, std::size_t lane,
                  const ibv_qp_attr& agreed) {
  ibv_qp_attr receive{};
  receive.qp_state = IBV_QPS_RTR;
  if (queue_pair->qp_type == IBV_QPT_UD)
    return modify_queue_pair(with, queue_pair, receive, IBV_QP_STATE, "RTR");
  receive.path_mtu = mtu_of_bytes(std::min(with.mine.mtu_bytes(), with.peer.mtu_bytes()));
  receive.dest_qp_num = agreed.dest_qp_num;
  receive.rq_psn = agreed.rq_psn;
  receive.max_dest_rd_atomic = static_cast<std::uint8_t>(outstanding_reads(with.peer, with.mine));
  receive.min_rnr_timer = kRnrTimer;
  receive.ah_attr = agreed.ah_attr;
  impose(with, lane, receive.ah_attr);
  int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  if (queue_pair->qp_type == IBV_QPT_RC || queue_pair->qp_type == IBV_QPT_XRC_RECV)
    mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  return modify_queue_pair(with, queue_pair, receive, mask, "RTR");
}

// RTS. Timeout and retries exist on reliable connections alone; XRC's receiving half has no
// retries.
Status to_send(const Introduction& with, ibv_qp* queue_pair, std::uint32_t first_sequence) {
  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  send.sq_psn = first_sequence;
  const int reliable = reliable_sender(with, send);
  int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (queue_pair->qp_type == IBV_QPT_XRC_RECV) mask |= IBV_QP_TIMEOUT;
  if (queue_pair->qp_type == IBV_QPT_RC || queue_pair->qp_type == IBV_QPT_XRC_SEND)
    mask |= reliable;
  return modify_queue_pair(with, queue_pair, send, mask, "RTS");
}

int reliable_sender(const Introduction& with, ibv_qp_attr& send) {
  send.timeout = static_cast<std::uint8_t>(with.params.integer("qp_timeout"));
  send.retry_cnt = static_cast<std::uint8_t>(with.params.integer("retry_count"));
  send.rnr_retry = kRnrRetry;
  send.max_rd_atomic = static_cast<std::uint8_t>(outstanding_reads(with.mine, with.peer));
  return IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
}

namespace {

struct TransportRow {
  Transport transport;
  std::string_view words;
  ibv_qp_type send_type;
};
constexpr std::array kTransports{TransportRow{Transport::kRc, "RC", IBV_QPT_RC},
                                 TransportRow{Transport::kUc, "UC", IBV_QPT_UC},
                                 TransportRow{Transport::kUd, "UD", IBV_QPT_UD},
                                 TransportRow{Transport::kXrc, "XRC", IBV_QPT_XRC_SEND},
                                 TransportRow{Transport::kDc, "DC", IBV_QPT_DRIVER},
                                 TransportRow{Transport::kSrd, "SRD", IBV_QPT_DRIVER}};

const TransportRow& row_of(Transport transport) {
  const TransportRow& found = kTransports[static_cast<std::size_t>(transport)];
  RG_CHECK(found.transport == transport);
  return found;
}

}  // namespace

std::string_view transport_words(Transport transport) { return row_of(transport).words; }
ibv_qp_type send_type_of(Transport transport) { return row_of(transport).send_type; }

Transport transport_of(std::string_view word) {
  const auto found = std::ranges::find(kTransports, word, &TransportRow::words);
  RG_CHECK(found != kTransports.end());
  return found->transport;
}

// The initiator's own limit, the target's limit, and the field's width of 8 bits.
std::uint32_t outstanding_reads(const PeerAddress& mine, const PeerAddress& theirs) {
  return std::min(
      {mine.outstanding_reads(), theirs.outstanding_answers(), std::uint32_t{UINT8_MAX}});
}

namespace {

// The plain call's settings, and the one kind of request that will be built: a provider refuses
// to build others.
ibv_qp_init_attr_ex extended_form(const ibv_qp_init_attr& init, ibv_pd* domain,
                                  std::uint64_t operations) {
  ibv_qp_init_attr_ex asked{};
  asked.qp_context = init.qp_context;
  asked.send_cq = init.send_cq;
  asked.recv_cq = init.recv_cq;
  asked.srq = init.srq;
  asked.cap = init.cap;
  asked.qp_type = init.qp_type;
  asked.sq_sig_all = init.sq_sig_all;
  asked.comp_mask = IBV_QP_INIT_ATTR_PD;
  if (operations != 0) asked.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  asked.pd = domain;
  asked.send_ops_flags = operations;
  return asked;
}

// By the context's own call, as the header's inline ibv_create_qp_ex does. nullptr with errno.
ibv_qp* create_extended(const Device& device, ibv_pd* domain, ibv_qp_init_attr& init,
                        std::uint64_t operations) {
  verbs_context* const context = verbs_get_ctx_op(device.context(), create_qp_ex);
  if (context == nullptr || (operations != 0 && loaded_verbs().qp_to_qp_ex == nullptr))
    return errno = EOPNOTSUPP, nullptr;
  ibv_qp_init_attr_ex asked = extended_form(init, domain, operations);
  ibv_qp* const made = context->create_qp_ex(device.context(), &asked);
  init.cap = asked.cap;
  return made;
}

// Halves the inline bytes until `create` accepts them: drivers report their limit only by refusing.
template <class Create>
QueuePairHandle create_halving(ibv_qp_init_attr& init, Create create) {
  for (std::uint32_t inline_bytes = init.cap.max_inline_data;; inline_bytes /= 2) {
    ibv_qp_init_attr asked = init;
    asked.cap.max_inline_data = inline_bytes;
    errno = 0;
    QueuePairHandle made(create(asked));
    if (made) init.cap.max_inline_data = std::min(inline_bytes, asked.cap.max_inline_data);
    if (made || inline_bytes == 0 || (errno != EINVAL && errno != ENOMEM)) return made;
  }
}

}  // namespace

// A provider without pacing says so by one of several errors, by release and driver; each waives.
Status limit_rate(const Device& device, ibv_qp* queue_pair, std::uint32_t kilobits_per_second,
                  std::uint32_t burst_bytes) {
  ibv_qp_rate_limit_attr wanted{};
  wanted.rate_limit = kilobits_per_second;
  wanted.max_burst_sz = burst_bytes;
  verbs_context* const context = verbs_get_ctx_op(device.context(), modify_qp_rate_limit);
  const int error =
      context == nullptr ? EOPNOTSUPP : context->modify_qp_rate_limit(queue_pair, &wanted);
  if (error == 0) return {};
  const bool is_lack = error == EOPNOTSUPP || error == ENOSYS || error == EINVAL;
  return fail(
      is_lack ? Code::kUnimplemented : Code::kInternal,
      fmt::format("{}: limit a queue pair to {} kb/s: {}; the provider of driver {} has no "
                  "packet pacing for it; take rate_limit_by software",
                  device.endpoint(), kilobits_per_second, errno_words(error), device.driver()));
}

Result<QueuePairHandle> make_queue_pair(const Device& device, ibv_pd* domain,
                                        ibv_qp_init_attr& init, std::uint64_t extended_operations) {
  const bool by_extended = extended_operations != 0 || init.qp_type == IBV_QPT_XRC_SEND;
  QueuePairHandle made = create_halving(init, [&](ibv_qp_init_attr& asked) {
    return by_extended ? create_extended(device, domain, asked, extended_operations)
                       : loaded_verbs().create_qp(domain, &asked);
  });
  if (made) return made;
  const int error = errno;
  if (extended_operations != 0 && error == EOPNOTSUPP)
    return fail(Code::kUnimplemented,
                fmt::format("{}: make a queue pair for extended work requests: {}; the provider of "
                            "driver {} has none; take post request",
                            device.endpoint(), errno_words(error), device.driver()));
  return tl::unexpected(pinning_error(
      fmt::format("{}: make a queue pair of depth {}", device.endpoint(), init.cap.max_send_wr),
      error));
}

QueuePairHandle create_with_inline(ibv_qp_init_attr& init, ibv_pd* domain, std::uint64_t operations,
                                   const CreateQueuePair& create) {
  return create_halving(init, [&](ibv_qp_init_attr& asked) {
    ibv_qp_init_attr_ex extended = extended_form(asked, domain, operations);
    ibv_qp* const made = create(extended);
    asked.cap = extended.cap;
    return made;
  });
}

// INIT, RTR, RTS by the exchanged addresses, or by the connection manager.
Status bring_up(const Introduction& introduction, ibv_qp* queue_pair, std::uint32_t number,
                std::size_t lane) {
  if (introduction.connector != nullptr)
    return introduction.connector->bring_up(introduction, queue_pair, lane);
  RG_TRY_OK(to_init(introduction, queue_pair, nullptr, 0));
  ibv_qp_attr exchanged{};
  exchanged.dest_qp_num = number;
  exchanged.rq_psn = introduction.peer.packet_sequence();
  exchanged.ah_attr =
      path_to(introduction.addressing, introduction.device, introduction.peer, lane);
  RG_TRY_OK(to_receive(introduction, queue_pair, lane, exchanged));
  return to_send(introduction, queue_pair, introduction.mine.packet_sequence());
}

// Datagrams carry their address in each post.
Result<AddressHandle> make_address(const Introduction& introduction, ibv_pd* domain,
                                   std::size_t lane) {
  ibv_ah_attr path = path_to(introduction.addressing, introduction.device, introduction.peer, lane);
  errno = 0;
  AddressHandle made(loaded_verbs().create_ah(domain, &path));
  if (made) return made;
  return fail(Code::kInternal,
              fmt::format("{}: make an address handle to {}: {}", introduction.device.endpoint(),
                          introduction.peer.endpoint(), errno_words(errno)));
}

}  // namespace railgauge::verbs
