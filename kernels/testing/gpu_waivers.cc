#include "kernels/testing/gpu_waivers.h"

#include <string_view>

namespace railgauge {
namespace {

struct Asked {
  const GpuMachine& machine;
  const std::string& kernel;
  const std::map<std::string, std::string>& parameters;

  [[nodiscard]] bool is(const char* parameter, std::string_view value) const {
    const auto given = parameters.find(parameter);
    return given != parameters.end() && given->second == value;
  }
  [[nodiscard]] bool in(std::string_view family) const { return kernel.starts_with(family); }
  // Takes all GPUs of the machine.
  [[nodiscard]] bool several() const { return in("cuda.peer_") || kernel == "cuda.fan_copy_bw"; }
};

void add_for_nodes(const Asked& asked, std::vector<std::string>& words) {
  const GpuMachine& machine = asked.machine;
  const bool far = asked.is("numa", "far");
  const bool near_known = asked.several() ? machine.gpus_on_one_node : machine.gpu_node_known;
  if (far && (machine.numa_nodes < 2 || !near_known)) {
    words.emplace_back("measure from the far NUMA node");
    words.emplace_back("there is no other node with CPUs");
  }
  if (machine.numa_nodes > 1 && !machine.may_bind_memory && !asked.is("numa", "any"))
    words.emplace_back("place host memory on the");
}

void add_for_several_gpus(const Asked& asked, std::vector<std::string>& words) {
  const bool between = asked.in("cuda.peer_") || asked.is("pattern", "all_to_one") ||
                       asked.is("pattern", "one_to_all");
  if (between && asked.machine.gpus < 2) words.emplace_back("measures between at least 2");
  if (between && !asked.machine.peers) words.emplace_back("no pair has peer access");
}

void add_for_copies(const Asked& asked, std::vector<std::string>& words) {
  const GpuMachine& machine = asked.machine;
  if (asked.is("host_memory", "pageable")) {
    if (!machine.coherent) {
      if (asked.is("engine", "sm")) words.emplace_back("copy pageable memory by sm");
      if (asked.kernel == "cuda.host_latency") words.emplace_back("the GPU cannot address it");
    }
    if (asked.is("bidirectional", "true"))
      words.emplace_back("run several copies of pageable memory at once");
  }
  if (asked.is("host_memory", "huge") && !machine.huge_pages)
    words.emplace_back("huge pages of 2 MiB");
  if (asked.is("engine", "tma")) {
    if (asked.is("host_memory", "pageable") && !machine.coherent)
      words.emplace_back("copy pageable memory by sm");
    if (!machine.gpu_has_tma) words.emplace_back("bulk asynchronous copies came with");
    if (!machine.device_code) words.emplace_back("this build has none");
    if (machine.device_code && !machine.driver_reads_tma)
      words.emplace_back("cannot read it; driver ");
  }
  const bool by_threads = asked.is("engine", "sm") || asked.is("engine", "sm_again") ||
                          asked.kernel == "cuda.host_latency" ||
                          asked.kernel == "cuda.peer_latency" || asked.kernel == "bar.ping_pong";
  if (by_threads && !machine.device_code) words.emplace_back("this build has none");
  if (by_threads && machine.device_code && !machine.driver_reads_code)
    words.emplace_back("cannot read it; driver ");
  if (by_threads && machine.device_code && !machine.gpu_runs_code)
    words.emplace_back("the lowest that this build has code for");
  if (asked.in("cuda.") && !machine.stream_memops) words.emplace_back("NVreg_EnableStreamMemOPs=1");
}

void add_for_mappings(const Asked& asked, std::vector<std::string>& words) {
  if (!asked.in("bar.")) return;
  const GpuMachine& machine = asked.machine;
  const std::map<std::string, bool> ways{{"gdrdrv", machine.gdrdrv},
                                         {"dmabuf", machine.dmabuf_mmap},
                                         {"coherent", machine.coherent},
                                         {"vulkan", machine.vulkan}};
  bool any = false;
  for (const auto& [backend, usable] : ways) {
    if (asked.is("backend", backend) && !usable) words.emplace_back(backend + ": ");
    any = any || usable;
  }
  if (!any) words.emplace_back("map GPU memory for the CPU");
  // A mapping's caching is the module's or the machine's to give.
  for (const char* caching : {"write_combined", "cached", "device"})
    if (asked.is("mapping", caching)) words.emplace_back("was asked for");
  if (asked.is("cache", "cold") && !machine.coherent) words.emplace_back("nothing to cool");
  if (asked.is("allocation", "create") && !machine.gdrdrv && !machine.dmabuf_mmap)
    words.emplace_back("only memory that it allocated itself");
  if (asked.kernel == "bar.map_cost" && machine.coherent)
    words.emplace_back("nothing to pin or map");
  const auto routine = asked.parameters.find("routine");
  if (routine == asked.parameters.end() || routine->second == "auto") return;
  if (routine->second == "gdrapi") {
    words.emplace_back("copy routine gdrapi");
    if (!machine.gdrdrv) words.emplace_back("gdrdrv: ");
    return;
  }
  if (!machine.routines.contains(routine->second))
    words.emplace_back("this CPU lacks its instructions");
  if (asked.in("bar.read_") && routine->second == "movdir64b") words.emplace_back("it only writes");
}

}  // namespace

std::vector<std::string> may_waive(const GpuMachine& machine, const std::string& kernel,
                                   const std::map<std::string, std::string>& parameters) {
  const Asked asked{machine, kernel, parameters};
  // A word that opens a slice ends there.
  if (machine.slice || (asked.several() && machine.some_slice)) return {"measure with MIG off"};
  std::vector<std::string> words;
  add_for_nodes(asked, words);
  add_for_several_gpus(asked, words);
  add_for_copies(asked, words);
  add_for_mappings(asked, words);
  return words;
}

}  // namespace railgauge
