#include "kernels/verbs/link/xrc.h"

#include <fcntl.h>

#include <cerrno>
#include <string_view>

#include <fmt/format.h>

#include "kernels/verbs/transport/words.h"

namespace railgauge::verbs {
namespace {

// Providers without XRC say so by one of two errors, by release and driver. EINVAL is none: the
// device has IBV_DEVICE_XRC here, so it is about what we ask for.
tl::unexpected<Error> lacking(const Device& device, std::string_view act, int error) {
  const bool is_lack = error == EOPNOTSUPP || error == ENOSYS;
  if (!is_lack)
    return tl::unexpected(pinning_error(fmt::format("{}: {}", device.endpoint(), act), error));
  return fail(Code::kUnimplemented,
              fmt::format("{}: {}: {}; driver {} has no XRC; take transport RC", device.endpoint(),
                          act, errno_words(error), device.driver()));
}

// A queue pair that receives has no queue of its own, and belongs to the domain.
Result<QueuePairHandle> make_receiver(const Device& device, ibv_xrcd* domain) {
  verbs_context* const context = verbs_get_ctx_op(device.context(), create_qp_ex);
  ibv_qp_init_attr_ex asked{};
  asked.qp_type = IBV_QPT_XRC_RECV;
  asked.comp_mask = IBV_QP_INIT_ATTR_XRCD;
  asked.xrcd = domain;
  errno = EOPNOTSUPP;
  QueuePairHandle made(context == nullptr ? nullptr
                                          : context->create_qp_ex(device.context(), &asked));
  if (!made) return lacking(device, "make a queue pair that receives by XRC", errno);
  return made;
}

}  // namespace

// The domain is this process's own: no file shares it.
Result<Xrc> Xrc::open(const Device& device, ibv_pd* domain, ibv_cq* completions,
                      std::uint32_t depth, std::uint32_t lanes) {
  if ((device.attributes().device_cap_flags & IBV_DEVICE_XRC) == 0)
    return fail(Code::kUnimplemented,
                fmt::format("{}: transport XRC: the device of driver {} reports none "
                            "(IBV_DEVICE_XRC); take transport RC",
                            device.endpoint(), device.driver()));
  Xrc made;
  ibv_xrcd_init_attr own{};
  own.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  own.fd = -1;
  own.oflags = O_CREAT;
  errno = 0;
  made.domain_ = Handle<XrcDomainTraits>(ibv_open_xrcd(device.context(), &own));
  if (!made.domain_) return lacking(device, "open an XRC domain", errno);
  ibv_srq_init_attr_ex shared{};
  shared.attr.max_wr = depth;
  shared.attr.max_sge = 1;
  shared.comp_mask =
      IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  shared.srq_type = IBV_SRQT_XRC;
  shared.pd = domain;
  shared.xrcd = made.domain_.get();
  shared.cq = completions;
  verbs_context* const context = verbs_get_ctx_op(device.context(), create_srq_ex);
  errno = EOPNOTSUPP;
  made.shared_ = SharedReceivesHandle(
      context == nullptr ? nullptr : context->create_srq_ex(device.context(), &shared));
  const std::string act = fmt::format("make an XRC receive queue of {}", depth);
  if (!made.shared_) return lacking(device, act, errno);
  if (const int error = ibv_get_srq_num(made.shared_.get(), &made.number_); error != 0)
    return lacking(device, "ask the XRC receive queue for its number", error);
  for (std::uint32_t lane = 0; lane < lanes; ++lane)
    made.receivers_.push_back(RG_TRY(make_receiver(device, made.domain_.get())));
  return made;
}

void Xrc::describe(PeerAddress& mine) const {
  mine.set_shared_receives(number_);
  for (const QueuePairHandle& one : receivers_) mine.add_receiving_queue_pairs(one.get()->qp_num);
}

Status Xrc::bring_up_lane(const Introduction& with, std::size_t lane) const {
  return bring_up(with, receivers_[lane].get(),
                  with.peer.queue_pair_numbers(static_cast<int>(lane)), lane);
}

}  // namespace railgauge::verbs
