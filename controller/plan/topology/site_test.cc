#include "controller/plan/topology/site.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/plan/planner.h"
#include "controller/plan/testing/plan_testing.h"

namespace railgauge::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;
using Parameters = std::map<std::string, std::string>;

constexpr std::string_view kSite =
    "version: 1\n"
    "metadata: {name: cluster-a, summary: RoCE with a lossless class}\n"
    "defaults:\n"
    "  traffic_class: 106\n"
    "  service_level: 3\n"
    "  pkey: 0x8001\n"
    "  gid_rule: roce_v2_ipv4\n"
    "  mtu: 4096\n";

Site some_site() {
  auto site = read_site(kSite, "site.yaml");
  EXPECT_TRUE(site) << site.error().message;
  return site.value_or(Site{});
}

std::string refusal(std::string_view text) {
  const auto site = read_site(text, "site.yaml");
  return site ? "read" : site.error().message;
}

// As verbs kernels declare it, but for what the profile says nothing about.
KernelInfo addressed_kernel() {
  KernelInfo kernel = fake_kernel("fake.addressed", "latency_ns");
  for (const char* name : {"traffic_class", "service_level"}) {
    add_parameter(kernel, name, "integer", "0", true);
    kernel.mutable_parameters()->rbegin()->set_maximum(255);
  }
  for (const char* name : {"pkey", "gid_rule", "mtu", "connection", "transport"})
    add_parameter(kernel, name, "text", "", true);
  for (const char* name : {"pkey_index", "gid_index", "flow_label"})
    add_parameter(kernel, name, "integer", "0");
  return kernel;
}

Parameters with_site(Parameters given) {
  const auto added = add_site_defaults(some_site(), addressed_kernel(), given);
  EXPECT_TRUE(added) << added.error().message;
  return given;
}

TEST(Site, HasAFileOfLabelsAndNamedGroups) {
  const auto site = read_site(std::string(kSite) +
                                  "labels: {file: /etc/railgauge/labels}\n"
                                  "groups: {gold: \"gpu[001-016]\", spare: \"rack=r9,!gpu013\"}\n",
                              "site.yaml");
  ASSERT_TRUE(site) << site.error().message;
  EXPECT_EQ(site->labels_file, "/etc/railgauge/labels");
  EXPECT_THAT(site->groups,
              UnorderedElementsAre(Pair("gold", "gpu[001-016]"), Pair("spare", "rack=r9,!gpu013")));
  EXPECT_THAT(refusal(std::string(kSite) + "labels: {}\n"), HasSubstr("file"));
  EXPECT_THAT(refusal(std::string(kSite) + "groups: {\"a b\": n1}\n"),
              HasSubstr("is no group's name"));
  EXPECT_THAT(refusal(std::string(kSite) + "groups: {gold: \"@silver\"}\n"),
              HasSubstr("has another group"));
}

TEST(Site, IsReadWithItsNameAndDefaults) {
  const Site site = some_site();
  EXPECT_EQ(site.name, "cluster-a");
  EXPECT_THAT(site.defaults,
              UnorderedElementsAre(Pair("traffic_class", "106"), Pair("service_level", "3"),
                                   Pair("pkey", "0x8001"), Pair("gid_rule", "roce_v2_ipv4"),
                                   Pair("mtu", "4096")));
}

TEST(Site, TellsTheFabricsLosslessPriority) {
  EXPECT_FALSE(some_site().lossless_priority);
  const std::string text = std::string(kSite) + "lossless_priority: ";
  const auto site = read_site(text + "4\n", "site.yaml");
  ASSERT_TRUE(site) << site.error().message;
  EXPECT_EQ(site->lossless_priority, 4U);
  for (const char* wrong : {"8\n", "-1\n", "three\n"})
    EXPECT_THAT(refusal(text + wrong), HasSubstr("allowed: 0 to 7")) << wrong;
}

TEST(Site, AnUnknownKeyIsOneLineWithItsPlaceAndWhatIsAllowed) {
  EXPECT_EQ(refusal("version: 1\nmetadata: {name: a}\ndefaults:\n  trafic_class: 106\n"),
            "site profile site.yaml:4:3: defaults.trafic_class: unknown key; allowed here: "
            "traffic_class, service_level, pkey, gid_rule, gid_index, mtu, flow_label, connection, "
            "qp_timeout, retry_count, relaxed_ordering, dmabuf_mapping, data_network, launch, "
            "ib_disable, ib_hca, "
            "socket_ifname, net_gdr_level, net_gdr_read, "
            "ib_qps_per_connection, ib_tc, ib_sl, ib_gid_index, ib_timeout, ib_retry_cnt, algo, "
            "proto, min_nchannels, max_nchannels, p2p_disable, shm_disable, nvls_enable; "
            "did you mean \"traffic_class\"?");
  EXPECT_THAT(refusal("version: 1\nmetadata: {name: a}\ndefaults: {mtu: 4096}\nenvironment: {}\n"),
              HasSubstr("site.yaml:4:1: environment: unknown key"));
}

