#include "kernels/verbs/memory/registration_probe.h"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "kernels/core/base/outcome.h"
#include "kernels/core/text/text.h"
#include "kernels/gpu/session/usage.h"
#include "kernels/verbs/memory/memory.h"
#include "kernels/verbs/memory/registration.h"
#include "kernels/verbs/transport/device.h"
#include "kernels/verbs/transport/words.h"

namespace railgauge::verbs {
namespace {

constexpr std::size_t kProbeBytes = 2U << 20U;  // one large page of a GPU
// A GPU above this utilisation is in use although no process is listed.
constexpr unsigned kIdlePercent = 10;

// The reason not to touch the GPU; "" when it is idle. A value that NVML does not report counts as
// use.
std::string use_of(const std::string& pci_address) {
  const auto all = gpu::gpu_usage();
  const auto found = std::ranges::find(all, pci_address, &gpu::GpuUsage::pci_address);
  if (found == all.end()) return "NVML does not report the users of this GPU";
  if (found->mig) return "the GPU is partitioned (MIG is on)";
  if (!found->processes.empty()) return gpu::users_in_words(*found);
  if (!found->told) return "NVML does not report its users";
  const auto percent = gpu::gpu_utilization_percent(pci_address);
  if (percent && *percent > kIdlePercent)
    return fmt::format("computing {} % of the time", *percent);
  return "";
}

// The result of one registration, and whether a fake library took part.
struct Attempt {
  Registration made;
  bool is_synthetic = false;
};

// kDataLoss marks the refused registration itself, so that the caller separates it from an absent
// device or a lack of memory.
Result<Attempt> attempt(const ProbePair& pair, const Device& device, const Memory& memory) {
  if (memory.gpu().pci_address() != pair.pci_address)
    return fail(Code::kNotFound, fmt::format("{} is at {} here, not at {}", pair.gpu,
                                             memory.gpu().pci_address(), pair.pci_address));
  errno = 0;
  const ProtectionDomainHandle domain(loaded_verbs().alloc_pd(device.context()));
  if (!domain)
    return fail(Code::kInternal, fmt::format("{}: make a protection domain: {}", device.endpoint(),
                                             errno_words(errno)));
  Attempt done;
  done.is_synthetic = memory.is_synthetic() || device.driver() == "fake";
  auto made = register_all(device, domain.get(), memory, {.access = IBV_ACCESS_REMOTE_WRITE});
  if (!made) return fail(Code::kDataLoss, made.error().message);  // separate from the rest
  done.made = std::move(*made);
  done.made.region.reset();  // before its domain goes
  return done;
}

// Opens both ends first: their errors do not describe the pair.
Result<Attempt> try_pair(const ProbePair& pair) {
  const Device device = RG_TRY(Device::open(pair.nic));
  const Memory memory =
      RG_TRY(Memory::allocate({.kind = MemoryKind::kCuda, .gpu = pair.gpu}, kProbeBytes));
  return attempt(pair, device, memory);
}

}  // namespace

// The PCI address contains no '@' and no '+'.
Result<ProbePair> parse_probe_pair(std::string_view text) {
  const std::size_t at = text.find('@');
  const std::size_t plus = text.find('+');
  if (at == std::string_view::npos || plus == std::string_view::npos || plus < at || at == 0 ||
      plus + 1 == text.size())
    return fail(Code::kInvalidArgument,
                fmt::format("{} is not GPU@PCI_ADDRESS+NIC", in_quotes(text)));
  return ProbePair{.gpu = std::string(text.substr(0, at)),
                   .pci_address = std::string(text.substr(at + 1, plus - at - 1)),
                   .nic = std::string(text.substr(plus + 1))};
}

// States: busy, registered, refused, not_tried (waived), error.
GpuDirectProbe probe_registration(const ProbePair& pair) {
  GpuDirectProbe probe;
  probe.set_gpu(pair.gpu);
  probe.set_nic(pair.nic);
  if (const std::string use = use_of(pair.pci_address); !use.empty()) {
    probe.set_state("busy");
    probe.set_text(valid_utf8(use));
    return probe;
  }
  const auto done = try_pair(pair);
  if (done) {
    probe.set_state("registered");
    probe.set_path(done->made.path);
    probe.set_text(valid_utf8(done->made.refused));
    probe.set_synthetic(done->is_synthetic);
    return probe;
  }
  const bool waives = outcome_of(done.error().code) == kWaived;
  probe.set_state(done.error().code == Code::kDataLoss ? "refused"
                  : waives                             ? "not_tried"
                                                       : "error");
  probe.set_text(valid_utf8(done.error().message));
  return probe;
}

}  // namespace railgauge::verbs
