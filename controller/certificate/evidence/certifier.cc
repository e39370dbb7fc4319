#include "controller/certificate/evidence/certifier.h"

#include <fmt/format.h>

#include "controller/api/contract.h"
#include "controller/certificate/document.h"
#include "controller/store/queries/events.h"

namespace railgauge::certificate {
namespace {

// An id is one of a run or of an upgrade; the two never look alike.
Result<Certificate> content_of(const store::Store& store, const std::string& subject,
                               const LeafSource& leaves) {
  auto run = certificate_of_run(store, subject, leaves);
  if (run || run.error().code != Code::kNotFound) return run;
  auto upgrade = certificate_of_upgrade(store, subject);
  if (upgrade || upgrade.error().code != Code::kNotFound) return upgrade;
  return fail(Code::kInvalidArgument,
              fmt::format("no run and no upgrade {}; railgauge runs and railgauge upgrades list "
                          "them",
                          subject));
}

}  // namespace

Result<api::CertificateDocument> Certifier::certify(const std::string& subject) const {
  const std::string id = subject.empty() ? RG_TRY(store_.read(store::newest_ended_run)) : subject;
  if (id.empty()) return fail(Code::kInvalidArgument, "no run has ended yet");
  const Certificate content = RG_TRY(content_of(store_, id, leaves_));
  Document document = RG_TRY(seal(content, key_pem_));
  auto answer = new_document<api::CertificateDocument>();
  // One line: the newline that ends it is not the answer's.
  document.text.pop_back();
  answer.set_text(std::move(document.text));
  answer.set_digest(std::move(document.digest));
  return answer;
}

}  // namespace railgauge::certificate
