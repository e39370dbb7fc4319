#include "controller/certificate/document.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include "controller/certificate/canonical_json.h"
#include "controller/trust/digest.h"
#include "controller/trust/signature.h"
#include "kernels/core/text/json.h"

namespace railgauge::certificate {
namespace {

using google::protobuf::Struct;

// The keys of the proof, which the content's digest leaves out.
constexpr std::string_view kDigest = "digest";
constexpr std::string_view kSignature = "signature";

std::string digest_text(std::string_view content) {
  return fmt::format("sha256:{}", trust::sha256_hex(content));
}

// The content without a proof.
Struct object_of_content(const Certificate& content) {
  auto object = object_of(to_json(content, JsonLayout::kCompact));
  RG_CHECK(object);  // our own text
  return std::move(*object);
}

// The text of a key; "" where there is none, or another kind of value.
std::string text_at(const Struct& object, std::string_view key) {
  const auto found = object.fields().find(std::string(key));
  return found == object.fields().end() ? "" : found->second.string_value();
}

// The answer to a document that was whole once, or claims to be.
tl::unexpected<Error> changed(std::string_view why) {
  return fail(Code::kInvalidArgument, fmt::format("the certificate was changed: {}", why));
}

}  // namespace

// The signature is of the content alone, like the digest, so that neither contains the other.
Result<Document> seal(const Certificate& content, std::string_view key_pem) {
  Struct object = object_of_content(content);
  const std::string text = canonical_text(object);
  Document document{.digest = digest_text(text)};
  auto& fields = *object.mutable_fields();
  fields[std::string(kDigest)].set_string_value(document.digest);
  if (!key_pem.empty()) {
    const trust::Signature signature = RG_TRY(trust::sign(text, key_pem));
    auto& proof = *fields[std::string(kSignature)].mutable_struct_value()->mutable_fields();
    proof["algorithm"].set_string_value(signature.algorithm);
    proof["public_key"].set_string_value(signature.public_key);
    proof["value"].set_string_value(signature.value);
  }
  document.text = canonical_text(object) + '\n';
  return document;
}

std::string digest_of(const Certificate& content) {
  return digest_text(canonical_text(object_of_content(content)));
}

// The form is compared first: two texts of one value would have one digest. Nothing of the content
// is given out before digest and signature fit.
Result<Opened> open(std::string_view text, std::string_view key) {
  if (text.size() > kMostDocumentBytes)
    return fail(Code::kInvalidArgument,
                fmt::format("no certificate: more than {} bytes", kMostDocumentBytes));
  auto object = object_of(text);
  if (!object || !object->fields().contains(std::string(kDigest)))
    return fail(Code::kInvalidArgument, "no certificate: it is no JSON object with a digest");
  if (canonical_text(*object) + '\n' != text) return changed("it is not in the form of one");
  Opened opened{.digest = text_at(*object, kDigest)};
  trust::Signature signature;
  auto& fields = *object->mutable_fields();
  if (const auto proof = fields.find(std::string(kSignature)); proof != fields.end()) {
    const Struct& parts = proof->second.struct_value();
    signature = {.algorithm = text_at(parts, "algorithm"),
                 .public_key = text_at(parts, "public_key"),
                 .value = text_at(parts, "value")};
    constexpr int kParts = 3;
    if (parts.fields_size() != kParts) return changed("its signature has other parts");
    opened.is_signed = true;
    opened.key_sha256 = trust::fingerprint_of_key(signature.public_key);
    fields.erase(proof);
  }
  fields.erase(std::string(kDigest));
  const std::string content = canonical_text(*object);
  // The document's own digest is not repeated: it is text of whoever changed the document.
  if (const std::string digest = digest_text(content); digest != opened.digest)
    return changed(fmt::format("its content has the digest {}, it names another", digest));
  if (opened.is_signed)
    if (const Status fits = trust::check_signature(content, signature); !fits)
      return changed(fits.error().message);
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;  // of a later version
  if (!google::protobuf::util::JsonStringToMessage(content, &opened.content, options).ok() ||
      opened.content.schema_version() == 0 || opened.content.subject().empty())
    return fail(Code::kInvalidArgument, "no certificate: it names no run and no upgrade");
  if (key.empty()) return opened;
  if (!opened.is_signed)
    return fail(Code::kPermissionDenied, "the certificate is not signed; its digest is sound");
  if (signature.public_key != key)
    return fail(
        Code::kPermissionDenied,
        fmt::format("the certificate is signed by another key (SHA-256 {})", opened.key_sha256));
  return opened;
}

}  // namespace railgauge::certificate
