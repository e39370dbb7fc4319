#include "controller/deliver/message.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/report/testing/morning.h"
#include "controller/trust/digest.h"
#include "kernels/core/text/json.h"

namespace railgauge::deliver {
namespace {

using google::protobuf::Struct;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

api::SiteReport morning_report() { return report::make_report(report::morning()); }

Struct parsed(const std::string& json) {
  Struct object;
  const auto status = google::protobuf::util::JsonStringToMessage(json, &object);
  EXPECT_TRUE(status.ok()) << status.ToString() << json.substr(0, 300);
  return object;
}

std::string text_in(const Struct& object, const std::string& name) {
  const auto found = object.fields().find(name);
  return found == object.fields().end() ? "" : found->second.string_value();
}

class MessageTest : public testing::Test {
 protected:
  [[nodiscard]] std::string body(Format format, const std::string& wording = "") const {
    return body_of({.delivery_id = "run-r1",
                    .cause = "finding",
                    .confirmed = {"step-gpu017-rail3"},
                    .report = report_},
                   format, wording,
                   {.to = "ops@example.org", .from = "rg@gpu.example.org", .at = 1'764'000'000});
  }
  const api::SiteReport report_ = morning_report();
};

TEST_F(MessageTest, JsonHasTheReportWithTheDigestOfItsBytes) {
  const std::string json = body(Format::kJson);
  const Struct object = parsed(json);
  EXPECT_EQ(text_in(object, "delivery_id"), "run-r1");
  EXPECT_EQ(text_in(object, "report_id"), report_.report_id());
  EXPECT_EQ(text_in(object, "cause"), "finding");
  EXPECT_THAT(text_in(object, "text"), StartsWith("# Railgauge report: step"));
  EXPECT_EQ(object.fields().at("confirmed").list_value().values(0).string_value(),
            "step-gpu017-rail3");
  const std::string report = to_json(report_, JsonLayout::kCompact);
  EXPECT_THAT(json, testing::EndsWith("\"report\":" + report + "}"));
  EXPECT_EQ(text_in(object, "digest"), "sha256:" + trust::sha256_hex(report));
  EXPECT_EQ(body(Format::kJson), json) << "the same report gives the same bytes";
}

TEST_F(MessageTest, SlackTakesATextWithItsThreeCharactersEscaped) {
  const Struct object = parsed(body(Format::kSlack));
  ASSERT_EQ(object.fields_size(), 1);
  const std::string text = text_in(object, "text");
  EXPECT_THAT(text, AllOf(StartsWith("*"), HasSubstr("```\nRailgauge report"), HasSubstr("gpu017"),
                          HasSubstr("575.51 -&gt; 580.95"), Not(HasSubstr("->"))));
  EXPECT_LT(text.size(), 40'000u);
}

TEST_F(MessageTest, TeamsTakesACardWithinItsBound) {
  const std::string json = body(Format::kTeams);
  EXPECT_LT(json.size(), 28'000u);
  const Struct object = parsed(json);
  EXPECT_EQ(text_in(object, "type"), "message");
  const Struct& attachment =
      object.fields().at("attachments").list_value().values(0).struct_value();
  EXPECT_EQ(text_in(attachment, "contentType"), "application/vnd.microsoft.card.adaptive");
  const Struct& card = attachment.fields().at("content").struct_value();
  EXPECT_EQ(text_in(card, "type"), "AdaptiveCard");
  const auto& blocks = card.fields().at("body").list_value().values();
  ASSERT_GT(blocks.size(), 10);
  EXPECT_THAT(text_in(blocks.Get(0).struct_value(), "text"), StartsWith("Railgauge report"));
  for (const auto& block : blocks) EXPECT_EQ(text_in(block.struct_value(), "type"), "TextBlock");
}

TEST_F(MessageTest, AMailHasHeadersOfOneLineAndTheIdOfTheDelivery) {
  const std::string mail = body(Format::kMail);
  const std::size_t end = mail.find("\n\n");
  ASSERT_NE(end, std::string::npos);
  const std::string head = mail.substr(0, end);
  EXPECT_THAT(head,
              AllOf(HasSubstr("To: ops@example.org\n"), HasSubstr("From: rg@gpu.example.org\n"),
                    HasSubstr("\nSubject: [Railgauge] regressed: "),
                    HasSubstr("\nDate: Mon, 24 Nov 2025 16:00:00 +0000\n"),
                    HasSubstr("\nMessage-ID: <run-r1@gpu.example.org>\n"),
                    HasSubstr("\nX-Railgauge-Delivery: run-r1\n")));
  EXPECT_THAT(mail.substr(end + 2), StartsWith("Railgauge report"));
}

TEST_F(MessageTest, ATemplateHasNamesThatAreReplaced) {
  const std::string wording = "{{verdict}} & {{confirmed}}\n{{headline}}\n{{report_id}}{{";
  EXPECT_EQ(text_in(parsed(body(Format::kJson, wording)), "text"),
            "regressed & step-gpu017-rail3\n" + report_.headline() + "\n" + report_.report_id());
  EXPECT_THAT(text_in(parsed(body(Format::kSlack, wording)), "text"),
              StartsWith("regressed &amp; step-gpu017-rail3\n"));
  EXPECT_THAT(body(Format::kMail, wording), HasSubstr("\n\nregressed & step-gpu017-rail3\n"));
  EXPECT_TRUE(check_wording("{{text}} {{next}} {{markdown}} {{cause}} {{delivery_id}}"));
  const Status unknown = check_wording("a {{headlin}} b");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message,
              AllOf(HasSubstr("{{headlin}}"), HasSubstr("did you mean \"headline\"?")));
}

TEST_F(MessageTest, EachFormOfASyntheticReportSaysIt) {
  ASSERT_TRUE(report_.synthetic());
  EXPECT_THAT(body(Format::kMail), HasSubstr("\nSubject: [Railgauge] regressed: SYNTHETIC: "));
  EXPECT_THAT(text_in(parsed(body(Format::kSlack)), "text"), StartsWith("*SYNTHETIC: "));
  EXPECT_THAT(body(Format::kTeams), HasSubstr("SYNTHETIC: "));
  EXPECT_THAT(body(Format::kJson), HasSubstr(R"("headline":"SYNTHETIC: )"));
  for (const Format format : {Format::kMail, Format::kSlack, Format::kTeams, Format::kJson})
    EXPECT_THAT(body(format, "{{verdict}}"), HasSubstr("SYNTHETIC: regressed"))
        << "a template cannot leave it out";
}

TEST(RealReport, HasNoMarkInAnyForm) {
  report::Material material = report::morning();
  material.suspects.clear();
  material.upgrades.clear();
  const api::SiteReport report = report::make_report(material);
  for (const Format format : {Format::kMail, Format::kSlack, Format::kTeams, Format::kJson})
    for (const char* wording : {"", "{{headline}} {{text}} {{markdown}}"})
      EXPECT_THAT(body_of({.delivery_id = "run-r1", .cause = "run", .report = report}, format,
                          wording, {.to = "ops@example.org"}),
                  Not(HasSubstr("SYNTHETIC")));
}

TEST(Headers, SignTheTimeAndTheBody) {
  using Header = std::pair<std::string, std::string>;
  const auto headers = headers_of("run-1", "{}", "s3cret", 1'764'000'000.4);
  EXPECT_THAT(headers,
              ElementsAre(Header("X-Railgauge-Delivery", "run-1"),
                          Header("X-Railgauge-Digest", "sha256:" + trust::sha256_hex("{}")),
                          Header("X-Railgauge-Timestamp", "1764000000"),
                          Header("X-Railgauge-Signature",
                                 "sha256=" + trust::hmac_sha256_hex("s3cret", "1764000000.{}"))));
  EXPECT_EQ(headers_of("run-1", "{}", "", 1).size(), 3u) << "without a secret nothing is signed";
}

}  // namespace
}  // namespace railgauge::deliver
