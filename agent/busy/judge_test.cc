#include "agent/busy/judge.h"

#include <gmock/gmock.h>

namespace railgauge::agent {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

GpuUse gpu(std::vector<GpuProcess> processes, double percent = 0) {
  return {.gpu = "0000:17:00.0",
          .told = true,
          .processes = std::move(processes),
          .utilization_percent = percent};
}

TEST(Judge, AProcessOfSomebodyElseOnAGpuIsNamed) {
  const std::vector<GpuUse> gpus{gpu({{.pid = 7, .name = "python3"}, {.pid = 8, .ours = true}})};
  const BusyReasons reasons = judge_gpus(gpus, true, 10);
  ASSERT_THAT(reasons, SizeIs(1));
  EXPECT_EQ(reasons[0].source, "gpu");
  EXPECT_THAT(reasons[0].text, AllOf(HasSubstr("0000:17:00.0"), HasSubstr("pid 7 (python3)")));
  EXPECT_THAT(reasons[0].text, Not(HasSubstr("pid 8")));
}

TEST(Judge, OurOwnRunnersKeepNoGpuBusy) {
  EXPECT_THAT(judge_gpus(std::vector{gpu({{.pid = 8, .ours = true}}, 100)}, true, 10), IsEmpty());
}

TEST(Judge, UtilisationWithoutAProcessIsBusyUnlessOursRanAMomentAgo) {
  EXPECT_THAT(judge_gpus(std::vector{gpu({}, 11)}, false, 10), SizeIs(1));
  EXPECT_THAT(judge_gpus(std::vector{gpu({}, 10)}, false, 10), IsEmpty());
  EXPECT_THAT(judge_gpus(std::vector{gpu({}, 100)}, true, 10), IsEmpty());
}

TEST(Judge, AGpuWhoseProcessesAreNotToldIsBusy) {
  GpuUse hidden = gpu({});
  hidden.told = false;
  EXPECT_THAT(judge_gpus(std::vector{hidden}, false, 10), SizeIs(1));
}

TEST(Judge, AJobIsBusyButNotTheOneThatTheAgentRunsIn) {
  EXPECT_THAT(judge_jobs({}, {}), IsEmpty());
  EXPECT_THAT(judge_jobs({"42"}, {"42"}), IsEmpty());
  const BusyReasons reasons = judge_jobs({"42", "43"}, {"42"});
  ASSERT_THAT(reasons, SizeIs(1));
  EXPECT_EQ(in_words(reasons), "slurm: job 43 here");
}

TEST(Judge, AnAllocatedGpuIsBusyThoughNobodyUsesIt) {
  const std::vector<PodDevice> devices{{"ml/train-0", "nvidia.com/gpu", 8}};
  EXPECT_EQ(in_words(judge_pods(devices, "")),
            "kubernetes: pod ml/train-0 (8 nvidia.com/gpu) hold devices of it");
}

TEST(Judge, ResourcesOfTheFabricAreKnownByWhatSitesCallThem) {
  for (const char* name : {"nvidia.com/mig-1g.10gb", "amd.com/gpu", "rdma/hca_shared_devices_a",
                           "openshift.io/mlnxnics", "intel.com/sriov_ib0", "vpc.amazonaws.com/efa",
                           "gpu.nvidia.com", "habana.ai/gaudi"})
    EXPECT_TRUE(is_fabric_resource(name)) << name;
  for (const char* name :
       {"cpu", "hugepages-1Gi", "devices.kubevirt.io/kvm", "smarter-devices/fuse"})
    EXPECT_FALSE(is_fabric_resource(name)) << name;
}

TEST(Judge, PodsWithoutFabricDevicesAndOurOwnPodDoNotCount) {
  const std::vector<PodDevice> devices{{"kube-system/dns", "example.com/fpga", 1},
                                       {"rg/agent-x", "rdma/hca_shared", 1},
                                       {"ml/old", "nvidia.com/gpu", 0}};
  EXPECT_THAT(judge_pods(devices, "rg/agent-x"), IsEmpty());
  EXPECT_THAT(judge_pods(devices, "rg/agent-y"), SizeIs(1));
}

TEST(Judge, OurShareOfTheLoadIsTakenOff) {
  EXPECT_THAT(judge_load({.load = 12, .own = 8, .cpus = 8}, 0.5), IsEmpty());
  EXPECT_THAT(judge_load({.load = 12.1, .own = 8, .cpus = 8}, 0.5), SizeIs(1));
}

TEST(Judge, TheTextOfAReasonMayChangeWithoutNews) {
  EXPECT_TRUE(same_sources({{"load", "5.1"}}, {{"load", "5.2"}}));
  EXPECT_FALSE(same_sources({{"load", "5.1"}}, {}));
  EXPECT_FALSE(same_sources({{"load", "5.1"}}, {{"load", "5.1"}, {"gpu", "x"}}));
}

TEST(Settle, ANodeIsIdleOnlyAfterAQuietWhile) {
  Settle settle(3);
  EXPECT_THAT(settle.update({}, 0), IsEmpty()) << "nothing ever spoke";
  const BusyReasons job{{"slurm", "job 1 here"}};
  EXPECT_EQ(settle.update(job, 10), job) << "busy at once";
  EXPECT_EQ(settle.update({}, 11), job);
  EXPECT_EQ(settle.update({}, 13.9), job);
  EXPECT_EQ(settle.update(job, 13.95), job) << "the next step of the job";
  EXPECT_EQ(settle.update({}, 14), job);
  EXPECT_EQ(settle.update({}, 16.9), job);
  EXPECT_THAT(settle.update({}, 17), IsEmpty());
}

TEST(Words, ManyReasonsStayOneLine) {
  BusyReasons many;
  for (int i = 0; i < 20; ++i) many.push_back({"gpu", "x"});
  EXPECT_THAT(in_words(many), HasSubstr("and 16 other reasons"));
}

}  // namespace
}  // namespace railgauge::agent
