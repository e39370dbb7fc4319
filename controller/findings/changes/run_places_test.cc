#include "controller/findings/changes/run_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/testing/store_testing.h"

namespace railgauge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Places : public store::StoreTest {
 protected:
  Places() {
    store_ = store::open_store(folder_.file("own"), {.clock = [this] { return now_; }});
  }
  void attach(int node, const std::string& kernel, const std::string& leaf = "",
              double rate = 100e9, const std::string& guid = "g") {
    store::NodeRow row = store::node_row(node);
    row.facts = {{"linux_kernel", kernel}};
    if (!leaf.empty()) row.described = {{"leaf", leaf}};
    row.endpoints = {{.kind = "nic",
                      .device = "rxe0",
                      .port = 1,
                      .netdev = "eth0",
                      .guid = guid + row.name,
                      .state = "active",
                      .driver = "rdma_rxe",
                      .rate_bits_per_second = rate}};
    ASSERT_TRUE(store_->put_node(std::move(row)));
    ASSERT_TRUE(store_->flush());
  }
  RunPlaces places() { return *RunPlaces::of(*store_, {}); }
  static store::SeriesRow between(const std::string& from, const std::string& to) {
    store::SeriesRow series;
    series.endpoints = {from + "/rxe0:1"};
    if (!to.empty()) series.endpoints.push_back(to + "/rxe0:1");
    return series;
  }
  double now_ = 100;
};

TEST_F(Places, AReadingServesThosePagesThatComeSoon) {
  attach(1, "6.1.0", "a");
  double seconds = 1000;
  KeptRunPlaces kept(*store_, {}, [&] { return seconds; });
  const auto first = kept.get("f1");
  ASSERT_TRUE(first) << first.error().message;
  attach(2, "6.1.0", "b");
  seconds += KeptRunPlaces::kMostSeconds - 1;
  const auto second = kept.get("f1");
  ASSERT_TRUE(second);
  EXPECT_EQ(*first, *second);
  EXPECT_EQ((*second)->leaf("n2"), "") << "it came after the reading";
  EXPECT_EQ((*kept.get("f2"))->leaf("n2"), "b") << "a new finding is placed by a new reading";
  attach(3, "6.1.0", "c");
  seconds += KeptRunPlaces::kMostSeconds;
  EXPECT_EQ((*kept.get("f2"))->leaf("n3"), "c");
}

// A list of all nodes reads the endpoints of all at once.
TEST_F(Places, ANodeOfTheListHasItsOwnEndpoints) {
  attach(1, "6.1.0", "a");
  attach(2, "6.1.0", "b", 200e9);
  const auto all = store_->list_nodes();
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 2U);
  for (const store::NodeRow& node : *all) {
    ASSERT_EQ(node.endpoints.size(), 1U) << node.name;
    const auto one = store_->read(store::read_nodes, std::string_view(node.name));
    ASSERT_TRUE(one);
    EXPECT_EQ(one->at(0).endpoints.at(0).guid, node.endpoints[0].guid);
    EXPECT_EQ(node.endpoints[0].guid, "g" + node.name);
    EXPECT_EQ(node.endpoints[0].rate_bits_per_second, node.name == "n2" ? 200e9 : 100e9);
  }
}

TEST_F(Places, HardwareAndDistanceMakeAClass) {
  attach(1, "6.1.0", "a");
  attach(2, "6.1.0", "a");
  attach(3, "6.1.0", "b");
  attach(4, "6.1.0", "b", 200e9);
  const RunPlaces known = places();
  const auto of = [&](const char* from, const char* to) {
    return known.class_of(between(from, to));
  };
  EXPECT_EQ(of("n1", ""), of("n3", ""));
  EXPECT_NE(of("n1", ""), of("n4", "")) << "a faster port";
  EXPECT_NE(of("n1", "n2"), of("n1", "n3")) << "another leaf";
  EXPECT_EQ(of("n1", "n3"), of("n2", "n3"));
  EXPECT_EQ(of("n1", "n3"), of("n3", "n1"));
}

TEST_F(Places, WhatAllOfTheFabricHasIsNothingInCommon) {
  attach(1, "6.1.0", "a");
  attach(2, "6.1.0", "a");
  EXPECT_THAT(places().common_of({between("n1", "n2")}), IsEmpty());
  attach(3, "6.1.0", "b", 200e9);
  EXPECT_THAT(places().common_of({between("n1", "n2")}),
              ElementsAre(HasSubstr("hardware 1 NICs"), "leaf a"));
  EXPECT_THAT(places().common_of({between("n1", "n2"), between("n3", "")}), IsEmpty());
}

TEST_F(Places, AStackThatComesBackIsThePresentOneThenAsWell) {
  attach(1, "6.1.0");
  attach(2, "6.1.0");
  now_ = 200;
  attach(1, "6.1.1");
  now_ = 300;
  attach(1, "6.1.0");
  RunPlaces known = places();
  const auto present = [&](const char* node, const std::vector<double>& times) {
    return *known.present_stack(between(node, "n2"), times);
  };
  EXPECT_THAT(present("n1", {150, 250, 350}), ElementsAre(true, false, true));
  EXPECT_THAT(present("n1", {150, 250}), ElementsAre(false, true)) << "as of the last of them";
  EXPECT_THAT(present("n2", {150, 250, 350}), ElementsAre(true, true, true));
  EXPECT_THAT(present("n1", {50, 350}), ElementsAre(false, true)) << "before it was known";
  EXPECT_THAT(present("n9", {150, 250}), IsEmpty());
  now_ = 400;
  attach(1, "6.1.0", "", 100e9, "h");  // another card
  known = places();
  EXPECT_THAT(present("n1", {350, 450}), ElementsAre(false, true));
}

}  // namespace
}  // namespace railgauge
