#include "kernels/verbs/gpu_watch.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

namespace railgauge::verbs {
namespace {

// The same for two processes that see each other under the same numbers.
std::string process_space() {
  std::string boot;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::getline(file, boot);
  std::error_code error;
  return boot + " " + std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
}

}  // namespace

void GpuWatch::add(const gpu::Gpu& gpu, std::vector<gpu::GpuUsage> before) {
  // Now, so that a second link's look at the same GPU knows this process.
  gpu::learn_own_number(before, std::array{gpu.pci_address()});
  gpus_.emplace_back(&gpu, std::move(before));
}

void GpuWatch::describe(PeerAddress& mine) {
  mine.set_process(static_cast<std::uint32_t>(getpid()));
  mine.set_process_space(process_space());
}

Status GpuWatch::check(const Context& context, const PeerAddress& mine,
                       const PeerAddress& peer) const {
  std::vector<unsigned> partners;
  if (peer.process_space() == mine.process_space()) partners.push_back(peer.process());
  for (const auto& [gpu, before] : gpus_)
    RG_TRY_OK(gpu::check_busy(context, *gpu, before, partners));
  return {};
}

}  // namespace railgauge::verbs
