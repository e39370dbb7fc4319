#include "agent/enrol/enroll_command.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "agent/enrol/agent_settings.h"
#include "agent/enrol/enrol_client.h"
#include "agent/enrol/enrolled_files.h"
#include "controller/trust/enrolment_token.h"
#include "controller/trust/identity_uri.h"
#include "controller/trust/signing_request.h"
#include "kernels/core/base/failpoint.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/base/owners_rights.h"
#include "kernels/core/base/spawn.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

constexpr std::size_t kMostTokenBytes = 4'096;
constexpr std::size_t kMostNameBytes = 64;  // of a CN
constexpr double kServiceSeconds = 60;
constexpr const char* kService = "railgauge-agent.service";

std::string host_of_this_node() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string read_some(std::istream& from, std::size_t most) {
  std::string text(most, '\0');
  from.read(text.data(), static_cast<std::streamsize>(most));
  text.resize(static_cast<std::size_t>(from.gcount()));
  return text;
}

// From the flag, the file or stdin; exactly one of them.
Result<trust::EnrolmentToken> token_of(const EnrollCommand& command) {
  if (command.token.empty() == command.token_file.empty())
    return fail(Code::kInvalidArgument,
                "--token TOKEN or --token-file FILE is needed; railgauge tokens create on the "
                "controller's host makes one");
  if (!command.token.empty()) return trust::parse_enrolment_token(command.token);
  if (command.token_file == "-")
    return trust::parse_enrolment_token(read_some(std::cin, kMostTokenBytes));
  std::ifstream file(command.token_file);
  if (!file)
    return fail(Code::kInvalidArgument,
                fmt::format("--token-file {}: read: {}", command.token_file, errno_words(errno)));
  return trust::parse_enrolment_token(read_some(file, kMostTokenBytes));
}

// The controller checks it too; this refusal costs no call.
Status check_node_name(const std::string& name) {
  if (trust::is_good_name(name) && name.size() <= kMostNameBytes) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("--name {}: letters, digits, '.', '_' and '-' are needed, at most {} "
                          "bytes",
                          in_quotes(name), kMostNameBytes));
}

// All that is known before a certificate is asked for.
struct Plan {
  std::string name{};
  std::string controller{};  // HOST:PORT where the agent attaches, or several by commas
  EditedSettings settings{};
};

// The name that the agent will have: the flag's, that of its settings, or the host's.
std::string name_of(const EnrollCommand& command, const AgentSettings& settings) {
  if (!command.name.empty()) return command.name;
  const std::string set = settings.value("name");
  return set.empty() ? host_of_this_node() : set;
}

// Makes the plan: where the agent attaches, and the settings as they are to be. Nothing of it costs
// a use of the token, so that a fault of the settings does not either.
Result<Plan> plan_of(const EnrollCommand& command, const AgentSettings& settings,
                     const std::vector<EnrolServer>& servers, const std::string& name,
                     const trust::PemFiles& files, int agent_port, double now_unix) {
  std::vector<std::string> attaches_to;
  std::vector<std::string> renews_from;
  for (const EnrolServer& server : servers) {
    attaches_to.push_back(server.with_port(agent_port));
    renews_from.push_back(server.with_port(server.port));
  }
  Plan plan{.name = name, .controller = fmt::format("{}", fmt::join(attaches_to, ","))};
  Wanted wanted{{"controller", plan.controller},
                {"tls_ca", files.authority},
                {"tls_cert", files.certificate},
                {"tls_key", files.key},
                {"renew_from", fmt::format("{}", fmt::join(renews_from, ","))}};
  if (name != host_of_this_node()) wanted.emplace_back("name", name);
  plan.settings = RG_TRY(settings.with(
      wanted, fmt::format("Written by railgauge-agent enroll at {}", rfc3339(now_unix)),
      command.force));
  return plan;
}

// The controller's word about itself is not enough: name, times and key have to be right.
Status check_received(const trust::Certificate& certificate, const std::string& name,
                      double now_unix) {
  if (node_of(certificate) != name)
    return fail(Code::kInternal,
                fmt::format("the controller's certificate is for {}, not for node {}",
                            in_quotes(node_of(certificate)), name));
  if (certificate.from_unix <= now_unix && now_unix < certificate.until_unix) return {};
  return fail(Code::kFailedPrecondition,
              fmt::format("the certificate is valid from {} to {}, and this node's clock shows {}; "
                          "set it, as by chronyc makestep",
                          rfc3339(certificate.from_unix), rfc3339(certificate.until_unix),
                          rfc3339(now_unix)));
}

// Runs a program of the path, with this process's streams, for a minute at most.
// Whether the command ended with 0.
bool runs_well(std::vector<std::string> argv) {
  const auto child = start_program({.argv = std::move(argv), .searches_path = true});
  if (!child) return false;
  const auto status = wait_for_end(*child, kServiceSeconds);
  return status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0;
}

