#include "kernels/verbs/memory/registration.h"

#include <cerrno>

#include <fmt/format.h>

#include "kernels/verbs/memory/dmabuf.h"
#include "kernels/verbs/transport/words.h"

namespace railgauge::verbs {
namespace {

// Names of the paths, as the parameter and the fact `path` have them.
constexpr std::string_view kDmaBuf = "dma-buf";
constexpr std::string_view kPeermem = "nvidia-peermem";

// Local writes are what every region needs.
int all_access(const RegistrationForm& form) { return form.access | IBV_ACCESS_LOCAL_WRITE; }

Status by_dmabuf(const Device& device, ibv_pd* domain, const Memory& memory,
                 const RegistrationForm& form, Registration& made) {
  const int access = all_access(form) | (form.relaxed_ordering ? IBV_ACCESS_RELAXED_ORDERING : 0);
  auto done =
      RG_TRY(register_dmabuf(device, domain, memory, {.access = access, .mapping = form.mapping}));
  made.region = std::move(done.region);
  made.mapping = mapping_words(done.mapping);
  made.mapping_reason = std::move(done.reason);
  if (!done.refused.empty()) made.refused = fmt::format("{}: {}", kDmaBuf, done.refused);
  return {};
}

// ibv_reg_mr of GPU addresses works where a peer-memory module claims them.
Status by_peermem(const Device& device, ibv_pd* domain, const Memory& memory,
                  const RegistrationForm& form, Registration& made) {
  auto region =
      register_addresses(device, domain, memory.span(), form.access, form.relaxed_ordering);
  if (!region)
    return fail(Code::kFailedPrecondition,
                fmt::format("ibv_reg_mr of the GPU's addresses: {}", region.error().message));
  made.region = std::move(*region);
  return {};
}

// An adapter or a driver without it refuses the flag with one of these; any other error is one of
// the registration itself.
bool lacks_paging(int error) {
  return error == EOPNOTSUPP || error == ENOSYS || error == EINVAL || error == EPROTONOSUPPORT;
}

Status by_paging(const Device& device, ibv_pd* domain, const Memory& memory,
                 const RegistrationForm& form, Registration& made) {
  errno = 0;
  auto region = register_addresses(device, domain, memory.span(),
                                   form.access | IBV_ACCESS_ON_DEMAND, form.relaxed_ordering);
  const int error = errno;
  if (!region && !lacks_paging(error)) return tl::unexpected(region.error());
  if (!region)
    return fail(Code::kFailedPrecondition,
                fmt::format("{}; the adapter or its driver has no on-demand paging of such memory; "
                            "leave out on_demand",
                            region.error().message));
  made.region = std::move(*region);
  made.path = "host, on demand";
  return {};
}

}  // namespace

// ibv_reg_mr_iova2 is the call that knows optional access flags.
Result<MemoryRegionHandle> register_addresses(const Device& device, ibv_pd* domain,
                                              std::span<std::byte> memory, int access,
                                              bool relaxed_ordering) {
  const Verbs& verbs = loaded_verbs();
  const int all = access | IBV_ACCESS_LOCAL_WRITE;
  errno = 0;
  ibv_mr* region = nullptr;
  if (!relaxed_ordering) {
    region = verbs.reg_mr(domain, memory.data(), memory.size(), all);
  } else {
    if (verbs.reg_mr_iova2 == nullptr)
      return fail(
          Code::kUnimplemented,
          fmt::format("parameter relaxed_ordering: {} has no ibv_reg_mr_iova2; rdma-core 28 "
                      "or later has it",
                      verbs.path));
    region = verbs.reg_mr_iova2(domain, memory.data(), memory.size(),
                                reinterpret_cast<std::uint64_t>(memory.data()),
                                static_cast<unsigned>(all) | IBV_ACCESS_RELAXED_ORDERING);
  }
  if (region == nullptr) {
    const int error = errno;
    auto why = pinning_error(fmt::format("{}: register {} bytes", device.endpoint(), memory.size()),
                             error);
    errno = error;  // for callers that ask which it was
    return tl::unexpected(std::move(why));
  }
  return MemoryRegionHandle(region);
}

// Tries the paths in order and collects the refusals, which become a fact.
Result<Registration> register_all(const Device& device, ibv_pd* domain, const Memory& memory,
                                  const RegistrationForm& form) {
  Registration made;
  if (memory.is_host() && form.on_demand) {
    RG_TRY_OK(by_paging(device, domain, memory, form, made));
    return made;
  }
  if (memory.is_host()) {
    made.region = RG_TRY(
        register_addresses(device, domain, memory.span(), form.access, form.relaxed_ordering));
    made.path = "host";
    return made;
  }
  for (const std::string_view path : {kDmaBuf, kPeermem}) {
    if (form.path != "auto" && form.path != path) continue;
    const Status status = path == kDmaBuf ? by_dmabuf(device, domain, memory, form, made)
                                          : by_peermem(device, domain, memory, form, made);
    made.path = path;
    if (status) return made;
    made.refused +=
        fmt::format("{}{}: {}", made.refused.empty() ? "" : "; ", path, status.error().message);
  }
  return fail(Code::kFailedPrecondition,
              fmt::format("{}: register memory of {}: {}; load the module nvidia-peermem, or run "
                          "the driver's open modules with an adapter driver that takes dma-buf, or "
                          "measure with memory staged",
                          device.endpoint(), memory.gpu().name(), made.refused));
}

}  // namespace railgauge::verbs
