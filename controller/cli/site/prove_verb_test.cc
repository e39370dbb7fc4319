#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/certificate/document.h"
#include "controller/cli/testing/commands_testing.h"
#include "controller/cli/testing/samples.h"
#include "kernels/core/base/outcome.h"

namespace railgauge::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class ProveVerb : public Commands {
 protected:
  void TearDown() override {
    std::filesystem::remove(path_);
    Commands::TearDown();
  }
  // The certificate that the controller answers with; returns the document.
  std::string serve(const std::string& verdict) {
    Certificate content;
    content.set_schema_version(1);
    content.set_kind("run");
    content.set_subject(kSampleRun);
    content.set_suite("prove");
    content.set_trigger("prove");
    content.set_verdict(verdict);
    Proof& proof = *content.mutable_proof();
    proof.set_verdict(verdict);
    proof.set_partners("n[2-8]");
    ProvedNode& node = *proof.add_nodes();
    node.set_node("n1");
    node.set_verdict(verdict);
    node.set_parts(32);
    if (verdict == "not_proved")
      node.add_worse("n1 rail 2, sending: 10.2 % worse than its peers (called from 3.0 % on)");
    if (verdict == "inconclusive") node.add_unsure("n1: nothing of it was measured");
    ProvedSeries& series = *proof.add_series();
    series.set_series("verbs.write_bw bandwidth_bytes_per_second 65536 B");
    series.set_parts(32);
    series.set_worst_of_peers_percent(1.2);
    series.set_called_from_percent(3);
    const auto document = certificate::seal(content, "").value();
    judge_.certificate.set_schema_version(1);
    judge_.certificate.set_digest(document.digest);
    judge_.certificate.set_text(document.text.substr(0, document.text.size() - 1));
    return document.text;
  }

  const std::string path_ =
      (std::filesystem::temp_directory_path() / fmt::format("rg_proof_{}.json", ::getpid()))
          .string();
};

TEST_F(ProveVerb, EndsWithTheVerdictsExitCode) {
  for (const auto& [verdict, code] :
       {std::pair{"proved", kExitPassed}, std::pair{"not_proved", kExitFailed},
        std::pair{"inconclusive", kExitInconclusive}, std::pair{"", kExitInvalid}}) {
    serve(verdict);
    EXPECT_EQ(run({"prove", "n1"}), code) << verdict << err_;
  }
}

TEST_F(ProveVerb, AsksForARunOfItsTriggerAndShowsThePageOfTheCertificate) {
  serve("not_proved");
  EXPECT_EQ(run({"prove", "n1"}), kExitFailed);
  EXPECT_EQ(control_.last_request().trigger(), "prove");
  EXPECT_EQ(control_.last_request().suite().name(), "prove");
  EXPECT_EQ(control_.last_request().node_set(), "n1");
  EXPECT_THAT(err_, HasSubstr("known-good partners included"));
  EXPECT_THAT(out_, HasSubstr("not_proved"));
  EXPECT_THAT(out_, HasSubstr("n[2-8]"));
  EXPECT_THAT(out_, HasSubstr("n1 rail 2, sending: 10.2 % worse than its peers"));
  EXPECT_THAT(out_, HasSubstr("CALLED FROM"));
}

TEST_F(ProveVerb, WritesTheDocumentThatVerifyChecks) {
  const std::string document = serve("proved");
  EXPECT_EQ(run({"prove", "n1", "--file", path_}, Format::kJson), kExitPassed) << err_;
  EXPECT_EQ(out_, document);
  std::ifstream file(path_, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), document);
  EXPECT_EQ(run({"verify", path_}), kExitPassed);
  EXPECT_EQ(run({"prove", "n1", "--file", "/nowhere/proof.json"}), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("--file /nowhere/proof.json: it cannot be written"));
}

TEST_F(ProveVerb, IsNotStartedByWrongUse) {
  serve("proved");
  EXPECT_EQ(run({"prove"}), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("which nodes?"));
  EXPECT_EQ(run({"prove", "n1", "--force"}), kExitUsage);
  EXPECT_EQ(run({"prove", "n1"}, Format::kCsv), kExitUsage);
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(ProveVerb, DetachPrintsTheRunsIdAndWaitsForNothing) {
  EXPECT_EQ(run({"prove", "n1", "--detach"}), kExitPassed);
  EXPECT_EQ(out_, std::string(kSampleRun) + "\n");
  EXPECT_THAT(err_, Not(HasSubstr("judged")));
}

}  // namespace
}  // namespace railgauge::cli
