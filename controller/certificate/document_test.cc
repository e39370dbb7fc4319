#include "controller/certificate/document.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/certificate/canonical_json.h"
#include "controller/trust/authority/issue.h"
#include "controller/trust/digest.h"
#include "controller/trust/signature.h"
#include "kernels/core/text/json.h"

namespace railgauge::certificate {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Certificate sample() {
  Certificate content;
  content.set_schema_version(1);
  content.set_kind("run");
  content.set_subject("r-20261120-120000-1");
  content.set_suite("nightly");
  content.set_outcome("passed");
  content.set_nodes("n[001-512],h\xc3\xb6lle \"x\"\\");
  SeenSeries& seen = *content.add_seen();
  seen.set_series("verbs.write_bw bandwidth_bytes_per_second 64 KiB");
  seen.set_noise_percent(1.07);
  SeenParts& parts = *seen.add_kinds()->add_parts();
  parts.set_two_nights_percent(3.5);
  parts.set_count(4096);
  (*content.add_stacks()->mutable_versions())["gpu_driver"] = "580.95";
  return content;
}

const std::string& key() {
  static const std::string pem = trust::make_key().value();
  return pem;
}
std::string public_key_of_signer(const std::string& pem) {
  return trust::sign("", pem)->public_key;
}

// A document with another digest, as somebody without the key can make it.
std::string with_new_digest(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  auto object = object_of(text).value();
  const std::string signature = object.fields().contains("signature")
                                    ? canonical_text(object.fields().at("signature").struct_value())
                                    : "";
  object.mutable_fields()->erase("digest");
  object.mutable_fields()->erase("signature");
  const std::string digest = "sha256:" + trust::sha256_hex(canonical_text(object));
  (*object.mutable_fields())["digest"].set_string_value(digest);
  if (!signature.empty())
    *(*object.mutable_fields())["signature"].mutable_struct_value() = object_of(signature).value();
  return canonical_text(object) + '\n';
}

TEST(CertificateDocument, IsReadBackAsItWasMade) {
  for (const std::string& pem : {std::string(), key()}) {
    const Document document = seal(sample(), pem).value();
    const Opened opened = open(document.text, "").value();
    EXPECT_EQ(to_json(opened.content), to_json(sample()));
    EXPECT_EQ(opened.digest, document.digest);
    EXPECT_THAT(opened.digest, StartsWith("sha256:"));
    EXPECT_EQ(opened.is_signed, !pem.empty());
  }
}

TEST(CertificateDocument, TheDigestDoesNotDependOnTheSignatureOrTheTry) {
  const std::string digest = digest_of(sample());
  EXPECT_EQ(seal(sample(), "")->digest, digest);
  EXPECT_EQ(seal(sample(), key())->digest, digest);
  EXPECT_EQ(seal(sample(), "")->text, seal(sample(), "")->text);
  EXPECT_EQ(digest_of(open(seal(sample(), key())->text, "")->content), digest);
}

// Two bits of each byte from `first` on: one after the other, and the one between 4 and 6, which
// are two forms of a point.
void expect_flips_found(const std::string& good, std::size_t first) {
  for (std::size_t at = first; at < good.size(); ++at)
    for (const std::size_t bit : {at % 8, std::size_t{1}}) {
      std::string bad = good;
      bad[at] = static_cast<char>(static_cast<unsigned char>(bad[at]) ^ (1U << bit));
      EXPECT_FALSE(open(bad, "")) << at << " " << bit;
    }
}

TEST(CertificateDocument, EveryFlippedBitIsFound) {
  expect_flips_found(seal(sample(), "")->text, 0);
  const std::string with_key = seal(sample(), key())->text;
  expect_flips_found(with_key, with_key.find("\"signature\""));
}

TEST(CertificateDocument, MissingAndFurtherBytesAreFound) {
  const std::string good = seal(sample(), key())->text;
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(open(good.substr(0, size), "")) << size;
  for (const char* more : {"\n", " ", "{}", "x"}) EXPECT_FALSE(open(good + more, "")) << more;
  EXPECT_FALSE(open(" " + good, ""));
}

TEST(CertificateDocument, AnotherFormOfTheSameValuesIsFound) {
  const std::string good = seal(sample(), "")->text;
  std::string spaced = good;
  spaced.insert(1, " ");
  EXPECT_THAT(open(spaced, "").error().message, HasSubstr("not in the form"));
  std::string twice = good;
  twice.insert(1, "\"suite\":\"other\",");
  EXPECT_FALSE(open(twice, "")) << "a key may not come twice";
}

TEST(CertificateDocument, WhoChangesItNeedsTheKey) {
  const std::string changed =
      with_new_digest(seal(sample(), key())->text, "\"passed\"", "\"failed\"");
  EXPECT_THAT(open(changed, "").error().message, HasSubstr("signature"));
  const std::string unsigned_one =
      with_new_digest(seal(sample(), "")->text, "\"passed\"", "\"failed\"");
  EXPECT_TRUE(open(unsigned_one, "")) << "a digest alone is no proof of who made it";
  EXPECT_EQ(open(unsigned_one, public_key_of_signer(key())).error().code, Code::kPermissionDenied);
}

TEST(CertificateDocument, OnlyTheKeyOfTheReaderIsTrusted) {
  const std::string stranger = trust::make_key().value();
  const std::string text = seal(sample(), stranger)->text;
  EXPECT_TRUE(open(text, ""));
  EXPECT_TRUE(open(text, public_key_of_signer(stranger)));
  const auto other = open(text, public_key_of_signer(key()));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kPermissionDenied);
}

TEST(CertificateDocument, TextOfAForeignDocumentIsNotRepeated) {
  const auto opened = open("{\"digest\":\"\\r\\u001b[2J\",\"kind\":\"run\"}\n", "");
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("it names another"));
  EXPECT_THAT(opened.error().message, Not(HasSubstr("[2J")));
}

TEST(CertificateDocument, AFieldOfALaterVersionCounts) {
  std::string text = seal(sample(), "")->text;
  const std::string later = with_new_digest(text, "\"subject\"", "\"sub_later\":1,\"subject\"");
  ASSERT_TRUE(open(later, "")) << open(later, "").error().message;
  std::string changed = later;
  changed.replace(changed.find("\"sub_later\":1"), 13, "\"sub_later\":2");
  EXPECT_FALSE(open(changed, ""));
}

TEST(CertificateDocument, OtherTextsAreNone) {
  for (const char* text : {"", "\n", "{}\n", "[]\n", "null\n", "{\"digest\":\"sha256:00\"}\n",
                           "{\"digest\":1}\n", "{\"digest\":\"\",\"signature\":1}\n"})
    EXPECT_EQ(open(text, "").error().code, Code::kInvalidArgument) << text;
  std::string deep = "{\"digest\":";
  for (int i = 0; i < 5'000; ++i) deep += '[';
  EXPECT_FALSE(open(deep, ""));
}

TEST(CanonicalJson, HasOneOrderAndNoBlanks) {
  const auto object =
      object_of(R"({ "b" : [1.50, true, null, "\u00e4\n"], "a" : {"z":0,"y":-0.25} })");
  ASSERT_TRUE(object);
  EXPECT_EQ(canonical_text(*object),
            "{\"a\":{\"y\":-0.25,\"z\":0},\"b\":[1.5,true,null,\"\xc3\xa4\\n\"]}");
  EXPECT_EQ(canonical_text(object_of(canonical_text(*object)).value()), canonical_text(*object));
}

}  // namespace
}  // namespace railgauge::certificate
