// The kubelet's published API, service v1.PodResourcesLister of k8s.io/kubelet (podresources/v1).
// Messages are encoded by hand from the documented field numbers, with all fields that we skip, and
// served by a real gRPC server on a unix socket. NVML is the fake and reports every GPU idle: only
// the kubelet knows devices that are allocated and not used yet.
#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>

#include "agent/busy/kubelet.h"
#include "agent/busy/looker.h"
#include "agent/testing/fake_kubelet.h"
#include "agent/testing/temp_dir.h"
#include "agent/testing/wire.h"
#include "kernels/fakes/nvml/fake_nvml.h"

namespace railgauge::agent {
namespace {
using testing::HasSubstr;

// NUMANode{ID = 1} in TopologyInfo{nodes = 1}.
std::string topology(std::uint64_t numa) { return wire_text(1, wire_number(1, numa)); }

// ContainerDevices{resource_name = 1, device_ids = 2, topology = 3}.
std::string devices(const std::string& resource, const std::vector<std::string>& ids) {
  std::string bytes = wire_text(1, resource);
  for (const std::string& id : ids) bytes += wire_text(2, id);
  return bytes + wire_text(3, topology(1));
}

// ClaimResource{cdi_devices = 1, driver_name = 2, pool_name = 3, device_name = 4} in
// DynamicResource{class_name = 1, claim_name = 2, claim_namespace = 3, claim_resources = 4}.
std::string claim(const std::string& driver) {
  const std::string cdi = wire_text(1, driver + "/claim=gpu-0");  // CDIDevice{name = 1}
  return wire_text(1, "gpu-class") + wire_text(2, "one-gpu") + wire_text(3, "ml") +
         wire_text(4, wire_text(1, cdi) + wire_text(2, driver) + wire_text(3, "node1") +
                          wire_text(4, "gpu-0"));
}

// ContainerResources{name = 1, devices = 2, cpu_ids = 3, memory = 4, dynamic_resources = 5}, with
// processors of its own (packed) and ContainerMemory{memory_type = 1, size = 2, topology = 3}.
std::string container(const std::string& held) {
  return wire_text(1, "main") + held + wire_text(3, wire_varint(8) + wire_varint(200)) +
         wire_text(4, wire_text(1, "hugepages-1Gi") + wire_number(2, 1ULL << 30U) +
                          wire_text(3, topology(0)));
}

// PodResources{name = 1, namespace = 2, containers = 3, cpu_ids = 4} in
// ListPodResourcesResponse{pod_resources = 1}.
std::string pod(const std::string& space, const std::string& name, const std::string& held) {
  return wire_text(1, wire_text(1, name) + wire_text(2, space) + wire_text(3, container(held)) +
                          wire_text(4, wire_varint(3)));
}

class KubeletApi : public testing::Test {
 protected:
  static void SetUpTestSuite() { ::setenv(kNvmlLibraryVariable, RAILGAUGE_FAKE_LIBNVML, 1); }
  void SetUp() override {
    fake::nvml_control().reset();
    folder_.write("proc/driver/nvidia/version", "NVRM version: fake\n");
    options_.sources = "gpu,kubernetes";
    options_.proc_root = folder_ / "proc";
    options_.kubelet_socket = folder_ / "kubelet.sock";
    options_.settle_seconds = 0;
  }
  std::string words() {
    Looker looker(options_, *read_busy_sources(options_), 1);
    return in_words(looker.look({}, 1, [](const char*) {}));
  }
  TempDir folder_;
  BusyOptions options_;
};

TEST_F(KubeletApi, AllocatedGpusThatNobodyUsesYetAreBusy) {
  FakeKubelet kubelet(
      options_.kubelet_socket,
      pod("kube-system", "coredns", "") +
          pod("ml", "train-0", wire_text(2, devices("nvidia.com/gpu", {"GPU-1", "GPU-2"}))));
  EXPECT_EQ(words(), "kubernetes: pod ml/train-0 (2 nvidia.com/gpu) hold devices of it");
  EXPECT_EQ(kubelet.method(), "/v1.PodResourcesLister/List");
  kubelet.set({.bytes = pod("kube-system", "coredns", "")});
  EXPECT_EQ(words(), "") << "the pod has ended; and it was not NVML that spoke";
}

TEST_F(KubeletApi, ADeviceThatWasClaimedIsBusyToo) {
  const FakeKubelet kubelet(options_.kubelet_socket,
                            pod("ml", "infer-0", wire_text(5, claim("gpu.nvidia.com"))));
  EXPECT_EQ(words(), "kubernetes: pod ml/infer-0 (1 gpu.nvidia.com) hold devices of it");
}

TEST_F(KubeletApi, NicsOfRdmaAreBusyAndTheAgentsOwnPodIsNot) {
  options_.own_pod = "railgauge/agent-7";
  FakeKubelet kubelet(options_.kubelet_socket,
                      pod("railgauge", "agent-7", wire_text(2, devices("rdma/hca", {"0"}))));
  EXPECT_EQ(words(), "");
  kubelet.set({.bytes = pod("railgauge", "agent-8", wire_text(2, devices("rdma/hca", {"0"})))});
  EXPECT_THAT(words(), HasSubstr("railgauge/agent-8 (1 rdma/hca)"));
}

TEST_F(KubeletApi, AKubeletThatDoesNotKnowTheServiceIsBusy) {
  const FakeKubelet kubelet(options_.kubelet_socket,
                            {.status = {grpc::StatusCode::UNIMPLEMENTED, "unknown service v1"}});
  EXPECT_THAT(words(), HasSubstr("kubernetes: cannot be read, so the node counts as busy"));
  EXPECT_THAT(words(), HasSubstr("unknown service v1"));
}

TEST_F(KubeletApi, AKubeletThatHangsIsBusyWithinItsDeadline) {
  const FakeKubelet kubelet(options_.kubelet_socket, FakeKubelet::Answer{.hangs = true});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(words(), HasSubstr("kubernetes: cannot be read"));
  // The deadline is half a second; the rest allows for a busy machine.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST_F(KubeletApi, AnAnswerThatIsCutOffIsBusy) {
  std::string bytes = pod("ml", "train-0", wire_text(2, devices("nvidia.com/gpu", {"GPU-1"})));
  bytes.pop_back();
  const FakeKubelet kubelet(options_.kubelet_socket, bytes);
  EXPECT_THAT(words(), HasSubstr("bytes that are no answer"));
}

}  // namespace
}  // namespace railgauge::agent
