// certificate and verify: the document of a run or an upgrade, and its check without a controller
#include <cerrno>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "controller/certificate/document.h"
#include "controller/cli/input/session.h"
#include "controller/cli/render/report.pb.h"
#include "controller/cli/site/certificate_text.h"
#include "controller/cli/verbs/commands.h"
#include "controller/trust/pem_files.h"
#include "controller/trust/signature.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

constexpr double kCertificateSeconds = 120;  // levels of 35 nights are read

// The whole file, up to the bound of a document and one byte more. kInvalidArgument: it cannot be
// read.
Result<std::string> document_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  constexpr std::size_t kStep = 1U << 20U;
  while (file && text.size() <= certificate::kMostDocumentBytes) {
    const std::size_t before = text.size();
    text.resize(before + kStep);
    file.read(text.data() + before, kStep);
    text.resize(before + static_cast<std::size_t>(file.gcount()));
  }
  if (text.empty() && !file.eof())
    return fail(Code::kInvalidArgument, fmt::format("{}: read: {}", path, errno_words(errno)));
  return text;
}

// Sets what is known of a sound document.
void set_content(const certificate::Opened& opened, bool is_vouched, CertificateCheck& out) {
  out.set_kind(opened.content.kind());
  out.set_subject(opened.content.subject());
  out.set_verdict(opened.content.has_verdict() ? opened.content.verdict()
                                               : opened.content.outcome());
  out.set_digest(opened.digest);
  if (opened.is_signed) out.set_signer_key_sha256(opened.key_sha256);
  out.set_is_vouched(is_vouched);
}

// "who vouches for it", in one sentence.
std::string proof_text(const certificate::Opened& opened, bool is_vouched) {
  if (is_vouched) return "sound, and signed by the key that was named";
  if (opened.is_signed)
    return "sound, and signed by a key that nobody vouches for; --key FILE names the one that is "
           "trusted";
  return "sound, but not signed: whoever changed it may have made a new digest";
}

}  // namespace

// In json and ndjson the document itself, so that its bytes can be checked.
Result<int> show_certificate(Session& session, const Arguments& arguments) {
  const auto request = request_for<api::CertificateRequest>(arguments.operand(0));
  if (session.output.format == Format::kCsv)
    return fail(Code::kInvalidArgument, "certificate: it is one JSON document; take --format json");
  const api::CertificateDocument document =
      RG_TRY(call(session, rpc::kGetCertificate, request, kCertificateSeconds));
  const std::string text = document.text() + '\n';
  if (session.output.format != Format::kTable) {
    session.output.out << text;
    return kExitPassed;
  }
  const certificate::Opened opened = RG_TRY(certificate::open(text, ""));
  session.output.out << certificate_text(opened, session.output.colour);
  return kExitPassed;
}

// A document that another key signed is shown as well: it says by whom. A changed one is not.
Result<int> verify_certificate(Session& session, const Arguments& arguments) {
  const std::string path = arguments.operand(0);
  std::string key;
  if (arguments.has("key")) {
    auto read = trust::public_key_of(RG_TRY(trust::read_pem("key", arguments.value("key"))));
    if (!read)
      return fail(read.error().code,
                  fmt::format("--key {}: {}", arguments.value("key"), read.error().message));
    key = std::move(*read);
  }
  const std::string text = RG_TRY(document_file(path));
  const auto trusted = certificate::open(text, key);
  const auto opened = trusted || key.empty() ? trusted : certificate::open(text, "");
  CertificateCheck check;
  check.set_schema_version(1);
  check.set_state(trusted ? "sound" : opened ? "other_key" : "changed");
  if (!trusted) check.set_reason(trusted.error().message);
  const bool is_vouched = trusted && !key.empty();
  session.output.mark->is_synthetic = opened && opened->content.synthetic();
  if (opened) set_content(*opened, is_vouched, check);
  const int code = trusted ? kExitPassed : kExitFailed;
  if (session.output.format != Format::kTable) {
    print_message(session.output, check);
    return code;
  }
  if (opened) session.output.out << certificate_text(*opened, session.output.colour) << '\n';
  session.output.out << (trusted ? line_of(fmt::format("{}: {}", path,
                                                       proof_text(*trusted, is_vouched)),
                                           Tone::kGood, session.output.colour)
                                 : line_of(fmt::format("{}: {}", path, trusted.error().message),
                                           Tone::kBad, session.output.colour));
  return code;
}

}  // namespace railgauge::cli
