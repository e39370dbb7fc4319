// A certificate of a run, which comes from anybody: one that opens has one form alone, and no
// changed byte of it opens again. The subject of a peer's certificate, by which the controller
// knows its name and role. The node's owner writes it into the request that the site's authority
// signs. Properties: names and units equal those that OpenSSL has in the structure, however they
// are escaped in the text; no text gives a role but through exactly one OU; no right without a
// role.
#include <openssl/bio.h>
#include <openssl/x509.h>

#include <array>
#include <memory>
#include <vector>

#include "controller/certificate/document.h"
#include "controller/fleet/auth.h"
#if __has_include("controller/trust/identity_uri.h")
#include "controller/trust/enrolment_token.h"
#include "controller/trust/identity_uri.h"
#include "controller/trust/signing_request.h"
#include "kernels/core/text/lines.h"
#endif
#include "deploy/fuzz/properties.h"

namespace railgauge::fuzz {
namespace {

struct Part {
  std::string key;
  std::string value;
};

using Name = std::unique_ptr<X509_NAME, decltype(&X509_NAME_free)>;

// The text of a name as gRPC makes it (RFC 2253).
std::string text_of(const X509_NAME* name) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), BIO_free);
  X509_NAME_print_ex(out.get(), name, 0, XN_FLAG_RFC2253);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(out.get(), &bytes);
  return {bytes, static_cast<std::size_t>(std::max(size, 0L))};
}

// A subject of the input's parts. Parts that OpenSSL refuses are left out of both results.
Name name_of(FuzzedDataProvider& input, std::vector<Part>& parts) {
  Name name(X509_NAME_new(), X509_NAME_free);
  for (auto left = input.ConsumeIntegralInRange<std::size_t>(0, 5); left > 0; --left) {
    Part part{input.PickValueInArray({"CN", "OU", "O", "L", "DC", "serialNumber", "UID"}), ""};
    const bool same_set = input.ConsumeBool();  // "OU=agent+CN=n1"
    part.value = valid_utf8(input.ConsumeRandomLengthString(40));
    if (part.value.empty() || part.value.find('\0') != std::string::npos) continue;
    const int added = X509_NAME_add_entry_by_txt(
        name.get(), part.key.c_str(), MBSTRING_UTF8,
        reinterpret_cast<const unsigned char*>(part.value.data()),
        static_cast<int>(part.value.size()), -1, same_set && !parts.empty() ? -1 : 0);
    if (added == 1) parts.push_back(std::move(part));
  }
  return name;
}

std::vector<std::string> values_of(const std::vector<Part>& parts, std::string_view key) {
  std::vector<std::string> values;
  for (const Part& part : parts)
    if (part.key == key) values.push_back(part.value);
  std::ranges::sort(values);
  return values;
}

std::vector<std::string> sorted(std::vector<std::string> values) {
  std::ranges::sort(values);
  return values;
}

void check_rights(const auth::Subject& subject, std::string_view text) {
  const auth::Role role = auth::role_of(subject);
  FUZZ_CHECK(role != auth::Role::kAny, text);
  if (role != auth::Role::kNone) FUZZ_CHECK(subject.units.size() == 1, text);
  auth::Peer peer{.role = role, .who = "peer", .address = "192.0.2.1"};
  if (subject.common_names.size() == 1) peer.common_name = subject.common_names[0];
  FUZZ_CHECK(auth::may_attach(peer).has_value() == (role == auth::Role::kAgent), text);
  FUZZ_CHECK(auth::may_control(peer, false).has_value() == (role == auth::Role::kOperator), text);
  FUZZ_CHECK(auth::may_control(peer, true).has_value() ==
                 (role == auth::Role::kOperator || role == auth::Role::kViewer),
             text);
  const bool speaks = auth::may_speak_for(peer, "n1").has_value();
  FUZZ_CHECK(speaks == (role == auth::Role::kAgent && peer.common_name == "n1"), text);
}

