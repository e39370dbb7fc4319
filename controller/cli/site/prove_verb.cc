// prove: a proof of nodes after a repair or before a hand-over
#include <algorithm>
#include <array>
#include <fstream>

#include <fmt/format.h>

#include "controller/certificate/document.h"
#include "controller/cli/input/inputs.h"
#include "controller/cli/input/session.h"
#include "controller/cli/live/follow.h"
#include "controller/cli/report/plan_report.h"
#include "controller/cli/site/certificate_text.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

constexpr double kLongestProofSeconds = 24 * 3600;
constexpr double kJudgementOfProofSeconds = 300;
constexpr double kLookForJudgementSeconds = 0.5;
constexpr double kProofDocumentSeconds = 120;

// The nodes to prove are the node set; the controller adds their partners.
Result<RunRequest> proof_request(const Arguments& arguments) {
  if (arguments.has("force") != arguments.has("reason"))
    return fail(Code::kInvalidArgument, "--force and --reason TEXT go together");
  RunRequest request;
  request.set_trigger("prove");
  request.set_force(arguments.has("force"));
  request.set_force_reason(arguments.value("reason"));
  *request.mutable_suite() =
      RG_TRY(suite_source(arguments.has("suite") ? arguments.value("suite") : "prove"));
  request.set_node_set(RG_TRY(node_set_of(arguments, 0)));
  if (request.node_set().empty())
    return fail(Code::kInvalidArgument, "prove: which nodes? name them, or -l KEY=VALUE");
  return request;
}

// Until the run has ended. Errors: kCancelled, kDeadlineExceeded: it continues.
Status wait_for_proof(Session& session, const std::string& run_id, const Arguments& arguments,
                      double seconds) {
  const Detail detail = arguments.has("verbose") ? Detail::kAll : Detail::kSummary;
  const Followed followed = RG_TRY(follow_run(session, run_id, seconds, 0, detail));
  if (followed.end == FollowEnd::kRunEnded) return {};
  const bool is_late = followed.end == FollowEnd::kTimeUp;
  return fail(is_late ? Code::kDeadlineExceeded : Code::kCancelled,
              fmt::format("{}; run {} continues; cancel it with: {}",
                          is_late ? "the time is over" : "stopped waiting", run_id,
                          cancel_command(session, run_id)));
}

// Until the run is judged, and what it proves is written at the findings.
Status wait_for_judgement(Session& session, const std::string& run_id) {
  ListFindingsRequest request;
  request.set_run_id(run_id);
  request.set_limit(1);
  const int presses = session.interrupts.presses();
  for (double waited = 0; waited < kJudgementOfProofSeconds; waited += kLookForJudgementSeconds) {
    if (RG_TRY(call_through(session, rpc::kListFindings, request)).has_judged_at()) return {};
    if (session.interrupts.wait_beyond(presses, kLookForJudgementSeconds)) break;
  }
  return fail(Code::kDeadlineExceeded,
              fmt::format("run {}: not judged yet; railgauge certificate {} shows the proof later",
                          run_id, run_id));
}

// The document as it was sent: one line, whose bytes the digest is of.
Status write_document(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file) return {};
  return fail(Code::kInvalidArgument, fmt::format("--file {}: it cannot be written", path));
}

// The codes are those of a gate.
int exit_code_of_proof(const Certificate& content) {
  const std::string& verdict = content.proof().verdict();
  if (verdict == "proved") return kExitPassed;
  if (verdict == "not_proved") return kExitFailed;
  return verdict == "inconclusive" ? kExitInconclusive : kExitInvalid;
}

// Prints the certificate, writes it where --file says, and returns the exit code of the verdict.
Result<int> show_proof(Session& session, const std::string& run_id, const Arguments& arguments) {
  const auto document =
      RG_TRY(call(session, rpc::kGetCertificate, request_for<CertificateRequest>(run_id),
                  kProofDocumentSeconds));
  const std::string text = document.text() + '\n';
  const certificate::Opened opened = RG_TRY(certificate::open(text, ""));
  if (arguments.has("file")) RG_TRY_OK(write_document(arguments.value("file"), text));
  session.output.out << (session.output.format == Format::kTable
                             ? certificate_text(opened, session.output.colour)
                             : text);
  return exit_code_of_proof(opened.content);
}

}  // namespace

// Options are checked before the plan, so that wrong use costs no call. The plan says the time.
Result<int> prove_nodes(Session& session, const Arguments& arguments) {
  if (session.output.format == Format::kCsv)
    return fail(Code::kInvalidArgument, "prove: its answer is one JSON document; take -o json");
  const RunRequest request = RG_TRY(proof_request(arguments));
  const double seconds = RG_TRY(seconds_of(arguments, "wait", kLongestProofSeconds));
  const RunPlan planned = RG_TRY(plan_run(session, request));
  print_notice(session.output, plan_line(planned) + ", known-good partners included");
  for (const std::string& note : planned.notes())
    if (note.find("left out: ") != std::string::npos) print_notice(session.output, note);
  if (session.interrupts.any()) return fail(Code::kCancelled, "interrupted, nothing ran");
  const RunSummary started = RG_TRY(call_through(session, rpc::kStartRun, request));
  if (arguments.has("detach")) {
    if (session.output.format == Format::kTable)
      print_value(session.output, started.run_id());
    else
      print_message(session.output, started);
    return kExitPassed;
  }
  print_notice(session.output, fmt::format("run {} started", started.run_id()));
  for (const std::string& text : started.left_out()) print_notice(session.output, text);
  RG_TRY_OK(wait_for_proof(session, started.run_id(), arguments, seconds));
  RG_TRY_OK(wait_for_judgement(session, started.run_id()));
  return show_proof(session, started.run_id(), arguments);
}

}  // namespace railgauge::cli
