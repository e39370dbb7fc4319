// The probe on the fakes: registered by the first path or the second, refused, busy; never makes a
// context on a GPU in use. Synthetic throughout.
#include "kernels/verbs/memory/registration_probe.h"

#include "kernels/gpu/session/usage.h"
#include "kernels/verbs/testing/memory_fixture.h"
#include "kernels/verbs/transport/port_probe.h"

namespace railgauge {
namespace {

class RegistrationProbe : public Memories {
 protected:
  static GpuDirectProbe probe(const std::string& nic = "fake0") {
    const auto usage = gpu::gpu_usage();
    const std::string address = usage.empty() ? "0000:00:00.0" : usage.front().pci_address;
    return verbs::probe_registration({.gpu = "gpu0", .pci_address = address, .nic = nic});
  }
};

TEST_F(RegistrationProbe, AnIdleGpuRegistersByDmaBuf) {
  const GpuDirectProbe answer = probe();
  EXPECT_EQ(answer.state(), "registered") << answer.text();
  EXPECT_EQ(answer.path(), "dma-buf");
  EXPECT_TRUE(answer.synthetic());
}

TEST_F(RegistrationProbe, ANicThatIsNotThereIsNotTried) {
  EXPECT_EQ(probe("mlx5_77").state(), "not_tried");
}

TEST_F(RegistrationProbe, AGpuOfWhichNvmlTellsNothingIsNotTouched) {
  const GpuDirectProbe answer =
      verbs::probe_registration({.gpu = "gpu0", .pci_address = "0000:ff:1f.7", .nic = "fake0"});
  EXPECT_EQ(answer.state(), "busy");
  EXPECT_THAT(answer.text(), HasSubstr("NVML"));
}

TEST_F(RegistrationProbe, APortTellsItsMtuAndOneThatIsNotThereWhy) {
  const PortProbe port = verbs::probe_port("fake0:1");
  EXPECT_EQ(port.active_mtu_bytes(), 4096U) << port.text();
  EXPECT_EQ(port.max_mtu_bytes(), 4096U);
  EXPECT_TRUE(port.synthetic());
  EXPECT_EQ(port.dmabuf(), "yes");
  verbs_control().no_dmabuf = EOPNOTSUPP;
  EXPECT_EQ(verbs::probe_port("fake0:1").dmabuf(), "no");
  verbs_control().no_dmabuf = EIO;
  EXPECT_EQ(verbs::probe_port("fake0:1").dmabuf(), "");
  verbs_control().no_dmabuf = 0;
  const PortProbe none = verbs::probe_port("mlx5_77:1");
  EXPECT_EQ(none.active_mtu_bytes(), 0U);
  EXPECT_THAT(none.text(), HasSubstr("mlx5_77"));
}

TEST(ProbePairs, AreReadAndNonsenseIsRefused) {
  const auto pair = verbs::parse_probe_pair("gpu3@0000:18:00.0+mlx5_0");
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->gpu, "gpu3");
  EXPECT_EQ(pair->pci_address, "0000:18:00.0");
  EXPECT_EQ(pair->nic, "mlx5_0");
  for (const char* text : {"", "gpu0", "gpu0+mlx5_0", "@+", "gpu0+x@y", "gpu0@x+"})
    EXPECT_FALSE(verbs::parse_probe_pair(text)) << text;
}

}  // namespace
}  // namespace railgauge