void check_name(FuzzedDataProvider& input) {
  std::vector<Part> parts;
  const Name name = name_of(input, parts);
  const std::string text = text_of(name.get());
  const auth::Subject subject = auth::parse_subject(text);
  FUZZ_CHECK(sorted(subject.common_names) == values_of(parts, "CN"), text);
  FUZZ_CHECK(sorted(subject.units) == values_of(parts, "OU"), text);
  check_rights(subject, text);
}

// One byte is changed at a place of the input's choice.
void check_document(FuzzedDataProvider& input) {
  const auto at = input.ConsumeIntegral<std::uint16_t>();
  const auto flip = static_cast<unsigned char>(input.ConsumeIntegralInRange<int>(1, 255));
  std::string text = input.ConsumeRemainingBytesAsString();
  const auto opened = certificate::open(text, "");
  check_error(opened);
  if (!opened) return;
  FUZZ_CHECK(text.ends_with('\n') && opened->digest.starts_with("sha256:"), text);
  FUZZ_CHECK(!certificate::open(text, "no key"), text);
  const std::size_t place = at % text.size();
  text[place] = static_cast<char>(static_cast<unsigned char>(text[place]) ^ flip);
  FUZZ_CHECK(!certificate::open(text, ""), text);
}

// A signing request, PEM: one that is read has a name that may be in a certificate and a key that
// is strong, and is read the same way twice.
void check_request(std::string_view text) {
  const auto request = trust::read_request(text);
  check_error(request);
  if (!request) return;
  FUZZ_CHECK(trust::is_good_name(request->name), text);
  FUZZ_CHECK(request->key_sha256.size() == 64, text);
  const auto again = trust::read_request(text);
  FUZZ_CHECK(again && again->name == request->name && again->public_key == request->public_key,
             text);
}

// A token: one that is read has its own text as the only one, but for blanks around it.
void check_token(const std::string& text) {
  const auto token = trust::parse_enrolment_token(text);
  check_error(token);
  if (!token) return;
  const std::string own = trust::text_of(*token);
  FUZZ_CHECK(text.find(own) != std::string::npos && text.size() < own.size() + 4'096, text);
  FUZZ_CHECK(trust::parse_enrolment_token(own).value() == *token, text);
}

// URIs of a certificate, one a line: one of our scheme and exact form gives an identity, or none.
void check_uris([[maybe_unused]] std::string_view text) {
#if __has_include("controller/trust/identity_uri.h")
  std::vector<std::string> uris;
  for (const std::string_view line : lines_of(text)) uris.emplace_back(line);
  const auto identity = trust::identity_in(uris);
  check_error(identity);
  const auto ours = std::ranges::count_if(
      uris, [](const std::string& uri) { return uri.starts_with(trust::kUriScheme); });
  if (identity && !*identity) FUZZ_CHECK(ours == 0, text);
  if (!identity || !*identity) return;
  FUZZ_CHECK(ours == 1 && trust::is_good_name((*identity)->name), text);
  FUZZ_CHECK(made_of((*identity)->name, "._-"), text);
  const std::string uri = trust::uri_of((*identity)->role, (*identity)->name);
  FUZZ_CHECK(std::ranges::find(uris, uri) != uris.end(), uri);
#endif
}

}  // namespace
}  // namespace railgauge::fuzz

// The first byte: 'C' a certificate of a run, 'R' a signing request, 'K' a token, 'T' a text as it
// is, 'U' URIs, anything else the parts of a subject.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railgauge;
  if (size == 0) return 0;
  FuzzedDataProvider input(data + 1, size - 1);
  if (data[0] == 'C') {
    fuzz::check_document(input);
    return 0;
  }
  if (data[0] == 'R' || data[0] == 'K') {
    const std::string text = input.ConsumeRemainingBytesAsString();
    data[0] == 'R' ? fuzz::check_request(text) : fuzz::check_token(text);
    return 0;
  }
  if (data[0] != 'T' && data[0] != 'U') {
    fuzz::check_name(input);
    return 0;
  }
  const std::string text = input.ConsumeRemainingBytesAsString();
  if (data[0] == 'T')
    fuzz::check_rights(auth::parse_subject(text), text);
  else
    fuzz::check_uris(text);
  return 0;
}
