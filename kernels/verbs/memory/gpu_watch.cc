#include "kernels/verbs/memory/gpu_watch.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace railgauge::verbs {
namespace {

// The same for two processes that see each other under the same numbers: the machine's boot, then
// their namespace.
std::string process_space() {
  std::string boot;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::getline(file, boot);
  std::error_code error;
  return boot + " " + std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
}

// The first word: the boot id, which containers of one machine share.
std::string machine_of(const std::string& process_space) {
  return process_space.substr(0, process_space.find(' '));
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
  const auto numbers = gpu::possible_own_numbers();
  mine.mutable_nvml_processes()->Assign(numbers.begin(), numbers.end());
}

// Two ranks have two numbers at most; more candidates mean a stranger among them.
std::vector<unsigned> partners_of(const PeerAddress& mine, const PeerAddress& peer) {
  // A link has two ends, which may be two processes on one GPU.
  constexpr std::size_t kRanks = 2;
  std::vector<unsigned> partners;
  if (peer.process_space() == mine.process_space()) partners.push_back(peer.process());
  const std::string machine = machine_of(mine.process_space());
  if (machine.empty() || machine_of(peer.process_space()) != machine) return partners;
  std::set<unsigned> numbers(mine.nvml_processes().begin(), mine.nvml_processes().end());
  numbers.insert(peer.nvml_processes().begin(), peer.nvml_processes().end());
  if (numbers.size() <= kRanks)
    partners.insert(partners.end(), numbers.begin(), numbers.end());
  else if (peer.nvml_processes_size() == 1)
    partners.push_back(peer.nvml_processes(0));
  return partners;
}

// The first GPU that a stranger uses decides; gpu::check_busy has the rule and the waiver.
Status GpuWatch::check(const Context& context, const PeerAddress& mine,
                       const PeerAddress& peer) const {
  const std::vector<unsigned> partners = partners_of(mine, peer);
  for (const auto& [gpu, before] : gpus_)
    RG_TRY_OK(gpu::check_busy(context, *gpu, before, partners));
  return {};
}

}  // namespace railgauge::verbs
