#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/certificate/document.h"
#include "controller/cli/site/certificate_text.h"
#include "controller/cli/testing/commands_testing.h"
#include "controller/trust/authority/issue.h"
#include "kernels/core/base/outcome.h"

namespace railgauge::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

Certificate small_certificate() {
  Certificate content;
  content.set_schema_version(1);
  content.set_kind("run");
  content.set_subject("r-20261120-013000-1");
  content.set_suite("nightly");
  content.set_outcome("passed");
  return content;
}

class Certificates : public Commands {
 protected:
  void SetUp() override {
    Commands::SetUp();
    folder_ = std::filesystem::temp_directory_path() / fmt::format("rg_certificate_{}", ::getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    Commands::TearDown();
  }

  std::string file(const std::string& name, const std::string& text) {
    std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  // The controller's answer; returns the document.
  std::string serve(const std::string& key) {
    const auto document = certificate::seal(small_certificate(), key).value();
    judge_.certificate.set_schema_version(1);
    judge_.certificate.set_digest(document.digest);
    judge_.certificate.set_text(document.text.substr(0, document.text.size() - 1));
    return document.text;
  }
  static std::string certificate_for(const std::string& key) {
    return trust::make_certificate(
               {.role = "authority", .name = "site", .from_unix = 1, .until_unix = 2e9}, key,
               {.key = key})
        .value();
  }

  std::filesystem::path folder_;
};

TEST_F(Certificates, ThePageIsThatOfTheDocument) {
  const std::string document = serve("");
  EXPECT_EQ(run({"certificate"}), kExitPassed) << err_;
  EXPECT_EQ(out_, certificate_text(certificate::open(document, "").value(), false));
}

TEST_F(Certificates, AsJsonTheDocumentIsPrintedByteForByte) {
  const std::string document = serve("");
  for (const Format format : {Format::kJson, Format::kNdjson}) {
    EXPECT_EQ(run({"certificate", "r-20261120-013000-1"}, format), kExitPassed);
    EXPECT_EQ(out_, document);
  }
  EXPECT_EQ(run({"certificate"}, Format::kCsv), kExitUsage);
}

TEST_F(Certificates, AnUnknownSubjectIsWrongUse) {
  EXPECT_EQ(run({"certificate", "r-7"}), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("no run and no upgrade r-7"));
}

TEST_F(Certificates, ADocumentIsVerifiedWithAndWithoutAKey) {
  const std::string key = trust::make_key().value();
  const std::string path = file("night.json", serve(key));
  EXPECT_EQ(run({"verify", path}), kExitPassed) << out_;
  EXPECT_THAT(out_, HasSubstr("nobody vouches for"));
  const std::string trusted = file("site.crt", certificate_for(key));
  EXPECT_EQ(run({"verify", path, "--key", trusted}), kExitPassed) << out_;
  EXPECT_THAT(out_, HasSubstr("signed by the key that was named"));
  const std::string other = file("other.crt", certificate_for(trust::make_key().value()));
  EXPECT_EQ(run({"verify", path, "--key", other}), kExitFailed);
  EXPECT_THAT(out_, HasSubstr("signed by another key"));
}

TEST_F(Certificates, AChangedDocumentFailsAndShowsNothingOfItself) {
  std::string text = serve("");
  text.replace(text.find("passed"), 6, "failed");
  const std::string path = file("night.json", text);
  EXPECT_EQ(run({"verify", path}), kExitFailed);
  EXPECT_THAT(out_, HasSubstr("the certificate was changed"));
  EXPECT_THAT(out_, Not(HasSubstr("nightly")));
  EXPECT_EQ(run({"verify", path}, Format::kJson), kExitFailed);
  EXPECT_THAT(out_, HasSubstr("\"state\": \"changed\""));
}

TEST_F(Certificates, AFileThatIsNotThereAndAWrongKeyAreWrongUse) {
  EXPECT_EQ(run({"verify", (folder_ / "none.json").string()}), kExitUsage);
  const std::string path = file("night.json", serve(""));
  EXPECT_EQ(run({"verify", path, "--key", path}), kExitUsage);
  EXPECT_EQ(run({"verify", path, "--key", file("k.pem", trust::make_key().value())}), kExitUsage)
      << "a private key is no key to verify with";
}

}  // namespace
}  // namespace railgauge::cli
