#include "kernels/gpu/session/host_pages.h"

#include <gmock/gmock.h>

#include <cerrno>

#include "kernels/core/base/outcome.h"
#include "kernels/fakes/recorder.h"
#include "kernels/memory/host_buffer.h"
#include "kernels/memory/numa.h"

namespace railgauge::gpu {
namespace {

using ::testing::HasSubstr;

PagePlaces places(std::map<int, std::size_t> by_node, std::size_t pages, int error = 0) {
  PagePlaces made;
  made.by_node = std::move(by_node);
  made.pages = pages;
  made.error = error;
  return made;
}

TEST(HostPages, AreNamedByTheirNodes) {
  EXPECT_EQ(places_in_words(places({{1, 8}}, 8)), "1");
  EXPECT_EQ(places_in_words(places({{0, 250}, {1, 6}}, 256)), "0 (250 of 256 pages), 1 (6)");
  EXPECT_EQ(places_in_words(places({{0, 5}}, 8, EFAULT)), "0 (5 of 8 pages)");
  EXPECT_EQ(places_in_words(places({}, 8, EPERM)), "not told: Operation not permitted (errno 1)");
}

TEST(HostPages, AreRightOnTheNodeThatWasAskedFor) {
  const HostPlace far{.node = 1, .side = "far", .policy_set = true};
  EXPECT_TRUE(check_places(places({{1, 8}}, 8), far, "gpu0"));
  EXPECT_TRUE(check_places(places({{1, 5}}, 8, EFAULT), far, "gpu0"));
  EXPECT_TRUE(check_places(places({}, 8, EPERM), far, "gpu0")) << "what is not told is not wrong";
  EXPECT_TRUE(check_places(places({{0, 8}}, 8), HostPlace{}, "gpu0")) << "on none in particular";
}

TEST(HostPages, OnAnotherNodeWaiveAndSayWhatToDo) {
  const Status set = check_places(places({{0, 2}, {1, 6}}, 8),
                                  {.node = 1, .side = "far", .policy_set = true}, "gpu0");
  ASSERT_FALSE(set);
  EXPECT_EQ(outcome_of(set.error().code), kWaived);
  EXPECT_EQ(set.error().message,
            "gpu0: place host memory on the far NUMA node 1: it is on 0 (2 of 8 pages), 1 (6); the "
            "memory policy was set, so look whether that node has free memory, or measure with "
            "numa=any");
  const Status unset =
      check_places(places({{0, 8}}, 8), {.node = 1, .side = "near", .policy_set = false}, "gpu0");
  ASSERT_FALSE(unset);
  EXPECT_EQ(outcome_of(unset.error().code), kWaived);
  EXPECT_THAT(unset.error().message, HasSubstr("near NUMA node 1: it is on 0; the memory policy "
                                               "may not be set here"));
}

// The words that the report of a run looks for, and the note for a person.
TEST(HostPages, ThatAreNotToldAreNoSidesAndSaySo) {
  const PagePlaces untold = places({}, 8, EPERM);
  fake::RankResult told;
  fake::Recorder recorder(told);
  const HostPlace far{.node = 1, .side = "far", .policy_set = true};
  EXPECT_TRUE(report_places(recorder, "host_node", far, "gpu0", untold));
  EXPECT_TRUE(told.facts["host_node"].starts_with("not told: ")) << told.facts["host_node"];
  ASSERT_EQ(told.notes.size(), 1U);
  EXPECT_THAT(told.notes[0], HasSubstr("this figure enters no near_far_ratios"));
  EXPECT_TRUE(report_places(recorder, "host_node", HostPlace{}, "gpu0", untold));
  EXPECT_TRUE(report_places(recorder, "host_node", far, "gpu0", places({{1, 8}}, 8)));
  EXPECT_EQ(told.notes.size(), 1U) << "only where a side was asked for and is not known";
}

// On any machine and with any rights, the answer is one that the facts allow.
TEST(HostPages, OfThisProcessAreOnANodeThatIsOnlineOrNotTold) {
  const auto buffer = HostBuffer::allocate(1000 * page_bytes());
  ASSERT_TRUE(buffer);
  const PagePlaces seen = page_places(buffer->span());
  EXPECT_EQ(seen.pages, 256U);
  if (seen.by_node.empty()) {
    EXPECT_NE(seen.error, 0);
    GTEST_SKIP() << places_in_words(seen);
  }
  const auto nodes = numa_nodes();
  ASSERT_TRUE(nodes);
  std::size_t told = 0;
  for (const auto& [node, pages] : seen.by_node) {
    EXPECT_NE(std::ranges::find(*nodes, node, &NumaNode::id), nodes->end()) << node;
    told += pages;
  }
  EXPECT_EQ(told, 256U) << "they were touched";
}

TEST(HostPages, OfFewBytesAreAskedForEachAndOfNoneAreNone) {
  const auto buffer = HostBuffer::allocate(2 * page_bytes());
  ASSERT_TRUE(buffer);
  EXPECT_EQ(page_places(buffer->span()).pages, 2U);
  EXPECT_EQ(page_places(buffer->span().first(8)).pages, 1U);
  EXPECT_EQ(page_places({}).pages, 0U);
}

}  // namespace
}  // namespace railgauge::gpu
