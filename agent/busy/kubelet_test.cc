#include "agent/busy/kubelet.h"

#include <random>

#include <gmock/gmock.h>

#include "agent/testing/fake_kubelet.h"
#include "agent/testing/temp_dir.h"

namespace railgauge::agent {
namespace {
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

kubelet::ListAnswer sample() {
  kubelet::ListAnswer answer;
  kubelet::Pod& pod = *answer.add_pods();
  pod.set_name("train-0");
  pod.set_namespace_("ml");
  kubelet::Container& container = *pod.add_containers();
  container.set_name("main");
  kubelet::Devices& devices = *container.add_devices();
  devices.set_resource("nvidia.com/gpu");
  devices.add_ids("GPU-1");
  devices.add_ids("GPU-2");
  container.add_claims()->add_devices()->set_driver("gpu.nvidia.com");
  return answer;
}

TEST(Kubelet, ItsPodsAndTheirDevicesAreRead) {
  TempDir folder;
  const FakeKubelet kubelet(folder / "k.sock", sample().SerializeAsString());
  const auto devices = list_pod_devices(folder / "k.sock", 5);
  ASSERT_TRUE(devices) << devices.error().message;
  EXPECT_EQ(kubelet.method(), "/v1.PodResourcesLister/List");
  EXPECT_THAT(*devices, ElementsAre(testing::AllOf(Field(&PodDevice::pod, "ml/train-0"),
                                                   Field(&PodDevice::resource, "gpu.nvidia.com"),
                                                   Field(&PodDevice::count, 1U)),
                                    testing::AllOf(Field(&PodDevice::resource, "nvidia.com/gpu"),
                                                   Field(&PodDevice::count, 2U))));
}

TEST(Kubelet, ANodeWithoutPodsIsIdle) {
  TempDir folder;
  const FakeKubelet kubelet(folder / "k.sock", "");
  const auto devices = list_pod_devices(folder / "k.sock", 5);
  ASSERT_TRUE(devices) << devices.error().message;
  EXPECT_TRUE(devices->empty());
}

TEST(Kubelet, BytesThatAreNoAnswerAreAnError) {
  TempDir folder;
  const FakeKubelet kubelet(folder / "k.sock", "\x0a\xff garbage");
  EXPECT_EQ(list_pod_devices(folder / "k.sock", 5).error().code, Code::kDataLoss);
}

TEST(Kubelet, ASocketThatIsNotThereIsAnErrorThatHelps) {
  TempDir folder;
  const auto devices = list_pod_devices(folder / "none.sock", 0.5);
  ASSERT_FALSE(devices);
  EXPECT_THAT(devices.error().message, HasSubstr("needs the kubelet's socket"));
}

TEST(Kubelet, AnyBytesAreDevicesOrNothing) {
  std::mt19937 random(11);
  const std::string good = sample().SerializeAsString();
  for (int i = 0; i < 5'000; ++i) {
    std::string bytes = good;
    for (int flips = 0; flips < 3; ++flips)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    kubelet::ListAnswer answer;
    if (answer.ParseFromString(bytes)) static_cast<void>(judge_pods(devices_of(answer), ""));
  }
}

}  // namespace
}  // namespace railgauge::agent
