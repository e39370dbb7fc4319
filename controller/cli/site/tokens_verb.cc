// tokens
#include <string>

#include <fmt/format.h>

#include "controller/cli/input/inputs.h"
#include "controller/cli/input/session.h"
#include "controller/cli/render/table.h"
#include "controller/cli/verbs/commands.h"

namespace railgauge::cli {
namespace {

constexpr std::string_view kTokenHeadings =
    "TOKEN|STATE|NODES|USES|REPLACES|EXPIRES|CREATED BY|REVOKED BY";

// Nothing of a row is secret.
Row token_row(const api::TokenInfo& token) {
  return Row({token.token_id(),
              Cell(token.state(), token.state() == "valid" ? Tone::kPlain : Tone::kDoubtful),
              token.node_set().empty() ? "any" : token.node_set(),
              fmt::format("{} of {}", token.uses(), token.most_uses()),
              token.replaces() ? "yes" : "no", token.expires_at(), token.created_by(),
              token.revoked_by()});
}

}  // namespace

// Newest first, those that are over too: people look for who made one.
Result<int> list_tokens(Session& session, const Arguments&) {
  const auto list = RG_TRY(call(session, rpc::kListTokens, api::ListTokensRequest()));
  return print_list(session.output, list, "tokens", kTokenHeadings,
                    rows_of(list.tokens(), token_row),
                    "no token; railgauge tokens create makes one");
}

// The file that it is written to is a secret until the token is used: umask 077 before.
// Only the token is on stdout, so that a script can hand it on.
Result<int> create_token(Session& session, const Arguments& arguments) {
  api::CreateTokenRequest request;
  request.set_node_set(arguments.value("nodes"));
  if (arguments.has("uses")) request.set_uses(RG_TRY(count_of(arguments, "uses", 1)));
  if (arguments.has("expires"))
    request.set_for_seconds(RG_TRY(seconds_of(arguments, "expires", 0)));
  request.set_replaces(arguments.has("replace"));
  const auto made = RG_TRY(call_through(session, rpc::kCreateToken, request));
  if (session.output.format != Format::kTable) return print_page(session.output, made, "");
  print_value(session.output, made.token());
  print_notice(
      session.output,
      fmt::format("good for {} of {} until {}; on a node: railgauge-agent enroll "
                  "--controller HOST:{} --token-file FILE",
                  made.info().most_uses() == 1 ? std::string("one use")
                                               : fmt::format("{} uses", made.info().most_uses()),
                  made.info().node_set().empty() ? "any name" : made.info().node_set(),
                  made.info().expires_at(),
                  made.enroll_listen().substr(made.enroll_listen().rfind(':') + 1)));
  return 0;
}

// Certificates that it gave have lives of their own, which the line says.
Result<int> revoke_token(Session& session, const Arguments& arguments) {
  const auto token = RG_TRY(
      call_through(session, rpc::kRevokeToken, request_for<api::TokenRef>(arguments.operand(0))));
  return print_page(session.output, token,
                    line_of(fmt::format("token {} is revoked; certificates that nodes got by it "
                                        "stay good, railgauge pki revoke takes them back",
                                        token.token_id())));
}

}  // namespace railgauge::cli
