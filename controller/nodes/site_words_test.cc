#include "controller/nodes/site_words.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/testing/store_testing.h"

namespace railgauge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class SiteWordsTest : public store::StoreTest {
 protected:
  void SetUp() override {
    for (int i = 1; i <= 2; ++i) ASSERT_TRUE(store_->put_node(store::node_row(i)));
    ASSERT_TRUE(store_->flush());
  }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.file(name)) << text;
    return folder_.file(name);
  }
  store::NodeWords stored() { return *store_->read(store::read_node_words); }
};

TEST_F(SiteWordsTest, AreReadAnewWhenAFileOrTheNodesChange) {
  plan::Site site{.groups = {{"gold", "n1"}}};
  site.labels_file = write("labels", "n[1-3] rack=r1\n");
  SiteWords words(*store_, site);
  words.refresh();
  EXPECT_THAT(stored().labels, ElementsAre(Pair("n1", ElementsAre(Pair("rack", "r1"))),
                                           Pair("n2", ElementsAre(Pair("rack", "r1")))));
  EXPECT_THAT(stored().groups, ElementsAre(Pair("gold", "n1")));
  ASSERT_TRUE(store_->put_node(store::node_row(3)));
  ASSERT_TRUE(store_->flush());
  words.refresh();
  EXPECT_EQ(stored().labels.size(), 3U);
  write("labels", "n1 rack=r22 # moved\n");
  words.refresh();
  EXPECT_THAT(stored().labels, ElementsAre(Pair("n1", ElementsAre(Pair("rack", "r22")))));
}

TEST_F(SiteWordsTest, AFileThatIsGoneLeavesWhatIsKnown) {
  plan::Site site;
  site.labels_file = write("labels", "n1 rack=r1\n");
  SiteWords words(*store_, site);
  words.refresh();
  std::filesystem::remove(site.labels_file);
  words.refresh();
  EXPECT_EQ(stored().labels.size(), 1U);
}

TEST_F(SiteWordsTest, SlurmsTopologyGivesLeafAndPodBehindTheFileOfLabels) {
  plan::Site site;
  site.topology = {.source = "slurm"};
  site.topology.file = write("topology.conf",
                             "SwitchName=s1 Nodes=n1\nSwitchName=s2 Nodes=n2\n"
                             "SwitchName=top1 Switches=s1\nSwitchName=top2 Switches=s2\n");
  site.labels_file = write("labels", "n2 leaf=mine gpu=h100,a100 gpus=8 worker=\n");
  std::vector<std::string> skipped;
  const auto words = words_of(site, {{.name = "n1"}, {.name = "n2"}}, skipped);
  ASSERT_TRUE(words) << words.error().message;
  EXPECT_THAT(words->labels.at("n1"), ElementsAre(Pair("leaf", "s1"), Pair("pod", "top1")));
  EXPECT_THAT(words->labels.at("n2"),
              ElementsAre(Pair("gpus", "8"), Pair("leaf", "mine"), Pair("pod", "top2")));
  EXPECT_THAT(skipped, ElementsAre("n2: gpu=h100,a100"));
}

TEST_F(SiteWordsTest, ATopologyOfLabelsGivesAllOfItsFile) {
  plan::Site site;
  site.topology = {.source = "labels"};
  site.topology.file = write("labels", "n[1-2] rack=r1 pod=p1\n");
  std::vector<std::string> skipped;
  const auto words = words_of(site, {{.name = "n1.cluster"}}, skipped);
  ASSERT_TRUE(words) << words.error().message;
  EXPECT_THAT(words->labels,
              ElementsAre(Pair("n1.cluster", ElementsAre(Pair("pod", "p1"), Pair("rack", "r1")))));
  site.topology.file = folder_.file("none");
  EXPECT_THAT(words_of(site, {}, skipped).error().message, HasSubstr("none"));
  EXPECT_THAT(skipped, IsEmpty());
}

}  // namespace
}  // namespace railgauge
