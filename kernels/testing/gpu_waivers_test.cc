#include "kernels/testing/gpu_waivers.h"

#include <gmock/gmock.h>

namespace railgauge {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Parameters = std::map<std::string, std::string>;

// A machine with all that a kernel can want.
GpuMachine whole() {
  return {.gpus = 2,
          .peers = true,
          .numa_nodes = 2,
          .gpu_node_known = true,
          .gpus_on_one_node = true,
          .may_bind_memory = true,
          .coherent = true,
          .gdrdrv = true,
          .dmabuf_mmap = true,
          .vulkan = true,
          .device_code = true,
          .driver_reads_code = true,
          .gpu_runs_code = true,
          .stream_memops = true,
          .routines = {"memcpy", "avx2", "movdir64b"}};
}
// One GPU on one node, no module, as a rented virtual machine is.
GpuMachine bare() {
  return {.may_bind_memory = true,
          .vulkan = true,
          .device_code = true,
          .driver_reads_code = true,
          .gpu_runs_code = true,
          .stream_memops = true,
          .routines = {"memcpy", "avx2"}};
}

TEST(MayWaive, NothingByDefault) {
  for (const char* kernel : {"cuda.host_copy_bw", "cuda.local_copy_bw", "cuda.copy_latency",
                             "cuda.host_latency", "bar.write_bw", "bar.ping_pong", "bar.map_cost"})
    EXPECT_THAT(may_waive(bare(), kernel, {}), IsEmpty()) << kernel;
  EXPECT_THAT(may_waive(bare(), "cuda.host_copy_bw",
                        {{"engine", "sm"}, {"host_memory", "write_combined"}, {"numa", "any"}}),
              IsEmpty());
  EXPECT_THAT(may_waive(bare(), "cuda.fan_copy_bw", {{"pattern", "host_to_all"}}), IsEmpty());
  EXPECT_THAT(may_waive(bare(), "bar.read_bw", {{"backend", "vulkan"}, {"routine", "avx2"}}),
              IsEmpty());
}

TEST(MayWaive, NothingWhereAllIsThere) {
  for (const Parameters& asked :
       {Parameters{{"numa", "far"}}, Parameters{{"host_memory", "pageable"}, {"engine", "sm"}},
        Parameters{{"backend", "gdrdrv"}}, Parameters{{"routine", "movdir64b"}},
        Parameters{{"pattern", "all_to_one"}}})
    for (const char* kernel : {"cuda.peer_copy_bw", "cuda.fan_copy_bw", "bar.write_bw"})
      EXPECT_THAT(may_waive(whole(), kernel, asked), IsEmpty()) << kernel;
}

TEST(MayWaive, WhatNeedsAnotherNode) {
  const Parameters far{{"numa", "far"}};
  EXPECT_THAT(may_waive(bare(), "bar.write_bw", far),
              ElementsAre("measure from the far NUMA node", "there is no other node with CPUs"));
  GpuMachine filtered = whole();
  filtered.may_bind_memory = false;
  EXPECT_THAT(may_waive(filtered, "bar.write_bw", far), ElementsAre("place host memory on the"));
  EXPECT_THAT(may_waive(filtered, "bar.write_bw", {{"numa", "any"}}), IsEmpty());
}

TEST(MayWaive, TheFarNodeOnlyOverGpusOfSeveralNodesWhereThatOfTheFirstIsKnown) {
  const Parameters far{{"numa", "far"}};
  GpuMachine two_sockets = whole();
  two_sockets.gpus_on_one_node = false;
  for (const char* kernel : {"bar.write_bw", "cuda.host_copy_bw", "cuda.host_latency"})
    EXPECT_THAT(may_waive(two_sockets, kernel, far), IsEmpty()) << kernel;
  for (const char* kernel : {"cuda.peer_copy_bw", "cuda.peer_latency", "cuda.fan_copy_bw"})
    EXPECT_THAT(may_waive(two_sockets, kernel, far), Contains("measure from the far NUMA node"))
        << kernel;
  GpuMachine untold = two_sockets;
  untold.gpu_node_known = false;
  EXPECT_THAT(may_waive(untold, "bar.write_bw", far), Contains("measure from the far NUMA node"));
}

TEST(MayWaive, SlicesOfAPartitionedGpuAndNothingElseOfThem) {
  GpuMachine sliced = bare();
  sliced.slice = sliced.some_slice = true;
  for (const char* kernel : {"bar.write_bw", "cuda.host_latency", "cuda.peer_copy_bw"})
    EXPECT_THAT(may_waive(sliced, kernel, {{"numa", "far"}}), ElementsAre("measure with MIG off"))
        << kernel;
  GpuMachine second = whole();
  second.some_slice = true;
  EXPECT_THAT(may_waive(second, "cuda.host_copy_bw", {}), IsEmpty());
  EXPECT_THAT(may_waive(second, "cuda.fan_copy_bw", {}), ElementsAre("measure with MIG off"));
}

TEST(MayWaive, WhatNeedsAnotherGpu) {
  EXPECT_THAT(may_waive(bare(), "cuda.peer_latency", {}),
              ElementsAre("measures between at least 2", "no pair has peer access"));
  GpuMachine apart = whole();
  apart.peers = false;
  EXPECT_THAT(may_waive(apart, "cuda.fan_copy_bw", {{"pattern", "one_to_all"}}),
              ElementsAre("no pair has peer access"));
}

TEST(MayWaive, WhatPageableMemoryCannotDo) {
  const Parameters pageable{{"host_memory", "pageable"}};
  EXPECT_THAT(may_waive(bare(), "cuda.host_copy_bw", pageable), IsEmpty());
  EXPECT_THAT(may_waive(bare(), "cuda.host_latency", pageable),
              ElementsAre("the GPU cannot address it"));
  EXPECT_THAT(
      may_waive(bare(), "cuda.host_copy_bw", {{"host_memory", "pageable"}, {"engine", "sm"}}),
      ElementsAre("copy pageable memory by sm"));
  EXPECT_THAT(may_waive(whole(), "cuda.host_copy_bw",
                        {{"host_memory", "pageable"}, {"bidirectional", "true"}}),
              ElementsAre("run several copies of pageable memory at once"));
}

TEST(MayWaive, WhatItsWayOrItsInstructionsLack) {
  for (const char* backend : {"gdrdrv", "dmabuf", "coherent"})
    EXPECT_THAT(may_waive(bare(), "bar.sanity", {{"backend", backend}}),
                ElementsAre(std::string(backend) + ": "));
  EXPECT_THAT(may_waive(bare(), "bar.write_lat", {{"routine", "avx512"}}),
              ElementsAre("this CPU lacks its instructions"));
  EXPECT_THAT(may_waive(whole(), "bar.read_lat", {{"routine", "movdir64b"}}),
              ElementsAre("it only writes"));
  GpuMachine none = bare();
  none.vulkan = false;
  EXPECT_THAT(may_waive(none, "bar.write_bw", {}), ElementsAre("map GPU memory for the CPU"));
}

TEST(MayWaive, WhatTheBuildOrTheDriverLacks) {
  GpuMachine old = bare();
  old.device_code = false;
  old.stream_memops = false;
  EXPECT_THAT(may_waive(old, "cuda.host_copy_bw", {{"engine", "sm"}}),
              ElementsAre("this build has none", "NVreg_EnableStreamMemOPs=1"));
  EXPECT_THAT(may_waive(old, "bar.ping_pong", {}), ElementsAre("this build has none"));
}

TEST(MayWaive, WhatADriverOrAGpuBeforeTheDeviceCodeLacks) {
  GpuMachine old = bare();
  old.driver_reads_code = false;
  EXPECT_THAT(may_waive(old, "bar.ping_pong", {}), ElementsAre("cannot read it; driver "));
  EXPECT_THAT(may_waive(old, "cuda.host_copy_bw", {{"engine", "sm"}}),
              ElementsAre("cannot read it; driver "));
  EXPECT_THAT(may_waive(old, "cuda.host_copy_bw", {{"engine", "ce"}}), IsEmpty());
  GpuMachine older = bare();
  older.gpu_runs_code = false;
  EXPECT_THAT(may_waive(older, "cuda.host_latency", {}),
              ElementsAre("the lowest that this build has code for"));
  EXPECT_THAT(may_waive(older, "bar.write_bw", {}), IsEmpty());
}

}  // namespace
}  // namespace railgauge