TEST(Site, WhatIsWrongOtherwiseIsOneLineToo) {
  EXPECT_THAT(refusal("version: 2\nmetadata: {name: a}\ndefaults: {mtu: 4096}\n"),
              HasSubstr("this Railgauge reads version 1"));
  EXPECT_THAT(refusal("version: 1\nmetadata: {name: a}\n"), HasSubstr("lacks the key defaults"));
  EXPECT_THAT(refusal("version: 1\nmetadata: {name: a}\ndefaults: {mtu: [1, 2]}\n"),
              HasSubstr("defaults.mtu: must be a single value, is a list"));
  EXPECT_THAT(
      refusal("version: 1\nmetadata: {name: a}\ndefaults: {gid_rule: roce_v2, gid_index: 3}\n"),
      HasSubstr("gid_rule and gid_index exclude each other"));
  EXPECT_THAT(refusal("{"), HasSubstr("site profile site.yaml"));
  EXPECT_THAT(read_site_file("/nonexistent/site.yaml").error().message,
              HasSubstr("/nonexistent/site.yaml: open: No such file"));
}

TEST(Site, GivesWhatATaskLeavesOpenAndTheKernelDeclares) {
  Parameters given{{"traffic_class", "0"}};
  const auto added = add_site_defaults(some_site(), addressed_kernel(), given);
  ASSERT_TRUE(added) << added.error().message;
  EXPECT_THAT(*added, ElementsAre("gid_rule", "mtu", "pkey", "service_level"));
  EXPECT_THAT(given, UnorderedElementsAre(Pair("traffic_class", "0"), Pair("service_level", "3"),
                                          Pair("pkey", "0x8001"), Pair("gid_rule", "roce_v2_ipv4"),
                                          Pair("mtu", "4096")));
  Parameters none;
  EXPECT_THAT(add_site_defaults(some_site(), fake_kernels()[0], none).value(), IsEmpty());
  EXPECT_THAT(none, IsEmpty());
}

// As collectives declare it.
KernelInfo nccl_kernel() {
  KernelInfo kernel = fake_kernel("nccl.fake", "latency_ns");
  for (const char* name : {"ib_hca", "socket_ifname", "environment"})
    add_parameter(kernel, name, "text", "", true);
  for (const char* name : {"ib_tc", "ib_sl", "ib_gid_index"}) {
    add_parameter(kernel, name, "integer", "-1", true);
    kernel.mutable_parameters()->rbegin()->set_minimum(-1);
    kernel.mutable_parameters()->rbegin()->set_maximum(255);
  }
  return kernel;
}

// Settings of production's NCCL jobs: its own settings, and the class that verbs take.
TEST(Site, GivesNcclItsSettingsAndTheClassOfTheFabric) {
  const auto site = read_site(
      "version: 1\nmetadata: {name: a}\ndefaults: {traffic_class: 106, service_level: 3, gid_rule: "
      "index, gid_index: 5, ib_sl: 4, ib_hca: '=mlx5_0,mlx5_1', socket_ifname: '=eth0'}\n",
      "s.yaml");
  ASSERT_TRUE(site) << site.error().message;
  Parameters given;
  EXPECT_THAT(add_site_defaults(*site, nccl_kernel(), given).value(),
              ElementsAre("ib_gid_index", "ib_hca", "ib_sl", "ib_tc", "socket_ifname"));
  EXPECT_THAT(given, UnorderedElementsAre(Pair("ib_tc", "106"), Pair("ib_gid_index", "5"),
                                          Pair("ib_sl", "4"), Pair("ib_hca", "=mlx5_0,mlx5_1"),
                                          Pair("socket_ifname", "=eth0")));
  Parameters said{{"ib_tc", "0"}, {"ib_hca", ""}};
  EXPECT_THAT(add_site_defaults(*site, nccl_kernel(), said).value(),
              ElementsAre("ib_gid_index", "ib_sl", "socket_ifname"));
  Parameters clean{{"environment", "clean"}};
  EXPECT_THAT(add_site_defaults(*site, nccl_kernel(), clean).value(), IsEmpty())
      << "it is for comparison";
}

TEST(Site, AWrongSettingOfNcclIsRefusedNamingItsKey) {
  const auto site =
      read_site("version: 1\nmetadata: {name: a}\ndefaults: {traffic_class: 300}\n", "s.yaml");
  ASSERT_TRUE(site);
  Parameters given;
  EXPECT_THAT(add_site_defaults(*site, nccl_kernel(), given).error().message,
              HasSubstr("s.yaml: defaults.traffic_class: "));
}

