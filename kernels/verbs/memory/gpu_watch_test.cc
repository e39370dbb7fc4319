// The selection of NVML's processes that belong to the task.
#include "kernels/verbs/memory/gpu_watch.h"

#include <gmock/gmock.h>

namespace railgauge::verbs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

PeerAddress rank_of(const char* space, unsigned process, const std::vector<unsigned>& numbers) {
  PeerAddress made;
  made.set_process(process);
  made.set_process_space(space);
  made.mutable_nvml_processes()->Assign(numbers.begin(), numbers.end());
  return made;
}

TEST(GpuPartners, ThePeersOwnNumberCountsWhereBothSeeTheSameProcesses) {
  EXPECT_THAT(partners_of(rank_of("boot pid:[1]", 10, {}), rank_of("boot pid:[1]", 11, {})),
              ElementsAre(11));
  EXPECT_THAT(partners_of(rank_of("boot pid:[1]", 10, {}), rank_of("boot pid:[2]", 11, {})),
              IsEmpty());
}

TEST(GpuPartners, InAContainerTheNumberThatThePeerLearnedCounts) {
  EXPECT_THAT(partners_of(rank_of("boot pid:[1]", 10, {4001}), rank_of("boot pid:[1]", 11, {4000})),
              UnorderedElementsAre(11, 4000, 4001));
  EXPECT_THAT(partners_of(rank_of("boot pid:[1]", 10, {4001}), rank_of("boot pid:[2]", 11, {4000})),
              UnorderedElementsAre(4000, 4001))
      << "another container of this machine";
  EXPECT_THAT(
      partners_of(rank_of("boot pid:[1]", 10, {4001}), rank_of("other pid:[1]", 11, {4000})),
      IsEmpty())
      << "another machine's numbers say nothing here";
  EXPECT_THAT(partners_of(rank_of(" pid:[1]", 10, {4001}), rank_of(" pid:[2]", 11, {4000})),
              IsEmpty())
      << "which machine it is is not known";
}

TEST(GpuPartners, RanksThatCameAtOnceAreTwoNumbersAndAThirdIsAStranger) {
  const PeerAddress unsure = rank_of("boot pid:[1]", 10, {4000, 4001});
  EXPECT_THAT(partners_of(unsure, rank_of("boot pid:[1]", 11, {4000, 4001})),
              UnorderedElementsAre(11, 4000, 4001));
  EXPECT_THAT(partners_of(unsure, rank_of("boot pid:[1]", 11, {4001, 4002})), ElementsAre(11));
  EXPECT_THAT(
      partners_of(rank_of("boot pid:[1]", 10, {4001, 4002}), rank_of("boot pid:[1]", 11, {4000})),
      UnorderedElementsAre(11, 4000))
      << "the peer is sure";
}

}  // namespace
}  // namespace railgauge::verbs
