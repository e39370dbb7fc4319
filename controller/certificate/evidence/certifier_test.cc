// Certificates of nights over a real store. Figures are synthetic.
#include "controller/certificate/evidence/certifier.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/certificate/document.h"
#include "controller/findings/testing/sliced_nights.h"
#include "controller/trust/authority/issue.h"

namespace railgauge::certificate {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class CertifiedNights : public SlicedNights {
 protected:
  Certificate content(const std::string& subject) {
    const auto document = Certifier(*store_, "").certify(subject);
    EXPECT_TRUE(document) << document.error().message;
    if (!document) return {};
    const auto opened = open(document->text() + '\n', "");
    EXPECT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(opened->digest, document->digest());
    return opened->content;
  }

  // A run of two tasks in a time in which the stacks are known: one passed, one was waived.
  std::string short_run() {
    store::RunRow run = store::run_row("short");
    run.created_at = 2e9;
    run.state = store::RunState::kEnded;
    run.outcome = "passed";
    run.nodes = {"sim0001", "sim0002"};
    std::vector<store::TaskRow> tasks = store::pair_tasks(2);
    for (store::TaskRow& task : tasks) {
      task.state = store::TaskState::kEnded;
      task.ranks = {{.node_id = "id-1", .node = "sim0001", .endpoint = "mlx5_0:1"},
                    {.node_id = "id-2", .node = "sim0002", .endpoint = "mlx5_0:1"}};
    }
    tasks[0].outcome = "passed";
    tasks[1].outcome = "waived";
    tasks[1].reason = "no GPU here";
    EXPECT_TRUE(store_->create_run(run, tasks));
    EXPECT_TRUE(store_->add_event({.at = run.created_at,
                                   .kind = "nodes_absent",
                                   .run_id = "short",
                                   .text = "not attached, left out: sim0003"}));
    EXPECT_TRUE(store_->flush());
    return "short";
  }
};

const SeenKind* kind_of(const Certificate& content, const std::string& word) {
  for (const SeenKind& kind : content.seen(0).kinds())
    if (kind.kind() == word) return &kind;
  return nullptr;
}

double count_of_parts(const SeenKind& kind) {
  double count = 0;
  for (const SeenParts& parts : kind.parts()) count += parts.count();
  return count;
}

TEST_F(CertifiedNights, EachPartHasItsSmallestLossAfterSomeNights) {
  for (int i = 0; i < 4; ++i) night();
  const Certificate told = content(run_id_);
  EXPECT_EQ(told.kind(), "run");
  EXPECT_EQ(told.outcome(), "passed");
  EXPECT_EQ(told.nodes(), "sim[0000-0031]");
  ASSERT_THAT(told.seen(), SizeIs(1));
  EXPECT_EQ(told.seen(0).nights(), 4U);
  EXPECT_NEAR(told.seen(0).noise_percent(), 1, 0.5);
  const SeenKind* ports = kind_of(told, "port");
  ASSERT_NE(ports, nullptr);
  EXPECT_EQ(count_of_parts(*ports), 64) << "every port of 32 nodes and two rails";
  for (const SeenParts& parts : ports->parts()) {
    EXPECT_TRUE(parts.has_two_nights_percent());
    EXPECT_GE(parts.two_nights_percent(), 1.5);
    EXPECT_LT(parts.two_nights_percent(), 12);
  }
  EXPECT_NE(kind_of(told, "leaf"), nullptr);
  EXPECT_NE(kind_of(told, "trunk"), nullptr);
}

TEST_F(CertifiedNights, TheFirstNightConfirmsNothingAndSaysSo) {
  night();
  const Certificate told = content(run_id_);
  for (const SeenParts& parts : kind_of(told, "port")->parts()) {
    EXPECT_FALSE(parts.has_two_nights_percent());
    EXPECT_TRUE(parts.has_this_night_percent());
  }
}

TEST_F(CertifiedNights, PairsOfTheSliceAreCounted) {
  night();
  const Certificate told = content(run_id_);
  ASSERT_THAT(told.pairs(), SizeIs(1));
  EXPECT_EQ(told.pairs(0).possible(), 32 * 31 * 2);
  EXPECT_NEAR(told.pairs(0).measured() / told.pairs(0).possible(), 1.0 / kSlicedSite.slices, 0.05);
}

TEST_F(CertifiedNights, LaterNightsLeaveTheDigestAsItIs) {
  for (int i = 0; i < 3; ++i) night();
  const std::string first = run_id_;
  const std::string digest = Certifier(*store_, "").certify(first)->digest();
  night();
  EXPECT_EQ(Certifier(*store_, "").certify(first)->digest(), digest);
  EXPECT_NE(Certifier(*store_, "").certify(run_id_)->digest(), digest);
}

TEST_F(CertifiedNights, WhatWasNotTestedIsThereWithItsReason) {
  const Certificate told = content(short_run());
  ASSERT_THAT(told.tested(), SizeIs(1));
  EXPECT_EQ(told.tested(0).tasks(), 1);
  ASSERT_THAT(told.not_tested(), SizeIs(1));
  EXPECT_EQ(told.not_tested(0).outcome(), "waived");
  EXPECT_EQ(told.not_tested(0).reason(), "no GPU here");
  EXPECT_EQ(told.not_tested(0).endpoints(), "sim[0001-0002]/mlx5_0:1");
  EXPECT_THAT(told.left_out(), Contains(HasSubstr("sim0003")));
  EXPECT_EQ(told.other_nodes(), "sim[0000,0003-0031]");
  EXPECT_THAT(told.seen(), IsEmpty());
  EXPECT_THAT(told.limits(), Contains(HasSubstr("no pairs of nodes on a rail")));
}

TEST_F(CertifiedNights, NodesAreGroupedByTheStackOfTheRunsTime) {
  const Certificate told = content(short_run());
  ASSERT_THAT(told.stacks(), SizeIs(1));
  EXPECT_EQ(told.stacks(0).nodes(), "sim[0001-0002]");
  EXPECT_EQ(told.stacks(0).fingerprint().size(), 16U);
  night();  // of a time before the store knew the nodes
  ASSERT_THAT(content(run_id_).stacks(), SizeIs(1));
  EXPECT_FALSE(content(run_id_).stacks(0).has_fingerprint());
}

TEST_F(CertifiedNights, TheKeySignsAndTheNewestRunIsTheDefault) {
  night();
  const std::string key = trust::make_key().value();
  const auto document = Certifier(*store_, key).certify("");
  ASSERT_TRUE(document) << document.error().message;
  const auto opened = open(document->text() + '\n', "");
  ASSERT_TRUE(opened);
  EXPECT_TRUE(opened->is_signed);
  EXPECT_EQ(opened->content.subject(), run_id_);
}

TEST_F(CertifiedNights, WhatHasNotEndedAndWhatIsNotThereHasNone) {
  ASSERT_TRUE(store_->create_run(store::run_row("r1"), {}));
  EXPECT_EQ(Certifier(*store_, "").certify("r1").error().code, Code::kFailedPrecondition);
  EXPECT_EQ(Certifier(*store_, "").certify("r2").error().code, Code::kInvalidArgument);
  ASSERT_TRUE(store_->write(store::write_upgrade,
                            store::UpgradeRow{.upgrade_id = "u1", .suite = "upgrade"}));
  EXPECT_EQ(Certifier(*store_, "").certify("u1").error().code, Code::kFailedPrecondition);
}

// Eight nodes with matrices of all their pairs, of which one sends a tenth too little.
TEST_F(CertifiedNights, AProofSaysWhichPartIsWorseAndIsCheckedOffline) {
  for (int i = 0; i < 4; ++i) night();
  store::RunRow run = store::run_row("proof");
  run.suite = "prove";
  run.trigger = "prove";
  run.created_at = kFirstNight + kNightSeconds * nights_++;
  run.state = store::RunState::kEnded;
  run.outcome = "passed";
  run.nodes = {};
  std::string partners;
  for (int i = 0; i < 8; ++i) {
    run.nodes.push_back(fmt::format("sim{:04}", i));
    if (i > 0) partners += (i > 1 ? "," : "") + run.nodes.back();
  }
  run.suite_text = fmt::format(
      "version: 1\nmetadata: {{name: prove}}\nstages:\n  - {{kernel: verbs.write_bw, placement: "
      "{{pairs: partners}}}}\nprove: {{nodes: \"sim0000\", partners: \"{}\"}}\n",
      partners);
  ASSERT_TRUE(store_->create_run(run, {}));
  store::PairMatrixRow matrix{.run_id = "proof",
                              .kernel = "verbs.write_bw",
                              .metric = "bandwidth_bytes_per_second",
                              .message_bytes = 65'536,
                              .unit = "bytes_per_second",
                              .larger_is_better = true};
  for (const std::string& node : run.nodes) matrix.endpoints.push_back(node + "/mlx5_0:1");
  for (int from = 0; from < 8; ++from)
    for (int to = 0; to < 8; ++to)
      matrix.values.push_back(from == to
                                  ? std::numeric_limits<float>::quiet_NaN()
                                  : 4e10F * (from == 0 ? 0.9F : 1.0F) *
                                        (1.0F + 0.002F * static_cast<float>((3 * from + to) % 5)));
  ASSERT_TRUE(store_->put_pair_matrices("proof", {matrix}));
  const Certificate told = content("proof");
  EXPECT_EQ(told.verdict(), "not_proved");
  EXPECT_EQ(told.proof().partners(), "sim[0001-0007]");
  ASSERT_EQ(told.proof().nodes_size(), 1);
  EXPECT_EQ(told.proof().nodes(0).verdict(), "not_proved");
  EXPECT_THAT(told.proof().nodes(0).worse(), Contains(HasSubstr("sim0000 rail 0, sending: ")));
  EXPECT_THAT(told.proof().nodes(0).worse(), SizeIs(1));
  ASSERT_EQ(told.proof().series_size(), 1);
  EXPECT_NEAR(told.proof().series(0).worst_of_peers_percent(), 10, 1);
  EXPECT_GE(told.proof().series(0).called_from_percent(), 2.9);
  EXPECT_FALSE(content("night003").has_proof());
}

}  // namespace
}  // namespace railgauge::certificate