TEST(Site, YieldsToAnotherParameterThatDecidesTheSame) {
  EXPECT_FALSE(with_site({{"gid_index", "3"}}).contains("gid_rule"));
  EXPECT_FALSE(with_site({{"pkey_index", "0"}}).contains("pkey"));
  EXPECT_FALSE(with_site({{"connection", "rdma_cm"}}).contains("pkey"));
  EXPECT_TRUE(with_site({{"connection", "exchange"}}).contains("pkey"));
}

TEST(Site, GivesTheConnectionWhereTheTaskCanHaveIt) {
  const auto site =
      read_site("version: 1\nmetadata: {name: a}\ndefaults: {connection: rdma_cm, flow_label: 7}\n",
                "s.yaml");
  ASSERT_TRUE(site) << site.error().message;
  const auto gives = [&](Parameters given) {
    EXPECT_TRUE(add_site_defaults(*site, addressed_kernel(), given));
    EXPECT_EQ(given["flow_label"], "7");
    return given.contains("connection") && given.at("connection") == "rdma_cm";
  };
  EXPECT_TRUE(gives({}));
  EXPECT_TRUE(gives({{"transport", "RC"}, {"pkey_index", "0"}, {"pkey", ""}}));
  EXPECT_FALSE(gives({{"connection", "exchange"}}));
  EXPECT_FALSE(gives({{"transport", "UD"}})) << "the manager connects RC alone";
  EXPECT_FALSE(gives({{"pkey", "0x8001"}})) << "and chooses the partition";
  EXPECT_FALSE(gives({{"pkey_index", "1"}}));
  EXPECT_THAT(refusal("version: 1\nmetadata: {name: a}\ndefaults: {pkey: 0x8001, connection: "
                      "rdma_cm}\n"),
              HasSubstr("defaults: pkey and connection: rdma_cm exclude each other"));
}

TEST(Site, AnIndexRuleComesWithItsIndex) {
  const auto site = read_site(
      "version: 1\nmetadata: {name: a}\ndefaults: {gid_rule: index, gid_index: 3}\n", "s.yaml");
  ASSERT_TRUE(site) << site.error().message;
  Parameters given;
  EXPECT_THAT(add_site_defaults(*site, addressed_kernel(), given).value(),
              ElementsAre("gid_index", "gid_rule"));
}

TEST(Site, AValueThatDoesNotFitTheDeclarationNamesTheFile) {
  const auto site =
      read_site("version: 1\nmetadata: {name: a}\ndefaults: {traffic_class: 300}\n", "/etc/s.yaml");
  ASSERT_TRUE(site);
  Parameters given;
  EXPECT_THAT(add_site_defaults(*site, addressed_kernel(), given).error().message,
              HasSubstr("site profile /etc/s.yaml: defaults.traffic_class: 300 is out of range"));
}

TEST(Planner, CarriesSiteDefaultsAsEffectiveParametersAndTellsWhichTheyAre) {
  Stage stage{.name = "a", .kernel = "fake.addressed", .placement = {}};
  stage.parameters["mtu"] = "1024";
  const std::vector<KernelInfo> kernels{addressed_kernel()};
  const Suite suite{.name = "test", .stages = {stage}};
  const auto plan = make_plan(suite, some_nodes(2), kernels, some_site());
  ASSERT_TRUE(plan) << plan.error().message;
  const PlannedTask& task = plan->tasks.at(0);
  EXPECT_EQ(task.parameters.at("traffic_class"), "106");
  EXPECT_EQ(task.parameters.at("mtu"), "1024");
  EXPECT_THAT(task.site_defaults,
              ElementsAre("gid_rule", "pkey", "service_level", "traffic_class"));
  EXPECT_THAT(task.identity_parameters, testing::Contains("traffic_class"));
  const auto without = make_plan(suite, some_nodes(2), kernels);
  ASSERT_TRUE(without);
  EXPECT_EQ(without->tasks.at(0).parameters.at("traffic_class"), "0");
  EXPECT_THAT(without->tasks.at(0).site_defaults, IsEmpty());
}

TEST(Planner, RefusesASiteValueThatNoKernelCouldTake) {
  const auto site =
      read_site("version: 1\nmetadata: {name: a}\ndefaults: {traffic_class: high}\n", "s.yaml");
  ASSERT_TRUE(site);
  const std::vector<KernelInfo> kernels{addressed_kernel()};
  const Stage stage{.name = "a", .kernel = "fake.addressed", .placement = {}};
  const auto plan = make_plan({.name = "t", .stages = {stage}}, some_nodes(2), kernels, *site);
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message, HasSubstr("plan: stage 0: site profile s.yaml: "));
}

}  // namespace
}  // namespace railgauge::plan
