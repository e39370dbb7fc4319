// The catalog of railgauge-runner-testing: the tests' rows in place of the product's.
#include "kernels/catalog.h"

#include <cstdlib>

#include "kernels/runner/testing/rows.h"

namespace railgauge {

std::span<const KernelRow> catalog() { return testing_rows::rows(); }

const KernelRow* find_kernel(std::string_view name) {
  for (const KernelRow& row : catalog())
    if (row.info().name() == name) return &row;
  for (const auto rows : {testing_rows::peer_rows(), testing_rows::nccl_rows()})
    for (const KernelRow& row : rows)
      if (row.info().name() == name) return &row;
  return nullptr;
}

Result<int> count_gpus() {
  const char* text = std::getenv("RAILGAUGE_TESTING_GPUS");
  if (text == nullptr) return fail(Code::kNotFound, "no GPU in this test");
  return std::atoi(text);
}

std::shared_ptr<void> keep_gpus_warm() { return nullptr; }

// Named behaviours: "dies" aborts, "refused" has no MTU, "small" has 2048 bytes, "old" registers no
// dma-buf.
PortProbe probe_port(std::string_view endpoint) {
  PortProbe probe;
  probe.set_endpoint(std::string(endpoint));
  if (endpoint.starts_with("dies")) std::abort();
  if (endpoint.starts_with("refused"))
    probe.set_text("refused: open: Permission denied");
  else
    probe.set_active_mtu_bytes(endpoint.starts_with("small") ? 2048 : 4096);
  probe.set_max_mtu_bytes(4096);
  probe.set_dmabuf(endpoint.starts_with("old") ? "no" : "yes");
  probe.set_synthetic(true);
  return probe;
}

// "gpu0@ADDRESS+NIC": a NIC named "dies" aborts, "busy" has a busy GPU, others register.
GpuDirectProbe probe_gpudirect(std::string_view pair) {
  GpuDirectProbe probe;
  probe.set_gpu(std::string(pair.substr(0, pair.find('@'))));
  probe.set_nic(std::string(pair.substr(pair.find('+') + 1)));
  if (probe.nic() == "dies") std::abort();
  probe.set_state(probe.nic() == "busy" ? "busy" : "registered");
  probe.set_path(probe.nic() == "busy" ? "" : "dma-buf");
  probe.set_text(probe.nic() == "busy" ? "pid 7" : "");
  probe.set_synthetic(true);
  return probe;
}

std::vector<std::string> launcher_programs() { return {}; }
std::string mpi_of_program() { return ""; }
std::optional<MpiWorld> mpi_world() { return std::nullopt; }
std::unique_ptr<Group> join_mpi_world(const MpiWorld&) { return nullptr; }
void leave_mpi_world() {}

std::string gpu_code_needs() { return "driver 1.2 or later"; }

}  // namespace railgauge