// A service that runs gets the new settings by a restart.
Status start_service() {
  std::error_code error;
  if (!std::filesystem::is_directory("/run/systemd/system", error)) {
    std::printf("service: not started, since systemd does not run here\n");
    return {};
  }
  if (runs_well({"systemctl", "enable", kService}) &&
      runs_well({"systemctl", "restart", kService})) {
    std::printf("service: %s is enabled and started\n", kService);
    return {};
  }
  return fail(Code::kUnavailable,
              fmt::format("the node is enrolled, but systemctl did not start {}; see systemctl "
                          "status {}",
                          kService, kService));
}

int complain_of(const Error& error) {
  std::fprintf(stderr, "railgauge-agent: enroll: %s\n", printable(error.message).c_str());
  return error.code == Code::kInvalidArgument ? kExitUsage : kExitInvalid;
}

}  // namespace

// Defaults are said in words, since those of the machine differ from node to node.
CLI::App* declare_enroll(CLI::App& app, EnrollCommand& command) {
  CLI::App* enroll = app.add_subcommand(
      "enroll", "get a certificate by a token, write the settings, start the service");
  enroll->option_defaults()->always_capture_default(false)->group("Options");
  enroll->add_option("--controller", command.controller,
                     "HOST or HOST:PORT of the controller's enrolment port [:7444], or of each "
                     "controller of the site by commas");
  enroll->add_option("--token", command.token, "as railgauge tokens create printed it");
  enroll->add_option("--token-file", command.token_file, "file with the token; - is stdin");
  enroll->add_option("--name", command.name, "name of this node [the host's name]");
  enroll->add_option("--state-dir,--state-folder", command.state_dir,
                     "folder of the agent, for key and certificates [/var/lib/railgauge-agent]");
  enroll->add_option("--config", command.config,
                     "settings file; ours is written to its folder .d [/etc/railgauge/agent.conf]");
  enroll->add_flag("--force", command.force,
                   "enrol an enrolled node anew, and replace keys of the settings file");
  enroll->add_flag("--no-start", command.no_start, "leave the service alone");
  return enroll;
}

namespace {

EnrolledNode node_with(const Plan& plan, const NodeFiles& files, const AgentSettings& settings,
                       const trust::Certificate& certificate) {
  return {.name = plan.name,
          .controller = plan.controller,
          .folder = files.folder(),
          .settings = settings.own_path(),
          .serial = certificate.id.serial,
          .until_unix = certificate.until_unix,
          .replaced = plan.settings.replaced};
}

// Whether the settings have all that makes an agent attach with these files.
bool are_whole(const AgentSettings& settings, const trust::PemFiles& files) {
  return !settings.value("controller").empty() && !settings.value("renew_from").empty() &&
         settings.value("tls_ca") == files.authority &&
         settings.value("tls_cert") == files.certificate && settings.value("tls_key") == files.key;
}

tl::unexpected<Error> is_enrolled(const NodeFiles& files, const trust::Certificate& held) {
  return fail(Code::kAlreadyExists,
              fmt::format("{}: this node is enrolled as {}, serial {}, until {}; --force enrols it "
                          "anew",
                          files.folder(), node_of(held), held.id.serial, rfc3339(held.until_unix)));
}

// A call that has the state folder's owner's rights and the lock of its files.
struct Call {
  const EnrollCommand& command;
  const trust::EnrolmentToken& token;
  const std::vector<EnrolServer>& servers;  // of the site
  const EnrolServer& server;                // the one that answers
  const AgentSettings& settings;
  double now_unix;
  NodeFiles files;
  std::optional<OwnersRights> rights;
};

// Does all that an earlier call left to do, with the certificate that it put in place: no use of a
// token.
Result<EnrolledNode> do_the_rest(Call& call, const trust::Material& held) {
  const std::string name = node_of(held.own);
  const bool is_same_name = call.command.name.empty() || call.command.name == name;
  const auto fingerprint = trust::fingerprint_of(held.authority);
  if (!is_same_name || !fingerprint || *fingerprint != call.token.fingerprint)
    return is_enrolled(call.files, held.own);
  const int port = RG_TRY(ask_agent_port(call.server, call.files.files().authority, call.now_unix));
  const Plan plan = RG_TRY(plan_of(call.command, call.settings, call.servers, name,
                                   call.files.files(), port, call.now_unix));
  RG_TRY_OK(call.files.begin_call({.token_id = call.token.id, .serial = held.own.id.serial}));
  call.rights.reset();
  RG_TRY_OK(call.settings.write(plan.settings));
  failpoint("enroll.settings");
  EnrolledNode node = node_with(plan, call.files, call.settings, held.own);
  node.is_rest = true;
  return node;
}

// Settings are written last: an agent that starts meanwhile has either nothing or all of it.
Result<EnrolledNode> do_all(Call& call) {
  const std::string name = name_of(call.command, call.settings);
  RG_TRY_OK(check_node_name(name));
  const Authority authority = RG_TRY(ask_authority(call.server, call.token));
  // From here on a second call does the same again, with the same key.
  const std::string ca_file = RG_TRY(call.files.stage_authority(authority.certificate));
  const int port =
      RG_TRY(ask_agent_port(call.server, ca_file, call.now_unix, authority.claimed_time));
  const Plan plan = RG_TRY(plan_of(call.command, call.settings, call.servers, name,
                                   call.files.files(), port, call.now_unix));
  const std::string key = RG_TRY(call.files.staged_key());
  const std::string request = RG_TRY(trust::make_request(plan.name, key));
  const auto answer = ask_certificate(call.server, ca_file, call.token, request);
  if (!answer) {
    // No later call gets a certificate for this key by repeating this one.
    if (answer.error().code == Code::kPermissionDenied) RG_TRY_OK(call.files.drop_staged_key());
    return tl::unexpected(answer.error());
  }
  const std::string& certificate = *answer;
  // Before anything is put in place: a wrong answer leaves the node as it was.
  const trust::Certificate received = RG_TRY(trust::parse_certificate(certificate));
  RG_TRY_OK(check_received(received, plan.name, call.now_unix));
  RG_TRY_OK(call.files.begin_call({.token_id = call.token.id, .serial = received.id.serial}));
  failpoint("enroll.begun");
  const trust::Material placed = RG_TRY(call.files.place(certificate, authority.certificate));
  failpoint("enroll.placed");
  call.rights.reset();
  RG_TRY_OK(call.settings.write(plan.settings));
  failpoint("enroll.settings");
  return node_with(plan, call.files, call.settings, placed.own);
}

// The active one of the site's controllers: the port of a standby is closed. One controller alone
// is asked when it is needed.
Result<EnrolServer> one_that_answers(const std::vector<EnrolServer>& servers,
                                     const trust::EnrolmentToken& token) {
  for (const EnrolServer& server : servers) {
    if (&server == &servers.back()) break;
    const auto answer = ask_authority(server, token);
    if (answer) return server;
    if (answer.error().code != Code::kUnavailable) return tl::unexpected(answer.error());
  }
  return servers.back();
}

}  // namespace

