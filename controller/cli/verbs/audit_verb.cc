// audit
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "controller/cli/input/inputs.h"
#include "controller/cli/input/session.h"
#include "controller/cli/render/table.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/text/lines.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

constexpr std::uint32_t kDefaultEntries = 100;
constexpr std::uint32_t kMostEntries = 5'000;

// A row about one call has no count.
std::string outcome_text(const AuditEntry& entry) {
  const std::string outcome = entry.refused() ? "refused: " + entry.outcome() : entry.outcome();
  return entry.count() > 1 ? fmt::format("{}, {} calls", outcome, entry.count()) : outcome;
}

// Errors: kInvalidArgument for a call that no service has, with the nearest one. The controller's
// own acts ("back_up") are in the trail too.
Status check_call(const std::string& given) {
  const Choice* calls = row_where(grammar().choices, &Choice::kind, "CALL");
  if (given.empty() || calls == nullptr) return {};
  const auto words = words_of(calls->words);
  const std::vector<std::string> known(words.begin(), words.end());
  const std::string hint = did_you_mean(given.substr(given.rfind('.') + 1), known);
  if (std::ranges::find(known, given.substr(given.rfind('.') + 1)) != known.end() || hint.empty())
    return {};
  return fail(Code::kInvalidArgument,
              fmt::format("--rpc: there is no call {}{}", in_quotes(given), hint));
}

// Errors: kInvalidArgument for a caller who is near one of the trail's newest rows.
Status check_caller(Session& session, const std::string& who) {
  if (who.empty()) return {};
  AuditRequest request;
  request.set_limit(kMostEntries);
  const auto all = call(session, rpc::kListAudit, request);
  if (!all) return {};
  std::vector<std::string> known;
  for (const AuditEntry& entry : all->entries()) known.push_back(entry.who());
  const std::string hint = did_you_mean(who, known);
  if (std::ranges::find(known, who) != known.end() || hint.empty()) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("--who: no row is of {}{}", in_quotes(who), hint));
}

}  // namespace

// Newest first. The controller has cleaned and cut the texts of peers.
Result<int> list_audit(Session& session, const Arguments& arguments) {
  AuditRequest request;
  if (const auto since = RG_TRY(time_of(session, arguments, "since")))
    request.set_since_unix_seconds(*since);
  request.set_who(arguments.value("who"));
  request.set_rpc(arguments.value("rpc"));
  request.set_refused(arguments.has("refused"));
  request.set_limit(RG_TRY(count_of(arguments, "limit", kDefaultEntries)));
  const AuditList list = RG_TRY(call(session, rpc::kListAudit, request));
  if (list.entries().empty()) {
    RG_TRY_OK(check_call(arguments.value("rpc")));
    RG_TRY_OK(check_caller(session, request.who()));
  }
  const Rows rows = rows_of(list.entries(), [](const AuditEntry& entry) {
    return Row({entry.at(), entry.who(), entry.role(), entry.address(), entry.rpc(),
                outcome_text(entry), entry.subject(), entry.reason()});
  });
  return print_list(session.output, list, "entries",
                    "AT|WHO|ROLE|ADDRESS|CALL|OUTCOME|SUBJECT|REASON", rows,
                    "no such row of the audit trail");
}

}  // namespace railgauge::cli
