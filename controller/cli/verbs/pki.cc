// pki init, pki issue, pki renew, pki revoke, pki crl, pki show: an authority in a folder of this
// host. No controller is asked.
#include <chrono>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "controller/cli/input/inputs.h"
#include "controller/cli/input/session.h"
#include "controller/cli/render/output.h"
#include "controller/cli/verbs/commands.h"
#include "controller/plan/topology/node_set.h"
#include "controller/trust/authority/authority.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/json.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

double now_unix() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string day_of(double unix_seconds) {
  constexpr std::size_t kDayBytes = 10;
  return rfc3339(unix_seconds).substr(0, kDayBytes);
}

Result<double> days_of(const Arguments& arguments, double otherwise) {
  return RG_TRY(number_of(arguments, "days")).value_or(otherwise);
}

// The names of a node set; an exclusion needs a list of known nodes, which there is not.
Result<std::vector<std::string>> names_of(const std::string& text) {
  const plan::NodeSet set = RG_TRY(plan::parse_node_set(text));
  std::vector<std::string> names;
  for (const plan::NodeSet::Item& item : set.included)
    names.insert(names.end(), item.names.begin(), item.names.end());
  if (!set.excluded.empty() || names.empty())
    return fail(Code::kInvalidArgument,
                fmt::format("{}: names are needed, such as n1 or gpu[001-064]", in_quotes(text)));
  return names;
}

int print_issued(const Output& output, const std::vector<trust::Issued>& all) {
  RowPrinter rows(output, "path,subject,until,kept", "\"certificates\"");
  for (const trust::Issued& one : all) {
    if (output.format == Format::kTable)
      output.out << (one.kept ? fmt::format("{}: is there already, kept\n", one.path)
                              : fmt::format("{}: {}, valid until {}\n", one.path, one.subject,
                                            day_of(one.until_unix)));
    rows.print(
        [&one] {
          return fmt::format("{},\"{}\",{},{}", one.path, one.subject, rfc3339(one.until_unix),
                             one.kept);
        },
        [&one] {
          return fmt::format("{{\"path\": {}, \"subject\": {}, \"until\": {}, \"kept\": {}}}",
                             json_string(one.path), json_string(one.subject),
                             json_string(rfc3339(one.until_unix)), one.kept);
        });
  }
  rows.end();
  return kExitPassed;
}

int print_revoked(const Output& output, const trust::Revoked& revoked, const std::string& folder,
                  std::string_view summary) {
  RowPrinter rows(output, "serial", "\"revoked\"");
  for (const std::string& serial : revoked.serials)
    rows.print([&serial] { return serial; },
               [&serial] { return fmt::format("{{\"serial\": {}}}", json_string(serial)); });
  if (output.format == Format::kTable)
    output.out << fmt::format("{}/crl.pem: {} {}, valid until {}\n", folder, revoked.serials.size(),
                              summary, day_of(revoked.crl_until_unix));
  rows.end();
  return kExitPassed;
}

}  // namespace

Result<int> init_pki(Session& session, const Arguments& arguments) {
  const double days = RG_TRY(days_of(arguments, trust::kAuthorityDays));
  return print_issued(session.output,
                      {RG_TRY(trust::init_authority(arguments.operand(0), days, now_unix()))});
}

// Only agents have sets of names: nobody issues operators by the dozen.
Result<int> issue_certificates(Session& session, const Arguments& arguments) {
  trust::IssueOrder order{.role = arguments.operand(1)};
  order.days = RG_TRY(days_of(arguments, trust::kCertificateDays));
  order.names = {arguments.operand(2)};
  if (order.role == "agent") order.names = RG_TRY(names_of(arguments.operand(2)));
  const std::string hosts = arguments.value("san");
  if (arguments.has("san"))
    for (const std::string_view host : split(hosts, ',')) order.hosts.emplace_back(host);
  return print_issued(session.output,
                      RG_TRY(trust::issue(arguments.operand(0), order, now_unix())));
}

Result<int> renew_certificates(Session& session, const Arguments& arguments) {
  trust::RenewOrder order{.names = RG_TRY(names_of(arguments.operand(1))),
                          .new_key = arguments.has("new-key")};
  order.days = RG_TRY(days_of(arguments, trust::kCertificateDays));
  return print_issued(session.output,
                      RG_TRY(trust::renew(arguments.operand(0), order, now_unix())));
}

Result<int> revoke_certificates(Session& session, const Arguments& arguments) {
  const double days = RG_TRY(days_of(arguments, trust::kCrlDays));
  const trust::Revoked revoked =
      RG_TRY(trust::revoke(arguments.operand(0), arguments.operand(1), days, now_unix()));
  for (const std::string& line : revoked.damaged)
    print_fault(session.output,
                fmt::format("{}; a renewal that only it names is not revoked: railgauge pki show "
                            "lists serial numbers",
                            line));
  if (revoked.serials.empty()) print_notice(session.output, "all of it was revoked before");
  return print_revoked(session.output, revoked, arguments.operand(0), "revoked now");
}

Result<int> write_crl(Session& session, const Arguments& arguments) {
  const double days = RG_TRY(days_of(arguments, trust::kCrlDays));
  return print_revoked(session.output,
                       RG_TRY(trust::write_crl(arguments.operand(0), days, now_unix())),
                       arguments.operand(0), "revoked in all");
}

Result<int> show_pki(Session& session, const Arguments& arguments) {
  const auto all = RG_TRY(trust::show(arguments.operand(0), now_unix()));
  const Output& output = session.output;
  if (output.format == Format::kTable) {
    output.out << render_short_table(
        "NAME|ROLE|STATE|UNTIL|REVOKED|SERIAL",
        rows_of(all,
                [](const auto& one) {
                  const bool bad = one.state != "valid" && one.state != "replaced";
                  return Row{one.name,
                             one.role,
                             Cell(one.state, bad ? Tone::kDoubtful : Tone::kPlain),
                             day_of(one.until_unix),
                             day_of(one.revoked_unix),
                             one.serial};
                }),
        output.colour);
    return kExitPassed;
  }
  RowPrinter rows(output, "name,role,state,until,revoked,serial", "\"certificates\"");
  for (const trust::ShownCertificate& one : all)
    rows.print(
        [&one] {
          return fmt::format("{},{},{},{},{},{}", one.name, one.role, one.state,
                             rfc3339(one.until_unix), rfc3339(one.revoked_unix), one.serial);
        },
        [&one] {
          return fmt::format(
              "{{\"name\": {}, \"role\": {}, \"state\": {}, \"until\": {}, "
              "\"revoked\": {}, \"serial\": {}}}",
              json_string(one.name), json_string(one.role), json_string(one.state),
              json_string(rfc3339(one.until_unix)),
              one.revoked_unix > 0 ? json_string(rfc3339(one.revoked_unix)) : std::string("null"),
              json_string(one.serial));
        });
  rows.end();
  return kExitPassed;
}

}  // namespace railgauge::cli
