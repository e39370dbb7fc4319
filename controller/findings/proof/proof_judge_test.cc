// Nights of a modelled site and proofs of its nodes over a real store. Figures are synthetic.
#include "controller/findings/proof/proof_judge.h"

#include <cmath>
#include <limits>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/findings/testing/sliced_nights.h"
#include "controller/plan/rounds/partner_rounds.h"
#include "controller/plan/suite/suite.h"
#include "controller/store/queries/remarks.h"

namespace railgauge {
namespace {

using localise::Direction;
using localise::Kind;
using parts::ProofState;
using simulator::SiteFault;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<SiteFault> kTenthOfPort{
    {.element = {.kind = Kind::kPort, .first = 9, .rail = 1, .direction = Direction::kSends},
     .drop = 0.1}};

class Proofs : public SlicedNights {
 protected:
  static std::string name_of(std::uint32_t node) { return fmt::format("sim{:04}", node); }

  // A run of the nodes with seven partners from sim0020 on. `lost` is the share that sim0009 lacks
  // on rail 1 when it sends; `missing`: it has no figure there.
  void prove_nodes(const std::vector<std::uint32_t>& nodes, double lost = 0, bool missing = false) {
    const std::uint32_t number = nights_++;
    run_id_ = fmt::format("proof{:03}", number);
    std::vector<std::uint32_t> partners;
    for (std::uint32_t i = 20; i < 27; ++i) partners.push_back(i);
    plan::ProvedNodes prove;
    for (const std::uint32_t node : nodes) prove.nodes.push_back(name_of(node));
    for (const std::uint32_t node : partners) prove.partners.push_back(name_of(node));
    store::RunRow run = store::run_row(run_id_);
    run.suite = "prove";
    run.trigger = "prove";
    run.suite_text = plan::with_proof(
        "version: 1\nmetadata: {name: prove}\nstages:\n"
        "  - {kernel: verbs.write_bw, placement: {pairs: partners, rails: same}}",
        prove);
    run.created_at = kFirstNight + kNightSeconds * number;
    run.state = store::RunState::kEnded;
    run.outcome = "passed";
    run.ended_at = run.created_at + 300;
    run.nodes = prove.nodes;
    run.nodes.insert(run.nodes.end(), prove.partners.begin(), prove.partners.end());
    ASSERT_TRUE(store_->create_run(run, {}));
    std::vector<store::PairMatrixRow> matrices;
    std::mt19937 random(number);
    std::normal_distribution<double> noise(0, 0.01);
    for (std::int32_t rail = 0; rail < 2; ++rail) {
      store::PairMatrixRow& matrix =
          matrices.emplace_back(store::PairMatrixRow{.run_id = run_id_,
                                                     .rail = rail,
                                                     .kernel = "verbs.write_bw",
                                                     .metric = "bandwidth_bytes_per_second",
                                                     .message_bytes = 65'536,
                                                     .unit = "bytes_per_second",
                                                     .larger_is_better = true});
      std::map<std::uint32_t, std::size_t> row;
      for (const std::string& node : run.nodes)
        matrix.endpoints.push_back(fmt::format("{}/mlx5_{}:1", node, rail));
      for (const auto& list : {nodes, partners})
        for (const std::uint32_t node : list) row.emplace(node, row.size());
      const std::size_t count = run.nodes.size();
      matrix.values.assign(count * count, std::numeric_limits<float>::quiet_NaN());
      for (const auto& round : plan::partner_rounds(nodes, partners))
        for (const auto& [a, b] : round)
          for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
            const bool is_slow = from == 9 && rail == 1;
            if (is_slow && missing) continue;
            matrix.values[row[from] * count + row[to]] =
                static_cast<float>(4e10 * (is_slow ? 1 - lost : 1) * std::exp(noise(random)));
          }
    }
    ASSERT_TRUE(store_->put_pair_matrices(run_id_, matrices));
    judge();
    judge_once();
  }
  void judge_once() {
    const Status judged = judge_proof(*store_, run_id_, kFirstNight + kNightSeconds * nights_, {});
    ASSERT_TRUE(judged) << judged.error().message;
  }
  RunProof proof() {
    auto proof = proof_of_run(*store_, run_id_, {});
    EXPECT_TRUE(proof) << proof.error().message;
    return proof ? std::move(*proof) : RunProof();
  }
  store::FindingRow finding() {
    const auto row = store_->read(store::read_finding, "part-sim0009-rail-1");
    EXPECT_TRUE(row);
    return row ? *row : store::FindingRow();
  }
  void confirm_slow_port() {
    for (int i = 0; i < 6; ++i) night();
    for (int i = 0; i < 2; ++i) night(kTenthOfPort);
    ASSERT_EQ(finding().state, store::FindingState::kConfirmed);
  }
};

TEST_F(Proofs, OfARepairedPortEndsItsFinding) {
  confirm_slow_port();
  prove_nodes({9});
  EXPECT_EQ(proof().state, ProofState::kProved) << testing::PrintToString(proof().nodes[0].worse);
  EXPECT_THAT(proof().limits, IsEmpty()) << "seven partners, and a past";
  EXPECT_EQ(proof().nodes[0].parts, 4U) << "two sides on two rails";
  EXPECT_EQ(proof().nodes[0].without_past, 0U);
  EXPECT_EQ(finding().state, store::FindingState::kFixed);
  EXPECT_THAT(finding().steps.back().text, HasSubstr("proved: as its peers"));
  const std::size_t steps = finding().steps.size();
  judge_once();
  EXPECT_EQ(finding().steps.size(), steps) << "judged twice changes nothing";
}

TEST_F(Proofs, OfAPortThatIsStillSlowSaysSoAtItsFinding) {
  confirm_slow_port();
  prove_nodes({9}, 0.1);
  const RunProof told = proof();
  EXPECT_EQ(told.state, ProofState::kWorse);
  ASSERT_EQ(told.nodes.size(), 1U);
  EXPECT_THAT(told.nodes[0].worse, Contains(HasSubstr("sim0009 rail 1, sending: ")));
  EXPECT_THAT(told.nodes[0].worse, Contains(HasSubstr("worse than its past")));
  EXPECT_EQ(told.nodes[0].worse.size(), 1U) << "the other sides are as they should be";
  EXPECT_EQ(finding().state, store::FindingState::kConfirmed);
  EXPECT_EQ(finding().steps.back().action, "comment");
  EXPECT_THAT(finding().steps.back().text, HasSubstr("not proved: sim0009 rail 1, sending"));
  const std::size_t steps = finding().steps.size();
  judge_once();
  EXPECT_EQ(finding().steps.size(), steps);
}

TEST_F(Proofs, OfOtherNodesLeavesTheFindingAsItIs) {
  confirm_slow_port();
  prove_nodes({3, 4});
  EXPECT_EQ(proof().state, ProofState::kProved);
  EXPECT_EQ(finding().state, store::FindingState::kConfirmed);
}

TEST_F(Proofs, WithoutFiguresOfTheRailProveNothing) {
  confirm_slow_port();
  prove_nodes({9}, 0, true);
  EXPECT_NE(proof().state, ProofState::kProved);
  EXPECT_THAT(proof().nodes[0].unsure,
              Contains(HasSubstr("sim0009 rail 1, sending: not measured")));
  EXPECT_EQ(finding().state, store::FindingState::kConfirmed);
}

TEST_F(Proofs, ALooksOverFindingIsEndedByAProof) {
  confirm_slow_port();
  for (int i = 0; i < 4; ++i) night();
  ASSERT_EQ(finding().state, store::FindingState::kAcknowledged);
  prove_nodes({9});
  EXPECT_EQ(finding().state, store::FindingState::kFixed);
}

TEST_F(Proofs, OpenNoFindings) {
  for (int i = 0; i < 6; ++i) night();
  prove_nodes({9, 3}, 0.3);
  EXPECT_EQ(proof().state, ProofState::kWorse);
  EXPECT_EQ(proof().nodes[1].state, ProofState::kProved) << "the node beside it is as it should be";
  EXPECT_THAT(*store_->read(store::read_findings, {}, 10), IsEmpty());
}

TEST_F(Proofs, ARunOfAnotherTriggerIsNone) {
  night();
  EXPECT_EQ(proof_of_run(*store_, run_id_, {}).error().code, Code::kFailedPrecondition);
  EXPECT_TRUE(judge_proof(*store_, run_id_, 2e9, {}));
}

// A proof with one proved node and one partner on another leaf.
RunProof small_proof() {
  RunProof proof;
  proof.nodes = {{.node = "n1", .state = ProofState::kProved},
                 {.node = "n2", .state = ProofState::kProved}};
  proof.partner_leaves = {"L2"};
  for (const char* node : {"n1", "n2"})
    for (const int rail : {0, 1})
      for (const parts::Side side : {parts::Side::kSends, parts::Side::kReceives})
        proof.parts.push_back({.node = node,
                               .series = "s",
                               .rail = rail,
                               .side = side,
                               .answer = {.state = ProofState::kProved}});
  proof.pairs[{.series = "s", .from = "n1", .to = "n2"}] = 0.01;
  proof.pairs[{.series = "s", .from = "n2", .to = "n1"}] = 0.2;
  return proof;
}

PartEvidence evidence_of(const std::string& part, const std::string& first,
                         const std::string& second = "") {
  PartEvidence evidence;
  evidence.set_part(part);
  evidence.set_first(first);
  evidence.set_second(second);
  evidence.set_series("s");
  evidence.set_direction("both");
  return evidence;
}

TEST(AnswerAbout, AllSidesAndRailsOfAPartCount) {
  RunProof proof = small_proof();
  EXPECT_EQ(answer_about(proof, evidence_of("node", "n1"), 0.1, {}), ProofState::kProved);
  proof.parts[2].answer.state = ProofState::kWorse;  // rail 1
  EXPECT_EQ(answer_about(proof, evidence_of("node", "n1"), 0.1, {}), ProofState::kWorse);
  PartEvidence port = evidence_of("port", "n1");
  port.set_rail(0);
  EXPECT_EQ(answer_about(proof, port, 0.1, {}), ProofState::kProved);
  port.set_rail(7);
  EXPECT_EQ(answer_about(proof, port, 0.1, {}), ProofState::kUnsure);
  port.set_rail(0);
  port.set_memory("gpu");
  EXPECT_EQ(answer_about(proof, port, 0.1, {}), ProofState::kUnsure) << "no GPU was measured";
  EXPECT_EQ(answer_about(proof, evidence_of("node", "n9"), 0.1, {}), ProofState::kUnsure);
}

// A card that sends no more fails its tasks, and leaves the other side's figures as they should be.
TEST(AnswerAbout, ASideWithoutFiguresKeepsTheFindingOpen) {
  const RunProof whole = small_proof();
  PartEvidence port = evidence_of("port", "n1");
  port.set_rail(1);
  ASSERT_EQ(answer_about(whole, port, 0.1, {}), ProofState::kProved);
  RunProof proof = whole;
  proof.parts.erase(proof.parts.begin() + 2);  // rail 1 sends
  EXPECT_EQ(answer_about(proof, port, 0.1, {}), ProofState::kUnsure);
  proof.unmeasured.push_back({.node = "n1",
                              .series = "s",
                              .rail = 1,
                              .side = parts::Side::kSends,
                              .answer = {.state = ProofState::kWorse}});
  EXPECT_EQ(answer_about(proof, port, 0.1, {}), ProofState::kWorse);
  port.set_direction("receives");
  EXPECT_EQ(answer_about(proof, port, 0.1, {}), ProofState::kProved) << "the other side";
  proof.nodes[0].has_failures = true;
  EXPECT_EQ(answer_about(proof, port, 0.1, {}), ProofState::kUnsure);
}

TEST(AnswerAbout, ANodeIsProvedAsAWholeOnly) {
  RunProof proof = small_proof();
  proof.nodes[0].state = ProofState::kUnsure;
  EXPECT_EQ(answer_about(proof, evidence_of("node", "n1"), 0.1, {}), ProofState::kUnsure);
  proof.nodes[0].state = ProofState::kWorse;
  EXPECT_EQ(answer_about(proof, evidence_of("node", "n1"), 0.1, {}), ProofState::kWorse);
}

TEST(AnswerAbout, AnotherSeriesThanTheFindingsProvesNothing) {
  PartEvidence evidence = evidence_of("node", "n1");
  evidence.set_series("another");
  EXPECT_EQ(answer_about(small_proof(), evidence, 0.1, {}), ProofState::kUnsure);
}

TEST(AnswerAbout, APairIsProvedByItsOwnFigure) {
  RunProof proof = small_proof();
  EXPECT_EQ(answer_about(proof, evidence_of("pair", "n1", "n2"), 0.3, {}), ProofState::kProved);
  EXPECT_EQ(answer_about(proof, evidence_of("pair", "n2", "n1"), 0.3, {}), ProofState::kWorse);
  EXPECT_EQ(answer_about(proof, evidence_of("pair", "n1", "n3"), 0.3, {}), ProofState::kUnsure);
  PartEvidence of_gpus = evidence_of("pair", "n1", "n2");
  of_gpus.set_memory("gpu");
  EXPECT_EQ(answer_about(proof, of_gpus, 0.3, {}), ProofState::kUnsure) << "host memory alone";
  proof.pairs[{.series = "s", .from = "n1", .to = "n2", .gpu = true}] = 0.01;
  EXPECT_EQ(answer_about(proof, of_gpus, 0.3, {}), ProofState::kProved);
  proof.nodes[1].state = ProofState::kUnsure;
  EXPECT_EQ(answer_about(proof, of_gpus, 0.3, {}), ProofState::kUnsure) << "one end alone";
}

TEST(AnswerAbout, ALeafIsProvedByAllOfItsNodes) {
  RunProof proof = small_proof();
  const PartEvidence leaf = evidence_of("leaf", "L1");
  EXPECT_EQ(answer_about(proof, leaf, 0.1, {"n1", "n2"}), ProofState::kProved);
  EXPECT_EQ(answer_about(proof, leaf, 0.1, {"n1", "n2", "n3"}), ProofState::kUnsure);
  EXPECT_EQ(answer_about(proof, leaf, 0.1, {}), ProofState::kUnsure);
  proof.partner_leaves = {"L1"};
  EXPECT_EQ(answer_about(proof, leaf, 0.1, {"n1", "n2"}), ProofState::kUnsure)
      << "nobody outside of the leaf was met";
  EXPECT_EQ(answer_about(proof, evidence_of("trunk", "L1", "L2"), 0.1, {"n1"}),
            ProofState::kUnsure);
}

}  // namespace
}  // namespace railgauge