Result<EnrolledNode> enroll_node(const EnrollCommand& command, double now_unix) {
  const trust::EnrolmentToken token = RG_TRY(token_of(command));
  const std::vector<EnrolServer> servers = RG_TRY(parse_enrol_servers(command.controller));
  const AgentSettings settings = RG_TRY(AgentSettings::read(command.config));
  RG_TRY_OK(NodeFiles::make_state(command.state_dir));
  // The service's user has the state folder, and may have put links into it.
  std::optional<OwnersRights> rights(RG_TRY(OwnersRights::take(command.state_dir)));
  NodeFiles files = RG_TRY(NodeFiles::open(command.state_dir));
  const EnrolServer server = RG_TRY(one_that_answers(servers, token));
  Call call{.command = command,
            .token = token,
            .servers = servers,
            .server = server,
            .settings = settings,
            .now_unix = now_unix,
            .files = std::move(files),
            .rights = std::move(rights)};
  const auto held = call.files.held();
  const auto open_call = call.files.open_call();
  const bool is_valid = held && held->own.until_unix > now_unix;
  // A call that was cut before its certificate was in place has all to do: the older one, which is
  // still there, may be revoked.
  const bool is_in_place = is_valid && open_call && open_call->serial == held->own.id.serial;
  if (open_call && !is_in_place && open_call->token_id == token.id) return do_all(call);
  // With --force only what this token got is kept: that is the same call again.
  const bool is_again = is_in_place && open_call->token_id == token.id;
  if (!is_valid || (command.force && !is_again)) return do_all(call);
  if (!open_call && are_whole(settings, call.files.files()))
    return is_enrolled(call.files, held->own);
  return do_the_rest(call, *held);
}

Status end_enroll_call(const EnrollCommand& command) {
  const OwnersRights rights = RG_TRY(OwnersRights::take(command.state_dir));
  NodeFiles files = RG_TRY(NodeFiles::open(command.state_dir));
  return files.end_call();
}

namespace {

void print_enrolled(const EnrolledNode& node) {
  std::printf("node %s: certificate, serial %s, until %s; the agent renews it by itself\n",
              node.name.c_str(), node.serial.c_str(), rfc3339(node.until_unix).c_str());
  if (node.is_rest) std::printf("it was there: an earlier call is finished\n");
  std::printf("files: %s; settings: %s; controller: %s\n", node.folder.c_str(),
              node.settings.c_str(), node.controller.c_str());
  for (const std::string& line : node.replaced)
    std::printf("replaced in the settings: %s\n", printable(line).c_str());
}

}  // namespace

int run_enroll_command(const EnrollCommand& command) {
  ::signal(SIGPIPE, SIG_IGN);
  const auto node = enroll_node(command, unix_now());
  if (!node) return complain_of(node.error());
  print_enrolled(*node);
  // A service that does not start is tried again by the next call.
  Status done = command.no_start ? Status() : start_service();
  if (done) done = end_enroll_call(command);
  return done ? kExitPassed : complain_of(done.error());
}

}  // namespace railgauge::agent
